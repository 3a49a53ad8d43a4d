/**
 * SOP2: two scalar sources, one destination. CDNA2 ISA 12.1, "SOP2 Instructions"; SCC of the maxima is that
 * of the CDNA3 pseudocode (>=), where the prose of CDNA2 has >: the two differ for equal sources only.
 */
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { bitField } from '../../semantics/bit-operations.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { addSigned, sccCarry, sccNonZero, subSigned } from '../../semantics/scc.ts';
import { FORK, type Opcodes, row } from '../table/row.ts';

type Binary = (b: InstructionBuilder, x: Value, y: Value) => Value;

/** Destination and both sources of one type. */
function sop2(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcodes, `=sdst:${type} ssrc0:${type} ssrc1:${type}`, semantics);
}

/** The second source is a shift amount or a field position. */
function shift(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics): Row {
  return row('SOP2', name, opcodes, `=sdst:${type} ssrc0:${type} ssrc1:u32`, semantics);
}

/** For 32 and for 64 bits; SCC says whether the result is not zero. */
const bitwise =
  (operation: Binary): Semantics =>
  (b, x, y) =>
    sccNonZero(b, operation(b, x!, y!));

const and = bitwise((b, x, y) => b.and(x, y));
const or = bitwise((b, x, y) => b.or(x, y));
const xor = bitwise((b, x, y) => b.xor(x, y));
const andNot = bitwise((b, x, y) => b.and(x, b.not(y)));
const orNot = bitwise((b, x, y) => b.or(x, b.not(y)));
const nand = bitwise((b, x, y) => b.not(b.and(x, y)));
const nor = bitwise((b, x, y) => b.not(b.or(x, y)));
const xnor = bitwise((b, x, y) => b.not(b.xor(x, y)));

const control = (name: string, opcodes: Opcodes, operandText: string, flags: RowFlags): Row =>
  row('SOP2', name, opcodes, operandText, undefined, flags);

/**
 * Second source of a bit field extract: [4:0] or [5:0] offset, taken modulo the width by the shift; [22:16]
 * width.
 */
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

const addWithCarry: Semantics = (b, x, y) =>
  sccCarry(b, b.add(b.add(b.zext64(x!), b.zext64(y!)), b.zext64(b.boolToI32(b.scc))));
const subtractWithBorrow: Semantics = (b, x, y) =>
  sccCarry(b, b.sub(b.sub(b.zext64(x!), b.zext64(y!)), b.zext64(b.boolToI32(b.scc))));

const absoluteDifference: Semantics = (b, x, y) => {
  const difference = b.sub(x!, y!);
  return sccNonZero(b, b.select(b.ltS(difference, b.i32(0)), b.neg(difference), difference));
};

/** SCC: the first source is the result. */
const minimum =
  (order: 'minS' | 'minU', less: 'ltS' | 'ltU'): Semantics =>
  (b, x, y) => {
    b.setScc(b[less](x!, y!));
    return b[order](x!, y!);
  };
const maximum =
  (order: 'maxS' | 'maxU', less: 'ltS' | 'ltU'): Semantics =>
  (b, x, y) => {
    b.setScc(b.not(b[less](x!, y!)));
    return b[order](x!, y!);
  };

const HIGH_HALF = 0xffff0000;

