/** Floating-point instructions of the vector unit, from the descriptions in CDNA3 ISA 12 and RDNA3 ISA 16. */
import { arithmetic, forTypes, type LaneContext, type LaneModel, type LaneModels } from './lane-context.ts';
import {
  type Arithmetic,
  compare,
  converted,
  DOWN,
  type Dyadic,
  exactValue,
  exponentField,
  type FloatType,
  flushed,
  infinity,
  isDenormal,
  isInfinite,
  isNan,
  isNegative,
  isSignalling,
  isZero,
  LAYOUTS,
  magnitude,
  NEAREST,
  negativeNan,
  plus,
  quiet,
  quotient,
  rounded,
  signBit,
  signed,
  squareRoot,
  TOWARD_ZERO,
  times,
  UP,
  withSign,
} from './numbers.ts';
import { cosineOfTurns, exp2, log2, sineOfTurns, twoOverPi } from './transcendental.ts';

const ALL = ['f16', 'f32', 'f64'] as const;
type Type = (typeof ALL)[number];

const one = (type: FloatType): bigint => BigInt(LAYOUTS[type].bias) << BigInt(LAYOUTS[type].fraction);

/** Steps rounded one after the other, denormals flushed always (CDNA2 ISA, V_MAD_F32). */
function unfused(c: LaneContext, type: Type, x: bigint, y: bigint, z: bigint): bigint {
  const f = arithmetic(c, type).flushing;
  return f.add(f.multiply(x, y), z);
}

/** Zero times anything is +0. */
function dx9Product(f: Arithmetic, x: bigint, y: bigint): bigint {
  return isZero('f32', f.input(x)) || isZero('f32', f.input(y)) ? 0n : f.multiply(x, y);
}

const binaries: LaneModels = forTypes(ALL, (type) => {
  const f = (c: LaneContext): Arithmetic => arithmetic(c, type);
  const extreme = (c: LaneContext, x: bigint, y: bigint, wantLess: boolean): bigint =>
    f(c).extreme(x, y, wantLess, c.mode.ieee);
  const min3 = (c: LaneContext, x: bigint, y: bigint, z: bigint): bigint => extreme(c, extreme(c, x, y, true), z, true);
  const max3 = (c: LaneContext, x: bigint, y: bigint, z: bigint): bigint =>
    extreme(c, extreme(c, x, y, false), z, false);
  const models: Record<string, LaneModel> = {
    add: (c, x, y) => f(c).add(x!, y!),
    sub: (c, x, y) => f(c).subtract(x!, y!),
    subrev: (c, x, y) => f(c).subtract(y!, x!),
    mul: (c, x, y) => f(c).multiply(x!, y!),
    min: (c, x, y) => extreme(c, x!, y!, true),
    max: (c, x, y) => extreme(c, x!, y!, false),
    fma: (c, x, y, z) => f(c).fma(x!, y!, z!),
    fma_legacy: (c, x, y, z) => f(c).fma(x!, y!, z!),
    fmac: (c, d, x, y) => f(c).fma(x!, y!, d!),
    fmamk: (c, x, k, y) => f(c).fma(x!, k!, y!),
    fmaak: (c, x, y, k) => f(c).fma(x!, y!, k!),
    mad: (c, x, y, z) => unfused(c, type, x!, y!, z!),
    mad_legacy: (c, x, y, z) => unfused(c, type, x!, y!, z!),
    mac: (c, d, x, y) => unfused(c, type, x!, y!, d!),
    madmk: (c, x, k, y) => unfused(c, type, x!, k!, y!),
    madak: (c, x, y, k) => unfused(c, type, x!, y!, k!),
    min3: (c, x, y, z) => min3(c, x!, y!, z!),
    max3: (c, x, y, z) => max3(c, x!, y!, z!),
    med3: (c, x, y, z) => {
      if ([x!, y!, z!].some((each) => isNan(type, each))) return min3(c, x!, y!, z!);
      const largest = max3(c, x!, y!, z!);
      const same = (each: bigint): boolean => f(c).order(largest, each) === 0;
      return same(x!) ? extreme(c, y!, z!, false) : same(y!) ? extreme(c, x!, z!, false) : extreme(c, x!, y!, false);
    },
    maxmin: (c, x, y, z) => extreme(c, extreme(c, x!, y!, false), z!, true),
    minmax: (c, x, y, z) => extreme(c, extreme(c, x!, y!, true), z!, false),
    trunc: (c, x) => f(c).whole(x!, TOWARD_ZERO),
    ceil: (c, x) => f(c).whole(x!, UP),
    floor: (c, x) => f(c).whole(x!, DOWN),
    rndne: (c, x) => f(c).whole(x!, NEAREST),
    fract: (c, x) => {
      const p = f(c).input(x!);
      if (isNan(type, p) || isInfinite(type, p)) return f(c).subtract(p, p);
      const below = one(type) - 1n;
      const fraction = f(c).subtract(p, f(c).whole(p, DOWN));
      return fraction > below && !isNegative(type, fraction) ? below : fraction;
    },
    ldexp: (c, x, n) => f(c).scale(x!, Number(signed(type === 'f16' ? 16 : 32, n!))),
    frexp_mant: (c, x) => {
      const p = f(c).input(x!);
      if (isNan(type, p) || isInfinite(type, p) || isZero(type, p)) return p;
      const { n } = exactValue(type, p);
      const length = (n < 0n ? -n : n).toString(2).length;
      return rounded(type, NEAREST, { n, e: -length });
    },
    div_fixup_legacy: (c, quotientBits, x, y) => divFixup(c, type, quotientBits!, x!, y!),
    div_fixup: (c, quotientBits, x, y) => divFixup(c, type, quotientBits!, x!, y!),
  };
  return Object.fromEntries(Object.entries(models).map(([name, model]) => [`v_${name}_${type}`, model]));
});

