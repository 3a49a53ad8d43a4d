import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { createLinearMemory, expectTwoMemories, LinearMemory } from './linear-memory.ts';

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
