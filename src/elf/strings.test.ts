import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteReader } from '../base/bytes.ts';
import { readStringTable } from './strings.ts';

const open = (text: string) => readStringTable(new ByteReader(new TextEncoder().encode(text), { section: '.strtab' }));

test('names start anywhere, also inside another', () => {
  const names = open('\0store.kd\0x\0');
  assert.deepEqual([names(0, 'n'), names(1, 'n'), names(7, 'n'), names(10, 'n')], ['', 'store.kd', 'kd', 'x']);
});

test('offsets count bytes, not characters', () => {
  const names = open('\0größe\0k\0');
  assert.deepEqual([names(1, 'n'), names(9, 'n')], ['größe', 'k']);
});

test('an empty table has the empty name', () => {
  assert.equal(open('')(0, 'n'), '');
  assert.throws(() => open('')(1, 'name of symbol 3'), /\.strtab at 0x1: name of symbol 3 is at 0x1, beyond the end/);
});

test('names that do not end, lie outside or are not UTF-8 are refused', () => {
  assert.throws(() => open('\0abc')(2, 'n'), /\.strtab at 0x2: n has no terminating NUL/);
  assert.throws(() => open('\0abc\0')(5, 'n'), /n is at 0x5, beyond the end/);
  const broken = readStringTable(new ByteReader(Uint8Array.of(0, 0xc3, 0)));
  assert.throws(() => broken(1, 'n'), /n is not UTF-8/);
});
