/** What may be done with objects that are gone or belong to others, and what is left when all are gone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { CodeObjectReader } from '../executables/loaded-code-object.ts';
import { HsaError } from '../objects/status.ts';
import type { Queue } from '../queues/queue.ts';
import type { Signal } from '../signals/signal.ts';
import { FakeDevice } from './fake-device.test-support.ts';
import { buildImage } from './image.test-support.ts';
import { createRuntime } from './runtime.ts';

function setUp() {
  const device = new FakeDevice(2 ** 26);
  const runtime = createRuntime({ devices: [device] });
  return { device, runtime, agent: runtime.gpuAgents[0]! };
}

const refused = (status: string) => (error: unknown) => error instanceof HsaError && error.status === status;

test('destroyed objects are refused by their kind; destroying twice does nothing', () => {
  const { runtime, agent } = setUp();
  const signal = runtime.createSignal(1n);
  signal[Symbol.dispose]();
  signal[Symbol.dispose]();
  assert.throws(() => signal.load(), refused('INVALID_SIGNAL'));
  assert.throws(() => signal.waitSync('eq', 1n), refused('INVALID_SIGNAL'));
  const [first, second] = [runtime.createSignal(0n), runtime.createSignal(0n)];
  assert.notEqual(first.address, second.address, 'the slot was freed once');

  const queue = runtime.createQueue(agent);
  queue[Symbol.dispose]();
  queue[Symbol.dispose]();
  assert.throws(() => queue.barrier({ dependencies: [first], mode: 'all' }), refused('INVALID_QUEUE'));

  const executable = runtime.createExecutable();
  executable[Symbol.dispose]();
  executable[Symbol.dispose]();
  const reader = new CodeObjectReader(buildImage());
  assert.throws(() => executable.loadCodeObject(agent, reader), refused('INVALID_EXECUTABLE'));
  assert.throws(() => executable.freeze(), refused('INVALID_EXECUTABLE'));
  assert.throws(() => executable.getSymbol('x'), refused('INVALID_EXECUTABLE'));
});

test('a runtime that was shut down makes nothing, agents of another one are not its own', () => {
  const { runtime, agent } = setUp();
  const other = setUp();
  assert.throws(() => other.runtime.createQueue(agent), refused('INVALID_AGENT'));
  assert.throws(() => other.runtime.createSignal(0n, agent), refused('INVALID_AGENT'));
  assert.throws(() => runtime.createQueue(runtime.cpuAgent), refused('INVALID_AGENT'));
  runtime[Symbol.dispose]();
  runtime[Symbol.dispose]();
  assert.throws(() => runtime.createSignal(0n), refused('NOT_INITIALIZED'));
  assert.throws(() => runtime.createQueue(agent), refused('NOT_INITIALIZED'));
  assert.throws(() => runtime.createExecutable(), refused('NOT_INITIALIZED'));
});

test('shutting down frees queues, signals and code', () => {
  const { device, runtime, agent } = setUp();
  for (let i = 0; i < 100; i++) runtime.createSignal(0n);
  runtime.createQueue(agent);
  runtime.createInterceptQueue(agent);
  const executable = runtime.createExecutable();
  executable.loadCodeObject(agent, new CodeObjectReader(buildImage({ kernels: [{ name: 'k' }] })));
  executable.freeze();
  assert.ok(device.memory.allocations.size > 0);
  runtime[Symbol.dispose]();
  assert.equal(device.memory.allocations.size, 0);
  assert.equal(device.published.length, 0);
  assert.equal(agent.kernels.size, 0);
});

/**
 * A packet of one of several queues: it runs behind the earlier ones of its queue and behind packets of
 * others.
 */
interface Step {
  readonly queue: number;
  readonly after: readonly number[];
}

test('packets of many queues run in an order that their dependencies allow', () => {
  const web = fc.array(fc.record({ queue: fc.nat(9), after: fc.array(fc.nat(), { maxLength: 5 }) }), { maxLength: 60 });
  fc.assert(
    fc.property(web, (raw) => {
      // Dependencies point backwards, so that some order is possible.
      const steps: Step[] = raw.map(({ queue, after }, i) => ({
        queue,
        after: i === 0 ? [] : [...new Set(after.map((j) => j % i))],
      }));
      const { device, runtime, agent } = setUp();
      const order: number[] = [];
      const queues = new Map<number, Queue>();
      const signals: Signal[] = [];
      for (const [i, { queue: number, after }] of steps.entries()) {
        const queue = queues.get(number) ?? runtime.createQueue(agent, { sizePackets: 256 });
        queues.set(number, queue);
        const kernel = device.addKernel(function* () {
          for (let turn = (i * 7) % 5; turn > 0; turn--) yield 'running';
          order.push(i);
        });
        const completionSignal = runtime.createSignal(1n);
        if (after.length > 0) queue.barrier({ dependencies: after.map((j) => signals[j]!), mode: 'all' });
        queue.dispatch({ kernel, grid: [1], workgroup: [1], completionSignal });
        signals.push(completionSignal);
      }
      for (const signal of signals) signal.waitSync('eq', 0n);
      const position = new Map(order.map((step, at) => [step, at]));
      assert.equal(position.size, steps.length);
      steps.forEach(({ queue, after }, i) => {
        const earlier = steps.flatMap((step, j) => (j < i && step.queue === queue ? [j] : []));
        for (const j of [...after, ...earlier]) assert.ok(position.get(j)! < position.get(i)!, `${j} before ${i}`);
      });
      runtime[Symbol.dispose]();
    }),
    { numRuns: 50 },
  );
});
