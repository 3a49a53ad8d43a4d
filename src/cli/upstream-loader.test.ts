/** The command lines of LLVM's loaders: their flags, messages and statuses. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { runUpstreamLoader } from './upstream-loader.ts';
import type { UpstreamLoader } from './upstream-loader-names.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const example = (name: string) => path.join(ROOT, 'examples', `${name}.gfx90a.co`);
const HELLO = example('hello/hello');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-loader-'));
after(() => rmSync(folder, { recursive: true }));

const NAMES = ['llvm-gpu-loader', 'amdhsa-loader', 'nvptx-loader'] as const;

async function loader(name: UpstreamLoader, argv: readonly string[], env = {}) {
  let stdout = '';
  let stderr = '';
  const status = await runUpstreamLoader(name, argv, {
    stdout: (data) => {
      stdout += Buffer.from(data);
    },
    stderr: (data) => {
      stderr += Buffer.from(data);
    },
    env,
  });
  return { status, stdout, stderr };
}

test('flags of all four loaders, with one dash or two, with = or without', async () => {
  const lanes = (stdout: string) => [stdout.split('\n').length - 1, /of (\d+)/.exec(stdout)![1]];
  for (const flags of [
    ['--threads', '2', '--blocks', '3'],
    ['--threads-x=2', '--blocks-x=3'],
    ['-threads-x', '1', '-threads-y', '2', '-blocks-z', '3'],
    ['-threads=2', '-blocks-y=3', '--no-parallelism'],
    ['--threads=0x2', '-blocks', '0X3', '-no-parallelism=true', '--print-resource-usage=0'],
    ['--threads-z', '2', '--blocks-y', '3', '--print-resource-usage'],
  ]) {
    for (const name of NAMES) {
      const { status, stdout } = await loader(name, [...flags, HELLO, 'x', '--threads', '0x9']);
      assert.equal(status, 0, flags.join(' '));
      assert.deepEqual(lanes(stdout), [6, '6'], flags.join(' '));
      assert.match(stdout, /argc=4/);
    }
  }
});

test('the status is that of the program', async () => {
  assert.equal((await loader('llvm-gpu-loader', [example('checks/exit-early')])).status, 3);
  assert.equal((await loader('amdhsa-loader', [example('checks/abort')])).status, 134);
  const fault = await loader('llvm-gpu-loader', [example('checks/null-dereference')]);
  assert.equal(fault.status, 134);
  assert.match(fault.stderr, /^loader: error: .*null-dereference.*invalid read/);
});

test('errors of the loader are status 1, with its prefix', async () => {
  const cuda = path.join(folder, 'cuda');
  writeFileSync(cuda, readFileSync(HELLO).with(18, 190));
  const { LICENSE, none } = { LICENSE: path.join(ROOT, 'LICENSE'), none: path.join(folder, 'none') };
  for (const [argv, message] of [
    [[none], /^loader: error: .*none: no such file/],
    [[LICENSE], /^loader: error: .*LICENSE/],
    [['--threads', 'many', HELLO], /--threads takes an integer/],
    [['--unknown', HELLO], /unknown option '--unknown'/],
    [['--threads'], /--threads needs a value/],
    [['--threads=2000', HELLO], /takes at most 1024/],
    [['--threads', '0', HELLO], /--threads takes an integer from 1/],
    [['--threads', '-1', HELLO], /--threads takes an integer from 1/],
    [['--threads=0x', HELLO], /--threads takes an integer from 1/],
    [['--print-resource-usage=maybe', HELLO], /takes no value/],
    [['--blocks', '2'], /missing argument/],
    [[cuda], /machine code for NVIDIA GPUs alone \(sm_63\)/],
  ] as const) {
    for (const name of NAMES) {
      const { status, stdout, stderr } = await loader(name, argv);
      assert.deepEqual([status, stdout], [1, ''], argv.join(' '));
      assert.match(stderr, message);
    }
  }
});

test('without arguments: usage of the early loader on stdout, an error of the later one', async () => {
  const early = await loader('amdhsa-loader', []);
  assert.deepEqual([early.status, early.stderr], [0, '']);
  assert.match(early.stdout, /^usage: amdhsa-loader/);
  assert.equal((await loader('llvm-gpu-loader', [])).status, 1);
  const help = await loader('llvm-gpu-loader', ['-help']);
  assert.equal(help.status, 0);
  assert.match(help.stdout, /^usage: wavewright llvm-gpu-loader .*\n[\s\S]*--threads-x, --threads=N/);
  assert.match((await loader('llvm-gpu-loader', ['--version'])).stdout, /^llvm-gpu-loader/);
});

test('no words before the image make anything but a status of the loader and a message', async () => {
  const value = fc.oneof(
    fc.constantFrom('0', '1', '2', '0x2', '-1', '', 'x', '1e9', '18446744073709551616', 'true'),
    fc.string({ maxLength: 5 }),
  );
  const name = fc.constantFrom(
    'threads',
    'blocks',
    'threads-z',
    'blocks-y',
    'print-resource-usage',
    'env',
    'device',
    'x',
    '',
  );
  const word = fc.oneof(
    fc
      .tuple(fc.constantFrom('', '-', '--', '---'), name, fc.constantFrom('', '='), value)
      .map((parts) => parts.join('')),
    value,
  );
  // Standard input as the image, and help.
  const words = fc.array(word, { maxLength: 6 }).filter((all) => !all.some((one) => /^(-|--?h(elp)?)$/.test(one)));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...NAMES), words, async (loaderName, before) => {
      // Whatever is taken for the image is not there.
      const { status, stderr } = await loader(loaderName, [...before, path.join(folder, 'none')]);
      assert.equal(status, 1);
      assert.match(stderr, /^loader: error: /);
    }),
    { numRuns: 300 },
  );
});

test('an image may be named like an option', async () => {
  copyFileSync(HELLO, path.join(folder, '-image'));
  const before = process.cwd();
  process.chdir(folder);
  try {
    const { status, stdout } = await loader('amdhsa-loader', ['--threads', '2', '-image', '--blocks', '5']);
    assert.equal(status, 0);
    assert.match(stdout, /Hello, --blocks, from lane 1 of 2/);
    assert.equal((await loader('llvm-gpu-loader', ['-image'])).status, 1);
  } finally {
    process.chdir(before);
  }
});

test('the stack size of the runtime under LLVM 23', async () => {
  const argv = ['--print-resource-usage', HELLO];
  const { stderr } = await loader('llvm-gpu-loader', argv, { LIBOMPTARGET_STACK_SIZE: '65536' });
  assert.match(stderr, /scratch 65536 bytes per work-item \(dynamic stack\)/);
});

test('as programs of those names', () => {
  for (const name of NAMES) {
    const argv = [path.join(ROOT, 'bin', `${name}.js`), '--threads', '2', HELLO, 'x'];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.equal(stdout, 'Hello, x, from lane 0 of 2 (argc=2)\nHello, x, from lane 1 of 2 (argc=2)\n');
  }
});
