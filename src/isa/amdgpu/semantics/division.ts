/**
 * The steps of an exact division: v_div_scale, v_div_fmas and v_div_fixup. CDNA2 ISA 12.11, opcodes 478 to
 * 483; CDNA3 ISA for the pseudocode. Two places of the pseudocode cannot be meant as they are printed, since
 * the division that compilers build from the steps would be wrong, and one more is missing in all manuals:
 * - v_div_fmas multiplies by 2^32 (f64: 2^64). The scale factors of v_div_scale are 2^64 (2^128) and go in
 *   both directions; the addend, the quotient found so far, tells which one it was.
 * - v_div_scale with a large denominator and a denormal quotient multiplies the denominator by 2^64, to
 *   infinity. It is divided.
 * - v_div_fixup gets a NaN for a quotient so large that the steps before overflow (infinity minus infinity):
 *   an infinity.
 */
import type { Builder } from '../../../ir/builder.ts';
import { NEAREST_EVEN } from '../../../ir/float-bits.ts';
import type { Value } from '../../../ir/types.ts';
import {
  exponentField,
  type FloatType,
  floatOf,
  infinityOf,
  invalidNan,
  isDenormal,
  LAYOUTS,
  patternOf,
} from './float-rules.ts';
import { scaleByPower } from './scaling.ts';

interface Limits {
  /** Exponent of the scale factor of v_div_scale. */
  readonly scale: number;
  /** Difference of the exponents from which on the quotient is near the largest number. */
  readonly largeQuotient: number;
  /** Biased exponent up to which a numerator is tiny. */
  readonly tinyNumerator: number;
  /** Bits of the largest denominator whose reciprocal is normal. */
  readonly largeDenominator: bigint;
  /** Difference of the exponents below which the quotient is zero. */
  readonly underflow: number;
  readonly bias: number;
  /** Largest magnitude below the normal numbers, plus one step. */
  readonly minNormal: number;
}

const LIMITS: Readonly<Record<'f32' | 'f64', Limits>> = {
  f32: {
    scale: 64,
    largeQuotient: 96,
    tinyNumerator: 23,
    largeDenominator: 0x7e800000n,
    underflow: -150,
    bias: 127,
    minNormal: 2 ** -126,
  },
  f64: {
    scale: 128,
    largeQuotient: 768,
    tinyNumerator: 53,
    largeDenominator: 0x7fd0000000000000n,
    underflow: -1075,
    bias: 1023,
    minNormal: 2 ** -1022,
  },
};

/** Bits of f32, or of the high dword of f64. */
const topOf = (b: Builder, type: 'f32' | 'f64', x: Value): Value => (type === 'f64' ? b.high(x) : x);

/**
 * Whether a division is one of those that need care: an operand is zero, denormal, infinite or a NaN, the
 * reciprocal of the denominator is denormal, the numerator is tiny, or the quotient is near a border of the
 * normal numbers. A numerator is tiny here if a remainder could be no multiple of the smallest denormal, of
 * f32 one exponent earlier than for v_div_scale: where nothing is rare, the steps give what one division
 * gives.
 */
function isRareDivision(b: Builder, type: 'f32' | 'f64', numerator: Value, denominator: Value): Value {
  const { fractionBits } = LAYOUTS[type];
  const { bias, largeQuotient, minNormal } = LIMITS[type];
  const pattern = (exponent: number): number => exponent * 2 ** (fractionBits % 32);
  const [n, d] = [numerator, denominator].map((x) => b.and(topOf(b, type, x), b.i32(0x7fffffff)));
  const isBetween = (x: Value, low: number, end: number): Value =>
    b.ltU(b.sub(x, b.i32(pattern(low))), b.i32(pattern(end - low)));
  const isUsual = [
    isBetween(n!, fractionBits + 2, 2 * bias + 1),
    isBetween(d!, 1, 2 * bias - 1),
    // Of patterns as of exponents the difference is off by less than one.
    isBetween(b.sub(n!, d!), Math.log2(minNormal) + 2, largeQuotient - 1),
  ].reduce((p, q) => b.op('i1.and', p, q));
  return b.rare(b.not(isUsual));
}

