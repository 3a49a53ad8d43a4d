/** Scalar instructions on big integers: CDNA3 ISA 12.1 to 12.5, RDNA3 ISA 16.1 to 16.5. */
import { absolute, signed, unsigned } from './numbers.ts';
import { leadingSigns, leadingZeros, lowestOne, population, reversed } from './vector-integers.ts';

export interface ScalarState {
  readonly scc: bigint;
  readonly exec: bigint;
  readonly waveSize: 32 | 64;
}

export interface ScalarOutcome {
  /** Destination; absent: it stays. */
  readonly d?: bigint;
  readonly scc?: bigint;
  readonly exec?: bigint;
}

/** Sources in the order of the operands; a destination that is read comes first. */
export type ScalarModel = (state: ScalarState, ...sources: bigint[]) => ScalarOutcome;
type Models = Readonly<Record<string, ScalarModel>>;

const flag = (condition: boolean): bigint => (condition ? 1n : 0n);
const WIDTHS = [32, 64] as const;

const forWidths = (entries: (width: 32 | 64) => Models): Models => Object.assign({}, ...WIDTHS.map(entries));

/** SCC tells whether the result is not 0. */
const logical =
  (width: number, compute: (...sources: bigint[]) => bigint): ScalarModel =>
  (_, ...sources) => {
    const d = unsigned(width, compute(...sources));
    return { d, scc: flag(d !== 0n) };
  };

const plain =
  (width: number, compute: (...sources: bigint[]) => bigint): ScalarModel =>
  (_, ...sources) => ({ d: unsigned(width, compute(...sources)) });

const carried =
  (exact: (x: bigint, y: bigint, carry: bigint) => bigint): ScalarModel =>
  ({ scc }, x, y) => {
    const value = exact(x!, y!, scc);
    return { d: unsigned(32, value), scc: flag(value < 0n || value >> 32n !== 0n) };
  };

const overflowing =
  (exact: (x: bigint, y: bigint) => bigint): ScalarModel =>
  (_, x, y) => {
    const value = exact(signed(32, x!), signed(32, y!));
    return { d: unsigned(32, value), scc: flag(value !== signed(32, value)) };
  };

const i32 = (x: bigint): bigint => signed(32, x);
const s16 = (x: bigint): bigint => signed(16, x);

/** SCC tells whether the first source was taken. */
const chosen =
  (isSigned: boolean, wantLess: boolean): ScalarModel =>
  (_, x, y) => {
    const [p, q] = isSigned ? [i32(x!), i32(y!)] : [x!, y!];
    const first = wantLess ? p < q : p >= q;
    return { d: first ? x! : y!, scc: flag(first) };
  };

function bitField(width: 32 | 64, isSigned: boolean): ScalarModel {
  return (_, x, y) => {
    const offset = y! & BigInt(width - 1);
    const count = (y! >> 16n) & 0x7fn;
    const source = isSigned ? signed(width, x!) : x!;
    const limit = count > BigInt(width) ? BigInt(width) : count;
    const field = unsigned(Number(limit), source >> offset);
    const d = unsigned(width, isSigned ? signed(Number(limit), field) : field);
    return { d, scc: flag(d !== 0n) };
  };
}

const shiftAdd =
  (count: bigint): ScalarModel =>
  (_, x, y) => {
    const value = (x! << count) + y!;
    return { d: unsigned(32, value), scc: flag(value >> 32n !== 0n) };
  };

const half = (x: bigint, high: boolean): bigint => (high ? x >> 16n : x & 0xffffn);
const packing = (low: boolean, high: boolean): ScalarModel =>
  plain(32, (x, y) => half(x!, low) | (half(y!, high) << 16n));

