/** Where instructions stand in blocks. */
import type { BasicBlock } from './blocks.ts';

/** So far ahead an instruction is looked for before all of them are numbered. */
const MOST_AHEAD = 64;

/** Finds instructions; questions in their order cost least, and no memory. */
export class InstructionPlaces<I> {
  /** Where the instruction is that was found last. */
  block: BasicBlock<I> | undefined;
  index = 0;
  readonly #blocks: readonly BasicBlock<I>[];
  /** The numbers of all instructions, one block after the other, and where those of each block begin. */
  #numbers: Map<I, number> | undefined;
  #starts: readonly number[] = [];

  constructor(blocks: readonly BasicBlock<I>[]) {
    this.#blocks = blocks;
    this.block = blocks[0];
  }

  /** Sets `block` and `index`; says whether the instruction is in one of the blocks. */
  find(instruction: I): boolean {
    let { block, index } = this;
    for (let ahead = 0; block && ahead < MOST_AHEAD; ahead++) {
      if (block.instructions[index] === instruction) {
        this.block = block;
        this.index = index;
        return true;
      }
      index++;
      if (index < block.instructions.length) continue;
      block = this.#blocks[block.index + 1];
      index = 0;
    }
    return this.#lookUp(instruction);
  }

  #lookUp(instruction: I): boolean {
    if (!this.#numbers) this.#number();
    const number = this.#numbers!.get(instruction);
    if (number === undefined) return false;
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (this.#starts[middle]! <= number) low = middle;
      else high = middle;
    }
    this.block = this.#blocks[low];
    this.index = number - this.#starts[low]!;
    return true;
  }

  #number(): void {
    const numbers = new Map<I, number>();
    const starts: number[] = [];
    for (const { instructions } of this.#blocks) {
      starts.push(numbers.size);
      for (const instruction of instructions) numbers.set(instruction, numbers.size);
    }
    this.#numbers = numbers;
    this.#starts = starts;
  }
}
