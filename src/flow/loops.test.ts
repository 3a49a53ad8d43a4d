import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { dominators } from './dominators.ts';
import { anyGraph, chain, parseGraph, reach } from './graph-text.test-support.ts';
import { loopForest, loopOfEdge } from './loops.ts';

/** Each loop as `header: nodes < depth`, and the irreducible parts. */
function loopsOf(text: string): readonly string[] {
  const { graph, names } = parseGraph(text);
  const forest = loopForest(graph);
  const list = (nodes: readonly number[]): string => nodes.map((node) => names[node]).join('');
  return [
    ...forest.loops.map(
      (loop) =>
        `${loop.depth} ${list([loop.header])}: ${list(forest.nodesOf(loop))}, back from ${list(loop.latches)}, out ${forest
          .exitsOf(loop)
          .map(list)
          .join(' ')}`,
    ),
    ...forest.irreducible.map((part) => `irreducible ${list(part)}`),
  ];
}

test('loops in loops, with their latches and ways out', () => {
  assert.deepEqual(loopsOf('a -> b\nb -> c d\nc -> c e\nd -> e\ne -> b f\nf -> a g\ng ->'), [
    '1 a: abdcef, back from f, out fg',
    '2 b: bdce, back from e, out ef',
    '3 c: c, back from c, out ce',
  ]);
});

test('two edges back to one header are one loop', () => {
  assert.deepEqual(loopsOf('a -> b\nb -> a c\nc -> a d\nd ->'), ['1 a: abc, back from bc, out cd']);
});

test('a cycle with two ways in has no header, the loops around and inside it have', () => {
  assert.deepEqual(loopsOf('a -> b c\nb -> c\nc -> b d\nd -> a e\ne ->'), [
    '1 a: abcd, back from d, out de',
    'irreducible bc',
  ]);
  assert.deepEqual(loopsOf('a -> b c\nb -> c b\nc -> b d\nd ->'), ['1 b: b, back from b, out bc', 'irreducible bc']);
});

test('loops are what their definition says', () => {
  fc.assert(
    fc.property(anyGraph, (graph) => {
      const forest = loopForest(graph);
      const tree = dominators(graph);
      const reached = [...reach(graph, graph.entries)];
      const headers = reached.filter((to) =>
        graph.predecessors[to]!.some((from) => tree.isReached(from) && tree.dominates(to, from)),
      );
      assert.deepEqual(new Set(forest.loops.map(({ header }) => header)), new Set(headers));
      assert.equal(forest.loops.length, headers.length);
      for (const loop of forest.loops) {
        const { header, latches, parent } = loop;
        // A member leads to a latch without passing the header.
        const isMember = (node: number): boolean =>
          node === header || latches.some((latch) => reach(graph, [node], header).has(latch));
        const members = reached.filter((node) => tree.dominates(header, node) && isMember(node));
        assert.deepEqual(new Set(forest.nodesOf(loop)), new Set(members));
        const edges = latches.map((latch) => loopOfEdge(graph, latch, header));
        if (edges.every((edge) => edge !== undefined)) {
          const inside = edges.flatMap((edge) => [...edge]).filter((node) => tree.isReached(node));
          assert.deepEqual(new Set(inside), new Set(members));
        }
        const around = forest.loops.filter((other) => other !== loop && forest.has(other, header));
        const size = (other: (typeof around)[number]): number => forest.nodesOf(other).length;
        assert.equal(parent, around.toSorted((a, b) => size(a) - size(b))[0]);
        assert.equal(loop.depth, around.length + 1);
        for (const node of reached) {
          assert.equal(forest.has(loop, node), members.includes(node));
        }
      }
      // Without the edges to dominators, only irreducible parts have cycles.
      const successors = graph.successors.map((each, from) => each.filter((to) => !tree.dominates(to, from)));
      const inParts = reached.filter((node) => reach({ successors }, successors[node]!).has(node));
      assert.deepEqual(new Set(forest.irreducible.flat()), new Set(inParts));
    }),
    { numRuns: 1000 },
  );
});

test('the loop of one edge is told apart from a walk that begins inside', () => {
  const { graph, number } = parseGraph('a -> b\nb -> c\nc -> b d\nd ->\nx -> c');
  assert.equal(loopOfEdge(graph, number('c'), number('b')), undefined);
  const alone = parseGraph('a -> b\nb -> c\nc -> b d\nd ->');
  assert.deepEqual(loopOfEdge(alone.graph, 2, 1), new Set([1, 2]));
});

const SIZE = 100_000;

test(`${SIZE / 2} loops in each other take neither stack nor time`, { timeout: 10_000 }, () => {
  const forest = loopForest(chain(SIZE, (node) => (node >= SIZE / 2 ? [SIZE - 1 - node] : [])));
  assert.equal(forest.loops.length, SIZE / 2);
  assert.equal(forest.at(SIZE / 2)?.depth, SIZE / 2);
  assert.equal(forest.has(forest.loops[0]!, SIZE / 2), true);
});

test('a long chain in one loop, and one that is a cycle with two ways in', { timeout: 10_000 }, () => {
  const last = SIZE - 1;
  assert.equal(loopForest(chain(SIZE, (node) => (node === last ? [0] : []))).loops.length, 1);
  const [part] = loopForest(chain(SIZE, (node) => (node === last ? [1] : node === 0 ? [2] : []))).irreducible;
  assert.equal(part?.length, SIZE - 1);
});
