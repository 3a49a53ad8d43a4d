import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32, EDGES_64 } from '../scalar.test-support.ts';
import { check, combinations, expectAll, randomBits } from '../vector.test-support.ts';

const i = (x: bigint, bits = 32): bigint => BigInt.asIntN(bits, x);
const u = (x: bigint, bits = 32): bigint => BigInt.asUintN(bits, x);
const clamp = (x: bigint, low: bigint, high: bigint): bigint => (x < low ? low : x > high ? high : x);
const clampU = (x: bigint, bits: number): bigint => clamp(x, 0n, (1n << BigInt(bits)) - 1n);
const clampI = (x: bigint, bits: number): bigint =>
  u(clamp(x, -(1n << BigInt(bits - 1)), (1n << BigInt(bits - 1)) - 1n), bits);
const SATURATED = { fields: { clamp: 1 } } as const;

const SHORT = [0n, 1n, 5n, 0x7fff_ffffn, 0x8000_0000n, 0x8001_7fffn, 0xffff_8000n, 0xffff_ffffn];
const TRIPLES = [
  ...combinations(SHORT, SHORT, SHORT),
  ...combinations(
    randomBits(6).map((x) => u(x)),
    randomBits(6, 2).map((x) => u(x)),
    randomBits(6, 3).map((x) => u(x)),
  ),
];
const PAIRS = combinations(EDGES_32, EDGES_32);
type Model = (x: bigint, y: bigint, z: bigint) => bigint;
const ternary = (name: string, model: Model, bits = 32): void =>
  check(name, TRIPLES, (x, y, z) => u(model(x, y, z), bits));
const binary = (name: string, model: (x: bigint, y: bigint) => bigint): void =>
  check(name, PAIRS, (x, y) => u(model(x, y)));

ternary('v_mad_i32_i24', (x, y, z) => i(x, 24) * i(y, 24) + z);
ternary('v_mad_u32_u24', (x, y, z) => u(x, 24) * u(y, 24) + z);
ternary('v_bfi_b32', (x, y, z) => (x & y) | (~x & z));
ternary('v_lshl_add_u32', (x, y, z) => (x << (y & 31n)) + z);
ternary('v_add_lshl_u32', (x, y, z) => (x + y) << (z & 31n));
ternary('v_add3_u32', (x, y, z) => x + y + z);
ternary('v_lshl_or_b32', (x, y, z) => (x << (y & 31n)) | z);
ternary('v_and_or_b32', (x, y, z) => (x & y) | z);
ternary('v_or3_b32', (x, y, z) => x | y | z);
ternary('v_xad_u32', (x, y, z) => (x ^ y) + z);
ternary('v_alignbit_b32', (x, y, z) => ((x << 32n) | y) >> (z & 31n));
ternary('v_alignbyte_b32', (x, y, z) => ((x << 32n) | y) >> ((z & 3n) * 8n));
ternary('v_mad_u32_u16', (x, y, z) => u(x, 16) * u(y, 16) + z);
ternary('v_mad_i32_i16', (x, y, z) => i(x, 16) * i(y, 16) + z);

const sort = (values: bigint[]): bigint[] => values.sort((p, q) => (p < q ? -1 : p > q ? 1 : 0));
for (const bits of [16, 32]) {
  for (const [letter, read] of [
    ['i', i],
    ['u', u],
  ] as const) {
    const sorted = (x: bigint, y: bigint, z: bigint): bigint[] => sort([x, y, z].map((value) => read(value, bits)));
    ternary(`v_min3_${letter}${bits}`, (x, y, z) => sorted(x, y, z)[0]!, bits);
    ternary(`v_med3_${letter}${bits}`, (x, y, z) => sorted(x, y, z)[1]!, bits);
    ternary(`v_max3_${letter}${bits}`, (x, y, z) => sorted(x, y, z)[2]!, bits);
  }
}

const FIELDS = combinations([0x1234_5678n, 0xfedc_ba98n], [0n, 1n, 4n, 28n, 31n, 36n], [0n, 1n, 4n, 8n, 31n, 32n, 40n]);
check('v_bfe_u32', FIELDS, (x, offset, width) => (x >> (offset & 31n)) & ((1n << (width & 31n)) - 1n));
check('v_bfe_i32', FIELDS, (x, offset, width) => u(i(i(x) >> (offset & 31n), Number(width & 31n))));
binary('v_bfm_b32', (width, offset) => ((1n << (width & 31n)) - 1n) << (offset & 31n));

