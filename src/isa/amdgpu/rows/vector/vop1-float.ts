/**
 * VOP1: floating point. CDNA2 ISA 12.8.
 *
 * Accuracy: v_rcp, v_sqrt and their f16 forms round correctly; v_rsq_f32 and v_rsq_f16 are computed in f64
 * and rounded, at most 0.5001 ulp off. The manual allows 1 ulp for f32, 0.51 ulp for f16 and 2^29 ulp for the
 * f64 forms, which divide and extract exactly here. All of them round to nearest whatever MODE says: that
 * keeps these bounds in every mode. For v_exp, v_log, v_sin and v_cos see transcendental.ts. The f32 forms of
 * v_exp, v_log, v_rcp, v_rsq and v_sqrt flush denormals whatever MODE says.
 */
import { NEAREST_EVEN } from '../../../../ir/float-bits.ts';
import { cosineOfTurnsSingle, exp2Single, log2Single, sineOfTurnsSingle } from '../../../../ir/transcendental.ts';
import type { Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import {
  type FloatType,
  floatOf,
  flushed,
  fromF64,
  infinityOf,
  invalidNan,
  patternOf,
  toF64,
} from '../../semantics/float-rules.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { frexp } from '../../semantics/scaling.ts';
import { type Opcodes, row } from '../table/row.ts';

const TRANSCENDENTAL: RowFlags = {
  approximate: "within AMD's documented accuracy, the same bits on every host",
  transcendental: true,
};

type Unary = (b: InstructionBuilder, x: Value, type: FloatType) => Value;

function unary(name: string, type: FloatType, opcodes: Opcodes, compute: Unary, accuracy: RowFlags = {}): Row {
  const flags: RowFlags = { ...(type === 'f64' && { noSdwa: true }), ...accuracy };
  return row('VOP1', name, opcodes, `=vdst:${type} src0:${type}`, (b, x) => compute(b, x, type), flags);
}

const trunc: Unary = (b, x, type) => floatOf(b, type).trunc(x);
const ceil: Unary = (b, x, type) => floatOf(b, type).ceil(x);
const nearest: Unary = (b, x, type) => floatOf(b, type).nearest(x);
const floor: Unary = (b, x, type) => floatOf(b, type).floor(x);
const mantissa: Unary = (b, x, type) => frexp(b, type, x).mantissa;

/** Largest number below 1: the limit of v_fract (CDNA3 ISA, V_FRACT_F32). */
const BELOW_ONE: Readonly<Record<FloatType, bigint>> = { f16: 0x3bffn, f32: 0x3f7fffffn, f64: 0x3fefffffffffffffn };

const fract: Unary = (b, x, type) => {
  const f = floatOf(b, type);
  const fraction = f.sub(x, f.floor(x));
  const limit = patternOf(b, type, BELOW_ONE[type]);
  return b.select(f.lt(limit, fraction), limit, fraction);
};

/** Denormals of f32 flushed, those of f16 and f64 as MODE says: sources, results. */
const source: Unary = (b, x, type) => (type === 'f32' ? flushed(b, type, x) : floatOf(b, type).input(x));
const result: Unary = (b, x, type) => (type === 'f32' ? flushed(b, type, x) : floatOf(b, type).result(x));

/** A result of f64 arithmetic in the type. */
const approximated = (b: InstructionBuilder, type: FloatType, x: Value): Value =>
  fromF64(b.rounding(NEAREST_EVEN), type, x);

/** Bits of the smallest normal number and of infinity, of f32. */
const MIN_NORMAL = 0x00800000;
const INFINITY = 0x7f800000;

/** An operand of f32 or f16 as f32, and such a result. */
const single = (b: InstructionBuilder, type: FloatType, x: Value): Value =>
  type === 'f16' ? b.f16.toF32(b.f16.input(x)) : x;
const fromSingle = (b: InstructionBuilder, type: FloatType, x: Value): Value =>
  type === 'f16' ? b.f16.result(b.rounding(NEAREST_EVEN).f16.fromF32(x)) : x;

/** Whether x or its reciprocal is denormal, zero, infinite or a NaN, of f32. */
const hasNoReciprocal = (b: InstructionBuilder, x: Value): Value =>
  b.not(b.ltU(b.sub(b.f32.abs(x), b.i32(MIN_NORMAL)), b.i32(0x7e800000 - MIN_NORMAL)));

const reciprocal: Unary = (b, x, type) => {
  const f = floatOf(b.rounding(NEAREST_EVEN), type);
  const of = (y: Value): Value => f.unflushed.div(f.constant(1), y);
  if (type !== 'f32') return result(b, of(source(b, x, type)), type);
  const isRare = b.rare(hasNoReciprocal(b, x));
  const value = of(b.select(isRare, source(b, x, type), x));
  return b.select(isRare, result(b, value, type), value);
};

/** Whether x is denormal, of f32. */
const isDenormalSingle = (b: InstructionBuilder, x: Value): Value =>
  b.ltU(b.sub(b.f32.abs(x), b.i32(1)), b.i32(MIN_NORMAL - 1));

/** Whether x is below zero, -0, infinite or a NaN. */
function hasNoPlainRoot(b: InstructionBuilder, type: FloatType, x: Value): Value {
  const infinity = infinityOf(b, type);
  return b.not(type === 'f64' ? b.ltU(b.high(x), b.high(infinity)) : b.ltU(x, infinity));
}

/** What `compute` makes of a radicand; a NaN stays, quieted, and a number below zero has no value. */
const rooted =
  (compute: Unary): Unary =>
  (b, x, type) => {
    const f = floatOf(b, type);
    const isFlushed = type === 'f32' ? b.rare(isDenormalSingle(b, x)) : b.i1(true);
    const radicand = b.select(isFlushed, source(b, x, type), x);
    const value = compute(b, radicand, type);
    const isBelow = b.op('i1.and', f.isNegative(radicand), b.not(f.isZero(radicand)));
    const rare = b.select(f.isNan(radicand), f.quiet(radicand), b.select(isBelow, invalidNan(b, type), value));
    return b.select(b.rare(hasNoPlainRoot(b, type, radicand)), rare, value);
  };

const squareRoot = rooted((b, x, type) => floatOf(b.rounding(NEAREST_EVEN), type).unflushed.sqrt(x));

const reciprocalRoot = rooted((b, x, type) => {
  const root = b.op('f64.sqrt', toF64(b, type, x));
  return approximated(b, type, b.op('f64.div', b.f64.constant(1), root));
});

const exponential: Unary = (b, x, type) => fromSingle(b, type, exp2Single(b, single(b, type, x)));

const logarithm: Unary = (b, x, type) => {
  const argument = single(b, type, x);
  const { f32 } = b;
  const infinity = b.i32(INFINITY);
  const isRare = b.rare(b.not(b.ltU(b.sub(argument, b.i32(MIN_NORMAL)), b.i32(INFINITY - MIN_NORMAL))));
  const isZero = b.ltU(f32.abs(argument), b.i32(MIN_NORMAL));
  const isBelow = b.op('i1.and', f32.isNegative(argument), b.not(isZero));
  const rare = b.select(
    f32.isNan(argument),
    f32.quiet(argument),
    b.select(isBelow, invalidNan(b, 'f32'), b.select(isZero, f32.neg(infinity), infinity)),
  );
  return fromSingle(b, type, b.select(isRare, rare, log2Single(b, argument)));
};

/** An infinite number of turns has no value; a NaN stays, quieted. */
const periodic =
  (compute: typeof sineOfTurnsSingle): Unary =>
  (b, x, type) => {
    const f = floatOf(b, type);
    const turns = f.input(x);
    const value = f.result(fromSingle(b, type, compute(b, single(b, type, turns))));
    const isRare = b.rare(b.op('i1.or', f.isNan(turns), f.isInfinite(turns)));
    return b.select(isRare, b.select(f.isNan(turns), f.quiet(turns), invalidNan(b, type)), value);
  };

/** A zero keeps its sign. */
const sine: Unary = (b, x, type) => {
  const turns = floatOf(b, type).input(x);
  return b.select(floatOf(b, type).isZero(turns), turns, periodic(sineOfTurnsSingle)(b, x, type));
};

const exponent =
  (type: FloatType): Semantics =>
  (b, x) =>
    frexp(b, type, x).exponent;

/** The clamp bit of an integer result changes nothing. */
const EXPONENT: RowFlags = { integerClamp: true };

// biome-ignore format: one row per line, as the tables of the manual
export const vop1FloatRows = (): readonly Row[] => [
  unary('v_trunc_f64', 'f64', { gfx9: 0x17, gfx10: 0x17 }, trunc),
  unary('v_trunc_f32', 'f32', { gfx9: 0x1c, gfx10: 0x21 }, trunc),
  unary('v_trunc_f16', 'f16', { gfx9: 0x46, gfx10: 0x5d }, trunc),
  unary('v_ceil_f64', 'f64', { gfx9: 0x18, gfx10: 0x18 }, ceil),
  unary('v_ceil_f32', 'f32', { gfx9: 0x1d, gfx10: 0x22 }, ceil),
  unary('v_ceil_f16', 'f16', { gfx9: 0x45, gfx10: 0x5c }, ceil),
  unary('v_rndne_f64', 'f64', { gfx9: 0x19, gfx10: 0x19 }, nearest),
  unary('v_rndne_f32', 'f32', { gfx9: 0x1e, gfx10: 0x23 }, nearest),
  unary('v_rndne_f16', 'f16', { gfx9: 0x47, gfx10: 0x5e }, nearest),
  unary('v_floor_f64', 'f64', { gfx9: 0x1a, gfx10: 0x1a }, floor),
  unary('v_floor_f32', 'f32', { gfx9: 0x1f, gfx10: 0x24 }, floor),
  unary('v_floor_f16', 'f16', { gfx9: 0x44, gfx10: 0x5b }, floor),
  unary('v_fract_f32', 'f32', { gfx9: 0x1b, gfx10: 0x20 }, fract),
  unary('v_fract_f64', 'f64', { gfx9: 0x32, gfx10: 0x3e }, fract),
  unary('v_fract_f16', 'f16', { gfx9: 0x48, gfx10: 0x5f }, fract),
  unary('v_exp_f32', 'f32', { gfx9: 0x20, gfx10: 0x25 }, exponential, TRANSCENDENTAL),
  unary('v_exp_f16', 'f16', { gfx9: 0x41, gfx10: 0x58 }, exponential, TRANSCENDENTAL),
  unary('v_log_f32', 'f32', { gfx9: 0x21, gfx10: 0x27 }, logarithm, TRANSCENDENTAL),
  unary('v_log_f16', 'f16', { gfx9: 0x40, gfx10: 0x57 }, logarithm, TRANSCENDENTAL),
  unary('v_rcp_f32', 'f32', { gfx9: 0x22, gfx10: 0x2a }, reciprocal, TRANSCENDENTAL),
  unary('v_rcp_f64', 'f64', { gfx9: 0x25, gfx10: 0x2f }, reciprocal, TRANSCENDENTAL),
  unary('v_rcp_f16', 'f16', { gfx9: 0x3d, gfx10: 0x54 }, reciprocal, TRANSCENDENTAL),
  unary('v_rcp_iflag_f32', 'f32', { gfx9: 0x23, gfx10: 0x2b }, reciprocal, TRANSCENDENTAL),
  unary('v_rsq_f32', 'f32', { gfx9: 0x24, gfx10: 0x2e }, reciprocalRoot, TRANSCENDENTAL),
  unary('v_rsq_f64', 'f64', { gfx9: 0x26, gfx10: 0x31 }, reciprocalRoot, TRANSCENDENTAL),
  unary('v_rsq_f16', 'f16', { gfx9: 0x3f, gfx10: 0x56 }, reciprocalRoot, TRANSCENDENTAL),
  unary('v_sqrt_f32', 'f32', { gfx9: 0x27, gfx10: 0x33 }, squareRoot, TRANSCENDENTAL),
  unary('v_sqrt_f64', 'f64', { gfx9: 0x28, gfx10: 0x34 }, squareRoot, TRANSCENDENTAL),
  unary('v_sqrt_f16', 'f16', { gfx9: 0x3e, gfx10: 0x55 }, squareRoot, TRANSCENDENTAL),
  unary('v_sin_f32', 'f32', { gfx9: 0x29, gfx10: 0x35 }, sine, TRANSCENDENTAL),
  unary('v_sin_f16', 'f16', { gfx9: 0x49, gfx10: 0x60 }, sine, TRANSCENDENTAL),
  unary('v_cos_f32', 'f32', { gfx9: 0x2a, gfx10: 0x36 }, periodic(cosineOfTurnsSingle), TRANSCENDENTAL),
  unary('v_cos_f16', 'f16', { gfx9: 0x4a, gfx10: 0x61 }, periodic(cosineOfTurnsSingle), TRANSCENDENTAL),
  row('VOP1', 'v_frexp_exp_i32_f64', { gfx9: 0x30, gfx10: 0x3c }, '=vdst:i32 src0:f64', exponent('f64'), { ...EXPONENT, noSdwa: true, scaled: 'wide' }),
  row('VOP1', 'v_frexp_exp_i32_f32', { gfx9: 0x33, gfx10: 0x3f }, '=vdst:i32 src0:f32', exponent('f32'), EXPONENT),
  row('VOP1', 'v_frexp_exp_i16_f16', { gfx9: 0x43, gfx10: 0x5a }, '=vdst:i16 src0:f16', exponent('f16'), { ...EXPONENT, scaled: 'wide' }),
  unary('v_frexp_mant_f64', 'f64', { gfx9: 0x31, gfx10: 0x3d }, mantissa),
  unary('v_frexp_mant_f32', 'f32', { gfx9: 0x34, gfx10: 0x40 }, mantissa),
  unary('v_frexp_mant_f16', 'f16', { gfx9: 0x42, gfx10: 0x59 }, mantissa),
  // What "legacy" changes at zero and infinity is not published.
  row('VOP1', 'v_exp_legacy_f32', 0x4b, '=vdst:f32 src0:f32', undefined, { transcendental: true }),
  row('VOP1', 'v_log_legacy_f32', 0x4c, '=vdst:f32 src0:f32', undefined, { transcendental: true }),
];
