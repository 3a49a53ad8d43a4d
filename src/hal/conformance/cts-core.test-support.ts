/** Drivers, semaphores, events, executables, allocators and mappings. */
import assert from 'node:assert/strict';
import { waitForAll, waitForAllSync, waitForAny } from '../core/semaphore.ts';
import { HalError } from '../core/status.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import { bytesOf, type Group, repeated, replaced, someBytes, type World } from './cts.test-support.ts';

const failure = (status: 'CANCELLED' | 'DATA_LOSS' | 'UNKNOWN' = 'CANCELLED') => new HalError(status, 'by hand');
const soon = (run: () => void) => setTimeout(run, 1);

async function opensAll({ registry, device }: World, uris: readonly string[]): Promise<void> {
  for (const uri of uris) {
    const target = device.describe().devices[0]!.formats[1];
    await using opened = await registry.open(target === undefined ? uri : `${uri}?target=${target}`);
    assert.ok(opened.queues.length > 0);
  }
}
const driverOf = ({ device }: World): string => device.name.split(':')[0]!;
const infosOf = async (world: World) =>
  (await world.registry.devices()).filter(({ uri }) => uri.startsWith(driverOf(world)));

const deadline = { status: 'DEADLINE_EXCEEDED' };

export const DriverTest: Group = {
  QueryAndCreateAvailableDevicesByID: (world) => opensAll(world, [driverOf(world)]),
  QueryAndCreateAvailableDevicesByOrdinal: async (world) =>
    opensAll(
      world,
      (await infosOf(world)).map((_, i) => `${driverOf(world)}:${i}`),
    ),
  QueryAndCreateAvailableDevicesByPath: async (world) => {
    for (const { uri } of await infosOf(world)) {
      await using opened = await world.registry.open(uri);
      assert.ok(opened.queues.length > 0);
    }
  },
};

export const SemaphoreTest: Group = {
  NoOp: (world) => assert.equal(world.semaphore(123).query(), 123),
  NormalSignaling: (world) => {
    const one = world.semaphore(2);
    for (const value of [3, 40]) {
      one.signal(value);
      assert.equal(one.query(), value);
    }
  },
  Failure: (world) => {
    const one = world.semaphore(2);
    one.fail(failure('UNKNOWN'));
    assert.throws(() => one.query(), { status: 'UNKNOWN' });
  },
  EmptyWait: () => waitForAll([]),
  WaitAlreadySignaled: (world) => world.semaphore(2).wait(1),
  WaitUnsignaled: async (world) => {
    await assert.rejects(world.semaphore(2).wait(3, { timeoutMs: 0 }), deadline);
  },
  WaitAllButNotAllSignaled: async (world) => {
    const waits = [world.semaphore(0).at(1), world.semaphore(1).at(1)];
    await assert.rejects(waitForAll(waits, { timeoutMs: 0 }), deadline);
  },
  WaitAllAndAllSignaled: (world) => waitForAll([world.semaphore(1).at(1), world.semaphore(1).at(1)], { timeoutMs: 0 }),
  WaitAnyAlreadySignaled: async (world) => {
    assert.equal(await waitForAny([world.semaphore(0).at(1), world.semaphore(1).at(1)], { timeoutMs: 0 }), 1);
  },
  FailThenWait: async (world) => {
    const one = world.semaphore(0);
    one.fail(failure());
    await assert.rejects(one.wait(1), { status: 'CANCELLED' });
    assert.equal(one.failure?.status, 'CANCELLED');
  },
  FailurePreservesStatusCode: async (world) => {
    const one = world.semaphore(0);
    one.fail(failure('DATA_LOSS'));
    assert.throws(() => one.query(), { status: 'DATA_LOSS' });
    await assert.rejects(one.wait(1), { status: 'DATA_LOSS' });
  },
  DoubleFailurePreservesFirst: (world) => {
    const one = world.semaphore(0);
    one.fail(failure('DATA_LOSS'));
    one.fail(failure('CANCELLED'));
    assert.throws(() => one.query(), { status: 'DATA_LOSS' });
  },
};

