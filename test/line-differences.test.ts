/** Long lists of lines are compared in little memory, and what differs is named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSameLines, lineDifferences } from './line-differences.test-support.ts';

test('lines that one list has alone, or more often', () => {
  assert.deepEqual(lineDifferences(['a', 'a', 'b'], ['a', 'b', 'c']), ['found a', 'missing c']);
  assert.deepEqual(lineDifferences([], ['a']), ['missing a']);
  assert.deepEqual(lineDifferences(['a', 'b'], ['b']), ['found a']);
  assertSameLines(['a', 'b'], ['a', 'b']);
});

test('of lists that differ everywhere the first lines are named', () => {
  const lines = (from: string): string[] => Array.from({ length: 50_000 }, (_, i) => `${from}${i}`).sort();
  assert.throws(
    () => assertSameLines(lines('a'), lines('b'), 'x'),
    /^AssertionError.*: x 50000 lines, expected 50000/s,
  );
  assert.equal(lineDifferences(lines('a'), lines('b')).length, 20);
});
