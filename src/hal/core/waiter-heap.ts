/** Who waits for a value of a timeline: a heap by value, so that many waiters cost what few do for each. */

export interface Waiter {
  readonly value: number;
  /** Who waited first is told first, among those of one value. */
  readonly order: number;
  /** Undefined once the waiter gave up. */
  callback: ((failure: Error | undefined) => void) | undefined;
}

const isBefore = (a: Waiter, b: Waiter): boolean => a.value < b.value || (a.value === b.value && a.order < b.order);

export class WaiterHeap {
  readonly #heap: Waiter[] = [];
  #order = 0;
  /** Entries of waiters that gave up; they leave when they come to the top, or are half of all. */
  #cancelled = 0;

  /** Waiters that did not give up. */
  get size(): number {
    return this.#heap.length - this.#cancelled;
  }

  /** Returns what takes the waiter away again. */
  add(value: number, callback: (failure: Error | undefined) => void): () => void {
    const waiter: Waiter = { value, order: this.#order++, callback };
    this.#heap.push(waiter);
    this.#up(this.#heap.length - 1);
    return () => {
      if (waiter.callback === undefined) return;
      waiter.callback = undefined;
      this.#cancelled++;
      if (this.#cancelled * 2 > this.#heap.length) this.#compact();
    };
  }

  /** Takes all who wait for at most `value`, in order of value. */
  take(value: number): Waiter[] {
    const taken: Waiter[] = [];
    while (this.#heap.length > 0 && this.#heap[0]!.value <= value) {
      const waiter = this.#pop();
      // A copy: the waiter can no longer give up.
      if (waiter.callback === undefined) this.#cancelled--;
      else taken.push({ ...waiter });
      waiter.callback = undefined;
    }
    return taken;
  }

  #pop(): Waiter {
    const top = this.#heap[0]!;
    const last = this.#heap.pop()!;
    if (this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#down(0);
    }
    return top;
  }

  #compact(): void {
    const live = this.#heap.filter(({ callback }) => callback !== undefined);
    this.#heap.length = 0;
    // A sorted array is a heap.
    for (const waiter of live.toSorted((a, b) => (isBefore(a, b) ? -1 : 1))) this.#heap.push(waiter);
    this.#cancelled = 0;
  }

  #up(start: number): void {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(this.#heap[at]!, this.#heap[parent]!)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #down(start: number): void {
    let at = start;
    for (;;) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < this.#heap.length && isBefore(this.#heap[child]!, this.#heap[least]!)) least = child;
      }
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #swap(a: number, b: number): void {
    [this.#heap[a], this.#heap[b]] = [this.#heap[b]!, this.#heap[a]!];
  }
}
