/**
 * Integer, bit and byte instructions of the vector unit on big integers, from the descriptions in CDNA3 ISA
 * 12 and RDNA3 ISA 16.
 */
import { forTypes, type LaneContext, type LaneModel, type LaneModels } from './lane-context.ts';
import { absolute, signed, unsigned } from './numbers.ts';

export type IntegerType = 'u16' | 'i16' | 'u32' | 'i32' | 'u64' | 'i64';

const bitsOf = (type: IntegerType): number => Number(type.slice(1));
export const numberOf = (type: IntegerType, x: bigint): bigint =>
  type[0] === 'i' ? signed(bitsOf(type), x) : unsigned(bitsOf(type), x);

export const least = (...xs: bigint[]): bigint => xs.reduce((x, y) => (y < x ? y : x));
export const most = (...xs: bigint[]): bigint => xs.reduce((x, y) => (y > x ? y : x));
const middle = (x: bigint, y: bigint, z: bigint): bigint => x + y + z - least(x, y, z) - most(x, y, z);

export function limited(type: IntegerType, x: bigint): bigint {
  const bits = BigInt(bitsOf(type));
  const [low, high] = type[0] === 'i' ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
  return unsigned(bitsOf(type), most(low, least(high, x)));
}

/** The exact result in the type: wrapped, or saturated with the clamp bit. */
const clampable =
  (type: IntegerType, exact: (...numbers: bigint[]) => bigint): LaneModel =>
  (c, ...sources) => {
    const value = exact(...sources.map((x) => numberOf(type, x)));
    return c.fields['clamp'] ? limited(type, value) : unsigned(bitsOf(type), value);
  };

const plain =
  (type: IntegerType, exact: (...numbers: bigint[]) => bigint): LaneModel =>
  (_, ...sources) =>
    unsigned(bitsOf(type), exact(...sources.map((x) => numberOf(type, x))));

const bits =
  (width: number, compute: (...sources: bigint[]) => bigint): LaneModel =>
  (_, ...sources) =>
    unsigned(width, compute(...sources));

const byte = (x: bigint, i: number): bigint => (x >> BigInt(8 * i)) & 0xffn;
const half = (x: bigint, i: number): bigint => (x >> BigInt(16 * i)) & 0xffffn;
const four = [0, 1, 2, 3];
const sum = (xs: readonly bigint[]): bigint => xs.reduce((x, y) => x + y, 0n);
const differ = (x: bigint, y: bigint): bigint => absolute(x - y);
const s24 = (x: bigint): bigint => signed(24, x);
const u24 = (x: bigint): bigint => unsigned(24, x);

export const population = (x: bigint): bigint => BigInt(x.toString(2).replaceAll('0', '').length);
/** -1 when there is none. */
export const lowestOne = (width: number, x: bigint): bigint => {
  for (let i = 0; i < width; i++) if ((x >> BigInt(i)) & 1n) return BigInt(i);
  return -1n;
};
export const leadingZeros = (width: number, x: bigint): bigint =>
  x === 0n ? -1n : BigInt(width - x.toString(2).length);
/** How many bits from the top on equal the sign, the sign bit too; -1 when all do. */
export const leadingSigns = (width: number, x: bigint): bigint => {
  const top = (x >> BigInt(width - 1)) & 1n;
  const rest = top ? unsigned(width, ~x) : x;
  return leadingZeros(width, rest);
};
export const reversed = (width: number, x: bigint): bigint =>
  BigInt(`0b${[...x.toString(2).padStart(width, '0')].reverse().join('')}`);

const saturatingSum =
  (terms: (x: bigint, y: bigint) => bigint): LaneModel =>
  (c, x, y, z) =>
    c.fields['clamp'] ? limited('u32', terms(x!, y!) + z!) : unsigned(32, terms(x!, y!) + z!);

/** Sum of absolute differences of bytes; masked: those whose reference byte is 0 do not count. */
const byteDifferences = (x: bigint, y: bigint, masked: boolean): bigint =>
  sum(four.map((i) => (masked && byte(y, i) === 0n ? 0n : differ(byte(x, i), byte(y, i)))));

