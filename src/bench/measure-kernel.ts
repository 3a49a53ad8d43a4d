/** One kernel on one target: checked, measured, compared. */
import type { TierInstructions } from '../device/statistics.ts';
import { addStatistics } from '../device/statistics.ts';
import type { BenchmarkRunner, Measured } from './kernel-runner.ts';
import { type Rival, runChecked, type Task } from './rivals.ts';
import { repeated, type Subject, sampleInTurn } from './sampling.ts';

export interface RivalComparison {
  readonly name: string;
  /** Operations per second of CPU time. */
  readonly perSecond: number;
  /** The emulator's rate divided by this one. */
  readonly ratio: number;
}

export interface KernelMeasurement {
  readonly target: string;
  readonly kernel: string;
  /** One operation. */
  readonly unit: string;
  /** Operations of one launch. */
  readonly operations: number;
  /** Operations per second of CPU time of each thread, on average. */
  readonly perSecond: number;
  /** Of one launch, warm: CPU time of each thread, on average, and wall time. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /**
   * What the first launch took beyond a warm one, in CPU time of all threads: decoding and compiling, also in
   * the background.
   */
  readonly compileMs: number;
  /** Of one launch, warm, on average. */
  readonly instructions: number;
  readonly waves: number;
  /** Instructions by what ran them, in all warm launches. */
  readonly tiers: TierInstructions;
  readonly comparisons: readonly RivalComparison[];
}

export interface MeasureOptions {
  readonly rivals: readonly Rival[];
  readonly samples: number;
  /** Threads of the runner. */
  readonly workers: number;
}

/** Throws INTERNAL where the kernel's result is not the model's, and what running it throws. */
export async function measureKernel(
  target: string,
  runner: BenchmarkRunner,
  task: Task,
  { rivals, samples, workers }: MeasureOptions,
): Promise<KernelMeasurement> {
  const { benchmark } = task;
  const { name, kernel = name, unit } = benchmark;
  const operations = benchmark.operations('full');
  // Not among what is measured.
  task.expected.full();
  const run = onThreads(workers, runner.prepare(task.image, kernel, benchmark.launch('full')));
  const before = process.cpuUsage();
  runChecked(target, task, 'full', run);
  const first = process.cpuUsage(before);
  const compared: { readonly rival: Rival; readonly subject: Subject }[] = [];
  for (const rival of rivals) {
    const subject = await rival.prepare(task);
    if (subject) compared.push({ rival, subject });
  }
  const own = repeated('own', run);
  await own.sample(0);
  const cold = runner.statistics;
  let launches = 0;
  const counted = repeated('own', () => {
    launches++;
    return run();
  });
  const [warm, ...others] = await sampleInTurn([counted, ...compared.map(({ subject }) => subject)], samples);
  const { cpuSeconds, wallSeconds } = warm!;
  const { instructions, waves, tiers } = addStatistics(runner.statistics, cold, -1);
  const perSecond = operations / cpuSeconds;
  return {
    ...{ target, kernel: name, unit, operations, perSecond },
    ...{ cpuMs: cpuSeconds * 1000, wallMs: wallSeconds * 1000 },
    compileMs: Math.max(0, (first.user + first.system) / 1000 - cpuSeconds * 1000),
    ...{ instructions: instructions / launches, waves: waves / launches, tiers },
    comparisons: compared.map(({ rival }, i) => {
      const rate = (rival.size === 'full' ? operations : benchmark.operations(rival.size)) / others[i]!.cpuSeconds;
      return { name: rival.name, perSecond: rate, ratio: perSecond / rate };
    }),
  };
}

/** With several threads, the CPU time of each on average: that of the process, shared. */
function onThreads(workers: number, run: () => Measured): () => Measured {
  if (workers === 1) return run;
  return () => {
    const before = process.cpuUsage();
    const measured = run();
    const { user, system } = process.cpuUsage(before);
    return { ...measured, cpuMs: (user + system) / 1000 / workers };
  };
}
