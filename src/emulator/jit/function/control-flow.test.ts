/** Which instructions become a function: loops that fit are not cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Step } from '../../../ir/step.ts';
import { type Block, type CodeView, collectBlocks, withFollowing } from './control-flow.ts';
import type { Decoded, Shape } from './decoded.ts';

const SIZE_BYTES = 4;

/** Code of `count` instructions, numbered from 0, of which some branch to others if a condition holds. */
function codeOf(count: number, branches: ReadonlyMap<number, number>): CodeView {
  const offsetOf = (n: number | undefined): number | undefined => n && n * SIZE_BYTES;
  const step = (offset: number): Step | undefined => {
    const n = offset / SIZE_BYTES;
    // reason: the compiler asks for nothing else
    return n < count ? ({ offset, sizeBytes: SIZE_BYTES, target: offsetOf(branches.get(n)) } as Step) : undefined;
  };
  return {
    step,
    knownStep: step,
    shape({ target }) {
      const asked: Partial<Shape> = {
        control: target === undefined ? 'next' : 'conditional',
        live: [],
        resumes: false,
      };
      return asked as Shape;
    },
    isCompiled: () => false,
    decoded: (step, shape, index) => ({ step, shape, index }) as Decoded,
  };
}

/** Numbers of the first and the last instruction of each run of instructions in the function. */
function runsOf(blocks: readonly Block[]): (readonly [number, number])[] {
  const numbers = blocks.flatMap(({ instructions }) => instructions.map(({ step }) => step.offset / SIZE_BYTES));
  const firsts = numbers.filter((n) => !numbers.includes(n - 1));
  const lasts = numbers.filter((n) => !numbers.includes(n + 1));
  return firsts.map((first, i) => [first, lasts[i]!]);
}

test('a loop that does not fit behind other code is left to the next function', () => {
  const code = codeOf(400, new Map([[249, 150]]));
  assert.deepEqual(runsOf(collectBlocks(code, 0, 200)), [[0, 149]]);
  assert.deepEqual(runsOf(collectBlocks(code, 150 * SIZE_BYTES, 200)), [[150, 349]]);
});

test('what takes the place of a loop is no part of another one', () => {
  const branches = new Map([
    [100, 300],
    [249, 150],
    [420, 330],
  ]);
  assert.deepEqual(runsOf(collectBlocks(codeOf(500, branches), 0, 200)), [
    [0, 149],
    [300, 329],
  ]);
});

test('a loop that fits nowhere is cut', () => {
  const code = codeOf(600, new Map([[420, 150]]));
  assert.deepEqual(runsOf(collectBlocks(code, 0, 200)), [[0, 199]]);
});

test('code in a loop is compiled with the loop, from its header on', () => {
  const branches = new Map([
    [60, 80],
    [120, 50],
  ]);
  assert.deepEqual(runsOf(collectBlocks(codeOf(400, branches), 80 * SIZE_BYTES, 200)), [[50, 249]]);
  const long = new Map([
    [60, 80],
    [300, 50],
  ]);
  assert.deepEqual(runsOf(collectBlocks(codeOf(400, long), 80 * SIZE_BYTES, 200)), [[80, 279]]);
});

test('code with as many loops as branches is looked at within bounds', () => {
  const branches = new Map(Array.from({ length: 20_000 }, (_, n) => [n, n % 3 === 0 ? n + 190 : n - (n % 190)]));
  let steps = 0;
  const code = codeOf(20_000, branches);
  const step = (offset: number): Step | undefined => {
    steps++;
    return code.step(offset);
  };
  assert.ok(collectBlocks({ ...code, step, knownStep: step }, 0, 200).length > 0);
  assert.ok(steps < 40_000, `${steps} steps`);
});

test('behind a function that was cut is looked at what follows, as far as it is decoded', () => {
  const code = codeOf(900, new Map([[50, 300]]));
  const blocks = collectBlocks(code, 0, 200);
  assert.deepEqual(runsOf(withFollowing(code, blocks)), [[0, 599]]);
  const isKnown = (offset: number): boolean => offset < 250 * SIZE_BYTES;
  const decoded = { ...code, knownStep: (offset: number) => (isKnown(offset) ? code.step(offset) : undefined) };
  assert.deepEqual(runsOf(withFollowing(decoded, blocks)), [[0, 249]]);
});