const carried =
  (exact: (x: bigint, y: bigint, carry: bigint) => bigint): LaneModel =>
  (c, x, y, carry = 0n) => {
    const value = exact(x!, y!, carry);
    const overflow = value < 0n || value >> 32n !== 0n;
    const wrapped = unsigned(32, value);
    return [c.fields['clamp'] && overflow ? (value < 0n ? 0n : 0xffffffffn) : wrapped, overflow ? 1n : 0n];
  };

function permutedByte(data: bigint, select: number): bigint {
  if (select >= 13) return 0xffn;
  if (select === 12) return 0n;
  if (select >= 8) return byte(data, (select - 8) * 2 + 1) & 0x80n ? 0xffn : 0n;
  return byte(data, select);
}

/** Four sums over windows of the 8 bytes of x, each added to a part of z. */
const windows =
  (masked: boolean, width: 16 | 32): LaneModel =>
  (_, x, y, z) => {
    const total = four.map((i) => {
      const addend = (z! >> BigInt(width * i)) & ((1n << BigInt(width)) - 1n);
      return unsigned(width, byteDifferences((x! >> BigInt(8 * i)) & 0xffffffffn, y!, masked) + addend);
    });
    return total.reduce((all, part, i) => all | (part << BigInt(width * i)), 0n);
  };

const ORDERS: Readonly<Record<string, (x: bigint, y: bigint) => boolean>> = {
  f: () => false,
  lt: (x, y) => x < y,
  eq: (x, y) => x === y,
  le: (x, y) => x <= y,
  gt: (x, y) => x > y,
  ne: (x, y) => x !== y,
  lg: (x, y) => x !== y,
  ge: (x, y) => x >= y,
  t: () => true,
};
const TYPES: readonly IntegerType[] = ['u16', 'i16', 'u32', 'i32', 'u64', 'i64'];

export const holds = (order: string, type: IntegerType, x: bigint, y: bigint): boolean =>
  ORDERS[order]!(numberOf(type, x), numberOf(type, y));

const comparisons: LaneModels = forTypes(TYPES, (type) =>
  Object.fromEntries(
    Object.keys(ORDERS).map((order) => [
      `v_cmp_${order}_${type}`,
      (_: LaneContext, x: bigint, y: bigint) => (holds(order, type, x, y) ? 1n : 0n),
    ]),
  ),
);

const ordered: LaneModels = forTypes(['u16', 'i16', 'u32', 'i32'] as const, (type) => ({
  [`v_min_${type}`]: plain(type, least),
  [`v_max_${type}`]: plain(type, most),
  [`v_min3_${type}`]: plain(type, least),
  [`v_max3_${type}`]: plain(type, most),
  [`v_med3_${type}`]: plain(type, (x, y, z) => middle(x!, y!, z!)),
  [`v_maxmin_${type}`]: plain(type, (x, y, z) => least(most(x!, y!), z!)),
  [`v_minmax_${type}`]: plain(type, (x, y, z) => most(least(x!, y!), z!)),
  [`v_add_${type}`]: clampable(type, (x, y) => x! + y!),
  [`v_sub_${type}`]: clampable(type, (x, y) => x! - y!),
  [`v_subrev_${type}`]: clampable(type, (x, y) => y! - x!),
  [`v_mad_${type}`]: clampable(type, (x, y, z) => x! * y! + z!),
  [`v_mad_legacy_${type}`]: clampable(type, (x, y, z) => x! * y! + z!),
}));

