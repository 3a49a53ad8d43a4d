import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32 } from '../scalar.test-support.ts';
import {
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

type Half = (...elements: bigint[]) => bigint;

const i16 = (x: bigint): bigint => BigInt.asIntN(16, x);
const u16 = (x: bigint): bigint => BigInt.asUintN(16, x);
const u32 = (x: bigint): bigint => BigInt.asUintN(32, x);
const clamp = (x: bigint, low: bigint, high: bigint): bigint => (x < low ? low : x > high ? high : x);

/** The field values that give the halves in order. */
const IN_ORDER = { op_sel_hi: 3, op_sel_hi_2: 1 };

/** Both halves by one model; `fields` may set clamp, op_sel and the negations. */
function checkHalves(
  name: string,
  tuples: readonly bigint[][],
  half: Half,
  fields: Record<string, number> = {},
  negate = (x: bigint): bigint => x ^ 0x8000n,
): void {
  const values = { ...IN_ORDER, ...fields } as Record<string, number>;
  const bit = (field: string, n: number): boolean => (((values[field] ?? 0) >> n) & 1) === 1;
  const pick = (x: bigint, isHigh: boolean, isNegated: boolean): bigint => {
    const value = u16(isHigh ? x >> 16n : x);
    return isNegated ? negate(value) : value;
  };
  const highSelect = (n: number): boolean => (n === 2 ? bit('op_sel_hi_2', 0) : bit('op_sel_hi', n));
  const model = (...sources: bigint[]): bigint => {
    const low = half(...sources.map((x, n) => pick(x, bit('op_sel', n), bit('neg', n))));
    const high = half(...sources.map((x, n) => pick(x, highSelect(n), bit('neg_hi', n))));
    return u16(low) | (u16(high) << 16n);
  };
  expectAll(name, tuples, model, { fields: values });
}

const PAIRS = combinations(EDGES_32, EDGES_32);
const SHORT = [0n, 0x0001_7fffn, 0x7fff_8000n, 0x8000_ffffn, 0xffff_0001n, 0x1234_5678n];
const TRIPLES = combinations(SHORT, SHORT, SHORT);
const bounds = { u16: [0n, 0xffffn], i16: [-0x8000n, 0x7fffn] } as const;

const sum: Half = (x, y) => x + y;
const difference: Half = (x, y) => x - y;
const multiplyAdd: Half = (x, y, z) => x * y + z;
for (const [name, compute, tuples] of [
  ['add', sum, PAIRS],
  ['sub', difference, PAIRS],
  ['mad', multiplyAdd, TRIPLES],
] as const) {
  for (const [type, read] of [
    ['u16', u16],
    ['i16', i16],
  ] as const) {
    test(`v_pk_${name}_${type}`, () => {
      const half: Half = (...elements) => compute(...elements.map(read));
      checkHalves(`v_pk_${name}_${type}`, tuples, half);
      checkHalves(
        `v_pk_${name}_${type}`,
        tuples,
        (...elements) => clamp(half(...elements), bounds[type][0], bounds[type][1]),
        {
          clamp: 1,
        },
      );
      checkHalves(`v_pk_${name}_${type}`, tuples, half, {
        op_sel: name === 'mad' ? 0b101 : 0b01,
        op_sel_hi: 0b01,
        op_sel_hi_2: 0,
      });
    });
  }
}
test('packed integers without overflow', () => {
  checkHalves('v_pk_mul_lo_u16', PAIRS, (x, y) => x * y);
  checkHalves('v_pk_mul_lo_u16', PAIRS, (x, y) => clamp(x * y, 0n, 0xffffn), { clamp: 1 });
  checkHalves('v_pk_lshlrev_b16', PAIRS, (x, y) => y << (x & 15n));
  checkHalves('v_pk_lshrrev_b16', PAIRS, (x, y) => y >> (x & 15n));
  checkHalves('v_pk_ashrrev_i16', PAIRS, (x, y) => i16(y) >> (x & 15n));
  checkHalves('v_pk_max_u16', PAIRS, (x, y) => (u16(x) > u16(y) ? x : y));
  checkHalves('v_pk_min_u16', PAIRS, (x, y) => (u16(x) < u16(y) ? x : y));
  checkHalves('v_pk_max_i16', PAIRS, (x, y) => (i16(x) > i16(y) ? x : y));
  checkHalves('v_pk_min_i16', PAIRS, (x, y) => (i16(x) < i16(y) ? x : y));
});

/** Two different halves in each dword. */
const dwordsOf = (halves: readonly bigint[]): bigint[] =>
  halves.map((half, i) => half | (halves[(i + 5) % halves.length]! << 16n));
const HALVES = dwordsOf(F16_EDGES.filter((x) => !Number.isNaN(fromF16(x))));
const HALF_PAIRS = combinations(HALVES, HALVES);
const clampUnit =
  (half: Half): Half =>
  (...elements) => {
    const value = fromF16(half(...elements));
    return f16(Number.isNaN(value) ? 0 : Math.min(Math.max(value, 0), 1));
  };
const MODIFIERS = { op_sel: 0b010, op_sel_hi: 0b10, neg: 0b001, neg_hi: 0b011 };
for (const [name, compute] of [
  ['add', (x: number, y: number) => x + y],
  ['mul', (x: number, y: number) => x * y],
  ['min', Math.min],
  ['max', Math.max],
] as const) {
  test(`v_pk_${name}_f16`, () => {
    const half = rounded('f16', compute);
    checkHalves(`v_pk_${name}_f16`, HALF_PAIRS, half);
    checkHalves(`v_pk_${name}_f16`, HALF_PAIRS, half, MODIFIERS);
    checkHalves(`v_pk_${name}_f16`, HALF_PAIRS, clampUnit(half), { clamp: 1 });
  });
}
test('v_pk_fma_f16 rounds once', () => {
  const x = f16(1 + 2 ** -10) | (f16(1.5) << 16n);
  expectAll(
    'v_pk_fma_f16',
    [[x, x, f16(-(1 + 2 ** -9)) | (f16(0.25) << 16n)]],
    () => f16(2 ** -20) | (f16(2.5) << 16n),
    { fields: IN_ORDER },
  );
});

const FLOATS = F32_EDGES.filter((x) => !Number.isNaN(fromF32(x)));
const wide = FLOATS.map((x, i) => x | (FLOATS[(i + 7) % FLOATS.length]! << 32n));
for (const [name, compute] of [
  ['add', (x: number, y: number) => x + y],
  ['mul', (x: number, y: number) => x * y],
] as const) {
  test(`v_pk_${name}_f32`, () => {
    const one = rounded('f32', compute);
    expectAll(
      `v_pk_${name}_f32`,
      combinations(wide, wide),
      (x, y) => one(u32(x), u32(y)) | (one(x >> 32n, y >> 32n) << 32n),
      { fields: IN_ORDER },
    );
    // Low result: high of src0, low of src1 negated; high result: low of src0 negated, high of src1.
    const fields = { op_sel: 0b01, op_sel_hi: 0b10, neg: 0b10, neg_hi: 0b01 };
    const negated = (x: bigint): bigint => x ^ 0x8000_0000n;
    expectAll(
      `v_pk_${name}_f32`,
      combinations(wide, wide),
      (x, y) => one(x >> 32n, negated(u32(y))) | (one(negated(u32(x)), y >> 32n) << 32n),
      { fields },
    );
  });
}
test('v_pk_fma_f32 rounds once', () => {
  const x = f32(1 + 2 ** -23) | (f32(3) << 32n);
  expectAll('v_pk_fma_f32', [[x, x, f32(-(1 + 2 ** -22)) | (f32(1) << 32n)]], () => f32(2 ** -46) | (f32(10) << 32n), {
    fields: IN_ORDER,
  });
});
test('a scalar constant of v_pk_mul_f32 has its number in the low dword', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.fill(Number(f32(3)));
  wave.vgprs[5]!.fill(Number(f32(5)));
  wave.run(encode('v_pk_mul_f32', { vdst: 6, src0: 256 + 4, src1: 244, op_sel_hi: 1 }));
  assert.deepEqual([wave.vgprs[6]![9], wave.vgprs[7]![9]], [Number(f32(6)), Number(f32(10))]);
});
test('v_pk_mov_b32 moves one dword of each source', () => {
  for (const [op_sel, low, high] of [
    [0, 1n, 3n],
    [1, 2n, 3n],
    [2, 1n, 4n],
    [3, 2n, 4n],
  ] as const) {
    expectAll('v_pk_mov_b32', [[0x2_0000_0001n, 0x4_0000_0003n]], () => low | (high << 32n), {
      fields: { op_sel, op_sel_hi: 3 },
    });
  }
});

