/**
 * Directed graphs of whatever has successors: blocks of code, functions that call each other. Analyses work
 * on the numbers of the nodes.
 */

export interface FlowGraph {
  /** Nodes have the numbers from 0 on. */
  readonly size: number;
  /** Where a walk may begin, and where one may leave the graph. */
  readonly entries: readonly number[];
  readonly exits: readonly number[];
  /** In the order in which they were given; a node may be there twice. */
  readonly successors: readonly (readonly number[])[];
  readonly predecessors: readonly (readonly number[])[];
}

/**
 * The graph of `nodes`, numbered in their order. A successor that is undefined, or none of the nodes, leads
 * out of the graph; a node without successors is an exit, too.
 */
export function graphOf<T>(
  nodes: readonly T[],
  entries: Iterable<T>,
  successorsOf: (node: T) => Iterable<T | undefined>,
): FlowGraph {
  const numbers = new Map(nodes.map((node, number) => [node, number]));
  const predecessors = nodes.map((): number[] => []);
  const exits: number[] = [];
  const successors = nodes.map((node, number) => {
    const inside: number[] = [];
    let isExit = false;
    for (const successor of successorsOf(node)) {
      const to = successor === undefined ? undefined : numbers.get(successor);
      if (to === undefined) isExit = true;
      else {
        inside.push(to);
        predecessors[to]!.push(number);
      }
    }
    if (isExit || inside.length === 0) exits.push(number);
    return inside;
  });
  const starts = [...entries].flatMap((entry) => numbers.get(entry) ?? []);
  return { size: nodes.length, entries: starts, exits, successors, predecessors };
}

/** The graph with all edges turned round: what leaves it enters it. */
export const reversed = ({ size, entries, exits, successors, predecessors }: FlowGraph): FlowGraph => ({
  ...{ size, entries: exits, exits: entries, successors: predecessors, predecessors: successors },
});
