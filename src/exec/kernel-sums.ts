/** What kernels did, by their names. */
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import type { TimedPacket } from './timed-packet.ts';

export interface KernelSum {
  /** The name as the code object has it. */
  readonly kernel: string;
  readonly launches: number;
  /** From the start to the end of each launch; launches that ran beside each other count both. */
  readonly durationMs: number;
  readonly statistics: DispatchStatistics;
}

const NS_PER_MS = 1_000_000;

export class KernelSums {
  readonly #sums = new Map<string, KernelSum>();

  /** Packets that are no kernels do not count. */
  add({ kernel = '(no name)', dispatch, beginNs, endNs }: TimedPacket): void {
    if (!dispatch) return;
    const sum = this.#sums.get(kernel) ?? { kernel, launches: 0, durationMs: 0, statistics: NO_STATISTICS };
    this.#sums.set(kernel, {
      kernel,
      launches: sum.launches + 1,
      durationMs: sum.durationMs + Number(endNs - beginNs) / NS_PER_MS,
      statistics: addStatistics(sum.statistics, dispatch.statistics),
    });
  }

  /** In the order of their first ends. */
  get rows(): readonly KernelSum[] {
    return [...this.#sums.values()];
  }
}
