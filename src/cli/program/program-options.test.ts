/** What the options of `run` do to a program, seen from outside. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parseArguments } from '../arguments/options.ts';
import { acquireMachineLock } from '../process/machine-lock.ts';
import { runCommand } from '../run-command.test-support.ts';
import { PROGRAM_OPTIONS, runOptions } from './program-options.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const HELLO = path.join(ROOT, 'examples/hello/hello.gfx90a.co');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-run-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(path.join(folder, 'input'), 'some input');

const run = (...argv: string[]) => runCommand(['run', ...argv], { HOME: '/x', LANG: 'C' });

/** What `runProgram` gets. */
function options(...argv: string[]) {
  const grammar = { name: 'run', operands: { usage: '', min: 0, max: 0 }, options: PROGRAM_OPTIONS };
  const parsed = parseArguments(grammar, argv);
  assert.ok(!parsed.help);
  let stderr = '';
  const context = {
    stdout: () => undefined,
    stderr: (data: Uint8Array | string) => {
      stderr += Buffer.from(data);
    },
    env: { HOME: '/x', LANG: 'C' },
  };
  const resources = new DisposableStack();
  after(() => resources.dispose());
  return { ...runOptions(parsed.options, context, resources), said: () => stderr };
}

const READ = { read: true, write: false, append: false, create: false, truncate: false, exclusive: false };

test('the environment is that of the caller, with changes, or empty', () => {
  assert.deepEqual(options().env, { HOME: '/x', LANG: 'C' });
  assert.deepEqual(options('--env', 'HOME=/', '--env=EMPTY=').env, { HOME: '/', LANG: 'C', EMPTY: '' });
  assert.deepEqual(options('--clear-env', '--env=A=b=c').env, { A: 'b=c' });
  for (const bad of ['A', '=b', '']) assert.throws(() => options(`--env=${bad}`), /--env takes NAME=VALUE/);
});

test('standard input and relative paths are where the options say', () => {
  const { stdin } = options(`--stdin=${path.join(folder, 'input')}`);
  const into = new Uint8Array(4);
  assert.ok(typeof stdin === 'object' && 'read' in stdin);
  assert.equal(stdin.read(into), 4);
  assert.equal(Buffer.from(into).toString(), 'some');
  assert.throws(() => options(`--stdin=${folder}/none`), /none: cannot be opened for reading$/);
  assert.throws(() => options(`--stdin=${folder}`), /is a directory, expected a file$/);
  assert.throws(() => options(`--cwd=${folder}/none`), /none: no such directory$/);
  assert.throws(() => options(`--cwd=${folder}/input`), /input: is no directory$/);
  const { filesystem } = options(`--cwd=${folder}`);
  assert.equal(filesystem!.open('input', READ)?.sizeBytes, 10);
  assert.equal(filesystem!.open(path.join(folder, 'input'), READ)?.sizeBytes, 10);
  assert.equal(options().filesystem!.open('input', READ), undefined);
});

test('any option of the sandbox closes it', () => {
  for (const flags of [['--sandbox'], ['--allow-system'], [`--allow-write=${folder}`]]) {
    const { filesystem, limits } = options(`--cwd=${folder}`, ...flags);
    assert.equal(filesystem!.open('input', READ), undefined, flags.join());
    assert.deepEqual(limits, { openFiles: 64, outputBytes: 2 ** 30 });
  }
  const { filesystem } = options(`--cwd=${folder}`, `--allow-read=${folder}`);
  assert.ok(filesystem!.open('input', READ)?.close());
  assert.deepEqual(options('--max-output=5', '--max-open-files=2', '--heap-size=3').limits, {
    outputBytes: 5,
    openFiles: 2,
    heapBytes: 3,
  });
});

test('commands run with the directory and environment of the program, and not in the sandbox', async () => {
  const { signal } = new AbortController();
  const { system } = options(`--cwd=${folder}`, '--env=STATUS=3');
  assert.equal(await system!('test -f input && exit $STATUS', signal), 3 << 8);
  assert.equal(await system!('kill -9 $$', signal), 9);
  assert.equal(await system!('x'.repeat(2 ** 20), signal), -1);
  const { system: refused, said } = options('--sandbox');
  assert.equal(refused!('touch x\n', signal), -1);
  assert.equal(said(), "wavewright: sandbox: refused to run 'touch x\\x0a'\n");
  for (let n = 0; n < 100; n++) refused!('x'.repeat(1000), signal);
  const lines = said().trimEnd().split('\n');
  assert.equal(lines.length, 21);
  assert.ok(lines.every((line) => line.length < 400));
  assert.match(lines.at(-1)!, /further refusals are not shown$/);
  assert.equal(await options('--allow-system').system!('exit 1', signal), 256);
});

