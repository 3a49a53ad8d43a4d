import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { createLinearMemory, expectTwoMemories, LinearMemory, WindowMemory } from './linear-memory.ts';

test('an engine whose modules have one memory is refused by name', () => {
  expectTwoMemories();
  assert.throws(
    () => expectTwoMemories(false),
    (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && /several memories/.test(error.what),
  );
});

test('a memory has the size that was asked for, in whole pages', () => {
  for (const [sizeBytes, pages] of [
    [1, 1],
    [65536, 1],
    [65537, 2],
    [2 ** 32, 65536],
    [2 ** 33, 65536],
  ] as const) {
    const memory = new LinearMemory(createLinearMemory(sizeBytes, 'a test'));
    assert.equal(memory.pages, pages);
    assert.equal(memory.bytes.length, pages * 65536);
    assert.equal(memory.words.length, pages * 16384);
  }
});

test('fills any range with any byte, and nothing else, up to the end of 4 GiB', () => {
  const memory = new LinearMemory(createLinearMemory(2 ** 32, 'a test'));
  const sizeBytes = 48;
  for (const base of [0, 2 ** 31 - 24, memory.bytes.length - sizeBytes]) {
    const bytes = memory.bytes.subarray(base, base + sizeBytes);
    for (const start of [0, 1, 7, 8, 20]) {
      for (const end of [start, start + 1, 28, 39, 40, sizeBytes]) {
        const value = (start * 41 + end) & 0xff;
        bytes.fill(7);
        memory.fill(value, base + start, base + end);
        assert.deepEqual(
          [...bytes],
          Array.from(bytes, (_, i) => (i >= start && i < end ? value : 7)),
        );
      }
    }
  }
});

test('addresses lead to offsets in their window, and nowhere from outside of it', () => {
  const windowHi = 0x7f7f;
  const memory = new WindowMemory(createLinearMemory(2 ** 32, 'a test'), windowHi);
  const base = BigInt(windowHi) << 32n;
  for (const offset of [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]) {
    assert.equal(memory.address(offset), base + BigInt(offset));
    assert.equal(memory.address(offset | 0), base + BigInt(offset), 'also as a signed integer');
    assert.equal(memory.offset(base + BigInt(offset)), offset);
  }
  for (const address of [base - 1n, base + 2n ** 32n, 0n, -1n, 2n ** 64n - 1n, base + 2n ** 63n, base - 2n ** 64n]) {
    assert.equal(memory.offset(address), undefined, address.toString(16));
  }
});
