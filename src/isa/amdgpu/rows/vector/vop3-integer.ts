/** VOP3: integers, bits and lanes. CDNA2 ISA 12.11, "VOP3A & VOP3B Instructions". */
import type { Builder } from '../../../../ir/builder.ts';
import type { Value } from '../../../../ir/types.ts';
import { bitField } from '../../semantics/bit-operations.ts';
import { absoluteDifference, lerpBytes, permuteBytes, quadSadRows, sumBytes } from '../../semantics/byte-operations.ts';
import type { InstructionBuilder } from '../../semantics/instruction-builder.ts';
import { countBelow, permuteRow, readLane } from '../../semantics/lanes.ts';
import { add, asNarrow, multiplyAdd, type Narrow, saturate, saturating, subtract } from '../../semantics/saturation.ts';
import {
  alsoIn,
  type ByFamily,
  moved,
  type Opcodes,
  type OperandType,
  type Row,
  type RowFlags,
  row,
  type Semantics,
} from '../row.ts';
import { signed24, unsigned24 } from './vop2.ts';

const CLAMPS: RowFlags = { integerClamp: true };
const HALVES_UNSAID: RowFlags = { opSelText: 'none' };
const NO_VOP3_DPP: RowFlags = { noVop3Dpp: true };
const KEEPS_HIGH_HALF: RowFlags = { integerClamp: true, keepsHighHalf: true };

function binary(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcodes, `=vdst:${type} src0:${type} src1:${type}`, semantics, flags);
}

function ternary(name: string, opcodes: Opcodes, type: OperandType, semantics: Semantics, flags?: RowFlags): Row {
  return row('VOP3', name, opcodes, `=vdst:${type} src0:${type} src1:${type} src2:${type}`, semantics, flags);
}

