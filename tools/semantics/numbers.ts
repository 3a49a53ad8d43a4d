/**
 * Floating point by definition: exact results in big integers, rounded once. Written from IEEE 754 and the
 * MODE register's description; shares nothing with the emulator.
 */

export type FloatType = 'f16' | 'bf16' | 'f32' | 'f64';
/** As MODE.FP_ROUND numbers them. */
export const [NEAREST, UP, DOWN, TOWARD_ZERO] = [0, 1, 2, 3] as const;
export type Rounding = 0 | 1 | 2 | 3;

interface Layout {
  readonly bits: number;
  readonly fraction: number;
  readonly bias: number;
}

export const LAYOUTS: Readonly<Record<FloatType, Layout>> = {
  f16: { bits: 16, fraction: 10, bias: 15 },
  bf16: { bits: 16, fraction: 7, bias: 127 },
  f32: { bits: 32, fraction: 23, bias: 127 },
  f64: { bits: 64, fraction: 52, bias: 1023 },
};

/** n * 2 ** e. */
export interface Dyadic {
  readonly n: bigint;
  readonly e: number;
}

const lengthOf = (n: bigint): number => n.toString(2).length;
export const absolute = (n: bigint): bigint => (n < 0n ? -n : n);
export const unsigned = (bits: number, x: bigint): bigint => BigInt.asUintN(bits, x);
export const signed = (bits: number, x: bigint): bigint => BigInt.asIntN(bits, x);

export const signBit = (type: FloatType): bigint => 1n << BigInt(LAYOUTS[type].bits - 1);
export const infinity = (type: FloatType): bigint => signBit(type) - (1n << BigInt(LAYOUTS[type].fraction));
export const quietBit = (type: FloatType): bigint => 1n << BigInt(LAYOUTS[type].fraction - 1);
export const magnitude = (type: FloatType, x: bigint): bigint => x & (signBit(type) - 1n);
export const isNegative = (type: FloatType, x: bigint): boolean => (x & signBit(type)) !== 0n;
export const isNan = (type: FloatType, x: bigint): boolean => magnitude(type, x) > infinity(type);
export const isSignalling = (type: FloatType, x: bigint): boolean => isNan(type, x) && (x & quietBit(type)) === 0n;
export const isInfinite = (type: FloatType, x: bigint): boolean => magnitude(type, x) === infinity(type);
export const isZero = (type: FloatType, x: bigint): boolean => magnitude(type, x) === 0n;
export const isDenormal = (type: FloatType, x: bigint): boolean => !isZero(type, x) && exponentField(type, x) === 0;
export const exponentField = (type: FloatType, x: bigint): number =>
  Number(magnitude(type, x) >> BigInt(LAYOUTS[type].fraction));
export const withSign = (type: FloatType, x: bigint, negative: boolean): bigint => (negative ? x | signBit(type) : x);
export const quiet = (type: FloatType, x: bigint): bigint => x | quietBit(type);
export const flushed = (type: FloatType, x: bigint): bigint => (isDenormal(type, x) ? x & signBit(type) : x);
/** What an invalid sum, product or fused operation gives. */
export const positiveNan = (type: FloatType): bigint => infinity(type) | quietBit(type);
/** What roots, logarithms and quotients without a value give (0xffc00000 in V_DIV_FIXUP_F32). */
export const negativeNan = (type: FloatType): bigint => positiveNan(type) | signBit(type);

/** A finite number. */
export function exactValue(type: FloatType, x: bigint): Dyadic {
  const { fraction, bias } = LAYOUTS[type];
  const field = exponentField(type, x);
  const unit = 1n << BigInt(fraction);
  const significand = (x & (unit - 1n)) + (field === 0 ? 0n : unit);
  return { n: isNegative(type, x) ? -significand : significand, e: Math.max(field, 1) - bias - fraction };
}

export function plus(x: Dyadic, y: Dyadic): Dyadic {
  const e = Math.min(x.e, y.e);
  return { n: (x.n << BigInt(x.e - e)) + (y.n << BigInt(y.e - e)), e };
}
export const times = (x: Dyadic, y: Dyadic): Dyadic => ({ n: x.n * y.n, e: x.e + y.e });
export const negated = (x: Dyadic): Dyadic => ({ n: -x.n, e: x.e });
/** Sign of x - y. */
export const compare = (x: Dyadic, y: Dyadic): number => {
  const { n } = plus(x, negated(y));
  return n < 0n ? -1 : n > 0n ? 1 : 0;
};

const EXTRA_BITS = 160n;
/**
 * A quotient, far more precise than any format, odd where it is not exact, so that it rounds as the exact
 * one.
 */
export function quotient(x: Dyadic, y: Dyadic): Dyadic {
  const dividend = absolute(x.n) << (EXTRA_BITS + BigInt(lengthOf(absolute(y.n))));
  const divisor = absolute(y.n);
  const n = ((dividend / divisor) << 1n) | (dividend % divisor === 0n ? 0n : 1n);
  return { n: x.n < 0n === y.n < 0n ? n : -n, e: x.e - y.e - Number(EXTRA_BITS) - lengthOf(divisor) - 1 };
}