const arithmeticModels: LaneModels = {
  v_mul_lo_u16: clampable('u16', (x, y) => x! * y!),
  v_mul_i32_i24: clampable('i32', (x, y) => s24(x!) * s24(y!)),
  v_mul_u32_u24: clampable('u32', (x, y) => u24(x!) * u24(y!)),
  v_mul_hi_i32_i24: plain('i32', (x, y) => (s24(x!) * s24(y!)) >> 32n),
  v_mul_hi_u32_u24: plain('u32', (x, y) => (u24(x!) * u24(y!)) >> 32n),
  v_mad_i32_i24: clampable('i32', (x, y, z) => s24(x!) * s24(y!) + z!),
  v_mad_u32_u24: clampable('u32', (x, y, z) => u24(x!) * u24(y!) + z!),
  v_mad_u32_u16: clampable('u32', (x, y, z) => half(x!, 0) * half(y!, 0) + z!),
  v_mad_i32_i16: clampable('i32', (x, y, z) => signed(16, x!) * signed(16, y!) + z!),
  v_mul_lo_u32: plain('u32', (x, y) => x! * y!),
  v_mul_hi_u32: plain('u32', (x, y) => (x! * y!) >> 32n),
  v_mul_hi_i32: plain('i32', (x, y) => (x! * y!) >> 32n),
  v_mad_u64_u32: (c, x, y, z) => {
    const exact = x! * y! + z!;
    const carry = exact >> 64n;
    return [c.fields['clamp'] && carry ? (1n << 64n) - 1n : unsigned(64, exact), carry];
  },
  v_mad_i64_i32: (c, x, y, z) => {
    const exact = signed(32, x!) * signed(32, y!) + signed(64, z!);
    return [c.fields['clamp'] ? limited('i64', exact) : unsigned(64, exact), exact < 0n ? 1n : 0n];
  },
  v_add_co_u32: carried((x, y) => x + y),
  v_sub_co_u32: carried((x, y) => x - y),
  v_subrev_co_u32: carried((x, y) => y - x),
  v_addc_co_u32: carried((x, y, carry) => x + y + carry),
  v_subb_co_u32: carried((x, y, carry) => x - y - carry),
  v_subbrev_co_u32: carried((x, y, carry) => y - x - carry),
  v_xad_u32: bits(32, (x, y, z) => (x! ^ y!) + z!),
  v_lshl_add_u32: bits(32, (x, y, z) => (x! << (y! & 31n)) + z!),
  v_add_lshl_u32: bits(32, (x, y, z) => (x! + y!) << (z! & 31n)),
  v_add3_u32: bits(32, (x, y, z) => x! + y! + z!),
  // Shifts of 5 to 7 count as 0 (CDNA3 ISA, V_LSHL_ADD_U64).
  v_lshl_add_u64: bits(64, (x, y, z) => (x! << ((y! & 7n) > 4n ? 0n : y! & 7n)) + z!),
  v_sad_u8: saturatingSum((x, y) => byteDifferences(x, y, false)),
  v_sad_hi_u8: saturatingSum((x, y) => byteDifferences(x, y, false) << 16n),
  v_sad_u16: saturatingSum((x, y) => differ(half(x, 0), half(y, 0)) + differ(half(x, 1), half(y, 1))),
  v_sad_u32: saturatingSum(differ),
  v_msad_u8: saturatingSum((x, y) => byteDifferences(x, y, true)),
  v_qsad_pk_u16_u8: windows(false, 16),
  v_mqsad_pk_u16_u8: windows(true, 16),
  v_mqsad_u32_u8: windows(true, 32),
  v_lerp_u8: bits(32, (x, y, z) =>
    sum(four.map((i) => ((byte(x!, i) + byte(y!, i) + (byte(z!, i) & 1n)) >> 1n) << BigInt(8 * i))),
  ),
  v_cvt_pk_u16_u32: (_, x, y) => limited('u16', x!) | (limited('u16', y!) << 16n),
  v_cvt_pk_i16_i32: (_, x, y) => limited('i16', signed(32, x!)) | (limited('i16', signed(32, y!)) << 16n),
  v_sat_pk_u8_i16: (_, x) =>
    [0, 1].reduce((all, i) => all | (most(0n, least(255n, signed(16, half(x!, i)))) << BigInt(8 * i)), 0n),
  v_cvt_i32_i16: bits(32, (x) => signed(16, x!)),
  v_cvt_u32_u16: bits(32, (x) => x!),
};

