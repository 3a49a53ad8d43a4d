import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../base/errors.ts';
import { NIBBLE_MASKS, NIBBLE_SPREADS, STATE_START } from './layout.ts';
import { StateMemory } from './state-memory.ts';

test('state is whole zero pages behind the tables, and used again at once', () => {
  const state = new StateMemory();
  const first = state.allocate(5000);
  assert.ok(first >= STATE_START && first % 4096 === 0);
  const second = state.allocate(1);
  assert.ok(second >= first + 8192 || second <= first - 4096);
  assert.equal(state.usedBytes, 8192 + 4096);
  state.bytes.fill(7, first, first + 8192);
  state.free(first);
  assert.equal(state.allocate(8192), first);
  assert.ok(state.bytes.subarray(first, first + 8192).every((byte) => byte === 0));
  state.free(first);
  state.free(second);
  assert.equal(state.usedBytes, 0);
});

test('an owner finds what it left, others do not, and neither does it after it was forgotten', () => {
  const state = new StateMemory();
  const isZero = (offset: number): boolean => state.bytes.subarray(offset, offset + 4096).every((byte) => byte === 0);
  const own = state.allocate(4096, 'one');
  state.bytes.fill(7, own, own + 4096);
  state.free(own);
  assert.notEqual(state.allocate(4096, 'two'), own);
  assert.equal(state.allocate(4096, 'one'), own);
  assert.equal(state.bytes[own], 7);
  state.free(own);
  state.forgetOwners();
  const again = state.allocate(4096, 'one');
  assert.equal(again, own);
  assert.ok(isZero(again));
  // What waits for its owner is bounded.
  for (let i = 0; i < 100; i++) state.free(state.allocate(2 ** 20, `${i}`));
  const others = Array.from({ length: 100 }, () => state.allocate(2 ** 20));
  assert.ok(others.every(isZero));
  assert.ok(Math.max(...others) < STATE_START + 120 * 2 ** 20);
});

test('offsets stay below 2^31, and what does not fit is refused', () => {
  const state = new StateMemory();
  assert.ok(state.buffer.byteLength <= 2 ** 31);
  const code = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof WavewrightError);
      return error.code;
    }
    return 'none';
  };
  const all = state.buffer.byteLength - STATE_START;
  assert.equal(
    code(() => state.allocate(all + 1)),
    'LIMIT_EXCEEDED',
  );
  state.free(state.allocate(all));
  assert.equal(
    code(() => state.free(STATE_START)),
    'USAGE',
  );
});

test('the constant tables say which lanes are on, and which lane stands for one that is off', () => {
  const { words, bytes } = new StateMemory();
  const masks = (bits: number) => [
    ...words.subarray((NIBBLE_MASKS + bits * 16) / 4, (NIBBLE_MASKS + bits * 16) / 4 + 4),
  ];
  assert.deepEqual(masks(0b0101), [-1, 0, -1, 0]);
  const lanes = (bits: number) => [0, 4, 8, 12].map((byte) => bytes[NIBBLE_SPREADS + bits * 16 + byte]! / 4);
  assert.deepEqual(lanes(0b1010), [1, 1, 1, 3]);
  assert.deepEqual(lanes(0b0000), [0, 1, 2, 3]);
  assert.deepEqual(lanes(0b1111), [0, 1, 2, 3]);
});