export function integerRoot(n: bigint): bigint {
  if (n < 2n) return n;
  let root = 1n << BigInt((lengthOf(n) + 1) >> 1);
  for (;;) {
    const next = (root + n / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** As `quotient`. */
export function squareRoot(x: Dyadic): Dyadic {
  const shift = 2 * Number(EXTRA_BITS) + (x.e & 1);
  const n = x.n << BigInt(shift);
  const root = integerRoot(n);
  return { n: (root << 1n) | (root * root === n ? 0n : 1n), e: (x.e - shift) / 2 - 1 };
}

/** The pattern of the number that the rounding rule gives; `negativeZero` is the sign of an exact zero. */
export function rounded(type: FloatType, mode: Rounding, { n, e }: Dyadic, negativeZero = false): bigint {
  const { fraction, bias } = LAYOUTS[type];
  if (n === 0n) return withSign(type, 0n, negativeZero);
  const negative = n < 0n;
  const size = absolute(n);
  const smallest = 1 - bias - fraction;
  const last = Math.max(lengthOf(size) - 1 + e - fraction, smallest);
  let kept = last <= e ? size << BigInt(e - last) : size >> BigInt(last - e);
  const rest = last <= e ? 0n : size - (kept << BigInt(last - e));
  const half = last <= e ? 1n : 1n << BigInt(last - e - 1);
  const outward = (mode === UP && !negative) || (mode === DOWN && negative);
  const up = mode === NEAREST ? rest > half || (rest === half && (kept & 1n) === 1n) : outward && rest !== 0n;
  if (up) kept += 1n;
  const pattern = (BigInt(last - smallest) << BigInt(fraction)) + kept;
  if (pattern < infinity(type)) return withSign(type, pattern, negative);
  return withSign(type, mode === NEAREST || outward ? infinity(type) : infinity(type) - 1n, negative);
}

/** An integer next to a number. */
export function wholeOf({ n, e }: Dyadic, mode: Rounding): bigint {
  if (e >= 0) return n << BigInt(e);
  const unit = 1n << BigInt(-e);
  const floor = n >> BigInt(-e);
  const rest = n - floor * unit;
  if (rest === 0n || mode === DOWN) return floor;
  if (mode === UP) return floor + 1n;
  if (mode === TOWARD_ZERO) return n < 0n ? floor + 1n : floor;
  const twice = 2n * rest;
  return twice > unit || (twice === unit && (floor & 1n) === 1n) ? floor + 1n : floor;
}

export interface Flush {
  readonly inputs: boolean;
  readonly results: boolean;
}

/** Operations on bit patterns of one format: denormals as told, the first NaN quieted. */
export class Arithmetic {
  readonly type: FloatType;
  readonly rounding: Rounding;
  readonly flush: Flush;

  constructor(type: FloatType, rounding: Rounding, flush: Flush) {
    this.type = type;
    this.rounding = rounding;
    this.flush = flush;
  }

  with(rounding: Rounding): Arithmetic {
    return new Arithmetic(this.type, rounding, this.flush);
  }

  get unflushed(): Arithmetic {
    return new Arithmetic(this.type, this.rounding, { inputs: false, results: false });
  }

  get flushing(): Arithmetic {
    return new Arithmetic(this.type, this.rounding, { inputs: true, results: true });
  }

  input(x: bigint): bigint {
    return this.flush.inputs ? flushed(this.type, x) : x;
  }

  result(x: bigint): bigint {
    return this.flush.results ? flushed(this.type, x) : x;
  }

  negate(x: bigint): bigint {
    return x ^ signBit(this.type);
  }

  round(exact: Dyadic, negativeZero = false): bigint {
    return this.result(rounded(this.type, this.rounding, exact, negativeZero));
  }

  add(x: bigint, y: bigint): bigint {
    const { type } = this;
    const [p, q] = [this.input(x), this.input(y)];
    const nan = [p, q].find((each) => isNan(type, each));
    if (nan !== undefined) return quiet(type, nan);
    if (isInfinite(type, p)) return isInfinite(type, q) && p !== q ? positiveNan(type) : p;
    if (isInfinite(type, q)) return q;
    const bothNegative = isNegative(type, p) && isNegative(type, q);
    const bothZero = isZero(type, p) && isZero(type, q);
    const oneNegative = isNegative(type, p) || isNegative(type, q);
    const down = this.rounding === DOWN;
    return this.round(
      plus(exactValue(type, p), exactValue(type, q)),
      bothNegative || (down && (bothZero ? oneNegative : true)),
    );
  }

  subtract(x: bigint, y: bigint): bigint {
    return isNan(this.type, y) ? this.add(x, y) : this.add(x, this.negate(y));
  }

  multiply(x: bigint, y: bigint): bigint {
    const { type } = this;
    const [p, q] = [this.input(x), this.input(y)];
    const nan = [p, q].find((each) => isNan(type, each));
    if (nan !== undefined) return quiet(type, nan);
    const negative = isNegative(type, p) !== isNegative(type, q);
    if (isInfinite(type, p) || isInfinite(type, q)) {
      return isZero(type, p) || isZero(type, q) ? positiveNan(type) : withSign(type, infinity(type), negative);
    }
    return this.round(times(exactValue(type, p), exactValue(type, q)), negative);
  }

  fma(x: bigint, y: bigint, z: bigint): bigint {
    const { type } = this;
    const [p, q, r] = [this.input(x), this.input(y), this.input(z)];
    const nan = [p, q, r].find((each) => isNan(type, each));
    if (nan !== undefined) return quiet(type, nan);
    const negative = isNegative(type, p) !== isNegative(type, q);
    if (isInfinite(type, p) || isInfinite(type, q)) {
      if (isZero(type, p) || isZero(type, q)) return positiveNan(type);
      if (isInfinite(type, r) && isNegative(type, r) !== negative) return positiveNan(type);
      return withSign(type, infinity(type), negative);
    }
    if (isInfinite(type, r)) return r;
    const exact = plus(times(exactValue(type, p), exactValue(type, q)), exactValue(type, r));
    return this.round(exact, isNegative(type, r) === negative ? negative : this.rounding === DOWN);
  }

  divide(x: bigint, y: bigint): bigint {
    const { type } = this;
    const [p, q] = [this.input(x), this.input(y)];
    const nan = [p, q].find((each) => isNan(type, each));
    if (nan !== undefined) return quiet(type, nan);
    const negative = isNegative(type, p) !== isNegative(type, q);
    if (isInfinite(type, p)) {
      return isInfinite(type, q) ? negativeNan(type) : withSign(type, infinity(type), negative);
    }
    if (isInfinite(type, q)) return withSign(type, 0n, negative);
    if (isZero(type, q)) return isZero(type, p) ? negativeNan(type) : withSign(type, infinity(type), negative);
    if (isZero(type, p)) return withSign(type, 0n, negative);
    return this.round(quotient(exactValue(type, p), exactValue(type, q)), negative);
  }

  /** An integer number next to x, as the rounding says. */
  whole(x: bigint, mode: Rounding): bigint {
    const { type } = this;
    const p = this.input(x);
    if (isNan(type, p)) return quiet(type, p);
    if (isInfinite(type, p)) return p;
    return this.round({ n: wholeOf(exactValue(type, p), mode), e: 0 }, isNegative(type, p));
  }

  /**
   * V_MIN and V_MAX (CDNA3 ISA 12.9): IEEE quiets a signalling NaN; otherwise the other operand of a NaN; -0
   * below +0.
   */
  extreme(x: bigint, y: bigint, wantLess: boolean, ieee: boolean): bigint {
    const { type } = this;
    const [p, q] = [this.input(x), this.input(y)];
    if (ieee && isSignalling(type, p)) return quiet(type, p);
    if (ieee && isSignalling(type, q)) return quiet(type, q);
    if (isNan(type, p)) return this.result(q);
    if (isNan(type, q)) return this.result(p);
    const order = this.order(p, q);
    const firstIsLess = order < 0 || (order === 0 && isNegative(type, p));
    return this.result(firstIsLess === wantLess ? p : q);
  }

  /** Sign of x - y; no NaN. Zeros are equal. */
  order(x: bigint, y: bigint): number {
    const { type } = this;
    const key = (each: bigint): bigint => (isNegative(type, each) ? -magnitude(type, each) : each);
    const [p, q] = [key(this.input(x)), key(this.input(y))];
    return p < q ? -1 : p > q ? 1 : 0;
  }

  /** x * 2 ** power, rounded once. */
  scale(x: bigint, power: number): bigint {
    const { type } = this;
    const p = this.input(x);
    if (isNan(type, p)) return quiet(type, p);
    if (isInfinite(type, p) || isZero(type, p)) return p;
    const { n, e } = exactValue(type, p);
    return this.round({ n, e: e + Math.max(-5000, Math.min(5000, power)) });
  }
}

/** Between formats; a NaN keeps sign and payload as far as it goes, quieted. */
export function converted(from: FloatType, to: FloatType, mode: Rounding, x: bigint): bigint {
  const negative = isNegative(from, x);
  if (isNan(from, x)) {
    const shift = BigInt(LAYOUTS[to].fraction - LAYOUTS[from].fraction);
    const payload = magnitude(from, x) - infinity(from);
    return withSign(to, positiveNan(to) | (shift < 0n ? payload >> -shift : payload << shift), negative);
  }
  if (isInfinite(from, x)) return withSign(to, infinity(to), negative);
  return rounded(to, mode, exactValue(from, x), negative);
}

/** The integer that a number becomes: limited to the range, 0 for a NaN. */
export function saturated(type: FloatType, x: bigint, mode: Rounding, low: bigint, high: bigint): bigint {
  if (isNan(type, x)) return 0n;
  const limit = (value: bigint): bigint => (value < low ? low : value > high ? high : value);
  if (isInfinite(type, x)) return isNegative(type, x) ? low : high;
  return limit(wholeOf(exactValue(type, x), mode));
}
