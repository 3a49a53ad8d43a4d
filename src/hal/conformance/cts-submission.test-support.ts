/** Host calls, and what orders submissions. */
import assert from 'node:assert/strict';
import { waitForAll, waitForAny } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import { failureOf, type Group, type World } from './cts.test-support.ts';

const denied = () => Promise.reject(new HalError('PERMISSION_DENIED', 'by hand'));

export const QueueHostCallTest: Group = {
  EnqueueBeforeSignal: async (world) => {
    const gate = world.semaphore();
    let isCalled = false;
    const call = () => {
      isCalled = true;
    };
    const end = world.queue.hostCall({ call, waits: [gate.at(1)] });
    await world.otherQueue.barrier();
    assert.equal(isCalled, false);
    gate.signal(1);
    await end;
    assert.equal(isCalled, true);
  },
  NoWaitSemaphores: async (world) => {
    const one = world.semaphore();
    const seen: unknown[] = [];
    world.queue.hostCall({
      call: ({ queue, signals }) => {
        seen.push(queue.backend, ...signals.map(({ value }) => value));
      },
      signals: [one.at(3)],
    });
    await one.at(3);
    assert.equal(seen[0], world.queue.backend);
    assert.deepEqual(seen.slice(1), [3]);
  },
  NonBlockingFlag: async (world) => {
    const one = world.semaphore();
    const { promise, resolve } = Promise.withResolvers<number>();
    const call = async ({ signals }: { readonly signals: readonly unknown[] }) => {
      await one.at(1);
      resolve(signals.length);
      throw new HalError('UNKNOWN', 'nobody cares');
    };
    world.queue.hostCall({ call, flags: 'non-blocking', signals: [one.at(1)] });
    assert.equal(await promise, 0);
    assert.equal(one.failure, undefined);
  },
  AsyncCallback: async (world) => {
    const one = world.semaphore();
    world.queue.hostCall({ call: () => new Promise((resolve) => setTimeout(resolve, 2)), signals: [one.at(1)] });
    await assert.rejects(one.wait(1, { timeoutMs: 0 }), { status: 'DEADLINE_EXCEEDED' });
    await one.at(1);
  },
  CallbackReturnsError: async (world) => {
    const one = world.semaphore();
    world.queue.hostCall({ call: denied, signals: [one.at(1)] });
    assert.equal((await failureOf(one.at(1))).status, 'PERMISSION_DENIED');
  },
  CallbackReturnsErrorAfterWait: async (world) => {
    const one = world.semaphore();
    world.queue.hostCall({ call: denied, waits: [one.at(1)], signals: [one.at(2)] });
    const end = failureOf(one.at(2));
    one.signal(1);
    assert.equal((await end).status, 'PERMISSION_DENIED');
  },
};

/** An empty command buffer: what is ordered, and does nothing else. */
const submit = (world: World, waits: readonly never[] | Parameters<World['queue']['barrier']>[0], other = false) => {
  using program = world.device.record({ mode: 'one-shot' }, () => {});
  const queue = other ? world.otherQueue : world.queue;
  return queue.execute({ commands: program, ...(Array.isArray(waits) ? {} : (waits as object)) });
};

