/**
 * The kernels of `test/data/opencl`, built by clang as OpenCL C and as C for gfx90a and as C for this machine: every buffer must hold
 * the same afterwards, at every optimisation level.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { Compilers, type Language, LEVELS, type Level } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { differences } from './opencl/differences.ts';
import { EXACT, SUBJECTS } from './opencl/launches.ts';

interface Variant {
  readonly executor: ExecutorName;
  readonly levels: readonly Level[];
  /** Work-items of a launch. */
  readonly items: number;
}

const VARIANTS: readonly Variant[] = [
  { executor: 'handlers', levels: LEVELS, items: 170 },
  { executor: 'reference', levels: ['O0', 'O2'], items: 70 },
];

const compilers = new Compilers();
after(() => compilers.close());

for (const { source, flags = EXACT, launches: launchesFor } of SUBJECTS) {
  const languages: readonly Language[] = source.endsWith('.cl') ? ['OpenCL C', 'C'] : ['C'];
  test(`${source} ${flags.join(' ')}`, async () => {
    const found: string[] = [];
    for (const { executor, levels, items } of VARIANTS) {
      const launches = launchesFor(items);
      const expected = await compilers.onHost(source, launches);
      const device = new KernelDevice(executor);
      for (const language of languages) {
        for (const level of levels) {
          const image = await compilers.forDevice(source, language, level, flags);
          device.load(image, source, (run) => {
            for (const [i, launch] of launches.entries()) {
              const lines = differences(launch, run(launch), expected[i]!);
              found.push(...lines.map((line) => `${language} -${level}, ${executor}: ${line}`));
            }
          });
        }
      }
    }
    assert.deepEqual(found, []);
  });
}
