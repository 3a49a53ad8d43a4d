/**
 * Random programs of operations on several queues against a sequential model: bytes, files, and which
 * operations fail. A seed names a program, another one the schedule; a program that differs is made small.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomProgram, shrink } from './random-program.test-support.ts';
import { differences } from './random-run.test-support.ts';
import { createRegistry, SUBJECTS, withParameters } from './subject.test-support.ts';

/** Steps of a program at most. */
const SIZE = 24;
const isFull = process.env['WAVEWRIGHT_SCALE'] === 'full';
/** Programs of each subject; a hundred thousand together at full scale. */
const COUNTS: Readonly<Record<string, number>> = isFull
  ? { null: 30_000, local: 40_000, gfx90a: 10_000, gfx942: 10_000, gfx1100: 10_000 }
  : { null: 300, local: 500, gfx90a: 150, gfx942: 100, gfx1100: 100 };
/** Programs on one device, whose schedule has one seed. */
const BATCH = 50;

for (const subject of SUBJECTS) {
  test(`${subject.name}: random programs do what the model does`, async () => {
    const count = COUNTS[subject.name]!;
    for (let first = 0; first < count; first += BATCH) {
      using registry = createRegistry();
      const isPlain = (first / BATCH) % 4 === 0;
      const schedule = isPlain ? '' : `seed=${first}${subject.tags.includes('code-objects') ? '&ring=1' : ''}`;
      const device = await registry.open(withParameters(subject.uri, schedule));
      const runner = { device, mix: device.load(subject.code()).lookup('mix') };
      for (let seed = first; seed < Math.min(count, first + BATCH); seed++) {
        const program = randomProgram(seed, SIZE);
        const found = await differences(runner, program);
        if (found.length === 0) continue;
        const small = await shrink(program, async (candidate) => (await differences(runner, candidate)).length > 0);
        const where = `seed ${seed}, schedule '${schedule}'`;
        assert.fail(`${where}: ${found.join('; ')}\n${JSON.stringify(small.steps, undefined, 1)}`);
      }
    }
  });
}
