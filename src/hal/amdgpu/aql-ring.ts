/** The packets of one HSA queue, for its only producer: several go in together, all of them or none. */
import { AQL_PACKET_SIZE_BYTES } from '../../hsa/objects/layouts.ts';
import type { Queue } from '../../hsa/queues/queue.ts';

export class AqlRing {
  readonly queue: Queue;
  /** The first word of each packet hands it over. */
  readonly #headers: Int32Array<SharedArrayBuffer>;
  /** Packets that were published, and those of them that were complete when somebody looked last. */
  #written = 0;
  #read = 0;

  constructor(queue: Queue) {
    this.queue = queue;
    const { ring } = queue;
    this.#headers = new Int32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);
  }

  /** The index of the next packet. */
  get writeIndex(): number {
    return this.#written;
  }

  /** Whether `count` packets more find room. */
  hasRoom(count: number): boolean {
    const { sizePackets } = this.queue;
    if (this.#written + count - this.#read > sizePackets) this.#read = Number(this.queue.readDispatchId);
    return this.#written + count - this.#read <= sizePackets;
  }

  /** Where the packet `index`, counted from the next one, begins in the ring. */
  packetOffset(index: number): number {
    return this.#slot(index) * AQL_PACKET_SIZE_BYTES;
  }

  /** Hands over the next `count` packets, which have room and are filled in. `headers`: their first words. */
  publish(headers: Int32Array, count: number): void {
    const end = this.#written + count;
    this.queue.storeWriteIndex(BigInt(end));
    for (let i = 0; i < count; i++) {
      Atomics.store(this.#headers, this.packetOffset(i) / 4, headers[i]!);
    }
    this.queue.ringDoorbell(BigInt(end - 1));
    this.#written = end;
  }

  #slot(index: number): number {
    return (this.#written + index) % this.queue.sizePackets;
  }
}
