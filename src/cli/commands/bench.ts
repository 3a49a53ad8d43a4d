import { arch, cpus, platform } from 'node:os';
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import type { ApplicationBenchmark } from '../../bench/applications/application.ts';
import { APPLICATIONS } from '../../bench/applications.ts';
import {
  applicationGoals,
  GOAL_KERNELS,
  type GoalResult,
  type LaunchCosts,
  limitGoals,
  ratioGoals,
  safetyGoals,
  workerGoals,
} from '../../bench/goals.ts';
import type { CheckedSize, KernelBenchmark, Result } from '../../bench/kernels/kernel-benchmark.ts';
import { KERNELS } from '../../bench/kernels.ts';
import { type ApplicationMeasurement, firstRunMs, measureApplication } from '../../bench/measure-application.ts';
import { type KernelMeasurement, measureKernel } from '../../bench/measure-kernel.ts';
import { Baseline } from '../../bench/node-baseline.ts';
import { APPLICATION_TARGETS, openRunner, readKernelImage } from '../../bench/node-images.ts';
import type { WorkerSpeedUp } from '../../bench/node-worker-speed-up.ts';
import { JS_RIVAL, programRival, type Rival, targetRival, VARIANT_NAMES, variantRival } from '../../bench/rivals.ts';
import { nodeThreads } from '../../devices/emulated/node-threads.ts';
import { keepCodeInFolder } from '../arguments/code-folder.ts';
import { defineCommand } from '../arguments/command.ts';
import { WORKERS_OPTION } from '../arguments/device-name.ts';
import {
  APPLICATION_HEADING,
  applicationLine,
  goalsText,
  KERNEL_HEADING,
  kernelLine,
  launchText,
  workersText,
} from '../text/bench-text.ts';

const { readdirSync, statSync } = process.getBuiltinModule('node:fs');

const TARGETS = ['gfx90a', 'gfx942', 'gfx1100', 'sm_70'];
const OWN_RIVALS: readonly string[] = ['js', ...VARIANT_NAMES, ...TARGETS];
const MAX_SAMPLES = 1000;
/** Threads in the measurement of several against one. */
const DEFAULT_WORKERS = 2;

/** What is measured, and how. */
interface Request {
  readonly kernels: readonly KernelBenchmark[];
  readonly targets: readonly string[];
  readonly applications: readonly ApplicationBenchmark[];
  readonly rivalsOf: (target: string) => Promise<Rival[]>;
  /** Programs among the rivals. */
  readonly programs: readonly string[];
  readonly samples: number;
  /** Threads, where they were asked for. */
  readonly workers: number | undefined;
}

/** Measurements that belong together. */
interface Suite<Measured> {
  readonly name: string;
  /** Whether the suite `goals` has it, too. */
  readonly isInGoals?: boolean;
  /** In front of all results. */
  readonly heading: string;
  /** Gives each result as soon as there is one. */
  readonly measure: (request: Request) => AsyncIterable<Measured>;
  readonly text: (result: Measured) => string;
  /** What is wanted of the results, and whether it was reached. */
  readonly goals: (results: readonly Measured[]) => GoalResult[];
}

const LAUNCH_SUITE: Suite<LaunchCosts> = {
  name: 'launch',
  isInGoals: true,
  heading: '',
  async *measure({ samples }) {
    const { measureCompile, measureEmptyDispatch, measureHello } = await import('../../bench/node-launch-costs.ts');
    const compile = [...(await measureCompile('gfx90a')), ...(await measureCompile('sm_70'))];
    yield { hello: measureHello(samples), emptyDispatch: await measureEmptyDispatch(samples), compile };
  },
  text: launchText,
  goals: (results) => results.flatMap((result) => limitGoals(result)),
};

const KERNEL_SUITE: Suite<KernelMeasurement> = {
  name: 'kernels',
  isInGoals: true,
  heading: KERNEL_HEADING,
  async *measure({ kernels, targets, rivalsOf, samples, workers = 1 }) {
    for (const target of targets) {
      using runner = await openRunner({ processor: target, workers, threads: nodeThreads });
      const rivals = await rivalsOf(target);
      for (const benchmark of kernels.filter(({ processors }) => processors?.includes(target) ?? true)) {
        const task = { benchmark, image: readKernelImage(benchmark.name, target), expected: expectedOf(benchmark) };
        yield measureKernel(target, runner, task, { rivals, samples, workers });
      }
    }
  },
  text: kernelLine,
  goals: (results) => [...ratioGoals(results), ...safetyGoals(results)],
};

const WORKER_SUITE: Suite<WorkerSpeedUp[]> = {
  name: 'workers',
  isInGoals: true,
  heading: '',
  async *measure({ targets, samples, workers = DEFAULT_WORKERS }) {
    const { measureWorkers } = await import('../../bench/node-worker-speed-up.ts');
    yield measureWorkers(targets[0]!, workers, samples);
  },
  text: workersText,
  goals: (results) => results.flatMap((result) => workerGoals(result)),
};

