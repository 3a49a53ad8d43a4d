/**
 * A program of all that a device does, again and again, each time with another call of the HSA runtime that
 * fails: memory, signals, queues, executables. What fails says so, with its cause; everything else goes on,
 * and nothing is left.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HsaError } from '../../hsa/objects/status.ts';
import { FailingCalls } from '../conformance/failing-calls.test-support.ts';
import { conformanceCode, testAgents } from '../conformance/subject.test-support.ts';
import type { WaitInput } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import { DriverRegistry } from '../devices/driver.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import { amdgpuDriver } from './index.ts';

/** What failed at once, or later. */
type Failures = HalError[];

function attempt<T>(failures: Failures, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    assert.ok(error instanceof HalError, String(error));
    failures.push(error);
    return undefined;
  }
}

/** Uses everything once, with a fault of its own; what fails is in `failures`. */
async function program(device: LogicalDevice, failures: Failures): Promise<void> {
  const [one, other] = [device.queue(0), device.queue(1)];
  const code = attempt(failures, () => device.load(conformanceCode('gfx90a')));
  const total = attempt(failures, () => device.allocate(4));
  if (code === undefined || total === undefined) {
    code?.[Symbol.dispose]();
    total?.[Symbol.dispose]();
    return;
  }
  const count = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
  const mapped = attempt(failures, () =>
    device.allocate(16, { memoryType: 'host-local', usage: ['default', 'mapping'] }),
  );
  const pool = device.createPool({ kind: 'tlsf', slabBytes: 4096 });
  const ends: PromiseLike<unknown>[] = [];
  const add = <T extends PromiseLike<unknown> & WaitInput>(end: T): T => {
    ends.push(end);
    return end;
  };
  add(one.fill({ target: total, pattern: Uint8Array.of(0) }));
  const memory = add(one.alloca({ pool, sizeBytes: 64 }));
  const plain = add(other.alloca({ sizeBytes: 64, waits: [memory] }));
  const first = add(one.dispatch({ ...count, waits: [memory] }));
  const second = add(other.dispatch({ ...count, waits: [first] }));
  using commands = device.record({ slots: ['total'] }, (recorder) => {
    recorder.dispatch({ ...count, bindings: [{ slot: 'total' }] }).barrier();
    recorder.dispatch(count);
    recorder.fill({ target: total.subspan(0, 4), pattern: Uint8Array.of(0) });
  });
  add(one.execute({ commands, bindings: { total }, waits: [second] }));
  const bad = add(one.dispatch({ entry: code.lookup('store_at'), groups: 1, constants: [0, 0] }));
  add(one.dispatch(count));
  add(other.dispatch({ ...count, waits: [bad] }));
  const last = add(other.barrier({ waits: [second] }));
  add(one.dealloca({ buffer: memory.result, waits: [last] }));
  add(other.dealloca({ buffer: plain.result, waits: [last] }));
  const outcomes = await Promise.allSettled(ends.map(async (end) => await end));
  for (const outcome of outcomes) if (outcome.status === 'rejected') failures.push(outcome.reason as HalError);
  for (const each of [mapped, total, memory.result, plain.result, pool, code]) each?.[Symbol.dispose]();
}

/** The device still works: what follows knows nothing of the failure. */
async function expectWorking(device: LogicalDevice): Promise<void> {
  using code = device.load(conformanceCode('gfx90a'));
  using total = device.allocate(4, { memoryType: 'host-local', usage: ['default', 'mapping'] });
  const count = { entry: code.lookup('count_workgroups'), groups: 3, bindings: [total] };
  const first = device.queue(0).dispatch(count);
  await device.queue(1).dispatch({ ...count, waits: [first] });
  assert.deepEqual([...new Uint32Array(total.read().buffer)], [6]);
}

/** Returns the calls of the program. `failing`: which of them fails; -1: none. */
async function run(parameters: string, failing: number): Promise<readonly string[]> {
  const watched = new FailingCalls(failing);
  const registry = new DriverRegistry(amdgpuDriver(testAgents(), { createRuntime: watched.createRuntime }));
  const failures: Failures = [];
  let device: LogicalDevice | undefined;
  try {
    device = await registry.open(`amdgpu?${parameters}`);
  } catch (error) {
    assert.ok(error instanceof HalError, String(error));
    failures.push(error);
  }
  if (device !== undefined) await program(device, failures);
  const { calls } = watched;
  watched.arm(-1);
  if (device !== undefined) {
    assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
    await expectWorking(device);
    const { liveCount, liveBytes } = device.allocator.statistics;
    assert.deepEqual([liveCount, liveBytes], [0, 0], 'buffers');
    device[Symbol.dispose]();
  }
  const name = calls[failing];
  const isInjected = ({ origin }: HalError): boolean => /injected/.test(origin.message);
  if (name !== undefined) assert.ok(failures.some(isInjected), `call ${failing} (${name}) failed, and nobody was told`);
  for (const failure of failures) {
    const isFault = failure.origin instanceof HsaError && !isInjected(failure);
    const follows = failure.origin instanceof HalError && failure.origin.status === 'FAILED_PRECONDITION';
    assert.ok(isFault || isInjected(failure) || follows, failure.chain.map(({ message }) => message).join(' <- '));
  }
  const left = [...watched.live].map((each) => (typeof each === 'object' ? each?.constructor.name : String(each)));
  assert.deepEqual(left, [], `what is left when call ${failing} (${name}) fails`);
  return calls;
}

for (const parameters of ['', 'waits=barrier&ring=4&notifications=2', 'transfers=kernels']) {
  test(`each HSA call in turn fails, with '${parameters}'`, { timeout: 120_000 }, async (context) => {
    const calls = await run(parameters, -1);
    for (let failing = 0; failing < calls.length; failing++) await run(parameters, failing);
    context.diagnostic(`${calls.length} calls: ${[...new Set(calls)].join(', ')}`);
    for (const name of ['createSignal', 'createQueue', 'createExecutable', 'loadCodeObject', 'freeze', 'allocate']) {
      assert.ok(calls.includes(name), name);
    }
  });
}
