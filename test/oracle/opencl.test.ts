/**
 * The kernels of `test/data/opencl` and `test/data/hip`, built by clang as OpenCL C, C and HIP for GPUs and
 * as C or C++ for this machine: every buffer must hold the same afterwards, at -O0, -O2 and on gfx90a one of
 * the other levels, which differs from source to source. `WAVEWRIGHT_SOURCE=NAME` runs the sources whose
 * names begin so, `WAVEWRIGHT_TARGET=NAME` the GPUs, `WAVEWRIGHT_SCALE=full` all levels and builds on all
 * GPUs.
 */
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { after, type TestContext, test } from 'node:test';
import { WavewrightError } from '../../src/base/errors.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { inParallel } from '../fuzz/differential.ts';
import { IS_FULL_SCALE, sampled } from '../scale.ts';
import { AES_KEY, aesBlocks, aesLaunch } from './opencl/algorithms.ts';
import { Compilers, definitions, LEVELS, type Level, type Target } from './opencl/compilers.ts';
import { KernelDevice } from './opencl/device.ts';
import { HAS_DEVICE_LIBRARIES } from './opencl/device-libraries.ts';
import { differences } from './opencl/differences.ts';
import { buffer, bytesOf, type Launch, launch, type Results } from './opencl/launch.ts';
import type { Build, Subject } from './opencl/subject.ts';
import { ALL_SUBJECTS, buildsOf, languagesOf } from './opencl/subjects.ts';

/**
 * `levels`: what is built. `everything`: all builds in all languages, not only the first of each source, and
 * at one more level.
 */
interface Tested extends Target {
  readonly levels: readonly Level[];
  readonly everything: boolean;
}

const SAMPLED: readonly Tested[] = [
  { processor: 'gfx90a', waveSize: 64, levels: ['O0', 'O2'], everything: true },
  { processor: 'gfx942', waveSize: 64, levels: ['O2'], everything: false },
  { processor: 'gfx1100', waveSize: 32, levels: ['O0', 'O2'], everything: false },
  { processor: 'gfx1100', waveSize: 64, levels: ['O2'], everything: false },
];
/** Of each source another one. */
const OTHER_LEVELS = LEVELS.filter((level) => level !== 'O0' && level !== 'O2');
const TARGETS = IS_FULL_SCALE ? SAMPLED.map((target) => ({ ...target, levels: LEVELS, everything: true })) : SAMPLED;

/**
 * What an executor runs: which levels, about how many work-items, and whether all builds in all languages or
 * one.
 */
interface Executor {
  readonly name: ExecutorName;
  readonly items: number;
  readonly levels: readonly Level[];
  readonly everything: boolean;
}

const EXECUTORS: readonly Executor[] = [
  { name: 'handlers', items: 500, levels: LEVELS, everything: true },
  { name: 'reference', items: 70, levels: ['O2'], everything: false },
  { name: 'jit', items: 70, levels: ['O0', 'O2'], everything: false },
];
const devices = new Map<string, KernelDevice>();
const compilers = new Compilers();
after(() => compilers.close());

function deviceOf({ processor }: Target, { name }: Executor): KernelDevice {
  const key = `${processor} ${name}`;
  const device = devices.get(key) ?? new KernelDevice(processor, name);
  devices.set(key, device);
  return device;
}

const onHost = new Map<string, Promise<Results[]>>();

/** What the host has for launches; builds and GPUs that are alike share it. */
function expectedOf(launches: readonly Launch[], source: string, items: number, target: Target): Promise<Results[]> {
  const name = [source, items, ...definitions(target)].join(' ');
  const expected = onHost.get(name) ?? compilers.onHost(name, source, launches, target);
  onHost.set(name, expected);
  return expected;
}

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

async function testBuild(target: Tested, subject: Subject, build: Build, isFirst: boolean, t: TestContext) {
  const { source, launches } = subject;
  const sets = EXECUTORS.map((executor) => ({ executor, launches: launches(executor.items, target) }));
  const expected = await Promise.all(
    sets.map(({ executor, launches }) => expectedOf(launches, source, executor.items, target)),
  );
  const languages = languagesOf(subject).slice(0, target.everything ? undefined : 1);
  const levels = target.levels.filter((level) => IS_FULL_SCALE || (subject.levels?.includes(level) ?? true));
  const images = languages.flatMap((language) => levels.map((level) => ({ language, level })));
  const found: string[] = [];
  let launched = 0;
  await inParallel(images, 2, async ({ language, level }) => {
    const image = await compilers.forDevice(source, language, level, target, build.flags);
    sets.forEach(({ executor, launches }, k) => {
      const { name, levels, everything } = executor;
      if (!levels.includes(level) || (!everything && (!isFirst || language !== languages[0]))) return;
      deviceOf(target, executor).load(image, source, (run) => {
        const lines = compare(run, launches, expected[k]!);
        found.push(...lines.map((line) => `${language} -${level}, ${name}: ${line}`));
        launched += launches.length;
      });
    });
  });
  t.diagnostic(`${images.length} images, ${launched} launches`);
  assert.deepEqual(found, []);
}

const isRequired = process.env['WAVEWRIGHT_REQUIRE_ORACLES'] !== undefined;
test("AMD's device libraries are there", { skip: !isRequired }, () => assert.ok(HAS_DEVICE_LIBRARIES));

const onlySource = process.env['WAVEWRIGHT_SOURCE'] ?? '';
const onlyTarget = process.env['WAVEWRIGHT_TARGET'] ?? '';
for (const target of TARGETS.filter(({ processor }) => processor.startsWith(onlyTarget))) {
  for (const [turn, subject] of ALL_SUBJECTS.entries()) {
    if (!subject.source.startsWith(onlySource)) continue;
    const more = target.everything && !IS_FULL_SCALE ? sampled(OTHER_LEVELS, OTHER_LEVELS.length, turn) : [];
    const tested = { ...target, levels: [...target.levels, ...more] };
    const builds = buildsOf(subject, target).filter(
      ({ processors }, k) => processors !== undefined || k === 0 || target.everything,
    );
    for (const [k, build] of builds.entries()) {
      const flags = build.flags.filter(
        (flag) => !flag.endsWith('.bc') && !/^-(Xclang|mlink-builtin-bitcode)$/.test(flag),
      );
      const name = [target.processor, `wave${target.waveSize}:`, subject.source, ...flags].join(' ');
      test(name, (t) => testBuild(tested, subject, build, k === 0, t));
    }
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

test("the kernel's AES is AES", async () => {
  const count = 20;
  const [results] = await compilers.onHost('aes', 'algorithms.cl', [aesLaunch(count)], TARGETS[0]!);
  const cipher = createCipheriv('aes-128-ecb', AES_KEY, null);
  assert.deepEqual(Buffer.from(results![0]!), cipher.update(aesBlocks(count)));
});