/** The first case that holds; `otherwise` when none does. */
function choose(b: Builder, cases: readonly (readonly [Value, Value])[], otherwise: Value): Value {
  return cases.reduceRight((rest, [condition, value]) => b.select(condition, value, rest), otherwise);
}

/**
 * |numerator / denominator| is below the normal numbers; the quotient of an f32 is not rounded to f32 first.
 */
function isQuotientDenormal(b: Builder, type: 'f32' | 'f64', numerator: Value, denominator: Value): Value {
  const widen = (x: Value): Value => (type === 'f64' ? b.f64.abs(x) : b.op('f64.fromF32', b.f32.abs(x)));
  const quotient = b.op('f64.div', widen(numerator), widen(denominator));
  return b.op('f64.lt', quotient, b.f64.constant(LIMITS[type].minNormal));
}

/**
 * Scales S0, which is the denominator S1 or the numerator S2. Returns it and whether v_div_fmas must scale
 * the quotient back.
 */
export function divScale(b: Builder, type: 'f32' | 'f64', s0: Value, s1: Value, s2: Value): [Value, Value] {
  const f = floatOf(b, type);
  const { scale, largeQuotient, tinyNumerator, largeDenominator } = LIMITS[type];
  const [value, denominator, numerator] = [f.input(s0), f.input(s1), f.input(s2)];
  const up = scaleByPower(b, type, value, b.i32(scale));
  const down = scaleByPower(b, type, value, b.i32(-scale));
  const isDenominator = f.eq(value, denominator);
  const isNumerator = f.eq(value, numerator);

  const numeratorExponent = exponentField(b, type, numerator);
  const difference = b.sub(numeratorExponent, exponentField(b, type, denominator));
  const hasZero = b.op('i1.or', f.isZero(numerator), f.isZero(denominator));
  const isLarge = b.not(b.ltS(difference, b.i32(largeQuotient)));
  const isTinyReciprocal = b.ltU(patternOf(b, type, largeDenominator), f.abs(denominator));
  const isTinyQuotient = isQuotientDenormal(b, type, numerator, denominator);
  const isTinyNumerator = b.not(b.ltS(b.i32(tinyNumerator), numeratorExponent));
  const off = b.i1(false);
  const on = b.i1(true);

  const cases: [Value, Value, Value][] = [
    [hasZero, invalidNan(b, type), off],
    [isLarge, b.select(isDenominator, up, value), on],
    [isDenormal(b, type, denominator), up, off],
    [b.op('i1.and', isTinyReciprocal, isTinyQuotient), b.select(isDenominator, down, value), on],
    [isTinyReciprocal, down, off],
    [isTinyQuotient, b.select(isNumerator, up, value), on],
    [isTinyNumerator, up, off],
  ];
  const isRare = isRareDivision(b, type, numerator, denominator);
  const scaled = choose(
    b,
    cases.map(([condition, each]) => [condition, each] as const),
    value,
  );
  const isScaled = choose(
    b,
    cases.map(([condition, , flag]) => [condition, flag] as const),
    off,
  );
  return [b.select(isRare, scaled, value), b.op('i1.and', isRare, isScaled)];
}

/**
 * fma(S0, S1, S2), times 2^64 or 2^-64 (f64: 128) where `scaled`. The result is rounded once: when it is
 * denormal and the rounded sum lies halfway between two of them, the rest that the first rounding dropped
 * decides. That rest is exact when S2 is near the sum, as it is in a division. Rounding that is directed
 * twice goes to the same side: nothing to decide. Input denormals are not flushed (CDNA3 ISA,
 * V_DIV_FMAS_F32).
 */