/** min3, max3 and med3 of one type, in steps of three opcodes. The clamp bit of the 16-bit forms changes nothing. */
function orderRows(type: Narrow, first: ByFamily): Row[] {
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
      moved(first, i * 3),
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

/** Instructions that gfx10 and gfx11 brought. RDNA3 ISA 16.12. */
const LATER_ROWS: readonly Row[] = [
  ternary('v_xor3_b32', { gfx10: 376, gfx11: 576 }, 'b32', (b, x, y, z) => b.xor(b.xor(x, y), z)),
  row('VOP3', 'v_permlane16_b32', { gfx10: 887, gfx11: 603 }, PERMLANE, permuteRow(false), NO_VOP3_DPP),
  row('VOP3', 'v_permlanex16_b32', { gfx10: 888, gfx11: 604 }, PERMLANE, permuteRow(true), NO_VOP3_DPP),
  // The lanes come from src1: known by name.
  row('VOP3', 'v_permlane16_var_b32', { gfx12: 783 }, '+vdst:b32 src0:b32 src1:b32', undefined, NO_VOP3_DPP),
  row('VOP3', 'v_permlanex16_var_b32', { gfx12: 784 }, '+vdst:b32 src0:b32 src1:b32', undefined, NO_VOP3_DPP),
  row(
    'VOP3',
    'v_cndmask_b16',
    { gfx11: 605 },
    '=vdst:b16 src0:f16 src1:f16 src2:mask',
    (b, x, y, mask) => b.select(mask, y, x),
    HALVES_UNSAID,
  ),
  ternary('v_maxmin_u32', { gfx11: 610 }, 'u32', inTurn(maxU, minU)),
  ternary('v_minmax_u32', { gfx11: 611 }, 'u32', inTurn(minU, maxU)),
  ternary('v_maxmin_i32', { gfx11: 612 }, 'i32', inTurn(maxS, minS)),
  ternary('v_minmax_i32', { gfx11: 613 }, 'i32', inTurn(minS, maxS)),
  binary('v_and_b16', { gfx11: 866 }, 'b16', (b, x, y) => b.and(x, y), HALVES_UNSAID),
  binary('v_or_b16', { gfx11: 867 }, 'b16', (b, x, y) => b.or(x, y), HALVES_UNSAID),
  binary('v_xor_b16', { gfx11: 868 }, 'b16', (b, x, y) => b.xor(x, y), HALVES_UNSAID),
];

export const VOP3_INTEGER_ROWS: readonly Row[] = [
  ternary(
    'v_mad_i32_i24',
    { gfx9: 450, gfx10: 322, gfx11: 522 },
    'i32',
    (b, x, y, z) => saturating('i32', multiplyAdd)(b, signed24(b, x), signed24(b, y), z),
    CLAMPS,
  ),
  ternary(
    'v_mad_u32_u24',
    { gfx9: 451, gfx10: 323, gfx11: 523 },
    'u32',
    (b, x, y, z) => saturating('u32', multiplyAdd)(b, unsigned24(b, x), unsigned24(b, y), z),
    CLAMPS,
  ),
  ternary('v_bfe_u32', { gfx9: 456, gfx10: 328, gfx11: 528 }, 'u32', fieldOf('shrU')),
  ternary('v_bfe_i32', { gfx9: 457, gfx10: 329, gfx11: 529 }, 'i32', fieldOf('shrS')),
  ternary('v_bfi_b32', { gfx9: 458, gfx10: 330, gfx11: 530 }, 'b32', (b, mask, x, y) =>
    b.or(b.and(mask, x), b.and(b.not(mask), y)),
  ),
  ternary('v_lerp_u8', { gfx9: 461, gfx10: 333, gfx11: 533 }, 'b32', lerpBytes),
  ternary('v_alignbit_b32', { gfx9: 462, gfx10: 334, gfx11: 534 }, 'b32', (b, x, y, z) =>
    align(b, x, y, b.and(z, b.i32(31))),
  ),
  ternary('v_alignbyte_b32', { gfx9: 463, gfx10: 335, gfx11: 535 }, 'b32', (b, x, y, z) =>
    align(b, x, y, b.shl(b.and(z, b.i32(3)), 3)),
  ),
  ...orderRows('i32', { gfx9: 465, gfx10: 338, gfx11: 538 }),
  ...orderRows('u32', { gfx9: 466, gfx10: 339, gfx11: 539 }),
  ternary('v_sad_u8', { gfx9: 473, gfx10: 346, gfx11: 546 }, 'u32', saturatingSum(sumBytes(false)), CLAMPS),
  ternary(
    'v_sad_hi_u8',
    { gfx9: 474, gfx10: 347, gfx11: 547 },
    'u32',
    saturatingSum((b, x, y) => sumBytes(false)(b, x, y).map((term) => b.shl(term, 16))),
    CLAMPS,
  ),
  ternary('v_sad_u16', { gfx9: 475, gfx10: 348, gfx11: 548 }, 'u32', sadU16, CLAMPS),
  ternary(
    'v_sad_u32',
    { gfx9: 476, gfx10: 349, gfx11: 549 },
    'u32',
    saturatingSum((b, x, y) => [absoluteDifference(b, x, y)]),
    CLAMPS,
  ),
  ternary('v_msad_u8', { gfx9: 484, gfx10: 369, gfx11: 569 }, 'u32', saturatingSum(sumBytes(true)), CLAMPS),
  ...quadSadRows,
  row(
    'VOP3',
    'v_mad_u64_u32',
    { gfx9: 488, gfx10: 374, gfx11: 766, gfx12: ['v_mad_co_u64_u32', 766] },
    '=vdst:u64 =sdst:mask src0:u32 src1:u32 src2:u64',
    multiplyAddU64,
    {
      integerClamp: true,
      vop3b: true,
    },
  ),
  row(
    'VOP3',
    'v_mad_i64_i32',
    { gfx9: 489, gfx10: 375, gfx11: 767, gfx12: ['v_mad_co_i64_i32', 767] },
    '=vdst:i64 =sdst:mask src0:i32 src1:i32 src2:i64',
    multiplyAddI64,
    {
      integerClamp: true,
      vop3b: true,
    },
  ),
  ternary('v_mad_legacy_u16', 491, 'u16', saturating('u16', multiplyAdd), CLAMPS),
  ternary('v_mad_legacy_i16', 492, 'i16', saturating('i16', multiplyAdd), CLAMPS),
  ternary('v_perm_b32', { gfx9: 493, gfx10: 836, gfx11: 580 }, 'b32', permuteBytes),
  row(
    'VOP3',
    'v_mad_u32_u16',
    { gfx9: 497, gfx10: 883, gfx11: 601 },
    '=vdst:u32 src0:u16 src1:u16 src2:u32',
    saturating('u32', multiplyAdd),
    CLAMPS,
  ),
  row(
    'VOP3',
    'v_mad_i32_i16',
    { gfx9: 498, gfx10: 885, gfx11: 602 },
    '=vdst:i32 src0:i16 src1:i16 src2:i32',
    (b, x, y, z) => saturating('i32', multiplyAdd)(b, b.sext16(x), b.sext16(y), z),
    CLAMPS,
  ),
  ternary('v_xad_u32', { gfx9: 499, gfx10: 837, gfx11: 581 }, 'u32', (b, x, y, z) => b.add(b.xor(x, y), z)),
  ...orderRows('i16', { gfx9: 501, gfx10: 850, gfx11: 586 }),
  ...orderRows('u16', { gfx9: 502, gfx10: 851, gfx11: 587 }),
  ternary('v_lshl_add_u32', { gfx9: 509, gfx10: 838, gfx11: 582 }, 'u32', (b, x, y, z) => b.add(b.shl(x, y), z)),
  ternary('v_add_lshl_u32', { gfx9: 510, gfx10: 839, gfx11: 583 }, 'u32', (b, x, y, z) => b.shl(b.add(x, y), z)),
  ternary('v_add3_u32', { gfx9: 511, gfx10: 877, gfx11: 597 }, 'u32', (b, x, y, z) => b.add(b.add(x, y), z)),
  ternary('v_lshl_or_b32', { gfx9: 512, gfx10: 879, gfx11: 598 }, 'b32', (b, x, y, z) => b.or(b.shl(x, y), z)),
  ternary('v_and_or_b32', { gfx9: 513, gfx10: 881, gfx11: 599 }, 'b32', (b, x, y, z) => b.or(b.and(x, y), z)),
  ternary('v_or3_b32', { gfx9: 514, gfx10: 882, gfx11: 600 }, 'b32', (b, x, y, z) => b.or(b.or(x, y), z)),
  ternary('v_mad_u16', { gfx9: 516, gfx10: 832, gfx11: 577 }, 'u16', saturating('u16', multiplyAdd), KEEPS_HIGH_HALF),
  ternary('v_mad_i16', { gfx9: 517, gfx10: 862, gfx11: 595 }, 'i16', saturating('i16', multiplyAdd), KEEPS_HIGH_HALF),
  row('VOP3', 'v_lshl_add_u64', { gfx940: 520 }, '=vdst:u64 src0:u64 src1:u32 src2:u64', (b, x, amount, y) => {
    // Bits 2:0 count; 5 to 7 are treated as 0 (CDNA3 ISA, V_LSHL_ADD_U64).
    const count = b.and(amount, b.i32(7));
    return b.add(b.shl(x, b.select(b.ltU(b.i32(4), count), b.i32(0), count)), y);
  }),
  binary('v_mul_lo_i32', { gfx101: 363 }, 'i32', (b, x, y) => b.mul(x, y)),
  binary('v_mul_lo_u32', { gfx9: 645, gfx10: 361, gfx11: 812 }, 'u32', (b, x, y) => b.mul(x, y), NO_VOP3_DPP),
  binary(
    'v_mul_hi_u32',
    { gfx9: 646, gfx10: 362, gfx11: 813 },
    'u32',
    (b, x, y) => b.op('i32.mulHiU', x, y),
    NO_VOP3_DPP,
  ),
  binary(
    'v_mul_hi_i32',
    { gfx9: 647, gfx10: 364, gfx11: 814 },
    'i32',
    (b, x, y) => b.op('i32.mulHiS', x, y),
    NO_VOP3_DPP,
  ),
  row(
    'VOP3',
    'v_readlane_b32',
    { gfx9: 649, gfx10: 864 },
    '=vdst:b32/s src0:b32 src1:b32/s',
    (b, x, lane) => readLane(b, x, lane),
    NO_VOP3_DPP,
  ),
  row(
    'VOP3',
    'v_writelane_b32',
    { gfx9: 650, gfx10: 865 },
    '+vdst:b32 src0:b32/s src1:b32/s',
    (b, _, value, lane) => b.writeLane({ operand: b.index('vdst'), dword: 0 }, lane, value),
    NO_VOP3_DPP,
  ),
  binary('v_bcnt_u32_b32', { gfx9: 651, gfx10: 868, gfx11: 798 }, 'b32', (b, x, y) => b.add(b.op('i32.popcnt', x), y)),
  binary('v_mbcnt_lo_u32_b32', { gfx9: 652, gfx10: 869, gfx11: 799 }, 'b32', (b, x, y) => countBelow(b, 'low', x, y)),
  binary('v_mbcnt_hi_u32_b32', { gfx9: 653, gfx10: 870, gfx11: 800 }, 'b32', (b, x, y) => countBelow(b, 'high', x, y)),
  ...alsoIn(
    'VOP2',
    row(
      'VOP3',
      'v_lshlrev_b64',
      { gfx9: 655, gfx10: 767, gfx11: 828, gfx12: -1 },
      '=vdst:b64 src0:b32 src1:b64',
      (b, amount, x) => b.shl(x, amount),
    ),
    { gfx12: 31 },
  ),
  row('VOP3', 'v_lshrrev_b64', { gfx9: 656, gfx10: 768, gfx11: 829 }, '=vdst:b64 src0:b32 src1:b64', (b, amount, x) =>
    b.shrU(x, amount),
  ),
  row('VOP3', 'v_ashrrev_i64', { gfx9: 657, gfx10: 769, gfx11: 830 }, '=vdst:i64 src0:b32 src1:i64', (b, amount, x) =>
    b.shrS(x, amount),
  ),
  binary('v_bfm_b32', { gfx9: 659, gfx10: 867, gfx11: 797 }, 'b32', (b, width, offset) =>
    b.shl(b.sub(b.shl(b.i32(1), width), b.i32(1)), offset),
  ),
  binary('v_cvt_pk_u16_u32', { gfx9: 663, gfx10: 874, gfx11: 803 }, 'u32', packSaturated('u16', 'zext64')),
  binary('v_cvt_pk_i16_i32', { gfx9: 664, gfx10: 875, gfx11: 804 }, 'i32', packSaturated('i16', 'sext64')),
  binary(
    'v_add_i32',
    { gfx9: 668, gfx10: ['v_add_nc_i32', 895], gfx11: ['v_add_nc_i32', 806] },
    'i32',
    saturating('i32', add),
    CLAMPS,
  ),
  binary(
    'v_sub_i32',
    { gfx9: 669, gfx10: ['v_sub_nc_i32', 886], gfx11: ['v_sub_nc_i32', 805] },
    'i32',
    saturating('i32', subtract),
    CLAMPS,
  ),
  binary('v_add_i16', { gfx9: 670, gfx10: ['v_add_nc_i16', 781] }, 'i16', saturating('i16', add), CLAMPS),
  binary('v_sub_i16', { gfx9: 671, gfx10: ['v_sub_nc_i16', 782] }, 'i16', saturating('i16', subtract), CLAMPS),
  ...LATER_ROWS,
];