// biome-ignore format: one row per line, as the tables of the manual
export const sop2Rows = (): readonly Row[] => [
  sop2('s_add_u32', { gfx9: 0x00, gfx10: 0x00, gfx12: ['s_add_co_u32', 0x00] }, 'u32', (b, x, y) => sccCarry(b, b.add(b.zext64(x), b.zext64(y)))),
  sop2('s_sub_u32', { gfx9: 0x01, gfx10: 0x01, gfx12: ['s_sub_co_u32', 0x01] }, 'u32', (b, x, y) => sccCarry(b, b.sub(b.zext64(x), b.zext64(y)))),
  sop2('s_add_i32', { gfx9: 0x02, gfx10: 0x02, gfx12: ['s_add_co_i32', 0x02] }, 'i32', addSigned),
  sop2('s_sub_i32', { gfx9: 0x03, gfx10: 0x03, gfx12: ['s_sub_co_i32', 0x03] }, 'i32', subSigned),
  sop2('s_addc_u32', { gfx9: 0x04, gfx10: 0x04, gfx12: ['s_add_co_ci_u32', 0x04] }, 'u32', addWithCarry),
  sop2('s_subb_u32', { gfx9: 0x05, gfx10: 0x05, gfx12: ['s_sub_co_ci_u32', 0x05] }, 'u32', subtractWithBorrow),
  sop2('s_min_i32', { gfx9: 0x06, gfx10: 0x06, gfx11: 0x12 }, 'i32', minimum('minS', 'ltS')),
  sop2('s_min_u32', { gfx9: 0x07, gfx10: 0x07, gfx11: 0x13 }, 'u32', minimum('minU', 'ltU')),
  sop2('s_max_i32', { gfx9: 0x08, gfx10: 0x08, gfx11: 0x14 }, 'i32', maximum('maxS', 'ltS')),
  sop2('s_max_u32', { gfx9: 0x09, gfx10: 0x09, gfx11: 0x15 }, 'u32', maximum('maxU', 'ltU')),
  sop2('s_cselect_b32', { gfx9: 0x0a, gfx10: 0x0a, gfx11: 0x30 }, 'b32', (b, x, y) => b.select(b.scc, x, y)),
  sop2('s_cselect_b64', { gfx9: 0x0b, gfx10: 0x0b, gfx11: 0x31 }, 'b64', (b, x, y) => b.select(b.scc, x, y)),
  sop2('s_and_b32', { gfx9: 0x0c, gfx10: 0x0e, gfx11: 0x16 }, 'b32', and),
  sop2('s_and_b64', { gfx9: 0x0d, gfx10: 0x0f, gfx11: 0x17 }, 'b64', and),
  sop2('s_or_b32', { gfx9: 0x0e, gfx10: 0x10, gfx11: 0x18 }, 'b32', or),
  sop2('s_or_b64', { gfx9: 0x0f, gfx10: 0x11, gfx11: 0x19 }, 'b64', or),
  sop2('s_xor_b32', { gfx9: 0x10, gfx10: 0x12, gfx11: 0x1a }, 'b32', xor),
  sop2('s_xor_b64', { gfx9: 0x11, gfx10: 0x13, gfx11: 0x1b }, 'b64', xor),
  sop2('s_andn2_b32', { gfx9: 0x12, gfx10: 0x14, gfx11: ['s_and_not1_b32', 0x22] }, 'b32', andNot),
  sop2('s_andn2_b64', { gfx9: 0x13, gfx10: 0x15, gfx11: ['s_and_not1_b64', 0x23] }, 'b64', andNot),
  sop2('s_orn2_b32', { gfx9: 0x14, gfx10: 0x16, gfx11: ['s_or_not1_b32', 0x24] }, 'b32', orNot),
  sop2('s_orn2_b64', { gfx9: 0x15, gfx10: 0x17, gfx11: ['s_or_not1_b64', 0x25] }, 'b64', orNot),
  sop2('s_nand_b32', { gfx9: 0x16, gfx10: 0x18, gfx11: 0x1c }, 'b32', nand),
  sop2('s_nand_b64', { gfx9: 0x17, gfx10: 0x19, gfx11: 0x1d }, 'b64', nand),
  sop2('s_nor_b32', { gfx9: 0x18, gfx10: 0x1a, gfx11: 0x1e }, 'b32', nor),
  sop2('s_nor_b64', { gfx9: 0x19, gfx10: 0x1b, gfx11: 0x1f }, 'b64', nor),
  sop2('s_xnor_b32', { gfx9: 0x1a, gfx10: 0x1c, gfx11: 0x20 }, 'b32', xnor),
  sop2('s_xnor_b64', { gfx9: 0x1b, gfx10: 0x1d, gfx11: 0x21 }, 'b64', xnor),
  shift('s_lshl_b32', { gfx9: 0x1c, gfx10: 0x1e, gfx11: 0x08 }, 'b32', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshl_b64', { gfx9: 0x1d, gfx10: 0x1f, gfx11: 0x09 }, 'b64', (b, x, y) => sccNonZero(b, b.shl(x, y))),
  shift('s_lshr_b32', { gfx9: 0x1e, gfx10: 0x20, gfx11: 0x0a }, 'b32', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_lshr_b64', { gfx9: 0x1f, gfx10: 0x21, gfx11: 0x0b }, 'b64', (b, x, y) => sccNonZero(b, b.shrU(x, y))),
  shift('s_ashr_i32', { gfx9: 0x20, gfx10: 0x22, gfx11: 0x0c }, 'i32', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  shift('s_ashr_i64', { gfx9: 0x21, gfx10: 0x23, gfx11: 0x0d }, 'i64', (b, x, y) => sccNonZero(b, b.shrS(x, y))),
  sop2('s_bfm_b32', { gfx9: 0x22, gfx10: 0x24, gfx11: 0x2a }, 'b32', fieldMask('i32')),
  row('SOP2', 's_bfm_b64', { gfx9: 0x23, gfx10: 0x25, gfx11: 0x2b }, '=sdst:b64 ssrc0:b32 ssrc1:b32', fieldMask('i64')),
  sop2('s_mul_i32', { gfx9: 0x24, gfx10: 0x26, gfx11: 0x2c }, 'i32', (b, x, y) => b.mul(x, y)),
  shift('s_bfe_u32', { gfx9: 0x25, gfx10: 0x27, gfx11: 0x26 }, 'u32', extract('shrU')),
  shift('s_bfe_i32', { gfx9: 0x26, gfx10: 0x28, gfx11: 0x27 }, 'i32', extract('shrS')),
  shift('s_bfe_u64', { gfx9: 0x27, gfx10: 0x29, gfx11: 0x28 }, 'u64', extract('shrU')),
  shift('s_bfe_i64', { gfx9: 0x28, gfx10: 0x2a, gfx11: 0x29 }, 'i64', extract('shrS')),
  control('s_cbranch_g_fork', 0x29, 'ssrc0:b64 ssrc1:b64', FORK),
  sop2('s_absdiff_i32', { gfx9: 0x2a, gfx10: 0x2c, gfx11: 0x06 }, 'i32', absoluteDifference),
  control('s_rfe_restore_b64', 0x2b, 'ssrc0:b64 ssrc1:b32', { terminator: 'jump' }),
  sop2('s_mul_hi_u32', { gfx9: 0x2c, gfx10: 0x35, gfx11: 0x2d }, 'u32', (b, x, y) => b.op('i32.mulHiU', x, y)),
  sop2('s_mul_hi_i32', { gfx9: 0x2d, gfx10: 0x36, gfx11: 0x2e }, 'i32', (b, x, y) => b.op('i32.mulHiS', x, y)),
  sop2('s_lshl1_add_u32', { gfx9: 0x2e, gfx10: 0x2e, gfx11: 0x0e }, 'u32', shiftAdd(1)),
  sop2('s_lshl2_add_u32', { gfx9: 0x2f, gfx10: 0x2f, gfx11: 0x0f }, 'u32', shiftAdd(2)),
  sop2('s_lshl3_add_u32', { gfx9: 0x30, gfx10: 0x30, gfx11: 0x10 }, 'u32', shiftAdd(3)),
  sop2('s_lshl4_add_u32', { gfx9: 0x31, gfx10: 0x31, gfx11: 0x11 }, 'u32', shiftAdd(4)),
  sop2('s_pack_ll_b32_b16', { gfx9: 0x32, gfx10: 0x32 }, 'b32', (b, x, y) => b.or(b.bits(x, 0, 16), b.shl(y, 16))),
  sop2('s_pack_lh_b32_b16', { gfx9: 0x33, gfx10: 0x33 }, 'b32', (b, x, y) => b.or(b.bits(x, 0, 16), b.and(y, b.i32(HIGH_HALF)))),
  sop2('s_pack_hl_b32_b16', { gfx11: 0x35 }, 'b32', (b, x, y) => b.or(b.shrU(x, 16), b.shl(y, 16))),
  sop2('s_add_nc_u64', { gfx12: 0x53 }, 'u64', (b, x, y) => b.add(x, y)),
  sop2('s_sub_nc_u64', { gfx12: 0x54 }, 'u64', (b, x, y) => b.sub(x, y)),
  sop2('s_mul_u64', { gfx12: 0x55 }, 'u64', (b, x, y) => b.mul(x, y)),
  sop2('s_pack_hh_b32_b16', { gfx9: 0x34, gfx10: 0x34 }, 'b32', (b, x, y) => b.or(b.shrU(x, 16), b.and(y, b.i32(HIGH_HALF)))),
];
