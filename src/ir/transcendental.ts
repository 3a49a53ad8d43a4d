/**
 * Base-2 exponential and logarithm, sine and cosine of revolutions, hyperbolic tangent: deterministic
 * polynomials on f64 bits, rounded once to f32 or less. What hardware computes is not published bit for bit;
 * the accuracy that CDNA2 ISA 12.8 gives is 1 ulp of f32, and that of PTX ISA 9.7.3 is less.
 *
 * Functions with `Single` in their name take and give f32. They reduce their argument in f32, which is exact,
 * and come to the same bits as those on f64, rounded; what they do only for rare arguments costs fast code
 * nothing (`Builder.rare`).
 *
 * The coefficients are minimax fits (Remez exchange, relative error). Relative error of each function over
 * its reduced range: 2^r 8e-13, sin 7e-14, log2 3e-16; an f32 result is off by at most 0.5001 ulp. No fused
 * operation is used, so every host computes the same bits.
 */
import type { Builder } from './builder.ts';
import type { Value } from './types.ts';

/** 2^r for r in -1/2..1/2, by powers of r. */
const EXP2 = [
  0.9999999999997623, 0.693147180546515, 0.24022650698880674, 0.05550410939340023, 0.009618128542794485,
  0.0013333452062929874, 0.00015403851790105327, 1.530973737457542e-5, 1.3175850636944764e-6,
];
/** sin(2 pi t) / t for t in -1/4..1/4, by powers of t^2. */
const SINE = [
  6.2831853071791945, -41.341702239818495, 81.60524913341855, -76.70584649417287, 42.058102842844356,
  -15.081031733485228, 3.6634648004814556,
];
/** log2((1 + s) / (1 - s)) / s for m = (1 + s) / (1 - s) in sqrt(1/2)..sqrt(2), by powers of s^2. */
const LOG2 = [
  2.885390081777927, 0.9617966939243245, 0.5770780172502898, 0.41219840147336834, 0.3206164258354945, 0.261443109933037,
  0.2429289962625958,
];

const add = (b: Builder, x: Value, y: Value): Value => b.op('f64.add', x, y);
const subtract = (b: Builder, x: Value, y: Value): Value => b.op('f64.sub', x, y);
const multiply = (b: Builder, x: Value, y: Value): Value => b.op('f64.mul', x, y);

/** Horner's scheme, highest power first. */
function polynomial(b: Builder, coefficients: readonly number[], x: Value): Value {
  return coefficients
    .map((coefficient) => b.f64.constant(coefficient))
    .reduceRight((sum, coefficient) => add(b, multiply(b, sum, x), coefficient));
}

/** 2^n as f64 for an i32 n in -1022..1023. */
export function powerOfTwo(b: Builder, n: Value): Value {
  return b.shl(b.zext64(b.add(n, b.i32(1023))), 52);
}

/** 2^x. Beyond +-1000 the result is 2^1000 or 2^-1000, which leaves the ranges of f32 and f16. */
export function exp2(b: Builder, x: Value): Value {
  const [low, high] = [b.f64.constant(-1000), b.f64.constant(1000)];
  const limited = b.select(b.op('f64.lt', x, low), low, b.select(b.op('f64.lt', high, x), high, x));
  const whole = b.op('f64.nearest', limited);
  const scale = powerOfTwo(b, b.op('f64.toI32S', whole));
  return multiply(b, polynomial(b, EXP2, subtract(b, limited, whole)), scale);
}

const wide = (b: Builder, x: Value): Value => b.op('f64.fromF32', x);
const single = (b: Builder, x: Value): Value => b.op('f32.fromF64', x);

/** Where 2^x has a normal f32, which is the rounded mantissa with another exponent, or is zero. */
const MIN_POWER = -126;
const END_OF_POWERS = 128;
const ZERO_POWER = -127;
/** 2^x is infinite or zero well before. */
const LARGE_POWER = 200;

/** 2^x, any x; a denormal result is +0, and a NaN stays one, quieted. */
export function exp2Single(b: Builder, x: Value): Value {
  const { f32 } = b;
  const isZero = b.op('f32.le', x, f32.constant(ZERO_POWER));
  const isNormal = b.op(
    'i1.and',
    b.op('f32.le', f32.constant(MIN_POWER), x),
    b.op('f32.lt', x, f32.constant(END_OF_POWERS)),
  );
  const isRare = b.rare(b.not(b.op('i1.or', isNormal, isZero)));
  const [low, high] = [f32.constant(-LARGE_POWER), f32.constant(LARGE_POWER)];
  const limited = b.select(b.op('f32.lt', x, low), low, b.select(b.op('f32.lt', high, x), high, x));
  const power = b.select(isRare, limited, x);
  const whole = b.op('f32.nearest', power);
  const exponent = b.op('f32.toI32S', whole);
  const mantissa = polynomial(b, EXP2, wide(b, b.op('f32.sub', power, whole)));
  const usual = b.add(single(b, mantissa), b.shl(exponent, 23));
  const rounded = single(b, multiply(b, mantissa, powerOfTwo(b, exponent)));
  const isDenormal = b.ltU(rounded, b.i32(1 << 23));
  const rare = b.select(f32.isNan(x), f32.quiet(x), b.select(isDenormal, b.i32(0), rounded));
  return b.select(isZero, b.i32(0), b.select(isRare, rare, usual));
}