function frexpExponent(type: Type): LaneModel {
  return (c, x) => {
    const p = arithmetic(c, type).input(x!);
    if (isNan(type, p) || isInfinite(type, p) || isZero(type, p)) return 0n;
    const { n, e } = exactValue(type, p);
    return BigInt((n < 0n ? -n : n).toString(2).length + e);
  };
}

// Functions of the transcendental unit: f32 flushes denormals always, the others as MODE says; the result is
// rounded to nearest.

type Function = (x: Dyadic, negative: boolean) => Dyadic;

interface Special {
  readonly zero: (x: bigint) => bigint;
  readonly infinite: (x: bigint) => bigint;
  /** Results for numbers below zero; absent: the function is defined there. */
  readonly negative?: bigint;
}

function unary(type: Type, compute: Function, special: Special, keepsDenormals = false): LaneModel {
  return (c, x) => {
    const always = type === 'f32' && !keepsDenormals;
    const f = arithmetic(c, type);
    const p = always ? flushed(type, x!) : f.input(x!);
    if (isNan(type, p)) return quiet(type, p);
    if (isZero(type, p)) return special.zero(p);
    if (isNegative(type, p) && special.negative !== undefined) return special.negative;
    if (isInfinite(type, p)) return special.infinite(p);
    const value = rounded(type, NEAREST, compute(exactValue(type, p), isNegative(type, p)));
    return always ? flushed(type, value) : f.result(value);
  };
}

const ONE: Dyadic = { n: 1n, e: 0 };

const functions: LaneModels = forTypes(ALL, (type) => {
  const invalid = negativeNan(type);
  const infinite = infinity(type);
  const signedInfinity = (x: bigint): bigint => withSign(type, infinite, isNegative(type, x));
  const signedZero = (x: bigint): bigint => x & signBit(type);
  const same = (x: bigint): bigint => x;
  const rcp = unary(type, (x) => quotient(ONE, x), { zero: signedInfinity, infinite: signedZero });
  return {
    [`v_rcp_${type}`]: rcp,
    [`v_rcp_iflag_${type}`]: rcp,
    [`v_sqrt_${type}`]: unary(type, squareRoot, { zero: same, infinite: same, negative: invalid }),
    [`v_rsq_${type}`]: unary(type, (x) => reciprocalRoot(x), {
      zero: signedInfinity,
      infinite: signedZero,
      negative: invalid,
    }),
    [`v_log_${type}`]: unary(type, log2, {
      zero: () => infinite | signBit(type),
      infinite: same,
      negative: invalid,
    }),
    [`v_exp_${type}`]: unary(type, (x) => exp2(limitedPower(x)), {
      zero: () => one(type),
      infinite: (x) => (isNegative(type, x) ? 0n : infinite),
    }),
    [`v_sin_${type}`]: unary(type, sineOfTurns, { zero: same, infinite: () => invalid }, true),
    [`v_cos_${type}`]: unary(type, cosineOfTurns, { zero: () => one(type), infinite: () => invalid }, true),
  };
});

