import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteReader } from '../base/bytes.ts';
import { DynamicTables, type ElfDynamicEntry, readDynamic } from './dynamic.ts';

/** An image at address 0 whose u64 words are given. */
function open(entries: readonly (readonly [tag: number, value: number])[], words: readonly bigint[]): DynamicTables {
  const image = new ByteReader(new Uint8Array(BigUint64Array.from(words).buffer));
  const dynamic = entries.map(([tag, value]): ElfDynamicEntry => ({ tag, value: BigInt(value) }));
  return new DynamicTables(
    new ByteReader(new Uint8Array(0), { section: 'dynamic section' }),
    dynamic,
    (address, sizeBytes, what) => image.region(Number(address), sizeBytes, what),
    (address, what) => image.region(Number(address), image.length - Number(address), what),
  );
}

const u32s = (low: number, high: number) => (BigInt(high) << 32n) | BigInt(low);
/** nbuckets 1, symoffset, bloom_size 1, bloom_shift 0, one bloom word, one bucket, one chain word. */
const gnuHash = (firstHashed: number, bucket: number, chain: number) => [
  u32s(1, firstHashed),
  u32s(1, 0),
  0n,
  u32s(bucket, chain),
];
const TABLES = [
  [5, 135],
  [10, 1],
  [6, 40],
  [11, 24],
  [0x6ffffef5, 0],
] as const;
const symbols = new Array<bigint>(13).fill(0n);

test('a GNU hash table without hashed symbols implies those before its first', () => {
  assert.equal(open(TABLES, [...gnuHash(2, 0, 0), 0n, ...symbols]).readSymbols(undefined).length, 2);
});

test('a GNU hash table implies the symbols up to the end of its last chain', () => {
  assert.equal(open(TABLES, [...gnuHash(1, 2, 0), u32s(0, 1), ...symbols]).readSymbols(undefined).length, 4);
  assert.equal(open(TABLES, [...gnuHash(1, 1, 1), 0n, ...symbols]).readSymbols(undefined).length, 2);
});

test('a table without its partners is refused', () => {
  const read = (entries: readonly (readonly [number, number])[]) => open(entries, symbols).readSymbols(1);
  assert.throws(
    () =>
      read([
        [6, 0],
        [11, 24],
      ]),
    /dynamic section at 0x0: DT_STRTAB is missing/,
  );
  assert.throws(
    () =>
      read([
        [6, 0],
        [11, 16],
      ]),
    /DT_SYMENT is 16, expected 24/,
  );
  assert.throws(
    () =>
      open(
        [
          [6, 0],
          [11, 24],
        ],
        symbols,
      ).readSymbols(undefined),
    /neither DT_HASH, DT_GNU_HASH nor a section/,
  );
});

test('DT_RELA, DT_REL and DT_JMPREL are read in this order', () => {
  const words = [0x10n, 13n, 0x20n, 0x30n, 13n, 0x50n, 13n];
  const rela = [
    [7, 0],
    [8, 24],
    [9, 24],
  ] as const;
  const rel = [
    [17, 24],
    [18, 16],
    [19, 16],
  ] as const;
  const plt = [
    [23, 40],
    [2, 16],
    [20, 17],
  ] as const;
  const relocations = open([...plt, ...rel, ...rela], words).readRelocations([]);
  assert.deepEqual(
    relocations.map(({ offset, type, symbol, addend }) => [offset, type, symbol, addend]),
    [
      [0x10n, 13, undefined, 0x20n],
      [0x30n, 13, undefined, undefined],
      [0x50n, 13, undefined, undefined],
    ],
  );
  assert.throws(
    () =>
      open(
        [
          [23, 0],
          [2, 16],
          [20, 5],
        ],
        words,
      ).readRelocations([]),
    /DT_PLTREL is 5, expected 7/,
  );
  assert.throws(
    () =>
      open(
        [
          [7, 0],
          [8, 23],
          [9, 24],
        ],
        words,
      ).readRelocations([]),
    /23 bytes, expected a multiple of 24/,
  );
});

test('entries stop at DT_NULL, and a tag beyond 2^53 is refused', () => {
  const read = (words: readonly bigint[]) =>
    readDynamic(new ByteReader(new Uint8Array(BigUint64Array.from(words).buffer)));
  assert.deepEqual(read([4n, 100n, 0n, 0n, 5n, 200n]), [{ tag: 4, value: 100n }]);
  assert.throws(() => read([1n << 60n, 0n]), /d_tag is 1152921504606846976, which no specification defines/);
});