export const SemaphoreSubmissionTest: Group = {
  SubmitWithNoCommandBuffers: async (world) => {
    const one = world.semaphore();
    world.queue.barrier({ signals: [one.at(1)] });
    await one.at(1);
  },
  SubmitAndSignal: async (world) => {
    const one = world.semaphore();
    submit(world, { signals: [one.at(1)] });
    await one.at(1);
  },
  SubmitWithWait: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1)], signals: [b.at(100)] });
    assert.equal(b.query(), 0);
    a.signal(1);
    await b.at(100);
  },
  CrossQueueWaitBeforeSignal: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    submit(world, { signals: [a.at(1)] }, true);
    await b.at(1);
  },
  MultiQueueFanOutDifferentValuesBeforeSignal: async (world) => {
    const [a, b, c] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    submit(world, { waits: [a.at(2)], signals: [c.at(1)] }, true);
    a.signal(1);
    await b.at(1);
    assert.equal(c.query(), 0);
    a.signal(2);
    await c.at(1);
  },
  IndirectCommandBufferBindingTableRetainedUntilSignal: async (world) => {
    const gate = world.semaphore();
    const target = world.device.allocate(16);
    using program = world.device.record({ slots: 1 }, (commands) =>
      commands.fill({ target: { slot: 0 }, pattern: Uint8Array.of(1) }),
    );
    const end = world.queue.execute({ commands: program, bindings: [target], waits: [gate.at(1)] });
    const live = world.device.allocator.statistics.liveCount;
    target[Symbol.dispose]();
    assert.equal(world.device.allocator.statistics.liveCount, live);
    gate.signal(1);
    await end;
    assert.equal(world.device.allocator.statistics.liveCount, live - 1);
  },
  SubmitWithMultipleSemaphores: async (world) => {
    const [a, b, c, d] = [world.semaphore(), world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1), b.at(1)], signals: [c.at(1), d.at(1)] });
    a.signal(1);
    await assert.rejects(waitForAny([c.at(1), d.at(1)], { timeoutMs: 1 }), { status: 'DEADLINE_EXCEEDED' });
    b.signal(1);
    await waitForAll([c.at(1), d.at(1)]);
  },
  WaitAllHostAndDeviceSemaphores: async (world) => {
    const [host, device] = [world.semaphore(), world.semaphore()];
    submit(world, { signals: [device.at(1)] });
    setTimeout(() => host.signal(1), 1);
    await waitForAll([host.at(1), device.at(1)]);
  },
  WaitAnyHostAndDeviceSemaphoresAndDeviceSignals: async (world) => {
    const [host, device] = [world.semaphore(), world.semaphore()];
    submit(world, { signals: [device.at(1)] });
    assert.equal(await waitForAny([host.at(1), device.at(1)]), 1);
  },
  WaitAnyHostAndDeviceSemaphoresAndHostSignals: async (world) => {
    const [host, device, gate] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [gate.at(1)], signals: [device.at(1)] });
    setTimeout(() => host.signal(1), 1);
    assert.equal(await waitForAny([host.at(1), device.at(1)]), 0);
    gate.signal(1);
    await device.at(1);
  },
  IntermediateSemaphoreBetweenDeviceBatches: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    submit(world, { signals: [a.at(1)] });
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    await b.at(1);
    assert.equal(a.query(), 1);
  },
  TwoBatchesWaitingOn1FormerBatchAmongst2: async (world) => {
    const [gate, a, b, c, d] = Array.from({ length: 5 }, () => world.semaphore());
    submit(world, { waits: [gate!.at(1)], signals: [a!.at(1)] });
    submit(world, { signals: [b!.at(1)] });
    submit(world, { waits: [a!.at(1)], signals: [c!.at(1)] });
    submit(world, { waits: [a!.at(1)], signals: [d!.at(1)] }, true);
    await b!.at(1);
    assert.deepEqual([c!.query(), d!.query()], [0, 0]);
    gate!.signal(1);
    await waitForAll([c!.at(1), d!.at(1)]);
  },
  TwoBatchesWaitingOnDifferentSemaphoreValues: async (world) => {
    const [a, b, c] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(2)], signals: [c.at(1)] });
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    a.signal(1);
    await b.at(1);
    assert.equal(c.query(), 0);
    a.signal(2);
    await c.at(1);
  },
  BatchWaitingOnAnotherAndHostSignal: async (world) => {
    const [a, host, c] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1), host.at(1)], signals: [c.at(1)] });
    submit(world, { signals: [a.at(1)] }, true);
    await a.at(1);
    assert.equal(c.query(), 0);
    host.signal(1);
    await c.at(1);
  },
  DeviceBatchSignalAnotherAndHost: async (world) => {
    const [a, host, c] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1)], signals: [c.at(1)] });
    submit(world, { signals: [a.at(1), host.at(1)] });
    await waitForAll([host.at(1), c.at(1)]);
  },
  BatchWaitingOnSmallerValueAfterSignaled: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    submit(world, { signals: [a.at(2)] });
    await a.at(2);
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    await b.at(1);
  },
  BatchWaitingOnSmallerValueBeforeSignaled: async (world) => {
    const [gate, a, b] = [world.semaphore(), world.semaphore(), world.semaphore()];
    submit(world, { waits: [gate.at(1)], signals: [a.at(2)] });
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    gate.signal(1);
    await b.at(1);
  },
  PropagateFailSignal: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    submit(world, { waits: [a.at(1)], signals: [b.at(1)] });
    a.fail(new HalError('CANCELLED', 'by hand'));
    const failure = await failureOf(b.at(1));
    assert.deepEqual([failure.status, failure.origin.message], ['CANCELLED', 'by hand']);
  },
};
