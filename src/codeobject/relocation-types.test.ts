import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RELOCATION_TYPES, relocationType } from './relocation-types.ts';

test('numbers and names are unique and found by number', () => {
  assert.equal(new Set(RELOCATION_TYPES.map(({ name }) => name)).size, RELOCATION_TYPES.length);
  for (const type of RELOCATION_TYPES) assert.equal(relocationType(type.number), type);
  assert.equal(relocationType(12), undefined);
});

test('the records that linked code objects have', () => {
  assert.deepEqual(relocationType(3), {
    number: 3,
    name: 'R_AMDGPU_ABS64',
    fieldBits: 64,
    calculation: 'S + A',
  });
  assert.equal(relocationType(13)?.name, 'R_AMDGPU_RELATIVE64');
});
