/** Semaphores on the host: waits of all kinds, many waiters, and what becomes of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fence } from './fence.ts';
import { HostLoop } from './host-loop.ts';
import { seededIntegers } from './random.ts';
import { MAX_SEMAPHORE_VALUE, Semaphore, waitForAll, waitForAllSync, waitForAny } from './semaphore.ts';
import { HalError } from './status.ts';

const loop = new HostLoop();
const semaphore = (initialValue = 0, label = 'x') => new Semaphore(loop, { initialValue, label });
const lost = new HalError('DATA_LOSS', 'lost');

test('values only grow, and have limits', () => {
  const one = semaphore(2);
  assert.deepEqual([one.signal(2), one.signal(1), one.signal(3), one.query()], [false, false, true, 3]);
  assert.equal(one.signal(MAX_SEMAPHORE_VALUE), true);
  for (const bad of [-1, 1.5, Number.NaN, MAX_SEMAPHORE_VALUE + 1]) {
    assert.throws(() => one.signal(bad), { status: 'INVALID_ARGUMENT' });
    assert.throws(() => one.at(bad), { status: 'INVALID_ARGUMENT' });
  }
});

test('waits for all and for any, a failure, a time limit and an abort', async () => {
  const [a, b] = [semaphore(0, 'a'), semaphore(0, 'b')];
  const all = waitForAll([a.at(1), [b, 2]]);
  const any = waitForAny([a.at(5), b.at(1)]);
  b.signal(2);
  assert.equal(await any, 1);
  assert.equal(a.waiterCount, 1, 'the wait for any gave up its place');
  a.signal(1);
  await all;
  await assert.rejects(waitForAll([a.at(9), b.at(2)], { timeoutMs: 0 }), {
    status: 'DEADLINE_EXCEEDED',
    message: /'a' ≥ 9, which is at 1$/,
  });
  const controller = new AbortController();
  const aborted = waitForAll([a.at(9)], { abort: controller.signal });
  controller.abort(new Error('enough'));
  await assert.rejects(aborted, (error: HalError) => error.status === 'CANCELLED' && error.origin.message === 'enough');
  await assert.rejects(a.wait(9, { timeoutMs: 1 }), { status: 'DEADLINE_EXCEEDED' });
  assert.deepEqual([a.waiterCount, b.waiterCount], [0, 0]);
  const failing = waitForAll([a.at(9), b.at(9)]);
  b.fail(lost);
  await assert.rejects(failing, lost);
  await assert.rejects(b.wait(1), lost);
  assert.equal(a.waiterCount, 0);
  await waitForAll([]);
  await assert.rejects(waitForAny([]), { status: 'INVALID_ARGUMENT' });
});

test('a wait on the spot says so when it would never end', () => {
  const one = semaphore(1);
  one.waitSync(1);
  assert.throws(() => one.waitSync(2), { status: 'FAILED_PRECONDITION', message: /'x' ≥ 2 would never end/ });
  assert.throws(() => one.waitSync(2, { timeoutMs: 1 }), { status: 'DEADLINE_EXCEEDED' });
  one.fail(lost);
  assert.throws(() => waitForAllSync([one.at(1)]), lost);
});

test('only the first failure counts, and nothing comes after it', () => {
  const one = semaphore(3);
  assert.equal(one.fail(lost), true);
  assert.equal(one.fail(new HalError('UNKNOWN', 'later')), false);
  assert.deepEqual([one.failure, one.value, one.signal(4), one.value], [lost, 3, false, 3]);
  assert.throws(() => one.query(), lost);
});

test('a fence has one value for each semaphore', async () => {
  const [a, b] = [semaphore(), semaphore()];
  const fence = new Fence(a.at(1), new Fence(a.at(3), b.at(1)), a.at(2));
  assert.deepEqual(
    fence.timepoints.map(({ value }) => value),
    [3, 1],
  );
  assert.equal(fence.query(), false);
  fence.signal();
  await fence;
  fence.fail(lost);
  assert.throws(() => fence.query(), lost);
});

test('values can be followed as they come', async () => {
  const one = semaphore(1);
  const seen: number[] = [];
  const follow = (async () => {
    for await (const value of one) seen.push(value);
  })();
  for (const value of [2, 5]) {
    await Promise.resolve().then(() => {});
    one.signal(value);
    await one.at(value);
  }
  one.fail(lost);
  await assert.rejects(follow, lost);
  assert.equal(seen[0], 1);
  assert.ok(seen.every((value, i) => i === 0 || value > seen[i - 1]!));
});

test('callbacks come in order of value, those of one value in order of asking; who gave up is not called', () => {
  const random = seededIntegers(7);
  const one = semaphore();
  const called: [value: number, order: number][] = [];
  const wanted: [value: number, order: number][] = [];
  for (let order = 0; order < 20_000; order++) {
    const value = 1 + random(500);
    const cancel = one.onReached(value, () => called.push([value, order]));
    if (random(3) === 0) cancel();
    else wanted.push([value, order]);
  }
  assert.equal(one.waiterCount, wanted.length);
  for (let value = 1; value <= 500; value += 1 + random(20)) one.signal(value);
  one.signal(500);
  assert.deepEqual(
    called,
    wanted.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]),
  );
  assert.equal(one.waiterCount, 0);
});