/** Beyond +-2000 nothing changes. */
function limitedPower(x: Dyadic): Dyadic {
  const limit: Dyadic = { n: 2000n, e: 0 };
  if (compare(x, limit) > 0) return limit;
  return compare(x, { n: -2000n, e: 0 }) < 0 ? { n: -2000n, e: 0 } : x;
}

function reciprocalRoot(x: Dyadic): Dyadic {
  const inverse = quotient(ONE, x);
  return squareRoot(inverse);
}

// Division

interface DivisionLimits {
  readonly scale: number;
  readonly large: number;
  readonly tinyNumerator: number;
  readonly underflow: number;
}

const DIVISION: Readonly<Record<'f32' | 'f64', DivisionLimits>> = {
  f32: { scale: 64, large: 96, tinyNumerator: 23, underflow: -150 },
  f64: { scale: 128, large: 768, tinyNumerator: 53, underflow: -1075 },
};

/** V_DIV_SCALE: pseudocode of CDNA3 ISA 12.11 for finite numbers. */
function divScale(c: LaneContext, type: 'f32' | 'f64', s0: bigint, s1: bigint, s2: bigint): [bigint, bigint] {
  const { scale, large, tinyNumerator } = DIVISION[type];
  const f = arithmetic(c, type);
  const [value, denominator, numerator] = [f.input(s0), f.input(s1), f.input(s2)];
  const { bias, fraction } = LAYOUTS[type];
  const scaled = (power: number): bigint =>
    rounded(type, f.rounding, shifted(exactValue(type, value), power), isNegative(type, value));
  if (isZero(type, numerator) || isZero(type, denominator)) return [negativeNan(type), 0n];
  const exponents = exponentField(type, numerator) - exponentField(type, denominator);
  const smallestNormal: Dyadic = { n: 1n, e: 1 - bias };
  const size = (x: bigint): Dyadic => exactValue(type, magnitude(type, x));
  const tinyQuotient = compare(size(numerator), times(size(denominator), smallestNormal)) < 0;
  const tinyReciprocal = magnitude(type, denominator) > BigInt(2 * bias - 1) << BigInt(fraction);
  const isDenominator = f.order(value, denominator) === 0;
  const isNumerator = f.order(value, numerator) === 0;
  if (exponents >= large) return [isDenominator ? scaled(scale) : value, 1n];
  if (isDenormal(type, denominator)) return [scaled(scale), 0n];
  // The manual has the denominator multiplied here, which would overflow: it is divided.
  if (tinyReciprocal && tinyQuotient) return [isDenominator ? scaled(-scale) : value, 1n];
  if (tinyReciprocal) return [scaled(-scale), 0n];
  if (tinyQuotient) return [isNumerator ? scaled(scale) : value, 1n];
  if (exponentField(type, numerator) <= tinyNumerator) return [scaled(scale), 0n];
  return [value, 0n];
}

const shifted = ({ n, e }: Dyadic, power: number): Dyadic => ({ n, e: e + power });

/** V_DIV_FMAS: the exact sum, scaled the way that the exponent of S2 tells where VCC is set, rounded once. */
function divFmas(c: LaneContext, type: 'f32' | 'f64', x: bigint, y: bigint, z: bigint): bigint {
  const f = arithmetic(c, type).unflushed;
  const all = arithmetic(c, type);
  const special = [x, y, z].some((each) => isNan(type, each) || isInfinite(type, each));
  if (special || !c.vcc) return all.result(f.fma(x, y, z));
  const exact = plus(times(exactValue(type, x), exactValue(type, y)), exactValue(type, z));
  if (exact.n === 0n) return f.fma(x, y, z);
  const power = exponentField(type, z) > LAYOUTS[type].bias ? DIVISION[type].scale : -DIVISION[type].scale;
  return all.result(rounded(type, f.rounding, shifted(exact, power)));
}

