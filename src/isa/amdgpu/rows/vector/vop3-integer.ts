/** VOP3: integers, bits and lanes. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Builder } from '../../../../ir/builder.ts';
import type { Value } from '../../../../ir/types.ts';
import type { OperandType, Row, RowFlags } from '../../encoding/row.ts';
import { bitField } from '../../semantics/bit-operations.ts';
import {
  absoluteDifference,
  lerpBytes,
  permuteBytes,
  quadDwords,
  quadPacked,
  sumBytes,
} from '../../semantics/byte-operations.ts';
import type { InstructionBuilder, Semantics } from '../../semantics/instruction-builder.ts';
import { countBelow, permuteRow, readLane } from '../../semantics/lanes.ts';
import {
  add,
  asNarrow,
  multiplyAdd,
  type NarrowInteger,
  saturate,
  saturating,
  subtract,
} from '../../semantics/saturation.ts';
import { type Opcodes, row } from '../table/row.ts';
import { signed24, unsigned24 } from './vop2.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const HALVES_UNSAID: RowFlags = { opSelText: 'none' };
const NO_VOP3_DPP: RowFlags = { noVop3Dpp: true };
const PERMUTES: RowFlags = { noVop3Dpp: true, opSelText: 'permutation', signs: 'any' };
const PERMLANE_VAR: RowFlags = { ...PERMUTES, touches: { isCrossLane: true } };
/** The order of 32-bit integers: LLVM 19 has no clamp bit there, unlike with 16 bits. */
const UNCLAMPED: RowFlags = { integerClamp: true, clampBit: 'never' };
const CARRIES: RowFlags = { integerClamp: true, vop3b: true };
const KEEPS_HIGH_HALF: RowFlags = { integerClamp: true, keepsHighHalf: true };

function binary(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcodes, `=vdst:${type} src0:${type} src1:${type}`, semantics, flags);
}

function ternary(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcodes, `=vdst:${type} src0:${type} src1:${type} src2:${type}`, semantics, flags);
}

/** Smallest or largest of two numbers of a type. */
type Order = (x: Value, y: Value) => Value;
type OrderOfThree = (min: Order, max: Order, x: Value, y: Value, z: Value) => Value;

const min3: OrderOfThree = (min, _, x, y, z) => min(min(x, y), z);
const max3: OrderOfThree = (_, max, x, y, z) => max(max(x, y), z);
const med3: OrderOfThree = (min, max, x, y, z) => max(min(x, y), min(max(x, y), z));

/** The clamp bit of the 16-bit forms changes nothing. */
const inOrder =
  (type: NarrowInteger, operation: OrderOfThree): Semantics =>
  (b, ...sources) => {
    const isUnsigned = type === 'u16' || type === 'u32';
    const min: Order = (x, y) => (isUnsigned ? b.minU(x, y) : b.minS(x, y));
    const max: Order = (x, y) => (isUnsigned ? b.maxU(x, y) : b.maxS(x, y));
    const [x, y, z] = sources.map((source) => asNarrow(b, type, source)) as [Value, Value, Value];
    return operation(min, max, x, y, z);
  };

/**
 * `{ carry, D } = S0 * S1 + S2` in 65 bits. Unsigned: bit 64 is the carry; the clamp bit gives the largest
 * number.
 */
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

/** What lanes without a source keep is the old value. */
const PERMLANE = '+vdst:b32 src0:b32 src1:b32/s src2:b32/s';

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

type Binary = (b: Builder, x: Value, y: Value) => Value;

/** One after the other, as `minmax` and `maxmin` do. */
const inTurn =
  (first: Binary, second: Binary): Semantics =>
  (b, x, y, z) =>
    second(b, first(b, x!, y!), z!);

const minS: Binary = (b, x, y) => b.minS(x, y);
const maxS: Binary = (b, x, y) => b.maxS(x, y);
const minU: Binary = (b, x, y) => b.minU(x, y);
const maxU: Binary = (b, x, y) => b.maxU(x, y);

const QUAD_PACKED = '=vdst:b64 src0:b64 src1:b32 src2:b64';
const MAD_U64 = '=vdst:u64 =sdst:mask src0:u32 src1:u32 src2:u64';
const MAD_I64 = '=vdst:i64 =sdst:mask src0:i32 src1:i32 src2:i64';
const SHIFT_B64 = '=vdst:b64 src0:b32 src1:b64';

