/** Source lines of every instruction against llvm-symbolizer, and in the report of a fault. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { LineTable } from '../../src/codeobject/line-table.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { parseElf } from '../../src/elf/elf.ts';
import { CodeObjectReader, createRuntime, type Fault, HsaError } from '../../src/hsa/index.ts';

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
const isThere = ['clang-19', 'llvm-symbolizer-19'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const skip = isThere || isRequired ? false : 'clang-19 and llvm-symbolizer-19 are not installed';
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-lines-'));
after(() => rmSync(folder, { recursive: true }));

const HEADER = `#define STEP(x) \\
  (x) * 3 + 1
static inline int clampTo(int x, int limit) {
  return x < limit ? x
                   : limit;
}
`;
const SOURCE = `#include "lines.h"
__attribute__((noinline)) int collatz(int n) {
  int steps = 0;
  while (n > 1) {
    if (n & 1)
      n = STEP(n);
    else
      n >>= 1;
    steps++;
  }
  return steps;
}
kernel void k(global int *out, long offset) {
  int i = __builtin_amdgcn_workitem_id_x();
  out[i] = clampTo(collatz(i), 50);
  out[i + offset] = 1;
}
kernel void other(global float *out) {
  for (int i = 0; i < 10; i++)
    out[i] = out[i + 1] / 3.0f;
}
`;
writeFileSync(path.join(folder, 'lines.h'), HEADER);
writeFileSync(path.join(folder, 'lines.cl'), SOURCE);

function compile(processor: string, ...flags: string[]): string {
  const output = path.join(folder, `${processor}${flags.join('')}.co`.replaceAll('/', ''));
  const target = ['--target=amdgcn-amd-amdhsa', `-mcpu=${processor}`, '-nogpulib', '-x', 'cl', '-cl-std=CL2.0'];
  execFileSync('clang-19', [...target, ...flags, path.join(folder, 'lines.cl'), '-o', output], { cwd: folder });
  return output;
}

for (const processor of ['gfx90a', 'gfx1100']) {
  for (const flags of [
    ['-gdwarf-4', '-O0'],
    ['-gdwarf-4', '-O2'],
    ['-gdwarf-5', '-O0'],
    ['-gdwarf-5', '-O2'],
  ]) {
    test(`${processor} ${flags.join(' ')}: lines of all instructions`, { skip }, () => {
      const file = compile(processor, ...flags);
      const elf = parseElf(readFileSync(file), file);
      const code = elf.sectionNamed('.text')!;
      const addresses = Array.from({ length: code.sizeBytes / 4 }, (_, i) => code.address + BigInt(4 * i));
      const input = addresses.map((address) => `0x${address.toString(16)}`).join('\n');
      const options = ['--output-style=JSON', '--no-inlines', '--no-demangle', `--obj=${file}`];
      const lines = execFileSync('llvm-symbolizer-19', options, { input, encoding: 'utf8', maxBuffer: 2 ** 28 });
      const table = LineTable.read(elf);
      let known = 0;
      for (const [i, text] of lines.trim().split('\n').entries()) {
        const {
          Symbol: [symbol],
        } = JSON.parse(text);
        const found = table.lineAt(addresses[i]!);
        const expected =
          symbol === undefined || symbol.Line === 0 ? undefined : [symbol.FileName, symbol.Line, symbol.Column];
        assert.deepEqual(
          found && [path.basename(found.file), found.line, found.column],
          expected && [path.basename(expected[0]), ...expected.slice(1)],
          `0x${addresses[i]!.toString(16)}`,
        );
        if (found !== undefined) {
          known++;
          assert.equal(path.resolve(folder, found.file), path.resolve(folder, expected![0]));
        }
      }
      assert.ok(known > 100, `${known} of ${addresses.length}`);
    });
  }
}

test('a fault names the line, and who freed the memory', { skip }, () => {
  const runtime = createRuntime({ devices: [createEmulatedDevice({ processor: 'gfx90a', memorySizeBytes: 2 ** 28 })] });
  const agent = runtime.gpuAgents[0]!;
  const executable = runtime.createExecutable();
  executable.loadCodeObject(
    agent,
    new CodeObjectReader(readFileSync(compile('gfx90a', '-gdwarf-5', '-O2')), 'lines.co'),
  );
  executable.freeze();
  const kernel = executable.getSymbol('k.kd');
  assert.ok(kernel.kind === 'kernel');
  const pool = runtime.cpuAgent.pool('fine-grained');
  const [out, freed, kernarg] = [pool.allocate(4096), pool.allocate(4096), pool.allocate(4096)];
  pool.free(freed);
  const bytes = runtime.view(kernarg, 16);
  new DataView(bytes.buffer, bytes.byteOffset).setBigUint64(0, out, true);
  new DataView(bytes.buffer, bytes.byteOffset).setBigInt64(8, (freed - out) / 4n, true);
  const faults: Fault[] = [];
  runtime.onSystemEvent(({ fault }) => faults.push(fault));
  const done = runtime.createSignal(1n);
  const { kernelObject, privateSegmentSizeBytes, groupSegmentSizeBytes } = kernel;
  const sizes = { privateSegmentSizeBytes, groupSegmentSizeBytes };
  runtime
    .createQueue(agent)
    .dispatch({ kernel: kernelObject, ...sizes, grid: [64], workgroup: [64], kernarg, completionSignal: done });
  assert.throws(
    () => done.waitSync('eq', 0n),
    (error: unknown) => {
      assert.ok(error instanceof HsaError && error.status === 'MEMORY_FAULT');
      assert.match(
        error.message,
        /inside freed fine-grained pool.*lines\.cl:16:\d+; freed by .*line-table\.test\.ts:\d+/,
      );
      return true;
    },
  );
  assert.deepEqual([faults[0]?.source?.line, faults[0]?.address], [16, freed]);
  runtime[Symbol.dispose]();
});
