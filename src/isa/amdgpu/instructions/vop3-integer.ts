/** VOP3: integers, bits and lanes. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Builder } from '../../../ir/builder.ts';
import type { Value } from '../../../ir/types.ts';
import type { InstructionBuilder } from '../instruction-builder.ts';
import { type OperandType, type Row, type RowFlags, row, type Semantics } from '../row.ts';
import { bitField } from './bit-operations.ts';
import { absoluteDifference, lerpBytes, permuteBytes, quadSadRows, sumBytes } from './byte-operations.ts';
import { countBelow, readLane } from './lanes.ts';
import { add, asNarrow, multiplyAdd, type Narrow, saturate, saturating, subtract } from './saturation.ts';
import { signed24, unsigned24 } from './vop2.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const KEEPS_HIGH_HALF: RowFlags = { integerClamp: true, keepsHighHalf: true };

function binary(name: string, opcode: number, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcode, `=vdst:${type} src0:${type} src1:${type}`, semantics, flags);
}

function ternary(name: string, opcode: number, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcode, `=vdst:${type} src0:${type} src1:${type} src2:${type}`, semantics, flags);
}

/** min3, max3 and med3 of one type, in steps of three opcodes. The clamp bit of the 16-bit forms changes nothing. */
function orderRows(type: Narrow, opcode: number): Row[] {
  const min = (b: Builder, x: Value, y: Value): Value => (type.startsWith('u') ? b.minU(x, y) : b.minS(x, y));
  const max = (b: Builder, x: Value, y: Value): Value => (type.startsWith('u') ? b.maxU(x, y) : b.maxS(x, y));
  const rows: [string, (b: Builder, x: Value, y: Value, z: Value) => Value][] = [
    ['min3', (b, x, y, z) => min(b, min(b, x, y), z)],
    ['max3', (b, x, y, z) => max(b, max(b, x, y), z)],
    ['med3', (b, x, y, z) => max(b, min(b, x, y), min(b, max(b, x, y), z))],
  ];
  return rows.map(([name, compute], i) =>
    ternary(
      `v_${name}_${type}`,
      opcode + i * 3,
      type,
      (b, x, y, z) => compute(b, asNarrow(b, type, x), asNarrow(b, type, y), asNarrow(b, type, z)),
      CLAMPS,
    ),
  );
}

/** `{ carry, D } = S0 * S1 + S2` in 65 bits. Unsigned: bit 64 is the carry; the clamp bit gives the largest number. */
const multiplyAddU64: Semantics = (b, x, y, z) => {
  const sum = b.add(b.mul(b.zext64(x), b.zext64(y)), z);
  const carry = b.ltU(sum, z);
  return [b.field('clamp') ? b.select(carry, b.i64(-1n), sum) : sum, carry];
};

/** Signed: bit 64 is the sign of the exact sum. */
const multiplyAddI64: Semantics = (b, x, y, z) => {
  const product = b.mul(b.sext64(x), b.sext64(y));
  const sum = b.add(product, z);
  const zero = b.i64(0n);
  const overflow = b.ltS(b.and(b.xor(product, sum), b.xor(z, sum)), zero);
  const negative = b.op('i1.xor', overflow, b.ltS(sum, zero));
  const limit = b.select(negative, b.i64(1n << 63n), b.i64((1n << 63n) - 1n));
  return [b.field('clamp') ? b.select(overflow, limit, sum) : sum, negative];
};

/** {S0, S1} shifted right by `amount` bits, low dword. */
const align = (b: InstructionBuilder, high: Value, low: Value, amount: Value): Value =>
  b.low(b.shrU(b.pack(low, high), amount));

const fieldOf =
  (shift: 'shrU' | 'shrS'): Semantics =>
  (b, x, offset, width) =>
    bitField(b, x, offset, b.and(width, b.i32(31)), shift);

/** Two numbers, each saturated, in the halves of the result. */
const packSaturated =
  (type: 'u16' | 'i16', widen: 'zext64' | 'sext64'): Semantics =>
  (b, x, y) => {
    const saturated = (source: Value): Value => b.bits(saturate(b, type, b[widen](source)), 0, 16);
    return b.or(saturated(x), b.shl(saturated(y), 16));
  };

