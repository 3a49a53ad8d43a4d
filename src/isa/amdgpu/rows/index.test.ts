import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TABLES } from './index.ts';

test('a table says the formats of all its rows, and no other', () => {
  for (const { formats, rows } of TABLES) assert.deepEqual(new Set(rows.map(({ format }) => format)), new Set(formats));
});
