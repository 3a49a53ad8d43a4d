/** VOP2: two sources; integers and bits. CDNA2 ISA 12.7, "VOP2 Instructions". */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { add, asNarrow, multiply, saturating, subtract, subtractReversed } from './saturation.ts';
import { VOP2_FLOAT_ROWS } from './vop2-float.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const CARRIES: RowFlags = { integerClamp: true, vop3b: true };

function vop2(name: string, opcode: number, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP2', name, opcode, `=vdst:${type} src0:${type} src1:${type}`, semantics, flags);
}

/** The shift amount stands first and counts modulo the width. */
function reversedShift(name: string, opcode: number, type: OperandType, shift: 'shl' | 'shrU' | 'shrS'): Row {
  const narrow = type.endsWith('16');
  const semantics: Semantics = (b, amount, x) => {
    if (!narrow) return b[shift](x, amount);
    return b[shift](asNarrow(b, shift === 'shrS' ? 'i16' : 'u16', x), b.and(amount, b.i32(15)));
  };
  return vop2(name, opcode, type, semantics);
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
  row('VOP2', 'v_cndmask_b32', 0, '=vdst:b32 src0:f32 src1:f32 src2:mask', (b, x, y, mask) => b.select(mask, y, x)),
  vop2('v_mul_i32_i24', 6, 'i32', (b, x, y) => saturating('i32', multiply)(b, signed24(b, x), signed24(b, y)), CLAMPS),
  vop2('v_mul_hi_i32_i24', 7, 'i32', (b, x, y) => b.op('i32.mulHiS', signed24(b, x), signed24(b, y))),
  vop2(
    'v_mul_u32_u24',
    8,
    'u32',
    (b, x, y) => saturating('u32', multiply)(b, unsigned24(b, x), unsigned24(b, y)),
    CLAMPS,
  ),
  vop2('v_mul_hi_u32_u24', 9, 'u32', (b, x, y) => b.op('i32.mulHiU', unsigned24(b, x), unsigned24(b, y))),
  vop2('v_min_i32', 12, 'i32', (b, x, y) => b.minS(x, y)),
  vop2('v_max_i32', 13, 'i32', (b, x, y) => b.maxS(x, y)),
  vop2('v_min_u32', 14, 'u32', (b, x, y) => b.minU(x, y)),
  vop2('v_max_u32', 15, 'u32', (b, x, y) => b.maxU(x, y)),
  reversedShift('v_lshrrev_b32', 16, 'u32', 'shrU'),
  reversedShift('v_ashrrev_i32', 17, 'i32', 'shrS'),
  reversedShift('v_lshlrev_b32', 18, 'u32', 'shl'),
  vop2('v_and_b32', 19, 'b32', (b, x, y) => b.and(x, y)),
  vop2('v_or_b32', 20, 'b32', (b, x, y) => b.or(x, y)),
  vop2('v_xor_b32', 21, 'b32', (b, x, y) => b.xor(x, y)),
  row('VOP2', 'v_add_co_u32', 25, CARRY_OUT, carrying(addCarry, -1), CARRIES),
  row('VOP2', 'v_sub_co_u32', 26, CARRY_OUT, carrying(subtractBorrow, 0), CARRIES),
  row('VOP2', 'v_subrev_co_u32', 27, CARRY_OUT, carrying(subtractBorrow, 0, true), CARRIES),
  row('VOP2', 'v_addc_co_u32', 28, CARRY_IN_OUT, carrying(addCarry, -1), CARRIES),
  row('VOP2', 'v_subb_co_u32', 29, CARRY_IN_OUT, carrying(subtractBorrow, 0), CARRIES),
  row('VOP2', 'v_subbrev_co_u32', 30, CARRY_IN_OUT, carrying(subtractBorrow, 0, true), CARRIES),
  vop2('v_add_u16', 38, 'u16', saturating('u16', add), CLAMPS),
  vop2('v_sub_u16', 39, 'u16', saturating('u16', subtract), CLAMPS),
  vop2('v_subrev_u16', 40, 'u16', saturating('u16', subtractReversed), CLAMPS),
  vop2('v_mul_lo_u16', 41, 'u16', saturating('u16', multiply), CLAMPS),
  reversedShift('v_lshlrev_b16', 42, 'u16', 'shl'),
  reversedShift('v_lshrrev_b16', 43, 'u16', 'shrU'),
  reversedShift('v_ashrrev_i16', 44, 'i16', 'shrS'),
  vop2('v_max_u16', 47, 'u16', (b, x, y) => b.maxU(asNarrow(b, 'u16', x), asNarrow(b, 'u16', y))),
  vop2('v_max_i16', 48, 'i16', (b, x, y) => b.maxS(asNarrow(b, 'i16', x), asNarrow(b, 'i16', y))),
  vop2('v_min_u16', 49, 'u16', (b, x, y) => b.minU(asNarrow(b, 'u16', x), asNarrow(b, 'u16', y))),
  vop2('v_min_i16', 50, 'i16', (b, x, y) => b.minS(asNarrow(b, 'i16', x), asNarrow(b, 'i16', y))),
  vop2('v_add_u32', 52, 'u32', saturating('u32', add), CLAMPS),
  vop2('v_sub_u32', 53, 'u32', saturating('u32', subtract), CLAMPS),
  vop2('v_subrev_u32', 54, 'u32', saturating('u32', subtractReversed), CLAMPS),
  vop2('v_xnor_b32', 61, 'b32', (b, x, y) => b.not(b.xor(x, y))),
  ...VOP2_FLOAT_ROWS,
];
