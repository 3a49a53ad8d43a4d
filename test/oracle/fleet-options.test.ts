/** What the options of campaigns and addresses do, each with real processes and a real server. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { readReport } from '../../src/fleet/report.ts';
import {
  beginnings,
  doneJobs,
  EXITS,
  endless,
  expectWhole,
  FLEET_TEST,
  freePort,
  mixed,
  ORACLES_REQUIRED,
  Rig,
  tally,
  until,
} from './fleet-rig.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const TLS_TEST = { ...FLEET_TEST, skip: FLEET_TEST.skip || !(hasOpenssl || ORACLES_REQUIRED) };

/** Signs itself, for the address of the tests. */
function certificate(folder: string): { readonly certificate: string; readonly key: string } {
  const place = mkdtempSync(path.join(folder, 'tls-'));
  const [file, key] = ['cert.pem', 'key.pem'].map((name) => path.join(place, name));
  const names = ['-subj', '/CN=tests', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const made = spawnSync('openssl', ['req', '-x509', ...kind, ...names, '-out', file!, '-keyout', key!]);
  assert.equal(made.status, 0, String(made.stderr));
  return { certificate: file!, key: key! };
}

test('rediss:// is encrypted, and reaches only a server whose certificate is known', TLS_TEST, async () => {
  await using rig = new Rig();
  const own = certificate(rig.folder);
  const port = await freePort();
  const files = ['--tls-cert-file', own.certificate, '--tls-key-file', own.key, '--tls-ca-cert-file', own.certificate];
  const password = ['--requirepass', 'secret'];
  await rig.server('--tls-port', `${port}`, ...files, '--tls-auth-clients', 'no', ...password);
  writeFileSync(rig.file('password'), 'secret\n');
  const url = `rediss://127.0.0.1:${port}?password-file=${rig.file('password')}`;
  const known = `${url}&ca=${own.certificate}`;
  const cases = rig.cases(mixed(5));
  const worker = (queue: string) => rig.command(['worker', `--queue=${queue}`, '--jobs=1', '--queue-timeout=9']);
  const refused = [
    [worker(url), 3, /refuses: self-signed certificate/],
    [worker(`${url}&ca=${certificate(rig.folder).certificate}`), 3, /refuses: self-signed certificate/],
    [worker(known.replace('127.0.0.1', 'localhost')), 3, /refuses: .*altnames/],
    [worker(`${url}&ca=${rig.file('absent')}`), 3, /absent: cannot be read \(ENOENT\)/],
    [worker(known.replace('rediss:', 'redis:').replace(/&ca=.*/, '')), 69, /could not be reached for 9 s/],
  ] as const;
  for (const [command, status, text] of refused) {
    assert.equal(await command.ended(), status, command.stderr);
    assert.match(command.stderr, text);
    assert.doesNotMatch(command.stderr, /secret/);
  }
  worker(known);
  const report = rig.file('report.jsonl');
  const coordinator = rig.command(['test', `--queue=${known}`, `--report=${report}`, cases]);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(report, { passed: 4, failed: 1 });
});

test('--max-failures cancels; what has no verdict is counted, and comes with a retry', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  // One of the two is busy with the first case, which so has no verdict when others have.
  for (let i = 0; i < 2; i++) rig.worker(server);
  const bad = [1, 2, 3].map((status) => ({ image: EXITS, name: `bad ${status}`, args: [`${status}`] }));
  const cases = rig.cases([endless('a long one', 60), ...bad, endless('z long one', 60)]);
  const files = ['junit.xml', 'all.sqlite'].map(rig.file.bind(rig));
  const outputs = [`--junit=${files[0]}`, `--sqlite=${files[1]}`];
  const stopped = rig.coordinator(server, cases, '--batch=1', '--max-failures=2', ...outputs);
  assert.equal(await stopped.ended(), 1, stopped.stderr);
  const { outcomes, isWhole } = await tally(rig.file('report.jsonl'));
  const found = outcomes['failed'] ?? 0;
  assert.ok((found === 2 || found === 3) && !isWhole);
  assert.match(
    stopped.stdout,
    new RegExp(`^0 passed, ${found} failed, ${5 - found} without a verdict of 5 programs`, 'm'),
  );
  assert.match(stopped.stderr, /campaign c was cancelled: `wavewright campaign retry c` lets it go on/);
  const suites = readFileSync(files[0]!, 'utf8').match(/<testsuite name=|<testsuite id=/g);
  assert.equal(suites?.length, found);
  const retry = rig.command(['campaign', 'retry', 'c', `--queue=${server.url}`]);
  assert.equal(await retry.ended(), 0, retry.stderr);
  const again = rig.coordinator(server, cases, '--format=json');
  await until('it goes on', async () => /campaign c\n/.test(again.stderr) && (await doneJobs(server)) === 3);
  const cancel = rig.command(['campaign', 'cancel', 'c', `--queue=${server.url}`]);
  assert.equal(await cancel.ended(), 0, cancel.stderr);
  assert.equal(await again.ended(), 1, again.stderr);
  const { summary, tests } = JSON.parse(again.stdout);
  assert.deepEqual([summary.tests, summary.failed, summary.withoutVerdict], [5, 3, 2]);
  assert.deepEqual(tests.map(({ name }: { name: string }) => name).sort(), ['bad 1', 'bad 2', 'bad 3']);
});

