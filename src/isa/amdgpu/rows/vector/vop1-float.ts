/**
 * VOP1: floating point. CDNA2 ISA 12.8.
 *
 * Accuracy: v_rcp, v_sqrt and their f16 forms round correctly; v_rsq_f32 and v_rsq_f16 are computed in f64 and rounded, at most
 * 0.5001 ulp off. The manual allows 1 ulp for f32, 0.51 ulp for f16 and 2^29 ulp for the f64 forms, which divide and extract
 * exactly here. All of them round to nearest whatever MODE says: that keeps these bounds in every mode. v_exp, v_log, v_sin, v_cos: see transcendental.ts. The f32 forms of v_exp, v_log, v_rcp, v_rsq and v_sqrt flush
 * denormals whatever MODE says.
 */
import { NEAREST_EVEN } from '../../../../ir/float-bits.ts';
import type { Value } from '../../../../ir/types.ts';
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
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { frexp } from '../../semantics/scaling.ts';
import { cosineOfTurns, exp2, log2, sineOfTurns } from '../../semantics/transcendental.ts';
import { type Opcodes, type Row, type RowFlags, row, type Semantics } from '../row.ts';

const TRANSCENDENTAL = /^v_(exp|log|rcp|rcp_iflag|rsq|sqrt|sin|cos)$/;
const WITHIN_ACCURACY: RowFlags = { approximate: "within AMD's documented accuracy, the same bits on every host" };

type Unary = (b: InstructionBuilder, x: Value, type: FloatType) => Value;

function unary(name: string, type: FloatType, opcodes: Opcodes, compute: Unary): Row {
  const flags: RowFlags = {
    ...(type === 'f64' && { noSdwa: true }),
    ...(TRANSCENDENTAL.test(name) && WITHIN_ACCURACY),
  };
  return row('VOP1', `${name}_${type}`, opcodes, `=vdst:${type} src0:${type}`, (b, x) => compute(b, x, type), flags);
}

/** The forms of an instruction by type. */
const forms = (name: string, opcodes: Readonly<Partial<Record<FloatType, Opcodes>>>, compute: Unary): Row[] =>
  (Object.entries(opcodes) as [FloatType, Opcodes][]).map(([type, own]) => unary(name, type, own, compute));

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

const reciprocal: Unary = (b, x, type) => {
  const f = floatOf(b.rounding(NEAREST_EVEN), type);
  return result(b, f.div(f.constant(1), source(b, x, type)), type);
};

/** A NaN stays, quieted; a number below zero has no value. */
function unlessNegative(b: InstructionBuilder, type: FloatType, x: Value, value: Value): Value {
  const f = floatOf(b, type);
  const isBelow = b.op('i1.and', f.isNegative(x), b.not(f.isZero(x)));
  return b.select(f.isNan(x), f.quiet(x), b.select(isBelow, invalidNan(b, type), value));
}

const squareRoot: Unary = (b, x, type) => {
  const radicand = source(b, x, type);
  return unlessNegative(b, type, radicand, floatOf(b.rounding(NEAREST_EVEN), type).sqrt(radicand));
};

const reciprocalRoot: Unary = (b, x, type) => {
  const radicand = source(b, x, type);
  const root = b.op('f64.sqrt', toF64(b, type, radicand));
  return unlessNegative(b, type, radicand, approximated(b, type, b.op('f64.div', b.f64.constant(1), root)));
};

const exponential: Unary = (b, x, type) => {
  const power = source(b, x, type);
  const value = result(b, approximated(b, type, exp2(b, toF64(b, type, power))), type);
  const f = floatOf(b, type);
  return b.select(f.isNan(power), f.quiet(power), value);
};

const logarithm: Unary = (b, x, type) => {
  const f = floatOf(b, type);
  const argument = source(b, x, type);
  const infinity = infinityOf(b, type);
  const finite = approximated(b, type, log2(b, toF64(b, type, argument)));
  const value = b.select(f.isZero(argument), f.neg(infinity), b.select(f.isInfinite(argument), infinity, finite));
  return unlessNegative(b, type, argument, value);
};

const periodic =
  (compute: typeof sineOfTurns): Unary =>
  (b, x, type) => {
    const f = floatOf(b, type);
    const turns = f.input(x);
    const value = f.result(approximated(b, type, compute(b, toF64(b, type, turns))));
    return b.select(f.isNan(turns), f.quiet(turns), b.select(f.isInfinite(turns), invalidNan(b, type), value));
  };

