/**
 * VOP1: floating point. CDNA2 ISA 12.8.
 *
 * Accuracy: v_rcp, v_sqrt and their f16 forms round correctly; v_rsq_f32 and v_rsq_f16 are computed in f64 and rounded, at most
 * 0.5001 ulp off. The manual allows 1 ulp for f32, 0.51 ulp for f16 and 2^29 ulp for the f64 forms, which divide and extract
 * exactly here. v_exp, v_log, v_sin, v_cos: see transcendental.ts. The f32 forms of v_exp, v_log, v_rcp, v_rsq and v_sqrt flush
 * denormals whatever MODE says.
 */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { cosineOfTurns, exp2, log2, sineOfTurns } from '../transcendental.ts';
import { type FloatType, floatOf, flushed, fromF64, infinityOf, invalidNan, patternOf, toF64 } from './float-rules.ts';
import { frexp } from './scaling.ts';

type Unary = (b: InstructionBuilder, x: Value, type: FloatType) => Value;

function unary(name: string, type: FloatType, opcode: number, compute: Unary): Row {
  const flags: RowFlags = type === 'f64' ? { noSdwa: true } : {};
  return row('VOP1', `${name}_${type}`, opcode, `=vdst:${type} src0:${type}`, (b, x) => compute(b, x, type), flags);
}

/** The forms of an instruction by type. */
const forms = (name: string, opcodes: Readonly<Partial<Record<FloatType, number>>>, compute: Unary): Row[] =>
  (Object.entries(opcodes) as [FloatType, number][]).map(([type, opcode]) => unary(name, type, opcode, compute));

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

const reciprocal: Unary = (b, x, type) => {
  const f = floatOf(b, type);
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
  return unlessNegative(b, type, radicand, floatOf(b, type).sqrt(radicand));
};

const reciprocalRoot: Unary = (b, x, type) => {
  const radicand = source(b, x, type);
  const root = b.op('f64.sqrt', toF64(b, type, radicand));
  return unlessNegative(b, type, radicand, fromF64(b, type, b.op('f64.div', b.f64.constant(1), root)));
};

const exponential: Unary = (b, x, type) => {
  const power = source(b, x, type);
  const value = result(b, fromF64(b, type, exp2(b, toF64(b, type, power))), type);
  const f = floatOf(b, type);
  return b.select(f.isNan(power), f.quiet(power), value);
};

const logarithm: Unary = (b, x, type) => {
  const f = floatOf(b, type);
  const argument = source(b, x, type);
  const infinity = infinityOf(b, type);
  const finite = fromF64(b, type, log2(b, toF64(b, type, argument)));
  const value = b.select(f.isZero(argument), f.neg(infinity), b.select(f.isInfinite(argument), infinity, finite));
  return unlessNegative(b, type, argument, value);
};

const periodic =
  (compute: typeof sineOfTurns): Unary =>
  (b, x, type) => {
    const f = floatOf(b, type);
    const turns = f.input(x);
    const value = f.result(fromF64(b, type, compute(b, toF64(b, type, turns))));
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
  ...forms('v_trunc', { f64: 23, f32: 28, f16: 70 }, (b, x, type) => floatOf(b, type).trunc(x)),
  ...forms('v_ceil', { f64: 24, f32: 29, f16: 69 }, (b, x, type) => floatOf(b, type).ceil(x)),
  ...forms('v_rndne', { f64: 25, f32: 30, f16: 71 }, (b, x, type) => floatOf(b, type).nearest(x)),
  ...forms('v_floor', { f64: 26, f32: 31, f16: 68 }, (b, x, type) => floatOf(b, type).floor(x)),
  ...forms('v_fract', { f32: 27, f64: 50, f16: 72 }, fract),
  ...forms('v_exp', { f32: 32, f16: 65 }, exponential),
  ...forms('v_log', { f32: 33, f16: 64 }, logarithm),
  ...forms('v_rcp', { f32: 34, f64: 37, f16: 61 }, reciprocal),
  unary('v_rcp_iflag', 'f32', 35, reciprocal),
  ...forms('v_rsq', { f32: 36, f64: 38, f16: 63 }, reciprocalRoot),
  ...forms('v_sqrt', { f32: 39, f64: 40, f16: 62 }, squareRoot),
  ...forms('v_sin', { f32: 41, f16: 73 }, sine),
  ...forms('v_cos', { f32: 42, f16: 74 }, periodic(cosineOfTurns)),
  row('VOP1', 'v_frexp_exp_i32_f64', 48, '=vdst:i32 src0:f64', exponent('f64'), { ...EXPONENT, noSdwa: true }),
  row('VOP1', 'v_frexp_exp_i32_f32', 51, '=vdst:i32 src0:f32', exponent('f32'), EXPONENT),
  row('VOP1', 'v_frexp_exp_i16_f16', 67, '=vdst:i16 src0:f16', exponent('f16'), EXPONENT),
  ...forms('v_frexp_mant', { f64: 49, f32: 52, f16: 66 }, (b, x, type) => frexp(b, type, x).mantissa),
  // What "legacy" changes at zero and infinity is not published.
  row('VOP1', 'v_exp_legacy_f32', 75, '=vdst:f32 src0:f32'),
  row('VOP1', 'v_log_legacy_f32', 76, '=vdst:f32 src0:f32'),
];
