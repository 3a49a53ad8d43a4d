import { test } from 'node:test';
import { EDGES_32 } from '../scalar.test-support.ts';
import {
  check,
  combinations,
  expectAll,
  F16_EDGES,
  F32_EDGES,
  f16,
  f32,
  fromF16,
  fromF32,
  randomBits,
  rounded,
} from '../vector.test-support.ts';

const i = (x: bigint): bigint => BigInt.asIntN(32, x);
const u = (x: bigint): bigint => BigInt.asUintN(32, x);
const i16 = (x: bigint): bigint => BigInt.asIntN(16, x);
const u16 = (x: bigint): bigint => BigInt.asUintN(16, x);
const i24 = (x: bigint): bigint => BigInt.asIntN(24, x);
const u24 = (x: bigint): bigint => BigInt.asUintN(24, x);
const clamp = (x: bigint, low: bigint, high: bigint): bigint => (x < low ? low : x > high ? high : x);
const MAX = 0xffff_ffffn;

const PAIRS = combinations(EDGES_32, EDGES_32);
const binary = (name: string, model: (x: bigint, y: bigint) => bigint): void =>
  check(name, PAIRS, (x, y) => u(model(x, y)));
const narrow = (name: string, model: (x: bigint, y: bigint) => bigint): void =>
  check(name, PAIRS, (x, y) => u16(model(x, y)));

check('v_cndmask_b32', combinations(EDGES_32, [0xffff_fff0n], [0n, 1n]), (x, y, mask) => (mask ? y : x));
check('v_cndmask_b32', combinations(EDGES_32, [7n], [0n, 1n]), (x, y, mask) => (mask ? y : x), { format: 'VOP3' });
binary('v_mul_i32_i24', (x, y) => i24(x) * i24(y));
binary('v_mul_hi_i32_i24', (x, y) => (i24(x) * i24(y)) >> 32n);
binary('v_mul_u32_u24', (x, y) => u24(x) * u24(y));
binary('v_mul_hi_u32_u24', (x, y) => (u24(x) * u24(y)) >> 32n);
binary('v_min_i32', (x, y) => (i(x) < i(y) ? x : y));
binary('v_max_i32', (x, y) => (i(x) > i(y) ? x : y));
binary('v_min_u32', (x, y) => (u(x) < u(y) ? x : y));
binary('v_max_u32', (x, y) => (u(x) > u(y) ? x : y));
binary('v_lshrrev_b32', (x, y) => y >> (x & 31n));
binary('v_ashrrev_i32', (x, y) => i(y) >> (x & 31n));
binary('v_lshlrev_b32', (x, y) => y << (x & 31n));
binary('v_and_b32', (x, y) => x & y);
binary('v_or_b32', (x, y) => x | y);
binary('v_xor_b32', (x, y) => x ^ y);
binary('v_xnor_b32', (x, y) => ~(x ^ y));
binary('v_add_u32', (x, y) => x + y);
binary('v_sub_u32', (x, y) => x - y);
binary('v_subrev_u32', (x, y) => y - x);
narrow('v_add_u16', (x, y) => x + y);
narrow('v_sub_u16', (x, y) => x - y);
narrow('v_subrev_u16', (x, y) => y - x);
narrow('v_mul_lo_u16', (x, y) => x * y);
narrow('v_lshlrev_b16', (x, y) => y << (x & 15n));
narrow('v_lshrrev_b16', (x, y) => u16(y) >> (x & 15n));
narrow('v_ashrrev_i16', (x, y) => i16(y) >> (x & 15n));
narrow('v_max_u16', (x, y) => (u16(x) > u16(y) ? x : y));
narrow('v_max_i16', (x, y) => (i16(x) > i16(y) ? x : y));
narrow('v_min_u16', (x, y) => (u16(x) < u16(y) ? x : y));
narrow('v_min_i16', (x, y) => (i16(x) < i16(y) ? x : y));

test('clamp saturates', () => {
  const saturated = (name: string, model: (x: bigint, y: bigint) => bigint): void =>
    expectAll(name, PAIRS, model, { format: 'VOP3', fields: { clamp: 1 } });
  saturated('v_add_u32', (x, y) => clamp(x + y, 0n, MAX));
  saturated('v_sub_u32', (x, y) => clamp(x - y, 0n, MAX));
  saturated('v_subrev_u32', (x, y) => clamp(y - x, 0n, MAX));
  saturated('v_add_u16', (x, y) => clamp(u16(x) + u16(y), 0n, 0xffffn));
  saturated('v_sub_u16', (x, y) => clamp(u16(x) - u16(y), 0n, 0xffffn));
  saturated('v_mul_i32_i24', (x, y) => u(clamp(i24(x) * i24(y), -(1n << 31n), (1n << 31n) - 1n)));
  saturated('v_mul_u32_u24', (x, y) => clamp(u24(x) * u24(y), 0n, MAX));
});

