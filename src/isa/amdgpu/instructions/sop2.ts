/**
 * SOP2: two scalar sources, one destination. CDNA2 ISA 12.1, "SOP2 Instructions"; SCC of the maxima is that of the CDNA3
 * pseudocode (>=), where the prose of CDNA2 has >: the two differ for equal sources only.
 */
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { bitField } from './bit-operations.ts';
import { addSigned, sccCarry, sccNonZero, subSigned } from './scc.ts';

type Binary = (b: InstructionBuilder, x: Value, y: Value) => Value;

/** Destination and both sources of one type. */
function sop2(name: string, opcode: number, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcode, `=sdst:${type} ssrc0:${type} ssrc1:${type}`, semantics);
}

/** The second source is a shift amount or a field position. */
function shift(name: string, opcode: number, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcode, `=sdst:${type} ssrc0:${type} ssrc1:u32`, semantics);
}

/** The forms for 32 bits (`opcode`) and 64 bits (`opcode + 1`). */
function bitwise(name: string, opcode: number, operation: Binary): Row[] {
  const semantics: Semantics = (b, x, y) => sccNonZero(b, operation(b, x, y));
  return [sop2(`${name}_b32`, opcode, 'b32', semantics), sop2(`${name}_b64`, opcode + 1, 'b64', semantics)];
}

const control = (name: string, opcode: number, operandText: string, flags: RowFlags): Row =>
  row('SOP2', name, opcode, operandText, undefined, flags);

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
  sop2('s_add_u32', 0, 'u32', (b, x, y) => sccCarry(b, b.add(b.zext64(x), b.zext64(y)))),
  sop2('s_sub_u32', 1, 'u32', (b, x, y) => sccCarry(b, b.sub(b.zext64(x), b.zext64(y)))),
  sop2('s_add_i32', 2, 'i32', addSigned),
  sop2('s_sub_i32', 3, 'i32', subSigned),
  sop2('s_addc_u32', 4, 'u32', (b, x, y) =>
    sccCarry(b, b.add(b.add(b.zext64(x), b.zext64(y)), b.zext64(b.boolToI32(b.scc)))),
  ),
  sop2('s_subb_u32', 5, 'u32', (b, x, y) =>
    sccCarry(b, b.sub(b.sub(b.zext64(x), b.zext64(y)), b.zext64(b.boolToI32(b.scc)))),
  ),
  sop2('s_min_i32', 6, 'i32', (b, x, y) => {
    b.setScc(b.ltS(x, y));
    return b.minS(x, y);
  }),
  sop2('s_min_u32', 7, 'u32', (b, x, y) => {
    b.setScc(b.ltU(x, y));
    return b.minU(x, y);
  }),
  sop2('s_max_i32', 8, 'i32', (b, x, y) => {
    b.setScc(b.not(b.ltS(x, y)));
    return b.maxS(x, y);
  }),
  sop2('s_max_u32', 9, 'u32', (b, x, y) => {
    b.setScc(b.not(b.ltU(x, y)));
    return b.maxU(x, y);
  }),
  sop2('s_cselect_b32', 10, 'b32', (b, x, y) => b.select(b.scc, x, y)),
  sop2('s_cselect_b64', 11, 'b64', (b, x, y) => b.select(b.scc, x, y)),
  ...bitwise('s_and', 12, (b, x, y) => b.and(x, y)),
  ...bitwise('s_or', 14, (b, x, y) => b.or(x, y)),
  ...bitwise('s_xor', 16, (b, x, y) => b.xor(x, y)),
  ...bitwise('s_andn2', 18, (b, x, y) => b.and(x, b.not(y))),
  ...bitwise('s_orn2', 20, (b, x, y) => b.or(x, b.not(y))),
  ...bitwise('s_nand', 22, (b, x, y) => b.not(b.and(x, y))),
  ...bitwise('s_nor', 24, (b, x, y) => b.not(b.or(x, y))),
  ...bitwise('s_xnor', 26, (b, x, y) => b.not(b.xor(x, y))),
  shift('s_lshl_b32', 28, 'b32', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshl_b64', 29, 'b64', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshr_b32', 30, 'b32', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_lshr_b64', 31, 'b64', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_ashr_i32', 32, 'i32', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  shift('s_ashr_i64', 33, 'i64', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  sop2('s_bfm_b32', 34, 'b32', fieldMask('i32')),
  row('SOP2', 's_bfm_b64', 35, '=sdst:b64 ssrc0:b32 ssrc1:b32', fieldMask('i64')),
  sop2('s_mul_i32', 36, 'i32', (b, x, y) => b.mul(x, y)),
  shift('s_bfe_u32', 37, 'u32', extract('shrU')),
  shift('s_bfe_i32', 38, 'i32', extract('shrS')),
  shift('s_bfe_u64', 39, 'u64', extract('shrU')),
  shift('s_bfe_i64', 40, 'i64', extract('shrS')),
  control('s_cbranch_g_fork', 41, 'ssrc0:b64 ssrc1:b64', { terminator: 'jump', writesExec: true }),
  sop2('s_absdiff_i32', 42, 'i32', (b, x, y) => {
    const difference = b.sub(x, y);
    return sccNonZero(b, b.select(b.ltS(difference, b.i32(0)), b.neg(difference), difference));
  }),
  control('s_rfe_restore_b64', 43, 'ssrc0:b64 ssrc1:b32', { terminator: 'jump' }),
  sop2('s_mul_hi_u32', 44, 'u32', (b, x, y) => b.op('i32.mulHiU', x, y)),
  sop2('s_mul_hi_i32', 45, 'i32', (b, x, y) => b.op('i32.mulHiS', x, y)),
  sop2('s_lshl1_add_u32', 46, 'u32', shiftAdd(1)),
  sop2('s_lshl2_add_u32', 47, 'u32', shiftAdd(2)),
  sop2('s_lshl3_add_u32', 48, 'u32', shiftAdd(3)),
  sop2('s_lshl4_add_u32', 49, 'u32', shiftAdd(4)),
  sop2('s_pack_ll_b32_b16', 50, 'b32', (b, x, y) => b.or(b.bits(x, 0, 16), b.shl(y, 16))),
  sop2('s_pack_lh_b32_b16', 51, 'b32', (b, x, y) => b.or(b.bits(x, 0, 16), b.and(y, b.i32(HIGH_HALF)))),
  sop2('s_pack_hh_b32_b16', 52, 'b32', (b, x, y) => b.or(b.shrU(x, 16), b.and(y, b.i32(HIGH_HALF)))),
];
