/**
 * VOP3P-MAI: matrix multiply-add. CDNA2 ISA 7, 12.10, opcodes 64 to 111, and 13.3.6.1; CDNA3 ISA 7, 12.10,
 * opcodes 62 to 127, which names most of them anew.
 *
 * All lanes work, whatever EXEC says, and sums are rounded to nearest even, whatever MODE says (CDNA3 ISA
 * 7.1.2). Approximate, because no public text says more: each product is added with one rounding, in
 * ascending order of k; CDNA2 flushes a sum's denormal at its end only; a NaN is positive and has no payload.
 */
import { WavewrightError } from '../../../../base/errors.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { type InstructionBuilder, type Semantics, semanticsOf } from '../../semantics/instruction-builder.ts';
import {
  type ElementFormat,
  elementBits,
  elements,
  flushedBelow,
  sumType,
} from '../../semantics/matrix/matrix-elements.ts';
import { denseProduct, type MatrixShape, sparseProduct } from '../../semantics/matrix/matrix-layout.ts';
import { type Opcodes, row } from '../table/row.ts';

/** What happens to denormals. */
interface Denormals {
  /** Of A and B in f16 and bf16. */
  readonly flushesHalves: boolean;
  /** Of f32 in A and B, in C, in D. */
  readonly flushesInputs: boolean;
  readonly flushesC: boolean;
  readonly flushesResults: boolean;
}

/**
 * CDNA2 flushes f16 and bf16 products and has f32 follow MODE (CDNA2 ISA 7.1); CDNA3 lets MODE flush f32 in A
 * and B and nothing else (CDNA3 ISA 7.3; the table in 7.1.2 has not even that).
 */
function denormalsOf(b: InstructionBuilder, format: ElementFormat): Denormals {
  const { inputs, results } = b.mode.flush32;
  const isFlushed = b.instruction.target.matrixDenormals === 'flushed';
  const flushesInputs = format === 'f32' && inputs;
  const flushesHalves = isFlushed && (format === 'f16' || format === 'bf16');
  return {
    flushesHalves,
    flushesInputs,
    flushesC: flushesHalves || (isFlushed && flushesInputs),
    flushesResults: flushesHalves || (isFlushed && format === 'f32' && results),
  };
}

const MIN_NORMAL_EXPONENT = -126;
const flushedF32 = (b: InstructionBuilder, values: readonly Value[]): Value[] =>
  values.map((x) => flushedBelow(b, x, MIN_NORMAL_EXPONENT));

function refuse(b: InstructionBuilder, field: string): never {
  throw new WavewrightError('UNSUPPORTED', `unsupported instruction '${b.instruction.name}' whose ${field} is no VGPR`);
}

/** Registers of A, B or the indices, which are VGPRs; with `lane`, of another lane. */
function sourceDwords(b: InstructionBuilder, field: string, lane?: Value): Value[] {
  const index = b.index(field);
  if (!b.isVector(index)) refuse(b, field);
  const dwords = b.dwords(index);
  return lane ? dwords.map((_, dword) => b.gather({ operand: index, dword }, lane)) : dwords;
}

function numbers(b: InstructionBuilder, format: ElementFormat, dwords: readonly Value[]): Value[] {
  const { flushesHalves, flushesInputs } = denormalsOf(b, format);
  const values = elements(b, format, dwords, flushesHalves);
  return flushesInputs ? flushedF32(b, values) : values;
}

/** C: registers, or one inline constant for all. */
function accumulators(b: InstructionBuilder, field: 'src2' | 'vdst', format: ElementFormat): Value[] {
  const index = b.index(field);
  const { kind } = b.instruction.operand(index);
  if (kind !== 'vector' && kind !== 'constant') refuse(b, field);
  const size = sumType(format) === 'f64' ? 2 : 1;
  const count = b.instruction.dwords(index) / size;
  const dwords = b.dwords(index, kind === 'vector' ? count * size : size);
  const values = size === 2 ? elements(b, 'f64', dwords, false) : dwords;
  const all = kind === 'vector' ? values : Array.from({ length: count }, () => values[0]!);
  return denormalsOf(b, format).flushesC ? flushedF32(b, all) : all;
}

