/**
 * The kernels of `test/data/opencl`, built by clang as OpenCL C and as C for gfx90a and as C for this machine: every buffer must hold
 * the same afterwards, at every optimisation level. `WAVEWRIGHT_SOURCE=NAME` runs the sources whose names begin so.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import { inParallel } from '../fuzz/differential.ts';
import { Compilers, type Language, LEVELS, type Level } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { differences } from './opencl/differences.ts';
import { buffer, bytesOf, type Launch, launch, type Results } from './opencl/launch.ts';
import { EXACT, SUBJECTS } from './opencl/launches.ts';

/** What an executor runs: which levels, in all languages or one, with about how many work-items. */
const EXECUTORS = {
  handlers: { device: new KernelDevice('handlers'), items: 500, levels: LEVELS, once: false },
  reference: { device: new KernelDevice('reference'), items: 70, levels: ['O0', 'O2'] as readonly Level[], once: true },
} as const;
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

const only = process.env['WAVEWRIGHT_SOURCE'] ?? '';
const subjects = SUBJECTS.filter(({ source }) => source.startsWith(only));
for (const { source, launches, flags } of subjects.flatMap(({ builds = [EXACT], ...subject }) =>
  builds.map((flags) => ({ ...subject, flags })),
)) {
  test([source, ...flags].join(' '), async (t) => {
    const sets = Object.entries(EXECUTORS).map(([executor, { items, ...rest }]) => ({
      executor,
      ...rest,
      launches: launches(items),
    }));
    const expected = await Promise.all(
      sets.map((set) => compilers.onHost(`${set.executor}-${source}`, source, set.launches)),
    );
    const languages: Language[] = source.endsWith('.cl') ? ['OpenCL C', 'C'] : ['C'];
    const images = languages.flatMap((language) => LEVELS.map((level) => ({ language, level })));
    const found: string[] = [];
    let launched = 0;
    await inParallel(images, 2, async ({ language, level }) => {
      const image = await compilers.forDevice(source, language, level, flags);
      for (const [k, set] of sets.entries()) {
        if (!set.levels.includes(level) || (set.once && language !== languages[0])) continue;
        set.device.load(image, source, (run) => {
          const lines = compare(run, set.launches, expected[k]!);
          found.push(...lines.map((line) => `${language} -${level}, ${set.executor}: ${line}`));
          launched += set.launches.length;
        });
      }
    });
    t.diagnostic(`${images.length} images, ${launched} launches`);
    assert.deepEqual(found, []);
  });
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
