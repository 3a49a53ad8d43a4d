/** Sweeps: which cases a file makes, and what becomes of them. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-sweep-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string) => path.join(folder, name);
mkdirSync(file('programs'));
for (const target of ['gfx90a', 'gfx1100']) {
  copyFileSync(path.join(ROOT, `examples/hello/hello.${target}.co`), file(`programs/hello.${target}`));
}

/** Writes a sweep and runs it. */
function sweep(content: unknown, ...argv: string[]) {
  writeFileSync(file('sweep.json'), JSON.stringify(content));
  return runCommand(['sweep', '--jobs=1', '--timeout=60', ...argv, file('sweep.json')]);
}

async function cases(content: unknown): Promise<readonly Record<string, unknown>[]> {
  const { status, stdout, stderr } = await sweep(content, '--list');
  assert.deepEqual([status, stderr], [0, '']);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('cases are all combinations but those that are skipped, the last axis fastest', async () => {
  const found = await cases({
    images: ['programs/hello.{target}'],
    targets: ['gfx90a', 'gfx1100'],
    seeds: { from: 1, to: 5, step: 2 },
    options: { one: ['--threads=1'], many: ['--threads={width}'] },
    vary: { width: [8, '64'] },
    tools: ['none', 'instruction-count'],
    args: ['seed {seed}'],
    env: { WIDTH: '{width}' },
    retries: 1,
    skip: [
      { target: 'gfx1100', seed: 3 },
      { option: 'one', width: 8 },
    ],
  });
  assert.equal(found.length, 2 * 3 * 2 * 2 * 2 - 3 * 2 * 2 - 8 + 2);
  assert.equal(new Set(found.map(({ name }) => name)).size, found.length);
  const last = 'target=gfx1100,seed=5,option=many,width=64,tool=instruction-count';
  assert.deepEqual(found.at(-1), {
    ...{ name: `programs/hello.gfx1100[${last}]`, image: file('programs/hello.gfx1100'), device: 'gfx1100' },
    ...{ run: ['--threads=64', '--tool=instruction-count'], args: ['seed 5'], env: { WIDTH: '64' } },
    ...{ timeout: 60, retries: 1 },
    labels: Object.fromEntries(last.split(',').map((each) => each.split('='))),
  });
  assert.deepEqual(found[0]!['labels'], { target: 'gfx90a', seed: '1', option: 'one', width: '64', tool: 'none' });
});

test('a directory or a pattern names several programs, with what their sidecars say', async () => {
  writeFileSync(file('programs/hello.gfx90a.params'), '--threads=2\n---\nfirst\n');
  const input = { inputs: ['a.txt', 'none'], args: ['second'] };
  const [one, two, ...rest] = await cases({ images: ['programs/hello.gfx9*a'], ...input });
  rmSync(file('programs/hello.gfx90a.params'));
  assert.deepEqual([one!['run'], one!['args'], one!['stdin']], [['--threads=2'], ['first', 'second'], file('a.txt')]);
  assert.deepEqual([two!['stdin'], rest], [undefined, []]);
  assert.deepEqual(
    (await cases({ images: ['programs'] })).map(({ name }) => name),
    ['programs/hello.gfx1100', 'programs/hello.gfx90a'],
  );
});

test('what a sweep came to is a report, a database and JUnit', { timeout: 300_000 }, async () => {
  const [report, database, junit] = ['r.jsonl', 'r.sqlite', 'r.xml'].map(file);
  const content = {
    images: ['programs/hello.gfx90a'],
    targets: ['gfx90a', 'gfx1100'],
    tools: ['none', 'instruction-count'],
    checks: ['none', 'waits'],
    skip: [{ tool: 'instruction-count', check: 'waits' }],
  };
  const { status, stdout } = await sweep(content, `--report=${report}`, `--sqlite=${database}`, `--junit=${junit}`);
  assert.equal(status, 1);
  assert.match(stdout, /^3 passed, 3 failed of 6 programs/m);
  assert.equal(readFileSync(junit!, 'utf8').match(/<testsuite /g)?.length, 6);
  const rows = (of: string, query: string) => {
    const opened = new DatabaseSync(of, { readOnly: true });
    const all = opened
      .prepare(query)
      .all()
      .map((row) => Object.values(row));
    opened.close();
    return all;
  };
  const query = `SELECT value, outcome, count(*), max(tail LIKE '%no code object for gfx1100%') FROM cases
    JOIN labels USING (key) WHERE label = 'target' GROUP BY value, outcome ORDER BY value`;
  const expected = [
    ['gfx1100', 'failed', 3, 1],
    ['gfx90a', 'passed', 3, null],
  ];
  assert.deepEqual(rows(database!, query), expected);
  // The merged report makes the same database, in place of an old one.
  assert.equal((await runCommand(['merge', report!, `--sqlite=${database}`])).status, 1);
  assert.deepEqual(rows(database!, query), expected);
  assert.deepEqual(rows(database!, 'SELECT total, shard FROM runs'), [[6, null]]);
});

test('what is wrong with a sweep is said before anything runs', async () => {
  const images = ['programs/hello.gfx90a'];
  for (const [content, what] of [
    [[], /is no object/],
    [{}, /'images' names no program/],
    [{ images, target: ['a'] }, /has a member 'target', which is not known/],
    [{ images, args: ['{sed}'], seeds: [1] }, /\{sed\} names no axis/],
    [{ images, seeds: [] }, /the axis 'seed' has no values/],
    [{ images, seeds: [1, '1'] }, /the axis 'seed' has a value twice/],
    [{ images, seeds: { from: 2, to: 1 } }, /'seeds' has no from <= to/],
    [{ images, seeds: { from: 1, to: 1e9 } }, /'seeds' has 1000000000 values, more than 10000000/],
    [{ images, seeds: { from: 1, to: 1e6 }, vary: { x: { from: 1, to: 1e6 } } }, /makes 1000000000000 cases or more/],
    [{ images, seeds: 7 }, /'seeds' is no list of strings and numbers, and no \{"from":1,"to":9\}/],
    [{ images, vary: { seed: [1] }, seeds: [1] }, /there are two axes 'seed'/],
    [{ images, vary: { 'a b': [1] } }, /'a b' is no name of an axis/],
    [{ images, options: ['--threads=1'] }, /'options' is no object such as/],
    [{ images, skip: [{ seed: 1 }] }, /'skip' names 'seed', which is no axis/],
    [{ images, seeds: [1], skip: [{ seed: 2 }] }, /'skip' names seed=2, which is no value/],
    [{ images: ['programs/*.none'] }, /programs\/\*\.none' names no program/],
    [{ images: ['absent'] }, /absent: no such file or directory/],
  ] as const) {
    const { status, stdout, stderr } = await sweep(content);
    assert.deepEqual([status, stdout], [3, ''], JSON.stringify(content));
    assert.match(stderr, what);
  }
  writeFileSync(file('sweep.json'), '{');
  assert.match((await runCommand(['sweep', file('sweep.json')])).stderr, /sweep\.json: is no JSON/);
});
