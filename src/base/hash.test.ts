import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fnv1a, fnv1a64 } from './hash.ts';

test('hashes are those that its authors publish', () => {
  const hash = (text: string): string => fnv1a(new TextEncoder().encode(text)).toString(16);
  assert.deepEqual([hash(''), hash('a'), hash('foobar')], ['811c9dc5', 'e40c292c', 'bf9cf968']);
});

test('hashes of 64 bits are those that its authors publish', () => {
  const hash = (text: string): string => fnv1a64(new TextEncoder().encode(text)).toString(16);
  assert.deepEqual([hash(''), hash('a'), hash('foobar')], ['cbf29ce484222325', 'af63dc4c8601ec8c', '85944171f73967e8']);
});
