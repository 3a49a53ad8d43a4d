/** VOP2: two sources; integers and bits. CDNA2 ISA 12.7, "VOP2 Instructions". */
import type { Builder } from '../../../../ir/builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { add, asNarrow, multiply, saturating, subtract, subtractReversed } from '../../semantics/saturation.ts';
import { alsoIn, type Opcodes, type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { VOP2_FLOAT_ROWS } from './vop2-float.ts';

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

/** Add or subtract with a carry mask; the clamp bit turns a carry into the largest, a borrow into the smallest number. */
const carrying =
  (step: typeof addCarry, limit: number, reversed = false): Semantics =>
  (b: InstructionBuilder, x: Value, y: Value, carryIn?: Value) => {
    const { value, carry } = reversed ? withCarryIn(b, step, y, x, carryIn) : withCarryIn(b, step, x, y, carryIn);
    return [b.field('clamp') ? b.select(carry, b.i32(limit), value) : value, carry];
  };

const CARRY_OUT = '=vdst:u32 =sdst:mask src0:u32 src1:u32';
const CARRY_IN_OUT = `${CARRY_OUT} src2:mask`;

export const VOP2_ROWS: readonly Row[] = [
  row(
    'VOP2',
    'v_cndmask_b32',
    { gfx9: 0, gfx10: 1 },
    '=vdst:b32 src0:f32 src1:f32 src2:mask',
    (b, x, y, mask) => b.select(mask, y, x),
    { vopd: 9 },
  ),
  vop2(
    'v_mul_i32_i24',
    { gfx9: 6, gfx10: 9 },
    'i32',
    (b, x, y) => saturating('i32', multiply)(b, signed24(b, x), signed24(b, y)),
    CLAMPS,
  ),
  vop2('v_mul_hi_i32_i24', { gfx9: 7, gfx10: 10 }, 'i32', (b, x, y) =>
    b.op('i32.mulHiS', signed24(b, x), signed24(b, y)),
  ),
  vop2(
    'v_mul_u32_u24',
    { gfx9: 8, gfx10: 11 },
    'u32',
    (b, x, y) => saturating('u32', multiply)(b, unsigned24(b, x), unsigned24(b, y)),
    CLAMPS,
  ),
  vop2('v_mul_hi_u32_u24', { gfx9: 9, gfx10: 12 }, 'u32', (b, x, y) =>
    b.op('i32.mulHiU', unsigned24(b, x), unsigned24(b, y)),
  ),
  vop2('v_min_i32', { gfx9: 12, gfx10: 17 }, 'i32', (b, x, y) => b.minS(x, y)),
  vop2('v_max_i32', { gfx9: 13, gfx10: 18 }, 'i32', (b, x, y) => b.maxS(x, y)),
  vop2('v_min_u32', { gfx9: 14, gfx10: 19 }, 'u32', (b, x, y) => b.minU(x, y)),
  vop2('v_max_u32', { gfx9: 15, gfx10: 20 }, 'u32', (b, x, y) => b.maxU(x, y)),
  reversedShift('v_lshrrev_b32', { gfx9: 16, gfx10: 22, gfx11: 25 }, 'u32', 'shrU'),
  reversedShift('v_ashrrev_i32', { gfx9: 17, gfx10: 24, gfx11: 26 }, 'i32', 'shrS'),
  reversedShift('v_lshlrev_b32', { gfx9: 18, gfx10: 26, gfx11: 24 }, 'u32', 'shl', { vopd: 17 }),
  vop2('v_and_b32', { gfx9: 19, gfx10: 27 }, 'b32', (b, x, y) => b.and(x, y), { vopd: 18 }),
  vop2('v_or_b32', { gfx9: 20, gfx10: 28 }, 'b32', (b, x, y) => b.or(x, y)),
  vop2('v_xor_b32', { gfx9: 21, gfx10: 29 }, 'b32', (b, x, y) => b.xor(x, y)),
  ...alsoIn('VOP3', row('VOP2', 'v_add_co_u32', 25, CARRY_OUT, carrying(addCarry, -1), CARRIES), {
    gfx10: 783,
    gfx11: 768,
  }),
  ...alsoIn('VOP3', row('VOP2', 'v_sub_co_u32', 26, CARRY_OUT, carrying(subtractBorrow, 0), CARRIES), {
    gfx10: 784,
    gfx11: 769,
  }),
  ...alsoIn('VOP3', row('VOP2', 'v_subrev_co_u32', 27, CARRY_OUT, carrying(subtractBorrow, 0, true), CARRIES), {
    gfx10: 793,
    gfx11: 770,
  }),
  row(
    'VOP2',
    'v_addc_co_u32',
    { gfx9: 28, gfx10: ['v_add_co_ci_u32', 40], gfx11: ['v_add_co_ci_u32', 32] },
    CARRY_IN_OUT,
    carrying(addCarry, -1),
    CARRIES,
  ),
  row(
    'VOP2',
    'v_subb_co_u32',
    { gfx9: 29, gfx10: ['v_sub_co_ci_u32', 41], gfx11: ['v_sub_co_ci_u32', 33] },
    CARRY_IN_OUT,
    carrying(subtractBorrow, 0),
    CARRIES,
  ),
  row(
    'VOP2',
    'v_subbrev_co_u32',
    { gfx9: 30, gfx10: ['v_subrev_co_ci_u32', 42], gfx11: ['v_subrev_co_ci_u32', 34] },
    CARRY_IN_OUT,
    carrying(subtractBorrow, 0, true),
    CARRIES,
  ),
  ...alsoIn('VOP3', vop2('v_add_u16', 38, 'u16', saturating('u16', add), CLAMPS), { gfx10: ['v_add_nc_u16', 771] }),
  ...alsoIn('VOP3', vop2('v_sub_u16', 39, 'u16', saturating('u16', subtract), CLAMPS), {
    gfx10: ['v_sub_nc_u16', 772],
  }),
  vop2('v_subrev_u16', 40, 'u16', saturating('u16', subtractReversed), CLAMPS),
  ...alsoIn('VOP3', vop2('v_mul_lo_u16', 41, 'u16', saturating('u16', multiply), { ...CLAMPS, ...HALVES_UNSAID }), {
    gfx10: 773,
  }),
  ...alsoIn('VOP3', reversedShift('v_lshlrev_b16', 42, 'u16', 'shl', HALVES_UNSAID), { gfx10: 788, gfx11: 824 }),
  ...alsoIn('VOP3', reversedShift('v_lshrrev_b16', 43, 'u16', 'shrU', HALVES_UNSAID), { gfx10: 775, gfx11: 825 }),
  ...alsoIn('VOP3', reversedShift('v_ashrrev_i16', 44, 'i16', 'shrS', HALVES_UNSAID), { gfx10: 776, gfx11: 826 }),
  ...alsoIn(
    'VOP3',
    vop2('v_max_u16', 47, 'u16', (b, x, y) => b.maxU(asNarrow(b, 'u16', x), asNarrow(b, 'u16', y)), HALVES_UNSAID),
    { gfx10: 777 },
  ),
  ...alsoIn(
    'VOP3',
    vop2('v_max_i16', 48, 'i16', (b, x, y) => b.maxS(asNarrow(b, 'i16', x), asNarrow(b, 'i16', y)), HALVES_UNSAID),
    { gfx10: 778 },
  ),
  ...alsoIn(
    'VOP3',
    vop2('v_min_u16', 49, 'u16', (b, x, y) => b.minU(asNarrow(b, 'u16', x), asNarrow(b, 'u16', y)), HALVES_UNSAID),
    { gfx10: 779 },
  ),
  ...alsoIn(
    'VOP3',
    vop2('v_min_i16', 50, 'i16', (b, x, y) => b.minS(asNarrow(b, 'i16', x), asNarrow(b, 'i16', y)), HALVES_UNSAID),
    { gfx10: 780 },
  ),
  vop2('v_add_u32', { gfx9: 52, gfx10: ['v_add_nc_u32', 37] }, 'u32', saturating('u32', add), { ...CLAMPS, vopd: 16 }),
  vop2('v_sub_u32', { gfx9: 53, gfx10: ['v_sub_nc_u32', 38] }, 'u32', saturating('u32', subtract), CLAMPS),
  vop2(
    'v_subrev_u32',
    { gfx9: 54, gfx10: ['v_subrev_nc_u32', 39] },
    'u32',
    saturating('u32', subtractReversed),
    CLAMPS,
  ),
  vop2('v_xnor_b32', { gfx906: 61, gfx10: 30 }, 'b32', (b, x, y) => b.not(b.xor(x, y))),
  ...VOP2_FLOAT_ROWS,
];