/** A zero keeps its sign. */
const sine: Unary = (b, x, type) => {
  const turns = floatOf(b, type).input(x);
  return b.select(floatOf(b, type).isZero(turns), turns, periodic(sineOfTurns)(b, x, type));
};

const exponent =
  (type: FloatType): Semantics =>
  (b, x) =>
    frexp(b, type, x).exponent;

/** The clamp bit of an integer result changes nothing. */
const EXPONENT: RowFlags = { integerClamp: true };

export const VOP1_FLOAT_ROWS: readonly Row[] = [
  ...forms(
    'v_trunc',
    { f64: { gfx9: 23, gfx10: 23 }, f32: { gfx9: 28, gfx10: 33 }, f16: { gfx9: 70, gfx10: 93 } },
    (b, x, type) => floatOf(b, type).trunc(x),
  ),
  ...forms(
    'v_ceil',
    { f64: { gfx9: 24, gfx10: 24 }, f32: { gfx9: 29, gfx10: 34 }, f16: { gfx9: 69, gfx10: 92 } },
    (b, x, type) => floatOf(b, type).ceil(x),
  ),
  ...forms(
    'v_rndne',
    { f64: { gfx9: 25, gfx10: 25 }, f32: { gfx9: 30, gfx10: 35 }, f16: { gfx9: 71, gfx10: 94 } },
    (b, x, type) => floatOf(b, type).nearest(x),
  ),
  ...forms(
    'v_floor',
    { f64: { gfx9: 26, gfx10: 26 }, f32: { gfx9: 31, gfx10: 36 }, f16: { gfx9: 68, gfx10: 91 } },
    (b, x, type) => floatOf(b, type).floor(x),
  ),
  ...forms(
    'v_fract',
    { f32: { gfx9: 27, gfx10: 32 }, f64: { gfx9: 50, gfx10: 62 }, f16: { gfx9: 72, gfx10: 95 } },
    fract,
  ),
  ...forms('v_exp', { f32: { gfx9: 32, gfx10: 37 }, f16: { gfx9: 65, gfx10: 88 } }, exponential),
  ...forms('v_log', { f32: { gfx9: 33, gfx10: 39 }, f16: { gfx9: 64, gfx10: 87 } }, logarithm),
  ...forms(
    'v_rcp',
    { f32: { gfx9: 34, gfx10: 42 }, f64: { gfx9: 37, gfx10: 47 }, f16: { gfx9: 61, gfx10: 84 } },
    reciprocal,
  ),
  unary('v_rcp_iflag', 'f32', { gfx9: 35, gfx10: 43 }, reciprocal),
  ...forms(
    'v_rsq',
    { f32: { gfx9: 36, gfx10: 46 }, f64: { gfx9: 38, gfx10: 49 }, f16: { gfx9: 63, gfx10: 86 } },
    reciprocalRoot,
  ),
  ...forms(
    'v_sqrt',
    { f32: { gfx9: 39, gfx10: 51 }, f64: { gfx9: 40, gfx10: 52 }, f16: { gfx9: 62, gfx10: 85 } },
    squareRoot,
  ),
  ...forms('v_sin', { f32: { gfx9: 41, gfx10: 53 }, f16: { gfx9: 73, gfx10: 96 } }, sine),
  ...forms('v_cos', { f32: { gfx9: 42, gfx10: 54 }, f16: { gfx9: 74, gfx10: 97 } }, periodic(cosineOfTurns)),
  row('VOP1', 'v_frexp_exp_i32_f64', { gfx9: 48, gfx10: 60 }, '=vdst:i32 src0:f64', exponent('f64'), {
    ...EXPONENT,
    noSdwa: true,
  }),
  row('VOP1', 'v_frexp_exp_i32_f32', { gfx9: 51, gfx10: 63 }, '=vdst:i32 src0:f32', exponent('f32'), EXPONENT),
  row('VOP1', 'v_frexp_exp_i16_f16', { gfx9: 67, gfx10: 90 }, '=vdst:i16 src0:f16', exponent('f16'), EXPONENT),
  ...forms(
    'v_frexp_mant',
    { f64: { gfx9: 49, gfx10: 61 }, f32: { gfx9: 52, gfx10: 64 }, f16: { gfx9: 66, gfx10: 89 } },
    (b, x, type) => frexp(b, type, x).mantissa,
  ),
  // What "legacy" changes at zero and infinity is not published.
  row('VOP1', 'v_exp_legacy_f32', 75, '=vdst:f32 src0:f32'),
  row('VOP1', 'v_log_legacy_f32', 76, '=vdst:f32 src0:f32'),
];
