/** One application on one target: checked, measured, compared with programs that run the same source. */
import { spawnSync } from 'node:child_process';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { WavewrightError } from '../base/errors.ts';
import { packageFile } from '../base/node-package-file.ts';
import { addStatistics, type TierInstructions } from '../device/statistics.ts';
import type { ApplicationBenchmark, Plan } from './applications/application.ts';
import { type BenchmarkRunner, KernelRunner } from './kernel-runner.ts';
import { differenceFrom } from './kernels/kernel-benchmark.ts';
import { Baseline } from './node-baseline.ts';
import { readApplicationImage } from './node-images.ts';
import { median, repeated, type Subject, sampleInTurn } from './sampling.ts';

/** CPU time of one run, milliseconds. */
export interface RunCosts {
  /** In a process that ran it many times. */
  readonly steadyMs: number;
  /**
   * In a process of its own, which loads and compiles the code: of all threads, the start of Node or of the
   * program not counted.
   */
  readonly coldMs: number;
}

export interface ApplicationMeasurement extends RunCosts {
  readonly target: string;
  readonly application: string;
  readonly launches: number;
  /** Steady, without checks of accesses. */
  readonly uncheckedMs: number;
  /** As `coldMs`, in a process that finds the code that another one compiled. */
  readonly againMs: number;
  /** Of one run. */
  readonly instructions: number;
  /** Instructions by what ran them, in all steady runs. */
  readonly tiers: TierInstructions;
  readonly rivals: readonly ({ readonly name: string } & RunCosts)[];
}

export interface ApplicationOptions {
  /** Programs that bench/baselines/build.sh builds. */
  readonly programs: readonly string[];
  readonly samples: number;
}

/** OpenCL lets functions of other implementations differ by some ULPs. */
const PROGRAM_TOLERANCE = 1e-3;
/** CPU time after which the engine has compiled code once more that runs often. */
const WARM_UP_MS = 300;
/** CPU time between looks at what runs the code. */
const SETTLING_MS = 50;
/** Part of the instructions that may be left to handlers, which run what is not compiled yet. */
const SETTLED_HANDLERS = 1e-3;
/** What is not compiled after so much CPU time stays as it is. */
const MAX_SETTLING_MS = 5000;

/** Throws INTERNAL where a result is not the model's, BAD_INPUT where that of a program is not. */
export async function measureApplication(
  target: string,
  application: ApplicationBenchmark,
  { programs, samples }: ApplicationOptions,
): Promise<ApplicationMeasurement> {
  await using resources = new AsyncDisposableStack();
  const plan = application.plan('full');
  const image = readApplicationImage(application, target);
  const opened = [true, false].map((checksAccesses) => {
    const runner = resources.use(new KernelRunner({ processor: target, checksAccesses }));
    return { runner, ...runner.preparePlan(image, plan) };
  });
  for (const { run, buffer } of opened) {
    run();
    await assertModel('INTERNAL', application, plan, target, buffer);
  }
  const rivals: { readonly file: string; readonly program: Baseline }[] = [];
  for (const file of programs) {
    const program = resources.use(new Baseline(file));
    if (!(await prepared(program, application, plan))) continue;
    await program.run();
    await assertModel('BAD_INPUT', application, plan, program.name, (name) => program.read(name));
    rivals.push({ file, program });
  }
  let runs = 0;
  const [checked, unchecked] = opened.map(({ run }, i) =>
    repeated(target, () => {
      if (i === 0) runs++;
      return run();
    }),
  );
  for (const [i, subject] of [checked!, unchecked!].entries()) await warmUp(subject, opened[i]!.runner);
  runs = 0;
  const before = opened[0]!.runner.statistics;
  const steady = await sampleInTurn([checked!, unchecked!, ...rivals.map(({ program }) => program)], samples);
  const { instructions, tiers } = addStatistics(opened[0]!.runner.statistics, before, -1);
  const [steadyMs, uncheckedMs, ...others] = steady.map(({ cpuSeconds }) => cpuSeconds * 1000);
  const kept = resources.use(mkdtempDisposableSync(path.join(tmpdir(), 'wavewright-code-')));
  coldRun(target, application, kept.path);
  const [coldMs, againMs, ...othersCold] = await medians(samples, [
    () => coldRun(target, application, 'off'),
    () => coldRun(target, application, kept.path),
    ...rivals.map(
      ({ file }) =>
        () =>
          coldRunOf(file, application, plan),
    ),
  ]);
  return {
    ...{ target, application: application.name, launches: plan.launches.length },
    ...{ steadyMs: steadyMs!, uncheckedMs: uncheckedMs!, coldMs: coldMs!, againMs: againMs! },
    ...{ instructions: instructions / runs, tiers },
    rivals: rivals.map(({ program: { name } }, i) => ({ name, steadyMs: others[i]!, coldMs: othersCold[i]! })),
  };
}

