import { instructionCounts, tierShares } from '../../device/statistics.ts';
import type { ProgramStatistics } from '../../loader/index.ts';

const NAME_WIDTH = 28;
const row = (name: string, ...parts: string[]) => `  ${name.padEnd(NAME_WIDTH)}${parts.join(', ')}`;
const milliseconds = (value: number) => `${value.toFixed(value < 10 ? 3 : 1)} ms`;

/** Where the time of a run went, for --stats; newline at the end. */
export function formatStatistics({ loadMs, kernels, rpc }: ProgramStatistics): string {
  return [
    'statistics:',
    row('load', milliseconds(loadMs)),
    ...kernels.flatMap(({ kernel, durationMs, statistics: { instructions, tiers, classes, waves, workgroups } }) => [
      row(
        kernel,
        milliseconds(durationMs),
        // Real GPUs do not count them.
        ...(instructions > 0 ? [`${instructions} instructions`] : []),
        `${waves} waves`,
        `${workgroups} workgroups`,
        ...(instructions > 0 ? [tierShares(tiers)] : []),
      ),
      ...(classes ? [row('', instructionCounts(classes))] : []),
    ]),
    ...rpc.map(({ opcode, conversations, durationMs }) =>
      row(`RPC ${opcode}`, milliseconds(durationMs), `${conversations} conversations`),
    ),
    '',
  ].join('\n');
}