test('v_fma_mix takes floats and halves, with absolute value and negation', () => {
  const mixed = f16(2) | (f16(-3) << 16n);
  const sources = [f32(1.5), mixed, mixed];
  // src1 is its high half, absolute; src2 is its low half, negated.
  const fields = { op_sel_hi: 0b10, op_sel_hi_2: 1, op_sel: 0b010, neg_hi: 0b010, neg: 0b100 };
  expectAll('v_fma_mix_f32', [sources], () => f32(1.5 * 3 - 2), { fields });
  expectAll('v_fma_mix_f32', [[f32(3), f32(5), f32(-1)]], () => f32(14));
  const before = 0xaaaa_bbbbn;
  expectAll('v_fma_mixlo_f16', [sources], () => 0xaaaa_0000n | f16(2.5), { fields, before });
  expectAll('v_fma_mixhi_f16', [sources], () => (f16(2.5) << 16n) | 0xbbbbn, { fields, before });
  expectAll('v_fma_mixhi_f16', [sources], () => (f16(1) << 16n) | 0xbbbbn, { fields: { ...fields, clamp: 1 }, before });
});

const elements = (x: bigint, bits: number, read: (bits: number, x: bigint) => bigint): bigint[] =>
  Array.from({ length: 32 / bits }, (_, n) => read(bits, x >> BigInt(n * bits)));
