/** Asynchronous allocation, its memory in command buffers, files. */
import assert from 'node:assert/strict';
import { HalError } from '../core/status.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import { memoryFile } from '../queues/file-transfer.ts';
import type { HalQueue } from '../queues/queue.ts';
import { failureOf, type Group, repeated, replaced, someBytes, type World } from './cts.test-support.ts';

const PATTERNS = [[0x11], [0x11, 0x22], [0x11, 0x22, 0x33, 0x44]] as const;

const alloca = (world: World, sizeBytes = 64) => world.queue.alloca({ sizeBytes });

const WAITS = 'allow-pool-wait-frontier';

/** A pool of one block, and the buffer that has it. */
async function oneBlock(world: World) {
  const pool = world.pool({ kind: 'fixed-block', blockBytes: 64, blockCount: 1 });
  return { pool, buffer: await world.queue.alloca({ pool, sizeBytes: 64 }) };
}

export const QueueAllocaTest: Group = {
  BasicAlloca: async (world) => {
    const memory = alloca(world);
    assert.equal(memory.result.state, 'reserved');
    await memory;
    assert.equal(memory.result.state, 'committed');
    await world.queue.dealloca({ buffer: memory.result });
    assert.equal(memory.result.state, 'released');
  },
  ExplicitPassthroughPoolAllocaDealloca: async (world) => {
    const pool = world.pool({ kind: 'pass-through' });
    for (let i = 1; i <= 3; i++) {
      const buffer = await world.queue.alloca({ pool, sizeBytes: 100 * i });
      await world.queue.fill({ target: buffer, pattern: Uint8Array.of(i) });
      await world.expect(buffer, repeated([i], 100 * i));
      await world.queue.dealloca({ buffer });
      const { reserveCount, releaseCount, committedBytes } = pool.statistics;
      assert.deepEqual([reserveCount, releaseCount, committedBytes], [i, i, 0]);
    }
  },
  ExplicitTLSFPoolTransferAllocaDealloca: async (world) => {
    const pool = world.pool({ kind: 'tlsf', slabBytes: 4096 });
    const contents = [300, 17, 1000].map((count, seed) => someBytes(count, seed));
    const buffers = await Promise.all(contents.map(({ length }) => world.queue.alloca({ pool, sizeBytes: length })));
    for (const [i, target] of buffers.entries()) await world.queue.update({ target, contents: contents[i]! });
    for (const [i, buffer] of buffers.entries()) await world.expect(buffer, contents[i]!);
    for (const buffer of buffers) await world.queue.dealloca({ buffer });
    assert.deepEqual([pool.statistics.slabCount, pool.statistics.reservedBytes], [1, 0]);
  },
  ExplicitFixedBlockPoolCrossQueueWaitFrontier: async (world) => {
    const { pool, buffer } = await oneBlock(world);
    const used = world.queue.fill({ target: buffer, pattern: Uint8Array.of(1) });
    const released = world.queue.dealloca({ buffer, waits: [used] });
    const next = world.otherQueue.alloca({ pool, sizeBytes: 64, waits: [used], flags: WAITS });
    await world.otherQueue.dealloca({ buffer: await next });
    assert.equal(released.state, 'complete');
    assert.equal(pool.statistics.reuseCount, 1);
  },
  ExplicitFixedBlockPoolPendingDeallocaWaitFrontier: async (world) => {
    const { pool, buffer } = await oneBlock(world);
    const gate = world.semaphore();
    const released = world.queue.dealloca({ buffer, waits: [gate.at(1)] });
    const next = world.otherQueue.alloca({ pool, sizeBytes: 64, flags: WAITS });
    await world.otherQueue.barrier();
    assert.deepEqual([next.state, next.result.state, pool.statistics.waitCount], ['running', 'reserved', 1]);
    gate.signal(1);
    const block = await next;
    assert.equal(released.state, 'complete');
    await world.otherQueue.fill({ target: block, pattern: Uint8Array.of(2) });
    await world.expect(block, repeated([2], 64));
    await world.otherQueue.dealloca({ buffer: block });
  },
  ExplicitFixedBlockPoolRequiresWaitFrontierFlag: async (world) => {
    const { pool, buffer } = await oneBlock(world);
    const gate = world.semaphore();
    const released = world.queue.dealloca({ buffer, waits: [gate.at(1)] });
    const [one, refused] = [world.semaphore(), world.otherQueue.alloca({ pool, sizeBytes: 64 })];
    const behind = world.queue.barrier({ waits: [refused], signals: [one.at(1)] });
    assert.equal((await failureOf(behind)).status, 'RESOURCE_EXHAUSTED');
    assert.deepEqual([one.failure?.status, refused.result.state], ['RESOURCE_EXHAUSTED', 'reserved']);
    gate.signal(1);
    await released;
    assert.deepEqual([pool.statistics.exhaustedCount, pool.statistics.waitCount], [1, 0]);
  },
  ExplicitTLSFPoolCrossQueueStaleBlockGrows: async (world) => {
    const pool = world.pool({ kind: 'tlsf', slabBytes: 1024 });
    const gate = world.semaphore();
    const buffer = await world.queue.alloca({ pool, sizeBytes: 1024 });
    const released = world.queue.dealloca({ buffer, waits: [gate.at(1)] });
    const next = await world.otherQueue.alloca({ pool, sizeBytes: 1024 });
    assert.deepEqual([pool.statistics.slabCount, pool.statistics.waitCount, released.state], [2, 0, 'waiting']);
    gate.signal(1);
    await released;
    await world.otherQueue.dealloca({ buffer: next });
  },
  ExplicitFixedBlockPoolNotificationRetry: async (world) => {
    const { pool, buffer } = await oneBlock(world);
    const one = world.semaphore();
    const next = world.otherQueue.alloca({ pool, sizeBytes: 64, signals: [one.at(1)] });
    await assert.rejects(one.wait(1, { timeoutMs: 1 }), { status: 'DEADLINE_EXCEEDED' });
    assert.ok(pool.statistics.exhaustedCount >= 1);
    await world.queue.dealloca({ buffer });
    await one.at(1);
    await world.otherQueue.dealloca({ buffer: next.result });
  },
  AllocaWithWaitSemaphores: async (world) => {
    const gate = world.semaphore();
    const memory = world.queue.alloca({ sizeBytes: 16, waits: [gate.at(1)] });
    await world.otherQueue.barrier();
    assert.equal(memory.result.state, 'reserved');
    gate.signal(1);
    await world.queue.dealloca({ buffer: await memory });
  },
  AllocaDeallocaCycle: async (world) => {
    for (let i = 0; i < 8; i++) {
      const memory = alloca(world, 256);
      const fill = world.queue.fill({ target: memory.result, pattern: Uint8Array.of(i), waits: [memory] });
      await world.queue.dealloca({ buffer: memory.result, waits: [fill] });
    }
    assert.equal(world.device.allocator.statistics.liveCount, 0);
  },
  BufferMetadata: async (world) => {
    const memory = alloca(world, 100);
    const { result: buffer } = memory;
    assert.deepEqual([buffer.sizeBytes, buffer.usage.has('transfer'), buffer.access.has('all')], [100, true, true]);
    assert.ok(buffer.placement.flags.has('asynchronous'));
    // What a wrapper of the device has of its own is not theirs.
    const { device, queue } = buffer.placement as { readonly device: LogicalDevice; readonly queue: HalQueue };
    assert.equal(device.allocator, world.device.allocator);
    assert.equal(queue.backend, world.queue.backend);
    await world.queue.dealloca({ buffer, waits: [memory] });
  },
  DeallocaReleasesMemory: async (world) => {
    const memory = world.queue.alloca({ sizeBytes: 16, memoryType: 'host-local', usage: ['default', 'mapping'] });
    const buffer = await memory;
    buffer.zero();
    await world.queue.dealloca({ buffer });
    assert.throws(() => buffer.read(), { status: 'FAILED_PRECONDITION' });
    const late = world.queue.fill({ target: buffer, pattern: Uint8Array.of(1) });
    assert.equal((await failureOf(late)).status, 'FAILED_PRECONDITION');
    assert.throws(() => world.queue.dealloca({ buffer }), { status: 'FAILED_PRECONDITION' });
  },
  FailedDeallocaWaitDoesNotDealloca: async (world) => {
    const gate = world.semaphore();
    const buffer = await alloca(world, 16);
    const late = world.queue.dealloca({ buffer, waits: [gate.at(1)] });
    gate.fail(new HalError('CANCELLED', 'by hand'));
    assert.equal((await failureOf(late)).status, 'CANCELLED');
    await world.queue.fill({ target: buffer, pattern: Uint8Array.of(3) });
    await world.expect(buffer, repeated([3], 16));
    await world.queue.dealloca({ buffer });
  },
  ChainedAllocaDealloca: async (world) => {
    const one = world.semaphore();
    const first = world.queue.alloca({ sizeBytes: 32, signals: [one.at(1)] });
    world.otherQueue.dealloca({ buffer: first.result, waits: [one.at(1)], signals: [one.at(2)] });
    const second = world.queue.alloca({ sizeBytes: 32, waits: [one.at(2)], signals: [one.at(3)] });
    await one.at(3);
    await world.queue.dealloca({ buffer: second.result });
  },
  DefaultPoolRepeatedChainedAllocaDealloca: async (world) => {
    const one = world.semaphore();
    for (let i = 0; i < 32; i++) {
      const [start, ready, end] = [2 * i, 2 * i + 1, 2 * i + 2].map((value) => one.at(value));
      const { result: buffer } = world.queue.alloca({ sizeBytes: 4096, waits: [start!], signals: [ready!] });
      world.queue.dealloca({ buffer, waits: [ready!], signals: [end!] });
    }
    await one.at(64);
    assert.equal(world.device.allocator.statistics.liveCount, 0);
  },
  DeallocaPrefersOriginPlacement: async (world) => {
    const buffer = await alloca(world);
    await world.otherQueue.dealloca({ buffer });
    assert.equal(buffer.state, 'released');
  },
  ZeroAccessFlagsCanonicalized: async (world) => {
    const buffer = await world.queue.alloca({ sizeBytes: 8, access: [] });
    assert.ok(buffer.access.has('all'));
    await world.queue.fill({ target: buffer, pattern: Uint8Array.of(1) });
    await world.queue.dealloca({ buffer });
  },
};

