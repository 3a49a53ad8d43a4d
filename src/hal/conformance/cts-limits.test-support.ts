/** What devices have and give, operations of no bytes, files that end too soon, and rings that are full. */
import assert from 'node:assert/strict';
import { Fence } from '../core/fence.ts';
import { waitForAll, waitForAny } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import type { LogicalDevice } from '../devices/logical-device.ts';
import { type HalFile, memoryFile } from '../queues/file-transfer.ts';
import {
  executing,
  failureOf,
  faulting,
  type Group,
  repeated,
  replaced,
  someBytes,
  type World,
} from './cts.test-support.ts';
import { integersOf } from './readback.test-support.ts';

const ONE = Uint8Array.of(1);
const NONE = new Uint8Array(0);

export const AllocationBoundsTest: Group = {
  MoreThanThereIs: ({ device }) => {
    const { heaps, statistics } = device.allocator;
    for (const [heapIndex, { memoryType, maxAllocationBytes }] of heaps.entries()) {
      const params = { memoryType };
      const found = device.queryCompatibility(params, maxAllocationBytes + 1);
      if (heapIndex === 0) assert.deepEqual([found.flags.bits, found.heapIndex], [0, undefined]);
      assert.throws(() => device.allocate(maxAllocationBytes + 1, { ...params, label: 'huge' }), {
        status: 'RESOURCE_EXHAUSTED',
        message: RegExp(`'huge' of ${maxAllocationBytes + 1} bytes`),
      });
    }
    assert.throws(() => device.allocate(-1), { status: 'INVALID_ARGUMENT', message: /a buffer of -1 bytes/ });
    assert.throws(() => device.allocate(2 ** 53), { status: 'INVALID_ARGUMENT' });
    assert.deepEqual(device.allocator.statistics, statistics);
  },
  Alignments: ({ device }) => {
    for (const minAlignmentBytes of [1, 64, 4096, 2 ** 16]) {
      using buffer = device.allocate(16, { minAlignmentBytes });
      const { address = 0n } = buffer.allocation.storage;
      assert.equal(address % BigInt(minAlignmentBytes), 0n);
    }
    for (const minAlignmentBytes of [0, 3, -64, 1.5]) {
      const message = /an alignment of \S+ bytes, expected a power of two/;
      assert.throws(() => device.allocate(16, { minAlignmentBytes }), { status: 'INVALID_ARGUMENT', message });
    }
  },
};

export const DescriptionTest: Group = {
  FamiliesSayWhatQueuesDo: ({ device, subject }) => {
    const families = device.queueFamilies;
    assert.deepEqual(
      families.flatMap(({ queues }) => queues),
      device.queues,
    );
    for (const { deviceOrdinal, queues, capabilities } of families) {
      assert.ok(queues.every((queue) => queue.deviceOrdinal === deviceOrdinal));
      assert.equal(capabilities.includes('dispatch'), device.physicalDevices[deviceOrdinal]!.executes);
      const isGpu = subject.tags.includes('code-objects');
      for (const each of ['dispatch-times', 'device-waits'] as const) assert.equal(capabilities.includes(each), isGpu);
    }
  },
  QueriesAndDescription: ({ device, subject }) => {
    const { physicalDevices, queues } = device;
    assert.equal(device.query('hal.device', 'concurrency'), queues.length);
    assert.equal(device.query('hal.dispatch', 'concurrency'), physicalDevices[0]!.computeUnitCount);
    const driver = device.name.split(':')[0]!;
    assert.deepEqual(
      [driver, `${driver[0]}*`, '*', 'x*', ''].map((glob) => device.query('hal.device.id', glob)),
      [1, 1, 1, 0, 0],
    );
    for (const { formats } of physicalDevices) {
      for (const format of formats) assert.equal(device.query('hal.executable.format', format), 1);
    }
    assert.equal(device.query('hal.executable.format', 'gfx000'), 0);
    assert.throws(() => device.query('hal.device', 'colour'), { status: 'NOT_FOUND', message: /hal.device :: colour/ });
    const { devices, heaps } = JSON.parse(JSON.stringify(device.describe()));
    assert.deepEqual([devices.length, heaps.length], [physicalDevices.length, device.allocator.heaps.length]);
    const wanted = subject.tags.includes('execution') || subject.tags.includes('native');
    for (const { executes } of devices) assert.equal(executes, wanted);
  },
};

