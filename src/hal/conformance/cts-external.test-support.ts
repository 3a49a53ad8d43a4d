/** Memory that goes in and out of devices without a copy. */
import assert from 'node:assert/strict';
import { type Group, repeated, replaced, someBytes } from './cts.test-support.ts';

const SHARED = { memoryType: 'host-local', usage: ['default', 'mapping', 'sharing-export'] } as const;

export const ExternalMemoryTest: Group = {
  WhatIsExportedIsLive: async ({ device, queue, subject }) => {
    using buffer = device.allocate(32, SHARED);
    using exported = buffer.subspan(8, 16).export();
    assert.equal(exported.sizeBytes, 16);
    exported.bytes!.set(someBytes(16));
    assert.deepEqual(buffer.read(), replaced(new Uint8Array(32), 8, someBytes(16)));
    await queue.fill({ target: buffer, pattern: Uint8Array.of(3) });
    assert.deepEqual(Uint8Array.from(exported.bytes!), repeated([3], 16));
    // Threads see it, too; memory of a native runtime is in a buffer of its own kind.
    const isNative = subject.tags.includes('native');
    assert.equal(exported.bytes!.buffer instanceof SharedArrayBuffer, !isNative);
  },
  WhatIsExportedStays: async ({ device, queue }) => {
    const buffer = await queue.alloca({ sizeBytes: 64, ...SHARED });
    const exported = buffer.export();
    exported.bytes!.set(someBytes(64));
    await queue.dealloca({ buffer });
    assert.throws(() => buffer.export(), { status: 'FAILED_PRECONDITION' });
    assert.deepEqual(Uint8Array.from(exported.bytes!), someBytes(64));
    assert.equal(device.allocator.statistics.liveCount, 1);
    exported[Symbol.dispose]();
    exported[Symbol.dispose]();
    assert.equal(device.allocator.statistics.liveCount, 0);
  },
  MemoryThatIsNotForOthers: ({ device }) => {
    using own = device.allocate(16);
    assert.throws(() => own.export(), { status: 'PERMISSION_DENIED', message: /expected sharing-export/ });
    const gone = device.allocate(16, SHARED);
    gone[Symbol.dispose]();
    assert.throws(() => gone.export(), { status: 'FAILED_PRECONDITION', message: /is disposed/ });
    const { flags } = device.queryCompatibility(SHARED, 16);
    assert.ok(flags.has(['allocatable', 'exportable', 'importable']));
  },
  ImportByAddress: async (world) => {
    const { device, queue } = world;
    if (!device.allocator.imports.includes('device')) {
      const memory = { address: 4096n, sizeBytes: 16 };
      assert.throws(() => device.importBuffer(memory), { status: 'UNIMPLEMENTED', message: /no device memory/ });
      return;
    }
    using owner = device.allocate(256, { usage: ['default', 'sharing-export'] });
    using exported = owner.export();
    assert.equal(exported.bytes, undefined, 'the host does not see it');
    let releases = 0;
    const address = exported.address! + 64n;
    const part = device.importBuffer({ address, sizeBytes: 32 }, { onRelease: () => void releases++ });
    const filled = queue.fill({ target: part, pattern: Uint8Array.of(9) });
    part[Symbol.dispose]();
    assert.equal(releases, 0, 'an operation needs it');
    await filled;
    assert.equal(releases, 1);
    await world.expect(owner, replaced(new Uint8Array(256), 64, repeated([9], 32)));
    for (const [start, sizeBytes] of [
      [exported.address!, 2 ** 20],
      [0n, 1],
      [2n ** 63n, 2 ** 31],
    ] as const) {
      assert.throws(() => device.importBuffer({ address: start, sizeBytes }), {
        status: 'INVALID_ARGUMENT',
        message: /not inside one allocation of GPU-/,
      });
    }
  },
  WhatIsNoMemory: ({ device }) => {
    for (const sizeBytes of [0, -1, 1.5, 2 ** 53]) {
      assert.throws(() => device.importBuffer({ address: 4096n, sizeBytes }), { status: 'INVALID_ARGUMENT' });
    }
    assert.throws(() => device.reserveVirtualMemory(4096), { status: 'UNAVAILABLE', message: /4096 bytes of virtual/ });
  },
};
