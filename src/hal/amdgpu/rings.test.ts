/** Rings against what they are: lists that are taken from at one end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededIntegers } from '../core/random.ts';
import { BlockRing } from './block-ring.ts';
import { NotificationRing } from './notification-ring.ts';

test('blocks of a ring lie in a row, nobody has one twice, and an empty ring has all of them', () => {
  for (const capacity of [1, 2, 7, 8, 64]) {
    const ring = new BlockRing(capacity);
    const random = seededIntegers(capacity);
    const out: { readonly position: number; readonly count: number }[] = [];
    for (let step = 0; step < 2000; step++) {
      const count = 1 + random(capacity);
      const position = random(3) === 0 ? undefined : ring.reserve(count);
      if (position === undefined) {
        const first = out.shift();
        if (first !== undefined) ring.release(first.position + first.count);
        continue;
      }
      if (random(8) === 0) {
        ring.cancel(position);
        continue;
      }
      const start = ring.index(position);
      assert.ok(start + count <= capacity, 'it does not go round the end');
      for (const other of out) {
        const otherStart = ring.index(other.position);
        assert.ok(start + count <= otherStart || otherStart + other.count <= start, 'nobody else has them');
      }
      out.push({ position, count });
    }
    for (const { position, count } of out) ring.release(position + count);
    assert.equal(ring.usedCount, 0);
    assert.notEqual(ring.reserve(capacity), undefined);
  }
});

test('notifications come in the order in which they went in, as many as there is room for', () => {
  const ring = new NotificationRing<number>(4);
  const model: number[] = [];
  const random = seededIntegers(1);
  for (let step = 0; step < 1000; step++) {
    if (random(2) === 0 && !ring.isFull) {
      ring.push(step);
      model.push(step);
    } else assert.equal(ring.shift(), model.shift());
    assert.deepEqual([ring.size, ring.first, ring.isFull], [model.length, model[0], model.length === 4]);
  }
  assert.deepEqual(ring.takeAll(), model);
  assert.equal(ring.size, 0);
});