function writeResults(b: InstructionBuilder, format: ElementFormat, results: readonly Value[]): void {
  const values = denormalsOf(b, format).flushesResults ? flushedF32(b, results) : results;
  const dwords = sumType(format) === 'f64' ? values.flatMap((x) => [b.low(x), b.high(x)]) : values;
  b.setDwords(b.index('vdst'), dwords);
}

/**
 * The lane that A is read from: the block of 64 >> CBSZ lanes that ABID names stands for all (CDNA3 ISA
 * 7.1.5.1).
 */
function leftLane(b: InstructionBuilder): Value | undefined {
  const size = 64 >> b.field('cbsz');
  return size === 64 ? undefined : b.add(b.and(b.laneId(), b.i32(size - 1)), b.i32((size * b.field('abid')) & 63));
}

/** The lane that B is read from (CDNA3 ISA 7.1.5.2). */
function rightLane(b: InstructionBuilder): Value | undefined {
  const permutation = b.field('blgp');
  if (permutation === 0) return undefined;
  if (permutation === 3) return b.and(b.add(b.laneId(), b.i32(16)), b.i32(63));
  const [size, first] = permutation < 3 ? [32, permutation - 1] : [16, permutation - 4];
  return b.add(b.and(b.laneId(), b.i32(size - 1)), b.i32(first * size));
}

/** Doubles are not broadcast: CDNA3 negates A, B and C by the bits of BLGP (7.1.5.3). */
function negatedDoubles(b: InstructionBuilder, bit: number, values: readonly Value[]): readonly Value[] {
  const negates = b.instruction.target.negatesDoubleProducts && (b.field('blgp') >> bit) & 1;
  return negates ? values.map((x) => b.f64.neg(x)) : values;
}

function dense(shape: MatrixShape, left: ElementFormat, right: ElementFormat): Semantics {
  const product = denseProduct(sumType(left), shape);
  return (b) => {
    const isDouble = left === 'f64';
    const a = numbers(b, left, sourceDwords(b, 'src0', isDouble ? undefined : leftLane(b)));
    const factors = numbers(b, right, sourceDwords(b, 'src1', isDouble ? undefined : rightLane(b)));
    const c = accumulators(b, 'src2', left);
    const matrices = isDouble ? [a, factors, c].map((values, bit) => negatedDoubles(b, bit, values)) : [a, factors, c];
    writeResults(b, left, b.matrixProduct(product, matrices[0]!, matrices[1]!, matrices[2]!));
  };
}

/** The set of 2-bit indices that ABID chooses, unless CBSZ takes the first (CDNA3 ISA 7.4). */
function indices(b: InstructionBuilder, count: number): Value[] {
  const dword = sourceDwords(b, 'src2')[0]!;
  const width = count * 2;
  const set = (b.field('cbsz') & 3) === 0 ? b.field('abid') & (32 / width - 1) : 0;
  return Array.from({ length: count }, (_, i) => b.bits(dword, set * width + i * 2, 2));
}

function sparse(shape: MatrixShape, left: ElementFormat, right: ElementFormat): Semantics {
  const product = sparseProduct(sumType(left), shape);
  return (b) => {
    const a = numbers(b, left, sourceDwords(b, 'src0'));
    const factors = numbers(b, right, sourceDwords(b, 'src1'));
    const c = accumulators(b, 'vdst', left);
    writeResults(b, left, b.matrixProduct(product, a, factors, c, indices(b, product.left)));
  };
}

const registers = (dwords: number): OperandType => `b${dwords * 32}` as OperandType;

/** Size as in the names: m x n x k. */
type Size = `${number}x${number}x${number}`;

