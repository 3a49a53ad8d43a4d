/**
 * Floating-point arithmetic. PTX ISA 9.7.3 "Floating Point", 9.7.4 "Half Precision". Results of f32 and f16
 * that are NaN are the canonical one.
 */
import type { Value } from '../../ir/types.ts';
import { bitsOf } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Compute = (b: PtxBuilder, ...sources: Value[]) => Value;

/** Cut to 0 to 1 where the instruction asks for it; a NaN is 0 then. */
function finish(b: PtxBuilder, value: Value): Value {
  const type = b.type();
  return b.has('sat') ? b.float(type).clamp(value) : b.canonical(type, value);
}

const result =
  (compute: Compute) =>
  (b: PtxBuilder): void =>
    b.write(0, finish(b, compute(b, ...b.sources)));

/** Signs and magnitudes are bits: a NaN stays, and nothing else changes but that denormals are flushed. */
const sign = (b: PtxBuilder, value: Value): Value => {
  const f = b.float();
  return b.select(f.isNan(value), b.canonical(b.type(), value), f.result(value));
};

/** Copies the sign of the first operand, which is none of AMD's order: PTX ISA 9.7.3.3. */
function copySign(b: PtxBuilder, signed: Value, magnitude: Value): void {
  b.write(0, b.float().copySign(magnitude, signed));
}

function minMax(b: PtxBuilder, want: 'min' | 'max'): void {
  const f = b.float();
  const [x, y] = b.sources as [Value, Value];
  let value = f[want](x, y);
  if (b.has('NaN')) {
    const isNan = b.op('i1.or', f.isNan(x), f.isNan(y));
    value = b.select(isNan, b.canonical(b.type(), b.select(f.isNan(x), x, y)), value);
  }
  b.write(0, b.canonical(b.type(), value));
}

/** Whether a number is of a kind: PTX ISA 9.7.3.2. */
function testProperty(b: PtxBuilder): void {
  const f = b.float();
  const [x] = b.sources as [Value];
  const isNumber = b.not(b.op('i1.or', f.isNan(x), f.isInfinite(x)));
  const half = bitsOf(b.type()) === 32 ? b.i32(0x00800000) : b.i64(0x0010000000000000n);
  const isSmall = b.ltU(f.abs(x), half);
  const kinds: Readonly<Record<string, () => Value>> = {
    finite: () => isNumber,
    infinite: () => f.isInfinite(x),
    number: () => b.not(f.isNan(x)),
    notanumber: () => f.isNan(x),
    normal: () => b.op('i1.and', isNumber, b.not(isSmall)),
    subnormal: () => b.op('i1.and', isSmall, b.not(f.isZero(x))),
  };
  b.write(0, kinds[b.modifiers['kind']!]!());
}

/** 1 divided by it. */
const reciprocal: Compute = (b, x) => b.float().div(b.float().constant(1), x!);

