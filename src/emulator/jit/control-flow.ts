/** The blocks of one function: code that is reachable from a record by direct branches, up to a number of instructions. */
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

/** Where a block leads: another block, or out of the function after its last instruction. */
export type Successor = Block | undefined;

export interface Block {
  readonly index: number;
  readonly instructions: readonly Decoded[];
  /** After the last instruction, when it does not branch; after one that leaves, when the wave comes back. */
  next: Successor;
  /** Of the branch that the last instruction is. */
  target: Successor;
}

/** Blocks in the order of their addresses; the one of `entry` is among them. */
export function collectBlocks(code: CodeView, entry: number, maxInstructions = MAX_INSTRUCTIONS): Block[] {
  const shapes = new Map<number, Shape>();
  let values = 0;
  /** Records that begin a block. */
  const starts = new Set([entry]);
  /** Where a record that is no end of a block goes on. */
  const following = new Map<number, number | undefined>();
  const work = [entry];
  for (let at = work.pop(); at !== undefined; at = work.pop()) {
    let record: number | undefined = at;
    while (record !== undefined && !shapes.has(record) && shapes.size < maxInstructions) {
      const shape = code.shape(record);
      if (
        shape?.instructionClass === undefined ||
        (record !== entry && (code.isCompiled(record) || values + shape.live.length > MAX_VALUES))
      )
        break;
      shapes.set(record, shape);
      values += shape.live.length;
      const target = shape.control === 'branch' || shape.control === 'conditional' ? code.target(record) : undefined;
      if (target !== undefined) {
        starts.add(target);
        work.push(target);
      }
      if (shape.control === 'branch' || (shape.control === 'leave' && !shape.resumes)) break;
      const next = code.next(record);
      following.set(record, next);
      if (next !== undefined && (shape.control !== 'next' || next !== record + RECORD_SIZE_BYTES)) starts.add(next);
      record = next;
    }
  }
  const records = [...shapes.keys()].sort((a, b) => code.pc(a) - code.pc(b));
  return link(code, records, shapes, starts, following);
}

function link(
  code: CodeView,
  records: readonly number[],
  shapes: ReadonlyMap<number, Shape>,
  starts: ReadonlySet<number>,
  following: ReadonlyMap<number, number | undefined>,
): Block[] {
  const blocks: (Block & { readonly instructions: Decoded[] })[] = [];
  const byStart = new Map<number, Block>();
  records.forEach((record, index) => {
    const previous = records[index - 1];
    const continues = previous !== undefined && following.get(previous) === record && !starts.has(record);
    if (!continues) {
      const block = { index: blocks.length, instructions: [], next: undefined, target: undefined };
      blocks.push(block);
      byStart.set(record, block);
    }
    blocks.at(-1)!.instructions.push(code.decoded(record, shapes.get(record)!, index));
  });
  for (const block of blocks) {
    const { record, shape } = block.instructions.at(-1)!;
    const find = (to: number | undefined): Successor => (to === undefined ? undefined : byStart.get(to));
    if (shape.control === 'branch' || shape.control === 'conditional') block.target = find(code.target(record));
    if (shape.control !== 'branch') block.next = find(following.get(record));
  }
  return blocks;
}
