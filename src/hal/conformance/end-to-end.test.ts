/** From a URI to results and to failures with their history, on every driver. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Constants } from '../commands/queue-dispatch.ts';
import { HalError } from '../core/status.ts';
import { memoryFile } from '../queues/file-transfer.ts';
import { contentsOf, integersOf } from './readback.test-support.ts';
import { createRegistry, onSubjects } from './subject.test-support.ts';

const words = (...values: number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);

onSubjects('a pipeline of two queues, ordered by one timeline', async ({ device, load }) => {
  using code = load();
  const timeline = device.createSemaphore({ label: 'pipeline' });
  const [first, second] = [device.queue(0), device.queue(1)];
  const at = (value: number) => [timeline.at(value)];
  // Submitted in the wrong order on purpose: nothing but the timeline orders it.
  using output = device.allocate(16);
  const memory = first.alloca({ sizeBytes: 16, signals: at(1) });
  const entry = code.lookup('scale_and_offset');
  const bindings = [memory.result, output];
  const dispatch = second.dispatch({ entry, groups: 1, constants: [3, 10], bindings, waits: at(3), signals: at(4) });
  first.update({ target: memory.result, contents: Int32Array.of(1, 2, 3, 4), waits: at(2), signals: at(3) });
  const seen: number[] = [];
  second.hostCall({ call: async () => void seen.push(timeline.value), waits: at(1), signals: at(2) });
  second.dealloca({ buffer: memory.result, waits: at(4), signals: at(5) });
  await timeline.at(5);
  assert.deepEqual(seen, [1]);
  assert.equal(dispatch.state, 'complete');
  const isRun = device.physicalDevices[0]!.executes;
  assert.deepEqual(await integersOf(device, output), isRun ? [13, 16, 19, 22] : [0, 0, 0, 0]);
  assert.equal(memory.result.state, 'released');
});

onSubjects('fill, copy and barrier; a wait for submissions', async ({ device }) => {
  const queue = device.queue();
  using a = device.allocate(32);
  using b = device.allocate(32);
  const fill = queue.fill({ target: a, pattern: Uint8Array.of(1, 2) });
  const middle = queue.fill({ target: a.subspan(8, 4), pattern: words(7), waits: [fill] });
  const copy = queue.copy({
    source: { buffer: a, offsetBytes: 4, sizeBytes: 8 },
    target: { buffer: b, sizeBytes: 8 },
    waits: [middle],
  });
  await queue.barrier({ waits: [copy] });
  assert.deepEqual([...(await contentsOf(device, b)).subarray(0, 10)], [1, 2, 1, 2, 7, 0, 0, 0, 0, 0]);
});

onSubjects('files go in and out', async ({ device }) => {
  const queue = device.queue();
  using buffer = device.allocate(8);
  const out = new Uint8Array(6);
  const read = queue.read({
    file: memoryFile(Uint8Array.of(9, 8, 7, 6, 5, 4)),
    fileOffset: 1,
    target: buffer.subspan(0, 4),
  });
  await queue.write({ source: buffer.subspan(0, 5), file: memoryFile(out), waits: [read] });
  assert.deepEqual([...out], [8, 7, 6, 5, 0, 0]);
  const late = queue.read({ file: memoryFile(out), fileOffset: 4, target: buffer });
  await assert.rejects(Promise.resolve(late), {
    name: 'HalError',
    status: 'OUT_OF_RANGE',
    message: /2 of 8 bytes at 4/,
  });
});

onSubjects('a failure goes on with its history', async ({ device }) => {
  const queue = device.queue();
  using buffer = device.allocate(4);
  const [a, b, c] = ['a', 'b', 'c'].map((label) => device.createSemaphore({ label }));
  queue.fill({ target: buffer, pattern: Uint8Array.of(1), waits: [b!.at(1)], signals: [c!.at(1)], label: 'clear' });
  queue.hostCall({
    call: () => Promise.reject(new HalError('PERMISSION_DENIED', 'not today')),
    waits: [a!.at(1)],
    signals: [b!.at(1)],
  });
  a!.signal(1);
  const failure: HalError = await c!.wait(1).then(
    () => assert.fail(),
    (error) => error,
  );
  assert.equal(failure.status, 'PERMISSION_DENIED');
  assert.match(failure.message, /^fill 'clear' \(operation 1 of .*queue:0\) was not run: its wait for 'b' ≥ 1 failed/);
  assert.deepEqual(
    failure.chain.map((error) => (error instanceof HalError ? error.operation?.kind : error)),
    ['fill', 'host-call', undefined],
  );
  assert.equal(failure.origin.message, 'not today');
  assert.equal(b!.failure, c!.failure?.chain[1]);
  // The memory was not touched, and the queue goes on.
  assert.deepEqual([...(await contentsOf(device, buffer))], [0, 0, 0, 0]);
});

onSubjects(
  'a fault of a kernel is a failure of its operation, and the queue goes on',
  async ({ device, load }) => {
    using code = load();
    const queue = device.queue();
    using output = device.allocate(16);
    const bad = queue.dispatch({ entry: code.lookup('store_at'), groups: 1, constants: [0x10, 0] });
    const failure: HalError = await Promise.resolve(bad).then(
      () => assert.fail(),
      (error) => error,
    );
    assert.deepEqual([failure.status, failure.code, failure.operation?.kind], ['ABORTED', 'GPU_FAULT', 'dispatch']);
    assert.match(failure.message, /store_at/);
    assert.equal(failure.context.report?.headline, failure.message);
    assert.match(failure.context.report?.fields['at'] ?? '', /store_at/);
    const entry = code.lookup('write_constants');
    await queue.dispatch({ entry, groups: 1, constants: [1, 2, 3, 4], bindings: [output] });
    assert.deepEqual(await integersOf(device, output), [1, 2, 3, 4]);
  },
  { needs: ['faults'] },
);

onSubjects('numbers that are no words are no constants; a view has the bytes of any', async ({ device, load }) => {
  using code = load();
  using output = device.allocate(16);
  const entry = code.lookup('write_constants');
  const write = (constants: Constants) => device.queue().dispatch({ entry, groups: 1, constants, bindings: [output] });
  for (const wrong of [0.5, 2 ** 32, -(2 ** 31) - 1, Number.NaN]) {
    assert.throws(() => write([0, 0, wrong, 0]), { status: 'INVALID_ARGUMENT', message: /constant 2, .* 32 bits/ });
  }
  const isRun = device.physicalDevices[0]!.executes;
  await write([-1, 2 ** 32 - 1, -(2 ** 31), 0]);
  assert.deepEqual(await integersOf(device, output), isRun ? [-1, -1, -(2 ** 31), 0] : [0, 0, 0, 0]);
  await write(Float32Array.of(0.5, 0, 0, 0));
  assert.deepEqual(await integersOf(device, output), isRun ? [0x3f000000, 0, 0, 0] : [0, 0, 0, 0]);
  await write([7, Float32Array.of(0.5, 2), -1]);
  assert.deepEqual(await integersOf(device, output), isRun ? [7, 0x3f000000, 0x40000000, -1] : [0, 0, 0, 0]);
  assert.throws(() => write([7, new Uint8Array(3), 0, 0]), { status: 'INVALID_ARGUMENT', message: /3 bytes/ });
  assert.throws(() => write([Float32Array.of(0.5), 0, 1.5, 0]), { status: 'INVALID_ARGUMENT', message: /constant 2/ });
});

onSubjects('what is disposed while it is used stays until it is not', async ({ device, load }) => {
  const gate = device.createSemaphore();
  const before = device.allocator.statistics.liveBytes;
  const code = load();
  const buffer = device.allocate(16);
  const entry = code.lookup('write_constants');
  const waits = [gate.at(1)];
  const end = device.queue().dispatch({ entry, groups: 1, constants: [1, 2, 3, 4], bindings: [buffer], waits });
  buffer[Symbol.dispose]();
  code[Symbol.dispose]();
  assert.equal(device.allocator.statistics.liveCount, 1);
  gate.signal(1);
  await end;
  assert.equal(device.allocator.statistics.liveBytes, before);
});

test('a device that is closed cancels what has not begun', async () => {
  using registry = createRegistry();
  const device = await registry.open('local');
  const gate = device.createSemaphore();
  const end = device.createSemaphore();
  device.queue().barrier({ waits: [gate.at(1)], signals: [end.at(1)] });
  await device[Symbol.asyncDispose]();
  assert.equal(end.failure?.status, 'CANCELLED');
  assert.throws(() => device.queue().barrier(), { status: 'FAILED_PRECONDITION' });
  assert.throws(() => device.allocate(1), { status: 'INVALID_ARGUMENT' });
});

test('devices of several drivers wait for each other', async () => {
  using registry = createRegistry();
  const [gpu, host] = [await registry.open('amdgpu:0'), await registry.open('local')];
  const timeline = gpu.createSemaphore();
  gpu.queue().barrier({ waits: [timeline.at(1)], signals: [timeline.at(2)] });
  host.queue().barrier({ waits: [timeline.at(2)], signals: [timeline.at(3)] });
  host.queue().barrier({ signals: [timeline.at(1)] });
  timeline.waitSync(3);
  assert.equal(timeline.query(), 3);
});
