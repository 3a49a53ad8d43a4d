/** The ratios that the compiled tiers have to reach, and whether a run reached them. */

import type { ApplicationMeasurement } from './measure-application.ts';
import type { KernelMeasurement } from './measure-kernel.ts';
import type { CompileTimes, EmptyDispatchTimes, HelloTimes } from './node-launch-costs.ts';
import type { WorkerSpeedUp } from './node-worker-speed-up.ts';

/** A kernel's rate divided by that of a rival, or of another kernel on the same target. */
interface RatioGoal {
  readonly kernel: string;
  readonly against: string;
  readonly atLeast: number;
  /** Runs only where loops are compiled as a whole (T2). */
  readonly loops?: boolean;
  /** Absent: for all of them. */
  readonly target?: string;
}

/** What PTX has to reach of the same kernel as AMD's machine code for waves of as many lanes. */
const PTX_RATIO = { against: 'gfx1100', atLeast: 0.8, target: 'sm_70' };
const PTX_KERNELS = ['fma8', 'ihash', 'saxpy', 'matmul16', 'mandelbrot', 'nbody', 'sha256', 'reduction'];

const RATIOS: readonly RatioGoal[] = [
  { kernel: 'fma8', against: 'pocl', atLeast: 2 },
  { kernel: 'fma8', against: 'pocl', atLeast: 3, loops: true },
  { kernel: 'ihash', against: 'gcc-native', atLeast: 0.3 },
  { kernel: 'ihash', against: 'gcc-vectorised', atLeast: 0.3 },
  { kernel: 'saxpy', against: 'pocl', atLeast: 0.3 },
  { kernel: 'gather', against: 'pocl', atLeast: 0.3 },
  { kernel: 'vadd', against: 'pocl', atLeast: 0.3 },
  { kernel: 'matmul16', against: 'gcc', atLeast: 0.6 },
  { kernel: 'matmul4x4', against: 'gcc', atLeast: 1 },
  { kernel: 'mandelbrot', against: 'gcc', atLeast: 2 },
  { kernel: 'collatz', against: 'gcc', atLeast: 2 },
  { kernel: 'mfma16', against: 'kernel matmul16', atLeast: 4 },
  { kernel: 'wmma16', against: 'kernel matmul16', atLeast: 4 },
  ...PTX_KERNELS.map((kernel) => ({ kernel, ...PTX_RATIO })),
];

/** Kernels that the goals name. */
export const GOAL_KERNELS: readonly string[] = [...new Set(RATIOS.map(({ kernel }) => kernel))];

export interface GoalResult {
  readonly what: string;
  readonly unit: string;
  readonly measured: number;
  readonly baseline: number;
  /** Measured divided by baseline, or the number itself where the goal is one. */
  readonly value: number;
  readonly goal: string;
  readonly met: boolean;
}

const MEGA = 1e6;

/** Goals whose kernel and rival were measured; `loops` ones where compiled loops ran most of the kernel. */
export function ratioGoals(reports: readonly KernelMeasurement[]): GoalResult[] {
  return reports.flatMap((report) =>
    RATIOS.filter(({ kernel, target = report.target }) => kernel === report.kernel && target === report.target).flatMap(
      ({ against, atLeast, loops = false }) => {
        const rate = rateOf(against, report, reports);
        if (rate === undefined || (loops && report.tiers.loops * 2 < total(report))) return [];
        const value = report.perSecond / rate;
        return {
          what: `${report.kernel}${loops ? ' (T2)' : ''} on ${report.target} / ${against}`,
          unit: `M ${report.unit}/s`,
          measured: report.perSecond / MEGA,
          baseline: rate / MEGA,
          value,
          goal: `>= ${atLeast} x`,
          met: value >= atLeast,
        };
      },
    ),
  );
}

const total = ({ tiers }: KernelMeasurement): number => Object.values(tiers).reduce((sum, count) => sum + count, 0);

function rateOf(against: string, { target, comparisons }: KernelMeasurement, reports: readonly KernelMeasurement[]) {
  const kernel = /^kernel (.*)$/.exec(against)?.[1];
  if (kernel === undefined) return comparisons.find(({ name }) => name === against)?.perSecond;
  return reports.find((other) => other.target === target && other.kernel === kernel)?.perSecond;
}

