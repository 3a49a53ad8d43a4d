/**
 * Which instructions may have written what a register holds. Asked for one use at a time: a question looks at
 * each block once at most.
 */
import { type BasicBlock, blockGraph } from './blocks.ts';
import type { FlowGraph } from './graph.ts';

export interface RegisterDefinition {
  /** Undefined: any register, which only running the instruction tells. */
  readonly register: number | undefined;
  /** Whether what the register held before may stay, in part or altogether. */
  readonly isPartial: boolean;
}

export interface Definitions<I> {
  readonly instructions: ReadonlySet<I>;
  /** Whether the register may still hold what it held when the code was entered. */
  readonly fromOutside: boolean;
}

/** Where a block writes something: the positions of its instructions, upwards. */
interface Write {
  readonly position: number;
  readonly isPartial: boolean;
}

export class ReachingDefinitions<I> {
  readonly #blocks: readonly BasicBlock<I>[];
  readonly #graph: FlowGraph;
  readonly #entries: ReadonlySet<number>;
  readonly #places = new Map<I, readonly [block: number, position: number]>();
  /** By register, then by block. */
  readonly #writes = new Map<number | undefined, Map<number, Write[]>>();

  constructor(
    blocks: readonly BasicBlock<I>[],
    entries: readonly BasicBlock<I>[],
    definitionsOf: (instruction: I) => Iterable<RegisterDefinition>,
  ) {
    this.#blocks = blocks;
    this.#graph = blockGraph(blocks, entries);
    this.#entries = new Set(this.#graph.entries);
    for (const { index, instructions } of blocks) {
      for (const [position, instruction] of instructions.entries()) {
        this.#places.set(instruction, [index, position]);
        for (const { register, isPartial } of definitionsOf(instruction)) {
          this.#noteWrite(register, index, { position, isPartial: isPartial || register === undefined });
        }
      }
    }
  }

  /** Of what `register` holds before one of the instructions of the blocks. */
  before(instruction: I, register: number): Definitions<I> {
    const [block, end] = this.#places.get(instruction)!;
    const instructions = new Set<I>();
    let fromOutside = false;
    const work: number[] = [];
    const seen = new Set<number>();
    /** Looks at a block up to a position; asks for those before it where its start is reached. */
    const look = (at: number, limit: number): void => {
      const { instructions: own } = this.#blocks[at]!;
      for (const { position, isPartial } of this.#writesOf(register, at, limit)) {
        instructions.add(own[position]!);
        if (!isPartial) return;
      }
      if (this.#entries.has(at)) fromOutside = true;
      for (const predecessor of this.#graph.predecessors[at]!) {
        if (seen.has(predecessor)) continue;
        seen.add(predecessor);
        work.push(predecessor);
      }
    };
    look(block, end);
    for (let at = work.pop(); at !== undefined; at = work.pop()) look(at, Number.POSITIVE_INFINITY);
    return { instructions, fromOutside };
  }

  /** From the last before `limit` backwards. */
  #writesOf(register: number, block: number, limit: number): readonly Write[] {
    const writes = [register, undefined].flatMap((each) => this.#writes.get(each)?.get(block) ?? []);
    return writes.filter(({ position }) => position < limit).sort((a, b) => b.position - a.position);
  }

  #noteWrite(register: number | undefined, block: number, write: Write): void {
    const byBlock = this.#writes.get(register) ?? new Map<number, Write[]>();
    this.#writes.set(register, byBlock);
    const writes = byBlock.get(block);
    if (writes) writes.push(write);
    else byBlock.set(block, [write]);
  }
}
