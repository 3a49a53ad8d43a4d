/**
 * Blocks cut where EXEC changes: all instructions of a region run with the same lanes and equally often, so
 * that two numbers of a region tell those of each instruction.
 */
import { postDominators } from '../../flow/dominators.ts';
import { graphOf } from '../../flow/graph.ts';
import type { Value } from '../../ir/types.ts';
import type { ToolBlock, ToolFunction, ToolInstruction } from './tool-function.ts';

export interface ExecRegion {
  readonly block: ToolBlock;
  readonly instructions: readonly ToolInstruction[];
}

/** Whether other lanes may be on behind it; behind a call, too, they may. */
export const writesExec = ({ step: { effects } }: ToolInstruction): boolean =>
  effects.writesState.has('exec') || effects.writesAnyOf.has('scalar');

const known = new WeakMap<ToolBlock, readonly ExecRegion[]>();

/** An instruction that writes EXEC is the last one of its region: it ran with the lanes before. */
export function execRegions(block: ToolBlock): readonly ExecRegion[] {
  let regions = known.get(block);
  if (!regions) {
    regions = regionsOf(block);
    known.set(block, regions);
  }
  return regions;
}

function regionsOf(block: ToolBlock): readonly ExecRegion[] {
  const regions: ToolInstruction[][] = [[]];
  for (const instruction of block.instructions) {
    regions.at(-1)!.push(instruction);
    if (writesExec(instruction)) regions.push([]);
  }
  return regions.filter(({ length }) => length > 0).map((instructions) => ({ block, instructions }));
}

/**
 * For each block one that waves come through equally often, the first of those: each way through one leads
 * through the other, be it a turn of a loop. Holds for waves that come to an end.
 */
export function equallyOften({ blocks, lifted }: ToolFunction): ReadonlyMap<ToolBlock, ToolBlock> {
  const { dominators, loops } = lifted;
  // A turn of a loop may end before it comes to a block that all waves come to at last.
  const turns = graphOf(blocks, [], (block) =>
    waysOf(block).map((to) => (to && dominators.dominates(to.index, block.index) ? undefined : to)),
  );
  const behind = postDominators(turns);
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

const waysOf = ({ next, target, leaves }: ToolBlock): (ToolBlock | undefined)[] => [
  ...[next, target].filter((to) => to !== undefined),
  ...(leaves ? [undefined] : []),
];

/**
 * Of an instruction that takes lanes off and keeps the mask from before: the scalar register that holds it
 * then (S_AND_SAVEEXEC and its kin).
 */
export function savedMask({ step: { instruction, meaning } }: ToolInstruction): number | undefined {
  const values = meaning?.values ?? [];
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

/** Which way of a branch is taken with no lane on. */
export function emptyWay({ step }: ToolInstruction): 'next' | 'taken' | undefined {
  if (step.control !== 'conditional') return undefined;
  const branch = step.meaning?.values.find(({ leaf }) => leaf.kind === 'branch');
  const condition = branch?.args[0];
  if (!condition) return undefined;
  if (isNoLane(condition)) return 'taken';
  const { leaf, args } = condition;
  return leaf.kind === 'pure' && leaf.op === 'i1.not' && isNoLane(args[0]!) ? 'next' : undefined;
}

const isNoLane = ({ leaf, args: [mask, zero] }: Value): boolean =>
  leaf.kind === 'pure' &&
  leaf.op === 'i64.eq' &&
  mask?.leaf.kind === 'state' &&
  mask.leaf.slot === 'exec' &&
  zero?.leaf.kind === 'const' &&
  zero.leaf.value === 0n;
