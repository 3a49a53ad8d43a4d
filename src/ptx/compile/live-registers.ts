/** Which registers lanes still need. A lane's registers are its own, so the branches of the text count. */
import { solveDataFlow } from '../../flow/data-flow.ts';
import { graphOf } from '../../flow/graph.ts';
import type { LinearCode } from './linearize.ts';
import { type FunctionRegister, registersOf } from './lir.ts';

export type Registers = ReadonlyMap<number, FunctionRegister>;

/** What lanes need of registers before and behind each block. */
export function liveAtEnds({
  blocks,
}: LinearCode): readonly { readonly before: Registers; readonly behind: Registers }[] {
  const numbers = [...blocks.keys()];
  const graph = graphOf(numbers, [0], (block) => blocks[block]!.successors);
  const local = blocks.map(({ code }) => {
    const needed = new Map<number, FunctionRegister>();
    const written = new Set<number>();
    for (const line of code) {
      const { reads, writes } = registersOf(line);
      for (const register of reads) if (!written.has(register.id)) needed.set(register.id, register);
      for (const register of writes) written.add(register.id);
    }
    return { needed, written };
  });
  const nothing: Registers = new Map();
  const { incoming, outgoing } = solveDataFlow<Registers>(graph, {
    ...{ direction: 'backward', nothing, outside: nothing },
    join: (a, b) => (b.size === 0 ? a : a.size === 0 ? b : new Map([...a, ...b])),
    equals: (a, b) => a.size === b.size,
    transfer(block, behind) {
      const { needed, written } = local[block]!;
      const before = new Map(needed);
      for (const [id, register] of behind) if (!written.has(id)) before.set(id, register);
      return before;
    },
  });
  return blocks.map((_, block) => ({ before: outgoing[block]!, behind: incoming[block]! }));
}
