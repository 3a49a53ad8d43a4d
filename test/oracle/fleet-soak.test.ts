/**
 * Campaigns whose workers, server and coordinator are killed at times that a seed decides: the report is the
 * same. With WAVEWRIGHT_SCALE=full ten seeds with 20,000 cases each, hours, or with WAVEWRIGHT_CASES;
 * WAVEWRIGHT_SEED repeats one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { IS_FULL_SCALE } from '../scale.ts';
import { beginnings, doneJobs, EXITS, FLEET_TEST, mixed, Rig, tally, until } from './fleet-rig.ts';

/** What is killed, and when, is decided by the seed. */
const SEEDS = process.env['WAVEWRIGHT_SEED'] === undefined ? 10 : 1;
const SOAK = IS_FULL_SCALE
  ? { cases: Number(process.env['WAVEWRIGHT_CASES'] ?? 20_000), kills: 12, seeds: SEEDS, batch: 16 }
  : { cases: 60, kills: 3, seeds: 1, batch: 4 };
const FIRST_SEED = Number(process.env['WAVEWRIGHT_SEED'] ?? Date.now() % 1_000_000);
const SOAK_OPTIONS = { ...FLEET_TEST, timeout: IS_FULL_SCALE ? 36_000_000 : FLEET_TEST.timeout };

for (let i = 0; i < SOAK.seeds; i++) {
  const seed = FIRST_SEED + i;
  test(
    `soak, seed ${seed}: workers, server and coordinator are killed, the report is the same`,
    SOAK_OPTIONS,
    async () => {
      await using rig = new Rig();
      const server = await rig.server();
      const cases = rig.cases(mixed(SOAK.cases));
      const random = randomFrom(seed);
      const workers = [rig.worker(server), rig.worker(server)];
      const coordinate = () => rig.coordinator(server, cases, `--batch=${SOAK.batch}`, '--quiet');
      let coordinator = coordinate();
      const jobs = Math.ceil(SOAK.cases / SOAK.batch);
      const marks = Array.from({ length: SOAK.kills }, () => Math.floor(random() * jobs * 0.9)).sort((a, b) => a - b);
      for (const mark of marks) {
        await until('jobs are done', async () => (await doneJobs(server)) >= mark, SOAK_OPTIONS.timeout);
        const victim = Math.floor(random() * 4);
        if (victim < 2) {
          await workers[victim]!.kill();
          workers[victim] = rig.worker(server);
        } else if (victim === 2) {
          await coordinator.kill();
          coordinator = coordinate();
        } else {
          await server.kill();
          await pause(random() * 2000);
          await server.restart();
        }
      }
      assert.equal(await coordinator.ended(SOAK_OPTIONS.timeout), 1, coordinator.stderr);
      const { lost, doubled, isWhole, verdicts } = await tally(rig.file('report.jsonl'));
      assert.deepEqual([lost, doubled, isWhole, verdicts.size], [0, 0, true, SOAK.cases]);
      const lines = [...verdicts].map(([name, { o, s, n, tail }]) => `${JSON.stringify({ name, o, s, n, tail })}\n`);
      const expected = mixed(SOAK.cases).map(({ name, image, args: [arg] }) => {
        const status = Number(arg) & 0xff;
        const bad = { name, o: 'failed', s: status, n: 1, tail: `leaving with ${Number(arg)}\ngoodbye` };
        return `${JSON.stringify(image === EXITS && status !== 0 ? bad : { name, o: 'passed', s: 0, n: 1 })}\n`;
      });
      assert.equal(lines.sort().join(''), expected.sort().join(''));
      const twice = (await beginnings(server)) - jobs;
      process.stderr.write(
        `seed ${seed}: ${SOAK.cases} cases, ${SOAK.kills} kills, ${twice} of ${jobs} jobs begun again\n`,
      );
    },
  );
}

/** Numbers below 1, by a linear congruential generator (Numerical Recipes' constants). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
