/** Keys, parts, reports and their union, without running anything. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { WavewrightError } from '../base/errors.ts';
import { canonicalJson } from './canonical-json.ts';
import { type Case, caseKey, digestOf, FileHashes, type KeyedCase } from './case.ts';
import { caseObject, caseOf, formatCases, readCases } from './cases-file.ts';
import { LinePlace } from './json-lines.ts';
import { mergedLines, mergeReports } from './merge.ts';
import { ReportWriter, readReport, reportLine } from './report.ts';
import { dealOut, type Shard, shardOf } from './shard.ts';
import { OUTCOMES, TAIL_BYTES, type TestResult, type Verdict, verdictOf } from './verdict.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-fleet-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string) => path.join(folder, name);
const DEFAULTS = { options: [], timeout: 60, retries: 0 };
const HASHES = { image: 'a'.repeat(64), stdin: null };

const caseNamed = (name: string, change: Partial<Case> = {}): Case => ({
  ...{ name, image: 'a.co', options: [], args: [], env: {}, timeout: 60, retries: 0 },
  ...change,
});
const keyed = (one: Case): KeyedCase => ({ key: caseKey(one, HASHES), case: one });
const verdict = (key: string, change: Partial<Verdict> = {}): Verdict => ({
  ...{ k: key, o: 'passed', s: 0, ms: 5, n: 1 },
  ...change,
});

const text = fc.string({ unit: 'binary', maxLength: 12 });
const plain = text.filter((each) => !each.includes('\0'));
const name = plain.filter((each) => each !== '');
const variable = name.filter((each) => !each.includes('='));
const someCase: fc.Arbitrary<Case> = fc.record(
  {
    ...{ name, image: name.map((each) => path.join('d', each)) },
    ...{ options: fc.array(text), args: fc.array(text), env: fc.dictionary(variable, plain) },
    ...{
      timeout: fc.integer({ min: 1, max: 9999 }),
      retries: fc.nat(3),
      device: text,
      labels: fc.dictionary(name, text, { noNullPrototype: true }),
      problem: text,
    },
  },
  { requiredKeys: ['name', 'image', 'options', 'args', 'env', 'timeout', 'retries'] },
);

async function entriesOf<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

async function refused(reading: AsyncIterable<unknown> | Promise<unknown>, what: RegExp, code = 'BAD_INPUT') {
  const read = async () => {
    if (Symbol.asyncIterator in reading) for await (const _ of reading);
    else await reading;
  };
  await assert.rejects(read, (error) => {
    assert.ok(error instanceof WavewrightError, String(error));
    assert.match(error.message, what);
    assert.equal(error.code, code);
    return true;
  });
}

test('canonical JSON has one form, and names are sorted by UTF-16 units', () => {
  assert.equal(
    canonicalJson({ b: [1, null, 'ä"'], a: undefined, '\u{1f600}': 1e21, '\ufb01': true }),
    '{"b":[1,null,"ä\\""],"😀":1e+21,"ﬁ":true}',
  );
  const value = fc.jsonValue() as fc.Arbitrary<Parameters<typeof canonicalJson>[0]>;
  fc.assert(
    fc.property(value, (one) => {
      assert.deepEqual(JSON.parse(canonicalJson(one)), JSON.parse(JSON.stringify(one)));
      const shuffled = JSON.parse(JSON.stringify(one), (_, each) =>
        each && typeof each === 'object' && !Array.isArray(each)
          ? Object.fromEntries(Object.entries(each).reverse())
          : each,
      );
      assert.equal(canonicalJson(shuffled), canonicalJson(one));
    }),
  );
});

test('a key is of what the verdict depends on, and of no path', () => {
  // What Python's json and hashlib make of the same members.
  const one = caseNamed('a', { args: ['1', '2'], env: { B: '1', A: '2' } });
  assert.equal(caseKey(one, HASHES), 'f873f3453282887b0ce1c50844d3ff9b');
  assert.equal(caseKey({ ...one, image: '/elsewhere/a.co', env: { A: '2', B: '1' } }, HASHES), caseKey(one, HASHES));
  const others: Case[] = [
    caseNamed('b'),
    { ...one, args: ['12'] },
    { ...one, options: ['--sandbox'] },
    { ...one, device: 'gfx1100' },
    { ...one, env: {} },
    { ...one, timeout: 61 },
    { ...one, retries: 1 },
    { ...one, problem: 'none' },
  ];
  const keys = [one, ...others].map((each) => caseKey(each, HASHES));
  keys.push(caseKey(one, { ...HASHES, image: null }), caseKey(one, { ...HASHES, stdin: HASHES.image }));
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(digestOf(keys), digestOf(keys.toReversed()));
  assert.notEqual(digestOf(keys), digestOf(keys.slice(1)));
});

test('files are hashed by what they hold', () => {
  for (const each of ['x', 'y']) writeFileSync(file(each), 'the same');
  const hashes = new FileHashes();
  const key = (image: string, stdin: string) => hashes.key(caseNamed('a', { image: file(image), stdin: file(stdin) }));
  assert.equal(key('x', 'y'), key('y', 'x'));
  assert.notEqual(key('x', 'y'), key('none', 'y'));
});

test('the parts of a run are disjoint, their union is whole, and they differ by one case at most', () => {
  const names = fc.uniqueArray(name, { maxLength: 40 });
  fc.assert(
    fc.property(names, fc.integer({ min: 1, max: 12 }), fc.gen(), (all, count, gen) => {
      const cases = all.map((each) => keyed(caseNamed(each)));
      const parts = Array.from({ length: count }, (_, i) => dealOut(cases, { index: i + 1, count }));
      const shuffled = gen(fc.shuffledSubarray, cases, { minLength: cases.length });
      assert.deepEqual(dealOut(shuffled, { index: 1, count }), parts[0]);
      assert.deepEqual(
        parts
          .flat()
          .map(({ key }) => key)
          .sort(),
        cases.map(({ key }) => key).sort(),
      );
      const sizes = parts.map(({ length }) => length);
      assert.ok(Math.max(...sizes) - Math.min(...sizes) <= 1);
    }),
  );
  assert.deepEqual(
    dealOut(
      ['c', 'a', 'b', 'd'].map((each) => keyed(caseNamed(each))),
      { index: 2, count: 3 },
    ).map((one) => one.case.name),
    ['b'],
  );
});

test('which part this is: as it is written, or as systems say', () => {
  const auto = (env: Record<string, string>) => shardOf('auto', env);
  assert.deepEqual(shardOf('2/8', {}), { index: 2, count: 8 });
  assert.deepEqual(auto({ TEST_SHARD_INDEX: '0', TEST_TOTAL_SHARDS: '3', CI_NODE_INDEX: '9' }), { index: 1, count: 3 });
  const slurm = { SLURM_ARRAY_TASK_ID: '14', SLURM_ARRAY_TASK_MIN: '10', SLURM_ARRAY_TASK_COUNT: '4' };
  assert.deepEqual(auto({ ...slurm, SLURM_ARRAY_TASK_STEP: '2' }), { index: 3, count: 4 });
  assert.deepEqual(auto({ CI_NODE_INDEX: '5', CI_NODE_TOTAL: '5' }), { index: 5, count: 5 });
  assert.deepEqual(auto({ JOB_COMPLETION_INDEX: '7', WAVEWRIGHT_SHARDS: '8' }), { index: 8, count: 8 });
  const wrong = (call: () => Shard, what: RegExp) => assert.throws(call, { code: 'USAGE', message: what });
  for (const each of ['0/8', '9/8', '1/0', '1', '1/2/3', '-1/2', '1.5/2', '', '1/99999999']) {
    wrong(() => shardOf(each, {}), /--shard takes I\/N/);
  }
  wrong(() => auto({}), /finds no variable/);
  wrong(() => auto({ JOB_COMPLETION_INDEX: '7' }), /WAVEWRIGHT_SHARDS is not set, with Kubernetes/);
  wrong(() => auto({ CI_NODE_INDEX: 'x', CI_NODE_TOTAL: '5' }), /CI_NODE_INDEX is 'x', which is no number/);
  wrong(
    () => auto({ TEST_SHARD_INDEX: '3', TEST_TOTAL_SHARDS: '3' }),
    /TEST_SHARD_INDEX=3 and .* of Bazel name no part/,
  );
  wrong(() => auto({ ...slurm, SLURM_ARRAY_TASK_ID: '31' }), /Slurm name no part/);
});

test('cases that are written are read again, in the same order', async () => {
  const place = new LinePlace('f', 1);
  fc.assert(
    fc.property(someCase, (one) => {
      const line = JSON.parse(JSON.stringify(caseObject(one, 'd')));
      assert.deepEqual(caseOf(line, DEFAULTS, { folder: 'd', place }), { ...one, env: { ...one.env } });
    }),
  );
  const whole = { digest: 'b'.repeat(64), total: 9 };
  writeFileSync(file('cases.jsonl'), formatCases([caseNamed('a'), caseNamed('b')], whole, '.'));
  const entries = await entriesOf(readCases(file('cases.jsonl'), DEFAULTS));
  assert.deepEqual(entries[0], { kind: 'whole', whole });
  assert.deepEqual(
    entries.slice(1).map((each) => each.kind === 'case' && [each.case.name, each.case.image, each.place.line]),
    [
      ['a', file('a.co'), 2],
      ['b', file('a.co'), 3],
    ],
  );
});

test('what a line of cases leaves out has defaults, and what is wrong with it is said with its place', async () => {
  writeFileSync(file('short.jsonl'), '\n{"image":"a.co","run":["--sandbox"],"timeout":1.5}\n\n');
  const options = { options: ['--stats'], timeout: 60, retries: 2 };
  const [entry] = await entriesOf(readCases(file('short.jsonl'), options));
  const expected = { name: 'a.co', image: file('a.co'), options: ['--stats', '--sandbox'], timeout: 1.5, retries: 2 };
  assert.deepEqual(entry?.kind === 'case' && entry.case, { ...expected, args: [], env: {} });
  for (const [line, what] of [
    ['{"name":"a"}', /line 2: has no 'image'/],
    ['{"image":"a","imgae":"b"}', /line 2: has a member 'imgae'/],
    ['{"image":"a","args":"b"}', /'args' is no list of strings/],
    ['{"image":"a","env":{"A":1}}', /'env' is no object of strings/],
    ['{"image":"a","env":{"A=":"1"}}', /'env' has 'A=', which is no variable/],
    ['{"image":"a","timeout":0}', /'timeout' is no number from 0\.001 to 1000000/],
    ['{"image":"a","retries":1.5}', /'retries' is no integer from 0 to 100/],
    ['{"image":""}', /'image' is no path/],
    [`{"image":"a","name":"${'x'.repeat(5000)}"}`, /'name' has not 1 to 4096 characters/],
    ['[1]', /is no object/],
    ['{"image":', /is no JSON/],
    ['{"schema":"wavewright.cases","version":1,"digest":"x","total":1}', /header, which can only stand before/],
  ] as const) {
    writeFileSync(file('wrong.jsonl'), `{"image":"good"}\n${line}\n`);
    await refused(readCases(file('wrong.jsonl'), DEFAULTS), what);
  }
  writeFileSync(file('wrong.jsonl'), `{"image":"${'x'.repeat(2 ** 20)}"}\n`);
  await refused(readCases(file('wrong.jsonl'), DEFAULTS), /line 1: is longer than jsonLineBytes/, 'LIMIT_EXCEEDED');
  writeFileSync(file('wrong.jsonl'), Buffer.from([0x7b, 0xff, 0x7d]));
  await refused(readCases(file('wrong.jsonl'), DEFAULTS), /line 1: is no JSON/);
  await refused(readCases(file('none.jsonl'), DEFAULTS), /none\.jsonl: cannot be read \(ENOENT\)/, 'IO');
});

test('a verdict keeps the end of what a failure printed, in whole characters', () => {
  const result: TestResult = {
    ...{ name: 'a', outcome: 'failed', status: 3, durationMs: 1.6, attempts: 2, stdout: 'ä'.repeat(TAIL_BYTES) },
    ...{
      stderr: 'x',
      cases: [
        { name: 'good', outcome: 'passed' },
        { name: 'bad', outcome: 'failed' },
      ],
    },
  };
  const { tail = '', ...rest } = verdictOf('k', result);
  assert.deepEqual(rest, { k: 'k', o: 'failed', s: 3, ms: 2, n: 2, cases: [{ name: 'bad', outcome: 'failed' }] });
  assert.match(tail, /^ä+x$/);
  assert.equal(Buffer.byteLength(tail), TAIL_BYTES - 1);
  assert.deepEqual(Object.keys(verdictOf('k', { ...result, outcome: 'passed' })), ['k', 'o', 's', 'ms', 'n']);
});

/** Writes the report of a part and returns its path. */
function writePart(
  fileName: string,
  cases: readonly KeyedCase[],
  {
    all = cases,
    shard,
    verdicts = cases.map(({ key }) => verdict(key)),
    isFinished = true,
  }: {
    readonly all?: readonly KeyedCase[];
    readonly shard?: Shard;
    readonly verdicts?: readonly Verdict[];
    readonly isFinished?: boolean;
  } = {},
): string {
  const whole = { digest: digestOf(all.map(({ key }) => key)), total: all.length };
  const header = { ...whole, ...(shard && { shard }), wavewright: '1', began: '2026-01-02T03:04:05' };
  using writer = new ReportWriter(file(fileName), header);
  writer.plan(cases);
  const byKey = new Map(cases.map(({ key, case: one }) => [key, one.name]));
  for (const one of verdicts) writer.add(byKey.get(one.k) ?? 'other', one);
  if (isFinished) writer.finish();
  return file(fileName);
}

