/**
 * Blocks cut where EXEC changes: all instructions of a region run with the same lanes and equally often, so
 * that two numbers of a region tell those of each instruction.
 */
import { postDominators } from '../../flow/dominators.ts';
import type { Value } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
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
    const { writesState, writesAnyOf } = instruction.step.effects;
    if (writesState.has('exec') || writesAnyOf.has('scalar')) regions.push([]);
  }
  return regions.filter(({ length }) => length > 0).map((instructions) => ({ block, instructions }));
}

/**
 * For each block one that waves come through equally often, the first of those: each way through one leads
 * through the other, and as often as loops are concerned. Holds for waves that come to an end.
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

/**
 * Of an instruction that takes lanes off and keeps the mask from before: the scalar register that holds it
 * then (S_AND_SAVEEXEC and its kin).
 */
export function savedMask({ step: { instruction } }: ToolInstruction): number | undefined {
  const values = meaningOf(instruction)?.values ?? [];
  if (!values.some(({ leaf }) => leaf.kind === 'setState' && leaf.slot === 'exec')) return undefined;
  for (const { leaf, args, lane } of values) {
    if (leaf.kind !== 'setOperand' || lane || leaf.at.dword !== 0) continue;
    const operand = instruction.operand(leaf.at.operand);
    if (operand.kind === 'scalar' && isOldMask(args[0]!)) return operand.register;
  }
  return undefined;
}

const isOldMask = ({ leaf, args }: Value): boolean =>
  (leaf.kind === 'state' && leaf.slot === 'exec') ||
  (leaf.kind === 'pure' && leaf.op === 'i64.low' && isOldMask(args[0]!));
