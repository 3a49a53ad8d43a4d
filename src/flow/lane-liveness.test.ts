import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { basicBlocks, type Followed } from './blocks.ts';
import { anyCode, CodeText, effectsOf, type Line, namesOf, PLACES } from './code-text.test-support.ts';
import { LaneLiveness } from './lane-liveness.ts';
import { LaneWords } from './lane-words.ts';

/** What is live before each block, in the active lanes and in the others. */
function liveness(text: string): readonly string[] {
  const { blocks } = new CodeText(text);
  const live = new LaneLiveness(blocks, effectsOf, PLACES);
  return blocks.map((block) => {
    const { active, inactive } = live.before(block);
    return `${namesOf(active)} | ${namesOf(inactive)}`;
  });
}

test('a scalar is live until it is overwritten', () => {
  assert.deepEqual(liveness('s0 = s1\nv0 = s0\nend'), ['s1 | ']);
  assert.deepEqual(liveness('if L\ns0 = s1\nL: s1 = s0\nend'), ['s0 s1 | ', 's1 | ', 's0 | ']);
  assert.deepEqual(liveness('L: s0 = s1\nif L\nend'), ['s1 | ', ' | ']);
});

test('a row that is overwritten is dead in the lanes that are active then', () => {
  assert.deepEqual(liveness('v0 = v1\ncross v0\nend'), ['v1 | v0']);
  assert.deepEqual(liveness('v0 = s0\ns1 = v0\nend'), ['s0 | ']);
});

test('lanes that a change of the mask takes off, or adds, take along what is live', () => {
  // Lanes that are taken off come back.
  assert.deepEqual(liveness('exec &= s0\nv0 =\nexec |= s1\ns0 = v0\nend'), ['s0 s1 v0 | v0']);
  assert.deepEqual(liveness('exec &= s0\nv0 =\ns0 = v0\nend'), ['s0 | ']);
  assert.deepEqual(liveness('exec |= s0\ns0 = v0\nend'), ['s0 v0 | v0']);
  assert.deepEqual(liveness('exec = s0\nv0 =\nexec = s1\ns0 = v0\nend'), ['s0 s1 v0 | v0']);
});

test('where control leaves, everything is live', () => {
  assert.deepEqual(liveness('s0 =\nv0 =\njump'), ['s1 v1 | v0 v1']);
  assert.deepEqual(liveness('s0 =\nany\nend'), ['s1 v0 v1 | v0 v1']);
});

/**
 * By the definition: whether some way from before a line, and some fate of a lane on it, reads a place before
 * it is overwritten.
 */
function isLive(code: ReadonlyMap<number, Followed<Line>>, start: number, name: string, wasActive: boolean): boolean {
  const isRow = name.startsWith('v');
  const seen = new Set<string>();
  const work: [place: number | undefined, isActive: boolean][] = [[start, wasActive]];
  for (let each = work.pop(); each; each = work.pop()) {
    const [place, isActive] = each;
    const followed = place === undefined ? undefined : code.get(place);
    if (!followed) return true;
    if (seen.has(`${place} ${isActive}`)) continue;
    seen.add(`${place} ${isActive}`);
    const { text, reads, crossReads, writes, maskChange } = followed.instruction;
    if (text === 'end') continue;
    if (text === 'any' || crossReads.includes(name) || ((isActive || !isRow) && reads.includes(name))) return true;
    if (writes.includes(name) && (isActive || !isRow)) continue;
    const isChanged = maskChange === 'any' || maskChange === (isActive ? 'shrinks' : 'grows');
    const { next, target, leaves } = followed;
    if (leaves) return true;
    for (const to of [next, target]) {
      if (to === undefined) continue;
      work.push([to, isActive]);
      if (isChanged) work.push([to, !isActive]);
    }
  }
  return false;
}

test('what is live is what a way reads first', () => {
  fc.assert(
    fc.property(anyCode, (text) => {
      const { blocks, code } = new CodeText(text);
      const live = new LaneLiveness(blocks, effectsOf, PLACES);
      const expected = (place: number, wasActive: boolean): string =>
        ['s0', 's1', 'v0', 'v1']
          .filter((name) => (wasActive || name.startsWith('v')) && isLive(code, place, name, wasActive))
          .join(' ');
      for (const block of blocks) {
        const { number } = block.instructions[0]!;
        const { active, inactive } = live.before(block);
        assert.deepEqual([namesOf(active), namesOf(inactive)], [expected(number, true), expected(number, false)]);
        for (const line of block.instructions.slice(0, -1)) {
          const after = live.after(line);
          const next = line.number + 1;
          assert.deepEqual(
            [namesOf(after.active), namesOf(after.inactive)],
            [expected(next, true), expected(next, false)],
          );
        }
      }
    }),
    { numRuns: 1000 },
  );
});

test('a long block says in words what blocks of one line each say, in any order of questions', () => {
  const size = 2500;
  const text = ['s0 = s1', 'exec &= s0', 'v0 = v1', 's1 = v0', 'cross v1', 'v1 = s0', 'exec |= s1', 's0 ='];
  const { lines } = new CodeText(text.join('\n'));
  const code = (endsBlock: boolean): Map<number, Followed<Line>> =>
    new Map(
      Array.from({ length: size }, (_, i) => {
        const instruction = { ...lines[(i * i + (i >> 5)) % lines.length]!, number: i };
        return [i, { instruction, next: i + 1, target: undefined, leaves: false, endsBlock }];
      }),
    );
  const [long, short] = [basicBlocks(code(false), [0]), basicBlocks(code(true), [0])];
  const [inWords, expected] = [long, short].map((blocks) => new LaneLiveness(blocks, effectsOf, PLACES));
  for (const index of [0, 1, 1023, 1024, 1025, 2047, 2048, 2499, 1024, 1023, 3, 900, 301, 300]) {
    for (const side of ['before', 'after'] as const) {
      const live = inWords!.read(long[0]!, index, side);
      const [line] = short[index]!.instructions;
      const { active, inactive } = side === 'before' ? expected!.beforeInstruction(line!) : expected!.after(line!);
      assert.deepEqual([live.active, live.inactive], [active, inactive], `${side} ${index}`);
    }
  }
});

test('sets of places are the same in words', () => {
  const places = fc.bigInt({ min: 0n, max: (1n << 200n) - 1n });
  fc.assert(
    fc.property(places, places, (active, inactive) => {
      const words = LaneWords.of({ active, inactive }, 7);
      assert.deepEqual([words.active, words.inactive], [active, inactive]);
      assert.equal(words.isActive(31), ((active >> 31n) & 1n) === 1n);
    }),
  );
});

test('a long chain of blocks takes no stack, and time in proportion', { timeout: 10_000 }, () => {
  const size = 100_000;
  const { lines } = new CodeText('s0 = s1');
  const code = Array.from({ length: size }, (_, i): [number, Followed<Line>] => [
    i,
    {
      instruction: { ...lines[0]!, number: i },
      ...{ next: i + 1 < size ? i + 1 : undefined, target: i === size - 1 ? 0 : undefined },
      ...{ leaves: false, endsBlock: true },
    },
  ]);
  const blocks = basicBlocks(new Map(code), [0]);
  const live = new LaneLiveness(blocks, effectsOf, PLACES);
  assert.equal(namesOf(live.before(blocks[0]!).active), 's1');
});