function shapeOf(size: Size, blocks: number): MatrixShape {
  const [m, n, k] = size.split('x').map(Number) as [number, number, number];
  return { m, n, k, blocks };
}

/** Registers of the input matrices and of the result. */
function registersOf({ m, n, k, blocks }: MatrixShape, format: ElementFormat) {
  const input = registers((((k * m * blocks) / 64) * elementBits(format)) / 32);
  return { input, result: registers(((m * n * blocks) / 64) * (format === 'f64' ? 2 : 1)) };
}

/** Sums of integers are exact in any order. */
const flagsOf = (left: ElementFormat, shape: MatrixShape): RowFlags => ({
  product: { ...shape, format: left },
  ...(left === 'f64' && { doubles: true }),
  ...(sumType(left) !== 'i32' && {
    approximate: 'products are added in ascending order of k, one rounding each; AMD does not publish the order',
  }),
});

function mfma(name: string, opcodes: Opcodes, shape: MatrixShape, left: ElementFormat, right = left): Row {
  const { input, result } = registersOf(shape, left);
  const operands = `=vdst:${result} src0:${input} src1:${input} src2:${result}`;
  return row('VOP3P_MAI', name, opcodes, operands, dense(shape, left, right), flagsOf(left, shape));
}

const cdna2Name = (size: Size, format: ElementFormat): string => `v_mfma_${sumType(format)}_${size}${format}`;
const cdna3Name = (size: Size, blocks: number, formats: string, sum: string): string =>
  `v_mfma_${sum}_${size}${blocks === 1 ? '' : `_${blocks}b`}_${formats}`;

/** In CDNA2 and, under another name, in CDNA3. */
function both(size: Size, blocks: number, format: ElementFormat, opcode: number): Row {
  const name = cdna3Name(size, blocks, format, sumType(format));
  const opcodes: Opcodes = { gfx90a: opcode, gfx940: [name, opcode] };
  return mfma(cdna2Name(size, format), opcodes, shapeOf(size, blocks), format);
}

const cdna2 = (size: Size, blocks: number, format: ElementFormat, opcode: number, suffix = ''): Row =>
  mfma(cdna2Name(size, format) + suffix, { gfx90a: opcode, gfx940: -1 }, shapeOf(size, blocks), format);

const cdna3 = (size: Size, blocks: number, format: ElementFormat, opcode: number): Row =>
  mfma(cdna3Name(size, blocks, format, sumType(format)), { gfx940: opcode }, shapeOf(size, blocks), format);

const SMALL_FLOAT_PAIRS: readonly (readonly [ElementFormat, ElementFormat])[] = [
  ['bf8', 'bf8'],
  ['bf8', 'fp8'],
  ['fp8', 'bf8'],
  ['fp8', 'fp8'],
];

/** Half of A is zeros, which are not stored; src2 holds where. */
function smfmac(size: Size, opcode: number, left: ElementFormat, right = left): Row {
  const shape = shapeOf(size, 1);
  const formats = left === 'fp8' || left === 'bf8' ? `${left}_${right}` : left;
  const name = `v_smfmac_${sumType(left)}_${size}_${formats}`;
  const operands = `+vdst:${registersOf(shape, left).result} src0:b64 src1:b128 src2:b32`;
  return row('VOP3P_MAI', name, { gfx940: opcode }, operands, sparse(shape, left, right), {
    ...flagsOf(left, shape),
    sparse: true,
  });
}

