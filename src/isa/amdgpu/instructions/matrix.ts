/**
 * VOP3P-MAI: matrix multiply-add, known by name. CDNA2 ISA 12.10, opcodes 64 to 111, and 13.3.6.1; CDNA3 ISA 12.10, opcodes 62 to 127,
 * which names most of them anew.
 */
import { type Opcodes, type OperandType, type Row, row } from '../row.ts';

/** Operand of `dwords` registers. */
const typeOf = (dwords: number): OperandType => `b${dwords * 32}` as OperandType;

type Inputs = 1 | 2;
type Accumulators = 2 | 4 | 8 | 16 | 32;

/** A and B take `inputs` registers each, C and D `accumulators`. */
function matrix(name: string, opcodes: Opcodes, inputs: Inputs, accumulators: Accumulators): Row {
  const [input, accumulator] = [typeOf(inputs), typeOf(accumulators)];
  return row('VOP3P_MAI', name, opcodes, `=vdst:${accumulator} src0:${input} src1:${input} src2:${accumulator}`);
}

/** Under both names at one opcode. */
const renamed = (old: string, name: string, opcode: number, inputs: Inputs, accumulators: Accumulators): Row[] => [
  matrix(old, { gfx90a: opcode, gfx940: -1 }, inputs, accumulators),
  matrix(name, { gfx940: opcode }, inputs, accumulators),
];

const removed = (name: string, opcode: number, inputs: Inputs, accumulators: Accumulators): Row =>
  matrix(name, { gfx90a: opcode, gfx940: -1 }, inputs, accumulators);

const added = (name: string, opcode: number, inputs: Inputs, accumulators: Accumulators): Row =>
  matrix(name, { gfx940: opcode }, inputs, accumulators);

/** Half of A is zeros, which are not stored; src2 holds where. */
const sparse = (name: string, opcode: number, accumulators: 4 | 16): Row => {
  const accumulator = typeOf(accumulators);
  return row('VOP3P_MAI', `v_smfmac_${name}`, { gfx940: opcode }, `+vdst:${accumulator} src0:b64 src1:b128 src2:b32`);
};

const SMALL_FLOAT_PAIRS = ['bf8_bf8', 'bf8_fp8', 'fp8_bf8', 'fp8_fp8'];

export const MATRIX_ROWS: readonly Row[] = [
  added('v_mfma_f32_16x16x8_xf32', 62, 2, 4),
  added('v_mfma_f32_32x32x4_xf32', 63, 2, 16),
  ...renamed('v_mfma_f32_32x32x1f32', 'v_mfma_f32_32x32x1_2b_f32', 64, 1, 32),
  ...renamed('v_mfma_f32_16x16x1f32', 'v_mfma_f32_16x16x1_4b_f32', 65, 1, 16),
  ...renamed('v_mfma_f32_4x4x1f32', 'v_mfma_f32_4x4x1_16b_f32', 66, 1, 4),
  ...renamed('v_mfma_f32_32x32x2f32', 'v_mfma_f32_32x32x2_f32', 68, 1, 16),
  ...renamed('v_mfma_f32_16x16x4f32', 'v_mfma_f32_16x16x4_f32', 69, 1, 4),
  ...renamed('v_mfma_f32_32x32x4f16', 'v_mfma_f32_32x32x4_2b_f16', 72, 2, 32),
  ...renamed('v_mfma_f32_16x16x4f16', 'v_mfma_f32_16x16x4_4b_f16', 73, 2, 16),
  ...renamed('v_mfma_f32_4x4x4f16', 'v_mfma_f32_4x4x4_16b_f16', 74, 2, 4),
  ...renamed('v_mfma_f32_32x32x8f16', 'v_mfma_f32_32x32x8_f16', 76, 2, 16),
  ...renamed('v_mfma_f32_16x16x16f16', 'v_mfma_f32_16x16x16_f16', 77, 2, 4),
  ...renamed('v_mfma_i32_32x32x4i8', 'v_mfma_i32_32x32x4_2b_i8', 80, 1, 32),
  ...renamed('v_mfma_i32_16x16x4i8', 'v_mfma_i32_16x16x4_4b_i8', 81, 1, 16),
  ...renamed('v_mfma_i32_4x4x4i8', 'v_mfma_i32_4x4x4_16b_i8', 82, 1, 4),
  removed('v_mfma_i32_32x32x8i8', 84, 1, 16),
  removed('v_mfma_i32_16x16x16i8', 85, 1, 4),
  added('v_mfma_i32_32x32x16_i8', 86, 2, 16),
  added('v_mfma_i32_16x16x32_i8', 87, 2, 4),
  added('v_mfma_f32_32x32x4_2b_bf16', 93, 2, 32),
  added('v_mfma_f32_16x16x4_4b_bf16', 94, 2, 16),
  added('v_mfma_f32_4x4x4_16b_bf16', 95, 2, 4),
  added('v_mfma_f32_32x32x8_bf16', 96, 2, 16),
  added('v_mfma_f32_16x16x16_bf16', 97, 2, 4),
  removed('v_mfma_f32_32x32x4bf16_1k', 99, 2, 32),
  removed('v_mfma_f32_16x16x4bf16_1k', 100, 2, 16),
  removed('v_mfma_f32_4x4x4bf16_1k', 101, 2, 4),
  removed('v_mfma_f32_32x32x8bf16_1k', 102, 2, 16),
  removed('v_mfma_f32_16x16x16bf16_1k', 103, 2, 4),
  removed('v_mfma_f32_32x32x2bf16', 104, 1, 32),
  removed('v_mfma_f32_16x16x2bf16', 105, 1, 16),
  removed('v_mfma_f32_4x4x2bf16', 107, 1, 4),
  removed('v_mfma_f32_32x32x4bf16', 108, 1, 16),
  removed('v_mfma_f32_16x16x8bf16', 109, 1, 4),
  ...renamed('v_mfma_f64_16x16x4f64', 'v_mfma_f64_16x16x4_f64', 110, 2, 8),
  ...renamed('v_mfma_f64_4x4x4f64', 'v_mfma_f64_4x4x4_4b_f64', 111, 2, 2),
  ...SMALL_FLOAT_PAIRS.map((pair, i) => added(`v_mfma_f32_16x16x32_${pair}`, 112 + i, 2, 4)),
  ...SMALL_FLOAT_PAIRS.map((pair, i) => added(`v_mfma_f32_32x32x16_${pair}`, 116 + i, 2, 16)),
  sparse('f32_16x16x32_f16', 98, 4),
  sparse('f32_32x32x16_f16', 100, 16),
  sparse('f32_16x16x32_bf16', 102, 4),
  sparse('f32_32x32x16_bf16', 104, 16),
  sparse('i32_16x16x64_i8', 106, 4),
  sparse('i32_32x32x32_i8', 108, 16),
  ...SMALL_FLOAT_PAIRS.map((pair, i) => sparse(`f32_16x16x64_${pair}`, 120 + i, 4)),
  ...SMALL_FLOAT_PAIRS.map((pair, i) => sparse(`f32_32x32x32_${pair}`, 124 + i, 16)),
];
