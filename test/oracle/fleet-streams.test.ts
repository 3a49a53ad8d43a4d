/** Campaigns whose cases are still being read while others have run, and commands that join them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, readFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { test } from 'node:test';
import { doneJobs, expectWhole, FLEET_TEST, mixed, Rig, tally, until } from './fleet-rig.ts';

const lineOf = (one: object) => `${JSON.stringify(one)}\n`;

test('cases run before all are known; who joins has the same verdicts', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const [pipe, report] = ['pipe.jsonl', 'report.jsonl'].map(rig.file.bind(rig));
  assert.equal(spawnSync('mkfifo', [pipe!]).status, 0);
  const first = rig.coordinator(server, pipe!);
  const input = createWriteStream(pipe!);
  const all = mixed(12);
  for (const one of all.slice(0, 3)) input.write(lineOf(one));
  await until('what was read is done', async () => (await doneJobs(server)) === 3);
  await until('it is printed', () => first.stdout.match(/^PASS/gm)?.length === 3);
  assert.equal(existsSync(report!), false);
  const list = rig.command(['campaign', 'list', `--queue=${server.url}`]);
  assert.equal(await list.ended(), 0, list.stderr);
  assert.match(list.stdout, /^c {2}open {2}3 cases or more {2}jobs: 0 waiting/);
  // All at once: it must cut what is there as the first one did.
  const second = rig.command([
    ...['test', `--queue=${server.url}`, '--campaign=c', `--report=${rig.file('second.jsonl')}`, rig.cases(all)],
  ]);
  await until('the second one submits the rest', async () => (await doneJobs(server)) > 3);
  for (const one of all.slice(3)) input.write(lineOf(one));
  input.end();
  await finished(input);
  assert.equal(await first.ended(), 1, first.stderr);
  assert.equal(await second.ended(), 1, second.stderr);
  await expectWhole(report!, { passed: 10, failed: 2 });
  const sorted = (file: string) => readFileSync(file, 'utf8').split('\n').slice(1).sort().join('\n');
  assert.equal(sorted(rig.file('second.jsonl')), sorted(report!));
});

test('a campaign takes neither other cases nor the same in another order, fewer or more', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const all = mixed(6);
  const own = rig.coordinator(server, rig.cases(all));
  assert.equal(await own.ended(), 1, own.stderr);
  const others = [all.toReversed(), all.slice(0, 5), [...all, { ...all[0]!, name: 'more' }], mixed(7).slice(1)];
  for (const [i, cases] of others.entries()) {
    const other = rig.coordinator(server, rig.cases(cases, `other${i}.jsonl`), `--report=${rig.file('other')}`);
    assert.equal(await other.ended(), 2, other.stderr);
    assert.match(other.stderr, /campaign c is of other cases, or of these in another order \[USAGE\]/);
  }
  assert.equal(await doneJobs(server), 6);
  assert.equal(await rig.coordinator(server, rig.file('cases.jsonl')).ended(), 1);
  await expectWhole(rig.file('report.jsonl'), { passed: 5, failed: 1 });
});

test('Ctrl-C while cases are read: no success, and it is said what is not there', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const pipe = rig.file('pipe.jsonl');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const coordinator = rig.coordinator(server, pipe);
  const input = createWriteStream(pipe);
  for (const one of mixed(3)) input.write(lineOf(one));
  await until('all is passed', () => coordinator.stdout.match(/^PASS/gm)?.length === 3);
  coordinator.signal('SIGINT');
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  input.destroy();
  assert.match(coordinator.stderr, /campaign c goes on with the cases that it has got so far: /);
  assert.match(coordinator.stderr, /warning: \S+report\.jsonl is not written: not all cases were read/);
});

test('what cannot be read, after others were, ends the campaign that it began', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const pipe = rig.file('pipe.jsonl');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const coordinator = rig.coordinator(server, pipe);
  const input = createWriteStream(pipe);
  const cases = mixed(3);
  for (const one of cases) input.write(lineOf(one));
  await until('it has begun', async () => (await server.client.llen('ww:ww-c:wait')) === 3);
  input.end(lineOf(cases[0]!));
  assert.equal(await coordinator.ended(), 3, coordinator.stderr);
  assert.match(coordinator.stderr, /campaign c is deleted: its cases cannot be read/);
  assert.match(coordinator.stderr, /the case 'case 000' is there twice \[BAD_INPUT\]/);
  assert.deepEqual(await server.client.keys('ww:ww-c:*'), []);
  assert.equal(await server.client.exists('ww:campaign:c'), 0);
});

test('a command that joins late has the verdicts of jobs that were divided', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const refused = { ...mixed(1)[0]!, name: 'refused', run: ['--cwd=/'] };
  const cases = rig.cases([...mixed(3), refused]);
  const first = rig.coordinator(server, cases, '--batch=4');
  assert.equal(await first.ended(), 1, first.stderr);
  const second = rig.coordinator(server, cases, `--report=${rig.file('second.jsonl')}`);
  assert.equal(await second.ended(), 1, second.stderr);
  const [one, two] = [await tally(rig.file('report.jsonl')), await tally(rig.file('second.jsonl'))];
  assert.deepEqual(two.outcomes, { passed: 3, error: 1 });
  assert.deepEqual([...two.verdicts].sort(), [...one.verdicts].sort());
});