/** sqrt(1/2) as f32, less what its mantissa has behind the top 20 bits. */
const SQRT_HALF = 0x3f3504f0;
const ONE = 0x3f800000;

/** log2(x) for normal x > 0; something for any other. */
export function log2Single(b: Builder, x: Value): Value {
  const shifted = b.add(x, b.i32(ONE - SQRT_HALF));
  const exponent = b.sub(b.shrU(shifted, 23), b.i32(127));
  const mantissa = wide(b, b.add(b.and(shifted, b.i32(0x7fffff)), b.i32(SQRT_HALF)));
  return single(b, add(b, b.op('f64.fromI32S', exponent), log2OfMantissa(b, mantissa)));
}

/** Distance of an f32 from the nearest whole number. */
const singleFromWhole = (b: Builder, x: Value): Value => b.op('f32.sub', x, b.op('f32.nearest', x));

/** sin(2 pi x), any finite x: whole numbers give +0. */
export function sineOfTurnsSingle(b: Builder, x: Value): Value {
  const { f32 } = b;
  const t = singleFromWhole(b, x);
  const reflected = b.op('f32.sub', f32.copySign(f32.constant(0.5), t), t);
  const inQuarter = b.op('f32.le', f32.abs(t), f32.constant(0.25));
  return single(b, quarterSine(b, wide(b, b.select(inQuarter, t, reflected))));
}

/** cos(2 pi x), any finite x. */
export function cosineOfTurnsSingle(b: Builder, x: Value): Value {
  const t = wide(b, b.f32.abs(singleFromWhole(b, x)));
  return single(b, quarterSine(b, subtract(b, b.f64.constant(0.25), t)));
}

/** High dword of sqrt(1/2): mantissas from there to its double are the range of the fit. */
const SQRT_HALF_HIGH = 0x3fe6a09e;
const ONE_HIGH = 0x3ff00000;

/** log2(x) for normal x > 0. */
export function log2(b: Builder, x: Value): Value {
  const shifted = b.add(b.high(x), b.i32(ONE_HIGH - SQRT_HALF_HIGH));
  const exponent = b.sub(b.shrU(shifted, 20), b.i32(1023));
  const mantissaHigh = b.add(b.and(shifted, b.i32(0xfffff)), b.i32(SQRT_HALF_HIGH));
  const fraction = log2OfMantissa(b, b.pack(b.low(x), mantissaHigh));
  return add(b, b.op('f64.fromI32S', exponent), fraction);
}

function log2OfMantissa(b: Builder, mantissa: Value): Value {
  const one = b.f64.constant(1);
  const s = b.op('f64.div', subtract(b, mantissa, one), add(b, mantissa, one));
  return multiply(b, s, polynomial(b, LOG2, multiply(b, s, s)));
}

/** Distance of x from the nearest whole number, -1/2..1/2, exact. */
const fromWhole = (b: Builder, x: Value): Value => subtract(b, x, b.op('f64.nearest', x));

/** sin(2 pi t) for t in -1/4..1/4. */
const quarterSine = (b: Builder, t: Value): Value => multiply(b, t, polynomial(b, SINE, multiply(b, t, t)));

/** sin(2 pi x), any finite x: whole numbers give +0. */
export function sineOfTurns(b: Builder, x: Value): Value {
  const t = fromWhole(b, x);
  const reflected = subtract(b, b.f64.copySign(b.f64.constant(0.5), t), t);
  const inQuarter = b.op('f64.le', b.f64.abs(t), b.f64.constant(0.25));
  return quarterSine(b, b.select(inQuarter, t, reflected));
}

/** cos(2 pi x), any finite x. */
export function cosineOfTurns(b: Builder, x: Value): Value {
  return quarterSine(b, subtract(b, b.f64.constant(0.25), b.f64.abs(fromWhole(b, x))));
}

/** tanh(x) / x for |x| below 1/16, by powers of x^2: the first terms of its series. */
const TANH = [1, -1 / 3, 2 / 15, -17 / 315, 62 / 2835];
const TANH_SMALL = 1 / 16;
const TWO_LOG2_E = 2 * Math.LOG2E;

/** tanh(x), any x; relative error 2e-11. A NaN stays one. */
export function tanh(b: Builder, x: Value): Value {
  const size = b.f64.abs(x);
  const small = multiply(b, size, polynomial(b, TANH, multiply(b, size, size)));
  const power = exp2(b, multiply(b, size, b.f64.constant(TWO_LOG2_E)));
  const one = b.f64.constant(1);
  const large = subtract(b, one, b.op('f64.div', b.f64.constant(2), add(b, power, one)));
  return b.f64.copySign(b.select(b.op('f64.lt', size, b.f64.constant(TANH_SMALL)), small, large), x);
}
