/**
 * The checks of code against clang-19: what it compiles has no findings, and it has some once an s_nop or a
 * wait is taken out of it, one at a time.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { parseCodeObject } from '../../src/codeobject/code-object.ts';
import type { AmdgpuStep } from '../../src/isa/amdgpu/step.ts';
import { checkCode } from '../../src/lift/check-code.ts';
import { type LiftedCode, liftCodeObject } from '../../src/lift/lifted-code.ts';
import { hasClang } from './device-code.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'wavewright-check-code-'));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS = [
  ...['--target=amdgcn-amd-amdhsa', '-mcode-object-version=5', '-nogpulib', '-w', '-cl-std=CL2.0'],
  ...['-Xclang', '-finclude-default-header', '-Itest/data/opencl'],
];
const SOURCES = ['test/data/opencl/algorithms', 'examples/kernels/bitonic'];
const LEVELS = ['-O0', '-O2', '-Os'];
const PROCESSORS = [
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1100', 32],
  ['gfx1100', 64],
  ['gfx1200', 32],
] as const;

function compiled(source: string, processor: string, options: readonly string[]): Uint8Array {
  const output = path.join(folder, 'out.co');
  const argv = [...OPTIONS, ...options, `-mcpu=${processor}`, `${source}.cl`, '-o', output];
  const result = spawnSync('clang-19', argv, { cwd: ROOT, encoding: 'utf8' });
  assert.equal(result.status, 0, result.stderr);
  return readFileSync(output);
}

const lifted = (bytes: Uint8Array, name: string): LiftedCode => liftCodeObject(parseCodeObject(bytes, name));
const findingsOf = (code: LiftedCode): string[] =>
  checkCode(code).map(({ address, rule, text }) => `${code.stepAt(address)?.text()} ${rule}: ${text}`);

for (const [processor, waveSize] of PROCESSORS) {
  test(`${processor} wave${waveSize}: clang's code has no findings`, { skip: !hasClang }, () => {
    const wave = waveSize === 64 && !processor.startsWith('gfx9') ? ['-mwavefrontsize64'] : [];
    for (const source of SOURCES) {
      for (const level of LEVELS) {
        const name = `${source} ${level}`;
        assert.deepEqual(
          findingsOf(lifted(compiled(source, processor, [level, `-DWAVE=${waveSize}`, ...wave]), name)),
          [],
          name,
        );
      }
    }
  });
}

/** The bytes with a step made to wait for nothing: s_nop 0, one wait state, in place of it. */
function withoutStep(bytes: Uint8Array, code: LiftedCode, { offset, sizeBytes }: AmdgpuStep): Uint8Array {
  const segment = code.codeObject.elf.segments.find(
    ({ virtualAddress, fileSizeBytes }) =>
      BigInt(offset) >= virtualAddress && BigInt(offset) < virtualAddress + BigInt(fileSizeBytes),
  )!;
  const copy = Uint8Array.from(bytes);
  const view = new DataView(copy.buffer);
  for (let at = 0; at < sizeBytes; at += 4) {
    view.setUint32(Number(segment.offset) + offset - Number(segment.virtualAddress) + at, 0xbf80_0000, true);
  }
  return copy;
}

/** How many of the steps that `takes` says are missed when they are gone, of how many. */
function missed(bytes: Uint8Array, takes: (step: AmdgpuStep) => boolean): { found: number; of: number } {
  const code = lifted(bytes, 'whole');
  const steps = code.functions
    .flatMap(({ blocks }) => blocks.flatMap(({ instructions }) => instructions))
    .filter(takes);
  const found = steps.filter((step) => checkCode(lifted(withoutStep(bytes, code, step), 'mutated')).length > 0);
  return { found: found.length, of: steps.length };
}

const NEEDED_SHARE = 0.5;

for (const [processor, waveSize] of [
  ['gfx90a', 64],
  ['gfx1100', 32],
] as const) {
  test(`${processor}: a wait that is gone is found`, { skip: !hasClang }, () => {
    const bytes = compiled('examples/kernels/bitonic', processor, ['-O2', `-DWAVE=${waveSize}`]);
    const { found, of } = missed(bytes, ({ effects }) => effects.waits.size > 0);
    // The others order memory before barriers, for other waves.
    assert.ok(found / of > NEEDED_SHARE, `${found} of ${of}`);
  });
}

test('gfx942: every s_nop of more than one wait state that clang inserted is found', { skip: !hasClang }, () => {
  const bytes = compiled('test/data/opencl/floats', 'gfx942', ['-O2', '-DWAVE=64']);
  const { found, of } = missed(
    bytes,
    ({ instruction }) => instruction.row.flags.idles === true && instruction.field('simm16') > 0,
  );
  assert.ok(of > 0);
  assert.equal(found, of);
});
