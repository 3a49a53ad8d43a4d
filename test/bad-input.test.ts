/**
 * What is no program, or a bad one: always a clear error with the documented status, never a hang, a stack
 * trace or a crash.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { runCommandLine } from '../src/cli/command-line.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { createEmulatedDevice, openCodeObjects, WavewrightError } from '../src/index.ts';
import { runImage } from './fuzz/run-image.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const example = (name: string): string => path.join(ROOT, 'examples', `${name}.gfx90a.co`);
const codeObject = (name: string): string => path.join(ROOT, 'test/data/codeobjects', name);
const hello = readFileSync(example('hello/hello'));

const scratch = mkdtempSync(path.join(tmpdir(), 'wavewright-bad-input-'));
after(() => rmSync(scratch, { recursive: true }));

let files = 0;
function file(bytes: Uint8Array): string {
  const name = path.join(scratch, `${files++}.co`);
  writeFileSync(name, bytes);
  return name;
}

/** A copy of hello with one change. */
function changed(change: (view: DataView, bytes: Uint8Array) => void): Uint8Array {
  const bytes = Uint8Array.from(hello);
  change(new DataView(bytes.buffer), bytes);
  return bytes;
}

interface Answer {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `wavewright run` in this process. */
async function run(...argv: string[]): Promise<Answer> {
  const output = { stdout: '', stderr: '' };
  const write = (stream: 'stdout' | 'stderr') => (data: Uint8Array | string) => {
    output[stream] += typeof data === 'string' ? data : Buffer.from(data).toString();
  };
  const context = { stdout: write('stdout'), stderr: write('stderr'), env: {} };
  const status = await runCommandLine(COMMANDS, ['run', ...argv], context);
  return { status, ...output };
}

function runProcess(...argv: string[]): Answer {
  const command = [path.join(ROOT, 'bin/wavewright.js'), 'run', ...argv];
  return spawnSync(process.execPath, command, { encoding: 'utf8', timeout: 600_000 });
}

function checkError({ status, stdout, stderr }: Answer, expected: number, message: RegExp): void {
  assert.match(stderr, message);
  assert.equal(status, expected);
  assert.equal(stdout, '');
  assert.match(stderr, /^wavewright: error: \S.* \[[A-Z_]+\]\n/);
  assert.doesNotMatch(stderr, /^\s+at .*:\d+/m, 'no stack trace');
}

/** Offset of a text in the image. */
function find(text: string): number {
  const at = hello.indexOf(text);
  assert.ok(at > 0, `${text} is in the image`);
  return at;
}

const E_MACHINE = 18;
const EM_X86_64 = 62;
const E_FLAGS = 48;

const REFUSED: readonly {
  readonly name: string;
  readonly argv: () => string[];
  readonly status: number;
  readonly message: RegExp;
}[] = [
  { name: 'a missing file', argv: () => [path.join(scratch, 'none')], status: 3, message: /no such file \[IO\]/ },
  { name: 'a directory', argv: () => [scratch], status: 3, message: /is a directory.* \[IO\]/ },
  { name: 'an empty file', argv: () => [file(new Uint8Array())], status: 3, message: /is empty.* \[BAD_INPUT\]/ },
  {
    name: 'text',
    argv: () => [path.join(ROOT, 'package.json')],
    status: 3,
    message: /neither an ELF file nor .* \[BAD_INPUT\]/,
  },
  {
    name: 'a program for the host',
    argv: () => [process.execPath],
    status: 3,
    message: /x86-64|machine|no code object.*\[BAD_INPUT\]/,
  },
  {
    name: 'an ELF file for another machine',
    argv: () => [file(changed((view) => view.setUint16(E_MACHINE, EM_X86_64, true)))],
    status: 3,
    message: /x86-64.*\[BAD_INPUT\]/i,
  },
  {
    name: 'a code object without start-up kernels',
    argv: () => [example('kernels/vadd')],
    status: 3,
    message: /_begin.*\[BAD_INPUT\]/,
  },
  {
    name: 'a code object without a kernel that the program needs',
    argv: () => [file(changed((_, bytes) => bytes.set(Buffer.from('_stort'), find('\0_start.kd\0') + 1)))],
    status: 3,
    message: /_start.*\[BAD_INPUT\]/,
  },
  {
    name: 'another device than the image is for',
    argv: () => ['--device=emulated:gfx942', example('hello/hello')],
    status: 4,
    message: /gfx942.*\[UNSUPPORTED\]/,
  },
  {
    name: 'an image for another processor than the device',
    argv: () => ['--device=emulated:gfx90a', codeObject('tiny.gfx1100.co')],
    status: 4,
    message: /gfx1100.*gfx90a.*\[UNSUPPORTED\]/,
  },
  {
    name: 'an image for a processor that is not emulated',
    argv: () => [codeObject('arguments.gfx803.v5.co')],
    status: 4,
    message: /gfx803.*\[UNSUPPORTED\]/,
  },
  {
    name: 'an image for a processor that does not exist',
    argv: () => [file(changed((view) => view.setUint32(E_FLAGS, 0x5ff, true)))],
    status: 4,
    message: /0xff.*\[UNSUPPORTED\]/,
  },
  { name: 'no such device', argv: () => ['--device=cuda:0', example('hello/hello')], status: 5, message: /NO_DEVICE/ },
  {
    name: 'a corrupted metadata note',
    argv: () => [file(changed((_, bytes) => bytes.set([0xc1], find('amdhsa.kernels') - 1)))],
    status: 3,
    message: /note.*\[BAD_INPUT\]/i,
  },
  {
    name: 'a corrupted note header',
    argv: () => [file(changed((view) => view.setUint32(find('AMDGPU\0') - 8, 0xfffffff0, true)))],
    status: 3,
    message: /note.*\[(BAD_INPUT|LIMIT_EXCEEDED)\]/i,
  },
];

for (const { name, argv, status, message } of REFUSED) {
  test(`${name}: status ${status}`, async () => checkError(await run(...argv()), status, message));
}

test('the process reports what the command line does', async () => {
  for (const name of ['an empty file', 'another device than the image is for', 'a corrupted metadata note']) {
    const row = REFUSED.find((each) => each.name === name)!;
    const argv = row.argv();
    const answer = runProcess(...argv);
    checkError(answer, row.status, row.message);
    assert.equal(answer.stderr, (await run(...argv)).stderr);
  }
});

test('a kernel that never ends: status 124 at the time limit, with the place of every wave', () => {
  // On a machine with much else to do a second may pass while the program loads, or in the kernel before.
  const answers = ['1', '10', '100']
    .values()
    .map((limit) => runProcess('--timeout', limit, example('checks/infinite-loop')));
  const inKernel = /time limit of 10{0,2} s ran out in kernel '_start' \[TIMEOUT\]\n.*pc 0x[0-9a-f]+ in _start\+0x/;
  const answer = answers.find(({ stderr }) => inKernel.test(stderr));
  assert.ok(answer, 'not even 100 s reach the kernel');
  checkError(answer, 124, inKernel);
});

test('a null dereference on the GPU: status 6, with pc, instruction, lane and address', () => {
  const { status, stdout, stderr } = runProcess('--threads', '5', example('checks/null-dereference'));
  assert.deepEqual({ status, stdout }, { status: 6, stdout: 'before the fault\n' });
  assert.match(stderr, /^wavewright: error: .*\[GPU_FAULT\]/);
  assert.match(stderr, /address 0x0\b/);
  assert.match(stderr, /'(flat|global)_(load|store)_\w+ [^']*'/);
  assert.match(stderr, /pc 0x[0-9a-f]+ in \w+\+0x[0-9a-f]+/);
  assert.match(stderr, /wave 0, lane [0-4]\b/);
});

test('a file that ends early is refused wherever it ends', async () => {
  const bytes = readFileSync(example('checks/abort'));
  const device = createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28 });
  const isClear = (error: unknown) =>
    error instanceof WavewrightError && ['BAD_INPUT', 'LIMIT_EXCEEDED', 'UNSUPPORTED'].includes(error.code);
  for (let size = 0; size < bytes.length; size++) {
    const start = bytes.subarray(0, size);
    await assert.rejects(runImage(start, { device, timeoutMs: 600_000 }), isClear, `the first ${size} bytes`);
    assert.throws(() => openCodeObjects(start, 'image'), isClear, `the first ${size} bytes`);
  }
  assert.equal((await runImage(bytes, { device })).status, 134);
  device.close();
});