const CARRIED = combinations(EDGES_32, EDGES_32, [0n, 1n]);
for (const format of ['VOP2', 'VOP3B', 'VOP2_SDWA'] as const) {
  check('v_add_co_u32', PAIRS, (x, y) => [u(x + y), x + y > MAX], { format });
  check('v_sub_co_u32', PAIRS, (x, y) => [u(x - y), y > x], { format });
  check('v_subrev_co_u32', PAIRS, (x, y) => [u(y - x), x > y], { format });
  check('v_addc_co_u32', CARRIED, (x, y, c) => [u(x + y + c), x + y + c > MAX], { format });
  check('v_subb_co_u32', CARRIED, (x, y, c) => [u(x - y - c), y + c > x], { format });
  check('v_subbrev_co_u32', CARRIED, (x, y, c) => [u(y - x - c), x + c > y], { format });
}
test('clamp of a carry', () => {
  const options = { format: 'VOP3B', fields: { clamp: 1 } } as const;
  expectAll('v_add_co_u32', PAIRS, (x, y) => [clamp(x + y, 0n, MAX), x + y > MAX], options);
  expectAll('v_sub_co_u32', PAIRS, (x, y) => [clamp(x - y, 0n, MAX), y > x], options);
  expectAll('v_subrev_co_u32', PAIRS, (x, y) => [clamp(y - x, 0n, MAX), x > y], options);
  expectAll('v_addc_co_u32', CARRIED, (x, y, c) => [clamp(x + y + c, 0n, MAX), x + y + c > MAX], options);
  expectAll('v_subb_co_u32', CARRIED, (x, y, c) => [clamp(x - y - c, 0n, MAX), y + c > x], options);
});

const F32_PAIRS = combinations(F32_EDGES, F32_EDGES);
const F16_PAIRS = combinations(F16_EDGES, F16_EDGES);
for (const [name, compute] of [
  ['v_add', (x: number, y: number) => x + y],
  ['v_sub', (x: number, y: number) => x - y],
  ['v_mul', (x: number, y: number) => x * y],
] as const) {
  check(`${name}_f32`, F32_PAIRS, rounded('f32', compute));
  check(`${name}_f16`, F16_PAIRS, rounded('f16', compute));
}
const swapped = (model: (x: bigint, y: bigint) => bigint) => (x: bigint, y: bigint) => model(y, x);
check('v_subrev_f32', F32_PAIRS, swapped(rounded('f32', (x, y) => x - y)));
check('v_subrev_f16', F16_PAIRS, swapped(rounded('f16', (x, y) => x - y)));

/** CDNA2 ISA 12.7, V_MIN_F32 and V_MAX_F32 in IEEE mode. */
function order(type: 'f16' | 'f32', pick: (x: number, y: number) => number) {
  const [read, write, quietBit, infinity] =
    type === 'f16' ? ([fromF16, f16, 0x200n, 0x7c00n] as const) : ([fromF32, f32, 0x400000n, 0x7f800000n] as const);
  const magnitude = type === 'f16' ? 0x7fffn : 0x7fff_ffffn;
  const isNan = (x: bigint): boolean => (x & magnitude) > infinity;
  const isSignalling = (x: bigint): boolean => isNan(x) && (x & quietBit) === 0n;
  return (x: bigint, y: bigint): bigint => {
    if (isSignalling(x)) return x | quietBit;
    if (isSignalling(y)) return y | quietBit;
    if (isNan(x)) return y;
    if (isNan(y)) return x;
    return write(pick(read(x), read(y)));
  };
}
check('v_min_f32', F32_PAIRS, order('f32', Math.min));
check('v_max_f32', F32_PAIRS, order('f32', Math.max));
check('v_min_f16', F16_PAIRS, order('f16', Math.min));
check('v_max_f16', F16_PAIRS, order('f16', Math.max));

const NUMBERS_32 = F32_EDGES.filter((bits) => !Number.isNaN(fromF32(bits)));
/** A double holds the exact product of two floats; a denormal becomes a zero with its sign. */
const flush32 = (x: number): number => (Math.abs(x) < 2 ** -126 ? Math.sign(x) * 0 : x);
const mad = (d: number, x: number, y: number): number =>
  flush32(Math.fround(flush32(Math.fround(flush32(x) * flush32(y))) + flush32(d)));
check('v_mac_f32', combinations(NUMBERS_32, NUMBERS_32, NUMBERS_32.slice(3, 14)), rounded('f32', mad));
check(
  'v_fmac_f32',
  // The exact sum of these fits a double: one rounding.
  [...randomBits(100)].map((bits) => [
    f32(Number(bits & 0xffffn)),
    f32(Number((bits >> 16n) & 0xffffffn)),
    f32(Number((bits >> 40n) & 0xffffffn) / 2),
  ]),
  rounded('f32', (d, x, y) => x * y + d),
);
check(
  'v_fmac_f64',
  [
    [3n, 0x4000000000000000n, 0x7fe0000000000000n],
    [0x3ff0000000000000n, 0x4008000000000000n, 0x4008000000000000n],
  ],
  rounded('f64', (d, x, y) => x * y + d),
);

