/**
 * The order of blocks in the code. All of a loop stands together, with the way back to its header last, and
 * each block stands behind those that lead to it but for ways back. So lanes that wait for others at a block
 * wait for what stands before it, and lanes of a loop meet before its next iteration.
 */
import { depthFirst } from '../../flow/depth-first.ts';
import { type FlowGraph, graphOf } from '../../flow/graph.ts';
import { type Loop, type LoopForest, loopForest } from '../../flow/loops.ts';
import { strongComponents } from '../../flow/strong-components.ts';

/** What a block of the order is: one of the graph, or the way back to the header of a loop. */
export type OrderSlot =
  | { readonly kind: 'block'; readonly block: number }
  | { readonly kind: 'latch'; readonly loop: Loop; readonly header: number };

export interface CodeOrder {
  readonly slots: readonly OrderSlot[];
  /** Where an edge of the graph leads, as a place in the order. */
  target(from: number, to: number): number;
}

/** An order's element: a block, or all of a loop. */
type Item = number | Loop;
type Nested = readonly (OrderSlot | Nested)[];

/** `successors`: of each block, the first one is where functions begin. */
export function codeOrder(successors: readonly (readonly number[])[]): CodeOrder {
  const graph = graphOf([...successors.keys()], [0], (node) => successors[node]!);
  const forest = loopForest(graph);
  const parts = new Map<Loop | undefined, Nested>();
  const levels = levelsOf(graph, forest);
  const latched = new Set<Loop>();
  for (const loop of [...forest.loops.toReversed(), undefined]) {
    const order = levels.get(loop)!.inOrder();
    const nested: (OrderSlot | Nested)[] = order.map((item) =>
      typeof item === 'number' ? { kind: 'block', block: item } : parts.get(item)!,
    );
    if (loop && (loop.latches.length > 1 || order.at(-1) !== loop.latches[0])) {
      latched.add(loop);
      nested.push({ kind: 'latch', loop, header: loop.header });
    }
    parts.set(loop, nested);
  }
  const slots = flat(parts.get(undefined)!);
  const places = new Map<number | Loop, number>();
  for (const [place, slot] of slots.entries()) places.set(slot.kind === 'block' ? slot.block : slot.loop, place);
  return {
    slots,
    target(from, to) {
      const loop = forest.at(to);
      const isBack = loop?.header === to && forest.has(loop, from) && loop.latches.includes(from);
      return places.get(isBack && latched.has(loop) ? loop : to)!;
    },
  };
}

/** The blocks and inner loops of a loop, or of all, and how they lead to each other but by edges back. */
class Level {
  readonly #items: Item[] = [];
  readonly #numbers = new Map<Item, number>();
  readonly #successors: number[][] = [];

  add(item: Item): number {
    const known = this.#numbers.get(item);
    if (known !== undefined) return known;
    this.#numbers.set(item, this.#items.length);
    this.#successors.push([]);
    return this.#items.push(item) - 1;
  }

  connect(from: Item, to: Item): void {
    if (from !== to) this.#successors[this.add(from)]!.push(this.add(to));
  }

  /**
   * Each behind those that lead to it. What is left of a cycle that is entered at several places stands
   * together, too: else lanes would come to what is behind it while others are still to come.
   */
  inOrder(): readonly Item[] {
    const size = this.#items.length;
    const { postorder } = depthFirst({ size, successors: this.#successors }, [0]);
    const places = new Map(postorder.map((number, place) => [number, place]));
    const parts = [
      ...strongComponents(
        0,
        (number) => this.#successors[number]!,
        () => false,
      ),
    ].toReversed();
    return parts.flatMap((part) =>
      part.toSorted((one, other) => places.get(other)! - places.get(one)!).map((number) => this.#items[number]!),
    );
  }
}

/** An edge belongs to the innermost loop that has both of its ends. */
function levelsOf(graph: FlowGraph, forest: LoopForest): ReadonlyMap<Loop | undefined, Level> {
  const levels = new Map([undefined, ...forest.loops].map((loop) => [loop, new Level()]));
  // A header comes before what else is in its loop.
  const order = depthFirst(graph, [0]).postorder.toReversed();
  for (const node of order) {
    const loop = forest.at(node);
    if (loop?.header === node) levels.get(loop.parent)!.add(loop);
    levels.get(loop)!.add(node);
  }
  for (const node of order) {
    for (const next of graph.successors[node]!) {
      const { common, from, to } = commonLoop(forest, node, next);
      if (next !== common?.header) levels.get(common)!.connect(from, to);
    }
  }
  return levels;
}

/** The innermost loop that has two blocks, and what they are in it: themselves, or loops inside. */
function commonLoop(forest: LoopForest, a: number, b: number): { common: Loop | undefined; from: Item; to: Item } {
  let [from, to]: [Item, Item] = [a, b];
  let [ofFrom, ofTo] = [forest.at(a), forest.at(b)];
  while (ofFrom !== ofTo) {
    const [depth, other] = [ofFrom?.depth ?? 0, ofTo?.depth ?? 0];
    if (depth >= other) [from, ofFrom] = [ofFrom!, ofFrom?.parent];
    if (other >= depth) [to, ofTo] = [ofTo!, ofTo?.parent];
  }
  return { common: ofFrom, from, to };
}

/** Without recursion: loops may nest as deeply as text can say. */
function flat(nested: Nested): OrderSlot[] {
  const slots: OrderSlot[] = [];
  const work: (OrderSlot | Nested)[] = [nested];
  for (let next = work.pop(); next !== undefined; next = work.pop()) {
    if ('kind' in next) slots.push(next);
    else for (let i = next.length - 1; i >= 0; i--) work.push(next[i]!);
  }
  return slots;
}
