/** Forests of numbered nodes, for quick answers to who stands above whom. */

export class Tree {
  /** The parent of each node; -1 for roots and for numbers that stand for no node. */
  readonly parents: Int32Array;
  /**
   * Number of each node in a preorder, and how many nodes are below it, with itself; 0 for numbers that stand
   * for no node.
   */
  readonly #places: Uint32Array;
  readonly #sizes: Uint32Array;

  /** `topDown`: the nodes, each after its parent. */
  constructor(parents: Int32Array, topDown: readonly number[]) {
    this.parents = parents;
    this.#places = new Uint32Array(parents.length);
    this.#sizes = new Uint32Array(parents.length);
    for (const node of topDown.toReversed()) {
      this.#sizes[node]!++;
      const parent = parents[node]!;
      if (parent >= 0) this.#sizes[parent]! += this.#sizes[node]!;
    }
    /** The place of the next child of each node. */
    const next = new Uint32Array(parents.length);
    let nextRoot = 0;
    for (const node of topDown) {
      const parent = parents[node]!;
      const place = parent >= 0 ? next[parent]! : nextRoot;
      if (parent >= 0) next[parent] = place + this.#sizes[node]!;
      else nextRoot = place + this.#sizes[node]!;
      this.#places[node] = place;
      next[node] = place + 1;
    }
  }

  has(node: number): boolean {
    return this.#sizes[node]! > 0;
  }

  parent(node: number): number | undefined {
    const parent = this.parents[node]!;
    return parent < 0 ? undefined : parent;
  }

  /** Whether `upper` is `node` or stands above it. */
  isWithin(node: number, upper: number): boolean {
    const distance = this.#places[node]! - this.#places[upper]!;
    return this.has(node) && distance >= 0 && distance < this.#sizes[upper]!;
  }
}
