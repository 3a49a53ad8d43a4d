/** VOPC: compare to a lane mask. CDNA2 ISA 12.9, "VOPC Instructions", tables 48 to 50. */
import type { Builder } from '../../../../ir/builder.ts';
import type { FloatBuilder } from '../../../../ir/float-builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { Family } from '../../encoding/formats.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { bitAt } from '../../semantics/bit-operations.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { asNarrow } from '../../semantics/saturation.ts';
import { type ByFamily, moved, type Opcodes, row } from '../table/row.ts';

export type FloatTest = (b: Builder, f: FloatBuilder, x: Value, y: Value) => Value;

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
export const FLOAT_TESTS: readonly (readonly [string, FloatTest])[] = [
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

/** Opcodes of a compare; where `v_cmpx` is above it, by family. */
interface Place {
  readonly opcodes: ByFamily;
  readonly distance: ByFamily;
}

interface PairOptions {
  /** The name of gfx11 and later, where it is another. */
  readonly gfx11Suffix?: string;
  readonly flags?: RowFlags;
}

const DISTANCE: ByFamily = { gfx9: 0x10, gfx10: 0x10, gfx11: 0x80 };

/** The name that families from gfx11 on have, if it is another. */
const namedBy = (prefix: string, opcodes: ByFamily, gfx11Suffix: string): Opcodes =>
  Object.fromEntries(
    Object.entries(opcodes).map(([family, opcode]) => [
      family,
      family === 'gfx11' ? [`${prefix}${gfx11Suffix}`, opcode] : opcode,
    ]),
  );

/**
 * A compare and the one that writes EXEC: besides its destination on gfx9, alone from gfx10 on (RDNA2 ISA,
 * V_CMPX). 64-bit sources have no SDWA form.
 */
function pair(
  suffix: string,
  { opcodes, distance }: Place,
  types: readonly OperandType[],
  test: Semantics,
  { gfx11Suffix = suffix, flags: own = {} }: PairOptions = {},
): Row[] {
  const sources = `src0:${types[0]} src1:${types[1]}`;
  const flags: RowFlags = { ...own, noSdwa: types[0]!.endsWith('64') };
  const execFlags = { ...flags, writesExec: true };
  const writeExec: Semantics = (b, ...values) => {
    const condition = test(b, ...values) as Value;
    b.setState('exec', b.writtenLanes(condition));
    return condition;
  };
  const writeOnlyExec: Semantics = (b, ...values) => {
    writeExec(b, ...values);
  };
  const { gfx9, ...later } = Object.fromEntries(
    Object.entries(opcodes).map(([family, opcode]) => [
      family,
      opcode < 0 ? opcode : opcode + distance[family as Family]!,
    ]),
  ) as ByFamily;
  const named = (prefix: string, numbers: ByFamily): Opcodes => namedBy(prefix, numbers, gfx11Suffix);
  return [
    row('VOPC', `v_cmp_${suffix}`, named('v_cmp_', opcodes), `=sdst:mask ${sources}`, test, flags),
    row('VOPC', `v_cmpx_${suffix}`, { gfx9: gfx9! }, `=sdst:mask ${sources}`, writeExec, execFlags),
    row('VOPC', `v_cmpx_${suffix}`, named('v_cmpx_', later), sources, writeOnlyExec, execFlags),
  ];
}

/** The second half of the f16 compares of gfx10 stands elsewhere. */
function floatCompares(type: 'f16' | 'f32' | 'f64', first: ByFamily, gfx10UpperHalf = 0): Row[] {
  return FLOAT_TESTS.flatMap(([name, test], i) => {
    const opcodes = {
      ...moved(first, i),
      ...(i % 15 === 0 && { gfx12: -1 }),
      ...(i >= 8 && gfx10UpperHalf && { gfx10: gfx10UpperHalf + i - 8 }),
    };
    const semantics: Semantics = (b, x, y) => test(b, b.float(type), x!, y!);
    const gfx11Name = name === 'tru' ? 't' : name;
    return pair(`${name}_${type}`, { opcodes, distance: DISTANCE }, [type, type], semantics, {
      gfx11Suffix: `${gfx11Name}_${type}`,
    });
  });
}

/** From gfx10 on, 16-bit integers have no constant compares. */
function integerCompares(type: 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64', first: ByFamily): Row[] {
  const less = type.startsWith('i') ? 'ltS' : 'ltU';
  const read = (b: Builder, x: Value): Value => (type === 'i16' || type === 'u16' ? asNarrow(b, type, x) : x);
  return INTEGER_TESTS.flatMap(([name, test], i) => {
    const opcodes = {
      ...moved(first, i),
      ...((name === 'f' || name === 't') && { gfx12: -1 }),
      ...((name === 'f' || name === 't') && type.endsWith('16') && { gfx10: -1, gfx11: -1 }),
    };
    return pair(`${name}_${type}`, { opcodes, distance: DISTANCE }, [type, type], (b, x, y) =>
      test(b, less, read(b, x), read(b, y)),
    );
  });
}

const FRACTION_BITS = { f16: 10, f32: 23, f64: 52 } as const;

/** The second source has bits, no sign. */
const CLASSES: RowFlags = { clampBit: 'never', signs: 'first' };

/** Bit of src1 for the class of src0: signalling NaN, quiet NaN, then from -infinity (2) to +infinity (9). */
function classify(type: 'f16' | 'f32' | 'f64', opcodes: ByFamily): Row[] {
  const semantics: Semantics = (b, x, mask) => {
    const f = b.float(type);
    const minNormal = type === 'f64' ? b.i64(1n << 52n) : b.i32(1 << FRACTION_BITS[type]);
    const distance = b.select(
      f.isInfinite(x!),
      b.i32(3),
      b.select(f.isZero(x!), b.i32(0), b.select(b.ltU(f.abs(x!), minNormal), b.i32(1), b.i32(2))),
    );
    const number = b.select(f.isNegative(x!), b.sub(b.i32(5), distance), b.add(b.i32(6), distance));
    const index = b.select(f.isNan(x!), b.select(f.isSignalling(x!), b.i32(0), b.i32(1)), number);
    return bitAt(b, mask!, index);
  };
  const place = { opcodes, distance: { ...DISTANCE, gfx9: 1 } };
  return pair(`class_${type}`, place, [type, 'b32'], semantics, { flags: CLASSES });
}

export const vopcRows = (): readonly Row[] => [
  ...classify('f32', { gfx9: 0x10, gfx10: 0x88, gfx11: 0x7e }),
  ...classify('f64', { gfx9: 0x12, gfx10: 0xa8, gfx11: 0x7f }),
  ...classify('f16', { gfx9: 0x14, gfx10: 0x8f, gfx11: 0x7d }),
  ...floatCompares('f16', { gfx9: 0x20, gfx10: 0xc8, gfx11: 0x00 }, 0xe8),
  ...floatCompares('f32', { gfx9: 0x40, gfx10: 0x00, gfx11: 0x10 }),
  ...floatCompares('f64', { gfx9: 0x60, gfx10: 0x20, gfx11: 0x20 }),
  ...integerCompares('i16', { gfx9: 0xa0, gfx10: 0x88, gfx11: 0x30 }),
  ...integerCompares('u16', { gfx9: 0xa8, gfx10: 0xa8, gfx11: 0x38 }),
  ...integerCompares('i32', { gfx9: 0xc0, gfx10: 0x80, gfx11: 0x40 }),
  ...integerCompares('u32', { gfx9: 0xc8, gfx10: 0xc0, gfx11: 0x48 }),
  ...integerCompares('i64', { gfx9: 0xe0, gfx10: 0xa0, gfx11: 0x50 }),
  ...integerCompares('u64', { gfx9: 0xe8, gfx10: 0xe0, gfx11: 0x58 }),
];
