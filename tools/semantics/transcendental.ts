/**
 * Elementary functions to about 150 bits in fixed point: series of arguments reduced exactly. An f32 or f16
 * that is rounded from them is the correct rounding of the function.
 */
import type { Dyadic } from './numbers.ts';

const BITS = 192;
const ONE = 1n << BigInt(BITS);
const multiply = (x: bigint, y: bigint): bigint => (x * y) >> BigInt(BITS);

function arctangentOfInverse(n: bigint): bigint {
  let term = ONE / n;
  let sum = term;
  for (let k = 1n; term !== 0n; k++) {
    term /= n * n;
    sum += (k & 1n ? -term : term) / (2n * k + 1n);
  }
  return sum;
}

/** Machin. */
const PI = 4n * (4n * arctangentOfInverse(5n) - arctangentOfInverse(239n));

/** ln((1 + s) / (1 - s)). */
function logarithmOfRatio(s: bigint): bigint {
  const square = multiply(s, s);
  let power = s;
  let sum = 0n;
  for (let k = 1n; power !== 0n && power !== -1n; k += 2n) {
    sum += power / k;
    power = multiply(power, square);
  }
  return 2n * sum;
}

/** ln 2 = ln((1 + 1/3) / (1 - 1/3)). */
const LN_2 = logarithmOfRatio(ONE / 3n);

/** x in fixed point; bits below the last are dropped, which only tiny arguments have. */
const fixed = ({ n, e }: Dyadic): bigint => (e + BITS >= 0 ? n << BigInt(e + BITS) : n >> BigInt(-e - BITS));

/** 2 ** x for |x| below 2^20. */
export function exp2(x: Dyadic): Dyadic {
  const argument = fixed(x);
  const whole = argument >> BigInt(BITS);
  const rest = multiply(argument - (whole << BigInt(BITS)), LN_2);
  let term = ONE;
  let sum = 0n;
  for (let k = 1n; term !== 0n; k++) {
    sum += term;
    term = multiply(term, rest) / k;
  }
  return { n: sum, e: Number(whole) - BITS };
}

/** log2 of a positive number, exact for powers of two. */
export function log2({ n, e }: Dyadic): Dyadic {
  const length = n.toString(2).length;
  const exponent = e + length - 1;
  if (n === 1n << BigInt(length - 1)) return { n: BigInt(exponent), e: 0 };
  // The mantissa in 1..2, and its half above the root of two, where the logarithm would cancel.
  let mantissa = (n << BigInt(BITS)) >> BigInt(length - 1);
  if (length - 1 > BITS) mantissa = n >> BigInt(length - 1 - BITS);
  const halves = mantissa > (ONE * 1414n) / 1000n;
  const near = halves ? mantissa >> 1n : mantissa;
  const s = ((near - ONE) << BigInt(BITS)) / (near + ONE);
  const fraction = (logarithmOfRatio(s) << BigInt(BITS)) / LN_2;
  return { n: BigInt(exponent + (halves ? 1 : 0)) * ONE + fraction, e: -BITS };
}

function series(x: bigint, first: bigint, start: bigint): bigint {
  const square = multiply(x, x);
  let term = first;
  let sum = 0n;
  for (let k = start; term !== 0n && term !== -1n; k += 2n) {
    sum += term;
    term = -multiply(term, square) / ((k + 1n) * (k + 2n));
  }
  return sum;
}

/** sin(2 pi x), exact zeros for multiples of a half. */
export function sineOfTurns(x: Dyadic): Dyadic {
  // Tiny arguments keep their precision in the exponent.
  const length = x.n === 0n ? 0 : (x.n < 0n ? -x.n : x.n).toString(2).length;
  if (x.e + length < -60) return { n: (x.n * 2n * PI) >> 0n, e: x.e - BITS };
  const turn = fixed(x) & (ONE - 1n);
  const quarter = ONE >> 2n;
  const inHalf = turn % (2n * quarter);
  const angle = inHalf > quarter ? 2n * quarter - inHalf : inHalf;
  const value = angle === quarter ? ONE : series(multiply(2n * PI, angle), multiply(2n * PI, angle), 1n);
  return { n: turn >= 2n * quarter ? -value : value, e: -BITS };
}

/** cos(2 pi x). */
export function cosineOfTurns(x: Dyadic): Dyadic {
  const turn = fixed(x) & (ONE - 1n);
  return sineOfTurns({ n: turn + (ONE >> 2n), e: -BITS });
}

/** The first `count` bits behind the point of 2 / pi. */
export function twoOverPi(count: number): bigint {
  // One more computation of pi, to that precision.
  const bits = BigInt(count + 64);
  const one = 1n << bits;
  const arctangent = (n: bigint): bigint => {
    let term = one / n;
    let sum = term;
    for (let k = 1n; term !== 0n; k++) {
      term /= n * n;
      sum += (k & 1n ? -term : term) / (2n * k + 1n);
    }
    return sum;
  };
  const pi = 4n * (4n * arctangent(5n) - arctangent(239n));
  return ((2n * one * one) / pi) >> 64n;
}
