/** A sample of what test/fuzz/replay-files.ts does a million times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mutateFiles } from './fuzz/replay-files.ts';

test('damaged files end in nothing but clear errors', () => {
  const { count, refused, grownBytes } = mutateFiles(2000, 5);
  assert.ok(refused > count / 10, `${refused} of ${count} were refused`);
  assert.ok(grownBytes < 2 ** 28, `${grownBytes} bytes`);
});
