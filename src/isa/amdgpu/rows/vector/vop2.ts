/** VOP2: two sources; integers and bits. CDNA2 ISA 12.7, "VOP2 Instructions". */
import type { Builder } from '../../../../ir/builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { add, asNarrow, multiply, saturating, subtract, subtractReversed } from '../../semantics/saturation.ts';
import { alsoIn, type Opcodes, row } from '../table/row.ts';
import { vop2FloatRows } from './vop2-float.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const HALVES_UNSAID: RowFlags = { opSelText: 'none' };
const CARRIES: RowFlags = { integerClamp: true, vop3b: true };

function vop2(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP2', name, opcodes, `=vdst:${type} src0:${type} src1:${type}`, semantics, flags);
}

/** The shift amount stands first and counts modulo the width. */
function reversedShift(
  name: string,
  opcodes: Opcodes,
  type: OperandType,
  shift: 'shl' | 'shrU' | 'shrS',
  flags?: RowFlags,
): Row {
  const narrow = type.endsWith('16');
  const semantics: Semantics = (b, amount, x) => {
    if (!narrow) return b[shift](x, amount);
    return b[shift](asNarrow(b, shift === 'shrS' ? 'i16' : 'u16', x), b.and(amount, b.i32(15)));
  };
  return vop2(name, opcodes, type, semantics, flags);
}

export const signed24 = (b: Builder, x: Value): Value => b.shrS(b.shl(x, 8), 8);
export const unsigned24 = (b: Builder, x: Value): Value => b.bits(x, 0, 24);

interface Carried {
  readonly value: Value;
  readonly carry: Value;
}

function addCarry(b: Builder, x: Value, y: Value): Carried {
  const value = b.add(x, y);
  return { value, carry: b.ltU(value, x) };
}

const subtractBorrow = (b: Builder, x: Value, y: Value): Carried => ({ value: b.sub(x, y), carry: b.ltU(x, y) });

/** Two steps for a carry in: at most one of them carries out. */
function withCarryIn(b: Builder, step: typeof addCarry, x: Value, y: Value, carryIn: Value | undefined): Carried {
  const first = step(b, x, y);
  if (!carryIn) return first;
  const second = step(b, first.value, b.boolToI32(carryIn));
  return { value: second.value, carry: b.op('i1.or', first.carry, second.carry) };
}

/**
 * Add or subtract with a carry mask; the clamp bit turns a carry into the largest, a borrow into the smallest
 * number.
 */
const carrying =
  (step: typeof addCarry, limit: number, reversed = false): Semantics =>
  (b: InstructionBuilder, x: Value, y: Value, carryIn?: Value) => {
    const { value, carry } = reversed ? withCarryIn(b, step, y, x, carryIn) : withCarryIn(b, step, x, y, carryIn);
    return [b.field('clamp') ? b.select(carry, b.i32(limit), value) : value, carry];
  };

const maxU16: Semantics = (b, x, y) => b.maxU(asNarrow(b, 'u16', x!), asNarrow(b, 'u16', y!));
const maxI16: Semantics = (b, x, y) => b.maxS(asNarrow(b, 'i16', x!), asNarrow(b, 'i16', y!));
const minU16: Semantics = (b, x, y) => b.minU(asNarrow(b, 'u16', x!), asNarrow(b, 'u16', y!));
const minI16: Semantics = (b, x, y) => b.minS(asNarrow(b, 'i16', x!), asNarrow(b, 'i16', y!));

const addWithCarry = carrying(addCarry, -1);
const subtractWithBorrow = carrying(subtractBorrow, 0);
const subtractReversedWithBorrow = carrying(subtractBorrow, 0, true);

const selectByMask: Semantics = (b, x, y, mask) => b.select(mask!, y!, x!);

const CARRY_OUT = '=vdst:u32 =sdst:mask src0:u32 src1:u32';
const CARRY_IN_OUT = `${CARRY_OUT} src2:mask`;

