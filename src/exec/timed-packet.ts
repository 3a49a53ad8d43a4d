import type { FinishedPacket } from '../hsa/queues/packet-processor.ts';

/** A packet that is over. Times are of CLOCK_MONOTONIC; a barrier packet takes none. */
export interface TimedPacket extends FinishedPacket {
  readonly beginNs: bigint;
  readonly endNs: bigint;
  /** The address of its queue. */
  readonly queue: bigint;
}
