import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { strongComponents } from './strong-components.ts';

interface Node {
  readonly id: number;
  readonly next: Node[];
}

function graph(size: number, edges: readonly (readonly [number, number])[]): Node[] {
  const nodes = Array.from({ length: size }, (_, id): Node => ({ id, next: [] }));
  for (const [from, to] of edges) nodes[from % size]!.next.push(nodes[to % size]!);
  return nodes;
}

function reach(start: Node): Set<Node> {
  const found = new Set([start]);
  for (const { next } of found) for (const node of next) found.add(node);
  return found;
}

test('members reach each other, and what a component leads to comes before it', () => {
  const edges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 30 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), edges, (size, arrows) => {
      const nodes = graph(size, arrows);
      const done = new Map<Node, number>();
      let count = 0;
      for (const root of nodes) {
        for (const component of strongComponents(
          root,
          ({ next }) => next,
          (node) => done.has(node),
        )) {
          for (const member of component) {
            assert.ok(!done.has(member), 'once');
            done.set(member, count);
          }
          const [first] = component;
          for (const node of reach(first!)) {
            assert.ok(done.has(node), 'what it leads to is known');
            assert.equal(done.get(node) === count, reach(node).has(first!), 'both ways are one component');
          }
          count++;
        }
      }
      assert.equal(done.size, size);
    }),
  );
});

test('a long chain and a long cycle need no stack', () => {
  const size = 100_000;
  const chain = graph(
    size,
    Array.from({ length: size - 1 }, (_, i) => [i, i + 1] as const),
  );
  const count = (nodes: readonly Node[]) =>
    [
      ...strongComponents(
        nodes[0]!,
        ({ next }) => next,
        () => false,
      ),
    ].length;
  assert.equal(count(chain), size);
  chain[size - 1]!.next.push(chain[0]!);
  assert.equal(count(chain), 1);
});
