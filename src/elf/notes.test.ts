import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteReader } from '../base/bytes.ts';
import { type ElfNote, readNotes } from './notes.ts';

/** One record whose name and descriptor are padded to `alignmentBytes`. */
function record(name: string, descriptor: readonly number[], alignmentBytes: number): number[] {
  const pad = (bytes: readonly number[]) => [
    ...bytes,
    ...new Array((alignmentBytes - (bytes.length % alignmentBytes)) % alignmentBytes).fill(0),
  ];
  const nameBytes = [...new TextEncoder().encode(`${name}\0`)];
  // The name starts behind 12 bytes of header, which count for its alignment.
  const front = pad([nameBytes.length, 0, 0, 0, descriptor.length, 0, 0, 0, 32, 0, 0, 0, ...nameBytes]);
  return [...front, ...pad(descriptor)];
}

function read(bytes: readonly number[], alignmentBytes: number): ElfNote[] {
  const notes: ElfNote[] = [];
  readNotes(new ByteReader(Uint8Array.from(bytes), { section: '.note' }), alignmentBytes, notes);
  return notes;
}

for (const alignmentBytes of [4, 8]) {
  test(`records padded to ${alignmentBytes} bytes`, () => {
    const bytes = [...record('AMDGPU', [1, 2, 3, 4, 5], alignmentBytes), ...record('GNU', [9], alignmentBytes)];
    assert.deepEqual(
      read(bytes, alignmentBytes).map(({ name, type, descriptor, section }) => [name, type, [...descriptor], section]),
      [
        ['AMDGPU', 32, [1, 2, 3, 4, 5], '.note'],
        ['GNU', 32, [9], '.note'],
      ],
    );
  });
}

test('the last record need not be padded', () => {
  assert.deepEqual([...read(record('X', [1, 2, 3], 4).slice(0, -1), 4)[0]!.descriptor], [1, 2, 3]);
});

test('a name that is not UTF-8 is refused', () => {
  const bytes = record('X', [], 4);
  bytes[12] = 0xff;
  assert.throws(() => read(bytes, 4), /\.note at 0xc: the name of a note is not UTF-8/);
});
