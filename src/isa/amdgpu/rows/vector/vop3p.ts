/**
 * VOP3P: packed mathematics, mixed precision, dot products, moves of accumulator registers. CDNA2 ISA 12.10.
 */
import type { Builder } from '../../../../ir/builder.ts';
import type { FloatBuilder } from '../../../../ir/float-builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { Row, RowFlags } from '../../encoding/row.ts';
import { maximum, minimum, unfusedMultiplyAdd } from '../../semantics/float-rules.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import {
  type Pair,
  packedBf16,
  packedBits,
  packedDwords,
  packedF16,
  packedF32,
} from '../../semantics/packed-operands.ts';
import { packHalves } from '../../semantics/packing.ts';
import {
  add,
  asNarrow,
  multiply,
  multiplyAdd,
  type NarrowInteger,
  saturating,
  subtract,
} from '../../semantics/saturation.ts';
import { matrixRows } from '../matrix/matrix.ts';
import { waveMultiplyF32, waveMultiplyHalf, waveMultiplyIntegers } from '../matrix/wmma.ts';
import { type Opcodes, row } from '../table/row.ts';
import { dotBf16, dotF16, dotIntegers, dotMixedSigns } from './dot-products.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const DPP: RowFlags = { vop3pDpp: true };
const DOT_DPP: RowFlags = { dot: true, vop3pDpp: true };
const MIXED_SIGNS = '=vdst:i32 src0:b32 src1:b32 src2:i32';
const FIELDS = ['src0', 'src1', 'src2'];

// biome-ignore lint/complexity/useMaxParams: the columns of the tables, in their order
function packed(
  name: string,
  opcodes: Opcodes,
  type: string,
  sourceCount: number,
  semantics: Semantics,
  flags = CLAMPS,
): Row {
  const sources = FIELDS.slice(0, sourceCount).map((field) => `${field}:${type}`);
  return row('VOP3P', name, opcodes, `=vdst:${type} ${sources.join(' ')}`, semantics, flags);
}

/**
 * The clamp bit is for integers, and only 16-bit results stand in halves. Sums of integers are exact in any
 * order.
 */
const INTEGER_MATRIX: RowFlags = { opSelText: 'none' };
const F32_MATRIX: RowFlags = { clampBit: 'never', opSelText: 'none' };
const HALF_MATRIX: RowFlags = { clampBit: 'never' };
const SPARSE_WMMA: RowFlags = { opSelText: 'indexKey' };
const WMMA: RowFlags = {
  integerClamp: true,
  approximate: 'products are added in ascending order of k, one rounding each; AMD does not publish the order',
};
const INTEGER_WMMA: RowFlags = { ...CLAMPS, ...INTEGER_MATRIX, wideConstants: 'literals' };
const F32_WMMA: RowFlags = { ...WMMA, ...F32_MATRIX, wideConstants: 'literals' };
const HALF_WMMA: RowFlags = { ...WMMA, ...HALF_MATRIX, wideConstants: 'all' };

/** The same computation for the low and the high elements. */
function elementwise(
  b: InstructionBuilder,
  read: (b: InstructionBuilder, field: string, source: Value) => Pair,
  sources: readonly Value[],
  compute: (...elements: Value[]) => Value,
): Pair {
  const pairs = sources.map((source, i) => read(b, FIELDS[i]!, source));
  return [compute(...pairs.map(([low]) => low)), compute(...pairs.map(([, high]) => high))];
}

type Compute<B> = (b: B, ...elements: Value[]) => Value;

/** Integers of 16 bits; the clamp bit saturates each. */
function packedI16(
  name: string,
  opcodes: Opcodes,
  type: NarrowInteger,
  sourceCount: number,
  compute: Compute<Builder>,
): Row {
  const one = saturating(type, compute);
  return packed(name, opcodes, 'v2b16', sourceCount, (b, ...sources) => {
    const [low, high] = elementwise(b, packedBits, sources, (...elements) => one(b, ...elements) as Value);
    return packHalves(b, low, high);
  });
}

const clamped = (b: InstructionBuilder, f: FloatBuilder, x: Value): Value => (b.field('clamp') ? f.clamp(x) : x);