const MAX_SAFETY = 1.25;

/**
 * What checking every access costs, in CPU time, where the rival `unchecked` was measured. `bench/safety.ts`
 * is more exact.
 */
export const safetyGoals = (reports: readonly KernelMeasurement[]): GoalResult[] =>
  reports.flatMap(({ kernel, target, unit, perSecond, comparisons }) =>
    comparisons
      .filter(({ name }) => name === 'unchecked')
      .map(({ perSecond: unchecked }) => ({
        ...{ what: `${kernel} on ${target}, time with checks / without`, unit: `M ${unit}/s` },
        ...{ measured: perSecond / MEGA, baseline: unchecked / MEGA, value: unchecked / perSecond },
        ...{ goal: `<= ${MAX_SAFETY} x`, met: unchecked / perSecond <= MAX_SAFETY },
      })),
  );

const POCL = 'pocl';
/** How many times as fast as PoCL: on average (geometric), and at least. */
const APPLICATION_RATIOS = { steady: { mean: 1, least: 0.3 }, cold: { mean: 2, least: 0.8 } };
const MAX_COLD_OVER_STEADY_MS = 1000;
const MAX_MEDIAN_SAFETY = 1.15;
/** With so many launches in a run, what it takes is mostly launching. */
const MANY_LAUNCHES = 300;
const MAX_LAUNCH_US = 20;

/** Of each target, where PoCL was measured; what checks and launches cost always. */
export function applicationGoals(reports: readonly ApplicationMeasurement[]): GoalResult[] {
  return [...Map.groupBy(reports, ({ target }) => target)].flatMap(([target, own]) => {
    const compared = own.flatMap((report) => {
      const pocl = report.rivals.find(({ name }) => name === POCL);
      return pocl ? [{ report, pocl }] : [];
    });
    const ratios = (['steady', 'cold'] as const).flatMap((kind) => {
      if (compared.length === 0) return [];
      const each = compared.map(({ report, pocl }) => ({
        ...{ name: report.application, measured: report[`${kind}Ms`], baseline: pocl[`${kind}Ms`] },
        value: pocl[`${kind}Ms`] / report[`${kind}Ms`],
      }));
      const least = each.reduce((a, b) => (b.value < a.value ? b : a));
      const mean = Math.exp(each.reduce((sum, { value }) => sum + Math.log(value), 0) / each.length);
      const sum = (of: 'measured' | 'baseline'): number => each.reduce((all, one) => all + one[of], 0);
      const { mean: wanted, least: atLeast } = APPLICATION_RATIOS[kind];
      const what = `applications on ${target} / ${POCL}, ${kind === 'steady' ? 'steady' : 'first run'}`;
      return [
        {
          ...{ what: `${what}, geometric mean`, unit: 'ms', measured: sum('measured'), baseline: sum('baseline') },
          ...{ value: mean, goal: `>= ${wanted} x`, met: mean >= wanted },
        },
        {
          ...{ what: `${what}, least: ${least.name}`, unit: 'ms', measured: least.measured, baseline: least.baseline },
          ...{ value: least.value, goal: `>= ${atLeast} x`, met: least.value >= atLeast },
        },
      ];
    });
    const coldest = own.reduce((a, b) => (b.coldMs - b.steadyMs > a.coldMs - a.steadyMs ? b : a));
    const over = coldest.coldMs - coldest.steadyMs;
    const costs = own.map((report) => ({ report, value: report.steadyMs / report.uncheckedMs }));
    costs.sort((a, b) => a.value - b.value);
    const safety = (what: string, { report, value }: (typeof costs)[number], limit: number): GoalResult => ({
      ...{ what: `applications on ${target}, time with checks / without, ${what}: ${report.application}`, unit: 'ms' },
      ...{ measured: report.steadyMs, baseline: report.uncheckedMs, value, goal: `<= ${limit} x`, met: value <= limit },
    });
    return [
      ...ratios,
      {
        ...{ what: `${coldest.application} on ${target}, first run over a steady one`, unit: 'ms' },
        ...{ measured: coldest.coldMs, baseline: coldest.steadyMs, value: over },
        ...{ goal: `<= ${MAX_COLD_OVER_STEADY_MS} ms`, met: over <= MAX_COLD_OVER_STEADY_MS },
      },
      ...own.filter(({ launches }) => launches >= MANY_LAUNCHES).map(launchGoal),
      safety('median', costs[costs.length >> 1]!, MAX_MEDIAN_SAFETY),
      safety('most', costs.at(-1)!, MAX_SAFETY),
    ];
  });
}

