import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ByteReader } from './bytes.ts';
import { leb128, signed, unsigned } from './leb128.ts';

test('numbers are those of DWARF 5, tables 7.6 and 7.7', () => {
  for (const [value, bytes] of [
    [2, '02'],
    [127, '7f'],
    [128, '8001'],
    [12857, 'b964'],
  ] as const)
    assert.equal(Buffer.from(unsigned(value)).toString('hex'), bytes);
  for (const [value, bytes] of [
    [-2, '7e'],
    [127, 'ff00'],
    [-127, '817f'],
    [-129, 'ff7e'],
  ] as const)
    assert.equal(Buffer.from(signed(value)).toString('hex'), bytes);
  assert.equal(Buffer.from(leb128(1n, false, 3)).toString('hex'), '818000');
});

test('safe integers come back', () => {
  for (let value = 1; value < 2 ** 53; value *= 7)
    assert.equal(new ByteReader(unsigned(value), {}).uleb128('a number'), value);
});