const literal = (
  name: string,
  bits: number,
  tuples: readonly bigint[][],
  model: (x: bigint, y: bigint) => bigint,
): void => check(name, tuples, model, { literal: bits });
const K = 0x40490fdb;
literal(
  'v_madmk_f32',
  K,
  combinations(NUMBERS_32, NUMBERS_32),
  rounded('f32', (x, y) => mad(y, x, fromF32(BigInt(K)))),
);
literal(
  'v_madak_f32',
  K,
  combinations(NUMBERS_32, NUMBERS_32),
  rounded('f32', (x, y) => mad(fromF32(BigInt(K)), x, y)),
);

const NUMBERS_16 = F16_EDGES.filter((bits) => !Number.isNaN(fromF16(bits)));
const flush16 = (x: number): number => (Math.abs(x) < 2 ** -14 ? Math.sign(x) * 0 : x);
const mad16 = (d: number, x: number, y: number): number =>
  flush16(Math.f16round(flush16(Math.f16round(flush16(x) * flush16(y))) + flush16(d)));
const K16 = 0xffff4248;
literal(
  'v_madmk_f16',
  K16,
  combinations(NUMBERS_16, NUMBERS_16),
  rounded('f16', (x, y) => mad16(y, x, fromF16(BigInt(K16)))),
);
literal(
  'v_madak_f16',
  K16,
  combinations(NUMBERS_16, NUMBERS_16),
  rounded('f16', (x, y) => mad16(fromF16(BigInt(K16)), x, y)),
);
check('v_mac_f16', combinations(NUMBERS_16, NUMBERS_16, NUMBERS_16), rounded('f16', mad16));
check('v_ldexp_f16', combinations(F16_EDGES, [0n, 1n, 0xffffn, 15n, 0xfff1n, 24n, 0xffd8n, 0x7fffn, 0x8000n]), (x, n) =>
  rounded('f16', (value) => value * 2 ** Number(clamp(i16(n), -100n, 100n)))(x),
);

const halves = (x: bigint): [number, number] => [fromF16(x), fromF16(x >> 16n)];
const HALF_PAIRS = randomBits(64, 7).map((bits) => (bits & 0x47ff47ffn) | 0x0400_0400n);
check(
  'v_pk_fmac_f16',
  combinations(HALF_PAIRS.slice(0, 8), HALF_PAIRS.slice(8, 16), HALF_PAIRS.slice(16, 20)),
  (d, x, y) => {
    // Products and sums of normal halves of this size are exact in a double.
    const [p, q, r] = [halves(x), halves(y), halves(d)];
    return f16(p[0] * q[0] + r[0]) | (f16(p[1] * q[1] + r[1]) << 16n);
  },
);
check(
  'v_dot2c_f32_f16',
  combinations(
    HALF_PAIRS.slice(0, 8).map((bits) => f32(fromF16(bits))),
    HALF_PAIRS.slice(8, 16),
    HALF_PAIRS.slice(16, 24),
  ),
  (d, x, y) => {
    const [p, q] = [halves(x), halves(y)];
    return f32(Math.fround(Math.fround(fromF32(d) + p[0] * q[0]) + p[1] * q[1]));
  },
);

const elements = (x: bigint, bits: number): bigint[] =>
  Array.from({ length: 32 / bits }, (_, n) => BigInt.asIntN(bits, x >> BigInt(n * bits)));
const dot = (d: bigint, x: bigint, y: bigint, bits: number): bigint =>
  elements(x, bits).reduce((sum, element, n) => sum + element * elements(y, bits)[n]!, i(d));
for (const [name, bits] of [
  ['v_dot2c_i32_i16', 16],
  ['v_dot4c_i32_i8', 8],
  ['v_dot8c_i32_i4', 4],
] as const) {
  const tuples = combinations([0n, 0x7fff_fff0n, 0x8000_0010n], EDGES_32, EDGES_32);
  check(name, tuples, (d, x, y) => u(dot(d, x, y, bits)));
  const saturated = (d: bigint, x: bigint, y: bigint): bigint =>
    u(clamp(dot(d, x, y, bits), -(1n << 31n), (1n << 31n) - 1n));
  check(name, tuples, saturated, { format: 'VOP3', fields: { clamp: 1 } });
}

test('op_sel of a source leaves the accumulator alone', () => {
  const tuple = [f16(1) | (f16(7) << 16n), f16(2) | (f16(3) << 16n), f16(5)];
  expectAll('v_mac_f16', [tuple], () => f16(3 * 5 + 1), { format: 'VOP3', fields: { op_sel: 0b0001 } });
});
