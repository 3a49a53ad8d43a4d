/** Our MessagePack against the reference implementation's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { decodeMsgpack, encodeMsgpack, type MsgpackInput } from './msgpack.ts';

const key = fc.string({ maxLength: 40, unit: 'grapheme' }).filter((text) => text !== '__proto__');
const integers = [fc.integer(), fc.maxSafeInteger(), fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n)];
const others = [fc.constant(null), fc.double(), fc.float(), fc.uint8Array({ maxLength: 70_000, size: 'max' })];

/** Values of the input kind, and with `leaves` besides. */
function valuesOf(...leaves: fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> {
  const text = fc.oneof(
    key,
    fc.nat(70_000).map((length) => 'é'.repeat(length)),
  );
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(fc.boolean(), text, ...integers, ...leaves),
      fc.array(tie('value'), { maxLength: 20 }),
      fc.dictionary(key, tie('value'), { maxKeys: 20, noNullPrototype: true }),
      fc.nat(70_000).map((length) => Array.from({ length }, (_, i) => i)),
    ),
  })).value;
}

const deepest = (bytes: Uint8Array) => {
  let found = 0;
  const value = decodeMsgpack(bytes, (depth) => {
    found = Math.max(found, depth);
  });
  return { value, depth: found };
};

/** Levels that hold something; an empty map or array opens none. */
function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return 0;
  const items = Object.values(value);
  return items.length === 0 ? 0 : 1 + Math.max(...new Set(items.map(depthOf)));
}

test('what the reference implementation encodes is decoded as it does, and as deep as it is', () => {
  const numbers = valuesOf(...others);
  fc.assert(
    fc.property(numbers, fc.boolean(), (value, forceFloat32) => {
      const bytes = encode(value, { useBigInt64: true, forceFloat32 });
      const { value: decoded, depth } = deepest(bytes);
      assert.deepEqual(decoded, decode(bytes, { useBigInt64: true }));
      assert.equal(depth, depthOf(value));
    }),
    { numRuns: 60 },
  );
});

test('what we encode is as short as can be, and decoded by the reference implementation', () => {
  /** Integers in any form are one value. */
  const plain = (value: unknown): unknown => {
    if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
  };
  fc.assert(
    fc.property(valuesOf(), (value) => {
      const bytes = encodeMsgpack(value as MsgpackInput);
      assert.deepEqual(plain(decode(bytes, { useBigInt64: true })), plain(value));
      assert.deepEqual(encodeMsgpack(deepest(bytes).value as MsgpackInput), bytes);
    }),
    { numRuns: 60 },
  );
  for (const [value, bytes] of [
    [127, [0x7f]],
    [128, [0xcc, 128]],
    [256, [0xcd, 1, 0]],
    [2 ** 32, [0xcf, 0, 0, 0, 1, 0, 0, 0, 0]],
    [-32, [0xe0]],
    [-33, [0xd0, 0xdf]],
    [-(2 ** 31) - 1, [0xd3, 255, 255, 255, 255, 127, 255, 255, 255]],
    [{ b: 1, a: true }, [0x82, 0xa1, 97, 0xc3, 0xa1, 98, 1]],
  ] as const) {
    assert.deepEqual([...encodeMsgpack(value)], bytes);
  }
  assert.throws(() => encodeMsgpack(2n ** 64n), /does not fit into 64 bits/);
});

test('broken bytes end in BAD_INPUT, and deep ones where the caller says', () => {
  const refused = (bytes: Iterable<number>, what: RegExp) =>
    assert.throws(
      () => decodeMsgpack(Uint8Array.from(bytes), () => undefined),
      (error: unknown) => error instanceof WavewrightError && error.code === 'BAD_INPUT' && what.test(error.what),
    );
  refused([], /cut off/);
  refused([0xdd, 255, 255, 255, 255], /cut off/);
  refused([0xdb, 255, 255, 255, 255, 0], /4294967295 bytes is cut off/);
  refused([0x01, 0x02], /1 bytes follow/);
  refused([0xc1], /type 0xc1 at 0/);
  refused([0xd4, 1, 2], /type 0xd4/);
  refused([0x81, 1, 2], /the key 1/);
  refused(encode(JSON.parse('{"__proto__": 1}')), /the key __proto__/);
  const depths: number[] = [];
  const nested = new Uint8Array(1_000_000).fill(0x91);
  assert.throws(() =>
    decodeMsgpack(nested, (depth) => {
      depths.push(depth);
      assert.ok(depth < 5);
    }),
  );
  assert.deepEqual(depths, [1, 2, 3, 4, 5]);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      try {
        decodeMsgpack(bytes, (depth) => assert.ok(depth < 101));
      } catch (error) {
        assert.ok(error instanceof WavewrightError);
      }
    }),
    { numRuns: 2000 },
  );
});
