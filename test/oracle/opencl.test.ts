/**
 * The kernels of `test/data/opencl`, built by clang as OpenCL C and as C for gfx90a and as C for this machine: every buffer must hold
 * the same afterwards, at every optimisation level. `WAVEWRIGHT_SOURCE=NAME` runs the sources whose names begin so.
 */
import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { inParallel } from '../fuzz/differential.ts';
import { Compilers, type Language, LEVELS, type Level } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { differences } from './opencl/differences.ts';
import { buffer, bytesOf, type Launch, launch, type Results } from './opencl/launch.ts';
import { EXACT, SUBJECTS, type Subject } from './opencl/launches.ts';

/** What an executor runs: which levels, about how many work-items, and whether all builds in all languages or one. */
const EXECUTORS: readonly {
  readonly name: ExecutorName;
  readonly device: KernelDevice;
  readonly items: number;
  readonly levels: readonly Level[];
  readonly everything: boolean;
}[] = [
  { name: 'handlers', device: new KernelDevice('handlers'), items: 500, levels: LEVELS, everything: true },
  { name: 'reference', device: new KernelDevice('reference'), items: 70, levels: ['O0', 'O2'], everything: false },
];
const compilers = new Compilers();
after(() => compilers.close());

/** One line for each buffer that differs and each launch that fails. */
function compare(
  run: (launch: Launch) => Results,
  launches: readonly Launch[],
  expected: readonly Results[],
): string[] {
  return launches.flatMap((launch, i) => {
    try {
      return differences(launch, run(launch), expected[i]!);
    } catch (error) {
      if (!(error instanceof WavewrightError)) throw error;
      return [`${launch.kernel}: ${error.message}`];
    }
  });
}

async function testBuild({ source, launches }: Subject, flags: readonly string[], isFirst: boolean, t: TestContext) {
  const sets = EXECUTORS.map((executor) => ({ ...executor, launches: launches(executor.items) }));
  const onHost = sets.map(({ name, launches }) => compilers.onHost(`${name}-${source}`, source, launches));
  const expected = await Promise.all(onHost);
  const languages: Language[] = source.endsWith('.cl') ? ['OpenCL C', 'C'] : ['C'];
  const images = languages.flatMap((language) => LEVELS.map((level) => ({ language, level })));
  const found: string[] = [];
  let launched = 0;
  await inParallel(images, 2, async ({ language, level }) => {
    const image = await compilers.forDevice(source, language, level, flags);
    sets.forEach(({ name, device, levels, everything, launches }, k) => {
      if (!levels.includes(level) || (!everything && (!isFirst || language !== languages[0]))) return;
      device.load(image, source, (run) => {
        const lines = compare(run, launches, expected[k]!);
        found.push(...lines.map((line) => `${language} -${level}, ${name}: ${line}`));
        launched += launches.length;
      });
    });
  });
  t.diagnostic(`${images.length} images, ${launched} launches`);
  assert.deepEqual(found, []);
}

const only = process.env['WAVEWRIGHT_SOURCE'] ?? '';
for (const subject of SUBJECTS.filter(({ source }) => source.startsWith(only))) {
  for (const [k, flags] of (subject.builds ?? [EXACT]).entries()) {
    test([subject.source, ...flags].join(' '), (t) => testBuild(subject, flags, k === 0, t));
  }
}

test('a difference of one bit is found, a tolerance is kept', () => {
  const contents = Float32Array.of(1, 2, 3, 4);
  const changed = contents.slice();
  const bits = new Uint32Array(changed.buffer);
  bits[2]! += 2;
  const compareWith = (ulps?: number): string[] =>
    differences(launch('kernel', [buffer(contents, ulps)], [2], [1]), [bytesOf(changed)], [bytesOf(contents)]);
  assert.deepEqual(compareWith(2), []);
  const where = 'kernel, buffer 0: 1 of 4 numbers differ, first number 2 (work-item 1 of x)';
  for (const ulps of [undefined, 1]) assert.deepEqual(compareWith(ulps), [`${where}: ${changed[2]}, expected 3`]);
});
