/** Which registers lanes still need. A lane's registers are its own, so the branches of the text count. */
import { graphOf } from '../../flow/graph.ts';
import type { LinearBlock, LinearCode } from './linearize.ts';
import { eachRead, eachWritten, type FunctionRegister } from './lir.ts';

/** Is told of a register that is needed before or behind a block, once for each block. */
export interface LiveVisitor {
  before?(register: FunctionRegister, block: number): void;
  behind(register: FunctionRegister, block: number): void;
}

/** A register, and the blocks that read what it held before them. */
interface Need {
  readonly register: FunctionRegister;
  readonly blocks: number[];
}

/**
 * Follows one register after the other from where it is read back to where it is written. There are more
 * pairs of registers and blocks than a hostile text may have in memory: none is kept.
 */
export function visitLive({ blocks }: LinearCode, visitor: LiveVisitor): void {
  const { predecessors } = graphOf([...blocks.keys()], [0], (block) => blocks[block]!.successors);
  const writers = new Writers();
  const needs = needsOf(blocks, writers);
  // The number of the need that was there last.
  const seenBefore = new Int32Array(blocks.length);
  const seenBehind = new Int32Array(blocks.length);
  const seenWritten = new Int32Array(blocks.length);
  let number = 0;
  for (const { register, blocks: work } of needs) {
    number++;
    writers.mark(register.id, seenWritten, number);
    for (let block = work.pop(); block !== undefined; block = work.pop()) {
      if (seenBefore[block] === number) continue;
      seenBefore[block] = number;
      visitor.before?.(register, block);
      for (const from of predecessors[block]!) {
        if (seenBehind[from] === number) continue;
        seenBehind[from] = number;
        visitor.behind(register, from);
        if (seenWritten[from] !== number) work.push(from);
      }
    }
  }
}

/** Which blocks write each register: chains of entries, the last block first. */
class Writers {
  /** By register: its first entry. */
  readonly #first: number[] = [];
  readonly #blocks: number[] = [];
  readonly #next: (number | undefined)[] = [];

  /** Whether the block that is being added writes a register. */
  has(id: number, block: number): boolean {
    const first = this.#first[id];
    return first !== undefined && this.#blocks[first] === block;
  }

  /** Blocks come in their order. */
  add(id: number, block: number): void {
    if (this.has(id, block)) return;
    this.#next.push(this.#first[id]);
    this.#first[id] = this.#blocks.push(block) - 1;
  }

  mark(id: number, marks: Int32Array, mark: number): void {
    for (let entry = this.#first[id]; entry !== undefined; entry = this.#next[entry])
      marks[this.#blocks[entry]!] = mark;
  }
}

/** Registers that are read before they are written in a block, in the order of the code. */
function needsOf(blocks: readonly LinearBlock[], writers: Writers): Iterable<Need> {
  const needs = new Map<number, Need>();
  let block = 0;
  const read = (register: FunctionRegister): void => {
    if (writers.has(register.id, block)) return;
    const known = needs.get(register.id);
    if (!known) needs.set(register.id, { register, blocks: [block] });
    else if (known.blocks.at(-1) !== block) known.blocks.push(block);
  };
  const written = ({ id }: FunctionRegister): void => writers.add(id, block);
  for (; block < blocks.length; block++) {
    for (const line of blocks[block]!.code) {
      eachRead(line, read);
      eachWritten(line, written);
    }
  }
  return needs.values();
}