test('what a command started ends with it', async () => {
  const { system } = options(`--cwd=${folder}`);
  const stop = new AbortController();
  const status = system!('sleep 1000 & echo $! >started; wait', stop.signal);
  const started = path.join(folder, 'started');
  await eventually(() => existsSync(started) && readFileSync(started, 'utf8').endsWith('\n'));
  stop.abort();
  assert.equal(await status, -1);
  const stat = `/proc/${readFileSync(started, 'utf8').trim()}/stat`;
  // Where nobody waits for processes without a parent, it stays as a zombie.
  await eventually(() => !existsSync(stat) || / Z /.test(readFileSync(stat, 'utf8')));
  assert.equal(await system!('true', stop.signal), -1);
});

async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('--inspect loads, says what would run, and runs nothing', async () => {
  const { status, stdout, stderr } = await run('--inspect', '--blocks=3', '--threads-y=2', HELLO);
  assert.deepEqual([status, stderr], [0, '']);
  assert.match(
    stdout,
    /hello\.gfx90a\.co: runs on emulated:gfx90a\n {2}generation {2}P20 \(C library of LLVM 20 to 22\)\n/,
  );
  assert.match(stdout, /RPC {9}192 ports, 64 lanes, 791040 bytes/);
  assert.match(
    stdout,
    /_start: .* wave64, occupancy \d waves\/SIMD\n {6}3x1x1 blocks of 1x2x1 threads, \d+ hidden arguments/,
  );
  assert.doesNotMatch(stdout, /Hello/);
  const early = await run('--inspect', HELLO.replace('hello.gfx', 'hello-p19.gfx'));
  assert.match(early.stdout, /P19 \(C library of LLVM 19\)/);
});

test('conversations, statistics and resources are told beside the output of the program', async () => {
  const trace = path.join(folder, 'trace');
  const told = await run('--stats', '--print-resource-usage', `--trace-rpc=${trace}`, HELLO, 'world');
  assert.deepEqual([told.status, told.stdout], [0, 'Hello, world, from lane 0 of 1 (argc=2)\n']);
  assert.match(told.stderr, /_start: \d+ VGPRs/);
  assert.match(
    told.stderr,
    /statistics:\n {2}load .* ms\n {2}_begin .* instructions, 1 waves, 1 workgroups, 100\.0% handlers\n/,
  );
  assert.match(told.stderr, /RPC PRINTF_TO_STDOUT_PACKED +[\d.]+ ms, 1 conversations/);
  assert.match(
    readFileSync(trace, 'utf8'),
    /^port 0 PRINTF_TO_STDOUT_PACKED lane 0: < format="Hello, %s.*< string="world" > result=40 address=0x0\n/,
  );
  const here = await run('--trace-rpc', HELLO);
  assert.match(here.stderr, /^rpc: port 0 PRINTF/);
  const nowhere = await run(`--trace-rpc=${folder}/none/x`, HELLO);
  assert.match(nowhere.stderr, /cannot be opened for writing \[IO\]/);
});

test('in the sandbox the program sees failures, and the user the refusals', async () => {
  const image = path.join(ROOT, 'examples/sha256/sha256.gfx90a.co');
  const license = path.join(ROOT, 'LICENSE');
  const closed = await run('--sandbox', image, license);
  assert.equal(closed.status, 1);
  assert.match(
    closed.stderr,
    /^wavewright: sandbox: refused to read '.*LICENSE': outside of what is allowed\nsha256: cannot open/,
  );
  const open = await run(`--allow-read=${ROOT}`, image, license);
  assert.deepEqual([open.status, open.stderr], [0, '']);
  assert.equal(open.stdout, (await run(image, license)).stdout);
});

test('limits end the program or show in its results', async () => {
  const much = await run('--max-output=20', HELLO, 'much');
  assert.equal(much.status, 3);
  assert.match(
    much.stderr,
    /RPC port 0, PRINTF_TO_STDOUT_PACKED, lane 0: the program writes more than 20 bytes \[LIMIT_EXCEEDED\]/,
  );
});

test('a machine has one lock, and a holder that dies gives it back', async () => {
  const name = `wavewright-test-${process.pid}`;
  const order: string[] = [];
  const first = await acquireMachineLock(name);
  const second = acquireMachineLock(name).then((lock) => {
    order.push('second');
    lock[Symbol.dispose]();
  });
  await new Promise((resolve) => setTimeout(resolve, 60));
  order.push('first');
  first[Symbol.dispose]();
  await second;
  assert.deepEqual(order, ['first', 'second']);
  const source = `const { acquireMachineLock } = await import(${JSON.stringify(path.join(import.meta.dirname, '../process/machine-lock.ts'))});
    await acquireMachineLock(${JSON.stringify(name)}); console.log('held'); setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  holder.kill('SIGKILL');
  (await acquireMachineLock(name))[Symbol.dispose]();
});

test('the stack of a work-item is one option of run and dispatch', async () => {
  const { dispatch } = await import('../commands/dispatch.ts');
  assert.equal(dispatch.options['stack-size'], PROGRAM_OPTIONS['stack-size']);
});