const bytes = (x: bigint): bigint[] => [0n, 8n, 16n, 24n].map((shift) => (x >> shift) & 0xffn);
const distance = (x: bigint, y: bigint): bigint => (x > y ? x - y : y - x);
const sad = (x: bigint, y: bigint, masked = false): bigint =>
  bytes(x).reduce((sum, byte, n) => sum + (masked && bytes(y)[n] === 0n ? 0n : distance(byte, bytes(y)[n]!)), 0n);
ternary('v_sad_u8', (x, y, z) => sad(x, y) + z);
ternary('v_sad_hi_u8', (x, y, z) => (sad(x, y) << 16n) + z);
ternary('v_msad_u8', (x, y, z) => sad(x, y, true) + z);
ternary('v_sad_u16', (x, y, z) => distance(u(x, 16), u(y, 16)) + distance(x >> 16n, y >> 16n) + z);
ternary('v_sad_u32', (x, y, z) => distance(x, y) + z);
ternary('v_lerp_u8', (x, y, z) =>
  bytes(x).reduce((word, byte, n) => word | (((byte + bytes(y)[n]! + (bytes(z)[n]! & 1n)) >> 1n) << BigInt(8 * n)), 0n),
);
check(
  'v_perm_b32',
  combinations(
    [0x8070_f01fn, 0x1122_3344n],
    [0x80aa_7f01n],
    [0x0706_0504n, 0x0302_0100n, 0x0b0a_0908n, 0x0c0d_ff07n, 0x0801_0a05n],
  ),
  (x, y, z) => {
    const input = [...bytes(y), ...bytes(x)];
    const pick = (select: bigint): bigint => {
      if (select < 8n) return input[Number(select)]!;
      if (select < 12n) return input[Number(select - 8n) * 2 + 1]! >> 7n ? 0xffn : 0n;
      return select === 12n ? 0n : 0xffn;
    };
    return bytes(z).reduce((word, select, n) => word | (pick(select) << BigInt(8 * n)), 0n);
  },
);

const windows = (x: bigint): bigint[] => [0n, 8n, 16n, 24n].map((shift) => u(x >> shift));
const quad =
  (bits: number, masked: boolean): Model =>
  (x, y, z) =>
    windows(x).reduce(
      (word, window, n) => word | (u(sad(window, y, masked) + (z >> BigInt(n * bits)), bits) << BigInt(n * bits)),
      0n,
    );
const QUADS = combinations(
  [0x0123_4567_89ab_cdefn, 0xff00_ff00_ff00_ff00n],
  [0n, 0x00ff_1180n],
  [0n, 0xffff_ffff_ffff_fffen],
);
check('v_qsad_pk_u16_u8', QUADS, quad(16, false));
check('v_mqsad_pk_u16_u8', QUADS, quad(16, true));
check(
  'v_mqsad_u32_u8',
  combinations([0x0123_4567_89ab_cdefn], [0n, 0x00ff_1180n], [0n, (1n << 128n) - 2n]),
  quad(32, true),
);

test('clamp saturates sums of three sources', () => {
  const saturated = (name: string, model: Model): void => expectAll(name, TRIPLES, model, SATURATED);
  saturated('v_mad_i32_i24', (x, y, z) => clampI(i(x, 24) * i(y, 24) + i(z), 32));
  saturated('v_mad_u32_u24', (x, y, z) => clampU(u(x, 24) * u(y, 24) + z, 32));
  saturated('v_mad_u32_u16', (x, y, z) => clampU(u(x, 16) * u(y, 16) + z, 32));
  saturated('v_mad_i32_i16', (x, y, z) => clampI(i(x, 16) * i(y, 16) + i(z), 32));
  saturated('v_sad_u8', (x, y, z) => clampU(sad(x, y) + z, 32));
  saturated('v_sad_hi_u8', (x, y, z) => clampU((sad(x, y) << 16n) + z, 32));
  saturated('v_mad_legacy_u16', (x, y, z) => clampU(u(x, 16) * u(y, 16) + u(z, 16), 16));
  saturated('v_mad_legacy_i16', (x, y, z) => clampI(i(x, 16) * i(y, 16) + i(z, 16), 16));
});

ternary('v_mad_legacy_u16', (x, y, z) => x * y + z, 16);
ternary('v_mad_legacy_i16', (x, y, z) => x * y + z, 16);
test('v_mad_u16 and v_mad_i16 keep the half that they do not write', () => {
  const before = 0xabcd_1234n;
  for (const name of ['v_mad_u16', 'v_mad_i16']) {
    expectAll(name, TRIPLES, (x, y, z) => 0xabcd_0000n | u(x * y + z, 16), { before });
    expectAll(name, TRIPLES, (x, y, z) => (u((x >> 16n) * y + z, 16) << 16n) | 0x1234n, {
      before,
      fields: { op_sel: 0b1001 },
    });
  }
});

