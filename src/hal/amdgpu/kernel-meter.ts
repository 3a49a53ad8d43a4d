/** Tells of the kernels of a queue that have ended: when they ran, and what was counted of them. */
import { type FinishedPacket, occupancyIn } from '../../hsa/queues/packet-processor.ts';
import type { DispatchedKernel, DispatchTimes } from '../backend/backend.ts';
import type { OperationInfo } from '../core/status.ts';
import type { DispatchCounter } from './agents.ts';
import type { PacketTimes } from './order/axis.ts';

/** When a kernel ran. */
export type MeasuredKernel = Omit<DispatchTimes, 'deviceOrdinal'>;

export class KernelMeter {
  /** Nobody: nothing is kept. */
  tell: ((kernel: MeasuredKernel) => void) | undefined;
  readonly #counters: readonly DispatchCounter[];
  /** By completion signal: kernels that are measured have one each. */
  readonly #counts = new Map<bigint, Pick<MeasuredKernel, 'counts' | 'instructions' | 'trace'>>();

  constructor(counters: readonly DispatchCounter[] = []) {
    this.#counters = counters;
  }

  /** A packet is over; what is no kernel does not count. */
  packetEnded({ completionSignal, dispatch, ...packet }: FinishedPacket): void {
    if (this.tell === undefined || dispatch === undefined) return;
    const occupancy = occupancyIn(packet);
    const { statistics } = dispatch;
    const { waves: waveCount, pcCounts: byPc, trace } = statistics;
    this.#counts.set(completionSignal, {
      counts: this.#counters.map(({ count }) => count(statistics, occupancy)),
      ...(byPc !== undefined && { instructions: { waveCount, byPc } }),
      ...(trace !== undefined && { trace }),
    });
  }

  /** The end of a submission is known; nobody is told of one that has no kernel of the program. */
  ended(operation: OperationInfo, kernel: DispatchedKernel | undefined, times: PacketTimes | undefined): void {
    if (times === undefined) return;
    const { startTicks, endTicks, signal } = times;
    const counts = this.#counts.get(signal);
    this.#counts.delete(signal);
    if (kernel !== undefined) this.tell?.({ operation, kernel, startTicks, endTicks, ...counts });
  }
}
