/**
 * The counters and waits of effects against clang-19, which inserts a wait before each use of what a memory
 * access gives: by our effects its code is safe on every way, and is no longer where a wait is left out.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { AmdgpuStep } from '../../src/isa/amdgpu/step.ts';
import { blocksOfFunctions, type StepBlocks } from '../../src/lift/blocks.test-support.ts';
import { InFlightAnalysis } from '../../src/lift/in-flight.ts';
import { hasClang } from './device-code.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-wait-counters-'));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS = [
  ...['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-w', '-O2', '-c', '-cl-std=CL2.0'],
  ...['-Xclang', '-finclude-default-header', '-Itest/data/opencl', '-DWAVE=32'],
];
const SOURCES = [
  ...['algorithms', 'control', 'floats', 'groups', 'integers', 'memory', 'patterns', 'vectors'].map(
    (name) => `test/data/opencl/${name}`,
  ),
  ...['bitonic', 'histogram', 'matmul16', 'nbody', 'reduction', 'sha256', 'stencil'].map(
    (name) => `examples/kernels/${name}`,
  ),
];
const PROCESSORS = [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1100', 32],
  ['gfx1200', 32],
] as const;
/** Functions that are looked at once for each of their waits. */
const LONGEST = 300;
const NEEDED_SHARE = 0.75;

function compiled(source: string, processor: string): Uint8Array {
  const output = path.join(folder, `${path.basename(source)}-${processor}.o`);
  const result = spawnSync('clang-19', [...OPTIONS, `-mcpu=${processor}`, `${source}.cl`, '-o', output], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  assert.equal(result.status, 0, result.stderr);
  return readFileSync(output);
}

/** A step that uses what it had to wait for, in words; `without` does not wait. */
function unsafeUse(blocks: StepBlocks, without?: AmdgpuStep): string | undefined {
  const options = { atEntry: 'nothing', afterCalls: 'nothing', ...(without && { without }) } as const;
  const analysis = new InFlightAnalysis(blocks, [blocks[0]!], options);
  for (const block of blocks) {
    for (const { step, state } of analysis.walk(block, true)) {
      const [pending] = state.neededBefore(step);
      if (pending) return `${step.text()} at ${step.offset} needs ${pending.counter} of ${pending.producer.text()}`;
    }
  }
  return undefined;
}

for (const [processor, waveSize] of PROCESSORS) {
  test(`${processor}: clang's code waits for what it uses, and each wait counts`, { skip: !hasClang }, () => {
    let [waits, needed] = [0, 0];
    for (const source of SOURCES) {
      for (const [name, blocks] of blocksOfFunctions(compiled(source, processor), processor, waveSize)) {
        assert.equal(unsafeUse(blocks), undefined, `${source} ${name}`);
        const steps = blocks.flatMap(({ instructions }) => instructions);
        if (steps.length > LONGEST) continue;
        for (const step of steps) {
          if (step.effects.waits.size === 0) continue;
          waits++;
          if (unsafeUse(blocks, step) !== undefined) needed++;
        }
      }
    }
    // The others order memory: before barriers, and behind atomics.
    assert.ok(needed / waits > NEEDED_SHARE, `${needed} of ${waits} waits are needed`);
  });
}
