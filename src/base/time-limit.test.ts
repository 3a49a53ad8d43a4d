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

test('time that went by before counts, and what it ran out in is said', () => {
  const limit = new TimeLimit(1500, () => 2000, 600);
  assert.equal(limit.isOver(), false);
  limit.expect('while nothing was done');
  assert.throws(() => new TimeLimit(1500, () => 2100, 600).expect('while files were read'), {
    code: 'TIMEOUT',
    message: 'the time limit of 1.5 s ran out while files were read',
  });
});

test('waits count as long as they were meant to be, once', async () => {
  const work = new TimeLimit(50, () => 0);
  const startMs = performance.now();
  await work.wait(20);
  assert.equal(work.isOver(startMs + 1e6), false, 'the machine may be late by any time');
  await work.wait(30);
  assert.equal(work.isOver(startMs + 2e6), true);
  const wall = new TimeLimit(1e6);
  const before = performance.now();
  await wall.wait(20);
  assert.equal(wall.isOver(before + 1e6 - 10), false, 'wall time has the wait in it');
});