// biome-ignore format: one row per line, as the tables of the manual
const cdna2And3Rows = (): readonly Row[] => [
  cdna3('16x16x8', 1, 'xf32', 0x3e),
  cdna3('32x32x4', 1, 'xf32', 0x3f),
  both('32x32x1', 2, 'f32', 0x40),
  both('16x16x1', 4, 'f32', 0x41),
  both('4x4x1', 16, 'f32', 0x42),
  both('32x32x2', 1, 'f32', 0x44),
  both('16x16x4', 1, 'f32', 0x45),
  both('32x32x4', 2, 'f16', 0x48),
  both('16x16x4', 4, 'f16', 0x49),
  both('4x4x4', 16, 'f16', 0x4a),
  both('32x32x8', 1, 'f16', 0x4c),
  both('16x16x16', 1, 'f16', 0x4d),
  both('32x32x4', 2, 'i8', 0x50),
  both('16x16x4', 4, 'i8', 0x51),
  both('4x4x4', 16, 'i8', 0x52),
  cdna2('32x32x8', 1, 'i8', 0x54),
  cdna2('16x16x16', 1, 'i8', 0x55),
  cdna3('32x32x16', 1, 'i8', 0x56),
  cdna3('16x16x32', 1, 'i8', 0x57),
  cdna3('32x32x4', 2, 'bf16', 0x5d),
  cdna3('16x16x4', 4, 'bf16', 0x5e),
  cdna3('4x4x4', 16, 'bf16', 0x5f),
  cdna3('32x32x8', 1, 'bf16', 0x60),
  cdna3('16x16x16', 1, 'bf16', 0x61),
  cdna2('32x32x4', 2, 'bf16', 0x63, '_1k'),
  cdna2('16x16x4', 4, 'bf16', 0x64, '_1k'),
  cdna2('4x4x4', 16, 'bf16', 0x65, '_1k'),
  cdna2('32x32x8', 1, 'bf16', 0x66, '_1k'),
  cdna2('16x16x16', 1, 'bf16', 0x67, '_1k'),
  cdna2('32x32x2', 2, 'bf16', 0x68),
  cdna2('16x16x2', 4, 'bf16', 0x69),
  cdna2('4x4x2', 16, 'bf16', 0x6b),
  cdna2('32x32x4', 1, 'bf16', 0x6c),
  cdna2('16x16x8', 1, 'bf16', 0x6d),
  both('16x16x4', 1, 'f64', 0x6e),
  both('4x4x4', 4, 'f64', 0x6f),
  ...SMALL_FLOAT_PAIRS.flatMap(([left, right], i) =>
    (['16x16x32', '32x32x16'] as const).map((size, j) => {
      const name = cdna3Name(size, 1, `${left}_${right}`, 'f32');
      return mfma(name, { gfx940: 112 + 4 * j + i }, shapeOf(size, 1), left, right);
    }),
  ),
  smfmac('16x16x32', 0x62, 'f16'),
  smfmac('32x32x16', 0x64, 'f16'),
  smfmac('16x16x32', 0x66, 'bf16'),
  smfmac('32x32x16', 0x68, 'bf16'),
  smfmac('16x16x64', 0x6a, 'i8'),
  smfmac('32x32x32', 0x6c, 'i8'),
  ...SMALL_FLOAT_PAIRS.flatMap(([left, right], i) => [smfmac('16x16x64', 0x78 + i, left, right), smfmac('32x32x32', 0x7c + i, left, right)]),
];

/** gfx908 has those of CDNA2 before the last bf16 and the f64 ones; accumulators are AGPRs. */
const cdna1Rows = (): readonly Row[] =>
  cdna2And3Rows().flatMap((cdna2Row) => {
    const { name, opcodes, operands, flags } = cdna2Row;
    const opcode = opcodes.gfx90a?.opcode;
    if (opcode === undefined || /_1k$|f64$/.test(name)) return [];
    const [vdst, src0, src1, src2] = operands.map(({ type }) => type);
    const operandText = `=vdst:${vdst}/a src0:${src0} src1:${src1} src2:${src2}/a`;
    const reason = flags.approximate && { approximate: `${flags.approximate}, nor how CDNA1 differs from CDNA2` };
    return [
      row('VOP3P_MAI', name, { gfx908: opcode, gfx90a: -1 }, operandText, semanticsOf(cdna2Row), {
        ...flags,
        ...reason,
      }),
    ];
  });

export const matrixRows = (): readonly Row[] => [...cdna2And3Rows(), ...cdna1Rows()];