const madI24: Semantics = (b, x, y, z) => saturating('i32', multiplyAdd)(b, signed24(b, x!), signed24(b, y!), z!);
const madU24: Semantics = (b, x, y, z) => saturating('u32', multiplyAdd)(b, unsigned24(b, x!), unsigned24(b, y!), z!);
const madU16 = saturating('u32', multiplyAdd);
const madI16: Semantics = (b, x, y, z) => saturating('i32', multiplyAdd)(b, b.sext16(x!), b.sext16(y!), z!);

const sadHighU8: Semantics = saturatingSum((b, x, y) => sumBytes(false)(b, x, y).map((term) => b.shl(term, 16)));

const writeLane: Semantics = (b, _, value, lane) => b.writeLane({ operand: b.index('vdst'), dword: 0 }, lane!, value!);

/** `width` ones from bit `offset` on. */
const fieldMask: Semantics = (b, width, offset) => b.shl(b.sub(b.shl(b.i32(1), width!), b.i32(1)), offset!);

/** Bits 2:0 of the amount count; 5 to 7 are treated as 0 (CDNA3 ISA, V_LSHL_ADD_U64). */
const shiftAddU64: Semantics = (b, x, amount, y) => {
  const count = b.and(amount!, b.i32(7));
  return b.add(b.shl(x!, b.select(b.ltU(b.i32(4), count), b.i32(0), count)), y!);
};

/** Instructions that gfx10 and gfx11 brought. RDNA3 ISA 16.12. */
// biome-ignore format: one row per line, as the tables of the manual
const laterRows = (): readonly Row[] => [
  ternary('v_xor3_b32', { gfx10: 0x178, gfx11: 0x240 }, 'b32', (b, x, y, z) => b.xor(b.xor(x, y), z)),
  row('VOP3', 'v_permlane16_b32', { gfx10: 0x377, gfx11: 0x25b }, PERMLANE, permuteRow(false), PERMUTES),
  row('VOP3', 'v_permlanex16_b32', { gfx10: 0x378, gfx11: 0x25c }, PERMLANE, permuteRow(true), PERMUTES),
  // The lanes come from src1: known by name.
  row('VOP3', 'v_permlane16_var_b32', { gfx12: 0x30f }, '+vdst:b32 src0:b32 src1:b32', undefined, PERMLANE_VAR),
  row('VOP3', 'v_permlanex16_var_b32', { gfx12: 0x310 }, '+vdst:b32 src0:b32 src1:b32', undefined, PERMLANE_VAR),
  row('VOP3', 'v_cndmask_b16', { gfx11: 0x25d }, '=vdst:b16 src0:f16 src1:f16 src2:mask', (b, x, y, mask) => b.select(mask, y, x), { ...HALVES_UNSAID, clampBit: 'never', signs: 'floats', constantTypes: { inline: 'b16', literal: 'f32' } }),
  ternary('v_maxmin_u32', { gfx11: 0x262 }, 'u32', inTurn(maxU, minU)),
  ternary('v_minmax_u32', { gfx11: 0x263 }, 'u32', inTurn(minU, maxU)),
  ternary('v_maxmin_i32', { gfx11: 0x264 }, 'i32', inTurn(maxS, minS)),
  ternary('v_minmax_i32', { gfx11: 0x265 }, 'i32', inTurn(minS, maxS)),
  binary('v_and_b16', { gfx11: 0x362 }, 'b16', (b, x, y) => b.and(x, y), HALVES_UNSAID),
  binary('v_or_b16', { gfx11: 0x363 }, 'b16', (b, x, y) => b.or(x, y), HALVES_UNSAID),
  binary('v_xor_b16', { gfx11: 0x364 }, 'b16', (b, x, y) => b.xor(x, y), HALVES_UNSAID),
];

