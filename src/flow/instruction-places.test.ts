import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodeText } from './code-text.test-support.ts';
import { InstructionPlaces } from './instruction-places.ts';

test('instructions are found in any order', () => {
  const { blocks } = new CodeText(Array.from({ length: 300 }, (_, i) => (i % 7 === 6 ? 'if L' : 's0 =')).join('\n'));
  const lines = blocks.flatMap(({ instructions }) => instructions);
  const places = new InstructionPlaces(blocks);
  const numbers = [...lines.keys()];
  for (const number of [...numbers, ...numbers.toReversed(), 299, 0, 150, 151, 149]) {
    assert.ok(places.find(lines[number]!));
    assert.equal(places.block!.instructions[places.index], lines[number]);
  }
  assert.ok(!places.find({ ...lines[0]! }));
  assert.ok(!new InstructionPlaces([]).find(lines[0]));
});
