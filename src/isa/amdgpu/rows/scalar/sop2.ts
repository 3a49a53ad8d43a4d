/**
 * SOP2: two scalar sources, one destination. CDNA2 ISA 12.1, "SOP2 Instructions"; SCC of the maxima is that of the CDNA3
 * pseudocode (>=), where the prose of CDNA2 has >: the two differ for equal sources only.
 */
import type { Value } from '../../../../ir/types.ts';
import { bitField } from '../../semantics/bit-operations.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { addSigned, sccCarry, sccNonZero, subSigned } from '../../semantics/scc.ts';
import { variant } from '../opcode-variants.ts';
import { type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';

type Binary = (b: InstructionBuilder, x: Value, y: Value) => Value;

/** Destination and both sources of one type. */
function sop2(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcodes, `=sdst:${type} ssrc0:${type} ssrc1:${type}`, semantics);
}

/** The second source is a shift amount or a field position. */
function shift(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcodes, `=sdst:${type} ssrc0:${type} ssrc1:u32`, semantics);
}

/** The forms for 32 bits and for 64 bits, one opcode further on. */
function bitwise(name: string, opcodes: Opcodes, operation: Binary): Row[] {
  const semantics: Semantics = (b, x, y) => sccNonZero(b, operation(b, x!, y!));
  return (['b32', 'b64'] as const).map((type, i) =>
    sop2(
      `${name}_${type}`,
      variant(opcodes, i, (stem) => `${stem}_${type}`),
      type,
      semantics,
    ),
  );
}

const control = (name: string, opcodes: Opcodes, operandText: string, flags: RowFlags): Row =>
  row('SOP2', name, opcodes, operandText, undefined, flags);

/** Second source of a bit field extract: [4:0] or [5:0] offset, taken modulo the width by the shift; [22:16] width. */
const extract =
  (direction: 'shrU' | 'shrS'): Semantics =>
  (b, x, position) =>
    sccNonZero(b, bitField(b, x, position, b.bits(position, 16, 7), direction));

const fieldMask =
  (type: 'i32' | 'i64'): Semantics =>
  (b, width, offset) => {
    const one = type === 'i64' ? b.i64(1n) : b.i32(1);
    return b.shl(b.sub(b.shl(one, width), one), offset);
  };

const shiftAdd =
  (amount: number): Semantics =>
  (b, x, y) =>
    sccCarry(b, b.add(b.shl(b.zext64(x), amount), b.zext64(y)));

const HIGH_HALF = 0xffff0000;