const APPLICATION_SUITE: Suite<ApplicationMeasurement> = {
  name: 'applications',
  heading: APPLICATION_HEADING,
  async *measure({ targets, applications, programs, samples }) {
    for (const target of targets) {
      for (const application of applications) yield measureApplication(target, application, { programs, samples });
    }
  },
  text: applicationLine,
  goals: applicationGoals,
};

interface FirstRun {
  readonly target: string;
  readonly application: string;
  readonly cpuMs: number;
}

const FIRST_RUN_SUITE: Suite<FirstRun> = {
  name: 'first-run',
  heading: '',
  async *measure({ targets, applications }) {
    const [target, application] = [targets[0]!, applications[0]!];
    // First of all processes, unless it is asked for.
    if (process.env['WAVEWRIGHT_CODE_CACHE']) keepCodeInFolder();
    if (targets.length + applications.length > 2) {
      throw new WavewrightError('USAGE', 'a process has one first run: choose one target and one application', {
        hint: `--kernel=${application.name}`,
      });
    }
    yield { target, application: application.name, cpuMs: firstRunMs(target, application) };
  },
  text: ({ target, application, cpuMs }) =>
    `${application} on ${target}: ${cpuMs.toFixed(0)} ms of CPU since this process began\n`,
  goals: () => [],
};

const SUITES: readonly string[] = [
  ...[KERNEL_SUITE, LAUNCH_SUITE, WORKER_SUITE, APPLICATION_SUITE, FIRST_RUN_SUITE].map(({ name }) => name),
  'goals',
];

export const bench = defineCommand({
  operands: { usage: '', min: 0, max: 0 },
  options: {
    suite: {
      kind: 'text',
      placeholder: 'NAMES',
      default: 'kernels',
      description:
        'which of kernels (rates), launch (what it costs to start and to compile), workers (several threads against one), applications (sequences of kernels, and the first run of a process), first-run (of one application, in this process); goals: the first three against what is wanted, with applications those too',
    },
    kernel: {
      kind: 'text',
      placeholder: 'PATTERN',
      description: 'only kernels or applications with such names, for example mat*,fma8',
    },
    target: {
      kind: 'text',
      placeholder: 'NAMES',
      default: 'gfx90a',
      description: `which of ${TARGETS.join(',')}`,
    },
    baseline: {
      kind: 'list',
      placeholder: 'NAME',
      description: 'what to compare with, see below; may be repeated',
    },
    samples: {
      kind: 'integer',
      placeholder: 'N',
      min: 1,
      max: MAX_SAMPLES,
      default: 5,
      description: 'samples of each measurement, of which the median counts',
    },
    workers: {
      ...WORKERS_OPTION,
      description: 'threads that run the workgroups; by default 1, for the suite workers 2',
    },
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how to print' },
  },
  formats: {
    text: 'one line for each kernel; a table of the goals',
    json: 'one object with all numbers; `schema` and `version` say how to read it',
  },
  notes: [
    'Applications are compared with programs alone, in CPU time of one run: a number below 1 says that the program is faster. A first run is that of a process of its own,',
    'with loading and compiling, but without the start of Node; a program builds its kernels in it, with an empty cache. `again` is a process',
    'that finds the code which another one compiled.',
    '',
    'Every kernel runs on the emulator and must give what a model in JavaScript computes before it is measured: CPU time of the thread, in',
    'samples of 80 ms or more that take turns with those of the baselines.',
    '',
    'Baselines:',
    '  handlers, reference      the same kernel on the executors that compile nothing; the reference in a small launch',
    '  unchecked                the emulator without checks of memory accesses, which only this measurement can switch off',
    '  gfx1100, or another target  the same kernel in the code of that one',
    '  js                       the model, plain loops over typed arrays',
    '  FILE                     a program that bench/baselines/build.sh of the source repository builds: gcc, gcc-native, gcc-vectorised, pocl',
    '  FOLDER                   all programs in it',
  ],
  async run({ stdout }, options) {
    const print = (text: string): void => {
      if (options.format === 'text') stdout(text);
    };
    await using resources = new AsyncDisposableStack();
    const suites = chooseSuites(options.suite);
    const isAll = suites.includes('goals');
    const asksApplications = [APPLICATION_SUITE, FIRST_RUN_SUITE].some(({ name }) => suites.includes(name));
    const programs = (options.baseline ?? []).filter((name) => !OWN_RIVALS.includes(name)).flatMap(filesOf);
    const { samples, workers = 1 } = options;
    const own = [...(options.baseline ?? []), ...(isAll ? ['unchecked'] : [])];
    const kernels = isAll || suites.includes('kernels') ? chooseKernels(options.kernel, isAll) : [];
    // Applications start programs of their own.
    const rivals = kernels.length === 0 ? [] : programs.map((file) => programRival(resources.use(new Baseline(file))));
    const request: Request = {
      kernels,
      applications: asksApplications ? chosen(APPLICATIONS, options.kernel, 'application') : [],
      targets: chooseTargets(options.target, asksApplications ? APPLICATION_TARGETS : TARGETS),
      rivalsOf: async (target) => [...rivals, ...(await ownRivals(own, target))],
      programs,
      samples,
      workers: options.workers,
    };
    const results = async <T>(suite: Suite<T>): Promise<T[]> => {
      const found: T[] = [];
      if (!suites.includes(suite.name) && !(isAll && suite.isInGoals)) return found;
      print(suite.heading);
      for await (const result of suite.measure(request)) {
        found.push(result);
        print(suite.text(result));
      }
      return found;
    };
    const launch = await results(LAUNCH_SUITE);
    const measured = await results(KERNEL_SUITE);
    const speedUps = await results(WORKER_SUITE);
    const applications = await results(APPLICATION_SUITE);
    const firstRuns = await results(FIRST_RUN_SUITE);
    const goals = isAll
      ? [
          ...KERNEL_SUITE.goals(measured),
          ...WORKER_SUITE.goals(speedUps),
          ...LAUNCH_SUITE.goals(launch),
          ...APPLICATION_SUITE.goals(applications),
        ]
      : undefined;
    if (goals) print(`\n${goalsText(goals)}`);
    if (options.format === 'json') {
      const host = {
        ...{ platform: platform(), architecture: arch(), processor: cpus()[0]?.model, cores: cpus().length },
        node: process.version,
      };
      const report = {
        ...{ schema: 'wavewright.bench', version: 2, samples, workers, host },
        peakResidentBytes: process.resourceUsage().maxRSS * 1024,
        ...{ kernels: measured, launch: launch[0], speedUps: speedUps[0], applications, firstRun: firstRuns[0], goals },
      };
      stdout(`${JSON.stringify(report, undefined, 2)}\n`);
    }
    return 0;
  },
});

