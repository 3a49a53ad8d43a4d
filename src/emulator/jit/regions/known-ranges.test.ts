import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Graph } from './graph.ts';
import { KnownRanges } from './known-ranges.ts';
import type { Node } from './node.ts';

const word = fc.oneof(
  fc.integer(),
  fc.constantFrom(0, 1, -1, 0x7fffffff, -0x80000000),
  fc.integer({ min: -9, max: 9 }),
);
/** A comparison of a number, less another one, or with other bits. */
const comparison = fc.record({ isSigned: fc.boolean(), name: fc.constantFrom('sub', 'xor'), by: word, limit: word });
type Comparison = typeof comparison extends fc.Arbitrary<infer T> ? T : never;

const holds = ({ isSigned, name, by, limit }: Comparison, x: number): boolean => {
  const value = name === 'xor' ? x ^ by : (x - by) | 0;
  return isSigned ? value < limit : value >>> 0 < limit >>> 0;
};

function nodeOf(graph: Graph, x: Node, { isSigned, name, by, limit }: Comparison): Node {
  const number = (value: number): Node => graph.constant(BigInt(value), 'i32');
  return graph.op(isSigned ? 'i32.ltS' : 'i32.ltU', graph.op(`i32.${name}`, x, number(by)), number(limit));
}

test('what is certain holds for all numbers for which what was learned does', () => {
  let certain = 0;
  fc.assert(
    fc.property(comparison, comparison, fc.boolean(), fc.boolean(), fc.array(word), (a, b, isTrue, isSure, words) => {
      const graph = new Graph(64);
      const x = graph.share({ kind: 'row', offset: 0 }, 'i32', true);
      const known = new KnownRanges();
      known.learn(nodeOf(graph, x, a), isTrue);
      if (!known.isCertain(nodeOf(graph, x, b), isSure)) return;
      certain++;
      // Those at both ends of either, too.
      const ends = [a, b].flatMap(({ by, limit }) =>
        [by, by + limit, by - 0x80000000].flatMap((end) => [end - 1, end]),
      );
      for (const each of [...words, ...ends])
        if (holds(a, each | 0) === isTrue) assert.equal(holds(b, each | 0), isSure);
    }),
    { numRuns: 2000 },
  );
  assert.ok(certain > 100, String(certain));
});

test('conditions are learned through not, and, or; a number is known between bounds', () => {
  const graph = new Graph(64);
  const [x, y] = [0, 1].map((offset) => graph.share({ kind: 'row', offset }, 'i32', true)) as [Node, Node];
  const below = (node: Node, limit: bigint): Node => graph.op('i32.ltU', node, graph.constant(limit, 'i32'));
  const known = new KnownRanges();
  const isLarge = graph.op('i1.not', graph.op('i1.and', below(x, 8n), below(y, 9n)));
  known.learn(graph.op('i1.or', isLarge, below(x, 2n)), false);
  assert.ok(known.isBetween(x, 0, 8) && known.isBetween(x, -1, 9) && !known.isBetween(x, 0, 7));
  assert.ok(known.isBetween(y, 0, 9) && !known.isBetween(y, 1, 9));
  assert.ok(known.isCertain(isLarge, false) && !known.isCertain(isLarge, true));
  assert.ok(known.isCertain(graph.op('i1.or', below(x, 8n), below(y, 1n)), true));
  assert.ok(!known.isCertain(graph.op('i1.or', below(x, 8n), below(y, 1n)), false));
  assert.ok(!known.isCertain(graph.op('i1.and', below(x, 8n), below(y, 1n)), true));
  assert.ok(known.isBetween(graph.constant(-3n, 'i32'), -4, -2) && !known.isBetween(graph.constant(-3n, 'i32'), -2, 4));
});

test('a choice between constants, and what is made of it, is known to be one of two numbers', () => {
  const step = fc.record({ name: fc.constantFrom('add', 'sub', 'shl', 'and'), by: word });
  const apply = { add: (a: number, b: number) => (a + b) | 0, sub: (a: number, b: number) => (a - b) | 0 };
  let known = 0;
  fc.assert(
    fc.property(
      word,
      word,
      fc.array(step, { maxLength: 4 }),
      word,
      fc.nat(0xffffffff),
      (yes, no, steps, low, length) => {
        const graph = new Graph(64);
        const number = (value: number): Node => graph.constant(BigInt(value), 'i32');
        const row = graph.share({ kind: 'row', offset: 0 }, 'i32', true);
        let node = graph.op('i32.select', graph.op('i32.ltS', row, number(5)), number(yes), number(no));
        let values = [yes, no];
        for (const { name, by } of steps) {
          node = graph.op(`i32.${name}` as 'i32.add', node, number(by));
          values = values.map((value) =>
            name === 'shl' ? value << by : name === 'and' ? value & by : apply[name as 'add'](value, by),
          );
        }
        if (!new KnownRanges().isBetween(node, low, low + length)) return;
        known++;
        for (const value of values) assert.ok((value - low) >>> 0 < length, `${value} of ${low} and ${length}`);
      },
    ),
    { numRuns: 2000 },
  );
  assert.ok(known > 200, String(known));
});
