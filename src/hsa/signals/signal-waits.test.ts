import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HsaError } from '../objects/status.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';

function setUp() {
  const device = new FakeDevice();
  const runtime = createRuntime({ devices: [device] });
  return { device, runtime, agent: runtime.gpuAgents[0]!, queue: runtime.createQueue(runtime.gpuAgents[0]!) };
}

test('wait any returns the first that holds, wait all waits for the last', () => {
  const { device, runtime, queue } = setUp();
  const slow = device.addKernel(function* () {
    for (let i = 0; i < 5; i++) yield 'running';
  });
  const [never, late] = [runtime.createSignal(1n), runtime.createSignal(1n)];
  queue.dispatch({ kernel: slow, grid: [1], workgroup: [1], completionSignal: late });
  const waits = [never, late].map((signal) => ({ signal, condition: 'eq', value: 0n }) as const);
  assert.equal(runtime.waitAny(waits), 1);
  assert.equal(runtime.waitAll(waits, { timeoutMs: 1 }), false);
  never.store(0n);
  assert.equal(runtime.waitAny(waits), 0);
  assert.equal(runtime.waitAll(waits), true);
});

test('asynchronous waits let other host code change the signals', async () => {
  const { device, runtime, queue } = setUp();
  const [host, kernel] = [runtime.createSignal(1n), runtime.createSignal(1n)];
  const waits = [host, kernel].map((signal) => ({ signal, condition: 'eq', value: 0n }) as const);
  assert.equal(await runtime.waitAnyAsync(waits, { timeoutMs: 2 }), undefined);
  setTimeout(() => host.store(0n), 5);
  assert.equal(await runtime.waitAnyAsync(waits), 0);
  assert.equal(await runtime.waitAllAsync(waits, { timeoutMs: 2 }), false);
  const body = device.addKernel(function* () {
    for (let i = 0; i < 5; i++) yield 'running';
  });
  setTimeout(() => queue.dispatch({ kernel: body, grid: [1], workgroup: [1], completionSignal: kernel }), 5);
  assert.equal(await runtime.waitAllAsync(waits), true);
  await assert.rejects(runtime.waitAllAsync([]), HsaError);
  host[Symbol.dispose]();
  await assert.rejects(runtime.waitAnyAsync(waits), HsaError);
});

test('waits that can never end are refused, and so are waits for nothing', () => {
  const { runtime } = setUp();
  const wait = { signal: runtime.createSignal(1n), condition: 'eq', value: 0n } as const;
  assert.throws(() => runtime.waitAny([wait]), /would never end/);
  assert.equal(runtime.waitAny([wait], { timeoutMs: 0 }), undefined);
  const isRefused = (error: unknown) => error instanceof HsaError && error.status === 'INVALID_ARGUMENT';
  assert.throws(() => runtime.waitAny([]), isRefused);
  assert.throws(() => runtime.waitAll([]), isRefused);
});

test('a handler runs when its condition holds, and again for as long as it stays armed', () => {
  const { runtime } = setUp();
  const signal = runtime.createSignal(3n);
  const seen: bigint[] = [];
  runtime.onSignal({ signal, condition: 'lt', value: 3n }, (value) => {
    seen.push(value);
    signal.subtract(1n);
    return value > 1n;
  });
  runtime.progress();
  assert.deepEqual(seen, []);
  signal.subtract(1n);
  while (runtime.progress() !== 'idle');
  assert.deepEqual(seen, [2n, 1n]);
});

test('what a handler starts is waited for; a removed handler is silent', () => {
  const { runtime, queue } = setUp();
  const [first, second, done] = [runtime.createSignal(0n), runtime.createSignal(1n), runtime.createSignal(1n)];
  runtime.onSignal({ signal: first, condition: 'eq', value: 0n }, () => {
    second.store(0n);
    return false;
  });
  const remove = runtime.onSignal({ signal: first, condition: 'eq', value: 0n }, () => assert.fail('it was removed'));
  remove();
  queue.barrier({ dependencies: [second], mode: 'all', completionSignal: done });
  assert.equal(done.waitSync('eq', 0n), 0n);
});

test('a barrier-value packet waits for a masked value, without a signal for nothing', () => {
  const { runtime, queue } = setUp();
  const cases = [
    { condition: 'eq', value: 0x20n, mask: 0xf0n, wrong: 0x12n, right: 0x2fn },
    { condition: 'ne', value: 0n, mask: 1n, wrong: 2n, right: 3n },
    { condition: 'lt', value: -1n, mask: -1n, wrong: -1n, right: -2n },
    { condition: 'gte', value: 5n, mask: -1n, wrong: 4n, right: 5n },
  ] as const;
  for (const { wrong, right, ...rest } of cases) {
    const [signal, done] = [runtime.createSignal(wrong), runtime.createSignal(1n)];
    queue.barrierValue({ signal, ...rest, completionSignal: done });
    runtime.progress();
    assert.equal(done.load(), 1n, rest.condition);
    signal.store(right);
    runtime.progress();
    assert.equal(done.load(), 0n, rest.condition);
  }
  const marker = runtime.createSignal(1n);
  queue.barrierValue({ completionSignal: marker });
  runtime.progress();
  assert.equal(marker.load(), 0n);
  assert.ok(marker.endTicks > 0n);
});

test('other vendor packets and unknown conditions are INVALID_PACKET_FORMAT', () => {
  for (const [offset, value] of [
    [2, 1],
    [32, 4],
  ] as const) {
    const { runtime, queue } = setUp();
    const index = queue.addWriteIndex(1n);
    const packet = new DataView(queue.packet(index).buffer, queue.packet(index).byteOffset, 64);
    packet.setUint8(2, 2);
    packet.setUint8(offset, value);
    packet.setUint16(0, 0x1500, true);
    queue.ringDoorbell(index);
    runtime.progress();
    const error = queue.error?.error;
    assert.ok(error instanceof HsaError);
    assert.equal(error.status, 'INVALID_PACKET_FORMAT');
  }
});
