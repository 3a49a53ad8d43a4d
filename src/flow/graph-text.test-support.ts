/**
 * Graphs as text for tests: a line `a -> b c` for each node, `a -> b out` for one from which walks may leave.
 * The first node is the entry.
 */
import fc from 'fast-check';
import { type FlowGraph, graphOf } from './graph.ts';

export interface NamedGraph {
  readonly graph: FlowGraph;
  readonly names: readonly string[];
  number(name: string): number;
}

export function parseGraph(text: string, entries?: readonly string[]): NamedGraph {
  const successors = new Map<string, readonly string[]>();
  const names = new Set<string>();
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [name = '', targets = ''] = line.split('->').map((part) => part.trim());
    const next = targets.split(/\s+/).filter(Boolean);
    successors.set(name, next);
    names.add(name);
    for (const each of next) if (each !== 'out') names.add(each);
  }
  const nodes = [...names];
  const graph = graphOf(nodes, entries ?? nodes.slice(0, 1), (name) =>
    (successors.get(name) ?? []).map((next) => (next === 'out' ? undefined : next)),
  );
  return { graph, names: nodes, number: (name) => nodes.indexOf(name) };
}

/** Graphs of at most 9 nodes that are entered at some of them, and left at some. */
export const anyGraph: fc.Arbitrary<FlowGraph> = fc
  .integer({ min: 1, max: 9 })
  .chain((size) =>
    fc.record({
      size: fc.constant(size),
      entries: fc.uniqueArray(fc.nat(size - 1), { minLength: 1, maxLength: 2 }),
      successors: fc.array(fc.array(fc.integer({ min: -1, max: size - 1 }), { maxLength: 3 }), {
        minLength: size,
        maxLength: size,
      }),
    }),
  )
  .map(({ size, entries, successors }) =>
    graphOf([...Array(size).keys()], entries, (node) =>
      successors[node]!.map((successor) => (successor < 0 ? undefined : successor)),
    ),
  );

/** The nodes that walks from `starts` reach without passing `without`. */
export function reach(
  { successors }: Pick<FlowGraph, 'successors'>,
  starts: readonly number[],
  without?: number,
): ReadonlySet<number> {
  const found = new Set(starts.filter((start) => start !== without));
  for (const node of found) for (const next of successors[node]!) if (next !== without) found.add(next);
  return found;
}

/** A chain of `size` nodes from the entry to the exit; `more`: further edges of each. */
export const chain = (size: number, more: (node: number) => readonly number[] = () => []): FlowGraph =>
  graphOf([...Array(size).keys()], [0], (node) => [node + 1 < size ? node + 1 : undefined, ...more(node)]);
