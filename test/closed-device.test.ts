/** A closed device runs nothing more, and what it was lent can still be given back. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assembledImage, kernelSource } from '../src/bench/assembled-kernel.ts';
import { createEmulatedDevice } from '../src/devices/emulated/index.ts';
import { CodeObjectReader, createRuntime, HsaError } from '../src/hsa/index.ts';

const isClosed = (error: unknown): boolean =>
  error instanceof HsaError &&
  error.status === 'NOT_INITIALIZED' &&
  error.code === 'USAGE' &&
  error.message.endsWith('device emulated:gfx90a was closed');

test('every operation on a closed device is refused', () => {
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
  const runtime = createRuntime({ devices: [device] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  const { bytes } = assembledImage(kernelSource('spin', '1: s_sleep 1\n s_branch 1b'), 'spin');
  executable.loadCodeObject(agent, new CodeObjectReader(bytes));
  executable.freeze();
  const kernel = executable.getSymbol('spin.kd').address;
  const launch = { kernel, grid: [64], workgroup: [64] };
  const queue = runtime.createQueue(agent);
  const done = runtime.createSignal(1n);
  queue.dispatch({ ...launch, completionSignal: done });
  runtime.progress(1);
  assert.ok(queue.running);
  device.close();
  device.close();
  const { memory } = device;
  const code = { address: kernel, sizeBytes: 64, name: 'spin', symbols: [] };
  const pool = agent.pool('coarse-grained');
  const operations: Readonly<Record<string, () => unknown>> = {
    clock: () => device.clock(),
    publishCode: () => device.publishCode(code),
    advance: () => device.advance(),
    allocate: () => memory.allocate(64),
    view: () => memory.view(kernel, 64),
    find: () => memory.find(kernel),
    setAccess: () => memory.setAccess?.(kernel, true),
    'pool.allocate': () => pool.allocate(64),
    'runtime.view': () => runtime.view(kernel, 64),
    'runtime.copy': () => runtime.copy(kernel, kernel, 64),
    progress: () => runtime.progress(),
    createQueue: () => runtime.createQueue(agent),
    createRuntime: () => createRuntime({ devices: [device] }),
    wait: () => done.waitSync('eq', 0n),
  };
  // What ran was cancelled: its queue says so, and takes nothing more.
  queue.process();
  assert.match(queue.error?.error.message ?? '', /^AQL packet 0: the dispatch was cancelled$/);
  assert.equal(queue.error?.error.code, 'USAGE');
  assert.throws(() => queue.dispatch(launch), /was cancelled/);
  for (const [name, operation] of Object.entries(operations)) assert.throws(operation, isClosed, name);
  // Whatever the order in which things end.
  device.withdrawCode(kernel);
  runtime[Symbol.dispose]();
});

test('a packet for a closed device stops its queue', () => {
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 26 });
  using runtime = createRuntime({ devices: [device] });
  const queue = runtime.createQueue(runtime.gpuAgents[0]!);
  device.close();
  queue.dispatch({ kernel: 0n, grid: [1], workgroup: [1] });
  queue.process();
  assert.ok(isClosed(queue.error?.error));
});