/** Threads of IREE's suite are turns of the event loop here. */
export const SemaphoreThreadTest: Group = {
  WaitLaterSignaledBeyond: async (world) => {
    const one = world.semaphore();
    soon(() => one.signal(2));
    await one.wait(1);
    assert.equal(one.query(), 2);
  },
  WaitAnyLaterSignaled: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    soon(() => b.signal(1));
    assert.equal(await waitForAny([a.at(1), b.at(1)]), 1);
    assert.equal(a.waiterCount, 0);
  },
  PingPong: async (world) => {
    const [ping, pong] = [world.semaphore(), world.semaphore()];
    const other = (async () => {
      for (let i = 1; i <= 50; i++) {
        await ping.wait(i);
        pong.signal(i);
      }
    })();
    for (let i = 1; i <= 50; i++) {
      ping.signal(i);
      await pong.wait(i);
    }
    await other;
  },
  WaitOnTheSameValueMultipleTimes: async (world) => {
    const one = world.semaphore();
    soon(() => one.signal(1));
    await one.wait(1);
    await one.wait(1);
  },
  WaitForFiniteTime: async (world) => {
    await assert.rejects(world.semaphore().wait(1, { timeoutMs: 2 }), deadline);
    assert.throws(() => world.semaphore().waitSync(1, { timeoutMs: 1 }), deadline);
  },
  SimultaneousMultiWaitAll: async (world) => {
    const all = Array.from({ length: 3 }, () => world.semaphore());
    const waits = Array.from({ length: 20 }, () => waitForAll(all.map((each) => each.at(1))));
    for (const each of all) soon(() => each.signal(1));
    await Promise.all(waits);
  },
  WaitThenFail: async (world) => {
    const one = world.semaphore();
    soon(() => one.fail(failure('DATA_LOSS')));
    await assert.rejects(one.wait(1), { status: 'DATA_LOSS' });
  },
  MultiWaitThenFail: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    soon(() => b.fail(failure()));
    await assert.rejects(waitForAll([a.at(1), b.at(1)]), { status: 'CANCELLED' });
  },
  DeviceMultiWaitThenFail: async (world) => {
    const [a, b] = [world.semaphore(), world.semaphore()];
    world.queue.hostCall({ call: () => Promise.reject(failure('DATA_LOSS')), signals: [b.at(1)] });
    assert.throws(() => waitForAllSync([a.at(1), b.at(1)], { timeoutMs: 1 }), HalError);
    await assert.rejects(waitForAll([a.at(1), b.at(1)]), { status: 'DATA_LOSS' });
  },
};

export const EventTest: Group = {
  Create: ({ device }) => assert.equal(device.createEvent().isSet, false),
  SignalAndReset: async (world) => {
    const event = world.device.createEvent();
    await world.commands({}, (commands) => commands.setEvent(event).resetEvent(event));
    assert.equal(event.isSet, false);
  },
  SubmitWithChainedCommandBuffers: async ({ device, queue, otherQueue }) => {
    const event = device.createEvent();
    using first = device.record({}, (commands) => commands.setEvent(event));
    using second = device.record({}, (commands) => commands.waitEvents(event));
    const late = otherQueue.execute({ commands: second });
    await queue.execute({ commands: first });
    await late;
  },
};

export const ExecutableCacheTest: Group = {
  Create: ({ device }) => assert.equal(device.query('hal.executable.format', 'FOO?'), 0),
  CantPrepareUnknownFormat: ({ device }) => {
    assert.throws(() => device.load(someBytes(64)), { name: 'HalError', status: 'INVALID_ARGUMENT' });
  },
  PrepareExecutable: ({ device, subject }) => device.load(subject.code())[Symbol.dispose](),
};

