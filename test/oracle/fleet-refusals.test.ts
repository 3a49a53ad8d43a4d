/** What campaigns meet that they should refuse: disks, blobs, passwords, rights, jobs and versions. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Job, Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { LinePlace } from '../../src/fleet/json-lines.ts';
import { parseJobData } from '../../src/fleet/queue/job.ts';
import { EXITS, expectWhole, FLEET_TEST, HELLO, LOOPS, mixed, Rig, ROOT, until } from './fleet-rig.ts';

test('a coordinator whose disk is full ends; another one has the report', FLEET_TEST, async () => {
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
  FLEET_TEST,
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

test('a worker without disk runs nothing, and gives back what it took', FLEET_TEST, async () => {
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
  FLEET_TEST,
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

test('answers that are none, and verdicts on other cases, are errors', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const coordinator = rig.coordinator(server, rig.cases(mixed(4)), '--batch=1');
  await until('all is submitted', async () => (await server.client.llen('ww:ww-c:wait')) === 4);
  // A worker that lies: no form, another case, twice as many, and a good one.
  const answers = [
    () => 'passed',
    () => ({ v: 1, results: [{ k: '0'.repeat(32), o: 'passed', s: 0, ms: 1, n: 1 }] }),
    (k: string) => ({ v: 1, results: [1, 2].map(() => ({ k, o: 'passed', s: 0, ms: 1, n: 1 })) }),
    (k: string) => ({ v: 1, results: [{ k, o: 'passed', s: 0, ms: 1, n: 1 }] }),
  ];
  const keys = (job: Job) => {
    const place = new LinePlace('job');
    return parseJobData(job.data, place).map(({ key }) => key);
  };
  const connection = { port: server.port, maxRetriesPerRequest: null };
  const liar = new Worker('ww-c', async (job) => answers.shift()!(keys(job)[0]!), { connection, prefix: 'ww' });
  try {
    assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  } finally {
    await liar.close();
  }
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 1, error: 3 });
  const tails = [...verdicts.values()].filter(({ o }) => o === 'error').map(({ tail }) => tail);
  assert.deepEqual(new Set(tails), new Set(['a worker wrote an answer that is none']));
});

test('poisoned jobs and campaigns of other versions run nothing', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const left = rig.coordinator(server, rig.cases(mixed(2)));
  await until('there is a campaign', () => server.client.sismember('ww:campaigns', 'c'));
  left.signal('SIGINT');
  await left.ended();
  const record = JSON.parse((await server.client.hget('ww:campaign:c', 'record'))!);
  const other = JSON.stringify({ ...record, name: 'other', version: '9.9.9' });
  await server.client.hset('ww:campaign:other', 'record', other);
  await server.client.hset('ww:campaign:damaged', 'record', '{');
  const torn = JSON.stringify({ ...record, name: 'torn' });
  await server.client.hset('ww:campaign:torn', { record: torn, whole: '[' });
  await server.client.sadd('ww:campaigns', 'other', 'damaged', 'torn');
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
  assert.match(
    worker.stderr,
    /campaign torn is left alone: campaign torn: what its cases are is damaged on the server/,
  );
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