function packedHalfFloats(name: string, opcodes: Opcodes, sourceCount: number, compute: Compute<FloatBuilder>): Row {
  return packed(name, opcodes, 'v2f16', sourceCount, (b, ...sources) => {
    const result = elementwise(b, packedF16, sources, (...elements) => clamped(b, b.f16, compute(b.f16, ...elements)));
    return packHalves(b, ...result);
  });
}

function packedUnlessNan(name: string, opcode: number, order: typeof minimum): Row {
  return packed(name, { gfx12: opcode }, 'v2f16', 2, (b, ...sources) => {
    const result = elementwise(b, packedF16, sources, (x, y) => clamped(b, b.f16, order(b, b.f16, x!, y!)));
    return packHalves(b, ...result);
  });
}

function packedFloats(name: string, opcode: number, sourceCount: number, compute: Compute<FloatBuilder>): Row {
  return packed(name, { gfx90a: opcode }, 'v2f32', sourceCount, (b, ...sources) =>
    b.pack(...elementwise(b, packedF32, sources, (...elements) => clamped(b, b.f32, compute(b.f32, ...elements)))),
  );
}

/**
 * The halves read as the type; the clamp bit has nothing to saturate (orders) or no known meaning (shifts: it
 * is refused).
 */
function packedInRange(
  name: string,
  opcodes: Opcodes,
  type: 'u16' | 'i16',
  compute: Compute<Builder>,
  flags: RowFlags,
): Row {
  const semantics: Semantics = (b, ...sources) => {
    const half = (...elements: Value[]): Value => compute(b, ...elements.map((x) => asNarrow(b, type, x)));
    return packHalves(b, ...elementwise(b, packedBits, sources, half));
  };
  return packed(name, opcodes, 'v2b16', 2, semantics, flags);
}

const packedOrder = (
  name: string,
  opcode: number,
  type: 'u16' | 'i16',
  order: 'minU' | 'maxU' | 'minS' | 'maxS',
): Row =>
  packedInRange(`v_pk_${name}_${type}`, { gfx9: opcode, gfx10: opcode }, type, (b, x, y) => b[order](x, y), CLAMPS);

/** The amount comes first and counts modulo 16. */
const packedShift = (name: string, opcodes: Opcodes, type: 'u16' | 'i16', shift: 'shl' | 'shrU' | 'shrS'): Row =>
  packedInRange(name, opcodes, type, (b, amount, x) => b[shift](x, b.and(amount, b.i32(15))), {});

/**
 * Source of a mixed-precision fused multiply-add as f32: op_sel_hi says that it is a half, op_sel which one;
 * neg_hi takes the absolute value before neg.
 */
function mixedSource(b: InstructionBuilder, source: number): Value {
  const dword = b.sourceDword(b.index(FIELDS[source]!), 0);
  const isHalf = ((b.field('op_sel_hi') | (b.field('op_sel_hi_2') << 2)) >> source) & 1;
  const half = b.bits(dword, (b.field('op_sel') >> source) & 1 ? 16 : 0, 16);
  const value = isHalf ? b.f16.toF32(b.f16.input(half)) : dword;
  const magnitude = (b.field('neg_hi') >> source) & 1 ? b.f32.abs(value) : value;
  return (b.field('neg') >> source) & 1 ? b.f32.neg(magnitude) : magnitude;
}

type Sum = (b: InstructionBuilder, x: Value, y: Value, z: Value) => Value;
const fused: Sum = (b, x, y, z) => b.f32.fma(x, y, z);
const unfused: Sum = (b, x, y, z) => unfusedMultiplyAdd(b, 'f32', x, y, z);

function mixed(name: string, opcodes: Opcodes, result: 'f32' | 'f16', flags: RowFlags, compute = fused): Row {
  return row(
    'VOP3P',
    name,
    opcodes,
    `=vdst:${result} src0:f32 src1:f32 src2:f32`,
    (b) => {
      const [x, y, z] = [0, 1, 2].map((source) => mixedSource(b, source)) as [Value, Value, Value];
      const sum = compute(b, x, y, z);
      return result === 'f32' ? sum : b.f16.result(b.f16.fromF32(sum));
    },
    { ...flags, mixed: true },
  );
}

function dot(name: string, opcodes: Opcodes, width: 4 | 8 | 16, type: 'i32' | 'u32'): Row {
  const source = width === 16 ? 'v2b16' : 'b32';
  const operandText = `=vdst:${type} src0:${source} src1:${source} src2:${type}`;
  return row('VOP3P', name, opcodes, operandText, dotIntegers(width, 'source', type), { ...CLAMPS, dot: true });
}

