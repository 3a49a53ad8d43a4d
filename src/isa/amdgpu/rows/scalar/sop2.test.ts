import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { assemble } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32, EDGES_64, s, sgprs, u } from '../scalar.test-support.ts';

type Result = readonly [result: bigint, scc?: boolean];
/**
 * Sources as unsigned values, SCC before; the result is taken modulo the width, a missing scc stays as it
 * was.
 */
type Expect = (x: bigint, y: bigint, scc: bigint) => Result;

const wave = new TestWave();

/** Every pair of the values, with SCC off and on: sources in s[2:3] and s[4:5], result in s[6:7]. */
function check(
  name: string,
  widths: readonly [32 | 64, 32 | 64, 32 | 64],
  xs: readonly bigint[],
  ys: readonly bigint[],
  expect: Expect,
) {
  test(name, () => {
    const [width, xWidth, yWidth] = widths;
    const words = assemble(`${name} ${sgprs(6, width)}, ${sgprs(2, xWidth)}, ${sgprs(4, yWidth)}`);
    for (const x of xs) {
      for (const y of ys) {
        for (const scc of [0, 1]) {
          wave.setPair(2, xWidth === 64 ? x : x | 0xdead_0000_0000n);
          wave.setPair(4, yWidth === 64 ? y : y | 0xbeef_0000_0000n);
          wave.setPair(6, 0n);
          wave.scc = scc;
          assert.equal(wave.run(words).row.name, name);
          const [result, sccAfter = scc === 1] = expect(x, y, BigInt(scc));
          const what = `${name}(0x${x.toString(16)}, 0x${y.toString(16)}) with scc ${scc}`;
          assert.equal(wave.pair(6).toString(16), u(width, result).toString(16), what);
          assert.equal(wave.scc, sccAfter ? 1 : 0, `scc of ${what}`);
        }
      }
    }
  });
}

const check32 = (name: string, expect: Expect, ys = EDGES_32) => check(name, [32, 32, 32], EDGES_32, ys, expect);
const check64 = (name: string, expect: Expect) => check(name, [64, 64, 64], EDGES_64, EDGES_64, expect);

const LIMIT = 1n << 32n;
const fits = (value: bigint): boolean => s(32, value) === value;
const i = (value: bigint): bigint => s(32, value);
const pick = (first: boolean, x: bigint, y: bigint): bigint => (first ? x : y);
const nonZero = (result: bigint): Result => [result, u(64, result) !== 0n];

check32('s_add_u32', (x, y) => [x + y, x + y >= LIMIT]);
check32('s_sub_u32', (x, y) => [x - y, y > x]);
check32('s_add_i32', (x, y) => [x + y, !fits(i(x) + i(y))]);
check32('s_sub_i32', (x, y) => [x - y, !fits(i(x) - i(y))]);
check32('s_addc_u32', (x, y, scc) => [x + y + scc, x + y + scc >= LIMIT]);
check32('s_subb_u32', (x, y, scc) => [x - y - scc, y + scc > x]);
check32('s_min_i32', (x, y) => [pick(i(x) < i(y), x, y), i(x) < i(y)]);
check32('s_min_u32', (x, y) => [pick(x < y, x, y), x < y]);
check32('s_max_i32', (x, y) => [pick(i(x) > i(y), x, y), i(x) >= i(y)]);
check32('s_max_u32', (x, y) => [pick(x > y, x, y), x >= y]);
check32('s_cselect_b32', (x, y, scc) => [scc ? x : y]);
check64('s_cselect_b64', (x, y, scc) => [scc ? x : y]);

const BITWISE: readonly (readonly [string, (x: bigint, y: bigint) => bigint])[] = [
  ['and', (x, y) => x & y],
  ['or', (x, y) => x | y],
  ['xor', (x, y) => x ^ y],
  ['andn2', (x, y) => x & ~y],
  ['orn2', (x, y) => x | ~y],
  ['nand', (x, y) => ~(x & y)],
  ['nor', (x, y) => ~(x | y)],
  ['xnor', (x, y) => ~(x ^ y)],
];
for (const [name, operation] of BITWISE) {
  check32(`s_${name}_b32`, (x, y) => nonZero(u(32, operation(x, y))));
  check64(`s_${name}_b64`, (x, y) => nonZero(operation(x, y)));
}

const shift64 = (name: string, expect: Expect, ys = EDGES_32) => check(name, [64, 64, 32], EDGES_64, ys, expect);
check32('s_lshl_b32', (x, y) => nonZero(u(32, x << (y & 31n))));
shift64('s_lshl_b64', (x, y) => nonZero(x << (y & 63n)));
check32('s_lshr_b32', (x, y) => nonZero(x >> (y & 31n)));
shift64('s_lshr_b64', (x, y) => nonZero(x >> (y & 63n)));
check32('s_ashr_i32', (x, y) => nonZero(u(32, i(x) >> (y & 31n))));
shift64('s_ashr_i64', (x, y) => nonZero(s(64, x) >> (y & 63n)));
check32('s_bfm_b32', (x, y) => [((1n << (x & 31n)) - 1n) << (y & 31n)]);
check('s_bfm_b64', [64, 32, 32], EDGES_32, [...EDGES_32, 40n, 63n], (x, y) => [((1n << (x & 63n)) - 1n) << (y & 63n)]);
check32('s_mul_i32', (x, y) => [x * y]);

