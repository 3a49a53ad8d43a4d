/** Truth tables of masks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Graph } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import { iteration, MAX_VARIABLES, MaskLogic } from './mask-logic.ts';

const graph = new Graph(64);
const atoms = [0, 1, 2].map((offset) => {
  const bits = graph.share({ kind: 'scalar', offset }, 'i64', false);
  return graph.share({ kind: 'laneMask' }, 'i1', true, [bits]);
});

interface Formula {
  readonly node: Node;
  readonly value: (known: readonly boolean[]) => boolean;
}

const formulas = fc.letrec<{ formula: Formula }>((tie) => ({
  formula: fc.oneof(
    { maxDepth: 4 },
    fc.nat({ max: 2 }).map((i) => ({ node: atoms[i]!, value: (known: readonly boolean[]) => known[i]! })),
    fc.boolean().map((value) => ({ node: graph.constant(value ? 1n : 0n, 'i1'), value: () => value })),
    tie('formula').map((a) => ({
      node: graph.op('i1.not', a.node),
      value: (known: readonly boolean[]) => !a.value(known),
    })),
    fc.tuple(fc.constantFrom('i1.and', 'i1.or', 'i1.xor'), tie('formula'), tie('formula')).map(([op, a, b]) => ({
      node: graph.op(op, a.node, b.node),
      value: (known: readonly boolean[]) => {
        const [x, y] = [a.value(known), b.value(known)];
        return op === 'i1.and' ? x && y : op === 'i1.or' ? x || y : x !== y;
      },
    })),
  ),
})).formula;

const CASES = Array.from({ length: 8 }, (_, i) => [(i & 1) > 0, (i & 2) > 0, (i & 4) > 0]);

test('what follows from what, and what is the same, for all lanes', () => {
  fc.assert(
    fc.property(formulas, formulas, formulas, (a, b, given) => {
      const logic = new MaskLogic();
      const [x, y, z] = [a, b, given].map(({ node }) => logic.table(node));
      const where = CASES.filter((known) => given.value(known));
      assert.equal(
        logic.implies(x, y, z),
        where.every((known) => !a.value(known) || b.value(known)),
      );
      assert.equal(
        logic.equal(x, y, z),
        where.every((known) => a.value(known) === b.value(known)),
      );
    }),
  );
});

test('a second iteration begins with the masks of the first, and knows nothing of its comparisons', () => {
  const logic = new MaskLogic();
  const [mask, comparison] = atoms as [Node, Node];
  const next = graph.op('i1.and', mask, comparison);
  const second = iteration(new Map([[mask, logic.table(next)!]]));
  const done = logic.not(logic.table(next));
  assert.ok(logic.equal(logic.table(next, second), 0n, done), 'a lane that left stays away');
  assert.ok(!logic.equal(logic.table(next, second), logic.table(next)), 'others may leave');
});

test('nothing is concluded from more than can be told apart', () => {
  const logic = new MaskLogic();
  const many = Array.from({ length: MAX_VARIABLES + 1 }, (_, i) => {
    const bits = graph.share({ kind: 'scalar', offset: 100 + i }, 'i64', false);
    return graph.share({ kind: 'laneMask' }, 'i1', true, [bits]);
  });
  const tables = many.map((node) => logic.table(node));
  assert.equal(tables.at(-1), undefined);
  assert.ok(!logic.implies(tables.at(-1), tables[0]));
  assert.ok(logic.implies(tables[0], tables[0]));
});
