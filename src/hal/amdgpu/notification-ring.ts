/** What a queue is to be told of, in the order of its epochs, with room for so many entries. */
export class NotificationRing<Entry> {
  readonly capacity: number;
  readonly #entries: (Entry | undefined)[] = [];
  #head = 0;
  #size = 0;

  /** `capacity`: at least 1. */
  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size === this.capacity;
  }

  /** The oldest first. */
  get entries(): readonly Entry[] {
    return Array.from({ length: this.#size }, (_, i) => this.#entries[(this.#head + i) % this.capacity]!);
  }

  /** The oldest one. */
  get first(): Entry | undefined {
    return this.#entries[this.#head];
  }

  /** Only while the ring is not full. */
  push(entry: Entry): void {
    this.#entries[(this.#head + this.#size++) % this.capacity] = entry;
  }

  /** Takes the oldest one. */
  shift(): Entry | undefined {
    const entry = this.#entries[this.#head];
    if (entry === undefined) return undefined;
    this.#entries[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.capacity;
    this.#size--;
    return entry;
  }

  /** Takes all, the oldest first. */
  takeAll(): Entry[] {
    return Array.from({ length: this.#size }, () => this.shift()!);
  }
}
