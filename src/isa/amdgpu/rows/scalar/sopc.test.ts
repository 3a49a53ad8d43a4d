import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { assemble } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32, EDGES_64, s, sgprs } from '../scalar.test-support.ts';

const wave = new TestWave();

/** Sources in s[2:3] and s[4:5], every pair of values. */
function check(
  name: string,
  [xs, ys]: readonly [readonly bigint[], readonly bigint[]],
  expect: (x: bigint, y: bigint) => boolean,
) {
  const source = (register: number, values: readonly bigint[]): string =>
    sgprs(register, values === EDGES_64 ? 64 : 32);
  test(name, () => {
    const words = assemble(`${name} ${source(2, xs)}, ${source(4, ys)}`);
    for (const x of xs) {
      for (const y of ys) {
        wave.setPair(2, x);
        wave.setPair(4, y);
        const expected = expect(x, y) ? 1 : 0;
        wave.scc = 1 - expected;
        assert.equal(wave.run(words).row.name, name);
        assert.equal(wave.scc, expected, `${name}(0x${x.toString(16)}, 0x${y.toString(16)})`);
      }
    }
  });
}

const RELATIONS: readonly (readonly [string, (x: bigint, y: bigint) => boolean])[] = [
  ['eq', (x, y) => x === y],
  ['lg', (x, y) => x !== y],
  ['gt', (x, y) => x > y],
  ['ge', (x, y) => x >= y],
  ['lt', (x, y) => x < y],
  ['le', (x, y) => x <= y],
];
for (const [name, holds] of RELATIONS) {
  check(`s_cmp_${name}_i32`, [EDGES_32, EDGES_32], (x, y) => holds(s(32, x), s(32, y)));
  check(`s_cmp_${name}_u32`, [EDGES_32, EDGES_32], holds);
}
const bit = (x: bigint, index: bigint): boolean => (x >> index) % 2n === 1n;
check('s_bitcmp0_b32', [EDGES_32, EDGES_32], (x, y) => !bit(x, y % 32n));
check('s_bitcmp1_b32', [EDGES_32, EDGES_32], (x, y) => bit(x, y % 32n));
check('s_bitcmp0_b64', [EDGES_64, EDGES_32], (x, y) => !bit(x, y % 64n));
check('s_bitcmp1_b64', [EDGES_64, EDGES_32], (x, y) => bit(x, y % 64n));
check('s_cmp_eq_u64', [EDGES_64, EDGES_64], (x, y) => x === y);
check('s_cmp_lg_u64', [EDGES_64, EDGES_64], (x, y) => x !== y);

test('a literal second source', () => {
  wave.sgprs[2] = 0x12345678;
  wave.run('s_cmp_eq_u32 s2, 0x12345678');
  assert.equal(wave.scc, 1);
  wave.setPair(2, 0xffff_fff0n);
  wave.run('s_cmp_eq_u64 s[2:3], 0xfffffff0'); // zero-extended for an unsigned operand
  assert.equal(wave.scc, 1);
});

test('what cannot run is refused by name', () => {
  assert.throws(
    () => wave.run('s_setvskip s2, s4'),
    (error) =>
      error instanceof WavewrightError &&
      error.code === 'UNSUPPORTED' &&
      error.what === "unsupported instruction 's_setvskip'",
  );
});

test('s_set_gpr_idx_on puts the index and the operand selection into M0; 255 there is no literal', () => {
  const indexed = new TestWave();
  indexed.sgprs[2] = 0x12345;
  indexed.sgprs[124] = 0x7fff0fff;
  assert.equal(indexed.run([0xbf11ff02]).sizeBytes, 4);
  assert.equal(indexed.sgprs[124], 0x7fffff45 & 0x7fffff45);
  assert.equal(indexed.mode & 0x08000000, 0x08000000);
});
