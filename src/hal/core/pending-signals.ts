/**
 * Signals of one semaphore that operations are going to give which a device has already: whoever waits for
 * one of them can be put behind its source, without the host in between.
 */
import { WaiterHeap } from './waiter-heap.ts';

/** What is in a queue of a device and ends by itself; only the driver that made it knows more. */
export interface SignalSource {
  /** Whether it is complete, or failed. */
  readonly isOver: boolean;
}

interface PendingSignal {
  readonly value: number;
  readonly source: SignalSource;
}

export class PendingSignals {
  /** By value, none twice. */
  #signals: PendingSignal[] = [];
  /** Those before it were given. */
  #head = 0;
  readonly #waiters = new WaiterHeap();

  /** Of two sources of one value the first counts. */
  add(value: number, source: SignalSource): void {
    const at = this.#indexOf(value);
    if (this.#signals[at]?.value === value) return;
    const entry = { value, source };
    if (at === this.#signals.length) this.#signals.push(entry);
    else this.#signals.splice(at, 0, entry);
    for (const { callback } of this.#waiters.take(value)) callback!(undefined);
  }

  /** The source of the least value from `value` on. */
  sourceOf(value: number): SignalSource | undefined {
    return this.#signals[this.#indexOf(value)]?.source;
  }

  /** Calls back once, at once where there is a source for `value`. Returns what takes the callback away. */
  onSource(value: number, callback: () => void): () => void {
    if (this.sourceOf(value) === undefined) return this.#waiters.add(value, callback);
    callback();
    return () => {};
  }

  /** What is at most `value` was given, or is never going to be. */
  removeUpTo(value: number): void {
    this.#head = this.#indexOf(value + 1);
    if (this.#head * 2 < this.#signals.length) return;
    this.#signals = this.#signals.slice(this.#head);
    this.#head = 0;
  }

  /** Of the first entry whose value is at least `value`. */
  #indexOf(value: number): number {
    let [low, high] = [this.#head, this.#signals.length];
    // A timeline grows: what is asked for is near the end most often.
    if (low === high || this.#signals[high - 1]!.value < value) return high;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#signals[middle]!.value < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
