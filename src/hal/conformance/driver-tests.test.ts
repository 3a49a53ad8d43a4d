/** The tests of IREE's driver have their place here, which is there, or a reason. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CTS_GROUPS, OWN_GROUPS } from './cts-run.test-support.ts';
import { DRIVER_TESTS, OTHER_DRIVER_TESTS } from './driver-tests.test-support.ts';

const SOURCES = path.resolve(import.meta.dirname, '../..');

/** Whether there is what a key of the table names. */
function isThere(place: string): boolean {
  if (place.startsWith('none: ')) return true;
  const [group, body] = place.startsWith('CTS ') ? place.slice(4).split('.') : [];
  if (group !== undefined) {
    const entry = { ...CTS_GROUPS, ...OWN_GROUPS }[group]?.[body!];
    return entry !== undefined && typeof entry !== 'string';
  }
  const [file, ...words] = place.split(': ');
  return readFileSync(path.join(SOURCES, file!), 'utf8').includes(words.join(': '));
}

test('tests of the driver are mirrored where the table says', () => {
  const places = Object.values(DRIVER_TESTS).flatMap((each) => Object.keys(each));
  assert.deepEqual(
    [...new Set(places)].filter((place) => !isThere(place)),
    [],
  );
});

test('every test of the driver stands in the table once', () => {
  for (const [file, places] of Object.entries(DRIVER_TESTS)) {
    const names = Object.values(places).flatMap((each) => each.split(' '));
    assert.equal(new Set(names).size, names.length, file);
    assert.equal(file in OTHER_DRIVER_TESTS, false, file);
  }
});
