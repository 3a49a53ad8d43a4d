/**
 * Depth-first walks over graphs, and the orders of nodes that they give. No recursion: a chain may be as long
 * as memory.
 */
import type { FlowGraph } from './graph.ts';

export interface DepthFirst {
  /** The reached nodes, each before those that were first met behind it. */
  readonly preorder: readonly number[];
  /** The reached nodes, each after those that were first met behind it. */
  readonly postorder: readonly number[];
  /** The node from which each node was first met; -1 for entries and for what is not reached. */
  readonly parents: Int32Array;
}

/** Walks from `starts`, one after the other, along successors in their order. */
export function depthFirst(
  { size, successors }: Pick<FlowGraph, 'size' | 'successors'>,
  starts: Iterable<number>,
): DepthFirst {
  const preorder: number[] = [];
  const postorder: number[] = [];
  const parents = new Int32Array(size).fill(-1);
  const isMet = new Uint8Array(size);
  /** How many successors of each node were looked at. */
  const looked = new Uint32Array(size);
  const path: number[] = [];
  const enter = (node: number): void => {
    isMet[node] = 1;
    preorder.push(node);
    path.push(node);
  };
  for (const start of starts) {
    if (isMet[start]) continue;
    enter(start);
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const successor = successors[node]![looked[node]!++];
      if (successor === undefined) {
        postorder.push(node);
        path.pop();
      } else if (!isMet[successor]) {
        parents[successor] = node;
        enter(successor);
      }
    }
  }
  return { preorder, postorder, parents };
}

/** The nodes that the entries reach: without cycles, each comes after all that lead to it. */
export const reversePostorder = (graph: FlowGraph): readonly number[] =>
  depthFirst(graph, graph.entries).postorder.toReversed();