test('reports are read as they were written, and written as they were read', async () => {
  const outcome = fc.constantFrom(...OUTCOMES);
  const someVerdict = fc.record(
    { o: outcome, s: fc.nat(255), ms: fc.nat(), n: fc.nat(9), tail: text },
    { requiredKeys: ['o', 'ms', 'n'] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(someCase, { maxLength: 5, selector: (one) => keyed(one).key }),
      fc.array(someVerdict, { minLength: 5 }),
      async (cases, verdicts) => {
        const all = cases.map(keyed);
        const report = writePart('round.jsonl', all, {
          verdicts: all.map(({ key }, i) => ({ k: key, ...verdicts[i]! })),
        });
        const entries = await entriesOf(readReport(report));
        assert.equal(entries.map(reportLine).join(''), readFileSync(report, 'utf8'));
        assert.equal(entries.length, 2 + 2 * all.length);
      },
    ),
    { numRuns: 30 },
  );
});

test('merged parts are the whole, the same bytes in any order', async () => {
  const all = ['e', 'a', 'd', 'b', 'c'].map((each) => keyed(caseNamed(each)));
  const parts = [1, 2, 3].map((index) => {
    const shard = { index, count: 3 };
    return writePart(`part-${index}.jsonl`, dealOut(all, shard), { all, shard });
  });
  const textOf = async (files: readonly string[]) => [...mergedLines(await mergeReports(files))].join('');
  const expected = await textOf(parts);
  for (const files of [parts.toReversed(), [parts[1]!, parts[0]!, parts[2]!]])
    assert.equal(await textOf(files), expected);
  writeFileSync(file('merged.jsonl'), expected);
  assert.equal(await textOf([file('merged.jsonl')]), expected);
  const { verdicts, missing, unknown, absent, unfinished, conflicts } = await mergeReports(parts);
  assert.deepEqual(
    verdicts.map((each) => each.name),
    ['a', 'b', 'c', 'd', 'e'],
  );
  assert.deepEqual(
    { missing, unknown, absent, unfinished, conflicts },
    { missing: [], unknown: 0, absent: [], unfinished: [], conflicts: [] },
  );
});

