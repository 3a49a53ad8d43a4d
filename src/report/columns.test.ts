import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ColumnWriter, type Integers, readColumn } from './columns.ts';

const kinds: readonly fc.Arbitrary<Integers>[] = [
  fc.uint32Array(),
  fc.int32Array(),
  fc.bigUint64Array(),
  fc.bigInt64Array(),
  fc.array(fc.integer({ min: -(2 ** 50) + 1, max: 2 ** 50 - 1 })).map((values) => Float64Array.from(values)),
];

test('columns of any integers are read back, in the order that is asked for', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(...kinds), { maxLength: 4 }), (columns) => {
      const writer = new ColumnWriter();
      const places = columns.map((values) => writer.add(values, Uint32Array.from(values.keys()).reverse()));
      const { bytes } = writer;
      for (const [i, values] of columns.entries()) {
        const read = readColumn(bytes, places[i]!, values.length);
        assert.deepEqual(Array.from(read, BigInt), Array.from(values, BigInt).reverse());
      }
    }),
  );
});

test('what is sorted takes a byte or two a value, and bytes of nobody end nowhere', () => {
  const writer = new ColumnWriter();
  const times = Float64Array.from({ length: 1_000 }, (_, i) => 2 ** 45 + 100 * i);
  const place = writer.add(times, Uint32Array.from(times.keys()));
  assert.ok(place.sizeBytes < 2_010, `${place.sizeBytes}`);
  fc.assert(
    fc.property(fc.uint8Array(), fc.nat(20), (bytes, count) => {
      assert.equal(readColumn(bytes, { offset: 0, sizeBytes: bytes.length }, count).length, count);
    }),
  );
});
