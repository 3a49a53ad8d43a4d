import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../../base/errors.ts';
import { DEVICE_START, MAY_READ, MAY_WRITE, PAGE_EXTENTS, RANGES_EPOCH, VALIDITY_MAP } from './layout.ts';
import { EmulatorMemory, type MemoryRegion } from './memory.ts';
import { StateMemory } from './state-memory.ts';

const state = new StateMemory();
const memory = new EmulatorMemory(0x7f00, state, 2 ** 26);

/** Of the page of `offset`, what PAGE_EXTENTS says of its allocation. */
function extentAt(offset: number): { start: number; sizeBytes: number; permissions: number } | undefined {
  const word = PAGE_EXTENTS / 4 + Math.floor(offset / 4096) * 2;
  const [start, extent] = [state.words[word]! >>> 0, state.words[word + 1]! >>> 0];
  return extent === 0 ? undefined : { start, sizeBytes: extent - (extent % 64), permissions: extent % 64 };
}

/** What the GPU may do with the byte at `offset`. */
const permissionsAt = (offset: number): number => state.bytes[VALIDITY_MAP + Math.floor(offset / 64)]!;

test('allocations are zero, aligned, disjoint, valid to the granule, and can be found until they are freed', () => {
  const command = fc.record({
    free: fc.boolean(),
    sizeBytes: fc.integer({ min: 1, max: 50_000 }),
    alignmentLog2: fc.integer({ min: 0, max: 21 }),
    permissions: fc.constantFrom(MAY_READ, MAY_READ | MAY_WRITE),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const live: MemoryRegion[] = [];
      for (const { free, sizeBytes, alignmentLog2, permissions, pick } of commands) {
        if (free && live.length > 0) {
          const [region] = live.splice(pick % live.length, 1);
          const last = region!.offset + region!.sizeBytes - 1;
          memory.free(region!.offset);
          assert.equal(memory.find(region!.offset), undefined);
          assert.equal(permissionsAt(region!.offset), 0);
          assert.equal(permissionsAt(last), 0);
          assert.equal(extentAt(last), undefined);
          assert.equal(memory.findFreed(last)?.offset, region!.offset);
          continue;
        }
        const offset = memory.allocate(sizeBytes, { alignmentBytes: 2 ** alignmentLog2, label: 'x', permissions });
        assert.equal(offset % Math.max(4096, 2 ** alignmentLog2), 0);
        const end = offset + Math.ceil(sizeBytes / 64) * 64;
        const gap = (other: MemoryRegion) => Math.max(other.offset - end, offset - (other.offset + other.sizeBytes));
        assert.ok(live.every((other) => gap(other) >= 4096 - 63));
        assert.ok(memory.bytes.subarray(offset, offset + sizeBytes).every((byte) => byte === 0));
        memory.bytes.fill(0xaa, offset, offset + sizeBytes);
        assert.equal(memory.find(offset + sizeBytes - 1)?.offset, offset);
        assert.equal(memory.find(offset + sizeBytes), undefined);
        assert.ok(
          state.bytes.subarray(VALIDITY_MAP + offset / 64, VALIDITY_MAP + end / 64).every((b) => b === permissions),
        );
        for (let at = offset; at < end; at += 4096)
          assert.deepEqual(extentAt(at), { start: offset, sizeBytes: end - offset, permissions });
        for (let at = end; at < end + 4096; at += 64) assert.equal(permissionsAt(at), 0);
        assert.equal(permissionsAt(offset - 1), 0);
        live.push({ offset, sizeBytes, label: 'x', permissions });
      }
      for (const region of live) memory.free(region.offset);
    }),
    { numRuns: 50 },
  );
  // Everything was given back and joined: one allocation of all memory succeeds.
  memory.free(memory.allocate(memory.sizeBytes - 4096));
});

test('nothing before the first allocation can be reached', () => {
  assert.ok(state.bytes.subarray(VALIDITY_MAP, VALIDITY_MAP + DEVICE_START / 64).every((byte) => byte === 0));
});

test('freed memory is used again late, that of a dispatch at once', () => {
  const fresh = new EmulatorMemory(0x7f00, new StateMemory(), 2 ** 28);
  const first = fresh.allocate(100);
  fresh.free(first);
  for (let i = 0; i < 1000; i++) {
    const offset = fresh.allocate(5000);
    assert.notEqual(offset, first);
    fresh.free(offset);
  }
  assert.equal(fresh.findFreed(first + 99)?.offset, first);
  const own = fresh.allocate(100_000, { isTransient: true });
  fresh.free(own);
  assert.equal(fresh.allocate(100_000, { isTransient: true }), own);
  fresh.free(own);
  // When there is no other memory, it comes from quarantine.
  assert.ok(fresh.usage.quarantinedBytes > 0);
  const rest = fresh.allocate(fresh.sizeBytes - 4096);
  assert.equal(fresh.usage.quarantinedBytes, 0);
  fresh.free(rest);
});

test('memory is used again when every thread has left the code that it ran when it was freed', () => {
  const sizeBytes = 100 * 2 ** 20;
  const overlaps = (a: number, b: number): boolean => Math.abs(a - b) < sizeBytes;
  for (const isTransient of [false, true]) {
    const threads = { epoch: 0, passed: 0, waits: 0 };
    const fresh = new EmulatorMemory(0x7f00, new StateMemory(), 2 ** 28);
    fresh.grace = {
      begin: () => ++threads.epoch,
      isPast: (epoch) => epoch <= threads.passed,
      wait: (epoch) => {
        threads.waits++;
        threads.passed = Math.max(threads.passed, epoch);
      },
    };
    const first = fresh.allocate(sizeBytes, { isTransient });
    fresh.free(first);
    const second = fresh.allocate(sizeBytes);
    assert.ok(!overlaps(second, first), 'a thread may still store there');
    threads.passed = threads.epoch;
    fresh.free(fresh.allocate(4096));
    assert.ok(overlaps(fresh.allocate(sizeBytes), first));
    assert.equal(threads.waits, 0);
    // Where there is no other memory, threads are waited for.
    fresh.free(second);
    assert.ok(overlaps(fresh.allocate(sizeBytes), second));
    assert.ok(threads.waits > 0);
  }
});

