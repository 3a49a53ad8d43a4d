/** Packets that go into a ring together: all of them or none, and the last one ends them. */

import type { DispatchedKernel } from '../../backend/backend.ts';

/** Where a batch goes. */
export interface BatchPlace {
  readonly queueAddress: bigint;
  /** The memory in which its arguments lie: where in it, and where for the GPU. */
  readonly kernargs: { readonly bytes: Uint8Array; readonly data: DataView };
  readonly offsetBytes: number;
  readonly address: bigint;
  /** Of the last packet. */
  readonly completionSignal: bigint;
  /** The ring, and its address for kernels. */
  readonly ring: Uint8Array;
  readonly ringAddress: bigint;
  /** Where the packets of the batch, counted from 0, begin in the ring; their first four bytes stay. */
  packetOffset(index: number): number;
}

export interface PacketBatch {
  /** At least 1. */
  readonly packetCount: number;
  readonly kernargBytes: number;
  /** The only kernel of the program that is in it, if it has one. */
  readonly kernel?: DispatchedKernel | undefined;
  /**
   * Fills packets and arguments in. `headers`: takes the first word of each packet, which is stored when all
   * is there.
   */
  encode(place: BatchPlace, headers: Int32Array): void;
}
