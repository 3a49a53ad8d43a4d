/**
 * What the floating-point operations must give, by definition: an exact result is only compared with
 * rationals, and the numbers of a format are searched for its neighbours. Independent of float-bits.ts.
 */
import fc from 'fast-check';

/** Those that have arithmetic in all rounding modes. */
export const FLOAT_TYPES = ['f16', 'f32', 'f64'] as const;
export type RoundedType = (typeof FLOAT_TYPES)[number];
export type FloatType = RoundedType | 'bf16' | 'tf32' | 'e5m2';
/** As MODE.FP_ROUND numbers them. */
export type Mode = 0 | 1 | 2 | 3;
export const MODES: readonly Mode[] = [0, 1, 2, 3];
const [NEAREST, UP, DOWN] = [0, 1, 2];

interface Rational {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
}

/** Sign of an exact non-negative result minus a rational. */
type Compare = (x: Rational) => number;

interface Format {
  readonly bits: number;
  readonly fractionBits: number;
  readonly bias: number;
}

const FORMATS: Readonly<Record<FloatType, Format>> = {
  f16: { bits: 16, fractionBits: 10, bias: 15 },
  f32: { bits: 32, fractionBits: 23, bias: 127 },
  f64: { bits: 64, fractionBits: 52, bias: 1023 },
  bf16: { bits: 16, fractionBits: 7, bias: 127 },
  tf32: { bits: 19, fractionBits: 10, bias: 127 },
  e5m2: { bits: 8, fractionBits: 2, bias: 15 },
};

const signOf = (type: FloatType): bigint => 1n << BigInt(FORMATS[type].bits - 1);
const infinityOf = (type: FloatType): bigint => signOf(type) - (1n << BigInt(FORMATS[type].fractionBits));
const quietOf = (type: FloatType): bigint => 1n << BigInt(FORMATS[type].fractionBits - 1);
const size = (type: FloatType, x: bigint): bigint => x & (signOf(type) - 1n);
const isNegative = (type: FloatType, x: bigint): boolean => (x & signOf(type)) !== 0n;
export const isNan = (type: FloatType, x: bigint): boolean => size(type, x) > infinityOf(type);
const isInfinite = (type: FloatType, x: bigint): boolean => size(type, x) === infinityOf(type);
const isZero = (type: FloatType, x: bigint): boolean => size(type, x) === 0n;
const signed = (type: FloatType, x: bigint, negative: boolean): bigint => (negative ? x | signOf(type) : x);
export const invalid = (type: FloatType): bigint => infinityOf(type) | quietOf(type);

const sign = (x: bigint): number => (x < 0n ? -1 : x > 0n ? 1 : 0);
const times = (x: Rational, y: Rational): Rational => ({
  numerator: x.numerator * y.numerator,
  denominator: x.denominator * y.denominator,
});
const plus = (x: Rational, y: Rational): Rational => ({
  numerator: x.numerator * y.denominator + y.numerator * x.denominator,
  denominator: x.denominator * y.denominator,
});
const over = (x: Rational, y: Rational): Rational => {
  const flip = y.numerator < 0n ? -1n : 1n;
  return { numerator: x.numerator * y.denominator * flip, denominator: x.denominator * y.numerator * flip };
};
const difference = (x: Rational, y: Rational): number =>
  sign(x.numerator * y.denominator - y.numerator * x.denominator);

/** Value of a pattern's magnitude; the one of infinity is the number that would come after the largest. */
function magnitude(type: FloatType, bits: bigint): Rational {
  const { fractionBits, bias } = FORMATS[type];
  const unit = 1n << BigInt(fractionBits);
  const field = Number(bits / unit);
  const fraction = (bits % unit) + (field === 0 ? 0n : unit);
  const exponent = Math.max(field, 1) - bias - fractionBits;
  return exponent < 0
    ? { numerator: fraction, denominator: 1n << BigInt(-exponent) }
    : { numerator: fraction << BigInt(exponent), denominator: 1n };
}

const rationalOf = (type: FloatType, bits: bigint): Rational => {
  const { numerator, denominator } = magnitude(type, size(type, bits));
  return { numerator: isNegative(type, bits) ? -numerator : numerator, denominator };
};