/** Commands on the memory of an alloca, which is deallocated behind them. */
const onTransient =
  (body: (world: World, buffer: ReturnType<World['buffer']>) => Promise<void>, access?: readonly []) =>
  async (world: World): Promise<void> => {
    const buffer = await world.queue.alloca({ sizeBytes: 64, ...(access && { access }) });
    await body(world, buffer);
    await world.queue.dealloca({ buffer });
  };
const fillsTransient = (pattern: readonly number[], offset: number, length: number, access?: readonly []) =>
  onTransient(async (world, target) => {
    await world.queue.fill({ target, pattern: Uint8Array.of(0) });
    await world.commands({ target }, (commands, ref) =>
      commands.fill({ target: ref('target', offset, length), pattern: Uint8Array.from(pattern) }),
    );
    await world.expect(target, replaced(new Uint8Array(64), offset, repeated(pattern, length)));
  }, access);

export const TransientBufferTest: Group = {
  FillTransientBuffer: fillsTransient(PATTERNS[2], 0, 64),
  FillTransientBufferSubrange: fillsTransient(PATTERNS[2], 16, 8),
  FillTransientBuffer1Byte: fillsTransient(PATTERNS[0], 3, 7),
  CopyToTransientBuffer: onTransient(async (world, target) => {
    const source = await world.filled(someBytes(64));
    await world.commands({ source, target }, (commands, ref) =>
      commands.copy({ source: ref('source'), target: ref('target') }),
    );
    await world.expect(target, someBytes(64));
  }),
  CopyFromTransientBuffer: onTransient(async (world, source) => {
    const target = world.buffer(64);
    await world.queue.update({ target: source, contents: someBytes(64) });
    await world.commands({ source, target }, (commands, ref) =>
      commands.copy({ source: ref('source'), target: ref('target') }),
    );
    await world.expect(target, someBytes(64));
  }),
  FillThenCopyInSingleCommandBuffer: onTransient(async (world, source) => {
    const target = world.buffer(64);
    await world.commands({ source, target }, (commands, ref) => {
      commands.fill({ target: ref('source'), pattern: Uint8Array.of(6) }).barrier();
      commands.copy({ source: ref('source'), target: ref('target') });
    });
    await world.expect(target, repeated([6], 64));
  }),
  UpdateTransientBuffer: onTransient(async (world, target) => {
    await world.commands({ target }, (commands, ref) =>
      commands.update({ target: ref('target'), contents: someBytes(64) }),
    );
    await world.expect(target, someBytes(64));
  }),
  FillTransientWithZeroAccessFlags: fillsTransient(PATTERNS[0], 0, 64, []),
};