// biome-ignore format: one row per line, as the tables of the manual
export const vop3IntegerRows = (): readonly Row[] => [
  ternary('v_mad_i32_i24', { gfx9: 0x1c2, gfx10: 0x142, gfx11: 0x20a }, 'i32', madI24, CLAMPS),
  ternary('v_mad_u32_u24', { gfx9: 0x1c3, gfx10: 0x143, gfx11: 0x20b }, 'u32', madU24, CLAMPS),
  ternary('v_bfe_u32', { gfx9: 0x1c8, gfx10: 0x148, gfx11: 0x210 }, 'u32', fieldOf('shrU')),
  ternary('v_bfe_i32', { gfx9: 0x1c9, gfx10: 0x149, gfx11: 0x211 }, 'i32', fieldOf('shrS')),
  ternary('v_bfi_b32', { gfx9: 0x1ca, gfx10: 0x14a, gfx11: 0x212 }, 'b32', (b, mask, x, y) => b.or(b.and(mask, x), b.and(b.not(mask), y))),
  ternary('v_lerp_u8', { gfx9: 0x1cd, gfx10: 0x14d, gfx11: 0x215 }, 'b32', lerpBytes),
  ternary('v_alignbit_b32', { gfx9: 0x1ce, gfx10: 0x14e, gfx11: 0x216 }, 'b32', (b, x, y, z) => align(b, x, y, b.and(z, b.i32(31)))),
  ternary('v_alignbyte_b32', { gfx9: 0x1cf, gfx10: 0x14f, gfx11: 0x217 }, 'b32', (b, x, y, z) => align(b, x, y, b.shl(b.and(z, b.i32(3)), 3))),
  ternary('v_min3_i32', { gfx9: 0x1d1, gfx10: 0x152, gfx11: 0x21a }, 'i32', inOrder('i32', min3), UNCLAMPED),
  ternary('v_max3_i32', { gfx9: 0x1d4, gfx10: 0x155, gfx11: 0x21d }, 'i32', inOrder('i32', max3), UNCLAMPED),
  ternary('v_med3_i32', { gfx9: 0x1d7, gfx10: 0x158, gfx11: 0x220 }, 'i32', inOrder('i32', med3), UNCLAMPED),
  ternary('v_min3_u32', { gfx9: 0x1d2, gfx10: 0x153, gfx11: 0x21b }, 'u32', inOrder('u32', min3), UNCLAMPED),
  ternary('v_max3_u32', { gfx9: 0x1d5, gfx10: 0x156, gfx11: 0x21e }, 'u32', inOrder('u32', max3), UNCLAMPED),
  ternary('v_med3_u32', { gfx9: 0x1d8, gfx10: 0x159, gfx11: 0x221 }, 'u32', inOrder('u32', med3), UNCLAMPED),
  ternary('v_sad_u8', { gfx9: 0x1d9, gfx10: 0x15a, gfx11: 0x222 }, 'u32', saturatingSum(sumBytes(false)), CLAMPS),
  ternary('v_sad_hi_u8', { gfx9: 0x1da, gfx10: 0x15b, gfx11: 0x223 }, 'u32', sadHighU8, CLAMPS),
  ternary('v_sad_u16', { gfx9: 0x1db, gfx10: 0x15c, gfx11: 0x224 }, 'u32', sadU16, CLAMPS),
  ternary('v_sad_u32', { gfx9: 0x1dc, gfx10: 0x15d, gfx11: 0x225 }, 'u32', saturatingSum((b, x, y) => [absoluteDifference(b, x, y)]), CLAMPS),
  ternary('v_msad_u8', { gfx9: 0x1e4, gfx10: 0x171, gfx11: 0x239 }, 'u32', saturatingSum(sumBytes(true)), CLAMPS),
  row('VOP3', 'v_qsad_pk_u16_u8', { gfx9: 0x1e5, gfx10: 0x172, gfx11: 0x23a }, QUAD_PACKED, quadPacked(false), { clampBit: 'always' }),
  row('VOP3', 'v_mqsad_pk_u16_u8', { gfx9: 0x1e6, gfx10: 0x173, gfx11: 0x23b }, QUAD_PACKED, quadPacked(true), { clampBit: 'always' }),
  row('VOP3', 'v_mqsad_u32_u8', { gfx9: 0x1e7, gfx10: 0x175, gfx11: 0x23d }, '=vdst:b128 src0:b64 src1:b32 src2:b128', quadDwords, { clampBit: 'always' }),
  row('VOP3', 'v_mad_u64_u32', { gfx9: 0x1e8, gfx10: 0x176, gfx11: 0x2fe, gfx12: ['v_mad_co_u64_u32', 0x2fe] }, MAD_U64, multiplyAddU64, CARRIES),
  row('VOP3', 'v_mad_i64_i32', { gfx9: 0x1e9, gfx10: 0x177, gfx11: 0x2ff, gfx12: ['v_mad_co_i64_i32', 0x2ff] }, MAD_I64, multiplyAddI64, CARRIES),
  ternary('v_mad_legacy_u16', 0x1eb, 'u16', saturating('u16', multiplyAdd), { ...CLAMPS, opSelText: 'none' }),
  ternary('v_mad_legacy_i16', 0x1ec, 'i16', saturating('i16', multiplyAdd), { ...CLAMPS, opSelText: 'none' }),
  ternary('v_perm_b32', { gfx9: 0x1ed, gfx10: 0x344, gfx11: 0x244 }, 'b32', permuteBytes),
  row('VOP3', 'v_mad_u32_u16', { gfx9: 0x1f1, gfx10: 0x373, gfx11: 0x259 }, '=vdst:u32 src0:u16 src1:u16 src2:u32', madU16, CLAMPS),
  row('VOP3', 'v_mad_i32_i16', { gfx9: 0x1f2, gfx10: 0x375, gfx11: 0x25a }, '=vdst:i32 src0:i16 src1:i16 src2:i32', madI16, CLAMPS),
  ternary('v_xad_u32', { gfx9: 0x1f3, gfx10: 0x345, gfx11: 0x245 }, 'u32', (b, x, y, z) => b.add(b.xor(x, y), z)),
  ternary('v_min3_i16', { gfx9: 0x1f5, gfx10: 0x352, gfx11: 0x24a }, 'i16', inOrder('i16', min3), CLAMPS),
  ternary('v_max3_i16', { gfx9: 0x1f8, gfx10: 0x355, gfx11: 0x24d }, 'i16', inOrder('i16', max3), CLAMPS),
  ternary('v_med3_i16', { gfx9: 0x1fb, gfx10: 0x358, gfx11: 0x250 }, 'i16', inOrder('i16', med3), CLAMPS),
  ternary('v_min3_u16', { gfx9: 0x1f6, gfx10: 0x353, gfx11: 0x24b }, 'u16', inOrder('u16', min3), CLAMPS),
  ternary('v_max3_u16', { gfx9: 0x1f9, gfx10: 0x356, gfx11: 0x24e }, 'u16', inOrder('u16', max3), CLAMPS),
  ternary('v_med3_u16', { gfx9: 0x1fc, gfx10: 0x359, gfx11: 0x251 }, 'u16', inOrder('u16', med3), CLAMPS),
  ternary('v_lshl_add_u32', { gfx9: 0x1fd, gfx10: 0x346, gfx11: 0x246 }, 'u32', (b, x, y, z) => b.add(b.shl(x, y), z)),
  ternary('v_add_lshl_u32', { gfx9: 0x1fe, gfx10: 0x347, gfx11: 0x247 }, 'u32', (b, x, y, z) => b.shl(b.add(x, y), z)),
  ternary('v_add3_u32', { gfx9: 0x1ff, gfx10: 0x36d, gfx11: 0x255 }, 'u32', (b, x, y, z) => b.add(b.add(x, y), z)),
  ternary('v_lshl_or_b32', { gfx9: 0x200, gfx10: 0x36f, gfx11: 0x256 }, 'b32', (b, x, y, z) => b.or(b.shl(x, y), z)),
  ternary('v_and_or_b32', { gfx9: 0x201, gfx10: 0x371, gfx11: 0x257 }, 'b32', (b, x, y, z) => b.or(b.and(x, y), z)),
  ternary('v_or3_b32', { gfx9: 0x202, gfx10: 0x372, gfx11: 0x258 }, 'b32', (b, x, y, z) => b.or(b.or(x, y), z)),
  ternary('v_mad_u16', { gfx9: 0x204, gfx10: 0x340, gfx11: 0x241 }, 'u16', saturating('u16', multiplyAdd), KEEPS_HIGH_HALF),
  ternary('v_mad_i16', { gfx9: 0x205, gfx10: 0x35e, gfx11: 0x253 }, 'i16', saturating('i16', multiplyAdd), KEEPS_HIGH_HALF),
  row('VOP3', 'v_lshl_add_u64', { gfx940: 0x208 }, '=vdst:u64 src0:u64 src1:u32 src2:u64', shiftAddU64),
  binary('v_mul_lo_i32', { gfx101: 0x16b }, 'i32', (b, x, y) => b.mul(x, y)),
  binary('v_mul_lo_u32', { gfx9: 0x285, gfx10: 0x169, gfx11: 0x32c }, 'u32', (b, x, y) => b.mul(x, y), NO_VOP3_DPP),
  binary('v_mul_hi_u32', { gfx9: 0x286, gfx10: 0x16a, gfx11: 0x32d }, 'u32', (b, x, y) => b.op('i32.mulHiU', x, y), NO_VOP3_DPP),
  binary('v_mul_hi_i32', { gfx9: 0x287, gfx10: 0x16c, gfx11: 0x32e }, 'i32', (b, x, y) => b.op('i32.mulHiS', x, y), NO_VOP3_DPP),
  row('VOP3', 'v_readlane_b32', { gfx9: 0x289, gfx10: 0x360 }, '=vdst:b32/s src0:b32 src1:b32/s', (b, x, lane) => readLane(b, x, lane), { ...NO_VOP3_DPP, vectorSource: true }),
  row('VOP3', 'v_writelane_b32', { gfx9: 0x28a, gfx10: 0x361 }, '+vdst:b32 src0:b32/s src1:b32/s', writeLane, { ...NO_VOP3_DPP, freeM0: true }),
  binary('v_bcnt_u32_b32', { gfx9: 0x28b, gfx10: 0x364, gfx11: 0x31e }, 'b32', (b, x, y) => b.add(b.op('i32.popcnt', x), y)),
  binary('v_mbcnt_lo_u32_b32', { gfx9: 0x28c, gfx10: 0x365, gfx11: 0x31f }, 'b32', (b, x, y) => countBelow(b, 'low', x, y)),
  binary('v_mbcnt_hi_u32_b32', { gfx9: 0x28d, gfx10: 0x366, gfx11: 0x320 }, 'b32', (b, x, y) => countBelow(b, 'high', x, y)),
  row('VOP3', 'v_lshlrev_b64', { gfx9: 0x28f, gfx10: 0x2ff, gfx11: 0x33c, gfx12: -1 }, SHIFT_B64, (b, amount, x) => b.shl(x, amount)),
  row('VOP2', 'v_lshlrev_b64', { gfx12: 0x1f }, SHIFT_B64, (b, amount, x) => b.shl(x, amount)),
  row('VOP3', 'v_lshrrev_b64', { gfx9: 0x290, gfx10: 0x300, gfx11: 0x33d }, SHIFT_B64, (b, amount, x) => b.shrU(x, amount)),
  row('VOP3', 'v_ashrrev_i64', { gfx9: 0x291, gfx10: 0x301, gfx11: 0x33e }, '=vdst:i64 src0:b32 src1:i64', (b, amount, x) => b.shrS(x, amount)),
  binary('v_bfm_b32', { gfx9: 0x293, gfx10: 0x363, gfx11: 0x31d }, 'b32', fieldMask),
  binary('v_cvt_pk_u16_u32', { gfx9: 0x297, gfx10: 0x36a, gfx11: 0x323 }, 'u32', packSaturated('u16', 'zext64'), { clampBit: 'never' }),
  binary('v_cvt_pk_i16_i32', { gfx9: 0x298, gfx10: 0x36b, gfx11: 0x324 }, 'i32', packSaturated('i16', 'sext64'), { clampBit: 'never' }),
  binary('v_add_i32', { gfx9: 0x29c, gfx10: ['v_add_nc_i32', 0x37f], gfx11: ['v_add_nc_i32', 0x326] }, 'i32', saturating('i32', add), CLAMPS),
  binary('v_sub_i32', { gfx9: 0x29d, gfx10: ['v_sub_nc_i32', 0x376], gfx11: ['v_sub_nc_i32', 0x325] }, 'i32', saturating('i32', subtract), CLAMPS),
  binary('v_add_i16', { gfx9: 0x29e, gfx10: ['v_add_nc_i16', 0x30d] }, 'i16', saturating('i16', add), CLAMPS),
  binary('v_sub_i16', { gfx9: 0x29f, gfx10: ['v_sub_nc_i16', 0x30e] }, 'i16', saturating('i16', subtract), CLAMPS),
  ...laterRows(),
];