function chooseSuites(text: string): string[] {
  const names = text.split(',');
  const unknown = names.find((name) => !SUITES.includes(name));
  if (unknown === undefined) return names;
  throw new WavewrightError('USAGE', `no suite is called '${unknown}'`, { hint: `there are ${SUITES.join(', ')}` });
}

const chooseKernels = (pattern: string | undefined, isGoals: boolean): KernelBenchmark[] =>
  chosen(
    KERNELS.filter(({ name }) => !isGoals || GOAL_KERNELS.includes(name)),
    pattern,
    'kernel',
  );

/** Those whose names match one of the patterns. */
function chosen<T extends { readonly name: string }>(
  candidates: readonly T[],
  patterns: string | undefined,
  what: string,
): T[] {
  const found = candidates.filter(
    ({ name }) => patterns?.split(',').some((each) => path.matchesGlob(name, each)) ?? true,
  );
  if (found.length > 0) return found;
  const hint = `there are ${candidates.map(({ name }) => name).join(', ')}`;
  throw new WavewrightError('USAGE', `no ${what} is called '${patterns}'`, { hint });
}

function chooseTargets(text: string, targets: readonly string[]): string[] {
  const names = text.split(',');
  const unknown = names.find((name) => !targets.includes(name));
  if (unknown === undefined) return names;
  throw new WavewrightError('USAGE', `no benchmark kernels for '${unknown}'`, {
    hint: `there are ${targets.join(', ')}`,
  });
}

/** A program, or the programs in a folder. */
function filesOf(name: string): string[] {
  try {
    return statSync(name).isDirectory()
      ? readdirSync(name)
          .sort()
          .map((file) => path.join(name, file))
      : [name];
  } catch (cause) {
    throw new WavewrightError('IO', 'no such baseline', { file: name, hint: 'see wavewright help bench', cause });
  }
}

const ownRivals = (names: readonly string[], target: string): Promise<Rival[]> =>
  Promise.all([
    ...VARIANT_NAMES.filter((name) => names.includes(name)).map((name) => variantRival(name, target)),
    ...TARGETS.filter((name) => names.includes(name) && name !== target).map(targetRival),
    ...(names.includes('js') ? [JS_RIVAL] : []),
  ]);

/** What the model computes, at most once. */
function expectedOf(benchmark: KernelBenchmark): Record<CheckedSize, () => Result> {
  const once = (size: CheckedSize) => {
    let result: Result | undefined;
    return () => {
      result ??= benchmark.model(benchmark.launch(size));
      return result;
    };
  };
  return { full: once('full'), small: once('small') };
}
