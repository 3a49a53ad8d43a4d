import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { KeyedCase } from '../case.ts';
import { CaseFeed, SLICE_CASES } from './case-feed.ts';

const keyed = (i: number): KeyedCase => ({
  ...{ key: `${i}`, case: { name: `${i}`, image: 'a', options: [], args: [], env: {}, timeout: 1, retries: 0 } },
});

test('a feed gives whole slices and then the rest, in order, and reads no further ahead', async () => {
  let read = 0;
  async function* cases() {
    for (let i = 0; i < 3000; i++) {
      read++;
      yield keyed(i);
    }
  }
  using feed = new CaseFeed(cases());
  const sizes: number[] = [];
  const keys: string[] = [];
  while (!feed.isDone) {
    await feed.ready;
    assert.ok(read <= keys.length + SLICE_CASES);
    const count = feed.look();
    keys.push(...feed.peek(count).map(({ key }) => key));
    feed.drop(count);
    sizes.push(count);
  }
  assert.deepEqual(sizes, [1024, 1024, 952]);
  assert.deepEqual(
    keys,
    Array.from({ length: 3000 }, (_, i) => `${i}`),
  );
});

test('a feed whose source pauses gives what is there at the second look', async () => {
  const more = Promise.withResolvers<void>();
  async function* cases() {
    yield keyed(0);
    yield keyed(1);
    await more.promise;
    yield keyed(2);
  }
  using feed = new CaseFeed(cases());
  await pause(1);
  assert.equal(feed.look(), 0);
  assert.equal(feed.look(), 2);
  feed.drop(1);
  assert.deepEqual([feed.lacks(2), feed.isDone], [false, false]);
  more.resolve();
  await feed.ready;
  assert.equal(feed.look(), 2);
  assert.deepEqual([feed.lacks(2), feed.lacks(3)], [false, true]);
  feed.drop(2);
  assert.equal(feed.isDone, true);
});

test('a feed throws what its source throws, and ends a source that is wanted no more', async () => {
  const failure = new Error('broken');
  const broken = new CaseFeed(
    (async function* () {
      yield keyed(0);
      throw failure;
    })(),
  );
  await broken.ready;
  assert.throws(() => broken.look(), failure);
  assert.deepEqual([broken.hasThrown(failure), broken.hasThrown(new Error('broken'))], [true, false]);
  let isEnded = false;
  async function* endless() {
    try {
      for (let i = 0; ; i++) yield keyed(i);
    } finally {
      isEnded = true;
    }
  }
  const feed = new CaseFeed(endless());
  await feed.ready;
  feed[Symbol.dispose]();
  await pause(1);
  assert.equal(isEnded, true);
});