const WIDE = combinations(SHORT, SHORT, EDGES_64);
const LIMIT = 1n << 64n;
check('v_mad_u64_u32', WIDE, (x, y, z) => [u(x * y + z, 64), x * y + z >= LIMIT]);
check('v_mad_i64_i32', WIDE, (x, y, z) => {
  const sum = i(x) * i(y) + i(z, 64);
  return [u(sum, 64), sum < 0n];
});
test('clamp saturates 64-bit sums', () => {
  expectAll('v_mad_u64_u32', WIDE, (x, y, z) => [clampU(x * y + z, 64), x * y + z >= LIMIT], SATURATED);
  expectAll(
    'v_mad_i64_i32',
    WIDE,
    (x, y, z) => {
      const sum = i(x) * i(y) + i(z, 64);
      return [clampI(sum, 64), sum < 0n];
    },
    SATURATED,
  );
});

binary('v_mul_lo_u32', (x, y) => x * y);
binary('v_mul_hi_u32', (x, y) => (x * y) >> 32n);
binary('v_mul_hi_i32', (x, y) => (i(x) * i(y)) >> 32n);
binary('v_bcnt_u32_b32', (x, y) => BigInt(x.toString(2).replaceAll('0', '').length) + y);
binary('v_cvt_pk_u16_u32', (x, y) => clampU(x, 16) | (clampU(y, 16) << 16n));
binary('v_cvt_pk_i16_i32', (x, y) => clampI(i(x), 16) | (clampI(i(y), 16) << 16n));
binary('v_add_i32', (x, y) => x + y);
binary('v_sub_i32', (x, y) => x - y);
binary('v_add_i16', (x, y) => u(x + y, 16));
binary('v_sub_i16', (x, y) => u(x - y, 16));
test('clamp saturates signed sums', () => {
  expectAll('v_add_i32', PAIRS, (x, y) => clampI(i(x) + i(y), 32), SATURATED);
  expectAll('v_sub_i32', PAIRS, (x, y) => clampI(i(x) - i(y), 32), SATURATED);
  expectAll('v_add_i16', PAIRS, (x, y) => clampI(i(x, 16) + i(y, 16), 16), SATURATED);
  expectAll('v_sub_i16', PAIRS, (x, y) => clampI(i(x, 16) - i(y, 16), 16), SATURATED);
});

const SHIFTS = combinations([0n, 1n, 31n, 32n, 63n, 64n, 0xffff_ffc1n], EDGES_64);
check('v_lshlrev_b64', SHIFTS, (amount, x) => u(x << (amount & 63n), 64));
check('v_lshrrev_b64', SHIFTS, (amount, x) => x >> (amount & 63n));
check('v_ashrrev_i64', SHIFTS, (amount, x) => u(i(x, 64) >> (amount & 63n), 64));

test('v_mbcnt numbers the lanes and counts the mask below them', () => {
  const wave = new TestWave();
  wave.run(encode('v_mbcnt_lo_u32_b32', { vdst: 2, src0: 193, src1: 128 }));
  wave.run(encode('v_mbcnt_hi_u32_b32', { vdst: 2, src0: 193, src1: 256 + 2 }));
  assert.deepEqual(
    [...wave.vgprs[2]!],
    Array.from({ length: 64 }, (_, lane) => lane),
  );
  wave.sgprs[4] = 0x8000_0001 | 0;
  wave.run(encode('v_mbcnt_lo_u32_b32', { vdst: 3, src0: 4, src1: 128 + 10 }));
  assert.deepEqual(
    [0, 1, 31, 32, 63].map((lane) => wave.vgprs[3]![lane]),
    [10, 11, 11, 12, 12],
  );
  wave.run(encode('v_mbcnt_hi_u32_b32', { vdst: 3, src0: 4, src1: 128 }));
  assert.deepEqual(
    [0, 32, 33, 63].map((lane) => wave.vgprs[3]![lane]),
    [0, 0, 1, 1],
  );
});

test('v_readlane_b32 and v_writelane_b32 reach lanes that are off', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.forEach((_, lane, lanes) => {
    lanes[lane] = lane + 100;
  });
  wave.exec = 0n;
  wave.sgprs[6] = 64 + 33;
  wave.run(encode('v_readlane_b32', { vdst: 2, src0: 256 + 4, src1: 6 }));
  assert.equal(wave.sgprs[2], 133);
  wave.run(encode('v_readlane_b32', { vdst: 2, src0: 256 + 4, src1: 128 + 5 }));
  assert.equal(wave.sgprs[2], 105);
  wave.run(encode('v_writelane_b32', { vdst: 4, src0: 2, src1: 6 }));
  assert.deepEqual([...wave.vgprs[4]!.slice(32, 35)], [132, 105, 134]);
});
