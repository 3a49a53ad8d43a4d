import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TimeLimit } from './time-limit.ts';

test('a limit is over when its clock says so, whatever wall time says', () => {
  let ownMs = 100;
  let asked = 0;
  const limit = new TimeLimit(50, () => {
    asked++;
    return ownMs;
  });
  const startMs = performance.now();
  assert.equal(limit.isOver(startMs), false);
  assert.equal(asked, 1, 'before the limit could be over the clock is not asked');
  assert.equal(limit.isOver(startMs + 1e6), false);
  ownMs = 140;
  assert.equal(limit.isOver(startMs + 2e6), false);
  assert.equal(limit.isOver(startMs + 2e6 + 5), false);
  assert.equal(asked, 3);
  ownMs = 150;
  assert.equal(limit.isOver(startMs + 2e6 + 11), true);
});

test('without a limit it is never over; without a clock wall time counts', () => {
  assert.equal(new TimeLimit().isOver(Number.MAX_VALUE), false);
  assert.equal(new TimeLimit(1000).isOver(), false);
  assert.equal(new TimeLimit(0).isOver(), true);
});
