import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillBytes } from './fill.ts';

test('fills any range with any byte, and nothing else', () => {
  for (let start = 0; start < 20; start++) {
    for (let end = start; end <= 40; end++) {
      const value = (start * 41 + end) & 0xff;
      const bytes = new Uint8Array(new SharedArrayBuffer(48)).fill(7);
      fillBytes(bytes, value, start, end);
      assert.deepEqual(
        [...bytes],
        Array.from(bytes, (_, i) => (i >= start && i < end ? value : 7)),
      );
    }
  }
});