/** Runs it until it is compiled: parts that few waves come by reach their thresholds after the others. */
export async function warmUp(subject: Subject, runner: Pick<BenchmarkRunner, 'statistics'>): Promise<void> {
  for (let usedMs = 0; usedMs < MAX_SETTLING_MS; usedMs += SETTLING_MS) {
    const before = runner.statistics;
    await subject.sample(SETTLING_MS);
    const { instructions, tiers } = addStatistics(runner.statistics, before, -1);
    if (tiers.handlers <= SETTLED_HANDLERS * instructions) break;
  }
  await subject.sample(WARM_UP_MS);
}

/** Of samples that take turns. */
async function medians(samples: number, measures: readonly (() => number | Promise<number>)[]): Promise<number[]> {
  const taken = measures.map((): number[] => []);
  for (let i = 0; i < samples; i++) for (const [k, measure] of measures.entries()) taken[k]!.push(await measure());
  return taken.map(median);
}

const prepared = (program: Baseline, { name, source = name }: ApplicationBenchmark, plan: Plan): Promise<boolean> =>
  program.prepare(`examples/applications/${source}.cl`, plan);

async function assertModel(
  code: 'INTERNAL' | 'BAD_INPUT',
  { name, model, tolerance = 0 }: ApplicationBenchmark,
  plan: Plan,
  who: string,
  read: (buffer: string) => Uint8Array | Promise<Uint8Array>,
): Promise<void> {
  const limit = code === 'INTERNAL' ? tolerance : Math.max(tolerance, PROGRAM_TOLERANCE);
  for (const [buffer, expected] of Object.entries(model(plan))) {
    const difference = differenceFrom(expected, await read(buffer), limit);
    if (difference) throw new WavewrightError(code, `${name} on ${who}: wrong ${buffer}: ${difference}`);
  }
}

/** CPU time of this process so far, of all its threads, milliseconds. */
function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Runs it for the first time in this process; the CPU time of the process until then, but for making its
 * input.
 */
export function firstRunMs(target: string, application: ApplicationBenchmark): number {
  const before = processCpuMs();
  const plan = application.plan('full');
  const planMs = processCpuMs() - before;
  using runner = new KernelRunner({ processor: target });
  runner.preparePlan(readApplicationImage(application, target), plan).run();
  return processCpuMs() - planMs;
}

/** By `--suite=first-run` in a process of its own, less what Node takes. `kept`: where it keeps code. */
function coldRun(target: string, { name }: ApplicationBenchmark, kept: string): number {
  const bench = [packageFile('bin/wavewright.js'), 'bench', '--suite=first-run', '--format=json'];
  const { firstRun } = JSON.parse(
    printed([...bench, `--target=${target}`, `--kernel=${name}`], { WAVEWRIGHT_CODE_CACHE: kept }),
  );
  const { user, system } = JSON.parse(printed(['-e', 'console.log(JSON.stringify(process.cpuUsage()))']));
  return firstRun.cpuMs - (user + system) / 1000;
}

/** What a process of Node prints. */
function printed(args: readonly string[], variables: Readonly<Record<string, string>> = {}): string {
  const env = { ...process.env, ...variables };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
  if (status !== 0) throw new WavewrightError('IO', `node ${args.join(' ')}: status ${status}: ${stderr}`);
  return stdout;
}

/** Building and running it, with nothing in PoCL's cache. */
async function coldRunOf(file: string, application: ApplicationBenchmark, plan: Plan): Promise<number> {
  using cache = mkdtempDisposableSync(path.join(tmpdir(), 'wavewright-pocl-'));
  await using program = new Baseline(file, { POCL_CACHE_DIR: cache.path });
  const before = await program.cpuSeconds();
  await prepared(program, application, plan);
  await program.run();
  return ((await program.cpuSeconds()) - before) * 1000;
}
