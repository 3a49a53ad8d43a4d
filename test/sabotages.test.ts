/**
 * What `fuzz/sabotage.ts` takes out stands in the sources. Whether it is missed, that program needs ten
 * minutes to say.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SABOTAGES } from './fuzz/sabotages.ts';

for (const { name, file, from } of SABOTAGES) {
  test(`${name} stands in ${file} once`, () => {
    const text = readFileSync(path.join(import.meta.dirname, '..', file), 'utf8');
    assert.equal(text.split(from).length, 2, from);
  });
}
