/** Slices of time that may overlap, in lanes in which they do not. */

/** A heap whose least element is first. */
class Heap {
  readonly #keys: number[] = [];
  readonly #values: bigint[] = [];

  get size(): number {
    return this.#keys.length;
  }
  /** The value of the least element. */
  get least(): bigint | undefined {
    return this.#values[0];
  }

  push(value: bigint, key: number): void {
    let at = this.#keys.length;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!isBefore(value, key, this.#values[parent]!, this.#keys[parent]!)) break;
      this.#put(at, this.#values[parent]!, this.#keys[parent]!);
      at = parent;
    }
    this.#put(at, value, key);
  }

  /** The key of the least element, which goes. There must be one. */
  pop(): number {
    const first = this.#keys[0]!;
    const [value, key] = [this.#values.pop()!, this.#keys.pop()!];
    const { size } = this;
    if (size === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      const other = child + 1;
      if (other < size && isBefore(this.#values[other]!, this.#keys[other]!, this.#values[child]!, this.#keys[child]!))
        child = other;
      if (!isBefore(this.#values[child]!, this.#keys[child]!, value, key)) break;
      this.#put(at, this.#values[child]!, this.#keys[child]!);
      at = child;
    }
    this.#put(at, value, key);
    return first;
  }

  #put(at: number, value: bigint, key: number): void {
    this.#values[at] = value;
    this.#keys[at] = key;
  }
}

const isBefore = (value: bigint, key: number, otherValue: bigint, otherKey: number): boolean =>
  value < otherValue || (value === otherValue && key < otherKey);

/** Gives each slice the first lane that is free when it begins. */
export class SliceLanes {
  readonly #busy = new Heap();
  readonly #free = new Heap();
  #count = 0;

  /** Slices must come in the order of their starts. Time grows with the logarithm of the number of lanes. */
  place(start: bigint, end: bigint): number {
    while (this.#busy.size > 0 && this.#busy.least! <= start) {
      const lane = this.#busy.pop();
      this.#free.push(BigInt(lane), lane);
    }
    const lane = this.#free.size > 0 ? this.#free.pop() : this.#count++;
    this.#busy.push(end, lane);
    return lane;
  }
}
