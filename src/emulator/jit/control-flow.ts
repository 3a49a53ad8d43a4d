/** The blocks of one function: code that is reachable from a record by direct branches, up to a number of instructions. */
import { type BasicBlock, basicBlocks, type Followed, reachable } from '../../flow/blocks.ts';
import { RECORD_SIZE_BYTES } from '../machine/layout.ts';
import type { Decoded, Shape } from './decoded.ts';

/** Compile time grows faster than the size of a function. */
export const MAX_INSTRUCTIONS = 200;
/** So many values of their programs are about as much as can be compiled; 200 usual instructions have up to 3300. */
const MAX_VALUES = 6000;

/** What the compiler asks about decoded code. */
export interface CodeView {
  /** Undefined for records that are no translated instruction. */
  shape(record: number): Shape | undefined;
  /** Low 32 bits of the address. */
  pc(record: number): number;
  /** Record of the instruction after an instruction, or of the one that it branches to: records between them are passed. */
  next(record: number): number | undefined;
  target(record: number): number | undefined;
  /** Whether a wave that gets to the record is in another function already. */
  isCompiled(record: number): boolean;
  decoded(record: number, shape: Shape, index: number): Decoded;
}

/** After an instruction that leaves, the next block is where the wave comes back. */
export type Block = BasicBlock<Decoded>;

/** Where a block leads: another block, or out of the function. */
export type Successor = Block | undefined;

/** Blocks in the order of their addresses; the one of `entry` is among them. */
export function collectBlocks(code: CodeView, entry: number, maxInstructions = MAX_INSTRUCTIONS): Block[] {
  let values = 0;
  const at = (record: number): Followed<Shape> | undefined => {
    const shape = code.shape(record);
    if (shape?.instructionClass === undefined) return undefined;
    if (record !== entry && (code.isCompiled(record) || values + shape.live.length > MAX_VALUES)) return undefined;
    values += shape.live.length;
    return follow(code, record, shape);
  };
  const found = [...reachable(at, [entry], maxInstructions)].sort(([a], [b]) => code.pc(a) - code.pc(b));
  const instructions = found.map(
    ([record, followed], index) =>
      [record, { ...followed, instruction: code.decoded(record, followed.instruction, index) }] as const,
  );
  return basicBlocks(new Map(instructions), [entry]);
}

function follow(code: CodeView, record: number, shape: Shape): Followed<Shape> {
  const { control, resumes } = shape;
  const isBranch = control === 'branch' || control === 'conditional';
  const leaves = control === 'leave' && !resumes;
  const next = control === 'branch' || leaves ? undefined : code.next(record);
  return {
    instruction: shape,
    next,
    target: isBranch ? code.target(record) : undefined,
    leaves,
    endsBlock: control !== 'next' || next !== record + RECORD_SIZE_BYTES,
  };
}
