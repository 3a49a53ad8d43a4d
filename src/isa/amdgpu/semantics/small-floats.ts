/**
 * Conversions between f32 and the 8-bit numbers of CDNA3, FP8 (E4M3, bias 8) and BF8 (E5M2, bias 16): without
 * infinities and negative zero; 0x80 is the NaN. CDNA3 ISA 7.2.
 */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';

export interface SmallFloat {
  readonly name: 'fp8' | 'bf8';
  readonly fractionBits: 2 | 3;
  readonly bias: 8 | 16;
}

export const SMALL_FLOATS: readonly [SmallFloat, SmallFloat] = [
  { name: 'fp8', fractionBits: 3, bias: 8 },
  { name: 'bf8', fractionBits: 2, bias: 16 },
];

const NAN = 0x80;
const LARGEST = 0x7f;
const F32_FRACTION_BITS = 23;
const F32_BIAS = 127;
const F32_NAN = 0x7fc00000;
/** MODE.FP16_OVFL: numbers beyond the largest one become it. */
const FP16_OVFL_BIT = 23;

/**
 * The number in the low byte of `x`, exact: its bits in the places of an f32 are the number but for the
 * difference of the biases.
 */
export function toF32(b: Builder, { fractionBits, bias }: SmallFloat, x: Value): Value {
  const magnitude = b.shl(b.bits(x, 0, 7), F32_FRACTION_BITS - fractionBits);
  const value = b.op('f32.mul', magnitude, b.f32.constant(2 ** (F32_BIAS - bias)));
  const signed = b.or(value, b.shl(b.bits(x, 7, 1), 31));
  return b.select(b.eq(b.bits(x, 0, 8), b.i32(NAN)), b.i32(F32_NAN), signed);
}

/** The number in the low byte of `x` as f32. */
export const smallFloatToF32 = (b: Builder, name: SmallFloat['name'], x: Value): Value =>
  toF32(b, SMALL_FLOATS.find((layout) => layout.name === name)!, x);

/** Rounded to nearest even. */
export function fromF32(b: Builder, { fractionBits, bias }: SmallFloat, x: Value): Value {
  const magnitude = b.f32.abs(x);
  // The exponents in between have the spacing of normal and of denormal numbers; larger numbers overflow with
  // any.
  const smallest = F32_BIAS - bias + 1;
  const exponent = b.minU(b.maxU(b.shrU(magnitude, F32_FRACTION_BITS), b.i32(smallest)), b.i32(F32_BIAS + bias));
  // Adding and subtracting a power of two whose last place is the spacing rounds to a multiple of it.
  const anchor = b.shl(b.add(exponent, b.i32(F32_FRACTION_BITS - fractionBits)), F32_FRACTION_BITS);
  const rounded = b.op('f32.sub', b.op('f32.add', magnitude, anchor), anchor);
  const bits = b.shrU(
    b.op('f32.mul', rounded, b.f32.constant(2 ** (bias - F32_BIAS))),
    F32_FRACTION_BITS - fractionBits,
  );
  const overflows = b.ltU(b.i32(LARGEST), bits);
  const saturates = b.ne(b.bits(b.state('mode'), FP16_OVFL_BIT, 1), b.i32(0));
  const sign = b.shl(b.shrU(x, 31), 7);
  const signed = b.select(b.isZero(bits), bits, b.or(bits, sign));
  const beyond = b.select(saturates, b.or(b.i32(LARGEST), sign), b.i32(NAN));
  return b.select(b.f32.isNan(x), b.i32(NAN), b.select(overflows, beyond, signed));
}
