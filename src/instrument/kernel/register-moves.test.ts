import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orderMoves, type RegisterMove } from './register-moves.ts';

const SPARE = 99;

test('moves happen as if all at once', () => {
  const anyMoves = fc
    .uniqueArray(fc.nat(9), { maxLength: 10 })
    .chain((destinations) =>
      fc.tuple(...destinations.map((to) => fc.record({ to: fc.constant(to), from: fc.nat(9) }))),
    );
  fc.assert(
    fc.property(anyMoves, (moves: readonly RegisterMove[]) => {
      const before = Array.from({ length: 10 }, (_, register) => `value ${register}`);
      const after = new Map(before.entries());
      for (const { from, to } of orderMoves(moves, SPARE)) after.set(to, after.get(from)!);
      after.delete(SPARE);
      const expected = [...before];
      for (const { from, to } of moves) expected[to] = before[from]!;
      assert.deepEqual([...after.values()], expected);
    }),
    { numRuns: 2000 },
  );
});

test('nothing is moved in vain', () => {
  assert.deepEqual(orderMoves([{ from: 3, to: 3 }], SPARE), []);
  assert.equal(
    orderMoves(
      [5, 6, 7].map((from) => ({ from, to: from - 2 })),
      SPARE,
    ).length,
    3,
  );
  assert.equal(
    orderMoves(
      [
        { from: 1, to: 2 },
        { from: 2, to: 1 },
      ],
      SPARE,
    ).length,
    3,
  );
});
