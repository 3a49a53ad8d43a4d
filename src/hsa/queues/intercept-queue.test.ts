import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PACKET } from '../objects/layouts.ts';
import { FakeDevice } from '../runtime/fake-device.test-support.ts';
import { createRuntime } from '../runtime/runtime.ts';
import type { QueueOptions } from './queue.ts';

function setUp() {
  const device = new FakeDevice();
  const runtime = createRuntime({ devices: [device] });
  const ran: bigint[] = [];
  const kernel = device.addKernel(function* ({ launch }) {
    ran.push(launch.argumentsAddress);
    yield 'running';
  });
  const queue = runtime.createInterceptQueue(runtime.gpuAgents[0]!, { sizePackets: 4 });
  const run = (kernarg: bigint) => {
    const completionSignal = runtime.createSignal(1n);
    queue.dispatch({ kernel, kernarg, grid: [1], workgroup: [1], completionSignal });
    return completionSignal;
  };
  return { device, runtime, queue, ran, run };
}

const kernargOf = (packet: Uint8Array): DataView =>
  new DataView(packet.buffer, packet.byteOffset + PACKET.dispatch.kernargAddress, 8);

test('without an interceptor packets run as they are, more than the ring holds', () => {
  const { run, ran } = setUp();
  for (let i = 0n; i < 20n; i++) run(i);
  run(20n).waitSync('eq', 0n);
  assert.deepEqual(
    ran,
    Array.from({ length: 21 }, (_, i) => BigInt(i)),
  );
});

test('interceptors change, drop and add packets; the last registered sees them first', () => {
  const { queue, run, ran } = setUp();
  const seen: bigint[] = [];
  queue.register((packets, index, write) => {
    seen.push(index);
    write(packets.filter((packet) => kernargOf(packet).getBigUint64(0, true) !== 3n));
  });
  queue.register(([packet], _, write) => {
    const data = kernargOf(packet!);
    const value = data.getBigUint64(0, true);
    const before = packet!.slice();
    kernargOf(before).setBigUint64(0, value + 100n, true);
    // What runs in front must not complete the signal of the packet.
    new DataView(before.buffer).setBigUint64(PACKET.completionSignal, 0n, true);
    write([before]);
    write([packet!]);
  });
  for (const kernarg of [1n, 2n, 3n]) run(kernarg);
  run(4n).waitSync('eq', 0n);
  assert.deepEqual(ran, [101n, 1n, 102n, 2n, 103n, 104n, 4n]);
  assert.deepEqual(seen, [0n, 0n, 1n, 1n, 2n, 2n, 3n, 3n]);
});

test('an error of what was written stops the queue, and disposing it frees both', () => {
  const { device, queue, run, runtime } = setUp();
  queue.register((packets, _, write) => {
    for (const packet of packets) packet[0] = 0x77;
    write(packets);
  });
  const signal = run(1n);
  assert.throws(() => signal.waitSync('eq', 0n), /packet type 119/);
  assert.match(queue.error?.error.message ?? '', /packet type 119/);
  assert.throws(() => run(2n), /packet type 119/);
  const before = device.memory.allocations.size;
  queue[Symbol.dispose]();
  assert.equal(device.memory.allocations.size, before - 2);
  assert.equal(runtime.failure, undefined);
});

test('packets that never find room stop the queue; progress does not throw', () => {
  const { queue, run, runtime } = setUp();
  const gate = runtime.createSignal(1n);
  queue.register(([packet], _, write) => {
    for (let i = 0; i < 8; i++) write([packet!.slice()]);
  });
  queue.barrier({ dependencies: [gate], mode: 'all' });
  run(1n);
  while (runtime.progress() !== 'idle');
  assert.match(
    queue.error?.error.message ?? 'none',
    /^AQL packet 0: queue \d+ is full and none of its packets can start$/,
  );
});

test('a queue that was made inactive hands on nothing', () => {
  const { queue, run, runtime } = setUp();
  let seen = 0;
  queue.register(() => {
    seen++;
  });
  queue.inactivate();
  run(1n);
  runtime.progress();
  assert.equal(seen, 0);
});

test('the queue that runs the packets has the settings of the other one, priority too', () => {
  const { runtime, device, queue: low } = setUp();
  const normal = runtime.createInterceptQueue(runtime.gpuAgents[0]!, { type: 'single' });
  low.priority = 'low';
  assert.equal(low.priority, 'low');
  const order: string[] = [];
  for (const [name, queue] of Object.entries({ low, normal })) {
    const kernel = device.addKernel(function* () {
      order.push(name);
      yield 'running';
    });
    queue.dispatch({ kernel, grid: [1], workgroup: [1] });
  }
  while (runtime.progress() !== 'idle');
  assert.deepEqual(order, ['normal', 'low']);
  const types = device.launches.map(({ origin }) => {
    const bytes = runtime.view(origin!.queueAddress, 4);
    return new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  });
  assert.deepEqual(types, [1, 0]);
});

test('packets that wait for the host fill both rings, and then the host lets them go on', () => {
  const { device, runtime, queue, run, ran } = setUp();
  const gate = runtime.createSignal(1n);
  queue.barrier({ mode: 'all', dependencies: [gate] });
  const signals = [0n, 1n, 2n, 3n, 4n, 5n].map((kernarg) => {
    runtime.progress();
    return run(kernarg);
  });
  for (let i = 0; i < 3; i++) runtime.progress();
  assert.deepEqual(ran, []);
  assert.equal(queue.error, undefined);
  gate.store(0n);
  signals.at(-1)!.waitSync('eq', 0n);
  assert.deepEqual(ran, [0n, 1n, 2n, 3n, 4n, 5n]);
  device.close();
});

test('who asks for it is told of each packet, of kernels that were cancelled, too', () => {
  const device = new FakeDevice();
  const runtime = createRuntime({ devices: [device] });
  const told: string[] = [];
  const onPacket: QueueOptions['onPacket'] = ({ packetIndex, dispatch, gridSize, completionSignal }) =>
    void told.push(`${packetIndex}: ${dispatch?.state ?? 'barrier'} ${gridSize} ${completionSignal > 0n}`);
  const agent = runtime.gpuAgents[0]!;
  for (const queue of [runtime.createQueue(agent, { onPacket }), runtime.createInterceptQueue(agent, { onPacket })]) {
    const quick = device.addKernel(function* () {
      yield 'running';
    });
    const endless = device.addKernel(function* () {
      for (;;) yield 'running';
    });
    const completionSignal = runtime.createSignal(1n);
    queue.dispatch({ kernel: quick, kernarg: 0n, grid: [3], workgroup: [1], completionSignal });
    completionSignal.waitSync('eq', 0n);
    queue.barrier({ mode: 'all', dependencies: [completionSignal] });
    queue.dispatch({ kernel: endless, kernarg: 0n, grid: [1, 2], workgroup: [1, 1] });
    runtime.progress();
    queue.inactivate();
    assert.deepEqual(told.splice(0), ['0: complete 3,1,1 true', '1: barrier 0,0,0 false', '2: cancelled 1,2,1 false']);
  }
});
