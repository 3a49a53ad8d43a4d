/** Which registers lanes still need. A lane's registers are its own, so the branches of the text count. */
import { graphOf } from '../../flow/graph.ts';
import type { LinearCode } from './linearize.ts';
import { type FunctionRegister, registersOf } from './lir.ts';

/** Is told of a register that is needed before or behind a block, once for each. */
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
  const { needs, written } = needsOf({ blocks });
  // The number of the need that was there last.
  const seenBefore = new Int32Array(blocks.length);
  const seenBehind = new Int32Array(blocks.length);
  let number = 0;
  for (const { register, blocks: work } of needs) {
    number++;
    for (let block = work.pop(); block !== undefined; block = work.pop()) {
      if (seenBefore[block] === number) continue;
      seenBefore[block] = number;
      visitor.before?.(register, block);
      for (const from of predecessors[block]!) {
        if (seenBehind[from] === number) continue;
        seenBehind[from] = number;
        visitor.behind(register, from);
        if (!written[from]!.has(register.id)) work.push(from);
      }
    }
  }
}

function needsOf({ blocks }: LinearCode): {
  readonly needs: Iterable<Need>;
  readonly written: readonly ReadonlySet<number>[];
} {
  const needs = new Map<number, Need>();
  const written = blocks.map(({ code }, block) => {
    const own = new Set<number>();
    for (const line of code) {
      const { reads, writes } = registersOf(line);
      for (const register of reads) {
        if (own.has(register.id)) continue;
        const known = needs.get(register.id);
        if (!known) needs.set(register.id, { register, blocks: [block] });
        else if (known.blocks.at(-1) !== block) known.blocks.push(block);
      }
      for (const { id } of writes) own.add(id);
    }
    return own;
  });
  return { needs: needs.values(), written };
}