export const ExecutableTest: Group = {
  ExportCount: ({ code }) => assert.equal(code.exportCount, Object.keys(code.exports).length),
  ExportInfoOutOfRange: ({ code }) => assert.throws(() => code.exportAt(100), { status: 'OUT_OF_RANGE' }),
  ExportInfo: ({ code }) => {
    const { name, constantCount, bindingCount } = code.lookup('export0').info;
    assert.deepEqual([name, constantCount, bindingCount], ['export0', 2, 2]);
  },
  ExportParametersOutOfRange: ({ code }) => assert.throws(() => code.exportAt(-1), { status: 'OUT_OF_RANGE' }),
  ExportParametersNoCapacity: ({ code }) => assert.deepEqual(code.lookup('export0').info.parameters.slice(0, 0), []),
  ExportParameters: ({ code }) => {
    const { parameters } = code.lookup('export0').info;
    assert.deepEqual(
      parameters.map(({ kind, sizeBytes }) => [kind, sizeBytes]),
      [
        ['binding', 8],
        ['binding', 8],
        ['constant', 4],
        ['constant', 4],
      ],
    );
  },
  LookupExportByNameNotFound: ({ code }) => assert.throws(() => code.lookup('NOT_FOUND'), { status: 'NOT_FOUND' }),
  LookupExportByName: ({ code }) => {
    for (let i = 0; i < code.exportCount; i++) assert.equal(code.lookup(code.exportAt(i).name).ordinal, i);
  },
  LookupGlobalByNameNotFoundOrUnsupported: ({ code }) =>
    assert.throws(() => code.variable('not_there'), { status: 'NOT_FOUND', message: /no variable 'not_there'/ }),
};

/** Host memory as a buffer, or a refusal by name. */
async function importing(world: World, load: (contents: Uint8Array) => HalBuffer): Promise<void> {
  const contents = new Uint8Array(new SharedArrayBuffer(64)).subarray(16, 48);
  contents.set(someBytes(32));
  const { device, queue } = world;
  if (!device.allocator.imports.includes('host')) {
    assert.throws(() => load(contents), { status: 'UNIMPLEMENTED', message: /imports no host memory/ });
    return;
  }
  using buffer = load(contents);
  await world.expect(buffer, someBytes(32));
  await queue.fill({ target: buffer.subspan(8, 8), pattern: Uint8Array.of(7) });
  assert.deepEqual(contents, replaced(someBytes(32), 8, repeated([7], 8)));
}

export const AllocatorTest: Group = {
  BaselineBufferCompatibility: ({ device }) => {
    for (const [usage, flag] of [
      ['transfer', 'queue-transfer'],
      ['storage', 'queue-dispatch'],
    ] as const) {
      assert.ok(device.queryCompatibility({ usage }, 64).flags.has(['allocatable', flag]));
    }
  },
  AllocateBuffer: ({ device }) => {
    using buffer = device.allocate(1024, { memoryType: 'host-local', usage: ['transfer', 'mapping'] });
    assert.ok(buffer.memoryType.has('host-local') && buffer.usage.has(['transfer', 'mapping']));
    assert.ok(buffer.allocation.storage.sizeBytes >= 1024);
  },
  AllocateEmptyBuffer: ({ device }) => {
    using buffer = device.allocate(0);
    assert.equal(buffer.sizeBytes, 0);
  },
  ImportHostAllocationNullCallback: (world) => importing(world, (contents) => world.device.importBuffer(contents)),
  ImportHostAllocationWithCallback: async (world) => {
    let releases = 0;
    const onRelease = (): void => void releases++;
    await importing(world, (contents) => {
      assert.equal(releases, 0);
      return world.device.importBuffer(contents, { onRelease });
    });
    const isImported = world.device.allocator.imports.includes('host');
    assert.equal(releases, isImported ? 1 : 0);
  },
};

const SIZE = 64;
/** A mapped buffer of known bytes, what is done to it, and what it holds then. */
const mapping =
  (change: (buffer: ReturnType<World['mapped']>) => void, expected: (before: Uint8Array) => Uint8Array) =>
  async (world: World): Promise<void> => {
    const before = someBytes(SIZE);
    const buffer = world.mapped(SIZE);
    buffer.write(before);
    change(buffer);
    assert.deepEqual(buffer.read(), expected(before));
    await world.expect(buffer, expected(before));
  };