/** Computed in double precision and rounded once: closer than the bounds of the manual ask for. */
const reciprocalRoot: Compute = (b, x) => {
  const wide = b.type() === 'f32' ? b.op('f64.fromF32', b.f32.input(x!)) : x!;
  const root = b.op('f64.div', b.f64.constant(1), b.op('f64.sqrt', wide));
  return b.type() === 'f32' ? b.f32.result(b.op('f32.fromF64', root)) : root;
};

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ptxRow('add', '.round=@round?.ftz?.sat?.type=f32', '=type type type', result((b, x, y) => b.float().add(x!, y!))),
  ptxRow('sub', '.round=@round?.ftz?.sat?.type=f32', '=type type type', result((b, x, y) => b.float().sub(x!, y!))),
  ptxRow('mul', '.round=@round?.ftz?.sat?.type=f32', '=type type type', result((b, x, y) => b.float().mul(x!, y!))),
  ptxRow('add', '.round=@round?.type=f64', '=type type type', result((b, x, y) => b.float().add(x!, y!))),
  ptxRow('sub', '.round=@round?.type=f64', '=type type type', result((b, x, y) => b.float().sub(x!, y!))),
  ptxRow('mul', '.round=@round?.type=f64', '=type type type', result((b, x, y) => b.float().mul(x!, y!))),
  ptxRow('add', '.round=rn?.noftz?.sat?.type=f16', '=type type type', result((b, x, y) => b.float().add(x!, y!))),
  ptxRow('sub', '.round=rn?.noftz?.sat?.type=f16', '=type type type', result((b, x, y) => b.float().sub(x!, y!))),
  ptxRow('mul', '.round=rn?.noftz?.sat?.type=f16', '=type type type', result((b, x, y) => b.float().mul(x!, y!))),
  ptxRow('fma', '.round=@round.ftz?.sat?.type=f32', '=type type type type', result((b, x, y, z) => b.float().fma(x!, y!, z!))),
  ptxRow('mad', '.round=@round?.ftz?.sat?.type=f32', '=type type type type', result((b, x, y, z) => b.float().fma(x!, y!, z!))),
  ptxRow('fma', '.round=@round.type=f64', '=type type type type', result((b, x, y, z) => b.float().fma(x!, y!, z!))),
  ptxRow('mad', '.round=@round?.type=f64', '=type type type type', result((b, x, y, z) => b.float().fma(x!, y!, z!))),
  ptxRow('fma', '.round=rn.sat?.type=f16', '=type type type type', result((b, x, y, z) => b.float().fma(x!, y!, z!))),
  ptxRow('div', '.round=@round.ftz?.type=f32', '=type type type', result((b, x, y) => b.float().div(x!, y!))),
  ptxRow('div', '.approx.ftz?.type=f32', '=type type type', result((b, x, y) => b.float().div(x!, y!))),
  ptxRow('div', '.full.ftz?.type=f32', '=type type type', result((b, x, y) => b.float().div(x!, y!))),
  ptxRow('div', '.round=@round.type=f64', '=type type type', result((b, x, y) => b.float().div(x!, y!))),
  ptxRow('rcp', '.round=@round.ftz?.type=f32', '=type type', result(reciprocal)),
  ptxRow('rcp', '.approx.ftz?.type=f32', '=type type', result(reciprocal)),
  ptxRow('rcp', '.round=@round.type=f64', '=type type', result(reciprocal)),
  ptxRow('sqrt', '.round=@round.ftz?.type=f32', '=type type', result((b, x) => b.float().sqrt(x!))),
  ptxRow('sqrt', '.approx.ftz?.type=f32', '=type type', result((b, x) => b.float().sqrt(x!))),
  ptxRow('sqrt', '.round=@round.type=f64', '=type type', result((b, x) => b.float().sqrt(x!))),
  ptxRow('rsqrt', '.approx.ftz?.type=f32', '=type type', result(reciprocalRoot)),
  ptxRow('rsqrt', '.approx.type=f64', '=type type', result(reciprocalRoot)),
  ptxRow('abs', '.ftz?.type=f32|f64|f16', '=type type', (b) => b.write(0, b.float().abs(sign(b, b.read(1))))),
  ptxRow('neg', '.ftz?.type=f32|f64|f16', '=type type', (b) => b.write(0, sign(b, b.float().neg(b.read(1))))),
  ptxRow('min', '.ftz?.NaN?.type=f32|f64|f16', '=type type type', (b) => minMax(b, 'min')),
  ptxRow('max', '.ftz?.NaN?.type=f32|f64|f16', '=type type type', (b) => minMax(b, 'max')),
  ptxRow('copysign', '.type=f32|f64', '=type type type', (b) => copySign(b, b.read(1), b.read(2))),
  ptxRow('testp', '.kind=finite|infinite|number|notanumber|normal|subnormal.type=f32|f64', '=pred type', testProperty),
];

export const FLOAT_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'float' }));
