import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { depthFirst, reversePostorder } from './depth-first.ts';
import { type Dominators, dominators, postDominators } from './dominators.ts';
import { type FlowGraph, reversed } from './graph.ts';
import { anyGraph, chain, parseGraph, reach } from './graph-text.test-support.ts';

/** As `node < dominator` in the order of the nodes. */
const listing = (names: readonly string[], tree: Dominators): string =>
  names
    .map((name, node) => (tree.isReached(node) ? `${name}<${names[tree.immediate(node) ?? -1] ?? ''}` : `${name}?`))
    .join(' ');

const DIAMOND = `
  a -> b c
  b -> d
  c -> d
  d -> e
  e -> a f
  f ->`;

test('immediate dominators and post-dominators of a diamond in a loop', () => {
  const { graph, names } = parseGraph(DIAMOND);
  assert.equal(listing(names, dominators(graph)), 'a< b<a c<a d<a e<d f<e');
  assert.equal(listing(names, postDominators(graph)), 'a<d b<d c<d d<e e<f f<');
  assert.deepEqual(
    reversePostorder(graph).map((node) => names[node]),
    ['a', 'c', 'b', 'd', 'e', 'f'],
  );
});

test('what is entered twice has no dominator but itself; what is not reached is told', () => {
  const text = 'a -> c\nb -> c\nc -> d\nd ->\nx -> d';
  const { graph, names } = parseGraph(text, ['a', 'b']);
  assert.equal(listing(names, dominators(graph)), 'a< c< b< d<c x?');
});

test('two ways out have no common post-dominator; an endless loop is a way out from each of its nodes', () => {
  const ways = parseGraph('a -> b c\nb -> out c\nc -> d\nd ->');
  assert.equal(listing(ways.names, postDominators(ways.graph)), 'a< b< c<d d<');
  const endless = parseGraph('a -> b d\nb -> c\nc -> b\nd ->');
  assert.equal(listing(endless.names, postDominators(endless.graph)), 'a< b< d< c<');
});

/** By the definition: `upper` is on every walk from `starts` to `node`. */
function assertDominates(graph: FlowGraph, starts: readonly number[], tree: Dominators): void {
  const reached = reach(graph, starts);
  for (let node = 0; node < graph.size; node++) {
    assert.equal(tree.isReached(node), reached.has(node));
    const above: number[] = [];
    for (let upper = 0; upper < graph.size; upper++) {
      const dominates = reached.has(node) && reached.has(upper) && !reach(graph, starts, upper).has(node);
      assert.equal(tree.dominates(upper, node), dominates, `${upper} dominates ${node}`);
      if (dominates && upper !== node) above.push(upper);
    }
    // The nearest one is dominated by all others.
    const nearest = above.find((each) => above.every((other) => tree.dominates(other, each)));
    assert.equal(tree.immediate(node), nearest, `nearest of ${node}`);
  }
}

test('a node dominates what cannot be reached when it is taken away', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => assertDominates(graph, graph.entries, dominators(graph))),
    { numRuns: 500 },
  );
});

test('a node post-dominates what cannot leave when it is taken away', () => {
  const starts = (graph: FlowGraph): number[] => {
    const back = reversed(graph);
    const canLeave = reach(back, back.entries);
    const isEndless = (node: number) =>
      !canLeave.has(node) && [...reach(graph, graph.successors[node]!)].every((each) => reach(graph, [each]).has(node));
    return [...Array(graph.size).keys()].filter((node) => graph.exits.includes(node) || isEndless(node));
  };
  fc.assert(
    fc.property(anyGraph, (graph) => assertDominates(reversed(graph), starts(graph), postDominators(graph))),
    { numRuns: 500 },
  );
});

test('in reverse postorder only retreating edges go back', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const order = reversePostorder(graph);
      assert.deepEqual(new Set(order), reach(graph, graph.entries));
      assert.equal(order.length, new Set(order).size);
      const { preorder, parents } = depthFirst(graph, graph.entries);
      assert.deepEqual(new Set(preorder), new Set(order));
      const isAbove = (upper: number, node: number): boolean => {
        for (let at = node; at >= 0; at = parents[at]!) if (at === upper) return true;
        return false;
      };
      for (const from of order)
        for (const to of graph.successors[from]!)
          assert.equal(order.indexOf(to) <= order.indexOf(from), isAbove(to, from), `${from} -> ${to}`);
    }),
  );
});

const SIZE = 100_000;
const SHAPES: Readonly<Record<string, FlowGraph>> = {
  'a chain': chain(SIZE),
  'one exit of all': chain(SIZE, () => [SIZE - 1]),
  'loops in loops': chain(SIZE, (node) => (node > SIZE / 2 ? [SIZE - node] : [])),
  'loops to the start': chain(SIZE, () => [0]),
  'a ladder': chain(SIZE, (node) => (node + 2 < SIZE ? [node + 2] : [])),
};

for (const [name, graph] of Object.entries(SHAPES)) {
  test(`${name} of ${SIZE} nodes takes neither stack nor time`, { timeout: 10_000 }, () => {
    assert.equal(dominators(graph).dominates(0, SIZE - 1), true);
    assert.equal(postDominators(graph).dominates(SIZE - 1, 0), true);
  });
}
