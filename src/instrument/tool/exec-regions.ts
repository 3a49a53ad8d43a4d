/**
 * Blocks cut where EXEC changes: all instructions of a region run with the same lanes and equally often, so
 * that two numbers of a region tell those of each instruction.
 */
import { postDominators } from '../../flow/dominators.ts';
import { stepEffects } from '../../lift/step-effects.ts';
import type { ToolBlock, ToolFunction, ToolInstruction } from './tool-function.ts';

export interface ExecRegion {
  readonly block: ToolBlock;
  readonly instructions: readonly ToolInstruction[];
}

/** An instruction that writes EXEC is the last one of its region: it ran with the lanes before. */
export function execRegions(block: ToolBlock): readonly ExecRegion[] {
  const regions: ToolInstruction[][] = [[]];
  for (const instruction of block.instructions) {
    regions.at(-1)!.push(instruction);
    const { writesState, writesAnyOf } = stepEffects(instruction.step);
    if (writesState.has('exec') || writesAnyOf.has('scalar')) regions.push([]);
  }
  return regions.filter(({ length }) => length > 0).map((instructions) => ({ block, instructions }));
}

/**
 * For each block one that waves come through equally often, the first of those: each way through one leads through
 * the other, and as often as loops are concerned. Holds for waves that come to an end.
 */
export function equallyOften({ blocks, lifted }: ToolFunction): ReadonlyMap<ToolBlock, ToolBlock> {
  const { graph, dominators, loops } = lifted;
  const behind = postDominators(graph);
  const isInCircle = new Set(loops.irreducible.flat());
  const firsts = new Map<ToolBlock, ToolBlock>();
  for (const block of blocks) {
    let first = block;
    for (let at = dominators.immediate(block.index); at !== undefined; at = dominators.immediate(at)) {
      const isSame = loops.at(at) === loops.at(block.index) && behind.dominates(block.index, at);
      if (isSame && !isInCircle.has(at) && !isInCircle.has(block.index)) first = blocks[at]!;
    }
    firsts.set(block, first);
  }
  return firsts;
}
