/** Conversions whose results are parts of a dword. CDNA2 ISA 12.11, opcodes 477, 496 and 660 to 672. */
import type { Builder } from '../../../ir/builder.ts';
import { TOWARD_ZERO } from '../../../ir/float-bits.ts';
import type { Value } from '../../../ir/types.ts';
import { toF64 } from './float-rules.ts';

/** Two 16-bit values; the high bits of `low` are ignored. */
export const packHalves = (b: Builder, low: Value, high: Value): Value => b.or(b.bits(low, 0, 16), b.shl(high, 16));

/** x * scale to the nearest integer, even in a tie, limited; computed exactly in f64. NaN gives 0. */
function normalized(b: Builder, type: 'f16' | 'f32', x: Value, low: number, high: number): Value {
  const product = b.op('f64.mul', toF64(b, type, x), b.f64.constant(high));
  const integer = b.op('f64.toI32S', b.op('f64.nearest', product));
  return b.minS(b.maxS(integer, b.i32(low)), b.i32(high));
}

/** -1..1 to -32767..32767. */
export const normalizedI16 = (b: Builder, type: 'f16' | 'f32', x: Value): Value =>
  normalized(b, type, x, -0x7fff, 0x7fff);

/** 0..1 to 0..65535. */
export const normalizedU16 = (b: Builder, type: 'f16' | 'f32', x: Value): Value => normalized(b, type, x, 0, 0xffff);

/** f32 to f16, toward zero whatever MODE says. */
export const f16TowardZero = (b: Builder, x: Value): Value =>
  b.f16.result(b.rounding(TOWARD_ZERO).f16.fromF32(b.f32.input(x)));

/** f32 truncated to 0..255 in byte `position` (bits 1:0) of `rest`. */
export function insertByte(b: Builder, x: Value, position: Value, rest: Value): Value {
  const byte = b.minS(b.maxS(b.op('f32.toI32S', x), b.i32(0)), b.i32(255));
  const shift = b.shl(b.and(position, b.i32(3)), 3);
  return b.or(b.and(rest, b.not(b.shl(b.i32(255), shift))), b.shl(byte, shift));
}