/** The work of the launches is a part of it. */
function launchGoal({ target, application, launches, steadyMs, rivals }: ApplicationMeasurement): GoalResult {
  const eachUs = (ms: number): number => (ms * 1000) / launches;
  const value = eachUs(steadyMs);
  return {
    ...{ what: `${application} on ${target}, CPU of each of ${launches} launches`, unit: 'us', measured: value },
    ...{ baseline: eachUs(rivals.find(({ name }) => name === POCL)?.steadyMs ?? 0), value },
    ...{ goal: `<= ${MAX_LAUNCH_US} us`, met: value <= MAX_LAUNCH_US },
  };
}

const MIN_SPEED_UP = { workers: 2, times: 1.8 };

/** Goals for two workers, by wall clock. */
export const workerGoals = (speedUps: readonly WorkerSpeedUp[]): GoalResult[] =>
  speedUps
    .filter(({ workers }) => workers === MIN_SPEED_UP.workers)
    .map(({ kernel, workers, oneMs, manyMs }) => ({
      ...{ what: `${kernel}, ${workers} workers / 1, wall`, unit: 'ms', measured: manyMs, baseline: oneMs },
      ...{ value: oneMs / manyMs, goal: `>= ${MIN_SPEED_UP.times} x`, met: oneMs / manyMs >= MIN_SPEED_UP.times },
    }));

const MAX_HELLO_MS = 150;
const MAX_EMPTY_DISPATCH_US = 20;
/** Of each instruction, by target. */
const MAX_COMPILE_US: Readonly<Record<string, number>> = { gfx90a: 100, sm_70: 150 };
/** How many times as long as the same program for an AMD GPU. */
const MAX_PTX_HELLO = 1.2;
const MAX_COMPILE_MEMORY_BYTES = 1e9;

export interface LaunchCosts {
  readonly hello: HelloTimes;
  readonly emptyDispatch: EmptyDispatchTimes;
  readonly compile: readonly CompileTimes[];
}

/** What was compiled. */
export const compiledText = ({ target, gpuInstructions, isFirst }: CompileTimes): string =>
  `${gpuInstructions} instructions on ${target}${isFirst ? ', cold' : ''}`;

/** Goals that are limits. */
export function limitGoals({ hello, emptyDispatch, compile }: LaunchCosts): GoalResult[] {
  const atMost = (what: string, unit: string, measured: number, limit: number, baseline = 0): GoalResult => ({
    ...{ what, unit, measured, baseline, value: measured - baseline },
    ...{ goal: `<= ${limit} ${unit}`, met: measured - baseline <= limit },
  });
  return [
    atMost('hello, wall, over node -e 0', 'ms', hello.helloMs, MAX_HELLO_MS, hello.nodeMs),
    atMost('empty dispatch of one wave, CPU', 'us', emptyDispatch.cpuUs, MAX_EMPTY_DISPATCH_US),
    {
      ...{ what: 'hello on sm_70 / gfx90a, wall', unit: 'ms', measured: hello.ptxMs, baseline: hello.helloMs },
      value: hello.ptxMs / hello.helloMs,
      ...{ goal: `<= ${MAX_PTX_HELLO} x`, met: hello.ptxMs / hello.helloMs <= MAX_PTX_HELLO },
    },
    ...compile.map((times) =>
      atMost(
        `compile ${compiledText(times)}, CPU of each`,
        'us',
        times.perInstructionUs,
        MAX_COMPILE_US[times.target]!,
      ),
    ),
    ...compile
      .slice(-1)
      .map((times) =>
        atMost(
          ...([`memory after ${compiledText(times)}`, 'MB', times.peakMemoryBytes / MEGA] as const),
          MAX_COMPILE_MEMORY_BYTES / MEGA,
        ),
      ),
  ];
}
