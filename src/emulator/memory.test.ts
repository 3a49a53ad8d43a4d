import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { PAGE_MAP, PAGE_READ, PAGE_WRITE } from './layout.ts';
import { EmulatorMemory, type Region } from './memory.ts';

const memory = new EmulatorMemory(0x7f00, 2 ** 26);

test('allocations are zero, aligned, disjoint, mapped, and can be found until they are freed', () => {
  const command = fc.record({
    free: fc.boolean(),
    sizeBytes: fc.integer({ min: 1, max: 50_000 }),
    alignmentLog2: fc.integer({ min: 0, max: 21 }),
    pick: fc.nat(),
  });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const live: Region[] = [];
      for (const { free, sizeBytes, alignmentLog2, pick } of commands) {
        if (free && live.length > 0) {
          const [region] = live.splice(pick % live.length, 1);
          memory.free(region!.offset);
          assert.equal(memory.find(region!.offset), undefined);
          assert.equal(memory.bytes[PAGE_MAP + region!.offset / 4096], 0);
          assert.equal(memory.findFreed(region!.offset + region!.sizeBytes - 1)?.offset, region!.offset);
          continue;
        }
        const offset = memory.allocate(sizeBytes, { alignmentBytes: 2 ** alignmentLog2, label: 'x' });
        assert.equal(offset % Math.max(4096, 2 ** alignmentLog2), 0);
        assert.ok(
          live.every((other) => offset + sizeBytes <= other.offset || other.offset + other.sizeBytes <= offset),
        );
        assert.ok(memory.bytes.subarray(offset, offset + sizeBytes).every((byte) => byte === 0));
        memory.bytes.fill(0xaa, offset, offset + sizeBytes);
        assert.equal(memory.find(offset + sizeBytes - 1)?.offset, offset);
        assert.equal(memory.bytes[PAGE_MAP + offset / 4096], PAGE_READ | PAGE_WRITE);
        live.push({ offset, sizeBytes, label: 'x' });
      }
      for (const region of live) memory.free(region.offset);
    }),
    { numRuns: 50 },
  );
  // Everything was given back and joined: one allocation of nearly all memory succeeds.
  memory.free(memory.allocate(memory.sizeBytes - 4096));
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

test('the nearest region is the one with the smallest distance', () => {
  const first = memory.allocate(100, { label: 'first' });
  const gap = memory.allocate(4096 * 10);
  const last = memory.allocate(100, { label: 'last' });
  memory.free(gap);
  assert.equal(memory.nearest(first + 5000)?.label, 'first');
  assert.equal(memory.nearest(last - 1)?.label, 'last');
  memory.free(first);
  memory.free(last);
});
