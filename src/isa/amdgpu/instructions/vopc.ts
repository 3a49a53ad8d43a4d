/** VOPC: compare to a lane mask. CDNA2 ISA 12.9, "VOPC Instructions", tables 48 to 50. */
import type { Builder } from '../../../ir/builder.ts';
import type { FloatBuilder } from '../../../ir/float-builder.ts';
import type { Value } from '../../../ir/types.ts';
import { type OperandType, type Row, row, type Semantics } from '../row.ts';
import { bitAt } from './bit-operations.ts';
import { asNarrow } from './saturation.ts';

type FloatTest = (b: Builder, f: FloatBuilder, x: Value, y: Value) => Value;

const lessOrGreater: FloatTest = (b, f, x, y) => b.op('i1.or', f.lt(x, y), f.lt(y, x));
const unordered: FloatTest = (b, f, x, y) => b.op('i1.or', f.isNan(x), f.isNan(y));
const negated =
  (test: FloatTest): FloatTest =>
  (b, f, x, y) =>
    b.not(test(b, f, x, y));
const lessThan: FloatTest = (_, f, x, y) => f.lt(x, y);
const equal: FloatTest = (_, f, x, y) => f.eq(x, y);
const lessOrEqual: FloatTest = (_, f, x, y) => f.le(x, y);
const greaterThan: FloatTest = (_, f, x, y) => f.lt(y, x);
const greaterOrEqual: FloatTest = (_, f, x, y) => f.le(y, x);

/** In the order of the opcodes; those that begin with n are the negations, true for unordered sources. */
const FLOAT_TESTS: readonly (readonly [string, FloatTest])[] = [
  ['f', (b) => b.i1(false)],
  ['lt', lessThan],
  ['eq', equal],
  ['le', lessOrEqual],
  ['gt', greaterThan],
  ['lg', lessOrGreater],
  ['ge', greaterOrEqual],
  ['o', negated(unordered)],
  ['u', unordered],
  ['nge', negated(greaterOrEqual)],
  ['nlg', negated(lessOrGreater)],
  ['ngt', negated(greaterThan)],
  ['nle', negated(lessOrEqual)],
  ['neq', negated(equal)],
  ['nlt', negated(lessThan)],
  ['tru', (b) => b.i1(true)],
];

type IntegerTest = (b: Builder, less: 'ltS' | 'ltU', x: Value, y: Value) => Value;

const INTEGER_TESTS: readonly (readonly [string, IntegerTest])[] = [
  ['f', (b) => b.i1(false)],
  ['lt', (b, less, x, y) => b[less](x, y)],
  ['eq', (b, _, x, y) => b.eq(x, y)],
  ['le', (b, less, x, y) => b.not(b[less](y, x))],
  ['gt', (b, less, x, y) => b[less](y, x)],
  ['ne', (b, _, x, y) => b.ne(x, y)],
  ['ge', (b, less, x, y) => b.not(b[less](x, y))],
  ['t', (b) => b.i1(true)],
];

/** The compare at `opcode` and the one `distance` above, which writes EXEC too. 64-bit sources have no SDWA form. */
function pair(suffix: string, opcode: number, distance: number, types: readonly OperandType[], test: Semantics): Row[] {
  const operandText = `=sdst:mask src0:${types[0]} src1:${types[1]}`;
  const flags = { noSdwa: types[0]!.endsWith('64') };
  const writeExec: Semantics = (b, ...sources) => {
    const condition = test(b, ...sources) as Value;
    b.setState('exec', b.ballot(condition));
    return condition;
  };
  return [
    row('VOPC', `v_cmp_${suffix}`, opcode, operandText, test, flags),
    row('VOPC', `v_cmpx_${suffix}`, opcode + distance, operandText, writeExec, { ...flags, writesExec: true }),
  ];
}

function floatCompares(type: 'f16' | 'f32' | 'f64', first: number): Row[] {
  return FLOAT_TESTS.flatMap(([name, test], i) =>
    pair(`${name}_${type}`, first + i, 16, [type, type], (b, x, y) => test(b, b.float(type), x, y)),
  );
}

function integerCompares(type: 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64', first: number): Row[] {
  const less = type.startsWith('i') ? 'ltS' : 'ltU';
  const read = (b: Builder, x: Value): Value => (type === 'i16' || type === 'u16' ? asNarrow(b, type, x) : x);
  return INTEGER_TESTS.flatMap(([name, test], i) =>
    pair(`${name}_${type}`, first + i, 16, [type, type], (b, x, y) => test(b, less, read(b, x), read(b, y))),
  );
}

const FRACTION_BITS = { f16: 10, f32: 23, f64: 52 } as const;

/** Bit of src1 for the class of src0: signalling NaN, quiet NaN, then from -infinity (2) to +infinity (9). */
function classify(type: 'f16' | 'f32' | 'f64', opcode: number): Row[] {
  return pair(`class_${type}`, opcode, 1, [type, 'b32'], (b, x, mask) => {
    const f = b.float(type);
    const minNormal = type === 'f64' ? b.i64(1n << 52n) : b.i32(1 << FRACTION_BITS[type]);
    const distance = b.select(
      f.isInfinite(x),
      b.i32(3),
      b.select(f.isZero(x), b.i32(0), b.select(b.ltU(f.abs(x), minNormal), b.i32(1), b.i32(2))),
    );
    const number = b.select(f.isNegative(x), b.sub(b.i32(5), distance), b.add(b.i32(6), distance));
    const index = b.select(f.isNan(x), b.select(f.isSignalling(x), b.i32(0), b.i32(1)), number);
    return bitAt(b, mask, index);
  });
}

export const VOPC_ROWS: readonly Row[] = [
  ...classify('f32', 0x10),
  ...classify('f64', 0x12),
  ...classify('f16', 0x14),
  ...floatCompares('f16', 0x20),
  ...floatCompares('f32', 0x40),
  ...floatCompares('f64', 0x60),
  ...integerCompares('i16', 0xa0),
  ...integerCompares('u16', 0xa8),
  ...integerCompares('i32', 0xc0),
  ...integerCompares('u32', 0xc8),
  ...integerCompares('i64', 0xe0),
  ...integerCompares('u64', 0xe8),
];
