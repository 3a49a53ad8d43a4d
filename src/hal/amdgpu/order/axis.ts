/**
 * The axis of a queue (IREE's word): the epochs of what was submitted to one HSA queue, with the signals by
 * which other queues wait for them. Epochs begin with 1 and complete in order. Where an HSA queue ends by a
 * fault its axis is lost: what is not complete then never will be, and its signals stay what they are.
 */
import type { Agent } from '../../../hsa/objects/agent.ts';
import type { Runtime } from '../../../hsa/runtime/runtime.ts';
import type { Signal } from '../../../hsa/signals/signal.ts';

/** What the counting signal starts with: it can be lowered for ever. */
const INITIAL_VALUE = 2n ** 62n;

export interface Axis {
  readonly isLost: boolean;
  /** The last epoch that is known to be complete. */
  readonly completed: number;
  /** The last epoch that was given out. */
  readonly submitted: number;
  /** What completes the next epoch, when a packet lowers it. Throws where there are no more signals. */
  reserve(): bigint;
  /** The epoch that was reserved goes to the GPU. Returns it. */
  submit(): number;
  /** Looks which epochs are complete. Returns the last one. */
  poll(): number;
  /** The signal by which a packet waits for an epoch that is not complete; `release` follows. */
  hold(epoch: number): WaitSignal;
  release(epoch: number): void;
  lose(): void;
  /** When the packet ran that completed an epoch, in ticks of the GPU; undefined where nobody keeps that. */
  takeTimes(epoch: number): PacketTimes | undefined;
  /** The queue does not need it any more; the signals go when nobody waits for them. */
  close(): void;
}

export interface PacketTimes {
  readonly startTicks: bigint;
  readonly endTicks: bigint;
  /** The address of its completion signal, which others have later. */
  readonly signal: bigint;
}

/** `below`: the value that the signal falls under when the epoch is complete. */
export interface WaitSignal {
  readonly address: bigint;
  readonly below: bigint;
}

type Place = { readonly runtime: Runtime; readonly agent: Agent };

/** Signals outlive no runtime. */
const dispose = ({ runtime }: Place, signal: Signal): void => {
  if (runtime.lifetime.isLive) signal[Symbol.dispose]();
};

abstract class BaseAxis {
  isLost = false;
  completed = 0;
  submitted = 0;
  #holders = 0;
  #isClosed = false;

  submit(): number {
    return ++this.submitted;
  }

  lose(): void {
    this.isLost = true;
  }

  takeTimes(_epoch: number): PacketTimes | undefined {
    return undefined;
  }

  protected enter(): void {
    this.#holders++;
  }

  protected leave(): void {
    this.#holders--;
    this.#end();
  }

  close(): void {
    this.#isClosed = true;
    this.#end();
  }

  #end(): void {
    if (this.#isClosed && this.#holders === 0) this.dispose();
  }

  protected abstract dispose(): void;
}

/** One signal counts all epochs: others wait for its value with barrier-value packets. */
export class CountingAxis extends BaseAxis implements Axis {
  readonly #place: Place;
  readonly #signal: Signal;

  /** Throws where there is no memory for a signal. */
  constructor(place: Place) {
    super();
    this.#place = place;
    this.#signal = place.runtime.createSignal(INITIAL_VALUE, place.agent);
  }

  reserve(): bigint {
    return this.#signal.address;
  }

  poll(): number {
    if (!this.isLost) this.completed = Number(INITIAL_VALUE - this.#signal.load());
    return this.completed;
  }

  hold(epoch: number): WaitSignal {
    this.enter();
    return { address: this.#signal.address, below: INITIAL_VALUE - BigInt(epoch) + 1n };
  }

  release(): void {
    this.leave();
  }

  protected dispose(): void {
    dispose(this.#place, this.#signal);
  }
}

/** A signal that completion lowers from 1 to 0. */
interface EpochSignal {
  readonly signal: Signal;
  holders: number;
}

/** A signal for each epoch in flight: others wait for it with barrier-AND packets, which know no values. */
export class SignalingAxis extends BaseAxis implements Axis {
  readonly #place: Place;
  readonly #free: Signal[] = [];
  /** By epoch: what is in flight, and what somebody waits for. */
  readonly #signals = new Map<number, EpochSignal>();
  #next: Signal | undefined;
  /** By epoch, of those that nobody asked for yet. */
  readonly #times: Map<number, PacketTimes> | undefined;

  /** `keepsTimes`: each epoch is asked for by `takeTimes`. */
  constructor(place: Place, { keepsTimes = false } = {}) {
    super();
    this.#place = place;
    if (keepsTimes) this.#times = new Map();
  }

  override takeTimes(epoch: number): PacketTimes | undefined {
    const times = this.#times?.get(epoch);
    this.#times?.delete(epoch);
    return times;
  }

  reserve(): bigint {
    const { runtime, agent } = this.#place;
    this.#next ??= this.#free.pop() ?? runtime.createSignal(1n, agent);
    this.#next.store(1n);
    return this.#next.address;
  }

  override submit(): number {
    const epoch = super.submit();
    this.#signals.set(epoch, { signal: this.#next!, holders: 1 });
    this.#next = undefined;
    return epoch;
  }

  poll(): number {
    if (this.isLost) return this.completed;
    for (;;) {
      const next = this.#signals.get(this.completed + 1);
      if (next === undefined || next.signal.load() > 0n) return this.completed;
      if (this.#times !== undefined) {
        const { startTicks, endTicks, address: signal } = next.signal;
        this.#times.set(this.completed + 1, { startTicks, endTicks, signal });
      }
      this.#drop(++this.completed);
    }
  }

  hold(epoch: number): WaitSignal {
    this.enter();
    const entry = this.#signals.get(epoch)!;
    entry.holders++;
    return { address: entry.signal.address, below: 1n };
  }

  release(epoch: number): void {
    this.#drop(epoch);
    this.leave();
  }

  #drop(epoch: number): void {
    const entry = this.#signals.get(epoch)!;
    if (--entry.holders > 0) return;
    this.#signals.delete(epoch);
    this.#free.push(entry.signal);
  }

  protected dispose(): void {
    const inFlight = [...this.#signals.values()].map(({ signal }) => signal);
    const all = [...this.#free, ...inFlight, ...(this.#next === undefined ? [] : [this.#next])];
    for (const signal of all) dispose(this.#place, signal);
  }
}