/** V_DIV_FIXUP (CDNA3 ISA 12.11). */
function divFixup(c: LaneContext, type: Type, s0: bigint, s1: bigint, s2: bigint): bigint {
  const f = arithmetic(c, type);
  const [denominator, numerator] = [f.input(s1), f.input(s2)];
  const negative = isNegative(type, denominator) !== isNegative(type, numerator);
  if (isNan(type, numerator)) return quiet(type, numerator);
  if (isNan(type, denominator)) return quiet(type, denominator);
  if (isZero(type, denominator) && isZero(type, numerator)) return negativeNan(type);
  if (isInfinite(type, denominator) && isInfinite(type, numerator)) return negativeNan(type);
  if (isZero(type, denominator) || isInfinite(type, numerator)) return withSign(type, infinity(type), negative);
  if (isInfinite(type, denominator) || isZero(type, numerator)) return withSign(type, 0n, negative);
  if (type !== 'f16' && exponentField(type, numerator) - exponentField(type, denominator) < DIVISION[type].underflow) {
    return f.round({ n: negative ? -1n : 1n, e: -3000 });
  }
  return f.result(withSign(type, magnitude(type, s0), negative));
}

/** V_TRIG_PREOP_F64: 53 bits of 2 / pi. */
const trigPreop: LaneModel = (_, x, y) => {
  const exponent = exponentField('f64', x!);
  const shift = Number(y! & 31n) * 53 + Math.max(0, exponent - 1077);
  const window = (TWO_OVER_PI << BigInt(shift)) & WINDOW;
  const part = window >> BigInt(1201 - 53);
  return rounded('f64', NEAREST, { n: part, e: -53 - shift + (exponent >= 1968 ? 128 : 0) });
};
const TWO_OVER_PI = twoOverPi(1201);
const WINDOW = (1n << 1201n) - 1n;

const others: LaneModels = {
  v_frexp_exp_i16_f16: (c, x) => BigInt.asUintN(16, frexpExponent('f16')(c, x!) as bigint),
  v_frexp_exp_i32_f32: (c, x) => BigInt.asUintN(32, frexpExponent('f32')(c, x!) as bigint),
  v_frexp_exp_i32_f64: (c, x) => BigInt.asUintN(32, frexpExponent('f64')(c, x!) as bigint),
  v_mul_legacy_f32: (c, x, y) => dx9Product(arithmetic(c, 'f32'), x!, y!),
  v_mad_legacy_f32: (c, x, y, z) => {
    const f = arithmetic(c, 'f32').flushing;
    return f.add(dx9Product(f, x!, y!), z!);
  },
  v_fma_legacy_f32: (c, x, y, z) => legacyFma(c, x!, y!, z!),
  v_fmac_legacy_f32: (c, d, x, y) => legacyFma(c, x!, y!, d!),
  ...forTypes(['f32', 'f64'] as const, (type) => ({
    [`v_div_scale_${type}`]: (c, x, y, z) => divScale(c, type, x!, y!, z!),
    [`v_div_fmas_${type}`]: (c, x, y, z) => divFmas(c, type, x!, y!, z!),
  })),
  v_trig_preop_f64: trigPreop,
  // S1 of -MAX, -infinity or a NaN, or S2 not positive: no light (RDNA3 ISA, V_MULLIT_F32).
  v_mullit_f32: (c, x, y, z) => {
    const f = arithmetic(c, 'f32');
    const lowest = 0xff7fffffn;
    const none = (value: bigint, limit: bigint): boolean => isNan('f32', value) || f.order(value, limit) <= 0;
    return none(y!, lowest) || none(z!, 0n) ? lowest : f.multiply(x!, y!);
  },
  v_cubeid_f32: (c, x, y, z) => {
    const negative = { x: x!, y: y!, z: z! }[majorAxis(c, x!, y!, z!)];
    const isBelow = !isNan('f32', negative) && arithmetic(c, 'f32').order(negative, 0n) < 0;
    const face = { x: 0, y: 2, z: 4 }[majorAxis(c, x!, y!, z!)] + (isBelow ? 1 : 0);
    return rounded('f32', NEAREST, { n: BigInt(face), e: 0 });
  },
  v_cubesc_f32: (c, x, y, z) => {
    const f = arithmetic(c, 'f32');
    const below = (value: bigint): boolean => !isNan('f32', value) && f.order(value, 0n) < 0;
    const axis = majorAxis(c, x!, y!, z!);
    return f.input({ x: below(x!) ? z! : f.negate(z!), y: x!, z: below(z!) ? f.negate(x!) : x! }[axis]);
  },
  v_cubetc_f32: (c, x, y, z) => {
    const f = arithmetic(c, 'f32');
    const axis = majorAxis(c, x!, y!, z!);
    return f.input(axis === 'y' ? (!isNan('f32', y!) && f.order(y!, 0n) < 0 ? f.negate(z!) : z!) : f.negate(y!));
  },
  v_cubema_f32: (c, x, y, z) =>
    arithmetic(c, 'f32').multiply({ x: x!, y: y!, z: z! }[majorAxis(c, x!, y!, z!)], 0x40000000n),
  v_cvt_f32_f64: (c, x) => {
    const value = converted('f64', 'f32', c.mode.round32, arithmetic(c, 'f64').input(x!));
    return arithmetic(c, 'f32').result(value);
  },
};