const sadU16: Semantics = saturatingSum((b, x, y) => [
  absoluteDifference(b, b.bits(x, 0, 16), b.bits(y, 0, 16)),
  absoluteDifference(b, b.shrU(x, 16), b.shrU(y, 16)),
]);

/** Sums of absolute differences, added to src2; the clamp bit saturates the whole sum. */
function saturatingSum(terms: (b: Builder, x: Value, y: Value) => Value[]): Semantics {
  return (b, x, y, z) => {
    const [first, ...others] = terms(b, x, y);
    const sum = others.reduce((total, term) => b.add(total, term), first!);
    return saturating('u32', add)(b, sum, z);
  };
}

export const VOP3_INTEGER_ROWS: readonly Row[] = [
  ternary(
    'v_mad_i32_i24',
    450,
    'i32',
    (b, x, y, z) => saturating('i32', multiplyAdd)(b, signed24(b, x), signed24(b, y), z),
    CLAMPS,
  ),
  ternary(
    'v_mad_u32_u24',
    451,
    'u32',
    (b, x, y, z) => saturating('u32', multiplyAdd)(b, unsigned24(b, x), unsigned24(b, y), z),
    CLAMPS,
  ),
  ternary('v_bfe_u32', 456, 'u32', fieldOf('shrU')),
  ternary('v_bfe_i32', 457, 'i32', fieldOf('shrS')),
  ternary('v_bfi_b32', 458, 'b32', (b, mask, x, y) => b.or(b.and(mask, x), b.and(b.not(mask), y))),
  ternary('v_lerp_u8', 461, 'b32', lerpBytes),
  ternary('v_alignbit_b32', 462, 'b32', (b, x, y, z) => align(b, x, y, b.and(z, b.i32(31)))),
  ternary('v_alignbyte_b32', 463, 'b32', (b, x, y, z) => align(b, x, y, b.shl(b.and(z, b.i32(3)), 3))),
  ...orderRows('i32', 465),
  ...orderRows('u32', 466),
  ternary('v_sad_u8', 473, 'u32', saturatingSum(sumBytes(false)), CLAMPS),
  ternary(
    'v_sad_hi_u8',
    474,
    'u32',
    saturatingSum((b, x, y) => sumBytes(false)(b, x, y).map((term) => b.shl(term, 16))),
    CLAMPS,
  ),
  ternary('v_sad_u16', 475, 'u32', sadU16, CLAMPS),
  ternary(
    'v_sad_u32',
    476,
    'u32',
    saturatingSum((b, x, y) => [absoluteDifference(b, x, y)]),
    CLAMPS,
  ),
  ternary('v_msad_u8', 484, 'u32', saturatingSum(sumBytes(true)), CLAMPS),
  ...quadSadRows,
  row('VOP3', 'v_mad_u64_u32', 488, '=vdst:u64 =sdst:mask src0:u32 src1:u32 src2:u64', multiplyAddU64, {
    integerClamp: true,
    vop3b: true,
  }),
  row('VOP3', 'v_mad_i64_i32', 489, '=vdst:i64 =sdst:mask src0:i32 src1:i32 src2:i64', multiplyAddI64, {
    integerClamp: true,
    vop3b: true,
  }),
  ternary('v_mad_legacy_u16', 491, 'u16', saturating('u16', multiplyAdd), CLAMPS),
  ternary('v_mad_legacy_i16', 492, 'i16', saturating('i16', multiplyAdd), CLAMPS),
  ternary('v_perm_b32', 493, 'b32', permuteBytes),
  row('VOP3', 'v_mad_u32_u16', 497, '=vdst:u32 src0:u16 src1:u16 src2:u32', saturating('u32', multiplyAdd), CLAMPS),
  row(
    'VOP3',
    'v_mad_i32_i16',
    498,
    '=vdst:i32 src0:i16 src1:i16 src2:i32',
    (b, x, y, z) => saturating('i32', multiplyAdd)(b, b.sext16(x), b.sext16(y), z),
    CLAMPS,
  ),
  ternary('v_xad_u32', 499, 'u32', (b, x, y, z) => b.add(b.xor(x, y), z)),
  ...orderRows('i16', 501),
  ...orderRows('u16', 502),
  ternary('v_lshl_add_u32', 509, 'u32', (b, x, y, z) => b.add(b.shl(x, y), z)),
  ternary('v_add_lshl_u32', 510, 'u32', (b, x, y, z) => b.shl(b.add(x, y), z)),
  ternary('v_add3_u32', 511, 'u32', (b, x, y, z) => b.add(b.add(x, y), z)),
  ternary('v_lshl_or_b32', 512, 'b32', (b, x, y, z) => b.or(b.shl(x, y), z)),
  ternary('v_and_or_b32', 513, 'b32', (b, x, y, z) => b.or(b.and(x, y), z)),
  ternary('v_or3_b32', 514, 'b32', (b, x, y, z) => b.or(b.or(x, y), z)),
  ternary('v_mad_u16', 516, 'u16', saturating('u16', multiplyAdd), KEEPS_HIGH_HALF),
  ternary('v_mad_i16', 517, 'i16', saturating('i16', multiplyAdd), KEEPS_HIGH_HALF),
  row('VOP3', 'v_lshl_add_u64', { gfx940: 520 }, '=vdst:u64 src0:u64 src1:u32 src2:u64', (b, x, amount, y) => {
    // Bits 2:0 count; 5 to 7 are treated as 0 (CDNA3 ISA, V_LSHL_ADD_U64).
    const count = b.and(amount, b.i32(7));
    return b.add(b.shl(x, b.select(b.ltU(b.i32(4), count), b.i32(0), count)), y);
  }),
  binary('v_mul_lo_u32', 645, 'u32', (b, x, y) => b.mul(x, y)),
  binary('v_mul_hi_u32', 646, 'u32', (b, x, y) => b.op('i32.mulHiU', x, y)),
  binary('v_mul_hi_i32', 647, 'i32', (b, x, y) => b.op('i32.mulHiS', x, y)),
  row('VOP3', 'v_readlane_b32', 649, '=vdst:b32/s src0:b32 src1:b32/s', (b, x, lane) => readLane(b, x, lane)),
  row('VOP3', 'v_writelane_b32', 650, '+vdst:b32 src0:b32/s src1:b32/s', (b, _, value, lane) =>
    b.writeLane({ operand: b.index('vdst'), dword: 0 }, lane, value),
  ),
  binary('v_bcnt_u32_b32', 651, 'b32', (b, x, y) => b.add(b.op('i32.popcnt', x), y)),
  binary('v_mbcnt_lo_u32_b32', 652, 'b32', (b, x, y) => countBelow(b, 'low', x, y)),
  binary('v_mbcnt_hi_u32_b32', 653, 'b32', (b, x, y) => countBelow(b, 'high', x, y)),
  row('VOP3', 'v_lshlrev_b64', 655, '=vdst:b64 src0:b32 src1:b64', (b, amount, x) => b.shl(x, amount)),
  row('VOP3', 'v_lshrrev_b64', 656, '=vdst:b64 src0:b32 src1:b64', (b, amount, x) => b.shrU(x, amount)),
  row('VOP3', 'v_ashrrev_i64', 657, '=vdst:i64 src0:b32 src1:i64', (b, amount, x) => b.shrS(x, amount)),
  binary('v_bfm_b32', 659, 'b32', (b, width, offset) => b.shl(b.sub(b.shl(b.i32(1), width), b.i32(1)), offset)),
  binary('v_cvt_pk_u16_u32', 663, 'u32', packSaturated('u16', 'zext64')),
  binary('v_cvt_pk_i16_i32', 664, 'i32', packSaturated('i16', 'sext64')),
  binary('v_add_i32', 668, 'i32', saturating('i32', add), CLAMPS),
  binary('v_sub_i32', 669, 'i32', saturating('i32', subtract), CLAMPS),
  binary('v_add_i16', 670, 'i16', saturating('i16', add), CLAMPS),
  binary('v_sub_i16', 671, 'i16', saturating('i16', subtract), CLAMPS),
];
