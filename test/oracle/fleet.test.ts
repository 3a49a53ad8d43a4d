/**
 * Campaigns on a real Valkey or Redis server, with workers and coordinators as processes of their own:
 * whatever ends, each case has one verdict. Where no server is installed the tests are skipped, unless
 * WAVEWRIGHT_REQUIRE_ORACLES is 1.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { burns, example, Rig, ROOT, SERVER, type Server, tally, until } from './fleet-rig.ts';

const REQUIRED = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] === '1';
const OPTIONS = { skip: SERVER === undefined && !REQUIRED, timeout: 120_000 };

const HELLO = example('hello/hello.gfx90a.co');
const EXITS = example('checks/exit-early.gfx90a.co');

const LOOPS = example('checks/infinite-loop.gfx90a.co');

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

/** A case that takes seconds of its program's own time, and ends by its limit. */
const endless = (name: string, timeout: number) => ({ image: LOOPS, name, timeout });

const activeJobs = (server: Server) => server.client.lrange('ww:ww-c:active', 0, -1);
const doneJobs = (server: Server) => server.client.zcard('ww:ww-c:completed');

/** How often workers began a job, over all that are done. */
async function beginnings(server: Server): Promise<number> {
  const ids = await server.client.zrange('ww:ww-c:completed', '0', '-1');
  const counts = await Promise.all(ids.map((id) => server.client.hget(`ww:ww-c:${id}`, 'ats')));
  return counts.reduce((sum, count) => sum + Number(count), 0);
}

