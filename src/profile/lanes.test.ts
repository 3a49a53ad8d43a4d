import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SliceLanes } from './lanes.ts';

test('each slice has the first lane that is free', () => {
  const slices = fc.array(fc.tuple(fc.nat(60), fc.nat(20)), { maxLength: 60 });
  fc.assert(
    fc.property(slices, (given) => {
      const lanes = new SliceLanes();
      const ends: bigint[] = [];
      for (const [start, length] of given.toSorted(([one], [other]) => one - other)) {
        const [from, to] = [BigInt(start), BigInt(start + length)];
        const free = ends.findIndex((end) => end <= from);
        const expected = free < 0 ? ends.length : free;
        ends[expected] = to;
        assert.equal(lanes.place(from, to), expected);
      }
    }),
  );
});
