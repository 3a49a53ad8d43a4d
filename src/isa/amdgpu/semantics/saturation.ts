/** Integer arithmetic under the clamp bit: CDNA2 ISA 6.5, "ALU Clamp Bit Usage". */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';
import type { Semantics } from './instruction-builder.ts';

export type NarrowInteger = 'u16' | 'i16' | 'u32' | 'i32';

/** The low part of a 32-bit value as a number of the type. */
export function asNarrow(b: Builder, type: NarrowInteger, x: Value): Value {
  return type === 'u16' ? b.bits(x, 0, 16) : type === 'i16' ? b.sext16(x) : x;
}

const widened = (b: Builder, type: NarrowInteger, x: Value): Value =>
  type.startsWith('u') ? b.zext64(asNarrow(b, type, x)) : b.sext64(asNarrow(b, type, x));

/** The number nearest to i64 `x` in the type's range. */
export function saturate(b: Builder, type: NarrowInteger, x: Value): Value {
  const bits = BigInt(type.slice(1));
  const [low, high] = type.startsWith('u') ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
  return b.low(b.minS(b.maxS(x, b.i64(low)), b.i64(high)));
}

/**
 * Sums and products of narrow integers: modulo 2^32 without the clamp bit (a 16-bit destination takes the low
 * half), exact and then saturated with it. `compute` works on i32 and on i64.
 */
export const saturating =
  (type: NarrowInteger, compute: (b: Builder, ...sources: Value[]) => Value): Semantics =>
  (b, ...sources) => {
    if (b.field('clamp') === 0) return compute(b, ...sources);
    return saturate(b, type, compute(b, ...sources.map((source) => widened(b, type, source))));
  };

export const add = (b: Builder, x: Value, y: Value): Value => b.add(x, y);
export const subtract = (b: Builder, x: Value, y: Value): Value => b.sub(x, y);
export const subtractReversed = (b: Builder, x: Value, y: Value): Value => b.sub(y, x);
export const multiply = (b: Builder, x: Value, y: Value): Value => b.mul(x, y);
export const multiplyAdd = (b: Builder, x: Value, y: Value, z: Value): Value => b.add(b.mul(x, y), z);