/** Offset in [5:0], width in [22:16], and bits that do not count. */
const FIELDS = [0, 1, 7, 8, 31, 32, 33, 63, 64, 65, 127].flatMap((width) =>
  [0, 4, 16, 28, 31, 36, 63].map((offset) => BigInt(width << 16) | BigInt(offset) | 0xff80_ffc0n),
);
const field = (x: bigint, width: bigint): bigint => x & ((1n << width) - 1n);
const signedField = (x: bigint, width: bigint): bigint => (width === 0n ? 0n : BigInt.asIntN(Number(width), x));
const widthOf = (y: bigint): bigint => (y >> 16n) & 127n;
check32('s_bfe_u32', (x, y) => nonZero(field(x >> (y & 31n), widthOf(y))), FIELDS);
check32('s_bfe_i32', (x, y) => nonZero(u(32, signedField(i(x) >> (y & 31n), widthOf(y)))), FIELDS);
shift64('s_bfe_u64', (x, y) => nonZero(field(x >> (y & 63n), widthOf(y))), FIELDS);
shift64('s_bfe_i64', (x, y) => nonZero(signedField(s(64, x) >> (y & 63n), widthOf(y))), FIELDS);

check32('s_absdiff_i32', (x, y) => {
  const difference = i(x - y);
  return nonZero(u(32, difference < 0n ? -difference : difference));
});
check32('s_mul_hi_u32', (x, y) => [(x * y) >> 32n]);
check32('s_mul_hi_i32', (x, y) => [(i(x) * i(y)) >> 32n]);
for (const amount of [1n, 2n, 3n, 4n]) {
  check32(`s_lshl${amount}_add_u32`, (x, y) => [(x << amount) + y, (x << amount) + y >= LIMIT]);
}
check32('s_pack_ll_b32_b16', (x, y) => [((y & 0xffffn) << 16n) | (x & 0xffffn)]);
check32('s_pack_lh_b32_b16', (x, y) => [((y >> 16n) << 16n) | (x & 0xffffn)]);
check32('s_pack_hh_b32_b16', (x, y) => [((y >> 16n) << 16n) | (x >> 16n)]);

test('the examples of the manual for s_absdiff_i32', () => {
  for (const [x, y, expected] of [
    [2, 5, 3],
    [0xffffffff, 0, 1],
    [0x80000000, 0, 0x80000000],
    [0x80000000, 1, 0x7fffffff],
  ] as const) {
    wave.sgprs[2] = x;
    wave.sgprs[4] = y;
    wave.run('s_absdiff_i32 s6, s2, s4');
    assert.equal(wave.sgprs[6]! >>> 0, expected);
  }
});

test('constants: 32-bit ones in both places, 64-bit ones extended by the type', () => {
  wave.run('s_sub_i32 s6, -1, 64');
  assert.equal(wave.sgprs[6], -65);
  wave.run('s_add_u32 s6, 0xffffffe0, 32');
  assert.deepEqual([wave.sgprs[6], wave.scc], [0, 1]);
  wave.run('s_or_b64 s[6:7], -1, 0');
  assert.equal(wave.pair(6), 0xffff_ffff_ffff_ffffn);
  wave.run('s_or_b64 s[6:7], 0x80000000, 0');
  assert.equal(wave.pair(6), 0x8000_0000n);
  wave.run('s_ashr_i64 s[6:7], 0x80000000, 1'); // a signed literal
  assert.equal(wave.pair(6), 0xffff_ffff_c000_0000n);
  wave.run('s_and_b64 s[6:7], 1.0, -1');
  assert.equal(wave.pair(6), 0x3ff0_0000_0000_0000n);
  wave.run('s_and_b32 s6, 1.0, -1');
  assert.equal(wave.sgprs[6], 0x3f800000);
});

test('special sources: scc, vccz and execz are 0 or 1, apertures have their base in the high dword', () => {
  wave.scc = 1;
  wave.vcc = 0n;
  wave.exec = 0n;
  for (const source of ['src_scc', 'src_vccz', 'src_execz']) {
    wave.scc = 1;
    wave.run(`s_nor_b32 s6, ${source}, 0`);
    assert.equal(wave.sgprs[6], ~1);
  }
  wave.exec = 1n << 63n;
  wave.vcc = 1n << 32n;
  for (const source of ['src_vccz', 'src_execz']) {
    wave.run(`s_or_b32 s6, ${source}, 0`);
    assert.equal(wave.sgprs[6], 0);
  }
  wave.run('s_or_b64 s[6:7], src_shared_base, 0');
  assert.equal(wave.pair(6), 0x1_0000_0000_0000n);
  wave.run('s_or_b64 s[6:7], src_private_base, 0');
  assert.equal(wave.pair(6), 0x2_0000_0000_0000n);
  wave.run('s_or_b32 s6, src_shared_base, 0'); // the low dword
  assert.equal(wave.sgprs[6], 0);
});

test('exec and vcc are ordinary destinations; EXEC = 0 stops no scalar instruction', () => {
  wave.exec = 0n;
  wave.setPair(2, 0xf0f0_f0f0_0f0f_0f0fn);
  wave.run('s_xnor_b64 exec, s[2:3], s[2:3]');
  assert.equal(wave.exec, 0xffff_ffff_ffff_ffffn);
  wave.run('s_and_b64 vcc, exec, s[2:3]');
  assert.equal(wave.vcc, 0xf0f0_f0f0_0f0f_0f0fn);
});

test('what cannot run is refused by name', () => {
  const refused = (text: string, message: RegExp) =>
    assert.throws(
      () => wave.run(text),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && message.test(error.message),
    );
  refused('s_cbranch_g_fork s[2:3], s[4:5]', /s_cbranch_g_fork/);
  refused('s_rfe_restore_b64 s[2:3], s4', /s_rfe_restore_b64/);
  refused('s_add_u32 s6, src_pops_exiting_wave_id, s4', /source operand 239 of instruction 's_add_u32'/);
});
