import { type DispatchStatistics, instructionCounts, tierShares } from '../../device/statistics.ts';
import type { ProgramStatistics } from '../../loader/index.ts';

const NAME_WIDTH = 28;
export const statisticsRow = (name: string, ...parts: string[]) =>
  `  ${name.padEnd(NAME_WIDTH - 1)} ${parts.join(', ')}`;
const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 3 : 1)} ms`;

interface KernelRow {
  readonly kernel: string;
  readonly durationMs: number;
  readonly statistics: DispatchStatistics;
  /** Absent for one. */
  readonly launches?: number;
}

/** Lines for a kernel: its time, and what it executed. */
export const kernelRows = ({ kernel, durationMs, statistics, launches = 1 }: KernelRow): string[] => [
  statisticsRow(
    kernel,
    milliseconds(durationMs),
    ...(launches > 1 ? [`${launches} launches`] : []),
    // Real GPUs do not count them.
    ...(statistics.instructions > 0 ? [`${statistics.instructions} instructions`] : []),
    `${statistics.waves} waves`,
    `${statistics.workgroups} workgroups`,
    ...(statistics.instructions > 0 ? [tierShares(statistics.tiers)] : []),
  ),
  ...(statistics.classes ? [statisticsRow('', instructionCounts(statistics.classes))] : []),
];

/** Where the time of a run went, for --stats; newline at the end. */
export function formatStatistics({ loadMs, kernels, rpc }: ProgramStatistics): string {
  return [
    'statistics:',
    statisticsRow('load', milliseconds(loadMs)),
    ...kernels.flatMap(kernelRows),
    ...rpc.map(({ opcode, conversations, durationMs }) =>
      statisticsRow(`RPC ${opcode}`, milliseconds(durationMs), `${conversations} conversations`),
    ),
    '',
  ].join('\n');
}