// biome-ignore format: one row per line, as the tables of the manual
export const vop2Rows = (): readonly Row[] => [
  row('VOP2', 'v_cndmask_b32', { gfx9: 0x00, gfx10: 0x01 }, '=vdst:b32 src0:f32 src1:f32 src2:mask', selectByMask, { vopd: 0x09, clampBit: 'never', signs: 'floats' }),
  vop2('v_mul_i32_i24', { gfx9: 0x06, gfx10: 0x09 }, 'i32', (b, x, y) => saturating('i32', multiply)(b, signed24(b, x), signed24(b, y)), CLAMPS),
  vop2('v_mul_hi_i32_i24', { gfx9: 0x07, gfx10: 0x0a }, 'i32', (b, x, y) => b.op('i32.mulHiS', signed24(b, x), signed24(b, y))),
  vop2('v_mul_u32_u24', { gfx9: 0x08, gfx10: 0x0b }, 'u32', (b, x, y) => saturating('u32', multiply)(b, unsigned24(b, x), unsigned24(b, y)), CLAMPS),
  vop2('v_mul_hi_u32_u24', { gfx9: 0x09, gfx10: 0x0c }, 'u32', (b, x, y) => b.op('i32.mulHiU', unsigned24(b, x), unsigned24(b, y))),
  vop2('v_min_i32', { gfx9: 0x0c, gfx10: 0x11 }, 'i32', (b, x, y) => b.minS(x, y)),
  vop2('v_max_i32', { gfx9: 0x0d, gfx10: 0x12 }, 'i32', (b, x, y) => b.maxS(x, y)),
  vop2('v_min_u32', { gfx9: 0x0e, gfx10: 0x13 }, 'u32', (b, x, y) => b.minU(x, y)),
  vop2('v_max_u32', { gfx9: 0x0f, gfx10: 0x14 }, 'u32', (b, x, y) => b.maxU(x, y)),
  reversedShift('v_lshrrev_b32', { gfx9: 0x10, gfx10: 0x16, gfx11: 0x19 }, 'u32', 'shrU'),
  reversedShift('v_ashrrev_i32', { gfx9: 0x11, gfx10: 0x18, gfx11: 0x1a }, 'i32', 'shrS'),
  reversedShift('v_lshlrev_b32', { gfx9: 0x12, gfx10: 0x1a, gfx11: 0x18 }, 'u32', 'shl', { vopd: 0x11 }),
  vop2('v_and_b32', { gfx9: 0x13, gfx10: 0x1b }, 'b32', (b, x, y) => b.and(x, y), { vopd: 0x12 }),
  vop2('v_or_b32', { gfx9: 0x14, gfx10: 0x1c }, 'b32', (b, x, y) => b.or(x, y)),
  vop2('v_xor_b32', { gfx9: 0x15, gfx10: 0x1d }, 'b32', (b, x, y) => b.xor(x, y)),
  ...alsoIn('VOP3', row('VOP2', 'v_add_co_u32', 0x19, CARRY_OUT, addWithCarry, CARRIES), { gfx10: 0x30f, gfx11: 0x300 }),
  ...alsoIn('VOP3', row('VOP2', 'v_sub_co_u32', 0x1a, CARRY_OUT, subtractWithBorrow, CARRIES), { gfx10: 0x310, gfx11: 0x301 }),
  ...alsoIn('VOP3', row('VOP2', 'v_subrev_co_u32', 0x1b, CARRY_OUT, subtractReversedWithBorrow, CARRIES), { gfx10: 0x319, gfx11: 0x302 }),
  row('VOP2', 'v_addc_co_u32', { gfx9: 0x1c, gfx10: ['v_add_co_ci_u32', 0x28], gfx11: ['v_add_co_ci_u32', 0x20] }, CARRY_IN_OUT, addWithCarry, CARRIES),
  row('VOP2', 'v_subb_co_u32', { gfx9: 0x1d, gfx10: ['v_sub_co_ci_u32', 0x29], gfx11: ['v_sub_co_ci_u32', 0x21] }, CARRY_IN_OUT, subtractWithBorrow, CARRIES),
  row('VOP2', 'v_subbrev_co_u32', { gfx9: 0x1e, gfx10: ['v_subrev_co_ci_u32', 0x2a], gfx11: ['v_subrev_co_ci_u32', 0x22] }, CARRY_IN_OUT, subtractReversedWithBorrow, CARRIES),
  ...alsoIn('VOP3', vop2('v_add_u16', 0x26, 'u16', saturating('u16', add), CLAMPS), { gfx10: ['v_add_nc_u16', 0x303] }),
  ...alsoIn('VOP3', vop2('v_sub_u16', 0x27, 'u16', saturating('u16', subtract), CLAMPS), { gfx10: ['v_sub_nc_u16', 0x304] }),
  vop2('v_subrev_u16', 0x28, 'u16', saturating('u16', subtractReversed), CLAMPS),
  ...alsoIn('VOP3', vop2('v_mul_lo_u16', 0x29, 'u16', saturating('u16', multiply), { ...CLAMPS, ...HALVES_UNSAID, clampBit: 'never' }), { gfx10: 0x305 }),
  ...alsoIn('VOP3', reversedShift('v_lshlrev_b16', 0x2a, 'u16', 'shl', HALVES_UNSAID), { gfx10: 0x314, gfx11: 0x338 }),
  ...alsoIn('VOP3', reversedShift('v_lshrrev_b16', 0x2b, 'u16', 'shrU', HALVES_UNSAID), { gfx10: 0x307, gfx11: 0x339 }),
  ...alsoIn('VOP3', reversedShift('v_ashrrev_i16', 0x2c, 'i16', 'shrS', HALVES_UNSAID), { gfx10: 0x308, gfx11: 0x33a }),
  ...alsoIn('VOP3', vop2('v_max_u16', 0x2f, 'u16', maxU16, HALVES_UNSAID), { gfx10: 0x309 }),
  ...alsoIn('VOP3', vop2('v_max_i16', 0x30, 'i16', maxI16, HALVES_UNSAID), { gfx10: 0x30a }),
  ...alsoIn('VOP3', vop2('v_min_u16', 0x31, 'u16', minU16, HALVES_UNSAID), { gfx10: 0x30b }),
  ...alsoIn('VOP3', vop2('v_min_i16', 0x32, 'i16', minI16, HALVES_UNSAID), { gfx10: 0x30c }),
  vop2('v_add_u32', { gfx9: 0x34, gfx10: ['v_add_nc_u32', 0x25] }, 'u32', saturating('u32', add), { ...CLAMPS, vopd: 0x10 }),
  vop2('v_sub_u32', { gfx9: 0x35, gfx10: ['v_sub_nc_u32', 0x26] }, 'u32', saturating('u32', subtract), CLAMPS),
  vop2('v_subrev_u32', { gfx9: 0x36, gfx10: ['v_subrev_nc_u32', 0x27] }, 'u32', saturating('u32', subtractReversed), CLAMPS),
  vop2('v_xnor_b32', { gfx906: 0x3d, gfx10: 0x1e }, 'b32', (b, x, y) => b.not(b.xor(x, y))),
  ...vop2FloatRows(),
];
