/**
 * Which nodes every walk passes (T. Lengauer and R. Tarjan, "A Fast Algorithm for Finding Dominators in a
 * Flowgraph", 1979, with paths compressed and without recursion): the time grows with the size of the graph,
 * whatever its shape, but for a logarithm.
 */
import { depthFirst } from './depth-first.ts';
import { type FlowGraph, reversed } from './graph.ts';
import { strongComponents } from './strong-components.ts';
import { Tree } from './tree.ts';

/**
 * A node dominates those that no walk from an entry reaches without passing it; each node that is reached
 * dominates itself.
 */
export class Dominators {
  readonly #tree: Tree;

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  isReached(node: number): boolean {
    return this.#tree.has(node);
  }

  /** The nearest other node that dominates this one; undefined where there is none, as for entries. */
  immediate(node: number): number | undefined {
    return this.#tree.parent(node);
  }

  dominates(upper: number, node: number): boolean {
    return this.#tree.isWithin(node, upper);
  }
}

export function dominators(graph: FlowGraph): Dominators {
  const walk = depthFirst(graph, graph.entries);
  return new Dominators(new Tree(immediateDominators(graph, walk.preorder, walk.parents), walk.preorder));
}

/**
 * A node post-dominates those from which no walk leaves the graph without passing it. A walk that cannot
 * leave any more, because it is in an endless loop, counts as leaving from each node of that loop.
 */
export function postDominators(graph: FlowGraph): Dominators {
  const turned = reversed(graph);
  return dominators({ ...turned, entries: [...graph.exits, ...endlessNodes(graph)] });
}

/** The members of cycles that lead nowhere else. */
function endlessNodes({ size, exits, successors, predecessors }: FlowGraph): readonly number[] {
  if (depthFirst({ size, successors: predecessors }, exits).preorder.length === size) return [];
  const isExit = new Set(exits);
  const done = new Set<number>();
  const found: number[] = [];
  for (let root = 0; root < size; root++) {
    for (const component of strongComponents(
      root,
      (node) => successors[node]!,
      (node) => done.has(node),
    )) {
      for (const member of component) done.add(member);
      const members = new Set(component);
      const isEndless = component.every(
        (member) => !isExit.has(member) && successors[member]!.every((successor) => members.has(successor)),
      );
      if (isEndless) for (const member of component) found.push(member);
    }
  }
  return found;
}

/** Of each node; -1 for nodes that nothing else dominates, and for those that are not in `preorder`. */
function immediateDominators(
  { size, entries, predecessors }: FlowGraph,
  preorder: readonly number[],
  parents: Int32Array,
): Int32Array {
  // What follows counts nodes by their places in the walk, from 1 on: 0 is the root above all entries.
  const count = preorder.length + 1;
  const places = new Int32Array(size).fill(-1);
  preorder.forEach((node, i) => {
    places[node] = i + 1;
  });
  const parentOf = (place: number): number => {
    const parent = parents[preorder[place - 1]!]!;
    return parent < 0 ? 0 : places[parent]!;
  };
  const isEntry = new Uint8Array(count);
  for (const entry of entries) isEntry[places[entry]!] = 1;
  const semidominators = Int32Array.from({ length: count }, (_, place) => place);
  const forest = new CompressedForest(semidominators);
  const immediate = new Int32Array(count);
  /** Lists of the places with each semidominator: the first of a list, and the next of each place. */
  const firsts = new Int32Array(count).fill(-1);
  const nexts = new Int32Array(count).fill(-1);
  for (let place = count - 1; place > 0; place--) {
    let lowest = isEntry[place] ? 0 : place;
    for (const predecessor of predecessors[preorder[place - 1]!]!) {
      const from = places[predecessor]!;
      if (from < 0) continue;
      lowest = Math.min(lowest, semidominators[forest.lowestAbove(from)]!);
    }
    semidominators[place] = lowest;
    nexts[place] = firsts[lowest]!;
    firsts[lowest] = place;
    const parent = parentOf(place);
    forest.link(place, parent);
    for (let each = firsts[parent]!; each >= 0; each = nexts[each]!) {
      const above = forest.lowestAbove(each);
      immediate[each] = semidominators[above]! < semidominators[each]! ? above : parent;
    }
    firsts[parent] = -1;
  }
  const result = new Int32Array(size).fill(-1);
  for (let place = 1; place < count; place++) {
    if (immediate[place] !== semidominators[place]) immediate[place] = immediate[immediate[place]!]!;
    const above = immediate[place]!;
    result[preorder[place - 1]!] = above === 0 ? -1 : preorder[above - 1]!;
  }
  return result;
}

/** The walked part of the tree of a walk, with the place of the lowest semidominator on each way up. */
class CompressedForest {
  readonly #semidominators: Int32Array;
  readonly #ancestors: Int32Array;
  readonly #lowest: Int32Array;
  readonly #path: number[] = [];

  constructor(semidominators: Int32Array) {
    this.#semidominators = semidominators;
    this.#ancestors = new Int32Array(semidominators.length).fill(-1);
    this.#lowest = semidominators.slice();
  }

  link(place: number, parent: number): void {
    this.#ancestors[place] = parent;
  }

  /**
   * The place with the lowest semidominator from `place` up to below the root of its part, or that root
   * itself.
   */
  lowestAbove(place: number): number {
    const ancestors = this.#ancestors;
    if (ancestors[place]! < 0) return place;
    const path = this.#path;
    for (let at = place; ancestors[ancestors[at]!]! >= 0; at = ancestors[at]!) path.push(at);
    for (let at = path.pop(); at !== undefined; at = path.pop()) {
      const above = ancestors[at]!;
      const [lowest, other] = [this.#lowest[at]!, this.#lowest[above]!];
      if (this.#semidominators[other]! < this.#semidominators[lowest]!) this.#lowest[at] = other;
      ancestors[at] = ancestors[above]!;
    }
    return this.#lowest[place]!;
  }
}
