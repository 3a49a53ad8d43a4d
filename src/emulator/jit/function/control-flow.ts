/**
 * The blocks of one function: code that is reachable from a step by direct branches, up to a number of
 * instructions.
 */
import { type BasicBlock, basicBlocks, type Followed, reachable } from '../../../flow/blocks.ts';
import { followingOffset, type Step } from '../../../ir/step.ts';
import type { Decoded, Shape } from './decoded.ts';

/** Compile time grows faster than the size of a function. */
export const MAX_INSTRUCTIONS = 200;
/**
 * So many values of their programs are about as much as can be compiled; 200 usual instructions have up to
 * 3300.
 */
const MAX_VALUES = 6000;
/** So much of what follows a function is asked for what it still reads. */
const MAX_FOLLOWING = 2 * MAX_INSTRUCTIONS;
/** How far behind a function the ends of loops are looked for, and how often loops are left out of it. */
const [MAX_LOOKED, MAX_TRIES] = [10 * MAX_INSTRUCTIONS, 8];

/** What the compiler asks about code. */
export interface CodeView {
  /** Undefined where there is no instruction that can run, or code is decoded later. */
  step(offset: number): Step | undefined;
  /** The same, but nothing is decoded for it. */
  knownStep(offset: number): Step | undefined;
  shape(step: Step): Shape;
  /** Whether a wave that gets to the offset is in another function already. */
  isCompiled(offset: number): boolean;
  decoded(step: Step, shape: Shape, index: number): Decoded;
}

/** After an instruction that leaves, the next block is where the wave comes back. */
export type Block = BasicBlock<Decoded>;

/** What becomes one function. */
export interface FollowedCode {
  readonly blocks: readonly Block[];
  /** The same code, and what follows it where it was cut: see `withFollowing`. */
  readonly followed: readonly Block[];
}

/** Where a block leads: another block, or out of the function. */
export type Successor = Block | undefined;

interface Shaped {
  readonly step: Step;
  readonly shape: Shape;
}

/** By their offsets. */
type Collected = ReadonlyMap<number, Followed<Shaped>>;

/** Blocks in the order of their addresses; the one of `entry` is among them. */
export function collectBlocks(code: CodeView, entry: number, maxInstructions = MAX_INSTRUCTIONS): Block[] {
  const header = loopAround(code, entry, maxInstructions);
  const fromHeader = header === undefined ? undefined : collectWhole(code, header, maxInstructions);
  const collected = fromHeader?.has(entry) ? fromHeader : collectWhole(code, entry, maxInstructions);
  const found = [...collected].sort(([a], [b]) => a - b);
  const instructions = found.map(([offset, followed], index) => {
    const { step, shape } = followed.instruction;
    return [offset, { ...followed, instruction: code.decoded(step, shape, index) }] as const;
  });
  return basicBlocks(new Map(instructions), [entry]);
}

/**
 * The blocks of a function and, where it was cut, of code that follows and is decoded: what is read behind
 * the cuts. Blocks may be parts of those of the function.
 */
export function withFollowing(code: CodeView, blocks: readonly Block[]): readonly Block[] {
  const own = new Map<number, Followed<Decoded>>();
  for (const { instructions } of blocks)
    for (const instruction of instructions) own.set(instruction.step.offset, follow(instruction, instruction));
  const cuts = [...own.values()].flatMap(waysOf).filter((way) => !own.has(way));
  if (cuts.length === 0) return blocks;
  const at = (offset: number): Followed<Shaped> | undefined => {
    const step = own.has(offset) ? undefined : code.knownStep(offset);
    if (!step) return undefined;
    const shaped = { step, shape: code.shape(step) };
    return follow(shaped, shaped);
  };
  const all = new Map(own);
  for (const [offset, followed] of reachable(at, cuts, MAX_FOLLOWING)) {
    const { step, shape } = followed.instruction;
    all.set(offset, { ...followed, instruction: code.decoded(step, shape, all.size) });
  }
  const starts = blocks.map(({ instructions }) => instructions[0]!.step.offset);
  return basicBlocks(new Map([...all].sort(([a], [b]) => a - b)), starts);
}

/** The header of the innermost loop that `entry` is in, behind it, if that fits into a function. */
function loopAround(code: CodeView, entry: number, maxInstructions: number): number | undefined {
  let count = 0;
  for (let step = code.step(entry); step && count < maxInstructions; step = code.knownStep(followingOffset(step))) {
    count++;
    const { target } = step;
    if (target !== undefined && target <= entry) return target < entry && !code.isCompiled(target) ? target : undefined;
  }
  return undefined;
}

/** As much as fits, without loops that do not: in their place may be others. */
function collectWhole(code: CodeView, entry: number, maxInstructions: number): Collected {
  const leftOut = new Set<number>();
  let found = collect(code, entry, maxInstructions, leftOut);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const split = splitLoops(code, entry, found, maxInstructions);
    if (split.size === 0) break;
    for (const offset of split) leftOut.add(offset);
    found = collect(code, entry, maxInstructions, leftOut);
  }
  return found;
}

/** As much as fits, without what is at `leftOut`. */
function collect(code: CodeView, entry: number, maxInstructions: number, leftOut: ReadonlySet<number>): Collected {
  let values = 0;
  const at = (offset: number): Followed<Shaped> | undefined => {
    const step = leftOut.has(offset) ? undefined : code.step(offset);
    if (!step) return undefined;
    const shape = code.shape(step);
    if (offset !== entry && (code.isCompiled(offset) || values + shape.live.length > MAX_VALUES)) return undefined;
    values += shape.live.length;
    const shaped = { step, shape };
    return follow(shaped, shaped);
  };
  return reachable(at, [entry], maxInstructions);
}

/**
 * What is collected of loops that would fit into a function but were cut: they go into the next one, whole,
 * as only whole loops run chunk by chunk. Their other ends stand behind the places where the code was cut.
 */
function splitLoops(code: CodeView, entry: number, found: Collected, maxInstructions: number): Set<number> {
  const split = new Set<number>();
  const looked = new Set<number>();
  const ways = [...found.values()].flatMap(waysOf);
  const cuts = new Set(ways.filter((way) => !found.has(way) && !code.isCompiled(way)));
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const most = Math.min(looked.size + maxInstructions, MAX_LOOKED);
    let step = code.knownStep(cut);
    for (; step && !looked.has(step.offset) && looked.size < most; step = code.knownStep(followingOffset(step))) {
      const { offset: last, target: first = Number.POSITIVE_INFINITY } = step;
      looked.add(last);
      if (!found.has(first) || first > last || (first <= entry && entry <= last)) continue;
      const isInside = (offset: number): boolean => first <= offset && offset <= last;
      const inside = [...found.keys()].filter(isInside);
      const rest = [...looked].filter((offset) => isInside(offset) && !found.has(offset));
      if (inside.length + rest.length <= maxInstructions) for (const offset of inside) split.add(offset);
    }
  }
  return split;
}

const waysOf = ({ next, target }: Followed<unknown>): number[] => [next, target].filter((way) => way !== undefined);

function follow<I>({ step, shape }: Shaped, instruction: I): Followed<I> {
  const { control, resumes } = shape;
  const isBranch = control === 'branch' || control === 'conditional';
  const leaves = control === 'leave' && !resumes;
  return {
    instruction,
    next: control === 'branch' || leaves ? undefined : followingOffset(step),
    target: isBranch ? step.target : undefined,
    leaves,
    endsBlock: control !== 'next',
  };
}