const dot2F16: Semantics = (b, x, y, z) => dotF16(b, packedF16(b, 'src0', x!), packedF16(b, 'src1', y!), z!);
const dot2Bf16: Semantics = (b, x, y, z) => dotBf16(b, packedBf16(b, 'src0', x!), packedBf16(b, 'src1', y!), z!);

/**
 * The low dword comes from src0, the high one from src1; op_sel chooses in both. op_sel_hi has no meaning
 * (CDNA3 ISA, V_PK_MOV_B32).
 */
const moveDwords: Semantics = (b, x, y) => b.pack(packedDwords(b, 'src0', x!)[0], packedDwords(b, 'src1', y!)[0]);

/** `+`: 16-bit results leave the other half of a register as it was. */
// biome-ignore format: one row per line, as the tables of the manual
const wmmaRows = (): readonly Row[] => [
  row('VOP3P', 'v_wmma_f32_16x16x16_f16', { gfx11: 0x40, gfx12: -1 }, '=vdst:wave256 src0:b256 src1:b256 src2:wave256', waveMultiplyF32('f16'), F32_WMMA),
  row('VOP3P', 'v_wmma_f32_16x16x16_bf16', { gfx11: 0x41, gfx12: -1 }, '=vdst:wave256 src0:b256 src1:b256 src2:wave256', waveMultiplyF32('bf16'), F32_WMMA),
  row('VOP3P', 'v_wmma_f16_16x16x16_f16', { gfx11: 0x42, gfx12: -1 }, '+vdst:wave256 src0:b256 src1:b256 src2:wave256f16', waveMultiplyHalf('f16'), HALF_WMMA),
  row('VOP3P', 'v_wmma_bf16_16x16x16_bf16', { gfx11: 0x43, gfx12: -1 }, '+vdst:wave256 src0:b256 src1:b256 src2:wave256', waveMultiplyHalf('bf16'), HALF_WMMA),
  row('VOP3P', 'v_wmma_i32_16x16x16_iu8', { gfx11: 0x44, gfx12: -1 }, '=vdst:wave256 src0:b128 src1:b128 src2:wave256', waveMultiplyIntegers(8), INTEGER_WMMA),
  row('VOP3P', 'v_wmma_i32_16x16x16_iu4', { gfx11: 0x45, gfx12: -1 }, '=vdst:wave256 src0:b64 src1:b64 src2:wave256', waveMultiplyIntegers(4), INTEGER_WMMA),
];

