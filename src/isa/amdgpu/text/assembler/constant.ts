/** Numbers as sources: which inline constant or literal a number in the text stands for. */
import { constantBits, inlineConstant } from '../../encoding/registers.ts';
import type { OperandType } from '../../encoding/row.ts';
import type { OperandValue } from './operand.ts';

export type EncodedConstant =
  | { readonly kind: 'inline'; readonly encoding: number }
  | { readonly kind: 'literal'; readonly value: number };

const INLINE_ENCODINGS = [
  ...Array.from({ length: 81 }, (_, i) => 128 + i),
  ...Array.from({ length: 9 }, (_, i) => 240 + i),
];

const view = new DataView(new ArrayBuffer(8));

function toHalf(value: number): number {
  view.setFloat16(0, value);
  return view.getFloat16(0);
}

/**
 * The bits of `value` in a format; undefined when it is too large or too small for it. Precision may get
 * lost.
 */
export function floatBits(value: number, bits: 16 | 32 | 64): bigint | undefined {
  if (bits === 64) {
    view.setFloat64(0, value);
    return view.getBigUint64(0);
  }
  const rounded = bits === 32 ? Math.fround(value) : toHalf(value);
  const smallest = bits === 32 ? 2 ** -126 : 2 ** -14;
  if (!Number.isFinite(rounded) || (Math.abs(rounded) < smallest && rounded !== value)) return undefined;
  if (bits === 16) return BigInt(view.getUint16(0));
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
}

/** The high half of the f32. */
const brainFloatBits = (value: number): bigint | undefined => {
  const bits = floatBits(value, 32);
  return bits === undefined ? undefined : bits >> 16n;
};

const fits = (value: bigint, bits: number): boolean => value >= -(1n << BigInt(bits - 1)) && value < 1n << BigInt(bits);

const inlineOf = (value: bigint, type: OperandType, bits: 16 | 32 | 64, encodings = INLINE_ENCODINGS) =>
  encodings.find((encoding) => BigInt.asUintN(bits, inlineConstant(encoding, type)!) === BigInt.asUintN(bits, value));

const isInteger16 = (type: OperandType): boolean => /^[bui]16$/.test(type);
const INTEGER_ENCODINGS = INLINE_ENCODINGS.slice(0, 81);

/**
 * As a source of type `type`; undefined when it cannot be one. An integer that has the bits of an inline
 * float is that float, but for 16-bit integers; integers of 64-bit sources have 32 bits, floats their high
 * half.
 */
export function encodeConstant(value: OperandValue, sourceType: OperandType): EncodedConstant | undefined {
  const type = sourceType === 'v2bf16' ? 'bf16' : sourceType;
  const bits = constantBits(type);
  const inline = (encoding: number | undefined): EncodedConstant | undefined =>
    encoding === undefined ? undefined : { kind: 'inline', encoding };
  const literal = (number: bigint): EncodedConstant => ({ kind: 'literal', value: Number(BigInt.asUintN(32, number)) });
  if (value.kind === 'float') {
    const number = type === 'bf16' ? brainFloatBits(value.value) : floatBits(value.value, bits);
    if (number === undefined) return undefined;
    const found = inline(inlineOf(number, type, bits));
    if (found || bits !== 64) return found ?? literal(number);
    return type === 'f64' ? literal(number >> 32n) : undefined;
  }
  if (value.kind !== 'integer') return undefined;
  if (isInteger16(type)) {
    if (!fits(value.value, 16)) return undefined;
    const isInline = value.value >= -16n && value.value <= 64n;
    return isInline ? inline(inlineOf(value.value, type, 16, INTEGER_ENCODINGS)) : literal(value.value & 0xffffn);
  }
  // 64 bits may stand for a negative number of fewer.
  const number = BigInt.asIntN(64, value.value);
  if ((type === 'f16' && !fits(number, 16)) || (bits !== 64 && !fits(number, 32))) return undefined;
  const found = fits(number, bits) ? inline(inlineOf(number, type, bits)) : undefined;
  return found ?? (fits(number, 32) ? literal(number) : undefined);
}
