import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { msgpackDepth } from './msgpack-depth.ts';

/** Levels that hold something; an empty map or array opens none. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 0;
  const items = Object.values(value);
  return items.length === 0 ? 0 : 1 + Math.max(...items.map(depthOf));
}

const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(
      fc.boolean(),
      fc.constant(null),
      fc.integer(),
      fc.double(),
      fc.string({ maxLength: 70 }),
      fc.bigInt(0n, 2n ** 64n - 1n),
    ),
    fc.uint8Array({ maxLength: 300 }),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(fc.string({ maxLength: 40 }), tie('value'), { maxKeys: 20, noNullPrototype: true }),
  ),
}));

test('the depth is that of the encoded value', () => {
  fc.assert(
    fc.property(values, (value) => {
      assert.equal(msgpackDepth(encode(value, { useBigInt64: true }), 100), depthOf(value));
    }),
  );
});

test('counting stops above the limit and at cut-off bytes', () => {
  assert.equal(msgpackDepth(new Uint8Array(1_000_000).fill(0x91), 32), 33);
  assert.equal(msgpackDepth(Uint8Array.of(0xdc, 0), 32), 0);
  assert.equal(msgpackDepth(Uint8Array.of(), 32), 0);
});
