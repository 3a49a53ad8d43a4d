/**
 * Approximations. PTX ISA 9.7.3 and 9.7.4 give the largest error of each; what is computed here is within
 * half a unit in the last place and a thousandth of one, the same on every executor and host.
 */
import { cosineOfTurns, exp2, log2, sineOfTurns, tanh } from '../../ir/transcendental.ts';
import type { Value } from '../../ir/types.ts';
import type { PtxType } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

/** Of a f64, to one that is rounded once. */
type Wide = (b: PtxBuilder, x: Value) => Value;

/** A number of the type, whose denormals count as zeros where the instruction says so, as f64. */
function widened(b: PtxBuilder, type: PtxType, x: Value): Value {
  const input = b.float(type).input(x);
  if (type === 'f64') return input;
  return b.op('f64.fromF32', type === 'f32' ? input : type === 'f16' ? b.f16.toF32(input) : b.bf16.toF32(input));
}

/** A f64 rounded to the type. */
function rounded(b: PtxBuilder, type: PtxType, x: Value): Value {
  if (type === 'f64') return x;
  const f = type === 'f32' ? b.f32 : type === 'f16' ? b.f16 : b.bf16;
  return b.canonical(type, f.result(f.fromF64(x)));
}

const approximate =
  (compute: Wide) =>
  (b: PtxBuilder): void =>
    b.write(
      0,
      b.perElement(b.type(), b.sources, (type, x) => rounded(b, type, compute(b, widened(b, type, x!)))),
    );

const NAN = 0x7ff8000000000000n;
const INFINITY = 0x7ff0000000000000n;

/** Of a zero minus infinity, of what is negative none. */
const logarithm: Wide = (b, x) => {
  const { f64 } = b;
  const value = b.select(f64.isInfinite(x), x, log2(b, x));
  const isBelow = b.op('i1.or', f64.isNan(x), f64.isNegative(x));
  return b.select(f64.isZero(x), f64.neg(b.i64(INFINITY)), b.select(isBelow, b.i64(NAN), value));
};

const TURN = 1 / (2 * Math.PI);

/** Angles are in radians. */
const periodic =
  (compute: typeof sineOfTurns): Wide =>
  (b, x) =>
    compute(b, b.op('f64.mul', x, b.f64.constant(TURN)));

/** A zero keeps its sign. */
const sine: Wide = (b, x) => b.select(b.f64.isZero(x), x, periodic(sineOfTurns)(b, x));

const reciprocal: Wide = (b, x) => b.op('f64.div', b.f64.constant(1), x);
const root: Wide = (b, x) => b.op('f64.sqrt', x);
const reciprocalRoot: Wide = (b, x) => reciprocal(b, root(b, x));

/** Only the high words count, of operand and result (PTX ISA 9.7.3.14 and 9.7.3.17). */
const coarse =
  (compute: Wide): Wide =>
  (b, x) =>
    b.pack(b.i32(0), b.high(b.f64.result(compute(b, b.pack(b.i32(0), b.high(x))))));

/** A divisor beyond 2^126 gives 0, and a NaN under infinity (PTX ISA 9.7.3.8). */
function divide(b: PtxBuilder): void {
  const [x, y] = b.sources as [Value, Value];
  const { f32 } = b;
  const size = f32.abs(y);
  const isHuge = b.op('i1.and', b.ltU(b.i32(0x7e800000), size), b.ltU(size, b.i32(0x7f800000)));
  const isNan = b.op('i1.or', f32.isInfinite(x), f32.isNan(x));
  const zero = b.and(b.xor(x, y), b.i32(-0x80000000));
  const beyond = b.select(isNan, b.i32(0x7fffffff), zero);
  b.write(0, b.select(isHuge, beyond, b.canonical('f32', f32.div(x, y))));
}

const full = (b: PtxBuilder): void => b.write(0, b.canonical('f32', b.f32.div(b.read(1), b.read(2))));

const SINGLE = '.approx.ftz?.type=f32';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('div', SINGLE, '=type type type', divide),
  ptxRow('div', '.full.ftz?.type=f32', '=type type type', full),
  ptxRow('rcp', SINGLE, '=type type', approximate(reciprocal)),
  ptxRow('rcp', '.approx.ftz.type=f64', '=type type', approximate(coarse(reciprocal))),
  ptxRow('sqrt', SINGLE, '=type type', approximate(root)),
  ptxRow('rsqrt', SINGLE, '=type type', approximate(reciprocalRoot)),
  ptxRow('rsqrt', '.approx.type=f64', '=type type', approximate(reciprocalRoot)),
  ptxRow('rsqrt', '.approx.ftz.type=f64', '=type type', approximate(coarse(reciprocalRoot))),
  ptxRow('sin', SINGLE, '=type type', approximate(sine)),
  ptxRow('cos', SINGLE, '=type type', approximate(periodic(cosineOfTurns))),
  ptxRow('lg2', SINGLE, '=type type', approximate(logarithm)),
  ptxRow('ex2', SINGLE, '=type type', approximate(exp2)),
  ptxRow('ex2', '.approx.type=f16|f16x2', '=type type', approximate(exp2)),
  ptxRow('ex2', '.approx.ftz.type=bf16|bf16x2', '=type type', approximate(exp2)),
  ptxRow('tanh', '.approx.type=f32|f16|f16x2|bf16|bf16x2', '=type type', approximate(tanh)),
];

export const APPROXIMATE_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'float' }));
