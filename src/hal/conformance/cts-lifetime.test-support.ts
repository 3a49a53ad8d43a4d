/** Ends of things while something uses them: buffers, mappings, programs, code, whole devices. */
import assert from 'node:assert/strict';
import { HalError } from '../core/status.ts';
import { memoryFile } from '../queues/file-transfer.ts';
import { executing, failureOf, faulting, type Group, repeated, someBytes, type World } from './cts.test-support.ts';
import { contentsOf } from './readback.test-support.ts';

const liveCount = ({ device }: World): number => device.allocator.statistics.liveCount;
const ONE = Uint8Array.of(1);
const invalid = { status: 'INVALID_ARGUMENT' };
const HOST = { memoryType: 'host-local', usage: ['default', 'mapping'] } as const;

export const DisposeTest: Group = {
  BufferTwice: (world) => {
    const buffer = world.device.allocate(16);
    for (let i = 0; i < 3; i++) buffer[Symbol.dispose]();
    assert.deepEqual([liveCount(world), buffer.state], [0, 'released']);
  },
  PartOfABufferIsAllOfIt: (world) => {
    const buffer = world.device.allocate(16);
    buffer.subspan(4, 4)[Symbol.dispose]();
    assert.equal(liveCount(world), 0);
    assert.throws(() => world.queue.fill({ target: buffer, pattern: ONE }), invalid);
  },
  DisposedBuffersAreRefused: (world) => {
    const [buffer, other] = [world.device.allocate(16), world.buffer(16)];
    buffer[Symbol.dispose]();
    const { queue } = world;
    const uses = [
      () => queue.fill({ target: buffer, pattern: ONE }),
      () => queue.update({ target: buffer, contents: ONE }),
      () => queue.copy({ source: buffer, target: other }),
      () => queue.copy({ source: other, target: buffer }),
      () => queue.read({ file: memoryFile(new Uint8Array(16)), target: buffer }),
      () => queue.write({ file: memoryFile(new Uint8Array(16)), source: buffer }),
      () => world.device.record({}, (commands) => commands.fill({ target: buffer, pattern: ONE })),
    ];
    for (const use of uses) assert.throws(use, { ...invalid, message: /is disposed/ });
    assert.deepEqual(world.device.pendingCounts, { waiting: 0, running: 0 });
  },
  BufferWithWorkInFlight: async (world) => {
    const gate = world.semaphore();
    const [source, target] = [world.device.allocate(16), world.buffer(16)];
    await world.queue.fill({ target: source, pattern: ONE });
    const copy = world.queue.copy({ source, target, waits: [gate.at(1)] });
    const before = liveCount(world);
    source[Symbol.dispose]();
    assert.equal(liveCount(world), before);
    gate.signal(1);
    await copy;
    assert.equal(liveCount(world), before - 1);
    await world.expect(target, repeated([1], 16));
  },
  BufferWithWorkThatFails: async (world) => {
    const gate = world.semaphore();
    const target = world.device.allocate(16);
    const fill = world.queue.fill({ target, pattern: ONE, waits: [gate.at(1)] });
    target[Symbol.dispose]();
    gate.fail(new HalError('CANCELLED', 'by hand'));
    await failureOf(fill);
    assert.equal(liveCount(world), 0);
  },
  TransientBufferBeforeItsMemory: async (world) => {
    const gate = world.semaphore();
    const memory = world.queue.alloca({ sizeBytes: 16, waits: [gate.at(1)] });
    memory.result[Symbol.dispose]();
    gate.signal(1);
    await memory;
    assert.equal(liveCount(world), 0);
  },
  TransientBufferBehindItsDealloca: async (world) => {
    const buffer = await world.queue.alloca({ sizeBytes: 16 });
    const dealloca = world.queue.dealloca({ buffer });
    buffer[Symbol.dispose]();
    await dealloca;
    buffer[Symbol.dispose]();
    assert.equal(liveCount(world), 0);
  },
  MappingTwice: (world) => {
    const buffer = world.device.allocate(16, HOST);
    const [mapping, other] = [buffer.map('write'), buffer.map('read')];
    for (let i = 0; i < 2; i++) mapping[Symbol.dispose]();
    buffer[Symbol.dispose]();
    assert.equal(liveCount(world), 1, 'the other mapping keeps it');
    other[Symbol.dispose]();
    assert.equal(liveCount(world), 0);
  },
  ProgramTwice: async (world) => {
    const target = world.device.allocate(16);
    const [program, other] = [1, 2].map(() =>
      world.device.record({}, (commands) => commands.fill({ target, pattern: ONE })),
    );
    target[Symbol.dispose]();
    for (let i = 0; i < 2; i++) program![Symbol.dispose]();
    assert.throws(() => world.queue.execute({ commands: program! }), invalid);
    assert.equal(liveCount(world), 1, 'the other program keeps it');
    await world.queue.execute({ commands: other! });
    other![Symbol.dispose]();
    assert.equal(liveCount(world), 0);
  },
  ProgramWithWorkInFlight: async (world) => {
    const gate = world.semaphore();
    const target = world.buffer(16);
    const program = world.device.record({}, (commands) => commands.fill({ target, pattern: ONE }));
    const ends = [1, 2].map(() => world.queue.execute({ commands: program, waits: [gate.at(1)] }));
    program[Symbol.dispose]();
    gate.signal(1);
    for (const end of ends) await end;
    await world.expect(target, repeated([1], 16));
  },
  ProgramThatWasNotFinished: (world) => {
    const target = world.device.allocate(16);
    assert.throws(() =>
      world.device.record({}, (commands) => {
        commands.fill({ target, pattern: ONE }).fill({ target, pattern: Uint8Array.of(1, 2, 3) });
      }),
    );
    target[Symbol.dispose]();
    assert.equal(liveCount(world), 0);
  },
  CodeTwiceAndBehindPrograms: executing(async (world) => {
    using code = world.device.load(world.subject.code());
    const entry = code.lookup('write_constants');
    const output = world.buffer(16);
    const dispatch = { entry, groups: 1, constants: [1, 2, 3, 4], bindings: [output] };
    using program = world.device.record({}, (commands) => commands.dispatch(dispatch));
    for (let i = 0; i < 2; i++) code[Symbol.dispose]();
    assert.throws(() => world.queue.dispatch(dispatch), { ...invalid, message: /executable is disposed/ });
    await world.queue.execute({ commands: program });
    await world.expect(output, Int32Array.of(1, 2, 3, 4));
  }),
  PoolTwice: async (world) => {
    const pool = world.device.createPool({ kind: 'tlsf', slabBytes: 1024 });
    const buffer = await world.queue.alloca({ pool, sizeBytes: 16 });
    for (let i = 0; i < 2; i++) pool[Symbol.dispose]();
    assert.equal(liveCount(world), 1, 'its buffer is in use');
    await world.queue.dealloca({ buffer });
    assert.equal(liveCount(world), 0);
  },
};