/** The number of the format that the rounding rule gives for a result that is not zero. */
function choose(type: FloatType, mode: Mode, negative: boolean, compare: Compare): bigint {
  let [low, high] = [0n, infinityOf(type)];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (compare(magnitude(type, middle)) < 0) high = middle;
    else low = middle;
  }
  if (compare(magnitude(type, low)) === 0) return signed(type, low, negative);
  const half = { numerator: 1n, denominator: 2n };
  const side = compare(times(plus(magnitude(type, low), magnitude(type, high)), half));
  const isOutward =
    mode === NEAREST
      ? side > 0 || (side === 0 && low % 2n === 1n)
      : (mode === UP && !negative) || (mode === DOWN && negative);
  return signed(type, isOutward ? high : low, negative);
}

function rounded(type: FloatType, mode: Mode, exact: Rational, negativeZero: boolean): bigint {
  if (exact.numerator === 0n) return signed(type, 0n, negativeZero);
  const negative = exact.numerator < 0n;
  const positive = { ...exact, numerator: negative ? -exact.numerator : exact.numerator };
  return choose(type, mode, negative, (x) => difference(positive, x));
}

function multiplyAdd(type: FloatType, mode: Mode, x: bigint, y: bigint, z: bigint): bigint {
  const negative = isNegative(type, x) !== isNegative(type, y);
  if (isInfinite(type, x) || isInfinite(type, y)) {
    const isInvalid = isZero(type, x) || isZero(type, y) || (isInfinite(type, z) && isNegative(type, z) !== negative);
    return isInvalid ? invalid(type) : signed(type, infinityOf(type), negative);
  }
  if (isInfinite(type, z)) return z;
  const exact = plus(times(rationalOf(type, x), rationalOf(type, y)), rationalOf(type, z));
  return rounded(type, mode, exact, negative === isNegative(type, z) ? negative : mode === DOWN);
}

function divided(type: FloatType, mode: Mode, x: bigint, y: bigint): bigint {
  const negative = isNegative(type, x) !== isNegative(type, y);
  if (isInfinite(type, x)) return isInfinite(type, y) ? invalid(type) : signed(type, infinityOf(type), negative);
  if (isInfinite(type, y)) return signed(type, 0n, negative);
  if (isZero(type, y)) return isZero(type, x) ? invalid(type) : signed(type, infinityOf(type), negative);
  return rounded(type, mode, over(rationalOf(type, x), rationalOf(type, y)), negative);
}

function squareRoot(type: FloatType, mode: Mode, x: bigint): bigint {
  if (isZero(type, x)) return x;
  if (isNegative(type, x)) return invalid(type);
  if (isInfinite(type, x)) return x;
  return choose(type, mode, false, (y) => difference(rationalOf(type, x), times(y, y)));
}

export type Operation = 'add' | 'sub' | 'mul' | 'div' | 'sqrt' | 'fma';
export const ARITY: Readonly<Record<Operation, number>> = { add: 2, sub: 2, mul: 2, div: 2, sqrt: 1, fma: 3 };
export const OPERATIONS = Object.keys(ARITY) as Operation[];

/**
 * Result on bit patterns: NaNs come out quieted, the first one first; an invalid operation gives the positive
 * NaN.
 */
export function expected(operation: Operation, type: FloatType, mode: Mode, operands: readonly bigint[]): bigint {
  const nan = operands.find((x) => isNan(type, x));
  if (nan !== undefined) return nan | quietOf(type);
  const [x, y, z] = operands as [bigint, bigint, bigint];
  switch (operation) {
    case 'add':
    case 'sub': {
      const term = operation === 'sub' ? y ^ signOf(type) : y;
      if (isInfinite(type, x) && isInfinite(type, term)) return x === term ? x : invalid(type);
      if (isInfinite(type, x) || isInfinite(type, term)) return isInfinite(type, x) ? x : term;
      const isBothNegative = isNegative(type, x) && isNegative(type, term);
      const isOneNegative = isNegative(type, x) || isNegative(type, term);
      const negativeZero = mode === DOWN ? isOneNegative : isBothNegative;
      return rounded(type, mode, plus(rationalOf(type, x), rationalOf(type, term)), negativeZero);
    }
    case 'mul':
      // An added zero of the product's sign changes nothing.
      return multiplyAdd(type, mode, x, y, (x ^ y) & signOf(type));
    case 'div':
      return divided(type, mode, x, y);
    case 'sqrt':
      return squareRoot(type, mode, x);
    case 'fma':
      return multiplyAdd(type, mode, x, y, z);
  }
}

/** Conversion between formats; a NaN keeps its sign and the top of its payload, quieted. */
export function converted(from: FloatType, to: FloatType, mode: Mode, x: bigint): bigint {
  const negative = isNegative(from, x);
  if (isNan(from, x)) {
    const shift = BigInt(FORMATS[to].fractionBits - FORMATS[from].fractionBits);
    const payload = size(from, x) - infinityOf(from);
    return signed(to, invalid(to) | (shift < 0n ? payload >> -shift : payload << shift), negative);
  }
  if (isInfinite(from, x)) return signed(to, infinityOf(to), negative);
  return rounded(to, mode, rationalOf(from, x), negative);
}

