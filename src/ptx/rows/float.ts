/**
 * Floating-point arithmetic. PTX ISA 9.7.3 "Floating Point", 9.7.4 "Half Precision". Results of all types but
 * f64 that are NaN are the canonical one.
 */
import type { FloatBuilder } from '../../ir/float-builder.ts';
import type { Value } from '../../ir/types.ts';
import { bitsOf, type PtxType } from '../machine/types.ts';
import type { PtxBuilder } from './builder.ts';
import { type PtxRow, ptxRow } from './row.ts';

type Compute = (f: FloatBuilder, ...sources: Value[]) => Value;

/** `.sat` cuts to 0 to 1, where a NaN is 0; `.relu` makes 0 of what is negative. */
function finish(b: PtxBuilder, type: PtxType, value: Value): Value {
  const f = b.float(type);
  if (b.has('sat')) return f.clamp(value);
  const canonical = b.canonical(type, value);
  if (!b.has('relu')) return canonical;
  return b.select(b.op('i1.and', f.isNegative(canonical), b.not(f.isNan(canonical))), f.constant(0), canonical);
}

/** Each element of the result is computed of those of the sources. */
const result =
  (compute: Compute) =>
  (b: PtxBuilder): void =>
    b.write(
      0,
      b.perElement(b.type(), b.sources, (type, ...parts) => finish(b, type, compute(b.float(type), ...parts))),
    );

/** Signs are bits: a NaN is made canonical, and nothing else changes but that denormals are flushed. */
const sign = (compute: Compute) => result((f, x) => f.result(compute(f, x!)));

/** Copies the sign of the first operand, which is none of AMD's order: PTX ISA 9.7.3.3. */
function copySign(b: PtxBuilder, signed: Value, magnitude: Value): void {
  b.write(0, b.float(b.type()).copySign(magnitude, signed));
}

/** A NaN gives the other operand, with `.NaN` a NaN; `.xorsign.abs` is of sizes, with the product's sign. */
const minMax =
  (want: 'min' | 'max') =>
  (b: PtxBuilder): void =>
    b.write(
      0,
      b.perElement(b.type(), b.sources, (type, ...parts) => {
        const f = b.float(type);
        const [x, y] = b.has('xorsign') ? parts.map((part) => f.abs(part)) : parts;
        const isNan = b.op('i1.or', f.isNan(x!), f.isNan(y!));
        const value = f[want](x!, y!);
        const chosen = b.has('NaN') ? b.select(isNan, b.select(f.isNan(x!), x!, y!), value) : value;
        const canonical = b.canonical(type, chosen);
        if (!b.has('xorsign')) return canonical;
        const signed = f.copySign(canonical, b.xor(parts[0]!, parts[1]!));
        return b.select(f.isNan(canonical), canonical, signed);
      }),
    );

/** Whether a number is of a kind: PTX ISA 9.7.3.2. */
function testProperty(b: PtxBuilder): void {
  const f = b.float(b.type());
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

const add = result((f, x, y) => f.add(x!, y!));
const sub = result((f, x, y) => f.sub(x!, y!));
const mul = result((f, x, y) => f.mul(x!, y!));
const fma = result((f, x, y, z) => f.fma(x!, y!, z!));
const div = result((f, x, y) => f.div(x!, y!));
const sqrt = result((f, x) => f.sqrt(x!));
const rcp = result((f, x) => f.div(f.constant(1), x!));

const HALVES = '.type=f16|f16x2';
const BRAINS = '.type=bf16|bf16x2';
const ARITHMETIC = { add, sub, mul };
const ORDER = '.ftz?.NaN?.xorsign?.abs?.type=f32|f16|f16x2|bf16|bf16x2';

// biome-ignore format: one row per line, as the tables of the manual
const ROWS: readonly PtxRow[] = [
  ...Object.entries(ARITHMETIC).flatMap(([name, compute]) => [
    ptxRow(name, '.round=@round?.ftz?.sat?.type=f32', '=type type type', compute),
    ptxRow(name, '.round=@round?.type=f64', '=type type type', compute),
    ptxRow(name, `.round=rn?.noftz?.ftz?.sat?${HALVES}`, '=type type type', compute),
    ptxRow(name, `.round=rn?.noftz?${BRAINS}`, '=type type type', compute),
  ]),
  ptxRow('fma', '.round=@round.ftz?.sat?.type=f32', '=type type type type', fma),
  ptxRow('mad', '.round=@round?.ftz?.sat?.type=f32', '=type type type type', fma),
  ptxRow('fma', '.round=@round.type=f64', '=type type type type', fma),
  ptxRow('mad', '.round=@round?.type=f64', '=type type type type', fma),
  ptxRow('fma', `.round=rn.ftz?.sat?.relu?${HALVES}`, '=type type type type', fma),
  ptxRow('fma', `.round=rn.relu?${BRAINS}`, '=type type type type', fma),
  ptxRow('div', '.ftz?.round=@round.ftz?.type=f32', '=type type type', div),
  ptxRow('div', '.round=@round.type=f64', '=type type type', div),
  ptxRow('rcp', '.round=@round.ftz?.type=f32', '=type type', rcp),
  ptxRow('rcp', '.round=@round.type=f64', '=type type', rcp),
  ptxRow('sqrt', '.round=@round.ftz?.type=f32', '=type type', sqrt),
  ptxRow('sqrt', '.round=@round.type=f64', '=type type', sqrt),
  ptxRow('abs', '.ftz?.type=f32|f64|f16|f16x2|bf16|bf16x2', '=type type', sign((f, x) => f.abs(x!))),
  ptxRow('neg', '.ftz?.type=f32|f64|f16|f16x2|bf16|bf16x2', '=type type', sign((f, x) => f.neg(x!))),
  ...(['min', 'max'] as const).flatMap((name) => [
    ptxRow(name, ORDER, '=type type type', minMax(name)),
    ptxRow(name, '.type=f64', '=type type type', minMax(name)),
  ]),
  ptxRow('copysign', '.type=f32|f64', '=type type type', (b) => copySign(b, b.read(1), b.read(2))),
  ptxRow('testp', '.kind=finite|infinite|number|notanumber|normal|subnormal.type=f32|f64', '=pred type', testProperty),
];

export const FLOAT_ROWS: readonly PtxRow[] = ROWS.map((each) => ({ ...each, className: 'float' }));