export const SOP2_ROWS: readonly Row[] = [
  sop2('s_add_u32', { gfx9: 0, gfx10: 0, gfx12: ['s_add_co_u32', 0] }, 'u32', (b, x, y) =>
    sccCarry(b, b.add(b.zext64(x), b.zext64(y))),
  ),
  sop2('s_sub_u32', { gfx9: 1, gfx10: 1, gfx12: ['s_sub_co_u32', 1] }, 'u32', (b, x, y) =>
    sccCarry(b, b.sub(b.zext64(x), b.zext64(y))),
  ),
  sop2('s_add_i32', { gfx9: 2, gfx10: 2, gfx12: ['s_add_co_i32', 2] }, 'i32', addSigned),
  sop2('s_sub_i32', { gfx9: 3, gfx10: 3, gfx12: ['s_sub_co_i32', 3] }, 'i32', subSigned),
  sop2('s_addc_u32', { gfx9: 4, gfx10: 4, gfx12: ['s_add_co_ci_u32', 4] }, 'u32', (b, x, y) =>
    sccCarry(b, b.add(b.add(b.zext64(x), b.zext64(y)), b.zext64(b.boolToI32(b.scc)))),
  ),
  sop2('s_subb_u32', { gfx9: 5, gfx10: 5, gfx12: ['s_sub_co_ci_u32', 5] }, 'u32', (b, x, y) =>
    sccCarry(b, b.sub(b.sub(b.zext64(x), b.zext64(y)), b.zext64(b.boolToI32(b.scc)))),
  ),
  sop2('s_min_i32', { gfx9: 6, gfx10: 6, gfx11: 18 }, 'i32', (b, x, y) => {
    b.setScc(b.ltS(x, y));
    return b.minS(x, y);
  }),
  sop2('s_min_u32', { gfx9: 7, gfx10: 7, gfx11: 19 }, 'u32', (b, x, y) => {
    b.setScc(b.ltU(x, y));
    return b.minU(x, y);
  }),
  sop2('s_max_i32', { gfx9: 8, gfx10: 8, gfx11: 20 }, 'i32', (b, x, y) => {
    b.setScc(b.not(b.ltS(x, y)));
    return b.maxS(x, y);
  }),
  sop2('s_max_u32', { gfx9: 9, gfx10: 9, gfx11: 21 }, 'u32', (b, x, y) => {
    b.setScc(b.not(b.ltU(x, y)));
    return b.maxU(x, y);
  }),
  sop2('s_cselect_b32', { gfx9: 10, gfx10: 10, gfx11: 48 }, 'b32', (b, x, y) => b.select(b.scc, x, y)),
  sop2('s_cselect_b64', { gfx9: 11, gfx10: 11, gfx11: 49 }, 'b64', (b, x, y) => b.select(b.scc, x, y)),
  ...bitwise('s_and', { gfx9: 12, gfx10: 14, gfx11: 22 }, (b, x, y) => b.and(x, y)),
  ...bitwise('s_or', { gfx9: 14, gfx10: 16, gfx11: 24 }, (b, x, y) => b.or(x, y)),
  ...bitwise('s_xor', { gfx9: 16, gfx10: 18, gfx11: 26 }, (b, x, y) => b.xor(x, y)),
  ...bitwise('s_andn2', { gfx9: 18, gfx10: 20, gfx11: ['s_and_not1', 34] }, (b, x, y) => b.and(x, b.not(y))),
  ...bitwise('s_orn2', { gfx9: 20, gfx10: 22, gfx11: ['s_or_not1', 36] }, (b, x, y) => b.or(x, b.not(y))),
  ...bitwise('s_nand', { gfx9: 22, gfx10: 24, gfx11: 28 }, (b, x, y) => b.not(b.and(x, y))),
  ...bitwise('s_nor', { gfx9: 24, gfx10: 26, gfx11: 30 }, (b, x, y) => b.not(b.or(x, y))),
  ...bitwise('s_xnor', { gfx9: 26, gfx10: 28, gfx11: 32 }, (b, x, y) => b.not(b.xor(x, y))),
  shift('s_lshl_b32', { gfx9: 28, gfx10: 30, gfx11: 8 }, 'b32', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshl_b64', { gfx9: 29, gfx10: 31, gfx11: 9 }, 'b64', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshr_b32', { gfx9: 30, gfx10: 32, gfx11: 10 }, 'b32', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_lshr_b64', { gfx9: 31, gfx10: 33, gfx11: 11 }, 'b64', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_ashr_i32', { gfx9: 32, gfx10: 34, gfx11: 12 }, 'i32', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  shift('s_ashr_i64', { gfx9: 33, gfx10: 35, gfx11: 13 }, 'i64', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  sop2('s_bfm_b32', { gfx9: 34, gfx10: 36, gfx11: 42 }, 'b32', fieldMask('i32')),
  row('SOP2', 's_bfm_b64', { gfx9: 35, gfx10: 37, gfx11: 43 }, '=sdst:b64 ssrc0:b32 ssrc1:b32', fieldMask('i64')),
  sop2('s_mul_i32', { gfx9: 36, gfx10: 38, gfx11: 44 }, 'i32', (b, x, y) => b.mul(x, y)),
  shift('s_bfe_u32', { gfx9: 37, gfx10: 39, gfx11: 38 }, 'u32', extract('shrU')),
  shift('s_bfe_i32', { gfx9: 38, gfx10: 40, gfx11: 39 }, 'i32', extract('shrS')),
  shift('s_bfe_u64', { gfx9: 39, gfx10: 41, gfx11: 40 }, 'u64', extract('shrU')),
  shift('s_bfe_i64', { gfx9: 40, gfx10: 42, gfx11: 41 }, 'i64', extract('shrS')),
  control('s_cbranch_g_fork', 41, 'ssrc0:b64 ssrc1:b64', { terminator: 'jump', writesExec: true }),
  sop2('s_absdiff_i32', { gfx9: 42, gfx10: 44, gfx11: 6 }, 'i32', (b, x, y) => {
    const difference = b.sub(x, y);
    return sccNonZero(b, b.select(b.ltS(difference, b.i32(0)), b.neg(difference), difference));
  }),
  control('s_rfe_restore_b64', 43, 'ssrc0:b64 ssrc1:b32', { terminator: 'jump' }),
  sop2('s_mul_hi_u32', { gfx9: 44, gfx10: 53, gfx11: 45 }, 'u32', (b, x, y) => b.op('i32.mulHiU', x, y)),
  sop2('s_mul_hi_i32', { gfx9: 45, gfx10: 54, gfx11: 46 }, 'i32', (b, x, y) => b.op('i32.mulHiS', x, y)),
  sop2('s_lshl1_add_u32', { gfx9: 46, gfx10: 46, gfx11: 14 }, 'u32', shiftAdd(1)),
  sop2('s_lshl2_add_u32', { gfx9: 47, gfx10: 47, gfx11: 15 }, 'u32', shiftAdd(2)),
  sop2('s_lshl3_add_u32', { gfx9: 48, gfx10: 48, gfx11: 16 }, 'u32', shiftAdd(3)),
  sop2('s_lshl4_add_u32', { gfx9: 49, gfx10: 49, gfx11: 17 }, 'u32', shiftAdd(4)),
  sop2('s_pack_ll_b32_b16', { gfx9: 50, gfx10: 50 }, 'b32', (b, x, y) => b.or(b.bits(x, 0, 16), b.shl(y, 16))),
  sop2('s_pack_lh_b32_b16', { gfx9: 51, gfx10: 51 }, 'b32', (b, x, y) =>
    b.or(b.bits(x, 0, 16), b.and(y, b.i32(HIGH_HALF))),
  ),
  sop2('s_pack_hl_b32_b16', { gfx11: 53 }, 'b32', (b, x, y) => b.or(b.shrU(x, 16), b.shl(y, 16))),
  sop2('s_add_nc_u64', { gfx12: 83 }, 'u64', (b, x, y) => b.add(x, y)),
  sop2('s_sub_nc_u64', { gfx12: 84 }, 'u64', (b, x, y) => b.sub(x, y)),
  sop2('s_mul_u64', { gfx12: 85 }, 'u64', (b, x, y) => b.mul(x, y)),
  sop2('s_pack_hh_b32_b16', { gfx9: 52, gfx10: 52 }, 'b32', (b, x, y) =>
    b.or(b.shrU(x, 16), b.and(y, b.i32(HIGH_HALF))),
  ),
];
