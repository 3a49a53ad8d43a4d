/** Packets that were submitted together, from their submission to their end. */
import type { CommandDone } from '../../backend/backend.ts';
import type { DeviceOrder } from '../../backend/order.ts';
import type { SignalSource } from '../../core/pending-signals.ts';
import type { OperationInfo } from '../../core/status.ts';
import type { PacketBatch } from '../packets/packet-batch.ts';
import type { Axis } from './axis.ts';
import { WaitBatch } from './wait-batch.ts';

/** Up to which epochs of other queues the packets of a queue have waited. */
export type Frontier = ReadonlyMap<Axis, number>;

export interface SubmittedOptions {
  /** Absent: packets that wait for `sources`, which are made when it is known how far these are. */
  readonly batch?: PacketBatch | undefined;
  readonly sources?: readonly SignalSource[];
  /** Whether there is to be a packet even where nothing has to be waited for. */
  readonly isMarker?: boolean;
  readonly operation: OperationInfo;
  readonly done: CommandDone;
  readonly order?: DeviceOrder | undefined;
}

/** Where packets are in the rings. */
export interface RingPlace {
  readonly axis: Axis;
  readonly epoch: number;
  /** What the packets are. */
  readonly batch: PacketBatch;
  /** The first packet, and the one behind the last. */
  readonly start: number;
  readonly end: number;
  /** Up to where the ring of arguments is free when it is complete. */
  readonly kernargEnd: number;
  readonly frontier: Frontier;
}

/** `Queue`: what it was submitted to. */
export class Submitted<Queue = unknown> implements SignalSource {
  readonly queue: Queue;
  readonly batch: PacketBatch | undefined;
  readonly isMarker: boolean;
  readonly operation: OperationInfo;
  sources: readonly SignalSource[];
  /** Undefined while it is parked. */
  place: RingPlace | undefined;
  #order: DeviceOrder | undefined;
  #done: CommandDone;
  #isOver = false;
  #onPublished: (() => void) | undefined;

  constructor(queue: Queue, { batch, sources = [], isMarker = false, operation, done, order }: SubmittedOptions) {
    this.queue = queue;
    this.batch = batch;
    this.sources = sources;
    this.isMarker = isMarker;
    this.operation = operation;
    this.#done = done;
    this.#order = order;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why it must not run, if that is so. */
  get failure(): unknown {
    return this.#order?.failure;
  }

  /** Whether its packets wait for what is never going to be. */
  get isStuck(): boolean {
    const batch = this.place?.batch;
    return batch instanceof WaitBatch && batch.waits.some(({ axis, epoch }) => axis.isLost && epoch > axis.completed);
  }

  /** Calls back when it is in the rings for the first time: at once where it is. */
  whenPublished(callback: () => void): void {
    if (this.place === undefined && !this.#isOver) this.#onPublished = callback;
    else callback();
  }

  publish(place: RingPlace): void {
    this.place = place;
    const callback = this.#onPublished;
    this.#onPublished = undefined;
    callback?.();
  }

  /** It is out of the rings, complete or not. */
  withdraw(): void {
    const batch = this.place?.batch;
    this.place = undefined;
    if (batch instanceof WaitBatch) batch.release();
  }

  /** Only the first call counts. It keeps nothing alive any more. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const done = this.#done;
    this.#done = () => {};
    this.#order = undefined;
    this.#onPublished = undefined;
    this.sources = [];
    done(error);
  }
}
