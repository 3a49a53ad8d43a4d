import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { firstAbove } from './search.ts';

test('the first above is what a look at all finds', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20 })), fc.nat({ max: 21 }), (addresses, address) => {
      const sorted = addresses.toSorted((a, b) => a - b).map((each) => ({ address: each }));
      const found = sorted.findIndex((each) => each.address > address);
      assert.equal(firstAbove(sorted, address), found < 0 ? sorted.length : found);
    }),
  );
});
