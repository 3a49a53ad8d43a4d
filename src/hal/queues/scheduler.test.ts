/** Operations between submission and end: long chains, cancelling, seeds, events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRegistry } from '../conformance/subject.test-support.ts';
import { HalError } from '../core/status.ts';

const LINKS = 10_000;

test('a chain of 10,000 links needs no stack, whether it works or fails', async () => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const queue = device.queue();
  for (const isFailing of [false, true]) {
    const timelines = Array.from({ length: LINKS + 1 }, () => device.createSemaphore());
    for (let i = 0; i < LINKS; i++) queue.barrier({ waits: [timelines[i]!.at(1)], signals: [timelines[i + 1]!.at(1)] });
    if (isFailing) timelines[0]!.fail(new HalError('DATA_LOSS', 'first'));
    else timelines[0]!.signal(1);
    const end = await timelines[LINKS]!.wait(1).then(
      () => undefined,
      (error: HalError) => error,
    );
    assert.equal(end?.chain.length, isFailing ? LINKS + 1 : undefined);
    assert.equal(end?.origin.message, isFailing ? 'first' : undefined);
  }
  assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
});

test('what has not begun can be aborted, what has begun cannot', async () => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const queue = device.queue();
  const gate = device.createSemaphore();
  const controller = new AbortController();
  const { signal: abort } = controller;
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = queue.hostCall({ call: () => promise, abort });
  const memory = queue.alloca({ sizeBytes: 4 });
  await memory;
  const release = queue.dealloca({ buffer: memory.result, waits: [gate.at(1)], abort });
  assert.equal(memory.result.state, 'deallocating');
  const semaphore = { kind: 'semaphore', semaphore: 'semaphore', wantedValue: 1, presentValue: 0, signalledBy: [] };
  assert.deepEqual(
    device.explainStall().operations.map(({ state, blockers }) => [state, ...blockers]),
    [
      ['running', { kind: 'host', what: 'the promise of its function' }],
      ['waiting', semaphore],
    ],
  );
  controller.abort(new Error('stop'));
  await assert.rejects(Promise.resolve(release), { status: 'CANCELLED', message: /^dealloca .* was cancelled: stop$/ });
  assert.equal(memory.result.state, 'committed');
  assert.equal(running.state, 'running');
  resolve();
  await running;
  const late = queue.barrier({ abort });
  await assert.rejects(Promise.resolve(late), { status: 'CANCELLED' });
  assert.equal(gate.waiterCount, 0);
  memory.result[Symbol.dispose]();
});

test('a dealloca that is sooner than its alloca fails that, and no memory is left', async () => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const gate = device.createSemaphore();
  const memory = device.queue().alloca({ sizeBytes: 4, waits: [gate.at(1)] });
  await device.queue().dealloca({ buffer: memory.result });
  gate.signal(1);
  await assert.rejects(Promise.resolve(memory), { status: 'FAILED_PRECONDITION', message: /deallocated before/ });
  assert.equal(device.allocator.statistics.liveCount, 0);
});

async function orderOf(parameters: string): Promise<string> {
  using registry = createRegistry();
  const begun: number[] = [];
  const device = await registry.open(`null${parameters}`, {
    onEvent: ({ kind, operation }) => kind === 'started' && begun.push(operation.id),
  });
  const gate = device.createSemaphore();
  const all = Array.from({ length: 12 }, () => device.queue().barrier({ waits: [gate.at(1)] }));
  gate.signal(1);
  for (const each of all) await each;
  return begun.join(' ');
}

test('a seed chooses the schedule, always the same; without one it is that of submission', async () => {
  assert.equal(await orderOf(''), '1 2 3 4 5 6 7 8 9 10 11 12');
  assert.equal(await orderOf('?seed=1'), await orderOf('?seed=1'));
  assert.notEqual(await orderOf('?seed=1'), await orderOf('?seed=2'));
  assert.deepEqual(
    (await orderOf('?seed=3'))
      .split(' ')
      .map(Number)
      .toSorted((a, b) => a - b)
      .at(-1),
    12,
  );
});

test('a wait of a submission is over at its end, also where that was long ago', async () => {
  using registry = createRegistry();
  const device = await registry.open('null');
  const queue = device.queue();
  const early = queue.barrier();
  await early;
  await queue.barrier({ waits: [early, early] });
  const bad = queue.hostCall({ call: () => assert.fail('no') });
  await assert.rejects(Promise.resolve(queue.barrier({ waits: [early, bad] })), { status: 'UNKNOWN' });
});
