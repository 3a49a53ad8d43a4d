import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BitFormula, type BitOperation, combine, formulaKey, formulaOf, ONES, ZEROS } from './bit-formula.ts';

const [A, B] = [formulaOf(1), formulaOf(2)];
const made = (operation: BitOperation, a: BitFormula, b: BitFormula): BitFormula => combine(operation, a, b)!;

test('formulas that give the same have the same key, however they are made', () => {
  const [both, onlyA] = [made('and', A, B), made('and', A, made('xor', B, ONES))];
  assert.equal(formulaKey(made('or', both, onlyA)), formulaKey(A));
  assert.equal(formulaKey(made('xor', A, both)), formulaKey(onlyA));
  assert.equal(formulaKey(made('and', B, A)), formulaKey(both));
  assert.equal(formulaKey(made('xor', A, A)), formulaKey(ZEROS));
  assert.equal(formulaKey(made('or', A, made('xor', A, ONES))), formulaKey(ONES));
  assert.equal(new Set([A, B, both, onlyA, made('or', A, B), ZEROS, ONES].map(formulaKey)).size, 7);
});

test('a formula has at most five masks', () => {
  const masks = [1, 2, 3, 4, 5, 6].map(formulaOf);
  const five = masks.slice(0, 5).reduce((all, each) => made('xor', all, each));
  assert.deepEqual(five.atoms, [1, 2, 3, 4, 5]);
  assert.equal(combine('and', five, masks[5]!), undefined);
  // What does not matter is not in it.
  assert.deepEqual(masks.slice(1, 5).reduce((all, each) => made('xor', all, each), five).atoms, [1]);
});
