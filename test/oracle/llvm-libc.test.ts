/**
 * Programs of ours built against LLVM's own GPU libc, of any generation: CONTRIBUTING.md says how to get one.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createEmulatedDevice } from '../../src/index.ts';
import { type ImageRun, runImage } from '../fuzz/run-image.ts';

const { WAVEWRIGHT_LLVM_LIBC: prefix, WAVEWRIGHT_LLVM_LIBC_CLANG: clang = 'clang-19' } = process.env;
const TRIPLE = 'amdgcn-amd-amdhsa';
const skip = prefix === undefined && 'WAVEWRIGHT_LLVM_LIBC does not name the folder of an installed GPU libc';

const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-llvm-libc-'));
after(() => rmSync(folder, { recursive: true }));

function build(name: string, processor: string): Uint8Array {
  const libraries = [path.join(prefix!, 'lib', TRIPLE), path.join(prefix!, 'lib')].find((at) =>
    existsSync(path.join(at, 'crt1.o')),
  );
  assert.ok(libraries, `no crt1.o in lib or lib/${TRIPLE} of ${prefix}`);
  const output = path.join(folder, `${name}.${processor}.co`);
  const source = path.join(import.meta.dirname, 'llvm-libc', `${name}.c`);
  // The compiler would make OpenCL's printf of a known one; constructors are run by the start-up code.
  const compile = ['-std=c17', '-O2', '-flto', '-Wall', '-Wextra', '-fno-builtin-printf', '-nogpulib', '-nostdlibinc'];
  const link = ['-nostdlib', '-Wl,-mllvm,-amdgpu-lower-global-ctor-dtor=0'];
  const headers = ['-isystem', path.join(prefix!, 'include', TRIPLE)];
  const objects = [path.join(libraries, 'crt1.o'), `-L${libraries}`, '-lc', '-lm'];
  const argv = [`--target=${TRIPLE}`, `-mcpu=${processor}`, ...compile, ...link, ...headers, source, ...objects];
  const { status, stderr, error } = spawnSync(clang, [...argv, '-o', output], { encoding: 'utf8' });
  assert.equal(status, 0, `${clang}: ${stderr || error}`);
  return readFileSync(output);
}

const RUNS: readonly { name: string; run: ImageRun; stdout?: readonly string[]; status?: number }[] = [
  {
    name: 'library',
    run: { args: ['one'], env: { A: 'b' } },
    stdout: [
      'arguments: 2 one A=b',
      'sorted: 1, 0 to 100',
      'numbers: -127 z 42 1099511627776 -2500.000',
      'strings: 6 1 ;c! b;c! 0',
      'upper: A,B;C! 1',
      'memory: 1 7',
      'math: 1.414214 1.414214 -2.0',
      'formats: [   42|42   |00042|+42|ff|010|z|       abc|%|18446744073709551615]',
      'atexit',
    ],
    status: 3,
  },
  { name: 'files', run: { threads: [70, 1, 1], blocks: [2, 1, 1] } },
  { name: 'storm', run: { threads: [64, 1, 1], blocks: [32, 1, 1] } },
];

for (const processor of ['gfx90a', 'gfx942', 'gfx1100']) {
  for (const { name, run, stdout = [], status = 0 } of RUNS) {
    test(`${name} with LLVM's libc on ${processor}`, { skip }, async () => {
      const device = createEmulatedDevice({ processor });
      try {
        const result = await runImage(build(name, processor), { device, ...run });
        const expected = { stdout: stdout.map((line) => `${line}\n`).join(''), stderr: '', status };
        assert.deepEqual({ stdout: result.stdout, stderr: result.stderr, status: result.status }, expected);
      } finally {
        device.close();
      }
    });
  }
}