test('workers that are killed in a case: another runs it', OPTIONS, async () => {
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

test('a child that is killed costs a second try of its case, and no lease', OPTIONS, async () => {
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

test('a case that costs each worker its life is quarantined after three, the rest goes on', OPTIONS, async () => {
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

test('a case may take longer than the lease', OPTIONS, async () => {
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

test('what a worker says that was stopped comes too late', OPTIONS, async () => {
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

test('the server is killed twice, and all go on', OPTIONS, async () => {
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

test('a server that comes back empty gets all again, and is warned of', OPTIONS, async () => {
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

test('coordinators that are killed, and several at once: the same report', OPTIONS, async () => {
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

test('Ctrl-C leaves a campaign alone; a cancelled one is dropped at once, and may go on', OPTIONS, async () => {
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
  assert.match(await campaign('retry', 'c'), /^0 cases are run again/);
  assert.equal(await rig.coordinator(server, cases).ended(), 1);
  await expectWhole(rig.file('report.jsonl'), { passed: 5, failed: 1, 'timed-out': 1 });
  await campaign('delete', 'c');
  const keys = (await server.client.keys('ww*')).filter((key) => !/^ww:workers?(:|$)|^ww:blob-bytes$/.test(key));
  assert.deepEqual([keys, await server.client.get('ww:blob-bytes')], [[], '0']);
});

test('a worker that is told to end gives back what it runs, and no lease is lost', OPTIONS, async () => {
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

test('a server without memory: submission waits, finished cases are held', OPTIONS, async () => {
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

test('a coordinator whose disk is full ends; another one has the report', OPTIONS, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const cases = rig.cases(mixed(5));
  const full = rig.coordinator(server, cases, '--report=/dev/full');
  assert.equal(await full.ended(), 3);
  assert.match(full.stderr, /\/dev\/full: cannot be written \(ENOSPC\)/);
  const second = rig.coordinator(server, cases);
  assert.equal(await second.ended(), 1, second.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1 });
});

test(
  'blobs that lie or are missing are errors after three attempts; a damaged cache is filled again',
  OPTIONS,
  async () => {
    await using rig = new Rig();
    const server = await rig.server();
    // Two in one job: the good one is not lost with the other.
    const cases = rig.cases([...mixed(5).slice(3), { image: LOOPS, name: 'missing', timeout: 1 }]);
    const coordinator = rig.coordinator(server, cases, '--batch=3');
    const blobs = await until('all is submitted', async () => {
      const keys = await server.client.keys('ww:blob:*');
      return keys.length === 3 && (await server.client.llen('ww:ww-c:wait')) === 1 ? keys : undefined;
    });
    const hashOf = (file: string) => hash('sha256', readFileSync(file), 'hex');
    assert.ok(blobs.includes(`ww:blob:${hashOf(HELLO)}`));
    await server.client.del(`ww:blob:${hashOf(LOOPS)}`);
    await server.client.set(`ww:blob:${hashOf(EXITS)}`, readFileSync(HELLO));
    mkdirSync(rig.file('cache'));
    writeFileSync(path.join(rig.file('cache'), hashOf(HELLO)), 'damaged');
    rig.worker(server);
    assert.equal(await coordinator.ended(), 1, coordinator.stderr);
    const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 1, error: 2 });
    assert.match(verdicts.get('missing')?.tail ?? '', /the blob [0-9a-f]{64} is missing/);
    assert.match(verdicts.get('case 004')?.tail ?? '', /has the hash [0-9a-f]{64}: it is damaged/);
    assert.deepEqual([verdicts.get('missing')?.n, verdicts.get('case 004')?.n], [3, 3]);
  },
);

test('a worker without disk runs nothing, and gives back what it took', OPTIONS, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const homeless = rig.worker(server, '--cache=/dev/null/cache');
  assert.equal(await homeless.ended(), 3);
  assert.match(homeless.stderr, /\/dev\/null\/cache\/\w+: cannot be written \(ENOTDIR\) \[IO\]/);
  const evicted = rig.worker(server);
  await until('it is there', () => existsSync(rig.file('cache')));
  rmSync(rig.file('cache'), { recursive: true });
  writeFileSync(rig.file('cache'), '');
  const coordinator = rig.coordinator(server, rig.cases(mixed(5)), '--batch=1');
  assert.equal(await evicted.ended(), 3, evicted.stderr);
  rig.worker(server, `--cache=${rig.file('other')}`);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1 });
});

test(
  'who may not is told so: no password, no right to write, no server; the rights of docs/fleet.md are enough',
  OPTIONS,
  async () => {
    await using rig = new Rig();
    const server = await rig.server('--requirepass', 'secret');
    const queue = (user: string) => server.url.replace('//', `//${user}`);
    const admin = new Redis(queue(':secret@'));
    const rights = /ACL SETUSER (ww on >\S+ .*)/.exec(readFileSync(path.join(ROOT, 'docs/fleet.md'), 'utf8'))![1]!;
    await admin.call('ACL', 'SETUSER', ...rights.split(' '));
    await admin.call('ACL', 'SETUSER', 'reader', 'on', '>word', '~ww*', '+@read', '+@connection', '+info');
    const password = />(\S+)/.exec(rights)![1]!;
    const cases = rig.cases(mixed(5));
    const env = { WAVEWRIGHT_QUEUE: queue(`ww:${password}@`) };
    const cache = `--cache=${rig.file('cache')}`;
    const refused = [
      [rig.command(['worker', `--queue=${server.url}`, cache]), 3, /refuses: NOAUTH/],
      [rig.command(['worker', `--queue=${queue(':wrong@')}`, cache]), 3, /refuses: WRONGPASS/],
      [rig.command(['worker', `--queue=${queue('reader:word@')}`, cache]), 3, /refuses: NOPERM/],
      [rig.command(['test', `--queue=${queue('reader:word@')}`, cases]), 3, /refuses: NOPERM/],
      [rig.command(['worker', '--queue=redis://127.0.0.1:1', '--queue-timeout=0.5', cache]), 69, /ECONNREFUSED/],
      [rig.command(['worker', '--queue=redis://example.org', cache]), 2, /the connection is not encrypted/],
      [rig.command(['worker', '--queue=postgres://localhost', cache]), 4, /queues on PostgreSQL/],
    ] as const;
    for (const [command, status, text] of refused) {
      assert.equal(await command.ended(), status, command.stderr);
      assert.match(command.stderr, text);
      assert.doesNotMatch(command.stderr, /:(?:word|wrong)@|secret/);
    }
    const worker = rig.command(['worker', '--lease=1', '--jobs=1', cache, '--idle-exit=2'], env);
    const coordinator = rig.command(['test', '--queue', `--report=${rig.file('report.jsonl')}`, cases], env);
    assert.equal(await coordinator.ended(), 1, coordinator.stderr);
    assert.equal(await worker.ended(), 0, worker.stderr);
    await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1 });
    assert.doesNotMatch(coordinator.stderr + worker.stderr, new RegExp(password));
    admin.disconnect();
  },
);

test('poisoned jobs and campaigns of other versions run nothing', OPTIONS, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const left = rig.coordinator(server, rig.cases(mixed(2)));
  await until('there is a campaign', () => server.client.exists('ww:campaign:c'));
  left.signal('SIGINT');
  await left.ended();
  const record = JSON.parse((await server.client.hget('ww:campaign:c', 'record'))!);
  const other = JSON.stringify({ ...record, name: 'other', version: '9.9.9' });
  await server.client.hset('ww:campaign:other', 'record', other);
  await server.client.hset('ww:campaign:damaged', 'record', '{');
  await server.client.sadd('ww:campaigns', 'other', 'damaged');
  const blob = hash('sha256', readFileSync(HELLO), 'hex');
  const mark = rig.file('mark');
  const one = (change: object) => ({
    v: 1,
    all: {},
    cases: [{ name: 'x', image: blob, timeout: 9, retries: 0, ...change }],
  });
  const poison: readonly (readonly [unknown, RegExp])[] = [
    ['text', /is no object/],
    [{ v: 2 }, /is of version 2/],
    [{ v: 1, blob: '../../etc/passwd' }, /'blob' is not 64 hex digits/],
    [one({ image: '/etc/passwd' }), /'image' is not 64 hex digits/],
    [one({ stdin: '../x' }), /'stdin' is not 64 hex digits/],
    [one({ command: 'touch' }), /has a member 'command', which is not known/],
    [one({ timeout: 1e99 }), /'timeout' is no number from/],
    [{ v: 1, all: {}, cases: Array.from({ length: 257 }, () => ({})) }, /has not 1 to 256 cases/],
    [one({ device: 'cuda:0' }), /--device=cuda:0, which no case from a queue may have/],
    [one({ device: 'hsa:0' }), /--device=hsa:0/],
    ...[
      `--allow-write=${rig.folder}`,
      '--allow-read=/',
      '--allow-system',
      '--stdin=/etc/passwd',
      `--trace-rpc=${mark}`,
    ].map((option) => [one({ run: [option] }), new RegExp(`has ${option.replace(/=.*/, '')}, which no case`)] as const),
    [one({ run: ['--cwd=/', '--sandbox'] }), /has --cwd/],
    [one({ run: ['--device=cuda'] }), /has --device=cuda/],
    [one({ run: [`--tool=${rig.file('tool.ts')}`] }), /has --tool=/],
    [one({ run: ['--tool=instruction-count:output=mark'] }), /has --tool=/],
    [one({ run: ['--', 'x'] }), /has options that are none/],
    [one({ run: ['--help'] }), /has options that are none/],
    [one({ run: ['--no-such-option'] }), /unknown option/],
  ];
  writeFileSync(rig.file('tool.ts'), `process.getBuiltinModule('node:fs').writeFileSync('${mark}', '');\n`);
  const queue = new Queue('ww-c', { connection: { port: server.port }, prefix: 'ww' });
  const jobs = await queue.addBulk(poison.map(([data]) => ({ name: 'x', data, opts: { attempts: 3 } })));
  const worker = rig.worker(server, '--idle-exit=2');
  assert.equal(await worker.ended(), 0, worker.stderr);
  assert.match(worker.stderr, /campaign other is left alone: it is of wavewright 9\.9\.9, this is /);
  assert.match(worker.stderr, /campaign damaged is left alone: campaign damaged: its record is no JSON/);
  for (const [i, job] of jobs.entries()) {
    const found = await queue.getJob(job.id!);
    assert.equal(await found?.getState(), 'failed', JSON.stringify(poison[i]?.[0]));
    assert.match(found?.failedReason ?? '', poison[i]![1]);
    assert.equal(found?.attemptsMade, 1);
  }
  assert.equal(existsSync(mark), false);
  await queue.close();
  rig.worker(server);
  const good = rig.coordinator(server, rig.cases(mixed(2)));
  assert.equal(await good.ended(), 0, good.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 2 });
});
