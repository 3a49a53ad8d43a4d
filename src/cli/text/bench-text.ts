/** Benchmark results as text. */
import { compiledText, type GoalResult, type LaunchCosts } from '../../bench/goals.ts';
import type { ApplicationMeasurement } from '../../bench/measure-application.ts';
import type { KernelMeasurement } from '../../bench/measure-kernel.ts';
import type { WorkerSpeedUp } from '../../bench/node-worker-speed-up.ts';
import { tierShares } from '../../device/statistics.ts';

const MEGA = 1e6;

const mega = (perSecond: number): string => {
  const value = perSecond / MEGA;
  return value >= 1000 ? value.toFixed(0) : value.toPrecision(3);
};

export const KERNEL_HEADING = `${'target'.padEnd(9)}${'kernel'.padEnd(15)}${'rate per CPU second'.padEnd(26)}${'CPU ms'.padStart(9)}${'wall ms'.padStart(9)}${'compile ms'.padStart(12)}  instructions by tier; ratios\n`;

/** One line of a table. */
export function kernelLine(report: KernelMeasurement): string {
  const { target, kernel, unit, perSecond, cpuMs, wallMs, compileMs, tiers, comparisons } = report;
  const ratios = comparisons.map(
    ({ name, ratio, perSecond: other }) => `${ratio.toPrecision(3)} x ${name} (${mega(other)})`,
  );
  const columns = [cpuMs.toFixed(2).padStart(9), wallMs.toFixed(2).padStart(9), compileMs.toFixed(0).padStart(12)];
  return `${target.padEnd(9)}${kernel.padEnd(15)}${`${mega(perSecond)} M ${unit}/s`.padEnd(26)}${columns.join('')}  ${[tierShares(tiers), ...ratios].join('; ')}\n`;
}

export const APPLICATION_HEADING = `${'target'.padEnd(9)}${'application'.padEnd(14)}${'launches'.padStart(9)}${'CPU ms'.padStart(10)}${'unchecked'.padStart(11)}${'first run'.padStart(11)}${'again'.padStart(8)}  instructions by tier; times as fast as others, in the first run\n`;

/** One line of a table. */
export function applicationLine(report: ApplicationMeasurement): string {
  const { target, application, launches, steadyMs, uncheckedMs, coldMs, againMs, tiers, rivals } = report;
  const ratios = rivals.map((rival) => {
    const steady = `${(rival.steadyMs / steadyMs).toPrecision(3)} x ${rival.name} (${rival.steadyMs.toFixed(2)} ms)`;
    return `${steady}, ${(rival.coldMs / coldMs).toPrecision(3)} x (${rival.coldMs.toFixed(0)} ms)`;
  });
  const steady = [steadyMs.toFixed(2).padStart(10), uncheckedMs.toFixed(2).padStart(11)];
  const times = [...steady, coldMs.toFixed(0).padStart(11), againMs.toFixed(0).padStart(8)];
  return `${target.padEnd(9)}${application.padEnd(14)}${`${launches}`.padStart(9)}${times.join('')}  ${[tierShares(tiers), ...ratios].join('; ')}\n`;
}

export function launchText({ hello, emptyDispatch, compile }: LaunchCosts): string {
  const lines = [
    `hello: ${hello.helloMs.toFixed(0)} ms of wall time, node -e 0 ${hello.nodeMs.toFixed(0)} ms: ${hello.overNodeMs.toFixed(0)} ms over it; as PTX ${hello.ptxMs.toFixed(0)} ms, ${(hello.ptxMs / hello.helloMs).toFixed(2)} times as long`,
    `empty dispatch of one wave, warm: ${emptyDispatch.cpuUs.toFixed(1)} us of CPU, ${emptyDispatch.wallUs.toFixed(1)} us of wall time`,
    ...compile.map((times) => {
      const { cpuMs, perInstructionUs, peakMemoryBytes } = times;
      return `compile ${compiledText(times)}: ${cpuMs.toFixed(0)} ms of CPU, ${perInstructionUs.toFixed(1)} us each; ${mega(peakMemoryBytes)} MB resident at most so far`;
    }),
  ];
  return `${lines.join('\n')}\n`;
}

export const workersText = (speedUps: readonly WorkerSpeedUp[]): string =>
  speedUps
    .map(({ kernel, workers, oneMs, manyMs }) => {
      const times = `${oneMs.toFixed(0)} ms with one, ${manyMs.toFixed(0)} ms with ${workers}`;
      return `${kernel}, wall time of a launch: ${times}: ${(oneMs / manyMs).toFixed(2)} times as fast\n`;
    })
    .join('');

/** A table of the goals, for Markdown too. */
export function goalsText(results: readonly GoalResult[]): string {
  const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
  const rows = results.map(({ what, unit, measured, baseline, value, goal, met }) => [
    ...[what, `${number(measured)} ${unit}`, baseline === 0 ? '' : `${number(baseline)} ${unit}`],
    ...[number(value), goal, met ? 'met' : 'missed'],
  ]);
  const table = [
    ['what', 'measured', 'baseline', 'value', 'goal', ''],
    ['---', '---', '---', '---', '---', '---'],
    ...rows,
  ];
  return table.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
