/**
 * Campaigns on a real Valkey or Redis server, with workers and coordinators as processes of their own:
 * whatever ends, each case has one verdict. Where no server is installed the tests are skipped, unless
 * WAVEWRIGHT_REQUIRE_ORACLES is 1.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import {
  beginnings,
  burns,
  doneJobs,
  endless,
  expectWhole,
  FLEET_TEST,
  mixed,
  Rig,
  type Server,
  until,
} from './fleet-rig.ts';

const activeJobs = (server: Server) => server.client.lrange('ww:ww-c:active', 0, -1);

test('cases of a file, two workers: the verdicts of one machine', FLEET_TEST, async () => {
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

test('workers that are killed in a case: another runs it', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const coordinator = rig.coordinator(server, rig.cases(mixed(40)), '--batch=1');
  const workers = [rig.worker(server), rig.worker(server)];
  for (const [i, part] of [8, 16, 24].entries()) {
    await until('cases are done', async () => (await doneJobs(server)) >= part);
    await workers[i]!.kill();
    workers.push(rig.worker(server));
  }
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 32, failed: 8 });
  assert.ok((await beginnings(server)) <= 43);
});

test('a child that is killed costs a second try of its case, and no lease', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const worker = rig.worker(server);
  const cases = [endless('loops', 300), ...mixed(4)];
  const coordinator = rig.coordinator(server, rig.cases(cases), '--batch=1');
  const childOf = async (other?: number) =>
    await until('a child runs the case', async () => {
      const [job] = await activeJobs(server);
      const [child] = worker.children();
      const isLoop = job !== undefined && (await server.client.hget(`ww:ww-c:${job}`, 'data'))?.includes('loops');
      return isLoop && child !== other && burns(child) ? child : undefined;
    });
  const first = await childOf();
  process.kill(first, 'SIGKILL');
  process.kill(await childOf(first), 'SIGKILL');
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 4, crashed: 1 });
  assert.equal(verdicts.get('loops')?.n, 2);
  assert.equal(await beginnings(server), 5);
});

test('a case that costs each worker its life is quarantined after three, the rest goes on', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const cases = rig.cases([endless('case 0', 300), ...mixed(3)]);
  const coordinator = rig.coordinator(server, cases, '--batch=1');
  let worker = rig.worker(server);
  for (let i = 0; i < 3; i++) {
    await until('a worker is in the case', async () => {
      const [job] = await activeJobs(server);
      const data = job === undefined ? undefined : await server.client.hget(`ww:ww-c:${job}`, 'data');
      const [child] = worker.children();
      return data?.includes('"case 0"') && burns(child);
    });
    await worker.kill();
    worker = rig.worker(server);
  }
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 3, quarantined: 1 });
  assert.match(verdicts.get('case 0')?.tail ?? '', /the workers that ran it were lost/);
});

test('a case may take longer than the lease', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  rig.worker(server);
  const coordinator = rig.coordinator(server, rig.cases([endless('long', 4)]));
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { 'timed-out': 1 });
  assert.equal(verdicts.get('long')?.n, 1);
  assert.equal(await beginnings(server), 1);
});

test('what a worker says that was stopped comes too late', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const slow = rig.worker(server);
  const coordinator = rig.coordinator(server, rig.cases([endless('long', 2)]));
  await until('it runs', () => burns(slow.children()[0]));
  slow.signal('SIGSTOP');
  rig.worker(server);
  await until('another runs it', async () => {
    const [id] = await activeJobs(server);
    return id !== undefined && (await server.client.hget(`ww:ww-c:${id}`, 'ats')) === '2';
  });
  slow.signal('SIGCONT');
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { 'timed-out': 1 });
  assert.equal(await beginnings(server), 2);
  assert.equal(await server.client.zcard('ww:ww-c:failed'), 0);
});

test('the server is killed twice, and all go on', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  rig.worker(server);
  const coordinator = rig.coordinator(server, rig.cases(mixed(40)), '--batch=1');
  for (const part of [8, 20]) {
    await until('cases are done', async () => (await doneJobs(server)) >= part);
    await server.kill();
    await pause(500);
    await server.restart();
  }
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 32, failed: 8 });
});

test('a server that comes back empty gets all again, and is warned of', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server('--appendonly', 'no', '--maxmemory-policy', 'allkeys-lru');
  rig.worker(server);
  const coordinator = rig.coordinator(server, rig.cases(mixed(30)), '--batch=1');
  await until('cases are done', async () => (await doneJobs(server)) >= 10);
  await server.kill(true);
  await server.restart();
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 24, failed: 6 });
  assert.match(coordinator.stderr, /no append-only file/);
  assert.match(coordinator.stderr, /drops keys when memory is short \(allkeys-lru\)/);
  assert.match(coordinator.stderr, /the queue knows \d+ of \d+ jobs: those without a verdict are submitted again/);
  assert.equal(await server.client.exists('ww:campaign:c'), 1);
});

test('coordinators that are killed, and several at once: the same report', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const cases = rig.cases(mixed(30));
  const first = rig.coordinator(server, cases, '--batch=1');
  await until('cases are done', async () => (await doneJobs(server)) >= 8);
  await first.kill();
  const all = [1, 2].map((i) => rig.coordinator(server, cases, `--report=${rig.file(`${i}`)}`));
  assert.deepEqual(await Promise.all(all.map((each) => each.ended())), [1, 1]);
  const late = rig.coordinator(server, cases, `--report=${rig.file('3')}`);
  assert.equal(await late.ended(), 1);
  const reports = await Promise.all(
    ['1', '2', '3'].map((each) => expectWhole(rig.file(each), { passed: 24, failed: 6 })),
  );
  const sorted = reports.map(({ verdicts }) => [...verdicts].sort(([a], [b]) => (a < b ? -1 : 1)));
  assert.deepEqual(sorted[0], sorted[1]);
  assert.deepEqual(sorted[0], sorted[2]);
  assert.equal(await beginnings(server), 30);
  const other = rig.coordinator(server, rig.cases(mixed(3), 'other.jsonl'));
  assert.equal(await other.ended(), 2);
  assert.match(other.stderr, /campaign c is of other cases/);
});

test('Ctrl-C leaves a campaign alone; a cancelled one is dropped at once, and may go on', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const cases = rig.cases([...mixed(6), endless('z', 4)]);
  const worker = rig.worker(server);
  const left = rig.coordinator(server, cases, '--batch=1');
  await until('it has begun', async () => (await doneJobs(server)) >= 1);
  left.signal('SIGINT');
  assert.equal(await left.ended(), 1);
  assert.match(left.stderr, /campaign c goes on: the same command with --campaign=c collects it/);
  await until('the last runs', async () => (await doneJobs(server)) === 6 && burns(worker.children()[0]));
  const campaign = async (...argv: readonly string[]) => {
    const command = rig.command(['campaign', ...argv, `--queue=${server.url}`]);
    assert.equal(await command.ended(), 0, command.stderr);
    return command.stdout;
  };
  await campaign('cancel', 'c');
  await until('it was given back', async () => (await server.client.llen('ww:ww-c:wait')) === 1);
  assert.match(await campaign('list'), /^c {2}cancelled {2}7 cases {2}jobs: 1 waiting, 0 running, 6 done, 0 failed/);
  const refused = rig.coordinator(server, cases);
  assert.equal(await refused.ended(), 2);
  assert.match(refused.stderr, /campaign c was cancelled/);
  assert.match(await campaign('retry', 'c'), /^campaign c is open; 0 cases that had been lost or an error run again/);
  assert.equal(await rig.coordinator(server, cases).ended(), 1);
  await expectWhole(rig.file('report.jsonl'), { passed: 5, failed: 1, 'timed-out': 1 });
  await campaign('delete', 'c');
  const keys = (await server.client.keys('ww*')).filter((key) => !/^ww:workers?(:|$)|^ww:blob-bytes$/.test(key));
  assert.deepEqual([keys, await server.client.get('ww:blob-bytes')], [[], '0']);
});

test('a worker that is told to end gives back what it runs, and no lease is lost', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const worker = rig.worker(server, '--drain=0.2', '--lease=20');
  const coordinator = rig.coordinator(server, rig.cases([endless('long', 3)]));
  await until('it runs', () => burns(worker.children()[0]));
  worker.signal('SIGTERM');
  assert.equal(await worker.ended(), 0, worker.stderr);
  const startMs = performance.now();
  rig.worker(server, '--lease=20');
  await until('another runs it', async () => (await activeJobs(server)).length === 1);
  assert.ok(performance.now() - startMs < 20_000, 'before a lease of 20 s could end');
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { 'timed-out': 1 });
  const [id = ''] = await server.client.zrange('ww:ww-c:completed', '0', '-1');
  assert.equal(await server.client.hget(`ww:ww-c:${id}`, 'stc'), null);
});

test('a worker that is told to end does not wait for a server that is away', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const worker = rig.worker(server);
  await until('it is there', async () => (await server.client.keys('ww:worker*')).length > 0);
  await server.kill();
  worker.signal('SIGTERM');
  assert.equal(await worker.ended(), 0, worker.stderr);
});

test('all output of what failed comes back, and goes with its campaign', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const coordinator = rig.coordinator(server, rig.cases(mixed(5)), `--logs=${rig.file('logs')}`);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  const logs = readdirSync(rig.file('logs'));
  assert.equal(logs.length, 1);
  assert.match(readFileSync(path.join(rig.file('logs'), logs[0]!), 'utf8'), /leaving with 4/);
  const deletion = rig.command(['campaign', 'delete', 'c', `--queue=${server.url}`]);
  assert.equal(await deletion.ended(), 0, deletion.stderr);
  assert.equal(await server.client.get('ww:blob-bytes'), '0');
});

test('programs are in a folder or on a web server, and not on the queue', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const blobs = new Map<string, Buffer>();
  const web = createServer(async (request, response) => {
    const name = /^\/cas\/([0-9a-f]{64})$/.exec(request.url ?? '')?.[1] ?? '';
    if (request.method === 'PUT') blobs.set(name, await buffer(request));
    const blob = blobs.get(name);
    response.writeHead(blob ? 200 : 404).end(request.method === 'GET' ? blob : undefined);
  });
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  const { port } = web.address() as AddressInfo;
  try {
    for (const store of [pathToFileURL(rig.file('blobs')).href, `http://127.0.0.1:${port}`]) {
      const cache = rig.file(`cache-${store.length}`);
      const worker = rig.worker(server, `--blobs=${store}`, `--cache=${cache}`);
      const coordinator = rig.coordinator(server, rig.cases(mixed(5)), `--blobs=${store}`);
      assert.equal(await coordinator.ended(), 1, coordinator.stderr);
      await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1 });
      await worker.kill();
      const deletion = rig.command(['campaign', 'delete', 'c', `--queue=${server.url}`]);
      assert.equal(await deletion.ended(), 0, deletion.stderr);
    }
    assert.deepEqual(readdirSync(rig.file('blobs')).sort(), [...blobs.keys()].sort());
    assert.equal(blobs.size, 2);
    assert.deepEqual(await server.client.keys('ww:blob*'), []);
  } finally {
    web.close();
  }
});

test('a server without memory: submission waits, finished cases are held', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const cases = [
    ...mixed(10),
    ...mixed(60).map((one) => ({ ...one, name: `large ${one.name}`, args: ['x'.repeat(50_000)] })),
  ];
  await server.client.config('SET', 'maxmemory', '3mb');
  const coordinator = rig.coordinator(server, rig.cases(cases), '--batch=1');
  await until('it is said', () =>
    /at its memory limit \(\d+ MiB of 3 MiB\): no more is submitted/.test(coordinator.stderr),
  );
  await server.client.config('SET', 'maxmemory', '0');
  await until('cases are done', async () => (await doneJobs(server)) >= 3);
  await server.client.config('SET', 'maxmemory', '1mb');
  await pause(1500);
  await server.client.config('SET', 'maxmemory', '0');
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 8 + 60, failed: 2 });
});