for (const [name, bits, letter] of [
  ['v_dot2_i32_i16', 16, 'i'],
  ['v_dot2_u32_u16', 16, 'u'],
  ['v_dot4_i32_i8', 8, 'i'],
  ['v_dot4_u32_u8', 8, 'u'],
  ['v_dot8_i32_i4', 4, 'i'],
  ['v_dot8_u32_u4', 4, 'u'],
] as const) {
  test(name, () => {
    const read = letter === 'i' ? BigInt.asIntN : BigInt.asUintN;
    const exact: Half = (x, y, z) => {
      const right = elements(y, bits, read);
      return elements(x, bits, read).reduce((total, element, n) => total + element * right[n]!, read(32, z));
    };
    const tuples = combinations(EDGES_32, EDGES_32, [0n, 0x7fff_ff00n, 0x8000_0010n, 0xffff_ff00n]);
    const [low, high] = letter === 'i' ? [-(1n << 31n), (1n << 31n) - 1n] : [0n, (1n << 32n) - 1n];
    expectAll(name, tuples, (...sources) => u32(exact(...sources)), { fields: IN_ORDER });
    expectAll(name, tuples, (...sources) => u32(clamp(exact(...sources), low, high)), {
      fields: { ...IN_ORDER, clamp: 1 },
    });
  });
}
test('v_dot2_f32_f16 adds the products one after the other', () => {
  const halves = randomBits(30, 4).map((bits) => (bits & 0x47ff_47ffn) | 0x0400_0400n);
  const tuples = combinations(halves.slice(0, 8), halves.slice(8, 16), [f32(0), f32(1.25), f32(-3e4)]);
  const product = (x: bigint, y: bigint): number => fromF16(x) * fromF16(y);
  expectAll(
    'v_dot2_f32_f16',
    tuples,
    (x, y, z) => f32(Math.fround(Math.fround(fromF32(z) + product(x, y)) + product(x >> 16n, y >> 16n))),
    { fields: IN_ORDER },
  );
  // Denormals count as zero, whatever MODE says.
  expectAll(
    'v_dot2_f32_f16',
    [
      [0x0001_0000n, 0x3c00_3c00n, 0n],
      [0n, 0n, 1n],
    ],
    () => 0n,
    { fields: IN_ORDER },
  );
});

test('v_accvgpr_read_b32 and v_accvgpr_write_b32', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.fill(7);
  wave.run(encode('v_accvgpr_write_b32', { vdst: 9, src0: 256 + 4, op_sel_hi: 3 }));
  assert.deepEqual([wave.vgprs[256 + 9]![3], wave.vgprs[9]![3]], [7, 0]);
  wave.run(encode('v_accvgpr_write_b32', { vdst: 10, src0: 242 }));
  assert.equal(wave.vgprs[256 + 10]![3], Number(f32(1)));
  wave.run(encode('v_accvgpr_read_b32', { vdst: 5, src0: 256 + 9, op_sel_hi: 3 }));
  assert.equal(wave.vgprs[5]![3], 7);
});