export const MappingLifetimeTest: Group = {
  BeforeThereIsMemory: async (world) => {
    const gate = world.semaphore();
    const memory = world.queue.alloca({ sizeBytes: 16, ...HOST, waits: [gate.at(1)] });
    assert.throws(() => memory.result.map('read'), { status: 'FAILED_PRECONDITION' });
    gate.signal(1);
    await memory;
    memory.result.map('read')[Symbol.dispose]();
    await world.queue.dealloca({ buffer: memory.result });
  },
  WhileWorkIsInFlight: async (world) => {
    const gate = world.semaphore();
    const target = world.mapped(16);
    using mapping = target.map('read');
    const fill = world.queue.fill({ target, pattern: ONE, waits: [gate.at(1)] });
    assert.deepEqual([...mapping.bytes], [...new Uint8Array(16)]);
    gate.signal(1);
    await fill;
    assert.deepEqual([...mapping.bytes], [...repeated([1], 16)]);
  },
  WhatTheHostWritesQueuesSee: async (world) => {
    const [source, target] = [world.mapped(16), world.mapped(16)];
    using mapping = source.map('discard-write');
    mapping.bytes.set(someBytes(16));
    await world.queue.copy({ source, target });
    assert.deepEqual(target.read(), someBytes(16));
  },
  TwoSeeTheSameBytes: (world) => {
    const buffer = world.mapped(16);
    using whole = buffer.map('write');
    using part = buffer.map('read', { offsetBytes: 8 });
    whole.bytes[9] = 42;
    assert.deepEqual([part.bytes[1], part.bytes.length], [42, 8]);
  },
  AfterItsBufferWasDisposed: (world) => {
    const buffer = world.device.allocate(16, HOST);
    const mapping = buffer.map('write');
    buffer[Symbol.dispose]();
    assert.throws(() => buffer.map('read'), { status: 'FAILED_PRECONDITION' });
    mapping.bytes.fill(3);
    assert.equal(liveCount(world), 1);
    mapping[Symbol.dispose]();
    assert.equal(liveCount(world), 0);
  },
  AccessThatABufferDoesNotAllow: (world) => {
    using buffer = world.device.allocate(16, { ...HOST, access: 'read' });
    assert.throws(() => buffer.map('write'), { status: 'PERMISSION_DENIED' });
    assert.throws(() => world.queue.fill({ target: buffer, pattern: ONE }), { status: 'PERMISSION_DENIED' });
    assert.deepEqual(buffer.read({ sizeBytes: 2 }), new Uint8Array(2));
  },
  MemoryThatIsNotForMapping: (world) => {
    using buffer = world.device.allocate(16, { memoryType: 'host-local', usage: 'transfer' });
    assert.throws(() => buffer.map('read'), { status: 'PERMISSION_DENIED' });
  },
  RangesThatAreNone: (world) => {
    const buffer = world.mapped(16);
    const ranges = [
      [17, 0],
      [0, 17],
      [-1, 1],
      [0.5, 1],
      [0, -1],
      [2 ** 53, 1],
    ] as const;
    for (const [offsetBytes, sizeBytes] of ranges) {
      assert.throws(() => buffer.map('read', { offsetBytes, sizeBytes }), { status: 'OUT_OF_RANGE' });
      assert.throws(() => buffer.subspan(offsetBytes, sizeBytes), { status: 'OUT_OF_RANGE' });
    }
  },
};

