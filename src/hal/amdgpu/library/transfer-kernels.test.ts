/** Which kernel does a transfer: every alignment, and lengths around each border. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copyPlan, fillPlan, repeatedPattern, transferGroups, updatePlan } from './transfer-kernels.ts';

const BASE = 0x7f00_0000_1000n;
const LARGE = [2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 16];

const fill = (offset: number, sizeBytes: number, patternBytes: number) =>
  fillPlan({ target: BASE + BigInt(offset), sizeBytes, patternBytes });
const copy = (source: number, target: number, sizeBytes: number) =>
  copyPlan({ source: BASE + BigInt(source), target: BASE + 2n ** 41n + BigInt(target), sizeBytes });

/** What a kernel writes, from what it is told. */
const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  buffer_fill_x1: 1,
  buffer_fill_x2: 2,
  buffer_fill_x4: 4,
  buffer_fill_x8: 8,
  buffer_fill_block_x16: 16,
  buffer_fill_block_unaligned_x16: 1,
  buffer_copy_x1: 1,
  buffer_copy_block_x4: 4,
  buffer_copy_block_x8: 8,
  buffer_copy_block_x16: 16,
  buffer_copy_block_unaligned_x16: 1,
};

test('a fill goes to the widest kernel that its alignment allows', () => {
  const named = (...range: Parameters<typeof fill>) => fill(...range)?.kernel;
  assert.equal(named(0, 16, 1), 'buffer_fill_block_x16');
  assert.equal(named(0, 16, 8), 'buffer_fill_block_x16');
  assert.equal(named(4, 16, 1), 'buffer_fill_x4');
  assert.equal(named(0, 20, 2), 'buffer_fill_x4');
  assert.equal(named(8, 8, 8), 'buffer_fill_x8');
  assert.equal(named(8, 120, 8), 'buffer_fill_x8');
  assert.equal(named(8, 128, 8), 'buffer_fill_block_unaligned_x16');
  assert.equal(named(1, 127, 1), 'buffer_fill_x1');
  assert.equal(named(1, 128, 1), 'buffer_fill_block_unaligned_x16');
  assert.equal(named(2, 126, 2), 'buffer_fill_x2');
  assert.equal(named(2, 130, 2), 'buffer_fill_block_unaligned_x16');
  assert.equal(named(0, 2 ** 32 - 1, 1), 'buffer_fill_block_unaligned_x16');
  assert.equal(named(0, 2 ** 31, 1), 'buffer_fill_block_x16');
});

test('a copy goes to the widest kernel that both ends and the length allow', () => {
  const named = (...range: Parameters<typeof copy>) => copy(...range)?.kernel;
  assert.equal(named(0, 16, 32), 'buffer_copy_block_x16');
  assert.equal(named(8, 0, 32), 'buffer_copy_block_x8');
  assert.equal(named(0, 0, 24), 'buffer_copy_block_x8');
  assert.equal(named(4, 8, 16), 'buffer_copy_block_x4');
  assert.equal(named(0, 1, 127), 'buffer_copy_x1');
  assert.equal(named(0, 1, 128), 'buffer_copy_block_unaligned_x16');
  assert.equal(named(2, 2, 100), 'buffer_copy_x1');
  assert.equal(named(0, 0, 2 ** 32 - 1), 'buffer_copy_block_unaligned_x16');
  assert.equal(named(0, 0, 2 ** 31), 'buffer_copy_block_x16');
  assert.deepEqual(updatePlan(BASE + 4n, 64), copy(0, 4, 64), 'contents are aligned');
});

test('plans cover exactly the range, with accesses that are aligned', () => {
  const sizes = [...Array.from({ length: 300 }, (_, i) => i), ...LARGE];
  for (let offset = 0; offset < 16; offset++) {
    for (const sizeBytes of sizes) {
      for (const patternBytes of [1, 2, 4, 8]) {
        const isMultiple = offset % patternBytes === 0 && sizeBytes % patternBytes === 0;
        const what = `${sizeBytes} bytes at ${offset}, pattern of ${patternBytes}`;
        if (!isMultiple) {
          assert.throws(() => fill(offset, sizeBytes, patternBytes), { status: 'INVALID_ARGUMENT' }, what);
          continue;
        }
        const plan = fill(offset, sizeBytes, patternBytes);
        assert.equal(plan === undefined, sizeBytes === 0, what);
        if (plan === undefined) continue;
        const elementBytes = ELEMENT_BYTES[plan.kernel]!;
        assert.equal(plan.elementCount * elementBytes, sizeBytes, what);
        assert.equal(offset % elementBytes, 0, what);
        const isWhole = elementBytes >= patternBytes || plan.kernel === 'buffer_fill_block_unaligned_x16';
        assert.ok(isWhole, `${what}: an element holds the pattern`);
      }
      for (let source = 0; source < 16; source++) {
        const plan = copy(source, offset, sizeBytes);
        const what = `${sizeBytes} bytes from ${source} to ${offset}`;
        assert.equal(plan === undefined, sizeBytes === 0, what);
        if (plan === undefined) continue;
        const elementBytes = ELEMENT_BYTES[plan.kernel]!;
        assert.equal(plan.elementCount * elementBytes, sizeBytes, what);
        assert.equal((source | offset) % elementBytes, 0, what);
      }
    }
  }
});

test('what overlaps, and patterns of other sizes, are refused', () => {
  const near = (distance: number, sizeBytes: number) =>
    copyPlan({ source: BASE, target: BASE + BigInt(distance), sizeBytes });
  for (const [distance, sizeBytes] of [
    [0, 1],
    [1, 2],
    [-1, 2],
    [15, 16],
    [2 ** 31 - 1, 2 ** 31],
  ] as const) {
    assert.throws(() => near(distance, sizeBytes), { status: 'INVALID_ARGUMENT', message: /overlap/ });
  }
  for (const distance of [16, -16]) assert.equal(near(distance, 16)?.kernel, 'buffer_copy_block_x16');
  assert.equal(near(0, 0), undefined);
  for (const patternBytes of [0, 3, 5, 16]) {
    assert.throws(() => fill(0, 240, patternBytes), { status: 'INVALID_ARGUMENT' });
  }
});

test('patterns are repeated to 8 bytes, little-endian', () => {
  assert.equal(repeatedPattern(Uint8Array.of(0xab)), 0xabab_abab_abab_ababn);
  assert.equal(repeatedPattern(Uint8Array.of(1, 2)), 0x0201_0201_0201_0201n);
  assert.equal(repeatedPattern(Uint8Array.of(1, 2, 3, 0xff)), 0xff03_0201_ff03_0201n);
  assert.equal(repeatedPattern(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)), 0x0807_0605_0403_0201n);
});

test('workgroups are as many as there is work for, up to four for each compute unit', () => {
  const groups = (sizeBytes: number) => transferGroups(copy(0, 0, sizeBytes)!, 64, 110);
  assert.equal(groups(1), 1);
  assert.equal(groups(16 * 256), 1);
  assert.equal(groups(16 * 257), 2);
  assert.equal(groups(2 ** 32 - 1), 440);
  assert.equal(transferGroups(copy(1, 0, 16 * 257)!, 64, 110), 2, 'unaligned ones do 16 bytes a step, too');
});
