/**
 * Formats of 8 to 19 bits that no operation of its own converts, as numbers of f64: bf16, tf32, and the two
 * of 8 bits of the Open Compute Project (OFP8 specification 1.0, chapter 5).
 */
import { NEAREST_EVEN, type Rounding, TOWARD_NEGATIVE, TOWARD_POSITIVE } from './float-bits.ts';
import type { PureBuilder } from './pure-builder.ts';
import type { Value } from './types.ts';

export interface NarrowFormat {
  readonly bits: number;
  readonly fractionBits: number;
  readonly bias: number;
  /** Bit patterns without sign. */
  readonly largest: number;
  /** Undefined for a format without it. */
  readonly infinity: number | undefined;
  readonly nan: number;
}

export const BF16: NarrowFormat = {
  ...{ bits: 16, fractionBits: 7, bias: 127, largest: 0x7f7f, infinity: 0x7f80, nan: 0x7fff },
};
export const HALF: NarrowFormat = {
  ...{ bits: 16, fractionBits: 10, bias: 15, largest: 0x7bff, infinity: 0x7c00, nan: 0x7fff },
};
export const TF32: NarrowFormat = {
  ...{ bits: 19, fractionBits: 10, bias: 127, largest: 0x3fbff, infinity: 0x3fc00, nan: 0x3ffff },
};
export const E4M3: NarrowFormat = {
  ...{ bits: 8, fractionBits: 3, bias: 7, largest: 0x7e, infinity: undefined, nan: 0x7f },
};
export const E5M2: NarrowFormat = {
  ...{ bits: 8, fractionBits: 2, bias: 15, largest: 0x7b, infinity: 0x7c, nan: 0x7f },
};

const FRACTION64 = 52;
const BIAS64 = 1023;

/** The number in the low bits of an i32, exact; a NaN is the positive one without payload. */
export function widened(b: PureBuilder, format: NarrowFormat, x: Value): Value {
  const { bits, fractionBits, bias, largest, infinity } = format;
  const magnitude = b.bits(x, 0, bits - 1);
  const shifted = b.shl(b.zext64(magnitude), FRACTION64 - fractionBits);
  const finite = b.op('f64.mul', shifted, power(b, BIAS64 - bias));
  const isNumber = b.not(b.ltU(b.i32(largest), magnitude));
  const nan = b.i64(0x7ff8000000000000n);
  const beyond =
    infinity === undefined ? nan : b.select(b.eq(magnitude, b.i32(infinity)), b.i64(0x7ff0000000000000n), nan);
  return b.or(b.select(isNumber, finite, beyond), b.shl(b.zext64(b.bits(x, bits - 1, 1)), 63));
}

/** 2^n as bits of f64. */
const power = (b: PureBuilder, n: number): Value => b.i64(BigInt(n + BIAS64) << BigInt(FRACTION64));

interface Narrowing {
  readonly rounding?: Rounding;
  /** What is larger than the largest number becomes that, infinity too. */
  readonly isSaturating?: boolean;
}

/**
 * A f64 rounded once, in the low bits of an i32; a NaN is the positive one of the format. `isSaturating` has
 * to be set for a format without infinity.
 */
export function narrowed(
  b: PureBuilder,
  format: NarrowFormat,
  x: Value,
  { rounding = NEAREST_EVEN, isSaturating = false }: Narrowing = {},
): Value {
  const { bits, fractionBits, bias, largest, infinity, nan } = format;
  const magnitude = b.and(x, b.i64((1n << 63n) - 1n));
  // Exponents in between have the spacing of normal and of denormal numbers; larger ones overflow with any.
  const field = b.shrU(b.high(magnitude), FRACTION64 - 32);
  const exponent = b.minU(b.maxU(field, b.i32(BIAS64 - bias + 1)), b.i32(BIAS64 + bias + 1));
  // Adding and subtracting a power of two whose last place is the spacing rounds to a multiple of it.
  const anchor = b.shl(b.zext64(b.add(exponent, b.i32(FRACTION64 - fractionBits))), FRACTION64);
  const rounded = b.op('f64.sub', b.op('f64.add', magnitude, anchor), anchor);
  const scaled = b.op('f64.mul', rounded, power(b, bias - BIAS64));
  const nearest = b.low(b.shrU(scaled, FRACTION64 - fractionBits));
  const isNegative = b.ltS(x, b.i64(0n));
  const inward = goesInward(b, rounding, isNegative);
  let settled = nearest;
  if (rounding !== NEAREST_EVEN) {
    const isAbove = b.op('i1.and', inward, b.op('f64.lt', magnitude, rounded));
    settled = b.sub(nearest, b.boolToI32(isAbove));
    const isBelow = b.op('i1.and', b.not(inward), b.op('f64.lt', rounded, magnitude));
    settled = b.add(settled, b.boolToI32(isBelow));
  }
  const isInfinite = b.eq(magnitude, b.i64(0x7ff0000000000000n));
  const stays =
    isSaturating || rounding === NEAREST_EVEN ? b.i1(isSaturating) : b.op('i1.and', inward, b.not(isInfinite));
  const beyond = b.select(stays, b.i32(largest), b.i32(infinity ?? largest));
  const finite = b.select(b.ltU(b.i32(largest), settled), beyond, settled);
  const signed = b.or(finite, b.shl(b.boolToI32(isNegative), bits - 1));
  return b.select(b.op('f64.eq', x, x), signed, b.i32(nan));
}

/** Whether a rounding that is not to the nearest goes towards zero; otherwise it goes away from it. */
function goesInward(b: PureBuilder, rounding: Rounding, isNegative: Value): Value {
  if (rounding === TOWARD_POSITIVE) return isNegative;
  return rounding === TOWARD_NEGATIVE ? b.not(isNegative) : b.i1(true);
}

/** x * y + z so that it rounds as if it were exact: what a f64 has no place for becomes its last bit. */
export function oddFma(b: PureBuilder, x: Value, y: Value, z: Value): Value {
  const product = b.op('f64.mul', x, y);
  const sum = b.op('f64.add', product, z);
  const part = b.op('f64.sub', sum, product);
  const rest = b.op('f64.add', b.op('f64.sub', product, b.op('f64.sub', sum, part)), b.op('f64.sub', z, part));
  const zero = b.i64(0n);
  const isAbove = b.op('f64.lt', zero, rest);
  const isInexact = b.op('i1.or', isAbove, b.op('f64.lt', rest, zero));
  const isEven = b.isZero(b.and(sum, b.i64(1n)));
  const goesOut = b.op('i1.xor', isAbove, b.ltS(sum, zero));
  const odd = b.select(goesOut, b.add(sum, b.i64(1n)), b.sub(sum, b.i64(1n)));
  return b.select(b.op('i1.and', isInexact, isEven), odd, sum);
}
