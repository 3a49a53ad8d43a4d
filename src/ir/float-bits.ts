/**
 * Exact arithmetic on IEEE 754 bit patterns for the evaluator: slow and obvious, no host rounding involved.
 */

/** Where a number goes that is not representable, numbered as in MODE.FP_ROUND (CDNA2 ISA 6.4, table 23). */
export const NEAREST_EVEN = 0;
export const TOWARD_POSITIVE = 1;
export const TOWARD_NEGATIVE = 2;
export const TOWARD_ZERO = 3;
export type Rounding = typeof NEAREST_EVEN | typeof TOWARD_POSITIVE | typeof TOWARD_NEGATIVE | typeof TOWARD_ZERO;

export interface FloatFormat {
  readonly fractionBits: number;
  readonly exponentBits: number;
}

export const F16: FloatFormat = { fractionBits: 10, exponentBits: 5 };
export const F32: FloatFormat = { fractionBits: 23, exponentBits: 8 };
export const F64: FloatFormat = { fractionBits: 52, exponentBits: 11 };

const bias = (f: FloatFormat): number => (1 << (f.exponentBits - 1)) - 1;
const signBit = (f: FloatFormat): bigint => 1n << BigInt(f.fractionBits + f.exponentBits);
const infinity = (f: FloatFormat): bigint => ((1n << BigInt(f.exponentBits)) - 1n) << BigInt(f.fractionBits);
const quietBit = (f: FloatFormat): bigint => 1n << BigInt(f.fractionBits - 1);

export const isNan = (bits: bigint, f: FloatFormat): boolean => (bits & (signBit(f) - 1n)) > infinity(f);
export const isInfinite = (bits: bigint, f: FloatFormat): boolean => (bits & (signBit(f) - 1n)) === infinity(f);
export const isZero = (bits: bigint, f: FloatFormat): boolean => (bits & (signBit(f) - 1n)) === 0n;
export const isNegative = (bits: bigint, f: FloatFormat): boolean => (bits & signBit(f)) !== 0n;
export const quieted = (bits: bigint, f: FloatFormat): bigint => bits | quietBit(f);
/** The NaN that AMD GPUs produce for invalid operations: positive, quiet, no payload. */
export const defaultNan = (f: FloatFormat): bigint => infinity(f) | quietBit(f);

/** A finite number as `mantissa * 2^exponent`, mantissa signed. */
export interface Exact {
  readonly mantissa: bigint;
  readonly exponent: number;
}

export function toExact(bits: bigint, f: FloatFormat): Exact {
  const fraction = bits & ((1n << BigInt(f.fractionBits)) - 1n);
  const biased = Number((bits & (signBit(f) - 1n)) >> BigInt(f.fractionBits));
  const magnitude = biased === 0 ? fraction : fraction | (1n << BigInt(f.fractionBits));
  const exponent = (biased === 0 ? 1 : biased) - bias(f) - f.fractionBits;
  return { mantissa: isNegative(bits, f) ? -magnitude : magnitude, exponent };
}

/** Whether `kept`, an integer that lost `low` of `unit`, goes up by one. */
function roundsAway(kept: bigint, low: bigint, unit: bigint, negative: boolean, rounding: Rounding): boolean {
  if (low === 0n) return false;
  if (rounding !== NEAREST_EVEN) return rounding === (negative ? TOWARD_NEGATIVE : TOWARD_POSITIVE);
  return low * 2n > unit || (low * 2n === unit && (kept & 1n) === 1n);
}

/** Rounds; `zeroSign` is the sign of an exact zero. */
export function fromExact(value: Exact, f: FloatFormat, zeroSign: boolean, rounding: Rounding = NEAREST_EVEN): bigint {
  if (value.mantissa === 0n) return zeroSign ? signBit(f) : 0n;
  const negative = value.mantissa < 0n;
  const magnitude = negative ? -value.mantissa : value.mantissa;
  const lowestExponent = 1 - bias(f) - f.fractionBits;
  const excessBits = magnitude.toString(2).length - (f.fractionBits + 1);
  const exponent = Math.max(value.exponent + excessBits, lowestExponent);
  const shift = exponent - value.exponent;
  let rounded: bigint;
  if (shift <= 0) rounded = magnitude << BigInt(-shift);
  else {
    const unit = 1n << BigInt(shift);
    rounded = magnitude >> BigInt(shift);
    if (roundsAway(rounded, magnitude & (unit - 1n), unit, negative, rounding)) rounded += 1n;
  }
  // A subnormal has biased exponent 0; the hidden bit of a normal number, or a carry into it, adds one to the
  // field.
  const field = BigInt(exponent - lowestExponent) << BigInt(f.fractionBits);
  const bits = rounded + field;
  // Beyond the largest number the next one would be infinity, at least half way to it.
  const beyond = roundsAway(1n, 1n, 2n, negative, rounding) ? infinity(f) : infinity(f) - 1n;
  const limited = bits < infinity(f) ? bits : beyond;
  return negative ? limited | signBit(f) : limited;
}

/** a * b + c with one rounding; NaN operands win in order a, b, c, quieted. */
export function fusedMultiplyAdd(
  a: bigint,
  b: bigint,
  c: bigint,
  f: FloatFormat,
  rounding: Rounding = NEAREST_EVEN,
): bigint {
  for (const operand of [a, b, c]) if (isNan(operand, f)) return quieted(operand, f);
  const negativeProduct = isNegative(a, f) !== isNegative(b, f);
  if (isInfinite(a, f) || isInfinite(b, f)) {
    if (isZero(a, f) || isZero(b, f)) return defaultNan(f);
    if (isInfinite(c, f) && isNegative(c, f) !== negativeProduct) return defaultNan(f);
    return infinity(f) | (negativeProduct ? signBit(f) : 0n);
  }
  if (isInfinite(c, f)) return c;
  const x = toExact(a, f);
  const y = toExact(b, f);
  const z = toExact(c, f);
  const exponent = Math.min(x.exponent + y.exponent, z.exponent);
  const product = (x.mantissa * y.mantissa) << BigInt(x.exponent + y.exponent - exponent);
  const mantissa = product + (z.mantissa << BigInt(z.exponent - exponent));
  const negativeZero = negativeProduct === isNegative(c, f) ? negativeProduct : rounding === TOWARD_NEGATIVE;
  return fromExact({ mantissa, exponent }, f, negativeZero, rounding);
}

/** Conversion between formats, to nearest even; a NaN keeps its sign and the top of its payload, quieted. */
export function convert(bits: bigint, from: FloatFormat, to: FloatFormat): bigint {
  const sign = isNegative(bits, from) ? signBit(to) : 0n;
  if (isNan(bits, from)) {
    const shift = BigInt(to.fractionBits - from.fractionBits);
    const payload = bits & ((1n << BigInt(from.fractionBits)) - 1n);
    return sign | infinity(to) | quietBit(to) | (shift >= 0n ? payload << shift : payload >> -shift);
  }
  if (isInfinite(bits, from)) return sign | infinity(to);
  return fromExact(toExact(bits, from), to, sign !== 0n);
}