/** V_CUBEID_F32: the largest coordinate, z before y before x. */
function majorAxis(c: LaneContext, x: bigint, y: bigint, z: bigint): 'x' | 'y' | 'z' {
  const f = arithmetic(c, 'f32');
  const notBelow = (p: bigint, q: bigint): boolean =>
    !isNan('f32', p) && !isNan('f32', q) && f.order(magnitude('f32', p), magnitude('f32', q)) >= 0;
  return notBelow(z, x) && notBelow(z, y) ? 'z' : notBelow(y, x) ? 'y' : 'x';
}

/** A DX9 product of zero leaves the addend. */
function legacyFma(c: LaneContext, x: bigint, y: bigint, z: bigint): bigint {
  const f = arithmetic(c, 'f32');
  if (isZero('f32', f.input(x)) || isZero('f32', f.input(y))) return f.result(f.input(z));
  return f.fma(x, y, z);
}

// Comparisons

const orders: Readonly<Record<string, (order: number | undefined) => boolean>> = {
  f: () => false,
  lt: (order) => order === -1,
  eq: (order) => order === 0,
  le: (order) => order === -1 || order === 0,
  gt: (order) => order === 1,
  lg: (order) => order === -1 || order === 1,
  ge: (order) => order === 1 || order === 0,
  o: (order) => order !== undefined,
  u: (order) => order === undefined,
  nge: (order) => !(order === 1 || order === 0),
  nlg: (order) => !(order === -1 || order === 1),
  ngt: (order) => order !== 1,
  nle: (order) => !(order === -1 || order === 0),
  neq: (order) => order !== 0,
  nlt: (order) => order !== -1,
  tru: () => true,
};

/**
 * Bits of the mask: signalling and quiet NaN, then -infinity, -normal, -denormal, -0, and the positive ones.
 */
function classOf(type: Type, x: bigint): number {
  if (isNan(type, x)) return isSignalling(type, x) ? 0 : 1;
  const kind = isInfinite(type, x) ? 0 : isZero(type, x) ? 3 : isDenormal(type, x) ? 2 : 1;
  return isNegative(type, x) ? 2 + kind : 9 - kind;
}

const comparisons: LaneModels = forTypes(ALL, (type) => ({
  ...Object.fromEntries(
    Object.entries(orders).map(([name, test]) => [
      `v_cmp_${name}_${type}`,
      (c: LaneContext, x: bigint, y: bigint) => {
        const unordered = isNan(type, x) || isNan(type, y);
        return test(unordered ? undefined : arithmetic(c, type).order(x, y)) ? 1n : 0n;
      },
    ]),
  ),
  [`v_cmp_class_${type}`]: (c: LaneContext, x: bigint, y: bigint) =>
    (y >> BigInt(classOf(type, arithmetic(c, type).input(x)))) & 1n,
}));

export const FLOAT_MODELS: LaneModels = { ...binaries, ...functions, ...others, ...comparisons };
