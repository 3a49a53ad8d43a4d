/**
 * What is known at each node of a graph because of what the nodes before it, or behind it, do: least
 * solutions of data-flow equations.
 */
import { depthFirst } from './depth-first.ts';
import { type FlowGraph, reversed } from './graph.ts';

export interface DataFlowProblem<S> {
  readonly direction: 'forward' | 'backward';
  /** Nothing is known to arrive: joined with a state it leaves that as it is. */
  readonly nothing: S;
  /** What comes from outside: over entries, or from behind exits. */
  readonly outside: S;
  join(a: S, b: S): S;
  equals(a: S, b: S): boolean;
  /** What a node makes of what comes to it in the direction of the problem. */
  transfer(node: number, state: S): S;
}

export interface DataFlowSolution<S> {
  /** What comes to each node in the direction of the problem, and what leaves it. */
  readonly incoming: readonly S[];
  readonly outgoing: readonly S[];
}

/**
 * Nodes are visited in an order in which most of them come behind all that they depend on, and again only
 * when that has changed.
 */
export function solveDataFlow<S>(graph: FlowGraph, problem: DataFlowProblem<S>): DataFlowSolution<S> {
  const { direction, nothing, outside } = problem;
  const isForward = direction === 'forward';
  const { size, entries, predecessors: sources, successors: users } = isForward ? graph : reversed(graph);
  const starts = graph.entries.slice();
  for (let node = 0; node < size; node++) starts.push(node);
  const { postorder } = depthFirst(graph, starts);
  const order = isForward ? postorder.toReversed() : postorder;
  const ranks = new Uint32Array(size);
  for (let rank = 0; rank < size; rank++) ranks[order[rank]!] = rank;
  const isEntry = new Uint8Array(size);
  for (const entry of entries) isEntry[entry] = 1;
  const incoming = new Array<S>(size).fill(nothing);
  const outgoing = new Array<S>(size).fill(nothing);
  const isPending = new Uint8Array(size).fill(1);
  for (let hasPending = true; hasPending; ) {
    hasPending = false;
    for (let rank = 0; rank < size; rank++) {
      const node = order[rank]!;
      if (!isPending[node]) continue;
      isPending[node] = 0;
      let state = isEntry[node] ? outside : nothing;
      const before = sources[node]!;
      for (let i = 0; i < before.length; i++) state = problem.join(state, outgoing[before[i]!]!);
      incoming[node] = state;
      const after = problem.transfer(node, state);
      if (problem.equals(after, outgoing[node]!)) continue;
      outgoing[node] = after;
      const behind = users[node]!;
      for (let i = 0; i < behind.length; i++) {
        isPending[behind[i]!] = 1;
        hasPending ||= ranks[behind[i]!]! <= rank;
      }
    }
  }
  return { incoming, outgoing };
}