/** gfx12: no element stands twice. Known by name: the layout is another. RDNA4 ISA 7.12. */
// biome-ignore format: one row per line, as the tables of the manual
const wmmaGfx12Rows = (): readonly Row[] => [
  row('VOP3P', 'v_wmma_f32_16x16x16_f16', { gfx12: 0x40 }, '=vdst:wave256 src0:wave128 src1:wave128 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_f32_16x16x16_bf16', { gfx12: 0x41 }, '=vdst:wave256 src0:wave128 src1:wave128 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_f16_16x16x16_f16', { gfx12: 0x42 }, '=vdst:wave128f16 src0:wave128 src1:wave128 src2:wave128f16', undefined, HALF_MATRIX),
  row('VOP3P', 'v_wmma_bf16_16x16x16_bf16', { gfx12: 0x43 }, '=vdst:wave128 src0:wave128 src1:wave128 src2:wave128', undefined, HALF_MATRIX),
  row('VOP3P', 'v_wmma_i32_16x16x16_iu8', { gfx12: 0x44 }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, INTEGER_MATRIX),
  row('VOP3P', 'v_wmma_i32_16x16x16_iu4', { gfx12: 0x45 }, '=vdst:wave256 src0:wave32 src1:wave32 src2:wave256', undefined, INTEGER_MATRIX),
  row('VOP3P', 'v_wmma_f32_16x16x16_fp8_fp8', { gfx12: 0x46 }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_f32_16x16x16_fp8_bf8', { gfx12: 0x47 }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_f32_16x16x16_bf8_fp8', { gfx12: 0x48 }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_f32_16x16x16_bf8_bf8', { gfx12: 0x49 }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, F32_MATRIX),
  row('VOP3P', 'v_wmma_i32_16x16x32_iu4', { gfx12: 0x4a }, '=vdst:wave256 src0:wave64 src1:wave64 src2:wave256', undefined, INTEGER_MATRIX),
  row('VOP3P', 'v_swmmac_f32_16x16x32_f16', { gfx12: 0x50 }, '+vdst:wave256 src0:wave128 src1:wave256 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f32_16x16x32_bf16', { gfx12: 0x51 }, '+vdst:wave256 src0:wave128 src1:wave256 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f16_16x16x32_f16', { gfx12: 0x52 }, '+vdst:wave128 src0:wave128 src1:wave256 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_bf16_16x16x32_bf16', { gfx12: 0x53 }, '+vdst:wave128 src0:wave128 src1:wave256 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_i32_16x16x32_iu8', { gfx12: 0x54 }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_i32_16x16x32_iu4', { gfx12: 0x55 }, '+vdst:wave256 src0:wave32 src1:wave64 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_i32_16x16x64_iu4', { gfx12: 0x56 }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f32_16x16x32_fp8_fp8', { gfx12: 0x57 }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f32_16x16x32_fp8_bf8', { gfx12: 0x58 }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f32_16x16x32_bf8_fp8', { gfx12: 0x59 }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
  row('VOP3P', 'v_swmmac_f32_16x16x32_bf8_bf8', { gfx12: 0x5a }, '+vdst:wave256 src0:wave64 src1:wave128 src2:b32', undefined, SPARSE_WMMA),
];

/** gfx10.1 has dot products in some of its processors. */
const dots = (opcode: number) => ({ gfx10: opcode, gfx101: -1, gfx1011: opcode });

// biome-ignore format: one row per line, as the tables of the manual
export const vop3pRows = (): readonly Row[] => [
  packedI16('v_pk_mad_i16', { gfx9: 0x00, gfx10: 0x00 }, 'i16', 3, multiplyAdd),
  packedI16('v_pk_mul_lo_u16', { gfx9: 0x01, gfx10: 0x01 }, 'u16', 2, multiply),
  packedI16('v_pk_add_i16', { gfx9: 0x02, gfx10: 0x02 }, 'i16', 2, add),
  packedI16('v_pk_sub_i16', { gfx9: 0x03, gfx10: 0x03 }, 'i16', 2, subtract),
  packedShift('v_pk_lshlrev_b16', { gfx9: 0x04, gfx10: 0x04 }, 'u16', 'shl'),
  packedShift('v_pk_lshrrev_b16', { gfx9: 0x05, gfx10: 0x05 }, 'u16', 'shrU'),
  packedShift('v_pk_ashrrev_i16', { gfx9: 0x06, gfx10: 0x06 }, 'i16', 'shrS'),
  packedOrder('max', 0x07, 'i16', 'maxS'),
  packedOrder('min', 0x08, 'i16', 'minS'),
  packedI16('v_pk_mad_u16', { gfx9: 0x09, gfx10: 0x09 }, 'u16', 3, multiplyAdd),
  packedI16('v_pk_add_u16', { gfx9: 0x0a, gfx10: 0x0a }, 'u16', 2, add),
  packedI16('v_pk_sub_u16', { gfx9: 0x0b, gfx10: 0x0b }, 'u16', 2, subtract),
  packedOrder('max', 0x0c, 'u16', 'maxU'),
  packedOrder('min', 0x0d, 'u16', 'minU'),
  packedHalfFloats('v_pk_fma_f16', { gfx9: 0x0e, gfx10: 0x0e }, 3, (f, x, y, z) => f.fma(x, y, z)),
  packedHalfFloats('v_pk_add_f16', { gfx9: 0x0f, gfx10: 0x0f }, 2, (f, x, y) => f.add(x, y)),
  packedHalfFloats('v_pk_mul_f16', { gfx9: 0x10, gfx10: 0x10 }, 2, (f, x, y) => f.mul(x, y)),
  packedHalfFloats('v_pk_min_f16', { gfx9: 0x11, gfx10: 0x11, gfx12: ['v_pk_min_num_f16', 0x1b] }, 2, (f, x, y) => f.min(x, y)),
  packedHalfFloats('v_pk_max_f16', { gfx9: 0x12, gfx10: 0x12, gfx12: ['v_pk_max_num_f16', 0x1c] }, 2, (f, x, y) => f.max(x, y)),
  mixed('v_mad_mix_f32', { gfx900: 0x20 }, 'f32', {}, unfused),
  mixed('v_mad_mixlo_f16', { gfx900: 0x21 }, 'f16', { keepsHighHalf: true }, unfused),
  mixed('v_mad_mixhi_f16', { gfx900: 0x22 }, 'f16', { writesHighHalf: true }, unfused),
  mixed('v_fma_mix_f32', { gfx904: 0x20, gfx10: 0x20 }, 'f32', DPP),
  mixed('v_fma_mixlo_f16', { gfx904: 0x21, gfx10: 0x21 }, 'f16', { ...DPP, keepsHighHalf: true }),
  mixed('v_fma_mixhi_f16', { gfx904: 0x22, gfx10: 0x22 }, 'f16', { ...DPP, writesHighHalf: true }),
  row('VOP3P', 'v_dot2_f32_f16', { gfx906: 0x23, ...dots(0x13) }, '=vdst:f32 src0:v2f16 src1:v2f16 src2:f32', dot2F16, DOT_DPP),
  row('VOP3P', 'v_dot2_f32_bf16', { gfx11: 0x1a }, '=vdst:f32 src0:v2bf16 src1:v2bf16 src2:f32', dot2Bf16, { dot: true }),
  row('VOP3P', 'v_dot4_i32_iu8', { gfx11: 0x16 }, MIXED_SIGNS, dotMixedSigns(8), { ...CLAMPS, dot: true }),
  row('VOP3P', 'v_dot8_i32_iu4', { gfx11: 0x18 }, MIXED_SIGNS, dotMixedSigns(4), { ...CLAMPS, dot: true }),
  dot('v_dot2_i32_i16', { gfx906: 0x26, ...dots(0x14), gfx11: -1 }, 16, 'i32'),
  dot('v_dot2_u32_u16', { gfx906: 0x27, ...dots(0x15), gfx11: -1 }, 16, 'u32'),
  dot('v_dot4_i32_i8', { gfx906: 0x28, ...dots(0x16), gfx11: -1 }, 8, 'i32'),
  dot('v_dot4_u32_u8', { gfx906: 0x29, ...dots(0x17) }, 8, 'u32'),
  dot('v_dot8_i32_i4', { gfx906: 0x2a, ...dots(0x18), gfx11: -1 }, 4, 'i32'),
  dot('v_dot8_u32_u4', { gfx906: 0x2b, ...dots(0x19) }, 4, 'u32'),
  packedFloats('v_pk_fma_f32', 0x30, 3, (f, x, y, z) => f.fma(x, y, z)),
  packedFloats('v_pk_mul_f32', 0x31, 2, (f, x, y) => f.mul(x, y)),
  packedFloats('v_pk_add_f32', 0x32, 2, (f, x, y) => f.add(x, y)),
  row('VOP3P', 'v_pk_mov_b32', { gfx90a: 0x33 }, '=vdst:v2b32 src0:v2b32 src1:v2b32', moveDwords),
  row('VOP3P', 'v_accvgpr_read_b32', { gfx908: 0x58 }, '=vdst:b32 src0:b32/a', (_, x) => x),
  row('VOP3P', 'v_accvgpr_write_b32', { gfx908: 0x59 }, '=vdst:b32/a src0:b32', (_, x) => x),
  packedUnlessNan('v_pk_minimum_f16', 0x1d, minimum),
  packedUnlessNan('v_pk_maximum_f16', 0x1e, maximum),
  row('VOP3P', 'v_dot4_f32_fp8_bf8', { gfx12: 0x24 }, '=vdst:f32 src0:b32 src1:b32 src2:f32', undefined, DOT_DPP),
  row('VOP3P', 'v_dot4_f32_bf8_fp8', { gfx12: 0x25 }, '=vdst:f32 src0:b32 src1:b32 src2:f32', undefined, DOT_DPP),
  row('VOP3P', 'v_dot4_f32_fp8_fp8', { gfx12: 0x26 }, '=vdst:f32 src0:b32 src1:b32 src2:f32', undefined, DOT_DPP),
  row('VOP3P', 'v_dot4_f32_bf8_bf8', { gfx12: 0x27 }, '=vdst:f32 src0:b32 src1:b32 src2:f32', undefined, DOT_DPP),
  ...matrixRows(),
  ...wmmaRows(),
  ...wmmaGfx12Rows(),
];