const bitModels: LaneModels = {
  v_mov_b16: bits(16, (x) => x!),
  v_mov_b32: bits(32, (x) => x!),
  v_mov_b64: bits(64, (x) => x!),
  v_accvgpr_mov_b32: bits(32, (x) => x!),
  v_accvgpr_read_b32: bits(32, (x) => x!),
  v_accvgpr_write_b32: bits(32, (x) => x!),
  v_swap_b32: (_, x, y) => [y!, x!],
  v_not_b16: bits(16, (x) => ~x!),
  v_not_b32: bits(32, (x) => ~x!),
  ...forTypes(['b16', 'b32'] as const, (type) => {
    const width = Number(type.slice(1));
    return {
      [`v_and_${type}`]: bits(width, (x, y) => x! & y!),
      [`v_or_${type}`]: bits(width, (x, y) => x! | y!),
      [`v_xor_${type}`]: bits(width, (x, y) => x! ^ y!),
      [`v_cndmask_${type}`]: (_, x, y, mask) => (mask ? y! : x!),
    };
  }),
  v_xnor_b32: bits(32, (x, y) => ~(x! ^ y!)),
  v_xor3_b32: bits(32, (x, y, z) => x! ^ y! ^ z!),
  v_or3_b32: bits(32, (x, y, z) => x! | y! | z!),
  v_and_or_b32: bits(32, (x, y, z) => (x! & y!) | z!),
  v_lshl_or_b32: bits(32, (x, y, z) => (x! << (y! & 31n)) | z!),
  v_bfi_b32: bits(32, (x, y, z) => (x! & y!) | (~x! & z!)),
  v_bfm_b32: bits(32, (x, y) => ((1n << (x! & 31n)) - 1n) << (y! & 31n)),
  v_bfe_u32: bits(32, (x, y, z) => (x! >> (y! & 31n)) & ((1n << (z! & 31n)) - 1n)),
  v_bfe_i32: bits(32, (x, y, z) => signed(Number(z! & 31n), signed(32, x!) >> (y! & 31n))),
  v_alignbit_b32: bits(32, (x, y, z) => ((x! << 32n) | y!) >> (z! & 31n)),
  v_alignbyte_b32: bits(32, (x, y, z) => ((x! << 32n) | y!) >> (8n * (z! & 3n))),
  v_perm_b32: bits(32, (x, y, z) =>
    sum(four.map((i) => permutedByte((x! << 32n) | y!, Number(byte(z!, i))) << BigInt(8 * i))),
  ),
  v_lshlrev_b16: bits(16, (x, y) => y! << (x! & 15n)),
  v_lshrrev_b16: bits(16, (x, y) => y! >> (x! & 15n)),
  v_ashrrev_i16: bits(16, (x, y) => signed(16, y!) >> (x! & 15n)),
  v_lshlrev_b32: bits(32, (x, y) => y! << (x! & 31n)),
  v_lshrrev_b32: bits(32, (x, y) => y! >> (x! & 31n)),
  v_ashrrev_i32: bits(32, (x, y) => signed(32, y!) >> (x! & 31n)),
  v_lshlrev_b64: bits(64, (x, y) => y! << (x! & 63n)),
  v_lshrrev_b64: bits(64, (x, y) => y! >> (x! & 63n)),
  v_ashrrev_i64: bits(64, (x, y) => signed(64, y!) >> (x! & 63n)),
  v_bfrev_b32: bits(32, (x) => reversed(32, x!)),
  v_ffbh_u32: bits(32, (x) => leadingZeros(32, x!)),
  v_ffbl_b32: bits(32, (x) => lowestOne(32, x!)),
  v_ffbh_i32: bits(32, (x) => leadingSigns(32, x!)),
  v_bcnt_u32_b32: bits(32, (x, y) => population(x!) + y!),
  v_mbcnt_lo_u32_b32: (c, x, y) => unsigned(32, population(x! & ((1n << BigInt(Math.min(c.lane, 32))) - 1n)) + y!),
  v_mbcnt_hi_u32_b32: (c, x, y) => unsigned(32, population(x! & ((1n << BigInt(Math.max(c.lane - 32, 0))) - 1n)) + y!),
};

export const INTEGER_MODELS: LaneModels = { ...ordered, ...arithmeticModels, ...bitModels, ...comparisons };
