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

/** What the compiler asks about code. */
export interface CodeView {
  /** Undefined where there is no instruction that can run, or code is decoded later. */
  step(offset: number): Step | undefined;
  shape(step: Step): Shape;
  /** Whether a wave that gets to the offset is in another function already. */
  isCompiled(offset: number): boolean;
  decoded(step: Step, shape: Shape, index: number): Decoded;
}

/** After an instruction that leaves, the next block is where the wave comes back. */
export type Block = BasicBlock<Decoded>;

/** Where a block leads: another block, or out of the function. */
export type Successor = Block | undefined;

interface Shaped {
  readonly step: Step;
  readonly shape: Shape;
}

/** Blocks in the order of their addresses; the one of `entry` is among them. */
export function collectBlocks(code: CodeView, entry: number, maxInstructions = MAX_INSTRUCTIONS): Block[] {
  let values = 0;
  const at = (offset: number): Followed<Shaped> | undefined => {
    const step = code.step(offset);
    if (!step) return undefined;
    const shape = code.shape(step);
    if (offset !== entry && (code.isCompiled(offset) || values + shape.live.length > MAX_VALUES)) return undefined;
    values += shape.live.length;
    return follow(step, shape);
  };
  const found = [...reachable(at, [entry], maxInstructions)].sort(([a], [b]) => a - b);
  const instructions = found.map(([offset, followed], index) => {
    const { step, shape } = followed.instruction;
    return [offset, { ...followed, instruction: code.decoded(step, shape, index) }] as const;
  });
  return basicBlocks(new Map(instructions), [entry]);
}

function follow(step: Step, shape: Shape): Followed<Shaped> {
  const { control, resumes } = shape;
  const isBranch = control === 'branch' || control === 'conditional';
  const leaves = control === 'leave' && !resumes;
  return {
    instruction: { step, shape },
    next: control === 'branch' || leaves ? undefined : followingOffset(step),
    target: isBranch ? step.target : undefined,
    leaves,
    endsBlock: control !== 'next',
  };
}