export const DeviceLossTest: Group = {
  WhatHasNotBegunIsCancelled: async (world) => {
    const device = await world.open();
    const [gate, end] = [device.createSemaphore(), device.createSemaphore()];
    const late = device.queue().barrier({ waits: [gate.at(1)], signals: [end.at(1)] });
    await device[Symbol.asyncDispose]();
    assert.equal((await failureOf(late)).status, 'CANCELLED');
    assert.equal(end.failure, late.failure);
    assert.equal(gate.waiterCount, 0);
  },
  WhatRunsIsCancelledAtOnce: async (world) => {
    const device = await world.open();
    const end = device.createSemaphore();
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = device.queue().hostCall({ call: () => promise, signals: [end.at(1)] });
    await device.queue(1).barrier();
    device[Symbol.dispose]();
    assert.equal(end.failure?.status, 'CANCELLED');
    resolve();
    // The call ends now, and nothing comes of it.
    await new Promise((next) => setTimeout(next));
    assert.equal(call.state, 'failed');
  },
  WhatRunsMayEnd: async (world) => {
    const device = await world.open();
    const { promise, resolve } = Promise.withResolvers<void>();
    const call = device.queue().hostCall({ call: () => promise });
    await device.queue(1).barrier();
    const closed = device[Symbol.asyncDispose]();
    assert.throws(() => device.queue().barrier(), { status: 'FAILED_PRECONDITION' });
    resolve();
    await closed;
    assert.equal(call.state, 'complete');
  },
  NothingIsTakenAnyMore: async (world) => {
    const device = await world.open();
    const [buffer, host] = [device.allocate(16), device.allocate(16, HOST)];
    using program = device.record({}, () => {});
    device[Symbol.dispose]();
    const queue = device.queue();
    const uses = [
      () => queue.barrier(),
      () => queue.fill({ target: buffer, pattern: ONE }),
      () => queue.alloca({ sizeBytes: 4 }),
      () => queue.execute({ commands: program }),
      () => queue.hostCall({ call: () => {} }),
      () => device.allocate(4),
      () => device.record({}, () => {}),
      () => device.load(world.subject.code()),
      () => device.createPool({ kind: 'pass-through' }),
    ];
    for (const use of uses) assert.throws(use, { message: /is closed/ });
    for (const each of [buffer, host]) each[Symbol.dispose]();
  },
  ClosedTwice: async (world) => {
    const device = await world.open();
    device[Symbol.dispose]();
    device[Symbol.dispose]();
    await device[Symbol.asyncDispose]();
    assert.equal(device.progress(), 'idle');
  },
  SemaphoresOutliveTheirDevice: async (world) => {
    const device = await world.open();
    const one = device.createSemaphore();
    device[Symbol.dispose]();
    const end = world.queue.barrier({ waits: [one.at(1)], signals: [one.at(2)] });
    one.signal(1);
    await end;
    assert.equal(one.query(), 2);
  },
  OtherDevicesLearnOfIt: async (world) => {
    const device = await world.open();
    const [gate, one] = [device.createSemaphore(), device.createSemaphore()];
    device.queue().barrier({ waits: [gate.at(1)], signals: [one.at(1)], label: 'lost' });
    const far = world.queue.barrier({ waits: [one.at(1)] });
    device[Symbol.dispose]();
    const { status, chain } = await failureOf(far);
    const labels = chain.map((each) => (each instanceof HalError ? each.operation?.label : undefined));
    assert.deepEqual([status, labels[1]], ['CANCELLED', 'lost']);
    assert.match(chain.at(-1)!.message, /is closed/);
  },
  MemoryOfAPoolAndWhoWaitsForIt: async (world) => {
    const device = await world.open();
    const pool = device.createPool({ kind: 'fixed-block', blockBytes: 256, blockCount: 1 });
    await device.queue().alloca({ pool, sizeBytes: 256 });
    const next = device.queue().alloca({ pool, sizeBytes: 256 });
    await device.queue(1).barrier();
    device[Symbol.dispose]();
    assert.equal((await failureOf(next)).status, 'CANCELLED');
    assert.ok(pool.isDisposed);
  },
  ProgramsThatWaitForEvents: async (world) => {
    const device = await world.open();
    const event = device.createEvent();
    using waiting = device.record({}, (commands) => commands.waitEvents(event));
    const end = device.queue().execute({ commands: waiting });
    await device.queue(1).barrier();
    assert.equal(end.state, 'running');
    device[Symbol.dispose]();
    assert.equal((await failureOf(end)).status, 'CANCELLED');
    event.set();
    assert.equal(device.progress(), 'idle');
  },
  KernelsThatRun: executing(async (world) => {
    const device = await world.open();
    const entry = device.load(world.subject.code()).lookup('write_workgroup_ids');
    const output = device.allocate(4 * 65_536);
    const end = device.queue().dispatch({ entry, groups: 65_536, bindings: [output] });
    while (device.pendingCounts.waiting > 0) device.progress();
    device[Symbol.dispose]();
    const outcome = await end.then(
      () => 'complete',
      (error: unknown) => (error instanceof HalError ? error.status : String(error)),
    );
    assert.ok(['complete', 'CANCELLED'].includes(outcome), outcome);
  }),
  FaultsAgainAndAgain: faulting(async (world) => {
    const output = world.buffer(16);
    const [bad, good] = [world.entry('store_at'), world.entry('write_constants')];
    for (let i = 0; i < 4; i++) {
      const fault = world.queue.dispatch({ entry: bad, groups: 1, constants: [16 * i, 0] });
      const behind = world.otherQueue.barrier({ waits: [fault] });
      const { status, chain } = await failureOf(behind);
      assert.deepEqual([status, chain.length], ['ABORTED', 3]);
      const constants = [i, i, i, i];
      await world.queue.dispatch({ entry: good, groups: 1, constants, bindings: [output] });
      await world.expect(output, Int32Array.from(constants));
    }
  }),
  FaultOfAProgram: faulting(async (world) => {
    const target = await world.filled(repeated([7], 8));
    using program = world.device.record({ label: 'bad' }, (commands) => {
      commands.dispatch({ entry: world.entry('store_at'), groups: 1, constants: [0, 0] }).barrier();
      commands.fill({ target, pattern: ONE });
    });
    const failure = await failureOf(world.queue.execute({ commands: program }));
    assert.deepEqual([failure.status, failure.operation?.label], ['ABORTED', 'bad']);
    await world.expect(target, repeated([7], 8));
  }),
  FaultsLeaveOtherDevicesAlone: faulting(async (world) => {
    const device = await world.open();
    const entry = device.load(world.subject.code()).lookup('store_at');
    const fault = device.queue().dispatch({ entry, groups: 1, constants: [0, 0] });
    const target = world.buffer(4);
    await world.queue.fill({ target, pattern: ONE });
    assert.equal((await failureOf(fault)).status, 'ABORTED');
    await world.expect(target, repeated([1], 4));
  }),
};

