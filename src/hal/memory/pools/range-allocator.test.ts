/** Ranges against a model: no overlap, alignment, everything comes back, whatever fits is found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededIntegers } from '../../core/random.ts';
import { FixedBlocks, type RangeAllocator, TlsfRanges, WholeRange } from './range-allocator.ts';

/** The ranges that are given out, in order of their offsets, by an allocator that looks at all of them. */
class Model {
  readonly #sizeBytes: number;
  readonly #ranges: { readonly start: number; readonly end: number }[] = [];

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  get count(): number {
    return this.#ranges.length;
  }

  get largestGap(): number {
    const ends = [0, ...this.#ranges.map(({ end }) => end)];
    const starts = [...this.#ranges.map(({ start }) => start), this.#sizeBytes];
    return Math.max(...starts.map((start, i) => start - ends[i]!));
  }

  take(start: number, sizeBytes: number): void {
    const end = start + sizeBytes;
    assert.ok(start >= 0 && end <= this.#sizeBytes, `${start} to ${end} lies in the slab`);
    const index = this.#ranges.findIndex((range) => range.end > start);
    const at = index < 0 ? this.#ranges.length : index;
    assert.ok(at === this.#ranges.length || this.#ranges[at]!.start >= end, `${start} to ${end} overlaps nothing`);
    this.#ranges.splice(at, 0, { start, end });
  }

  give(index: number): number {
    return this.#ranges.splice(index, 1)[0]!.start;
  }
}

const STEPS = 2000;

function exercise(ranges: RangeAllocator, model: Model, { granule, maxRequest, seed }: Settings): void {
  const random = seededIntegers(seed);
  for (let step = 0; step < STEPS; step++) {
    // Phases of growing and of shrinking, so that it is full and empty at times.
    const isGrowing = random(100) < (step % 400 < 200 ? 80 : 30);
    if (isGrowing || model.count === 0) {
      const exponent = random(Math.floor(Math.log2(maxRequest)) + 1);
      const request = Math.min(2 ** exponent + random(2 ** Math.min(exponent, 31)), maxRequest);
      const offset = ranges.allocate(request);
      const taken = ranges.takenBytes(request);
      const fits = model.largestGap >= taken;
      assert.equal(offset !== undefined, fits, `seed ${seed}, step ${step}: ${request} bytes`);
      if (offset === undefined) continue;
      assert.equal(offset % granule, 0);
      assert.ok(taken >= request);
      model.take(offset, taken);
    } else ranges.free(model.give(random(model.count)));
  }
  while (model.count > 0) ranges.free(model.give(random(model.count)));
}

interface Settings {
  readonly granule: number;
  readonly maxRequest: number;
  readonly seed: number;
}

const SIZES = [256, 4096, 100 * 256, 2 ** 20, 2 ** 31, 2 ** 32 - 256, 2 ** 40 - 256];

for (const sizeBytes of SIZES) {
  test(`TLSF of ${sizeBytes} bytes is as good as looking at everything`, () => {
    for (let seed = 1; seed <= 8; seed++) {
      const granule = 256;
      const ranges = new TlsfRanges(sizeBytes, granule);
      exercise(ranges, new Model(sizeBytes), { granule, maxRequest: sizeBytes / (seed % 2 === 0 ? 16 : 2), seed });
      // What came back is one range again.
      assert.equal(ranges.allocate(sizeBytes), 0);
      assert.equal(ranges.allocate(1), undefined);
    }
  });
}

test('TLSF in granules of one byte, up to 2^32 - 1 of them', () => {
  for (const sizeBytes of [1, 15, 16, 17, 31, 2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1]) {
    const ranges = new TlsfRanges(sizeBytes, 1);
    assert.equal(ranges.allocate(sizeBytes + 1), undefined);
    assert.equal(ranges.allocate(sizeBytes), 0);
    ranges.free(0);
    const first = Math.ceil(sizeBytes / 2);
    const rest = sizeBytes - first;
    assert.equal(ranges.allocate(first), 0);
    if (rest > 0) assert.equal(ranges.allocate(rest), first);
    assert.equal(ranges.allocate(1), undefined);
    ranges.free(0);
    if (rest > 0) ranges.free(first);
    assert.equal(ranges.allocate(sizeBytes), 0);
  }
  assert.equal(new TlsfRanges(2 ** 32 + 256, 1).allocate(2 ** 32), undefined);
});

test('a slab without bytes gives nothing, and a request of no bytes takes a granule', () => {
  assert.equal(new TlsfRanges(0, 256).allocate(1), undefined);
  assert.equal(new TlsfRanges(255, 256).allocate(1), undefined);
  assert.equal(new FixedBlocks(255, 256).allocate(1), undefined);
  const ranges = new TlsfRanges(512, 256);
  assert.deepEqual([ranges.allocate(0), ranges.allocate(0), ranges.allocate(0)], [0, 256, undefined]);
});

test('fixed blocks against the model', () => {
  for (const [blockBytes, count] of [
    [256, 1],
    [256, 40],
    [2 ** 31, 3],
    [2 ** 32 - 256, 5],
  ] as const) {
    for (let seed = 1; seed <= 4; seed++) {
      const ranges = new FixedBlocks(blockBytes * count, blockBytes);
      exercise(ranges, new Model(blockBytes * count), { granule: blockBytes, maxRequest: blockBytes, seed });
      assert.equal(ranges.allocate(blockBytes + 1), undefined);
      const offsets = Array.from({ length: count }, () => ranges.allocate(1)!).sort((a, b) => a - b);
      assert.deepEqual(
        offsets,
        Array.from({ length: count }, (_, i) => i * blockBytes),
      );
    }
  }
});

test('a whole range is taken once', () => {
  const ranges = new WholeRange(100);
  assert.deepEqual([ranges.allocate(101), ranges.allocate(100), ranges.allocate(1)], [undefined, 0, undefined]);
  ranges.free();
  assert.equal(ranges.allocate(1), 0);
});
