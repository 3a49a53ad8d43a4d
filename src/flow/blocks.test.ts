import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { basicBlocks, blockGraph, type Followed, partOfBlocks, reachable } from './blocks.ts';
import { anyCode, CodeText } from './code-text.test-support.ts';

const listing = (text: string): readonly string[] => new CodeText(text).listing();

test('a block begins where control comes together, and ends where it parts', () => {
  assert.deepEqual(listing('s0 =\nL: s1 = s0\nif M\ns0 = s1\nM: v0 =\ngoto L\ns1 =\nend'), [
    '0, next 1',
    '1 2, next 2, target 3',
    '3, next 3',
    '4 5, target 1',
  ]);
});

test('what is not known, or not there, leaves the blocks; the end does not', () => {
  assert.deepEqual(listing('if L\ngoto X\nL: jump'), ['0, next 1, target 2', '1, leaves', '2, leaves']);
  assert.deepEqual(listing('s0 ='), ['0, leaves']);
  assert.deepEqual(listing('if L\nL: end'), ['0, next 1, target 1', '1']);
});

test('a limit cuts code where it is reached', () => {
  const { code } = new CodeText('s0 =\nif L\ns1 =\nend\nL: end');
  const asked: number[] = [];
  const at = (place: number): Followed<unknown> | undefined => {
    asked.push(place);
    return code.get(place);
  };
  const found = reachable(at, [0], 3);
  assert.deepEqual([...found.keys()], [0, 1, 2]);
  assert.deepEqual(asked, [0, 1, 2]);
  assert.deepEqual(
    basicBlocks(found, [0]).map(({ next, target, leaves }) => [next?.index, target?.index, leaves]),
    [
      [1, undefined, true],
      [undefined, undefined, true],
    ],
  );
});

test('instructions that overlap are of different blocks', () => {
  const step = (next: number | undefined, target?: number): Followed<string> => ({
    ...{ instruction: `to ${next}`, next, target, leaves: false, endsBlock: target !== undefined },
  });
  // From 0 to 8 over what 4 begins with, which goes on to 8 as well.
  const places = new Map([
    [0, step(2, 4)],
    [2, step(8)],
    [4, step(8)],
    [8, step(undefined)],
  ]);
  const found = new Map([...reachable((place) => places.get(place), [0])].sort(([a], [b]) => a - b));
  const blocks = basicBlocks(found, [0]);
  assert.deepEqual(
    blocks.map(({ instructions, next }) => [instructions.length, next?.index]),
    [
      [1, 1],
      [1, 3],
      [1, 3],
      [1, undefined],
    ],
  );
  assert.deepEqual(blockGraph(blocks, blocks.slice(0, 1)).exits, [3]);
});

test('a part of the blocks is cut as its code alone is, or not known', () => {
  fc.assert(
    fc.property(anyCode, fc.array(fc.boolean(), { minLength: 10, maxLength: 10 }), (text, isChosen) => {
      const { blocks, code } = new CodeText(text);
      const own = blocks.filter(({ index }) => isChosen[index]);
      const [entry] = own;
      if (!entry) return;
      const inside = own.flatMap(({ instructions }) => instructions);
      const alone = basicBlocks(new Map(inside.map(({ number }) => [number, code.get(number)!])), [
        entry.instructions[0]!.number,
      ]);
      const part = partOfBlocks(own, entry, ({ number }) => code.get(number)!.endsBlock);
      if (alone.length === own.length) assert.deepEqual(part, alone);
      else assert.equal(part, undefined);
    }),
    { numRuns: 500 },
  );
});

test('a long chain takes neither stack nor time', { timeout: 10_000 }, () => {
  const size = 100_000;
  const at = (place: number): Followed<number> | undefined =>
    place < size
      ? { instruction: place, next: place + 1, target: (place * 7) % size, leaves: false, endsBlock: true }
      : undefined;
  const found = reachable(at, [0]);
  assert.equal(found.size, size);
  assert.equal(basicBlocks(new Map([...found].sort(([a], [b]) => a - b)), [0]).length, size);
});
