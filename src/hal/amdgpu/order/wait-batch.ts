/** Packets that hold a queue back until epochs of other queues are complete. */
import { AQL_PACKET_SIZE_BYTES, BARRIER_DEPENDENCIES } from '../../../hsa/objects/layouts.ts';
import { encodeBarrier, encodeBarrierValue } from '../../../hsa/queues/packet.ts';
import type { BatchPlace, PacketBatch } from '../packets/packet-batch.ts';
import type { Axis, WaitSignal } from './axis.ts';

/** An epoch of another queue. */
export interface AxisWait {
  readonly axis: Axis;
  readonly epoch: number;
}

const MASK = 2n ** 63n - 1n;

/** Waits of one batch at most: its packets fit into any ring. */
export const maxWaits = (kind: 'barrier' | 'barrier-value', ringPackets: number): number =>
  ringPackets * (kind === 'barrier' ? BARRIER_DEPENDENCIES : 1);

/** Without waits it is a packet that does nothing but end behind all earlier ones. */
export class WaitBatch implements PacketBatch {
  readonly packetCount: number;
  readonly kernargBytes = 0;
  readonly waits: readonly AxisWait[];
  readonly #kind: 'barrier' | 'barrier-value';

  constructor(kind: 'barrier' | 'barrier-value', waits: readonly AxisWait[]) {
    this.#kind = kind;
    this.waits = waits;
    this.packetCount = Math.max(1, kind === 'barrier' ? Math.ceil(waits.length / BARRIER_DEPENDENCIES) : waits.length);
  }

  /** Holds the signals that it waits for. */
  encode(place: BatchPlace, headers: Int32Array): void {
    const signals = this.waits.map(({ axis, epoch }) => axis.hold(epoch));
    for (let i = 0; i < this.packetCount; i++) {
      const offset = place.packetOffset(i);
      const packet = place.ring.subarray(offset, offset + AQL_PACKET_SIZE_BYTES);
      const completionSignal = i === this.packetCount - 1 ? place.completionSignal : 0n;
      headers[i] = this.#encodePacket(packet, signals, i, completionSignal);
    }
  }

  #encodePacket(packet: Uint8Array, signals: readonly WaitSignal[], index: number, completionSignal: bigint): number {
    const signal = signals[index];
    if (this.#kind === 'barrier-value' && signal !== undefined) {
      const { address, below } = signal;
      const fields = { signal: address, condition: 'lt', value: below, mask: MASK, completionSignal } as const;
      return encodeBarrierValue(packet, fields, true);
    }
    const start = index * BARRIER_DEPENDENCIES;
    const dependencies = signals.slice(start, start + BARRIER_DEPENDENCIES).map(({ address }) => address);
    return encodeBarrier(packet, { dependencies, completionSignal }, 'all', true);
  }

  /** The packets are out of the ring. */
  release(): void {
    for (const { axis, epoch } of this.waits) axis.release(epoch);
  }
}
