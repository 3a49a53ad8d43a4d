/**
 * Blocks of a ring, given out in order and taken back in order: positions only grow, a block is its position
 * modulo the capacity. What is given out lies in a row, so that the end of the ring may stay unused.
 */
export class BlockRing {
  readonly capacity: number;
  /** The next position that is given out, and the first that is not back. */
  #head = 0;
  #tail = 0;

  /** `capacity`: blocks, at least 1. */
  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** Blocks that are out, with those at the end of the ring that nobody got. */
  get usedCount(): number {
    return this.#head - this.#tail;
  }

  /** The position of `count` blocks in a row; undefined where there is no room now. */
  reserve(count: number): number | undefined {
    if (this.#head === this.#tail) {
      this.#head = 0;
      this.#tail = 0;
    }
    const left = this.capacity - (this.#head % this.capacity);
    const position = this.#head + (count > left ? left : 0);
    if (position + count - this.#tail > this.capacity) return undefined;
    this.#head = position + count;
    return position;
  }

  /** All blocks before `position` are back. */
  release(position: number): void {
    this.#tail = position;
  }

  /** The blocks from `position` on, which were given out last, are not needed. */
  cancel(position: number): void {
    this.#head = position;
  }

  /** Which block of the ring a position is. */
  index(position: number): number {
    return position % this.capacity;
  }
}