export function divFmas(
  b: Builder,
  type: 'f32' | 'f64',
  [s0, s1, s2]: readonly [Value, Value, Value],
  scaled: Value,
): Value {
  const f = floatOf(b, type);
  const { scale, bias } = LIMITS[type];
  const { add, sub, mul, fma } = f.unflushed;
  const sum = fma(s0, s1, s2);
  const isRare = b.rare(scaled);
  const up = mul(sum, f.constant(2 ** scale));
  const down = mul(sum, f.constant(2 ** -scale));
  const goesUp = b.ltS(b.i32(bias), exponentField(b, type, s2));
  if (b.mode[type === 'f32' ? 'round32' : 'round64'] !== NEAREST_EVEN) {
    return f.result(b.select(isRare, b.select(goesUp, up, down), sum));
  }

  const rest = fma(s0, s1, sub(s2, sum));
  const dropped = sub(sum, mul(down, f.constant(2 ** scale)));
  const smallest = type === 'f32' ? 2 ** -149 : 2 ** -1074;
  const isHalf = f.eq(f.abs(dropped), f.constant(smallest * 2 ** (scale - 1)));
  const sameSide = b.not(b.op('i1.xor', f.isNegative(dropped), f.isNegative(rest)));
  const mustMove = [isHalf, sameSide, b.not(f.isZero(rest))].reduce((p, q) => b.op('i1.and', p, q));
  const moved = add(down, f.copySign(f.constant(smallest), dropped));
  const rescaled = b.select(goesUp, up, b.select(mustMove, moved, down));
  return f.result(b.select(isRare, rescaled, sum));
}

/**
 * Magnitude of a result whose sign is that of `sign` and that leaves the range as the square of `factor`
 * does.
 */
function extreme(b: Builder, type: 'f32' | 'f64', sign: Value, factor: number): Value {
  const f = floatOf(b, type);
  const square = (x: number): Value => f.abs(f.unflushed.mul(f.constant(x), f.constant(factor)));
  const [positive, negative] = [square(factor), square(-factor)];
  return positive === negative ? positive : b.select(f.isNegative(sign), negative, positive);
}

/**
 * The quotient S0 of S2 / S1 with the sign and the special cases of the exact one; f16 quotients need no
 * range check.
 */
export function divFixup(b: Builder, type: FloatType, s0: Value, s1: Value, s2: Value): Value {
  const f = floatOf(b, type);
  const [denominator, numerator] = [f.input(s1), f.input(s2)];
  const sign = b.xor(denominator, numerator);
  const zero = patternOf(b, type, 0n);
  const infinity = infinityOf(b, type);
  const both = (test: (x: Value) => Value): Value => b.op('i1.and', test(denominator), test(numerator));
  const magnitudes: [Value, Value][] = [
    [b.op('i1.or', f.isZero(denominator), f.isInfinite(numerator)), infinity],
    [b.op('i1.or', f.isInfinite(denominator), f.isZero(numerator)), zero],
  ];
  if (type !== 'f16') {
    const difference = b.sub(exponentField(b, type, numerator), exponentField(b, type, denominator));
    const { underflow, minNormal } = LIMITS[type];
    magnitudes.push(
      [b.ltS(difference, b.i32(underflow)), extreme(b, type, sign, minNormal)],
      [f.isNan(s0), extreme(b, type, sign, 1 / minNormal)],
    );
  }
  const usual = f.result(f.copySign(s0, sign));
  const cases: [Value, Value][] = [
    [f.isNan(numerator), f.quiet(numerator)],
    [f.isNan(denominator), f.quiet(denominator)],
    [b.op('i1.or', both(f.isZero), both(f.isInfinite)), invalidNan(b, type)],
  ];
  const rare = choose(b, cases, f.result(f.copySign(choose(b, magnitudes, s0), sign)));
  if (type === 'f16') return rare;
  const isRare = b.op('i1.or', isRareDivision(b, type, numerator, denominator), b.rare(b.not(f.eq(s0, s0))));
  return b.select(isRare, rare, usual);
}