/** What belongs to one device, and another device. */
async function foreign(world: World) {
  const device = await world.open();
  const [buffer, own] = [device.allocate(16), world.buffer(16)];
  return { device, buffer, own, refused: { ...invalid, message: /another device/ } };
}

export const CrossDeviceTest: Group = {
  BuffersBelongToOneDevice: async (world) => {
    const { buffer, own, refused } = await foreign(world);
    const { queue } = world;
    const uses = [
      () => queue.fill({ target: buffer, pattern: ONE }),
      () => queue.update({ target: buffer, contents: ONE }),
      () => queue.copy({ source: buffer, target: own }),
      () => queue.copy({ source: own, target: buffer }),
      () => queue.read({ file: memoryFile(new Uint8Array(16)), target: buffer }),
      () => queue.write({ file: memoryFile(new Uint8Array(16)), source: buffer }),
      () => queue.dealloca({ buffer }),
      () => world.device.record({}, (commands) => commands.fill({ target: buffer, pattern: ONE })),
    ];
    for (const use of uses) assert.throws(use, refused);
  },
  BuffersInSlots: async (world) => {
    const { buffer, own, refused } = await foreign(world);
    using program = world.device.record({ slots: 1 }, (commands) =>
      commands.fill({ target: { slot: 0 }, pattern: ONE }),
    );
    assert.throws(() => world.queue.execute({ commands: program, bindings: [buffer] }), refused);
    await world.queue.execute({ commands: program, bindings: [own] });
    assert.equal(program.executions, 1);
  },
  ProgramsBelongToOneDevice: async (world) => {
    const { device, refused } = await foreign(world);
    using program = device.record({}, () => {});
    assert.throws(() => world.queue.execute({ commands: program }), refused);
    assert.throws(() => world.device.record({}, (commands) => commands.execute(program)), refused);
  },
  CodeBelongsToOneDevice: async (world) => {
    const { device, own } = await foreign(world);
    using code = device.load(world.subject.code());
    const dispatch = { entry: code.lookup('write_constants'), groups: 1, constants: [1, 2, 3, 4], bindings: [own] };
    const refused = { ...invalid, message: /loaded for another device/ };
    assert.throws(() => world.queue.dispatch(dispatch), refused);
    assert.throws(() => world.device.record({}, (commands) => commands.dispatch(dispatch)), refused);
  },
  PoolsBelongToOneDevice: async (world) => {
    const { device, refused } = await foreign(world);
    using pool = device.createPool({ kind: 'pass-through' });
    assert.throws(() => world.queue.alloca({ pool, sizeBytes: 4 }), refused);
  },
  SemaphoresOrderSeveralDevices: async (world) => {
    const { device, buffer, own } = await foreign(world);
    const one = device.createSemaphore();
    const contents = new Uint8Array(16);
    const file = memoryFile(contents);
    world.queue.read({ file, target: own, waits: [one.at(2)], signals: [one.at(3)] });
    device.queue().write({ source: buffer, file, waits: [one.at(1)], signals: [one.at(2)] });
    device.queue(1).fill({ target: buffer, pattern: Uint8Array.of(9), signals: [one.at(1)] });
    await one.at(3);
    await world.expect(own, repeated([9], 16));
    assert.deepEqual(await contentsOf(device, buffer), contents);
  },
  WaitsForSubmissionsOfAnotherDevice: async (world) => {
    const { device } = await foreign(world);
    const gate = world.semaphore();
    const first = device.queue().barrier({ waits: [gate.at(1)] });
    const second = world.queue.barrier({ waits: [first] });
    gate.signal(1);
    await second;
    assert.equal(first.state, 'complete');
  },
  FailuresCrossDevices: async (world) => {
    const { device } = await foreign(world);
    const bad = device.queue().hostCall({ call: () => Promise.reject(new RangeError('far')), label: 'far' });
    const failure = await failureOf(world.queue.barrier({ waits: [bad] }));
    assert.equal(failure.origin.message, 'far');
    const queues = failure.chain.map((each) => (each instanceof HalError ? each.operation?.queue : undefined));
    assert.deepEqual(queues.slice(0, 2), [world.queue.name, device.queue().name]);
  },
};
