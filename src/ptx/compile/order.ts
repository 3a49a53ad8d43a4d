/**
 * The order of blocks in the code. All of a loop stands together, with the way back to its header last, and
 * each block stands behind those that lead to it but for ways back. So lanes that wait for others at a block
 * wait for what stands before it, and lanes of a loop meet before its next iteration.
 */
import { depthFirst } from '../../flow/depth-first.ts';
import { type FlowGraph, graphOf } from '../../flow/graph.ts';
import { type Loop, loopForest } from '../../flow/loops.ts';

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
  const nodes = [...successors.keys()];
  const graph = graphOf(nodes, [0], (node) => successors[node]!);
  const forest = loopForest(graph);
  const parts = new Map<Loop | undefined, Nested>();
  const itemOf = (node: number, around: Loop | undefined): Item | undefined => {
    let loop = forest.at(node);
    if (loop === around) return node;
    while (loop && loop.parent !== around) loop = loop.parent;
    return loop;
  };
  const latched = new Set<Loop>();
  for (const loop of [...forest.loops.toReversed(), undefined]) {
    const inside = loop ? forest.nodesOf(loop) : depthFirst(graph, [0]).preorder;
    const order = orderOf(graph, inside, loop, itemOf);
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

/** The blocks and inner loops of a loop, or of all, each behind those that lead to it but by edges back. */
function orderOf(
  { successors }: FlowGraph,
  inside: readonly number[],
  loop: Loop | undefined,
  itemOf: (node: number, around: Loop | undefined) => Item | undefined,
): readonly Item[] {
  const items: Item[] = [];
  const numbers = new Map<Item, number>();
  const numberOf = (item: Item): number => {
    const known = numbers.get(item);
    if (known !== undefined) return known;
    numbers.set(item, items.length);
    items.push(item);
    return items.length - 1;
  };
  const edges: number[][] = [];
  const nodes = new Set(inside);
  for (const node of inside) {
    const from = numberOf(itemOf(node, loop)!);
    edges[from] ??= [];
    for (const next of successors[node]!) {
      if (!nodes.has(next) || next === loop?.header) continue;
      const to = numberOf(itemOf(next, loop)!);
      if (to !== from) edges[from].push(to);
    }
  }
  const { postorder } = depthFirst({ size: items.length, successors: items.map((_, i) => edges[i] ?? []) }, [0]);
  return postorder.toReversed().map((number) => items[number]!);
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