test('what is kept of freed memory is bounded', () => {
  const fresh = new EmulatorMemory(0x7f00, new StateMemory(), 2 ** 28);
  for (let i = 0; i < 50_000; i++) fresh.free(fresh.allocate(4096));
  const { regions, bytes, quarantinedBytes } = fresh.usage;
  assert.deepEqual([regions, bytes], [0, 0]);
  assert.ok(quarantinedBytes <= 2 ** 26);
  fresh.free(fresh.allocate(fresh.sizeBytes - 4096));
});

test('impossible requests are errors of the caller or of memory', () => {
  const code = (run: () => unknown): string => {
    try {
      run();
    } catch (error) {
      assert.ok(error instanceof WavewrightError);
      return error.code;
    }
    return 'none';
  };
  assert.equal(
    code(() => memory.allocate(0)),
    'USAGE',
  );
  assert.equal(
    code(() => memory.allocate(10, { alignmentBytes: 12288 })),
    'USAGE',
  );
  assert.equal(
    code(() => memory.allocate(2 ** 40)),
    'LIMIT_EXCEEDED',
  );
  assert.equal(
    code(() => memory.free(12345)),
    'USAGE',
  );
});

test('what the GPU may do with a region changes, and its neighbours stay', () => {
  const [before, region, behind] = [memory.allocate(100), memory.allocate(5000), memory.allocate(100)];
  memory.bytes[region] = 7;
  for (const permissions of [0, MAY_READ, MAY_READ | MAY_WRITE]) {
    memory.protect(region, permissions);
    assert.equal(memory.find(region + 4999)?.permissions, permissions);
    const around = [before, region - 1, region, region + 4999, region + 5056, behind];
    assert.deepEqual(around.map(permissionsAt), [3, 0, permissions, permissions, 0, 3]);
    assert.equal(memory.bytes[region], 7);
  }
  for (const offset of [before, region, behind]) memory.free(offset);
  assert.throws(() => memory.protect(region, 0), WavewrightError);
});

test('code is told to forget what it learned whenever the GPU may do less', () => {
  const epoch = (): number => state.words[RANGES_EPOCH / 4]!;
  const offset = memory.allocate(3 * 4096, { label: 'x', permissions: MAY_READ | MAY_WRITE });
  for (const change of [
    () => memory.protect(offset, MAY_READ),
    () => memory.protectPages(offset + 4096, 4096, 0),
    () => memory.free(offset),
  ]) {
    const before = epoch();
    change();
    assert.notEqual(epoch(), before);
  }
});

test('the nearest region is the one with the smallest distance, and no LDS', () => {
  const first = memory.allocate(100, { label: 'first' });
  const own = [
    memory.allocate(100, { permissions: 0, isTransient: true }),
    memory.allocate(4096, { permissions: 0, isTransient: true, uninitialized: true }),
  ];
  const gap = memory.allocate(4096 * 10);
  const last = memory.allocate(100, { label: 'last' });
  memory.free(gap);
  assert.equal(memory.nearest(first + 5000)?.label, 'first');
  assert.equal(memory.nearest(last - 1)?.label, 'last');
  assert.equal(memory.nearest(own[0]!)?.label, 'first');
  for (const offset of [first, ...own, last]) memory.free(offset);
});

test('pages of a region have permissions of their own until it gets some as a whole', () => {
  const region = memory.allocate(5 * 4096, { label: 'parts' });
  memory.protect(region, 0);
  memory.protectPages(region + 4096, 8192, MAY_READ | MAY_WRITE);
  memory.protectPages(region + 8192, 4096, MAY_READ);
  const found = [0, 1, 2, 3].map((page) => permissionsAt(region + page * 4096 + 64));
  assert.deepEqual(found, [0, MAY_READ | MAY_WRITE, MAY_READ, 0]);
  assert.ok(found.every((_, page) => extentAt(region + page * 4096) === undefined));
  for (const [page, permissions] of found.entries()) {
    assert.equal(memory.find(region + page * 4096)?.permissions, permissions);
    assert.equal(memory.nearest(region + page * 4096)?.permissions, permissions);
  }
  assert.ok(memory.permits(region + 4096, 8192, MAY_READ));
  assert.ok(!memory.permits(region + 4096, 8192, MAY_WRITE));
  assert.ok(!memory.permits(region + 8192, 4097, MAY_READ));
  assert.equal(memory.code(region + 4096), undefined);
  const bad: readonly (readonly [number, number])[] = [
    [1, 4096],
    [0, 0],
    [0, 4095],
    [16384, 8192],
  ];
  for (const [offset, sizeBytes] of bad) {
    assert.throws(() => memory.protectPages(region + offset, sizeBytes, MAY_READ), { code: 'USAGE' });
  }
  memory.protect(region, MAY_READ);
  assert.ok(memory.permits(region, 5 * 4096, MAY_READ));
  assert.equal(extentAt(region + 8192)?.permissions, MAY_READ);
  memory.free(region);
  assert.ok(!memory.permits(region, 1, MAY_READ));
});
