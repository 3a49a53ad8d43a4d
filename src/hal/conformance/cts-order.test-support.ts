/** Values of semaphores at their borders, cancelling, and what failures tell of where they come from. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { WavewrightError } from '../../base/errors.ts';
import { MAX_SEMAPHORE_VALUE, type Semaphore, waitForAll, waitForAny } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import { failureOf, type Group, repeated, type World } from './cts.test-support.ts';

const NO_VALUES = [MAX_SEMAPHORE_VALUE + 1, 2 ** 63, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY];
const invalid = { status: 'INVALID_ARGUMENT' };

/** Values of waits that are over, in the order in which they ended. */
function reachedValues(semaphore: Semaphore, values: readonly number[]): number[] {
  const reached: number[] = [];
  for (const value of values) semaphore.onReached(value, () => reached.push(value));
  return reached;
}

export const SemaphoreBoundsTest: Group = {
  ZeroIsReachedFromTheStart: async (world) => {
    const one = world.semaphore();
    assert.ok(one.at(0).isReached);
    one.waitSync(0, { timeoutMs: 0 });
    await world.queue.barrier({ waits: [one.at(0)], signals: [one.at(0)] });
    assert.equal(one.query(), 0);
  },
  LargestValue: async (world) => {
    const [one, other] = [world.semaphore(), world.semaphore(MAX_SEMAPHORE_VALUE)];
    world.queue.barrier({ waits: [other.at(MAX_SEMAPHORE_VALUE)], signals: [one.at(MAX_SEMAPHORE_VALUE)] });
    await one.at(MAX_SEMAPHORE_VALUE);
    assert.equal(one.signal(MAX_SEMAPHORE_VALUE), false);
  },
  LastStepIsAStep: async (world) => {
    const one = world.semaphore(MAX_SEMAPHORE_VALUE - 1);
    const end = world.queue.barrier({ waits: [one.at(MAX_SEMAPHORE_VALUE)] });
    await world.otherQueue.barrier();
    assert.equal(end.state, 'waiting');
    one.signal(MAX_SEMAPHORE_VALUE);
    await end;
  },
  NoValuesAreRefused: (world) => {
    const one = world.semaphore(1);
    for (const value of NO_VALUES) {
      assert.throws(() => one.signal(value), invalid);
      assert.throws(() => one.at(value), invalid);
      assert.throws(() => world.semaphore(value), invalid);
      assert.throws(() => world.queue.barrier({ signals: [[one, value]] }), invalid);
    }
    assert.deepEqual([one.query(), world.device.pendingCounts.waiting], [1, 0]);
  },
  SmallerAndEqualValuesChangeNothing: async (world) => {
    const one = world.semaphore(5);
    assert.deepEqual([one.signal(4), one.signal(5), one.query()], [false, false, 5]);
    await world.queue.barrier({ signals: [one.at(3)] });
    assert.equal(one.query(), 5);
  },
  LateSmallerSignal: async (world) => {
    const [one, gate] = [world.semaphore(), world.semaphore()];
    const late = world.queue.barrier({ waits: [gate.at(1)], signals: [one.at(1)] });
    await world.otherQueue.barrier({ signals: [one.at(2)] });
    gate.signal(1);
    await late;
    assert.equal(one.query(), 2);
  },
  JumpReleasesAllBelowInOrder: (world) => {
    const one = world.semaphore();
    const reached = reachedValues(one, [7, 3, 9, 1, 5, 3]);
    one.signal(5);
    assert.deepEqual([...reached], [1, 3, 3, 5]);
    one.signal(100);
    assert.deepEqual(reached, [1, 3, 3, 5, 7, 9]);
  },
  SameValueInOrderOfWaiting: (world) => {
    const one = world.semaphore();
    const order: number[] = [];
    for (let i = 0; i < 20; i++) one.onReached(1, () => order.push(i));
    one.signal(1);
    assert.deepEqual(order, [...order.keys()]);
  },
  SignalsInsideOfWaits: (world) => {
    const one = world.semaphore();
    const reached = reachedValues(one, [2, 3]);
    one.onReached(1, () => one.signal(3));
    one.signal(1);
    assert.deepEqual([reached, one.query()], [[2, 3], 3]);
  },
  FailureInsideOfAWait: (world) => {
    const one = world.semaphore();
    const failures: unknown[] = [];
    one.onReached(1, () => one.fail(new HalError('DATA_LOSS', 'inside')));
    one.onReached(2, (failure) => failures.push(failure?.status));
    one.signal(1);
    assert.deepEqual(failures, ['DATA_LOSS']);
  },
  WaitersThatGiveUpLeaveNoTrace: async (world) => {
    const one = world.semaphore();
    const abort = new AbortController();
    const waits = Array.from({ length: 64 }, (_, i) => failureOf(one.wait(1 + (i % 5), { abort: abort.signal })));
    const last = one.wait(3);
    abort.abort();
    await Promise.all(waits);
    assert.equal(one.waiterCount, 1);
    one.signal(3);
    await last;
    assert.equal(getEventListeners(abort.signal, 'abort').length, 0);
  },
  ValuesAsTheyCome: async (world) => {
    const one = world.semaphore();
    const seen: number[] = [];
    for await (const value of one) {
      seen.push(value);
      if (value === 6) break;
      one.signal(value + 2);
    }
    assert.deepEqual(seen, [0, 2, 4, 6]);
  },
  ManySemaphoresOfOneOperation: async (world) => {
    const [waits, signals] = [0, 1].map(() => Array.from({ length: 64 }, () => world.semaphore())) as [
      Semaphore[],
      Semaphore[],
    ];
    const end = world.queue.barrier({
      waits: waits.map((each) => each.at(1)),
      signals: signals.map((each) => each.at(2)),
    });
    for (const each of waits.slice(1)) each.signal(1);
    await world.otherQueue.barrier();
    assert.equal(end.state, 'waiting');
    waits[0]!.signal(1);
    await waitForAll(signals.map((each) => each.at(2)));
  },
  OneTimelineSubmittedBackwards: async (world) => {
    const one = world.semaphore();
    const seen: number[] = [];
    for (let i = 40; i > 0; i--) {
      const queue = i % 2 === 0 ? world.queue : world.otherQueue;
      queue.hostCall({ call: () => seen.push(i), waits: [one.at(i - 1)], signals: [one.at(i)] });
    }
    await one.at(40);
    assert.deepEqual(
      seen,
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
  },
};

const STOP = new Error('stop');

export const AbortTest: Group = {
  BeforeItsWaits: async (world) => {
    const [gate, end] = [world.semaphore(), world.semaphore()];
    const abort = new AbortController();
    const late = world.queue.barrier({ waits: [gate.at(1)], signals: [end.at(1)], abort: abort.signal });
    abort.abort(STOP);
    const failure = await failureOf(late);
    assert.deepEqual([failure.status, failure.origin, end.failure], ['CANCELLED', STOP, failure]);
    assert.equal(gate.waiterCount, 0);
  },
  AbortedAlready: async (world) => {
    const target = await world.filled(repeated([7], 8));
    const fill = world.queue.fill({ target, pattern: Uint8Array.of(1), abort: AbortSignal.abort(STOP) });
    assert.equal(fill.state, 'failed');
    assert.equal((await failureOf(fill)).origin, STOP);
    await world.expect(target, repeated([7], 8));
  },
  ReadyButNotBegun: async (world) => {
    const abort = new AbortController();
    const target = await world.filled(repeated([7], 8));
    const fill = world.queue.fill({ target, pattern: Uint8Array.of(1), abort: abort.signal });
    abort.abort(STOP);
    assert.equal((await failureOf(fill)).status, 'CANCELLED');
    await world.expect(target, repeated([7], 8));
  },
  AfterItBegan: async (world) => {
    const abort = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = world.queue.hostCall({ call: () => promise, abort: abort.signal });
    await world.otherQueue.barrier();
    assert.equal(call.state, 'running');
    abort.abort(STOP);
    resolve();
    await call;
  },
  AfterItsEnd: async (world) => {
    const abort = new AbortController();
    const one = world.semaphore();
    const end = world.queue.barrier({ signals: [one.at(1)], abort: abort.signal });
    await end;
    abort.abort(STOP);
    assert.deepEqual([end.state, one.failure, one.query()], ['complete', undefined, 1]);
  },
  WhatFollowsFailsToo: async (world) => {
    const [gate, a, b] = [world.semaphore(), world.semaphore(), world.semaphore()];
    const abort = new AbortController();
    world.queue.barrier({ waits: [gate.at(1)], signals: [a.at(1)], abort: abort.signal });
    world.otherQueue.barrier({ waits: [a.at(1)], signals: [b.at(1)] });
    const last = world.queue.barrier({ waits: [b.at(1)] });
    abort.abort(STOP);
    const { chain } = await failureOf(last);
    assert.deepEqual([chain.length, chain.at(-1)], [5, STOP]);
  },
  AllocationThatIsNotMade: async (world) => {
    const gate = world.semaphore();
    const abort = new AbortController();
    const memory = world.queue.alloca({ sizeBytes: 16, waits: [gate.at(1)], abort: abort.signal });
    const fill = world.queue.fill({ target: memory.result, pattern: Uint8Array.of(1), waits: [memory] });
    abort.abort(STOP);
    gate.signal(1);
    assert.equal((await failureOf(fill)).origin, STOP);
    assert.deepEqual([memory.result.state, world.device.allocator.statistics.liveCount], ['reserved', 0]);
    memory.result[Symbol.dispose]();
  },
  ExecutionThatIsNotRun: async (world) => {
    const gate = world.semaphore();
    const abort = new AbortController();
    const target = await world.filled(repeated([7], 8));
    using program = world.device.record({}, (commands) => commands.fill({ target, pattern: Uint8Array.of(1) }));
    const end = world.queue.execute({ commands: program, waits: [gate.at(1)], abort: abort.signal });
    abort.abort(STOP);
    gate.signal(1);
    await failureOf(end);
    await world.expect(target, repeated([7], 8));
    await world.queue.execute({ commands: program });
    await world.expect(target, repeated([1], 8));
  },
  ManyOperationsOfOneSignal: async (world) => {
    const gate = world.semaphore();
    const abort = new AbortController();
    const order = { waits: [gate.at(1)], abort: abort.signal };
    const kept = world.queue.barrier({ waits: [gate.at(1)] });
    const all = Array.from({ length: 32 }, (_, i) => world.device.queue(i % 2).barrier(order));
    abort.abort(STOP);
    const failures = await Promise.all(all.map(failureOf));
    assert.ok(failures.every(({ status, origin }) => status === 'CANCELLED' && origin === STOP));
    gate.signal(1);
    await kept;
  },
  SignalsAreNotKept: async (world) => {
    const { signal: abort } = new AbortController();
    const gate = world.semaphore();
    const all = Array.from({ length: 8 }, () => world.queue.barrier({ waits: [gate.at(1)], abort }));
    assert.equal(getEventListeners(abort, 'abort').length, 8);
    gate.signal(1);
    for (const each of all) await each;
    assert.equal(getEventListeners(abort, 'abort').length, 0);
  },
  WaitOfTheHost: async (world) => {
    const one = world.semaphore();
    const abort = new AbortController();
    const wait = failureOf(one.wait(1, { abort: abort.signal }));
    abort.abort(STOP);
    const failure = await wait;
    assert.deepEqual([failure.status, failure.origin, one.waiterCount], ['CANCELLED', STOP, 0]);
    one.signal(1);
    await one.at(1);
  },
  WaitOfTheHostForAny: async (world) => {
    const all = [world.semaphore(), world.semaphore()];
    const abort = new AbortController();
    const waits = all.map((each) => each.at(1));
    const wait = failureOf(waitForAny(waits, { abort: abort.signal }));
    abort.abort(STOP);
    assert.equal((await wait).origin, STOP);
    assert.deepEqual(
      all.map(({ waiterCount }) => waiterCount),
      [0, 0],
    );
    assert.equal((await failureOf(waitForAll(waits, { abort: abort.signal }))).status, 'CANCELLED');
  },
};

const throwing = (world: World, reason: unknown, signals: Parameters<World['queue']['barrier']>[0] = {}) =>
  world.queue.hostCall({ call: () => Promise.reject(reason), ...signals });

export const FailureHistoryTest: Group = {
  NamesEveryOperationUpToTheFirst: async (world) => {
    const target = world.buffer(8);
    const first = throwing(world, new RangeError('first'), { label: 'load' });
    const second = world.otherQueue.fill({ target, pattern: Uint8Array.of(1), waits: [first], label: 'clear' });
    const third = world.queue.barrier({ waits: [second], label: 'end' });
    const { chain, origin } = await failureOf(third);
    const operations = chain.map((each) => (each instanceof HalError ? each.operation : undefined));
    assert.deepEqual(
      operations.map((each) => [each?.kind, each?.label]),
      [
        ['barrier', 'end'],
        ['fill', 'clear'],
        ['host-call', 'load'],
        [undefined, undefined],
      ],
    );
    assert.ok(origin instanceof RangeError);
    assert.ok(operations[1]!.queue.endsWith('queue:1'));
  },
  TheFirstOfSeveralFailuresCounts: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    const end = world.queue.barrier({ waits: [a.at(1), b.at(1)] });
    const [later, sooner] = [new HalError('DATA_LOSS', 'later'), new HalError('UNAVAILABLE', 'sooner')];
    b.fail(sooner);
    a.fail(later);
    const failure = await failureOf(end);
    assert.deepEqual([failure.status, failure.origin], ['UNAVAILABLE', sooner]);
  },
  AllWhoWaitHaveOneCause: async (world) => {
    const one = world.semaphore();
    const all = Array.from({ length: 4 }, (_, i) => world.device.queue(i % 2).barrier({ waits: [one.at(1)] }));
    const cause = new HalError('DATA_LOSS', 'by hand');
    one.fail(cause);
    for (const each of all) assert.equal((await failureOf(each)).cause, cause);
    assert.equal(cause.operation, undefined);
  },
  AllSignalsFailAlike: async (world) => {
    const [a, b] = [world.semaphore(3), world.semaphore()];
    const call = throwing(world, new HalError('DATA_LOSS', 'lost'), { signals: [a.at(5), b.at(1)] });
    const failure = await failureOf(call);
    assert.deepEqual([a.failure, b.failure, a.value], [failure, failure, 3]);
  },
  NothingChangesAFailure: async (world) => {
    const one = world.semaphore(3);
    const first = new HalError('DATA_LOSS', 'first');
    one.fail(first);
    assert.deepEqual([one.signal(9), one.fail(new HalError('UNKNOWN', 'second'))], [false, false]);
    await world.queue.barrier({ signals: [one.at(7)] });
    assert.deepEqual([one.value, one.failure], [3, first]);
    // It has failed for values that it had reached, too.
    assert.equal(await failureOf(one.wait(1)), first);
  },
  WhatIsNoError: async (world) => {
    const text = await failureOf(throwing(world, 'a text'));
    assert.deepEqual([text.status, /failed: a text$/.test(text.message)], ['UNKNOWN', true]);
    assert.match((await failureOf(throwing(world, undefined))).message, /it threw nothing/);
  },
  ErrorsOfOthersKeepTheirKind: async (world) => {
    const cause = new WavewrightError('LIMIT_EXCEEDED', 'too much');
    const failure = await failureOf(throwing(world, cause));
    assert.deepEqual([failure.status, failure.code, failure.cause], ['RESOURCE_EXHAUSTED', 'LIMIT_EXCEEDED', cause]);
  },
  MemoryThatIsNotThere: async (world) => {
    const gate = world.semaphore();
    const memory = world.queue.alloca({ sizeBytes: 16, waits: [gate.at(1)], label: 'later' });
    const failure = await failureOf(world.queue.fill({ target: memory.result, pattern: Uint8Array.of(1) }));
    assert.deepEqual([failure.status, failure.operation?.kind], ['FAILED_PRECONDITION', 'fill']);
    assert.match(failure.message, /'later' has no memory yet/);
    gate.signal(1);
    await world.queue.dealloca({ buffer: await memory });
  },
  LongChains: async (world) => {
    const LINKS = 300;
    const one = world.semaphore();
    const gates = Array.from({ length: LINKS }, () => world.semaphore());
    const waitsOf = (i: number) => (i === 0 ? one : gates[i - 1]!).at(1);
    for (const [i, gate] of gates.entries()) world.queue.barrier({ waits: [waitsOf(i)], signals: [gate.at(1)] });
    one.fail(new HalError('DATA_LOSS', 'first'));
    const failure = await failureOf(gates.at(-1)!.wait(1));
    assert.deepEqual([failure.chain.length, failure.origin.message], [LINKS + 1, 'first']);
  },
  WhoDoesNotWaitGoesOn: async (world) => {
    const target = world.buffer(8);
    const bad = failureOf(throwing(world, new RangeError('no')));
    await world.queue.fill({ target, pattern: Uint8Array.of(2) });
    await bad;
    await world.expect(target, repeated([2], 8));
  },
};
