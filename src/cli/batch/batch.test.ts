/** Batches: what is collected, what programs report, and what comes out. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommand } from '../run-command.test-support.ts';
import { CapturedOutput } from './captured-output.ts';
import { collectTests, parseSidecar } from './collect.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const example = (name: string) => path.join(ROOT, 'examples', name);
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-batch-'));
after(() => rmSync(folder, { recursive: true }));

mkdirSync(path.join(folder, 'inner'));
for (const [from, to] of [
  ['hello/hello.gfx90a.co', 'hello'],
  ['checks/exit-early.gfx90a.co', 'inner/exits'],
  ['checks/infinite-loop.gfx90a.co', 'inner/loops'],
  ['checks/null-dereference.gfx90a.co', 'inner/faults'],
  ['kernels/saxpy.gfx90a.co', 'inner/kernels-only'],
] as const) {
  copyFileSync(example(from), path.join(folder, to));
}
writeFileSync(path.join(folder, 'hello.params'), '--threads\n2\n---\none two\nthree\n---\nA=b\n');
writeFileSync(path.join(folder, 'notes.txt'), 'no program');
writeFileSync(path.join(folder, 'list'), '# a comment\n\nhello\n  inner/exits  \n');
writeFileSync(path.join(folder, 'broken-list'), 'hello\nnone\n');

const DEFAULTS = { options: [], timeout: 10, retries: 0 };
const runTests = (...argv: string[]) => runCommand(['test', ...argv]);

test('PTX counts as a program where it has a start', () => {
  const place = path.join(folder, 'list-of-ptx');
  mkdirSync(place);
  for (const kernel of ['_start', 'k']) {
    const text = `.version 6.3\n.target sm_70\n.address_size 64\n.visible .entry ${kernel}()\n{\n  ret;\n}\n`;
    writeFileSync(path.join(place, `${kernel}.ptx`), text);
  }
  const found = collectTests(place, DEFAULTS).map(({ image }) => path.basename(image));
  rmSync(place, { recursive: true });
  assert.deepEqual(found, ['_start.ptx']);
});

test('programs below a directory, in a list, or named', () => {
  const names = (operand: string) => collectTests(operand, DEFAULTS).map(({ image }) => path.relative(folder, image));
  assert.deepEqual(names(folder), ['hello', 'inner/exits', 'inner/faults', 'inner/loops']);
  assert.deepEqual(names(path.join(folder, 'list')), ['hello', 'inner/exits']);
  assert.deepEqual(names(path.join(folder, 'inner/kernels-only')), ['inner/kernels-only']);
  assert.throws(() => names(path.join(folder, 'broken-list')), /broken-list: no such file: .*none/);
  assert.throws(() => names(path.join(folder, 'none')), /none: no such file or directory/);
});

test('a sidecar has arguments of the loader, of the program, and variables', () => {
  const [hello] = collectTests(path.join(folder, 'hello'), DEFAULTS);
  assert.deepEqual(hello?.options, ['--threads', '2']);
  assert.deepEqual(hello?.args, ['one two', 'three']);
  assert.deepEqual(hello?.env, { A: 'b' });
  assert.deepEqual(parseSidecar('', 'x'), { options: [], args: [], env: {} });
  assert.deepEqual(parseSidecar('---\n---\r\nFRANCE=Paris=1\n', 'x').env, { FRANCE: 'Paris=1' });
  assert.throws(() => parseSidecar('---\n---\nA', 'x.params'), /x\.params: 'A' is not NAME=VALUE/);
  assert.throws(() => parseSidecar('---\n---\n---\n', 'x'), /4 parts/);
});

test('a batch runs all, says what failed and why, and its status is 1', { timeout: 600_000 }, async () => {
  const junit = path.join(folder, 'junit.xml');
  const { status, stdout, stderr } = await runTests('--jobs=1', '--timeout=2', `--junit=${junit}`, folder);
  assert.deepEqual([status, stderr], [1, '']);
  assert.match(stdout, /^PASS {4}.*hello \([\d.]+ s\)$/m);
  assert.match(stdout, /^FAIL {4}.*exits \([\d.]+ s, status 3\)\n(?: {8}.*\n)* {8}leaving with 3$/m);
  assert.match(stdout, /^FAIL {4}.*faults \(.*status 6\)\n(?: {8}.*\n)* {8}wavewright: error: .*\[GPU_FAULT\]$/m);
  assert.match(stdout, /^TIMEOUT .*loops \(.*\)\n {8}wavewright: error: .*\[TIMEOUT\]$/m);
  assert.match(stdout, /^1 passed, 2 failed, 1 timed out of 4 programs, in [\d.]+ s\n$/m);
  const xml = readFileSync(junit, 'utf8');
  assert.equal(xml.match(/<testsuite /g)?.length, 4);
  assert.match(xml, /Hello, one two, from lane 1 of 2 \(argc=3\)/);
});

test('more programs at once than cores warn, and none of them pays for the others', { timeout: 600_000 }, async () => {
  const jobs = 4 * availableParallelism() + 8;
  const list = path.join(folder, 'many');
  writeFileSync(list, `${path.join(folder, 'hello')}\n`.repeat(jobs));
  const { stdout, stderr } = await runTests(`--jobs=${jobs}`, '--timeout=4', list);
  assert.match(stdout, new RegExp(`^${jobs} passed, 0 failed of ${jobs} programs`, 'm'));
  assert.match(stderr, /^wavewright: warning: --jobs=\d+ is more than the machine has cores \(\d+\): .*\n$/);
});

test('as JSON, with one program and options for it', { timeout: 600_000 }, async () => {
  const { status, stdout } = await runTests(
    '--format=json',
    '--run=--max-output=5',
    '--retries=1',
    path.join(folder, 'hello'),
  );
  const report = JSON.parse(stdout);
  assert.equal(status, 1);
  assert.deepEqual([report.schema, report.version, report.summary.failed], ['wavewright.test', 1, 1]);
  assert.deepEqual([report.tests[0].status, report.tests[0].attempts], [3, 2]);
  assert.match(report.tests[0].stderr, /writes more than 5 bytes/);
});

test('what is wrong with one program, or its sidecar, costs that one', { timeout: 600_000 }, async () => {
  const place = path.join(folder, 'hostile');
  mkdirSync(place);
  const image = readFileSync(example('hello/hello.gfx90a.co'));
  writeFileSync(path.join(place, 'cut'), image.subarray(0, 3000));
  for (const [name, sidecar] of [
    ['good', '--threads=2\n---\n'],
    ['parts', '---\n---\n---\n'],
    ['variable', '---\n---\n=\n'],
    ['option', '--bogus\n'],
    ['help', '--help\n'],
    ['device', '--device=emulated:gfx1100\n'],
  ] as const) {
    writeFileSync(path.join(place, name), image);
    writeFileSync(path.join(place, `${name}.params`), sidecar);
  }
  symlinkSync('good', path.join(place, 'link'));
  symlinkSync('.', path.join(place, 'loop'));
  symlinkSync('circle', path.join(place, 'circle'));
  const { status, stdout } = await runTests('--jobs=1', place);
  assert.equal(status, 1);
  for (const [name, message] of [
    ['cut', /cut off/],
    ['parts', /4 parts/],
    ['variable', /'=' is not NAME=VALUE/],
    ['option', /unknown option '--bogus'/],
    ['help', /asks for help/],
    ['device', /no code object for gfx1100/],
  ] as const) {
    assert.match(stdout, new RegExp(`^FAIL .*/${name} \\(.*\n.*${message.source}`, 'm'));
  }
  assert.match(stdout, /^PASS .*\/good \(/m);
  assert.match(stdout, /^2 passed, 6 failed of 8 programs, /m);
});

test('a list may come from a pipe', () => {
  const line = `echo "${path.join(folder, 'hello')}" | "$0" "$@" test --format=json /dev/stdin`;
  const argv = ['-c', line, process.execPath, path.join(ROOT, 'bin/wavewright.js')];
  const { stdout, status } = spawnSync('sh', argv, { encoding: 'utf8' });
  assert.deepEqual([status, JSON.parse(stdout).summary.passed], [0, 1]);
});

test('nothing to run is an error', async () => {
  const { status, stderr } = await runTests('--filter=nothing', folder);
  assert.equal(status, 2);
  assert.match(stderr, /there is no program in /);
  const unwritable = await runTests(`--junit=${folder}`, path.join(folder, 'hello'));
  assert.deepEqual([unwritable.status, unwritable.stdout], [3, '']);
  assert.match(unwritable.stderr, /cannot be written \(EISDIR\) \[IO\]/);
});

test('of endless output the end is kept', () => {
  const output = new CapturedOutput();
  for (let n = 0; n < 100; n++) output.write(`${n} `.padEnd(100_000));
  assert.match(output.text(), /^\[earlier output dropped\]\n/);
  assert.match(output.text(), /99 +$/);
  assert.ok(output.text().length < 2.2 * 2 ** 20);
});

test('each program has its profile, in a folder', { timeout: 600_000 }, async () => {
  const profiles = path.join(folder, 'profiles');
  const options = [`--device-profiling-output=${profiles}`, '--device-profiling-mode=dispatch-events,counters'];
  const { status, stderr } = await runTests('--jobs=1', '--timeout=20', ...options, path.join(folder, 'list'));
  assert.deepEqual([status, stderr], [1, '']);
  const files = readdirSync(profiles);
  assert.deepEqual(files.map((file) => /hello|exits/.exec(file)?.[0]).sort(), ['exits', 'hello']);
  for (const file of files) {
    const { stdout } = await runCommand(['profile', 'dispatch', path.join(profiles, file), '--format=jsonl']);
    assert.match(stdout, /"key":"_start"/);
  }
  for (const [argv, message] of [
    [['--device-profiling-mode=counters'], /profiles need a folder: --device-profiling-output=FOLDER/],
    [[...options, '--queue=redis://localhost'], /--device-profiling-output names a folder of this machine/],
  ] as const) {
    const failed = await runTests(...argv, path.join(folder, 'list'));
    assert.deepEqual([failed.status, message.test(failed.stderr)], [2, true], failed.stderr);
  }
});
