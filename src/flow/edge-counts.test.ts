import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planEdgeCounts } from './edge-counts.ts';

/** Walks from outside, through nodes that are chosen at random, to the outside again. */
const walks = fc.array(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 30 }), { minLength: 1 });

test('counts of some edges tell those of all', () => {
  fc.assert(
    fc.property(walks, fc.array(fc.integer({ min: 1, max: 1000 })), (ways, costs) => {
      const taken = new Map<string, bigint>();
      for (const way of ways) {
        for (const [i, to] of [...way, 0].entries()) {
          const key = `${i === 0 ? 0 : way[i - 1]} ${to}`;
          taken.set(key, (taken.get(key) ?? 0n) + 1n);
        }
      }
      const edges = [...taken.keys()].map((key, i) => {
        const [from, to] = key.split(' ').map(Number) as [number, number]; // reason: made of two numbers
        return { from, to, cost: costs[i % Math.max(costs.length, 1)] ?? 1 };
      });
      const plan = planEdgeCounts(13, edges);
      const through = [...taken.values()];
      assert.deepEqual(plan.solve(plan.counted.map((index) => through[index]!)), through);
      // As many as there are edges that close a circle.
      const nodes = new Set(edges.flatMap(({ from, to }) => [from, to]));
      assert.equal(plan.counted.length, edges.length - nodes.size + 1);
    }),
  );
});

test('what costs most is not counted', () => {
  // 0 to 1, a loop of 1 and 2 that is left from both.
  const edges = [
    { from: 0, to: 1, cost: 1 },
    { from: 1, to: 2, cost: 100 },
    { from: 2, to: 1, cost: 50 },
    { from: 1, to: 0, cost: 3 },
    { from: 2, to: 0, cost: 2 },
  ];
  assert.deepEqual(planEdgeCounts(3, edges).counted, [0, 2, 4]);
});
