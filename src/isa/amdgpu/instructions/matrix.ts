/** VOP3P-MAI: matrix multiply-add, known by name. CDNA2 ISA 12.10, opcodes 64 to 111, and 13.3.6.1. */
import { type OperandType, type Row, row } from '../row.ts';

/** Operand of `dwords` registers. */
const typeOf = (dwords: number): OperandType => `b${dwords * 32}` as OperandType;

/** A and B take `inputs` registers each, C and D `accumulators`. */
function matrix(name: string, opcode: number, inputs: 1 | 2, accumulators: 2 | 4 | 8 | 16 | 32): Row {
  const [input, accumulator] = [typeOf(inputs), typeOf(accumulators)];
  return row(
    'VOP3P_MAI',
    name,
    { gfx90a: opcode },
    `=vdst:${accumulator} src0:${input} src1:${input} src2:${accumulator}`,
  );
}

export const MATRIX_ROWS: readonly Row[] = [
  matrix('v_mfma_f32_32x32x1f32', 64, 1, 32),
  matrix('v_mfma_f32_16x16x1f32', 65, 1, 16),
  matrix('v_mfma_f32_4x4x1f32', 66, 1, 4),
  matrix('v_mfma_f32_32x32x2f32', 68, 1, 16),
  matrix('v_mfma_f32_16x16x4f32', 69, 1, 4),
  matrix('v_mfma_f32_32x32x4f16', 72, 2, 32),
  matrix('v_mfma_f32_16x16x4f16', 73, 2, 16),
  matrix('v_mfma_f32_4x4x4f16', 74, 2, 4),
  matrix('v_mfma_f32_32x32x8f16', 76, 2, 16),
  matrix('v_mfma_f32_16x16x16f16', 77, 2, 4),
  matrix('v_mfma_i32_32x32x4i8', 80, 1, 32),
  matrix('v_mfma_i32_16x16x4i8', 81, 1, 16),
  matrix('v_mfma_i32_4x4x4i8', 82, 1, 4),
  matrix('v_mfma_i32_32x32x8i8', 84, 1, 16),
  matrix('v_mfma_i32_16x16x16i8', 85, 1, 4),
  matrix('v_mfma_f32_32x32x4bf16_1k', 99, 2, 32),
  matrix('v_mfma_f32_16x16x4bf16_1k', 100, 2, 16),
  matrix('v_mfma_f32_4x4x4bf16_1k', 101, 2, 4),
  matrix('v_mfma_f32_32x32x8bf16_1k', 102, 2, 16),
  matrix('v_mfma_f32_16x16x16bf16_1k', 103, 2, 4),
  matrix('v_mfma_f32_32x32x2bf16', 104, 1, 32),
  matrix('v_mfma_f32_16x16x2bf16', 105, 1, 16),
  matrix('v_mfma_f32_4x4x2bf16', 107, 1, 4),
  matrix('v_mfma_f32_32x32x4bf16', 108, 1, 16),
  matrix('v_mfma_f32_16x16x8bf16', 109, 1, 4),
  matrix('v_mfma_f64_16x16x4f64', 110, 2, 8),
  matrix('v_mfma_f64_4x4x4f64', 111, 2, 2),
];
