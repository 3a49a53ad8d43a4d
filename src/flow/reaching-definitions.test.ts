import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { basicBlocks, type Followed } from './blocks.ts';
import { anyCode, CodeText, type Line } from './code-text.test-support.ts';
import { ReachingDefinitions, type RegisterDefinition } from './reaching-definitions.ts';

const REGISTERS = ['s0', 's1', 'v0', 'v1'];

/**
 * A row keeps what it had in the lanes that are off; `any` stands for a write to a register that is not
 * known.
 */
const definitionsOf = ({ text, writes }: Line): readonly RegisterDefinition[] =>
  text === 'any'
    ? [{ register: undefined, isPartial: false }]
    : writes.map((name) => ({ register: REGISTERS.indexOf(name), isPartial: name.startsWith('v') }));

/** The numbers of the lines that define a register before a line, `in` for what was there at the start. */
function reaching({ blocks }: CodeText, line: Line, name: string): readonly (number | 'in')[] {
  const definitions = new ReachingDefinitions(blocks, blocks.slice(0, 1), definitionsOf);
  const { instructions, fromOutside } = definitions.before(line, REGISTERS.indexOf(name));
  const numbers = [...instructions].map(({ number }) => number).sort((a, b) => a - b);
  return fromOutside ? [...numbers, 'in'] : numbers;
}

const before = (text: string, line: number, name: string): readonly (number | 'in')[] => {
  const code = new CodeText(text);
  return reaching(code, code.lines[line]!, name);
};

test('the last write on each way counts', () => {
  assert.deepEqual(before('s0 =\ns0 =\ns1 = s0\nend', 2, 's0'), [1]);
  assert.deepEqual(before('s0 =\nif L\ns0 =\nL: s1 = s0\nend', 3, 's0'), [0, 2]);
  assert.deepEqual(before('if L\ns0 =\nL: s1 = s0\nend', 2, 's0'), [1, 'in']);
});

test('a loop brings what it writes behind a use', () => {
  assert.deepEqual(before('s0 =\nL: s1 = s0\ns0 = s1\nif L\nend', 1, 's0'), [0, 2]);
  assert.deepEqual(before('L: s1 = s0\ns0 = s1\nif L\nend', 0, 's0'), [1, 'in']);
});

test('what is written in part, or perhaps, leaves what was there', () => {
  assert.deepEqual(before('v0 =\nv0 =\ns0 = v0\nend', 2, 'v0'), [0, 1, 'in']);
  assert.deepEqual(before('s0 =\nany\ns1 = s0\nend', 2, 's0'), [0, 1]);
});

/** By the definition: forward from each line that writes the register, until one overwrites it. */
function reaches(code: ReadonlyMap<number, Followed<Line>>, from: number | 'in', name: string): ReadonlySet<number> {
  const register = REGISTERS.indexOf(name);
  const next = (place: number): readonly number[] => {
    const { next: following, target } = code.get(place)!;
    return [following, target].filter((each) => each !== undefined && code.has(each)) as number[];
  };
  const found = new Set(from === 'in' ? [0] : next(from));
  for (const place of found) {
    const overwrites = definitionsOf(code.get(place)!.instruction).some(
      (each) => each.register === register && !each.isPartial,
    );
    if (!overwrites) for (const to of next(place)) found.add(to);
  }
  return found;
}

test('a definition reaches what a way leads to that does not overwrite it', () => {
  fc.assert(
    fc.property(anyCode, fc.constantFrom(...REGISTERS), (text, name) => {
      const code = new CodeText(text);
      const sources = [...code.code.values()]
        .map(({ instruction }) => instruction)
        .filter((line) => line.text === 'any' || line.writes.includes(name))
        .map(({ number }) => number)
        .sort((a, b) => a - b);
      for (const { instruction } of code.code.values()) {
        const expected = [...sources, 'in' as const].filter((from) =>
          reaches(code.code, from, name).has(instruction.number),
        );
        assert.deepEqual(reaching(code, instruction, name), expected);
      }
    }),
    { numRuns: 500 },
  );
});

test('a long chain takes neither stack nor time', { timeout: 10_000 }, () => {
  const size = 100_000;
  const code = Array.from({ length: size }, (_, i): [number, Followed<number>] => [
    i,
    { instruction: i, next: i + 1 < size ? i + 1 : undefined, target: undefined, leaves: false, endsBlock: true },
  ]);
  const blocks = basicBlocks(new Map(code), [0]);
  const definitions = new ReachingDefinitions(blocks, blocks.slice(0, 1), (i) =>
    i === 0 ? [{ register: 7, isPartial: false }] : [],
  );
  assert.deepEqual(definitions.before(size - 1, 7), { instructions: new Set([0]), fromOutside: false });
});