export const ClockTest: Group = {
  GoesOnAsTheHostsDoes: async ({ device }) => {
    const { clockFrequencyHz } = device.physicalDevices[0]!;
    const one = device.sampleClock();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const two = device.sampleClock();
    assert.ok(one.hostBeforeMs <= one.hostAfterMs && one.hostAfterMs <= two.hostBeforeMs);
    const deviceMs = (Number(two.deviceTicks - one.deviceTicks) / clockFrequencyHz) * 1000;
    // A tick may be a part of a millisecond; the clocks differ by no more than the samples leave open.
    const [least, most] = [two.hostBeforeMs - one.hostAfterMs, two.hostAfterMs - one.hostBeforeMs];
    assert.ok(deviceMs > least - 2 && deviceMs < most + 2, `${least} <= ${deviceMs} <= ${most}`);
    assert.throws(() => device.sampleClock(device.physicalDevices.length), { status: 'OUT_OF_RANGE' });
  },
};

export const ZeroLengthTest: Group = {
  Transfers: async (world) => {
    const [a, b] = [await world.filled(someBytes(16)), await world.filled(someBytes(16, 2))];
    const { queue } = world;
    const one = world.semaphore();
    const nothing = { buffer: b, offsetBytes: 16 };
    queue.fill({ target: nothing, pattern: Uint8Array.of(1, 2, 3, 4), signals: [one.at(1)] });
    queue.copy({ source: a.subspan(8, 0), target: nothing, waits: [one.at(1)], signals: [one.at(2)] });
    queue.update({ target: b, contents: NONE, waits: [one.at(2)], signals: [one.at(3)] });
    await one.at(3);
    await world.expect(b, someBytes(16, 2));
  },
  FilesAreNotTouched: async (world) => {
    const file: HalFile = { read: () => assert.fail('read'), write: () => assert.fail('written') };
    const target = world.buffer(16).subspan(16);
    await world.queue.read({ file, target });
    await world.queue.write({ file, source: target });
  },
  BuffersOfNoBytes: async (world) => {
    const [a, b] = [world.buffer(0), world.buffer(0)];
    await world.queue.fill({ target: a, pattern: ONE });
    await world.queue.copy({ source: a, target: b });
    assert.deepEqual([a.sizeBytes, a.subspan(0, 0)], [0, a]);
    assert.throws(() => a.subspan(0, 1), { status: 'OUT_OF_RANGE' });
  },
  MappingsOfNoBytes: (world) => {
    const buffer = world.mapped(16);
    using mapping = buffer.map('write', { offsetBytes: 16 });
    assert.equal(mapping.bytes.length, 0);
    assert.deepEqual(buffer.read({ offsetBytes: 3, sizeBytes: 0 }), NONE);
    buffer.write(NONE, 16);
  },
  CommandsOfNoBytes: async (world) => {
    const buffers = { a: await world.filled(someBytes(16)), b: await world.filled(someBytes(16, 2)) };
    await world.commands(buffers, (commands, ref) =>
      commands
        .fill({ target: ref('b', 4, 0), pattern: ONE })
        .copy({ source: ref('a', 16), target: ref('b', 0, 0) })
        .update({ target: ref('b', 16), contents: NONE }),
    );
    await world.expect(buffers.b, someBytes(16, 2));
  },
  ProgramsOfNoCommands: async (world) => {
    const one = world.semaphore();
    await world.commands({}, () => {});
    await world.commands({}, (commands) => commands.barrier().barrier());
    using outer = world.device.record({}, (commands) => {
      using inner = world.device.record({}, () => {});
      commands.execute(inner).execute(inner);
    });
    await world.queue.execute({ commands: outer, waits: [one.at(0)], signals: [one.at(1)] });
    assert.equal(one.query(), 1);
  },
  GridsOfNoWorkgroups: async (world) => {
    const output = await world.filled(someBytes(16));
    const dispatch = { entry: world.entry('write_workgroup_ids'), bindings: [output] };
    for (const groups of [0, [0, 0, 0], [4, 0], [1, 1, 0]]) await world.queue.dispatch({ ...dispatch, groups });
    await world.commands({ output }, (commands, ref) =>
      commands.dispatch({ ...dispatch, groups: 0, bindings: [ref('output')] }),
    );
    const counts = await world.filled(new Uint32Array(3));
    await world.queue.dispatch({ ...dispatch, groups: { from: counts } });
    await world.expect(output, someBytes(16));
  },
  AllocationsOfNoBytesAreRefused: (world) => {
    for (const sizeBytes of [0, -1, 0.5, Number.NaN]) {
      assert.throws(() => world.queue.alloca({ sizeBytes }), { status: 'INVALID_ARGUMENT' });
    }
  },
  WaitsForNothing: async (world) => {
    const fence = new Fence();
    assert.equal(fence.query(), true);
    await fence;
    await waitForAll([]);
    await assert.rejects(waitForAny([]), { status: 'INVALID_ARGUMENT' });
    await world.queue.barrier({ waits: [fence], signals: [fence] });
  },
};