const AB = Uint8Array.of(0xab);

export const BufferMappingTest: Group = {
  AllocatorSupportsBufferMapping: ({ device }) => {
    const found = device.queryCompatibility({ memoryType: 'host-visible', usage: 'mapping' }, 64);
    assert.ok(found.flags.has('allocatable'));
    using hidden = device.allocate(4, { usage: 'transfer' });
    assert.throws(() => hidden.map('read'), { status: 'PERMISSION_DENIED' });
  },
  ZeroWholeBuffer: mapping(
    (buffer) => buffer.zero(),
    () => new Uint8Array(SIZE),
  ),
  ZeroWithOffset: mapping(
    (buffer) => buffer.zero({ offsetBytes: 3, sizeBytes: 9 }),
    (before) => replaced(before, 3, new Uint8Array(9)),
  ),
  ZeroSubspan: mapping(
    (buffer) => buffer.subspan(8, 16).zero({ offsetBytes: 4, sizeBytes: 4 }),
    (before) => replaced(before, 12, new Uint8Array(4)),
  ),
  FillEmpty: mapping(
    (buffer) => buffer.fill(AB, { sizeBytes: 0 }),
    (before) => before,
  ),
  FillWholeBuffer: mapping(
    (buffer) => buffer.fill(Uint8Array.of(1, 2, 3, 4)),
    () => repeated([1, 2, 3, 4], SIZE),
  ),
  FillWithOffset: mapping(
    (buffer) => buffer.fill(Uint8Array.of(7, 8), { offsetBytes: 2, sizeBytes: 8 }),
    (before) => replaced(before, 2, repeated([7, 8], 8)),
  ),
  FillSubspan: mapping(
    (buffer) => buffer.subspan(8, 8).fill(AB, { offsetBytes: 4 }),
    (before) => replaced(before, 12, repeated([0xab], 4)),
  ),
  ReadData: mapping(
    (buffer) => assert.deepEqual(buffer.read({ offsetBytes: 5, sizeBytes: 7 }), someBytes(SIZE).slice(5, 12)),
    (before) => before,
  ),
  ReadDataSubspan: mapping(
    (buffer) => assert.deepEqual(buffer.subspan(6, 8).read({ offsetBytes: 2 }), someBytes(SIZE).slice(8, 14)),
    (before) => before,
  ),
  WriteDataWholeBuffer: mapping(
    (buffer) => buffer.write(someBytes(SIZE, 2)),
    () => someBytes(SIZE, 2),
  ),
  WriteDataWithOffset: mapping(
    (buffer) => buffer.write(Uint8Array.of(9, 8), 7),
    (before) => replaced(before, 7, Uint8Array.of(9, 8)),
  ),
  WriteDataSubspan: mapping(
    (buffer) => buffer.subspan(16, 4).write(Uint8Array.of(9, 8), 2),
    (before) => replaced(before, 18, Uint8Array.of(9, 8)),
  ),
  CopyData: mapping(
    (buffer) => buffer.write(buffer.read({ offsetBytes: 0, sizeBytes: 8 }), 32),
    (before) => replaced(before, 32, before.slice(0, 8)),
  ),
  MapRangeRead: (world) => {
    const buffer = world.mapped(8);
    buffer.fill(AB);
    using mapped = buffer.map('read', { offsetBytes: 4 });
    assert.deepEqual(mapped.bytes.slice(), repeated([0xab], 4));
    assert.equal(mapped.as(Uint32Array)[0], 0xabababab);
  },
  MapRangeWrite: (world) => {
    const buffer = world.mapped(8);
    {
      using mapped = buffer.map('discard-write', { offsetBytes: 4, sizeBytes: 4 });
      mapped.as(Uint32Array)[0] = 5;
    }
    assert.deepEqual(buffer.read(), bytesOf(Uint32Array.of(0, 5)));
    assert.throws(() => buffer.map('read', { offsetBytes: 8, sizeBytes: 1 }), { status: 'OUT_OF_RANGE' });
  },
};