export const fromInteger = (to: FloatType, mode: Mode, x: bigint): bigint =>
  rounded(to, mode, { numerator: x, denominator: 1n }, false);

/** x times a power of two, rounded once. */
export function scaled(type: FloatType, mode: Mode, x: bigint, power: number): bigint {
  if (isNan(type, x)) return x | quietOf(type);
  if (isInfinite(type, x) || isZero(type, x)) return x;
  const one = { numerator: 1n, denominator: 1n };
  const factor = power < 0 ? { ...one, denominator: 1n << BigInt(-power) } : { ...one, numerator: 1n << BigInt(power) };
  return rounded(type, mode, times(rationalOf(type, x), factor), false);
}

/** A denormal becomes the zero of its sign. */
export const flushed = (type: FloatType, x: bigint): bigint =>
  size(type, x) >> BigInt(FORMATS[type].fractionBits) === 0n ? x & signOf(type) : x;

/**
 * Every limit of the format: zeros, denormals, the smallest and largest normal numbers, one and its
 * neighbours, infinity, NaNs.
 */
export function edges(type: FloatType): bigint[] {
  const { fractionBits, bias } = FORMATS[type];
  const unit = 1n << BigInt(fractionBits);
  const one = BigInt(bias) * unit;
  const infinity = infinityOf(type);
  const positive = [0n, 1n, 2n, 3n, unit / 2n, unit - 1n, unit, unit + 1n, 2n * unit, 3n * unit + 5n];
  positive.push(one - 1n, one, one + 1n, one + unit / 2n, one + unit, one - unit, one - 2n * unit + 7n);
  positive.push(
    one + BigInt(fractionBits) * unit,
    one - BigInt(fractionBits) * unit,
    one - BigInt(fractionBits + 1) * unit,
  );
  positive.push(infinity - unit, infinity - 2n, infinity - 1n, infinity, infinity + 1n, infinity + unit / 2n + 3n);
  return positive.flatMap((x) => [x, signed(type, x, true)]);
}

/** Patterns of a type: edges, neighbours of edges, few significant bits at any exponent, anything. */
export function patterns(type: FloatType): fc.Arbitrary<bigint> {
  const { bits, fractionBits } = FORMATS[type];
  const all = (1n << BigInt(bits)) - 1n;
  const edge = fc.constantFrom(...edges(type));
  const near = fc.tuple(edge, fc.bigInt(-3n, 3n)).map(([x, step]) => (x + step) & all);
  const short = fc
    .tuple(fc.bigInt(0n, all >> BigInt(fractionBits)), fc.bigInt(0n, 31n))
    .map(([top, low]) => (top << BigInt(fractionBits)) | ((low << BigInt(fractionBits)) >> 5n));
  const around = fc
    .tuple(fc.bigInt(-3n, 3n), fc.bigInt(0n, all), fc.boolean())
    .map(([step, fraction, negative]) =>
      signed(
        type,
        ((BigInt(FORMATS[type].bias) + step) << BigInt(fractionBits)) |
          (fraction & ((1n << BigInt(fractionBits)) - 1n)),
        negative,
      ),
    );
  return fc.oneof(edge, near, short, around, fc.bigInt(0n, all));
}

/**
 * Operands of an operation, now and then ones whose exact result comes close to a number: a quotient's
 * product, a root's square, a product's negation as the addend.
 */
export function operandTuples(operation: Operation, type: FloatType): fc.Arbitrary<bigint[]> {
  const arity = ARITY[operation];
  const any = fc.array(patterns(type), { minLength: arity, maxLength: arity });
  const pair = fc.tuple(patterns(type), patterns(type), fc.bigInt(-2n, 2n));
  const all = (1n << BigInt(FORMATS[type].bits)) - 1n;
  const close = pair.map(([x, y, step]): bigint[] => {
    const product = (expected('mul', type, 0, [x, y]) + step) & all;
    switch (operation) {
      case 'div':
        return [product, y];
      case 'sqrt':
        return [(expected('mul', type, 0, [x, x]) + step) & all];
      case 'fma':
        return [x, y, product ^ signOf(type)];
      case 'mul':
        return [x, expected('div', type, 0, [y, x])];
      default:
        return [x, (x + step) & all];
    }
  });
  return fc.oneof(any, close);
}