/** A file that gives and takes at most so many bytes at once. */
function slowFile(contents: Uint8Array, atMost: number): HalFile {
  const file = memoryFile(contents);
  return {
    read: (offset, bytes) => file.read(offset, bytes.subarray(0, atMost)),
    write: (offset, bytes) => file.write(offset, bytes.subarray(0, atMost)),
  };
}

const outOfRange = async (operation: PromiseLike<unknown>, message: RegExp): Promise<void> => {
  const failure = await failureOf(operation);
  assert.equal(failure.status, 'OUT_OF_RANGE');
  assert.match(failure.message, message);
};

export const FileBoundsTest: Group = {
  ReadPastTheEnd: async (world) => {
    const target = await world.filled(repeated([7], 16));
    const read = world.queue.read({ file: memoryFile(someBytes(20)), fileOffset: 8, target });
    await outOfRange(read, /read .* failed: 12 of 16 bytes at 8 could be read: the file ends there/);
    await world.expect(target, repeated([7], 16));
  },
  ReadBehindTheEnd: async (world) => {
    const target = world.buffer(16);
    for (const fileOffset of [20, 21, 2 ** 52]) {
      await outOfRange(world.queue.read({ file: memoryFile(someBytes(20)), fileOffset, target }), /0 of 16 bytes/);
    }
  },
  ReadUpToTheEnd: async (world) => {
    const target = world.buffer(16);
    await world.queue.read({ file: memoryFile(someBytes(20)), fileOffset: 4, target });
    await world.expect(target, someBytes(20).slice(4));
  },
  WritePastTheEnd: async (world) => {
    const contents = new Uint8Array(20);
    const source = await world.filled(someBytes(16));
    const write = world.queue.write({ source, file: memoryFile(contents), fileOffset: 8 });
    await outOfRange(write, /write .* failed: 12 of 16 bytes at 8 could be written/);
    // What it took, it has.
    assert.deepEqual(contents, replaced(new Uint8Array(20), 8, someBytes(16).slice(0, 12)));
  },
  OffsetsThatAreNone: async (world) => {
    const target = world.buffer(4);
    for (const fileOffset of [-1, 0.5, 2 ** 53, Number.NaN]) {
      const read = world.queue.read({ file: memoryFile(someBytes(8)), fileOffset, target });
      assert.equal((await failureOf(read)).status, 'INVALID_ARGUMENT');
      const write = world.queue.write({ file: memoryFile(new Uint8Array(8)), fileOffset, source: target });
      assert.equal((await failureOf(write)).status, 'INVALID_ARGUMENT');
    }
  },
  FilesThatGiveAFewBytesAtATime: async (world) => {
    const contents = new Uint8Array(100);
    const source = await world.filled(someBytes(100));
    await world.queue.write({ source, file: slowFile(contents, 7) });
    const target = world.buffer(100);
    await world.queue.read({ file: slowFile(contents, 9), target });
    await world.expect(target, someBytes(100));
  },
  FilesThatClaimTooMuch: async (world) => {
    const file: HalFile = { read: async (_, bytes) => bytes.length + 1, write: async () => -1 };
    const buffer = world.buffer(8);
    await outOfRange(world.queue.read({ file, target: buffer }), /0 of 8 bytes/);
    await outOfRange(world.queue.write({ file, source: buffer }), /0 of 8 bytes/);
  },
  FilesThatThrow: async (world) => {
    const cause = new RangeError('no disk');
    const file: HalFile = { read: () => Promise.reject(cause), write: () => Promise.reject(cause) };
    const one = world.semaphore();
    world.queue.read({ file, target: world.buffer(8), signals: [one.at(1)] });
    const failure = await failureOf(one.at(1));
    assert.deepEqual([failure.status, failure.operation?.kind, failure.origin], ['UNKNOWN', 'read', cause]);
    assert.equal((await failureOf(world.queue.write({ file, source: world.buffer(8) }))).origin, cause);
  },
  SeveralPieces: async (world) => {
    const sizeBytes = 2 ** 24 + 12;
    const file: HalFile = {
      read: async (offset, bytes) => {
        for (let i = 0; i < bytes.length; i += 4096) bytes[i] = 1 + ((offset + i) >> 20);
        return bytes.length;
      },
      write: () => assert.fail(),
    };
    const target = world.buffer(sizeBytes);
    await world.queue.read({ file, target });
    const last = world.buffer(16);
    await world.queue.copy({ source: target.subspan(2 ** 24 - 4096, 4), target: last.subspan(0, 4) });
    await world.queue.copy({ source: target.subspan(2 ** 24, 4), target: last.subspan(4, 4) });
    await world.expect(last, Uint8Array.of(16, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  },
};

/** A device whose GPU queues have a ring of so many packets; other devices have no rings. */
const ringed = (world: World, packets: number): Promise<LogicalDevice> =>
  world.open(world.subject.tags.includes('code-objects') ? { ring: String(packets) } : {});

/** So many counts in two queues of a device, with waits between some of them; what the kernels counted. */
async function countsOf(world: World, device: LogicalDevice, count: number, isChained: boolean): Promise<number> {
  using code = device.load(world.subject.code());
  using total = device.allocate(4);
  const dispatch = { entry: code.lookup('count_workgroups'), groups: 3, bindings: [total] };
  const all: ReturnType<ReturnType<LogicalDevice['queue']>['dispatch']>[] = [];
  for (let i = 0; i < count; i++) {
    const waits = isChained && i > 0 ? [all[i - 1]!] : [];
    all.push(device.queue(i % 2).dispatch({ ...dispatch, waits }));
  }
  const [found] = await integersOf(device, total, all);
  return found!;
}

export const RingTest: Group = {
  WrapsAtEverySize: executing(async (world) => {
    for (const packets of [2, 4]) {
      const device = await ringed(world, packets);
      for (const count of [packets - 1, packets, packets + 1, 2 * packets + 1, 5 * packets]) {
        assert.equal(await countsOf(world, device, count, false), 3 * count, `${count} through ${packets}`);
      }
      assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
    }
  }),
  WrapsOneByOne: executing(async (world) => {
    const device = await ringed(world, 2);
    assert.equal(await countsOf(world, device, 17, true), 51);
  }),
  ArgumentsOfKernelsStayApart: executing(async (world) => {
    const device = await ringed(world, 4);
    using code = device.load(world.subject.code());
    using output = device.allocate(16 * 40);
    const [four, ids] = [code.lookup('write_constants'), code.lookup('write_workgroup_ids')];
    const ends = Array.from({ length: 40 }, (_, i) => {
      const bindings = [output.subspan(16 * i, 16)];
      const queue = device.queue(i % 2);
      if (i % 3 === 0) return queue.dispatch({ entry: ids, groups: 4, bindings });
      return queue.dispatch({ entry: four, groups: 1, constants: [i, i + 1, i + 2, i + 3], bindings });
    });
    const found = await integersOf(device, output, ends);
    assert.deepEqual(
      found,
      found.map((_, i) => (i % 4) + ((i >> 2) % 3 === 0 ? 0 : i >> 2)),
    );
  }),
  ProgramsThatAreLongerThanTheRing: executing(async (world) => {
    const device = await ringed(world, 4);
    using code = device.load(world.subject.code());
    using total = device.allocate(4);
    const dispatch = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
    using program = device.record({}, (commands) => {
      for (let i = 0; i < 50; i++) {
        commands.dispatch(dispatch);
        if (i % 7 === 0) commands.barrier();
      }
    });
    const ends = [0, 1, 0].map((queue) => device.queue(queue).execute({ commands: program }));
    assert.deepEqual(await integersOf(device, total, ends), [150]);
  }),
  TransfersPassWhatIsParked: executing(async (world) => {
    const device = await ringed(world, 1);
    using code = device.load(world.subject.code());
    using total = device.allocate(4);
    const dispatch = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
    const all = Array.from({ length: 8 }, () => device.queue().dispatch(dispatch));
    const fill = device.queue().fill({ target: total, pattern: Uint8Array.of(0), waits: all });
    await device.queue().barrier();
    await fill;
    assert.deepEqual(await integersOf(device, total), [0]);
  }),
  FaultsWhileTheRingIsFull: faulting(async (world) => {
    const device = await ringed(world, 2);
    using code = device.load(world.subject.code());
    using total = device.allocate(4);
    const count = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
    const bad = device.queue().dispatch({ entry: code.lookup('store_at'), groups: 1, constants: [0, 0] });
    const behind = Array.from({ length: 6 }, () => device.queue().dispatch(count));
    assert.equal((await failureOf(bad)).status, 'ABORTED');
    // Nothing of what is behind has begun: it goes on in a new queue.
    for (const each of behind) await each;
    assert.deepEqual(await integersOf(device, total), [6]);
  }),
  ClosedWhileTheRingIsFull: executing(async (world) => {
    const device = await ringed(world, 1);
    const code = device.load(world.subject.code());
    const total = device.allocate(4);
    const dispatch = { entry: code.lookup('count_workgroups'), groups: 1, bindings: [total] };
    const all = Array.from({ length: 6 }, () => device.queue().dispatch(dispatch));
    device.progress();
    device[Symbol.dispose]();
    const states = await Promise.all(
      all.map((each) =>
        each.then(
          () => 'complete',
          (error: unknown) => (error instanceof HalError ? error.status : String(error)),
        ),
      ),
    );
    assert.ok(
      states.every((state) => state === 'complete' || state === 'CANCELLED'),
      states.join(),
    );
    assert.deepEqual(device.pendingCounts, { waiting: 0, running: 0 });
  }),
};
