/** When an application counts as warm. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_STATISTICS } from '../device/statistics.ts';
import { warmUp } from './measure-application.ts';

/** Of 10,000 instructions a sample, handlers run the numbers given, then none; returns the samples taken. */
async function samplesOf(handlers: readonly number[]): Promise<number[]> {
  const samples: number[] = [];
  let statistics = NO_STATISTICS;
  const sample = (milliseconds: number) => {
    const own = handlers[samples.push(milliseconds) - 1] ?? 0;
    const { instructions, tiers } = statistics;
    const sum = { ...tiers, handlers: tiers.handlers + own, regions: tiers.regions + 10_000 - own };
    statistics = { ...statistics, instructions: instructions + 10_000, tiers: sum };
    return { cpuSeconds: 1, wallSeconds: 1 };
  };
  const runner = {
    get statistics() {
      return statistics;
    },
  };
  await warmUp({ name: 'application', sample }, runner);
  return samples;
}

test('an application is warm a while after its last instruction is compiled', async () => {
  assert.deepEqual(await samplesOf([5000, 200, 170, 170, 25]), [50, 50, 50, 50, 50, 50, 300]);
  assert.deepEqual(await samplesOf([10]), [50, 300], 'few instructions may be left');
});

test('what is never compiled is waited for a limited time', async () => {
  assert.equal((await samplesOf(new Array(1000).fill(9000))).length, 101);
});
