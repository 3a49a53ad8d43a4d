import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ByteReader, decodeUtf8, toHex } from './bytes.ts';
import { WavewrightError } from './errors.ts';

test('reads little-endian fields in sequence', () => {
  const reader = new ByteReader(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff));
  assert.equal(reader.u8('a'), 1);
  assert.equal(reader.u16('b'), 0x0302);
  assert.equal(reader.u32('c'), 0x07060504);
  assert.equal(reader.i64('d'), -1n);
  assert.equal(reader.remaining, 0);
});

test('a u64 is exact, and a size is the same number below 2^53', () => {
  fc.assert(
    fc.property(fc.oneof(fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(2n ** 53n - 2n, 2n ** 53n + 1n)), (value) => {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setBigUint64(0, value, true);
      assert.equal(new ByteReader(bytes).u64('value'), value);
      const size = () => new ByteReader(bytes).size('value');
      if (value < 2n ** 53n) assert.equal(size(), Number(value));
      else assert.throws(size, /value is 0x[0-9a-f]+, more than any file holds/);
    }),
  );
});

test('a LEB128 number ends, and is exact', () => {
  const number = (...bytes: number[]) => new ByteReader(Uint8Array.from(bytes)).uleb128('a number');
  assert.equal(number(0x7f), 127);
  assert.equal(number(0xe5, 0x8e, 0x26), 624485);
  assert.equal(number(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f), Number.MAX_SAFE_INTEGER);
  assert.throws(() => number(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f), /a number that is too large/);
  assert.throws(() => number(...new Array<number>(20).fill(0x80)), /a number without an end/);
});

test('a read past the end names file, section, offset and field', () => {
  const reader = new ByteReader(new Uint8Array(10), { file: 'x.co' }).region(4, 6, '.note');
  reader.u32('n_namesz');
  assert.throws(
    () => reader.u32('n_descsz'),
    (error) => {
      assert.ok(error instanceof WavewrightError);
      assert.equal(error.code, 'BAD_INPUT');
      assert.equal(error.message, 'x.co: .note at 0x4: n_descsz is cut off: 4 bytes expected, 2 bytes left');
      return true;
    },
  );
  assert.equal(reader.offset, 4, 'a failed read leaves the cursor');
});

test('regions and takes share the bytes and stay inside', () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, index) => index);
  const region = new ByteReader(bytes).region(4, 8, 'middle');
  assert.deepEqual([...region.take(3, 'three')], [4, 5, 6]);
  assert.equal(region.bytes.buffer, bytes.buffer);
  assert.throws(() => region.take(6, 'six'), /six is cut off: 6 bytes expected, 5 bytes left/);
  assert.throws(() => region.region(9, 0, 'beyond'), /beyond is cut off/);
  assert.throws(() => new ByteReader(bytes).region(0, 17, 'all'), /all is cut off: 17 bytes expected, 16 bytes left/);
});

test('align stops at the end of the region', () => {
  const reader = new ByteReader(new Uint8Array(6));
  reader.offset = 1;
  reader.align(4);
  assert.equal(reader.offset, 4);
  reader.offset = 5;
  reader.align(4);
  assert.equal(reader.offset, 6);
});

test('decodeUtf8 refuses what is not UTF-8 and keeps a byte order mark', () => {
  assert.equal(decodeUtf8(Uint8Array.of(0xff)), undefined);
  assert.equal(decodeUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)), '\ufeffa');
});

test('toHex writes two digits a byte', () => assert.equal(toHex(Uint8Array.of(0, 0xa, 0xff)), '000aff'));
