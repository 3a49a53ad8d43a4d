/**
 * A queue whose packets tools see, change, drop or add to before they run (hsa_amd_queue_intercept_create and
 * _register). What they write goes to a second queue, which runs it.
 */
import type { DispatchStatistics } from '../../device/statistics.ts';
import { expectCallback } from '../objects/handles.ts';
import { AQL_PACKET_SIZE_BYTES, PACKET_TYPE } from '../objects/layouts.ts';
import { HsaError } from '../objects/status.ts';
import { decodeHeader } from './packet.ts';
import type { PacketConsumer, PacketListener, PacketSource } from './packet-processor.ts';
import { Queue, type QueueOptions, type QueueOwner, type QueuePriority } from './queue.ts';

/** Hands packets of 64 bytes on; may be called any number of times while the interceptor runs. */
export type PacketWriter = (packets: readonly Uint8Array[]) => void;

/**
 * `index` is that of the first packet in the queue that it was written to. Packets that are not written are
 * dropped.
 */
export type Interceptor = (packets: readonly Uint8Array[], index: bigint, write: PacketWriter) => void;

class InterceptConsumer implements PacketConsumer {
  readonly #queue: PacketSource;
  readonly #inner: Queue;
  readonly #interceptors: readonly Interceptor[];
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #listener: PacketListener;
  #isForwarding = false;
  #isStopped = false;

  constructor(queue: PacketSource, inner: Queue, interceptors: readonly Interceptor[], listener: PacketListener) {
    this.#queue = queue;
    this.#inner = inner;
    this.#interceptors = interceptors;
    this.#listener = listener;
    const { ring } = queue;
    this.#words = new Int32Array(ring.buffer, ring.byteOffset, ring.byteLength / 4);
    for (let slot = 0; slot < queue.sizePackets; slot++) this.#setInvalid(slot);
  }

  get statistics(): DispatchStatistics {
    return this.#inner.statistics;
  }

  get running(): boolean {
    return this.#inner.running;
  }

  /**
   * Hands on what is ready. Waits for room in the second queue come back here, while a packet is on its way.
   */
  process(): boolean {
    if (this.#isForwarding || this.#isStopped || this.#inner.error !== undefined) return false;
    this.#queue.takeDoorbell();
    this.#isForwarding = true;
    let moved = false;
    try {
      while (this.#forward()) moved = true;
    } finally {
      this.#isForwarding = false;
    }
    return moved;
  }

  #forward(): boolean {
    const index = this.#queue.readDispatchId;
    const slot = Number(index & BigInt(this.#queue.sizePackets - 1));
    const header = Atomics.load(this.#words, (slot * AQL_PACKET_SIZE_BYTES) / 4);
    const isOver = this.#isStopped || this.#inner.error !== undefined;
    if (isOver || decodeHeader(header).type === PACKET_TYPE.invalid) return false;
    // What a host has to let go on stays here, where its producer sees that there is no room.
    if (this.#inner.writeIndex - this.#inner.readDispatchId >= BigInt(this.#inner.sizePackets)) return false;
    const start = slot * AQL_PACKET_SIZE_BYTES;
    this.#intercept(0, [this.#queue.ring.slice(start, start + AQL_PACKET_SIZE_BYTES)], index);
    this.#setInvalid(slot);
    this.#queue.readDispatchId = index + 1n;
    return true;
  }

  #intercept(position: number, packets: readonly Uint8Array[], index: bigint): void {
    const interceptor = this.#interceptors[position];
    if (interceptor) interceptor(packets, index, (written) => this.#intercept(position + 1, written, index));
    else for (const packet of packets) this.#submit(packet, index);
  }

  #submit(packet: Uint8Array, packetIndex: bigint): void {
    if (this.#isStopped || this.#inner.error !== undefined) return;
    try {
      this.#inner.submitPacket(packet);
    } catch (error) {
      if (!(error instanceof HsaError)) throw error;
      // Where the second queue failed while this waited for room in it, it has said so.
      if (this.#inner.error !== undefined) return;
      this.stop();
      this.#listener.onError({ error: error.within({ section: `AQL packet ${packetIndex}` }), packetIndex });
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#inner.inactivate();
  }

  describeWaves(): string[] {
    return this.#inner.describeWaves();
  }

  #setInvalid(slot: number): void {
    Atomics.store(this.#words, (slot * AQL_PACKET_SIZE_BYTES) / 4, PACKET_TYPE.invalid);
  }
}

export class InterceptQueue extends Queue {
  readonly #interceptors: Interceptor[];
  readonly #inner: Queue;

  /** Use `Runtime.createInterceptQueue`. `createInner` makes the queue that runs the packets. */
  constructor(
    owner: QueueOwner,
    options: QueueOptions,
    createInner: (onError: NonNullable<QueueOptions['onError']>) => Queue,
  ) {
    const interceptors: Interceptor[] = [];
    let inner: Queue | undefined;
    super(owner, options, (queue, listener) => {
      inner = createInner((error) => listener.onError(error));
      return new InterceptConsumer(queue, inner, interceptors, listener);
    });
    this.#interceptors = interceptors;
    this.#inner = inner!;
  }

  override get priority(): QueuePriority {
    return super.priority;
  }

  /** Sets the priority of both queues. */
  override set priority(priority: QueuePriority) {
    super.priority = priority;
    this.#inner.priority = priority;
  }

  /** The last one that was registered sees the packets first. Throws INVALID_QUEUE, INVALID_ARGUMENT. */
  register(interceptor: Interceptor): void {
    this.expectLive();
    expectCallback(interceptor);
    this.#interceptors.unshift(interceptor);
  }
}
