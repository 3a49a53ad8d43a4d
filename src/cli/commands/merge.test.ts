/** Parts of a run by `test --shard`, their reports, and `merge`. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-merge-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string) => path.join(folder, name);

/** The same programs in two places, as two machines have them. */
const [here, there] = ['here', 'there'].map((place) => {
  mkdirSync(file(`${place}/inner`), { recursive: true });
  for (const [from, to] of [
    ['hello/hello.gfx90a.co', 'hello'],
    ['checks/exit-early.gfx90a.co', 'inner/exits'],
    ['hello/hello.gfx1100.co', 'inner/other'],
  ] as const) {
    copyFileSync(path.join(ROOT, 'examples', from), file(`${place}/${to}`));
  }
  return file(place);
});

const runTests = (...argv: string[]) => runCommand(['test', '--jobs=1', '--timeout=60', ...argv]);
const merge = (...argv: string[]) => runCommand(['merge', ...argv]);

test('parts that two machines ran are one result; what is missing is run by itself', { timeout: 300_000 }, async () => {
  const [one, two, all, junit, again] = ['r1.jsonl', 'r2.jsonl', 'all.jsonl', 'all.xml', 'again.jsonl'].map(file);
  const first = await runTests('--shard=1/2', `--report=${one}`, here!);
  assert.deepEqual([first.status, first.stderr], [0, '']);
  assert.match(first.stdout, /^PASS {4}hello \(.*\nPASS {4}inner\/other \(.*\n2 passed, 0 failed of 2 programs/);

  const half = await merge(one!, `--missing=${again}`, '--format=json');
  assert.equal(half.status, 1);
  const { unknown, absent, summary } = JSON.parse(half.stdout);
  assert.deepEqual([unknown, absent, summary.passed], [1, ['2/2'], 2]);
  assert.match(half.stderr, /^wavewright: 1 of 3 programs have no verdict\nwavewright: parts without a report: 2\/2;/);

  const second = await runTests('--shard=2/2', `--report=${two}`, there!);
  assert.match(second.stdout, /^FAIL {4}inner\/exits \(.*, status 3\)\n/);
  const whole = await merge(two!, one!, `--report=${all}`, `--junit=${junit}`);
  assert.deepEqual([whole.status, whole.stderr], [1, '']);
  assert.match(
    whole.stdout,
    /^FAIL {4}inner\/exits .*\n {8}leaving with 3\n {8}goodbye\n2 passed, 1 failed of 3 programs/,
  );
  assert.equal(readFileSync(junit!, 'utf8').match(/<testsuite /g)?.length, 3);

  // A machine that was lost in the middle leaves a report without an end.
  writeFileSync(two!, readFileSync(two!, 'utf8').split('\n').slice(0, 2).join('\n'));
  const cut = await merge(one!, two!, `--missing=${again}`);
  assert.match(cut.stderr, /reports without an end: .*r2\.jsonl\nwavewright: without a verdict: inner\/exits;/);
  assert.equal((await runTests(`--report=${file('r3.jsonl')}`, again!)).status, 1);
  const mended = await merge(one!, two!, file('r3.jsonl'), '--format=json');
  assert.deepEqual([mended.stderr, JSON.parse(mended.stdout).summary.tests], ['', 3]);
});

test('what does not go together is refused before anything runs', async () => {
  for (const [argv, status, what] of [
    [['--shard=3/2', here!], 2, /--shard takes I\/N/],
    [['--shard=auto', here!], 2, /finds no variable/],
    [[`--report=${folder}`, here!], 3, /cannot be written \(EISDIR\)/],
    [
      [`--report=${file('twice.jsonl')}`, file('here/hello'), file('there/hello')],
      3,
      /the case 'hello\/hello' is there twice/,
    ],
  ] as const) {
    const refused = await runTests(...argv);
    assert.deepEqual([refused.status, refused.stdout], [status, '']);
    assert.match(refused.stderr, what);
  }
  const none = await merge(file('none.jsonl'));
  assert.deepEqual([none.status, none.stdout], [3, '']);
  assert.match(none.stderr, /none\.jsonl: cannot be read \(ENOENT\) \[IO\]/);
});

test('a part without cases is a result, too, and Bazel is told that parts are known', async () => {
  const marker = file('status');
  const env = { TEST_SHARD_INDEX: '4', TEST_TOTAL_SHARDS: '5', TEST_SHARD_STATUS_FILE: marker };
  const { status, stdout } = await runCommand(['test', '--shard=auto', `--report=${file('r5.jsonl')}`, here!], env);
  assert.deepEqual([status, readFileSync(marker, 'utf8')], [0, '']);
  assert.match(stdout, /^0 passed, 0 failed of 0 programs/);
  assert.match(readFileSync(file('r5.jsonl'), 'utf8'), /"total":3,"shard":"5\/5".*\n\{"count":0\}\n$/);
});

test('cases come from a file, each with its own arguments, variables, input and device', {
  timeout: 300_000,
}, async () => {
  const cases = [
    { image: 'here/hello', name: 'two threads', args: ['x'], run: ['--threads=2'] },
    { image: 'here/hello', name: 'elsewhere', device: 'gfx1100' },
    { image: 'here/none', name: 'absent' },
    { image: 'here/hello', name: 'known before', problem: 'its sidecar is wrong' },
  ];
  writeFileSync(file('cases.jsonl'), cases.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const { status, stdout } = await runTests('--format=json', file('cases.jsonl'));
  assert.equal(status, 1);
  const { tests } = JSON.parse(stdout);
  assert.match(tests[0].stdout, /Hello, x, from lane 1 of 2 \(argc=2\)/);
  assert.match(tests[1].stderr, /no code object for gfx1100/);
  assert.match(tests[2].stderr, /here\/none: no such file/);
  assert.match(tests[3].stderr, /its sidecar is wrong/);
});
