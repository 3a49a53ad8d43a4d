import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from './errors.ts';
import { checkLimit, LIMITS } from './limits.ts';

test('a limit is inclusive and its error names it', () => {
  checkLimit('elfNotes', LIMITS.elfNotes, {});
  assert.throws(
    () => checkLimit('elfNotes', LIMITS.elfNotes + 1, { file: 'x' }),
    (error) => {
      assert.ok(error instanceof WavewrightError);
      assert.equal(error.code, 'LIMIT_EXCEEDED');
      assert.equal(error.message, `x: ${LIMITS.elfNotes + 1} is above the limit elfNotes = ${LIMITS.elfNotes}`);
      return true;
    },
  );
});
