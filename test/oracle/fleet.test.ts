/**
 * Campaigns on a real Valkey or Redis server, with workers and coordinators as processes of their own:
 * whatever ends, each case has one verdict. Where no server is installed the tests are skipped, unless
 * WAVEWRIGHT_REQUIRE_ORACLES is 1.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { example, Rig, SERVER, tally } from './fleet-rig.ts';

const REQUIRED = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] === '1';
const OPTIONS = { skip: SERVER === undefined && !REQUIRED, timeout: 120_000 };

const HELLO = example('hello/hello.gfx90a.co');
const EXITS = example('checks/exit-early.gfx90a.co');

/** Cases of which every fifth fails. */
const mixed = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    ...{ image: i % 5 === 4 ? EXITS : HELLO, name: `case ${String(i).padStart(3, '0')}`, args: [`${i}`] },
  }));

/** Nothing is lost or doubled, and so many came to what they should. */
async function expectWhole(report: string, outcomes: Readonly<Record<string, number>>) {
  const found = await tally(report);
  assert.deepEqual([found.lost, found.doubled, found.isWhole], [0, 0, true]);
  assert.deepEqual(found.outcomes, outcomes);
  return found;
}

test('cases of a file, two workers: the verdicts of one machine', OPTIONS, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const cases = rig.cases(mixed(20));
  const workers = [rig.worker(server), rig.worker(server)];
  const coordinator = rig.coordinator(server, cases);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  assert.match(coordinator.stdout, /^FAIL {4}case 004 \(.*, status 4\)\n {8}leaving with 4\n/m);
  assert.match(coordinator.stdout, /^16 passed, 4 failed of 20 programs, in /m);
  await expectWhole(rig.file('report.jsonl'), { passed: 16, failed: 4 });
  for (const worker of workers) worker.signal('SIGTERM');
  assert.deepEqual(await Promise.all(workers.map((worker) => worker.ended())), [0, 0]);
});