type Binary = (x: bigint, y: bigint) => bigint;
const BITWISE: Readonly<Record<string, Binary>> = {
  and: (x, y) => x & y,
  or: (x, y) => x | y,
  xor: (x, y) => x ^ y,
  andn2: (x, y) => x & ~y,
  orn2: (x, y) => x | ~y,
  nand: (x, y) => ~(x & y),
  nor: (x, y) => ~(x | y),
  xnor: (x, y) => ~(x ^ y),
};
/** With the source first and EXEC second. */
const MASKS: Readonly<Record<string, Binary>> = {
  ...BITWISE,
  andn1: (x, y) => ~x & y,
  orn1: (x, y) => ~x | y,
};

const groups = (width: number, x: bigint, each: (any: boolean, i: number) => bigint): bigint =>
  Array.from({ length: width / 4 }, (_, i) => each(((x >> BigInt(4 * i)) & 15n) !== 0n, i)).reduce((p, q) => p | q, 0n);

const withWidths: Models = forWidths((width) => {
  const last = BigInt(width - 1);
  const ones: ScalarModel = logical(32, (x) => population(x!));
  return {
    ...Object.fromEntries(
      Object.entries(BITWISE).map(([name, compute]) => [
        `s_${name}_b${width}`,
        logical(width, (x, y) => compute(x!, y!)),
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(MASKS).map(([name, compute]): [string, ScalarModel] => [
        `s_${name}_saveexec_b${width}`,
        ({ exec }, x) => {
          const value = unsigned(width, compute(x!, unsigned(width, exec)));
          return { d: unsigned(width, exec), exec: value, scc: flag(value !== 0n) };
        },
      ]),
    ),
    ...Object.fromEntries(
      ['andn1', 'andn2'].map((name): [string, ScalarModel] => [
        `s_${name}_wrexec_b${width}`,
        ({ exec }, x) => {
          const value = unsigned(width, MASKS[name]!(x!, unsigned(width, exec)));
          return { d: value, exec: value, scc: flag(value !== 0n) };
        },
      ]),
    ),
    [`s_mov_b${width}`]: plain(width, (x) => x!),
    [`s_cmov_b${width}`]: ({ scc }, d, x) => ({ d: scc ? x! : d! }),
    [`s_not_b${width}`]: logical(width, (x) => ~x!),
    [`s_wqm_b${width}`]: logical(width, (x) => groups(width, x!, (any, i) => (any ? 15n << BigInt(4 * i) : 0n))),
    [`s_quadmask_b${width}`]: logical(width, (x) => groups(width, x!, (any, i) => (any ? 1n << BigInt(i) : 0n))),
    [`s_brev_b${width}`]: plain(width, (x) => reversed(width, x!)),
    [`s_bcnt0_i32_b${width}`]: logical(32, (x) => BigInt(width) - population(x!)),
    [`s_bcnt1_i32_b${width}`]: ones,
    [`s_ff0_i32_b${width}`]: plain(32, (x) => lowestOne(width, unsigned(width, ~x!))),
    [`s_ff1_i32_b${width}`]: plain(32, (x) => lowestOne(width, x!)),
    [`s_flbit_i32_b${width}`]: plain(32, (x) => leadingZeros(width, x!)),
    [width === 32 ? 's_flbit_i32' : 's_flbit_i32_i64']: plain(32, (x) => leadingSigns(width, x!)),
    [`s_bitset0_b${width}`]: plain(width, (d, x) => d! & ~(1n << (x! & last))),
    [`s_bitset1_b${width}`]: plain(width, (d, x) => d! | (1n << (x! & last))),
    [`s_cselect_b${width}`]: ({ scc }, x, y) => ({ d: scc ? x! : y! }),
    [`s_lshl_b${width}`]: logical(width, (x, y) => x! << (y! & last)),
    [`s_lshr_b${width}`]: logical(width, (x, y) => x! >> (y! & last)),
    [`s_ashr_i${width}`]: logical(width, (x, y) => signed(width, x!) >> (y! & last)),
    [`s_bfm_b${width}`]: plain(width, (x, y) => ((1n << (x! & last)) - 1n) << (y! & last)),
    [`s_bfe_u${width}`]: bitField(width, false),
    [`s_bfe_i${width}`]: bitField(width, true),
    [`s_bitcmp0_b${width}`]: (_, x, y) => ({ scc: flag(((x! >> (y! & last)) & 1n) === 0n) }),
    [`s_bitcmp1_b${width}`]: (_, x, y) => ({ scc: flag(((x! >> (y! & last)) & 1n) === 1n) }),
  };
});

const ORDERS: Readonly<Record<string, (x: bigint, y: bigint) => boolean>> = {
  eq: (x, y) => x === y,
  lg: (x, y) => x !== y,
  gt: (x, y) => x > y,
  ge: (x, y) => x >= y,
  lt: (x, y) => x < y,
  le: (x, y) => x <= y,
};

const comparisons: Models = Object.fromEntries(
  Object.entries(ORDERS).flatMap(([name, test]): [string, ScalarModel][] => [
    [`s_cmp_${name}_u32`, (_, x, y) => ({ scc: flag(test(x!, y!)) })],
    [`s_cmp_${name}_u64`, (_, x, y) => ({ scc: flag(test(x!, y!)) })],
    [`s_cmp_${name}_i32`, (_, x, y) => ({ scc: flag(test(i32(x!), i32(y!))) })],
    [`s_cmpk_${name}_u32`, (_, x, k) => ({ scc: flag(test(x!, k!)) })],
    [`s_cmpk_${name}_i32`, (_, x, k) => ({ scc: flag(test(i32(x!), s16(k!))) })],
  ]),
);

export const SCALAR_MODELS: Models = {
  ...withWidths,
  ...comparisons,
  s_add_u32: carried((x, y) => x + y),
  s_sub_u32: carried((x, y) => x - y),
  s_addc_u32: carried((x, y, carry) => x + y + carry),
  s_subb_u32: carried((x, y, carry) => x - y - carry),
  s_add_i32: overflowing((x, y) => x + y),
  s_sub_i32: overflowing((x, y) => x - y),
  s_addk_i32: (state, d, k) => overflowing((x, y) => x + y)(state, d!, unsigned(32, s16(k!))),
  s_mulk_i32: plain(32, (d, k) => i32(d!) * s16(k!)),
  s_movk_i32: plain(32, (k) => s16(k!)),
  s_cmovk_i32: ({ scc }, d, k) => ({ d: scc ? unsigned(32, s16(k!)) : d! }),
  s_min_i32: chosen(true, true),
  s_min_u32: chosen(false, true),
  s_max_i32: chosen(true, false),
  s_max_u32: chosen(false, false),
  s_mul_i32: plain(32, (x, y) => x! * y!),
  s_mul_hi_u32: plain(32, (x, y) => (x! * y!) >> 32n),
  s_mul_hi_i32: plain(32, (x, y) => (i32(x!) * i32(y!)) >> 32n),
  s_absdiff_i32: logical(32, (x, y) => absolute(i32(i32(x!) - i32(y!)))),
  s_abs_i32: logical(32, (x) => absolute(i32(x!))),
  s_sext_i32_i8: plain(32, (x) => signed(8, x!)),
  s_sext_i32_i16: plain(32, (x) => s16(x!)),
  s_bitreplicate_b64_b32: plain(64, (x) => BigInt(`0b${x!.toString(2).replaceAll('1', '11').replaceAll('0', '00')}`)),
  s_lshl1_add_u32: shiftAdd(1n),
  s_lshl2_add_u32: shiftAdd(2n),
  s_lshl3_add_u32: shiftAdd(3n),
  s_lshl4_add_u32: shiftAdd(4n),
  s_pack_ll_b32_b16: packing(false, false),
  s_pack_lh_b32_b16: packing(false, true),
  s_pack_hl_b32_b16: packing(true, false),
  s_pack_hh_b32_b16: packing(true, true),
};