export const AsyncTransientBufferTest: Group = {
  StaticRefRecordedBeforeAllocaCommitExecutes: async (world) => {
    const gate = world.semaphore();
    const memory = world.queue.alloca({ sizeBytes: 16, waits: [gate.at(1)] });
    using program = world.device.record({}, (commands) =>
      commands.fill({ target: memory.result, pattern: Uint8Array.of(4) }),
    );
    const end = world.queue.execute({ commands: program, waits: [memory] });
    gate.signal(1);
    await end;
    await world.expect(memory.result, repeated([4], 16));
    await world.queue.dealloca({ buffer: memory.result });
  },
  IndirectRefResolvedAfterAllocaCommit: async (world) => {
    using program = world.device.record({ slots: 1 }, (commands) =>
      commands.fill({ target: { slot: 0 }, pattern: Uint8Array.of(4) }),
    );
    const memory = alloca(world, 16);
    await world.queue.execute({ commands: program, bindings: [memory.result], waits: [memory] });
    await world.expect(memory.result, repeated([4], 16));
    await world.queue.dealloca({ buffer: memory.result });
  },
};

export const FileTest: Group = {
  ReadEntireFile: async (world) => {
    const target = world.buffer(128);
    await world.queue.read({ file: memoryFile(someBytes(128)), target });
    await world.expect(target, someBytes(128));
  },
  ReadSubrangeWithOffsets: async (world) => {
    const target = world.buffer(512);
    await world.queue.read({ file: memoryFile(someBytes(512)), fileOffset: 37, target: target.subspan(19, 211) });
    await world.expect(target, replaced(new Uint8Array(512), 19, someBytes(512).slice(37, 248)));
  },
  WriteSubrangeWithOffsets: async (world) => {
    const file = new Uint8Array(512);
    const source = await world.filled(someBytes(512));
    await world.queue.write({ source: source.subspan(23, 307), file: memoryFile(file), fileOffset: 41 });
    assert.deepEqual(file, replaced(new Uint8Array(512), 41, someBytes(512).slice(23, 330)));
  },
  ChainedWriteThenReadWithSemaphores: async (world) => {
    const file = memoryFile(new Uint8Array(333));
    const [source, target] = [await world.filled(someBytes(333)), world.buffer(333)];
    const one = world.semaphore();
    world.otherQueue.read({ file, target, waits: [one.at(1)], signals: [one.at(2)] });
    world.queue.write({ source, file, signals: [one.at(1)] });
    await one.at(2);
    await world.expect(target, someBytes(333));
  },
  LargeRangeRoundTrip: async (world) => {
    const contents = someBytes(262_175);
    const file = memoryFile(new Uint8Array(contents.length));
    const target = world.buffer(contents.length);
    const write = world.queue.write({ source: await world.filled(contents), file });
    await world.queue.read({ file, target, waits: [write] });
    await world.expect(target, contents);
  },
};
