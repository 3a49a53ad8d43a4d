/**
 * Natural loops and how they lie in each other. A loop has one header, which is the only way in; cycles with
 * several ways in are told apart.
 */
import { depthFirst } from './depth-first.ts';
import { dominators } from './dominators.ts';
import type { FlowGraph } from './graph.ts';
import { strongComponents } from './strong-components.ts';
import { Tree } from './tree.ts';

export interface Loop {
  /** The header's; all other nodes of the loop are reached through it. */
  readonly header: number;
  /** Where edges lead back to the header. */
  readonly latches: readonly number[];
  /** The innermost of the loops around it. */
  readonly parent: Loop | undefined;
  /** 1 for a loop that is in no other. */
  readonly depth: number;
}

export class LoopForest {
  /** Each behind the loops around it. */
  readonly loops: readonly Loop[];
  /**
   * Cycles that can be entered at several nodes: what is left of each when the edges back to headers are
   * gone.
   */
  readonly irreducible: readonly (readonly number[])[];
  readonly #graph: FlowGraph;
  readonly #numbers: ReadonlyMap<Loop, number>;
  readonly #tree: Tree;
  readonly #innermost: Int32Array;

  constructor(
    graph: FlowGraph,
    loops: readonly Loop[],
    innermost: Int32Array,
    irreducible: readonly (readonly number[])[],
  ) {
    this.#graph = graph;
    this.loops = loops;
    this.irreducible = irreducible;
    this.#innermost = innermost;
    this.#numbers = new Map(loops.map((loop, number) => [loop, number]));
    const parents = loops.map(({ parent }) => (parent ? this.#numbers.get(parent)! : -1));
    this.#tree = new Tree(Int32Array.from(parents), [...loops.keys()]);
  }

  /** The innermost loop around a node; its own for a header. */
  at(node: number): Loop | undefined {
    return this.loops[this.#innermost[node]!];
  }

  has(loop: Loop, node: number): boolean {
    const innermost = this.#innermost[node]!;
    return innermost >= 0 && this.#tree.isWithin(innermost, this.#numbers.get(loop)!);
  }

  /** With those of the loops inside, in reverse postorder: the header comes first. */
  nodesOf(loop: Loop): readonly number[] {
    const { successors, size } = this.#graph;
    const inside = successors.map((each, node) =>
      this.has(loop, node) ? each.filter((successor) => this.has(loop, successor)) : [],
    );
    return depthFirst({ size, successors: inside }, [loop.header]).postorder.toReversed();
  }

  /** The edges that lead out of a loop. */
  exitsOf(loop: Loop): readonly (readonly [from: number, to: number])[] {
    return this.nodesOf(loop).flatMap((from) =>
      this.#graph.successors[from]!.filter((to) => !this.has(loop, to)).map((to) => [from, to] as const),
    );
  }
}

/** Of the nodes that the entries reach. */
export function loopForest(graph: FlowGraph): LoopForest {
  const { size, successors, predecessors } = graph;
  const order = depthFirst(graph, graph.entries).postorder.toReversed();
  const places = new Int32Array(size).fill(-1);
  order.forEach((node, place) => {
    places[node] = place;
  });
  const tree = dominators(graph);
  const isBack = (from: number, to: number): boolean => tree.dominates(to, from);
  const found: { header: number; latches: readonly number[]; parent: number }[] = [];
  const innermost = new Int32Array(size).fill(-1);
  /** A loop around each loop: the outermost that is known, when asked through `outermost`. */
  const around: number[] = [];
  const outermost = (loop: number): number => {
    let top = loop;
    while (around[top] !== top) top = around[top]!;
    for (let at = loop; at !== top; ) {
      const next = around[at]!;
      around[at] = top;
      at = next;
    }
    return top;
  };
  // Headers of inner loops come behind those of outer ones in the order, so that inner loops are found first;
  // a walk back from the latches of an outer one passes an inner one in a step.
  for (const header of order.toReversed()) {
    const latches = [...new Set(predecessors[header]!)].filter((from) => isBack(from, header));
    if (latches.length === 0) continue;
    const loop = found.length;
    found.push({ header, latches, parent: -1 });
    around.push(loop);
    innermost[header] = innermost[header]! < 0 ? loop : innermost[header]!;
    const work = [...latches];
    for (let node = work.pop(); node !== undefined; node = work.pop()) {
      if (places[node]! < 0 || node === header) continue;
      if (innermost[node]! < 0) {
        innermost[node] = loop;
        for (const predecessor of predecessors[node]!) work.push(predecessor);
        continue;
      }
      const inner = outermost(innermost[node]!);
      if (inner === loop) continue;
      found[inner]!.parent = loop;
      around[inner] = loop;
      for (const predecessor of predecessors[found[inner]!.header]!) work.push(predecessor);
    }
  }
  return new LoopForest(
    graph,
    ...outermostFirst(found, innermost),
    irreducibleParts(order, places, successors, isBack),
  );
}

function outermostFirst(
  found: readonly { readonly header: number; readonly latches: readonly number[]; readonly parent: number }[],
  innermost: Int32Array,
): [loops: readonly Loop[], innermost: Int32Array] {
  const last = found.length - 1;
  const loops: Loop[] = [];
  for (const { header, latches, parent } of found.toReversed()) {
    const outer = parent < 0 ? undefined : loops[last - parent]!;
    loops.push({ header, latches, parent: outer, depth: (outer?.depth ?? 0) + 1 });
  }
  return [loops, innermost.map((loop) => (loop < 0 ? -1 : last - loop))];
}

/**
 * A cycle with several ways in has an edge against the order to a node that does not dominate where it comes
 * from.
 */
function irreducibleParts(
  order: readonly number[],
  places: Int32Array,
  successors: FlowGraph['successors'],
  isBack: (from: number, to: number) => boolean,
): readonly (readonly number[])[] {
  const isIrreducible = order.some((from) =>
    successors[from]!.some((to) => places[to]! <= places[from]! && !isBack(from, to)),
  );
  if (!isIrreducible) return [];
  const done = new Set<number>();
  const parts: (readonly number[])[] = [];
  for (const root of order) {
    for (const component of strongComponents(
      root,
      (node) => successors[node]!.filter((to) => !isBack(node, to)),
      (node) => done.has(node),
    )) {
      for (const member of component) done.add(member);
      if (component.length > 1) parts.push(component.toSorted((a, b) => places[a]! - places[b]!));
    }
  }
  return parts;
}

/**
 * The nodes from which `latch` is reached without passing `header`, with the header: the loop of one edge
 * back, where the header dominates the latch. Undefined where a walk that does not pass the header may begin
 * inside, at a node without predecessors.
 */
export function loopOfEdge(
  { predecessors }: FlowGraph,
  latch: number,
  header: number,
): ReadonlySet<number> | undefined {
  const inside = new Set([header, latch]);
  const work = latch === header ? [] : [latch];
  for (let node = work.pop(); node !== undefined; node = work.pop()) {
    const before = predecessors[node]!;
    if (before.length === 0) return undefined;
    for (const predecessor of before) {
      if (inside.has(predecessor)) continue;
      inside.add(predecessor);
      work.push(predecessor);
    }
  }
  return inside;
}
