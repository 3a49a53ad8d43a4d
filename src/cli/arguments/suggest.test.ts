import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean } from './suggest.ts';

test('the closest known word is suggested, when it is close', () => {
  const known = ['run', 'readobj', 'objdump', '--blocks-x', '--blocks-y', '--blocks', '--threads-x'];
  const cases: [string, string | undefined][] = [
    ['rnu', 'run'],
    ['ru', 'run'],
    ['readojb', 'readobj'],
    ['--block-x', '--blocks-x'],
    ['--blocks_y', '--blocks-y'],
    ['--treads-x', '--threads-x'],
    ['--bogus', undefined],
    ['profile', undefined],
    ['xyz', undefined],
    ['', undefined],
  ];
  for (const [given, expected] of cases) {
    assert.equal(didYouMean(given, known), expected && `did you mean '${expected}'?`, given);
  }
});
