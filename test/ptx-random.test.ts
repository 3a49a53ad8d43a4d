/** Random PTX kernels on all executors; for longer: test/fuzz/ptx-texts.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PtxTrials } from './fuzz/ptx/trials.ts';

const SEEDS = 3;

test('executors agree about random kernels, and damaged texts end in clear errors', async () => {
  const trials = new PtxTrials({ texts: 60, every: 10 });
  for (let seed = 1; seed <= SEEDS; seed++) await trials.run(seed);
  assert.deepEqual(trials.findings, []);
  assert.equal(trials.kernels, SEEDS);
});