test('--timings makes jobs of 2 s; --batch=auto alone deals few cases out one by one', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  rig.worker(server);
  const cases = rig.cases(mixed(20));
  const first = rig.coordinator(server, cases);
  assert.equal(await first.ended(), 1, first.stderr);
  assert.equal(await doneJobs(server), 20);
  // As if four of them had taken 0.9 s each, the others nothing.
  const lines: string[] = [];
  for await (const entry of readReport(rig.file('report.jsonl'))) {
    if (entry.kind === 'verdict') {
      const ms = /case 0(00|05|10|15)/.test(entry.name) ? 900 : 0;
      lines.push(JSON.stringify({ ...entry.verdict, name: entry.name, ms }));
    }
  }
  const [header] = readFileSync(rig.file('report.jsonl'), 'utf8').split('\n');
  writeFileSync(rig.file('times.jsonl'), `${[header, ...lines, '{"count":20}'].join('\n')}\n`);
  const timings = `--timings=${rig.file('times.jsonl')}`;
  const second = rig.coordinator(server, cases, '--campaign=timed', timings);
  assert.equal(await second.ended(), 1, second.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 16, failed: 4 });
  const ids = await server.client.zrange('ww:ww-timed:completed', '0', '-1');
  const sizes = await Promise.all(
    ids.map(async (id) => JSON.parse((await server.client.hget(`ww:ww-timed:${id}`, 'data'))!).cases.length),
  );
  assert.deepEqual(
    sizes.sort((a, b) => a - b),
    [9, 11],
  );
});

test('--jobs=1 with a queue runs cases here, in the sandbox, and needs no worker', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const outside = { image: EXITS, name: 'outside', run: ['--allow-system'] };
  const own = { TMPDIR: rig.folder };
  const queue = ['test', `--queue=${server.url}`, `--report=${rig.file('report.jsonl')}`, '--jobs=1', '--lease=1'];
  const command = rig.command([...queue, rig.cases([...mixed(5), outside])], own);
  assert.equal(await command.ended(), 1, command.stderr);
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1, error: 1 });
  assert.match(verdicts.get('outside')?.tail ?? '', /has --allow-system, which no case from a queue may have/);
  assert.doesNotMatch(command.stderr, /no worker has joined/);
});

test('a worker whose clock is a minute ahead takes nothing from others, and loses nothing', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const ahead = 'const now = Date.now; Date.now = () => now() + 60_000;';
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(ahead)}` };
  const place = [`--queue=${server.url}`, `--cache=${rig.file('cache')}`];
  const cases = rig.cases([...mixed(30), endless('long 1', 4), endless('long 2', 4)]);
  const coordinator = rig.coordinator(server, cases, '--batch=1');
  rig.worker(server);
  rig.command(['worker', '--jobs=1', '--lease=1', ...place], env);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  await expectWhole(rig.file('report.jsonl'), { passed: 24, failed: 6, 'timed-out': 2 });
  assert.equal(await beginnings(server), 32);
  const scores = (await server.client.zrange('ww:ww-c:completed', '0', '-1', 'WITHSCORES')).filter(
    (_, i) => i % 2 === 1,
  );
  const spread = Number(scores.at(-1)) - Number(scores[0]);
  assert.ok(spread > 50_000, `both have worked: ${spread} ms`);
});

test('a log that cannot be kept is said, in the verdict and at the end', FLEET_TEST, async () => {
  await using rig = new Rig();
  const server = await rig.server();
  const cases = rig.cases(mixed(5));
  const coordinator = rig.coordinator(server, cases, `--logs=${rig.file('logs')}`);
  await until('all is submitted', async () => (await server.client.llen('ww:ww-c:wait')) === 5);
  await server.client.set('ww:blob-bytes', 2 ** 26);
  rig.worker(server);
  assert.equal(await coordinator.ended(), 1, coordinator.stderr);
  const { verdicts } = await expectWhole(rig.file('report.jsonl'), { passed: 4, failed: 1 });
  assert.equal(verdicts.get('case 004')?.nolog, 'no room in the store');
  assert.match(coordinator.stderr, /warning: 1 log is missing: no room in the store/);
  const late = rig.coordinator(server, cases, '--campaign=d');
  assert.equal(await late.ended(), 1, late.stderr);
  const joined = rig.coordinator(server, cases, '--campaign=d', `--logs=${rig.file('logs')}`);
  assert.equal(await joined.ended(), 1, joined.stderr);
  assert.match(joined.stderr, /warning: 1 log is missing: the campaign was begun without --logs/);
});