test('what is absent, cut off or contradictory is named; what does not belong is refused', async () => {
  const all = ['a', 'b', 'c', 'd'].map((each) => keyed(caseNamed(each)));
  const [first, second] = [1, 2].map((index) => ({ index, count: 2 }));
  const part = dealOut(all, second!);
  const one = writePart('one.jsonl', dealOut(all, first!), { all, shard: first! });
  const absent = await mergeReports([one]);
  assert.deepEqual([absent.absent, absent.unknown, absent.missing], [[second], 2, []]);
  const cut = writePart('cut.jsonl', part, {
    all,
    shard: second!,
    verdicts: [verdict(part[0]!.key)],
    isFinished: false,
  });
  writeFileSync(cut, `${readFileSync(cut, 'utf8')}{"k":"0123`);
  const unfinished = await mergeReports([one, cut]);
  assert.deepEqual(
    [unfinished.unfinished, unfinished.missing, unfinished.unknown, unfinished.absent],
    [[cut], [part[1]], 0, []],
  );
  const rest = writePart('rest.jsonl', [part[1]!], { all });
  assert.deepEqual((await mergeReports([one, cut, rest])).missing, []);
  const again = writePart('again.jsonl', part, {
    all,
    shard: second!,
    verdicts: part.map(({ key }) => verdict(key, { o: 'failed', s: 1 })),
  });
  assert.deepEqual(
    (await mergeReports([one, cut, again])).conflicts.map((each) => each.name),
    ['b'],
  );
  await refused(mergeReports([one, writePart('other.jsonl', all.slice(1))]), /is of other cases than .*one\.jsonl/);
  const stray = writePart('stray.jsonl', part, { all, verdicts: [verdict(all[0]!.key)] });
  await refused(mergeReports([stray]), /has a verdict on 'other', which is none of its cases/);
  const lines = readFileSync(one, 'utf8').split('\n');
  for (const [changed, what] of [
    [lines.with(3, ''), /line 6: counts 2 verdicts, but there are 1/],
    [lines.with(3, '{'), /line 4: is no JSON/],
    [lines.toSpliced(0, 1), /line 1: is no header/],
    [[...lines.slice(0, -1), lines[3]!, ''], /line 7: stands behind the footer/],
    [lines.with(3, lines[3]!.replace('passed', 'fine')), /'o' is none of passed, failed/],
    [lines.with(0, lines[0]!.replace('"version":1', '"version":2')), /is of version 2, expected 1/],
    [lines.with(0, lines[0]!.replace('"total":4', '"total":1')), /there are more cases than the 1 of the header/],
    [lines.with(0, lines[0]!.replace(/"digest":"../, '"digest":"zz')), /'digest' is not 64 hex digits/],
    [lines.with(0, lines[0]!.replace('1/2', '3/2')), /'shard' is not I\/N and not null/],
  ] as const) {
    writeFileSync(file('changed.jsonl'), changed.join('\n'));
    await refused(mergeReports([file('changed.jsonl')]), what);
  }
  writeFileSync(file('changed.jsonl'), '');
  await refused(mergeReports([file('changed.jsonl')]), /is empty, expected wavewright\.report/);
});
