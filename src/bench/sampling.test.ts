import assert from 'node:assert/strict';
import { test } from 'node:test';
import { median, repeated, SAMPLE_MS, sampleInTurn } from './sampling.ts';

test('a median', () => {
  assert.equal(median([5, 1, 3]), 3);
  assert.equal(median([4, 1, 3, 2]), 3);
});

test('work is repeated until a sample is long enough, and counts for one run', () => {
  let runs = 0;
  const subject = repeated('work', () => {
    runs++;
    return { cpuMs: 30, wallMs: 60 };
  });
  assert.deepEqual(subject.sample(80), { cpuSeconds: 0.03, wallSeconds: 0.06 });
  assert.equal(runs, 3);
});

test('subjects are sampled in turn; the first samples do not count', async () => {
  const order: string[] = [];
  const subject = (name: string, times: number[]) => ({
    name,
    sample(milliseconds: number) {
      assert.equal(milliseconds, SAMPLE_MS);
      order.push(name);
      const cpuSeconds = times.shift()!;
      return { cpuSeconds, wallSeconds: cpuSeconds * 2 };
    },
  });
  const [a, b] = await sampleInTurn([subject('a', [9, 1, 2, 3]), subject('b', [8, 7, 5, 6])], 3);
  assert.equal(order.join(''), 'abababab');
  assert.deepEqual(
    [a, b],
    [
      { cpuSeconds: 2, wallSeconds: 4 },
      { cpuSeconds: 6, wallSeconds: 12 },
    ],
  );
});