/** The images whose code and data are damaged, and how often. */
const MUTATED = [
  ['hello/hello', 500],
  ['checks/divergence', 300],
  ['quicksort/quicksort', 200],
] as const;
const FUZZ_LIMIT_MS = 600_000;

for (const [name, count] of MUTATED) {
  test(`${count} damaged copies of ${name}: an error or a result`, { timeout: 2 * FUZZ_LIMIT_MS }, async (t) => {
    // In a process of its own: a hang or a crash there is a failure here, with the number of the image.
    const script = path.join(ROOT, 'test/fuzz/run-mutated-images.ts');
    const child = spawn(process.execPath, [script, example(name), '1', String(count)], { stdio: 'pipe' });
    const timer = setTimeout(() => child.kill('SIGKILL'), FUZZ_LIMIT_MS);
    const output = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (text) => {
        output[stream] += text;
      });
    }
    const status = await new Promise((resolve) => child.on('close', resolve));
    clearTimeout(timer);
    const lines = output.stdout.trimEnd().split('\n');
    assert.equal(status, 0, `${lines.at(-1)}\n${output.stderr}`);
    assert.match(lines.at(-1)!, /^undamaged: the same$/);
    const outcomes = lines.filter((line) => /^\d+ (?!starts)/.test(line)).map((line) => line.replace(/^\d+ /, ''));
    assert.equal(outcomes.length, count);
    const counts = Object.entries(Object.groupBy(outcomes, (outcome) => outcome));
    t.diagnostic(counts.map(([outcome, all]) => `${outcome}: ${all!.length}`).join(', '));
    assert.ok(counts.length >= 4, 'the damage is of many kinds');
  });
}

test('damaged files through every command end in a documented status', () => {
  const fuzzer = path.resolve(import.meta.dirname, 'fuzz/commands.ts');
  const { status, stderr, stdout } = spawnSync(process.execPath, [fuzzer, '4', '1'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^[1-9]\d* commands from seed 1; .*; 0 findings\n$/);
});
