/** Calls that never come back: what stands behind them is no code, but filled with zeros or data. */
import type { BasicBlock } from '../flow/blocks.ts';
import { fallsThrough } from '../ir/step.ts';
import type { AmdgpuStep } from '../isa/amdgpu/step.ts';
import type { Finding } from './discovery.ts';

type Block = BasicBlock<AmdgpuStep>;

/** By block: whether control, once there, may come to a return of the function that it is in. */
class Returning {
  readonly #isMarked: Uint8Array;
  readonly #work: number[] = [];

  constructor(blocks: readonly Block[]) {
    this.#isMarked = new Uint8Array(blocks.length);
  }

  has({ index }: Block): boolean {
    return this.#isMarked[index] === 1;
  }

  mark(block: Block): void {
    if (this.has(block)) return;
    this.#isMarked[block.index] = 1;
    this.#work.push(block.index);
  }

  /** `visit`: blocks that control comes from to a block that is marked. */
  spread(visit: (index: number) => void): void {
    for (let index = this.#work.pop(); index !== undefined; index = this.#work.pop()) visit(index);
  }
}

/**
 * Addresses of calls of known functions of which none returns: on all their ways the wave ends, or they run
 * forever. Where anything else may be, a function is taken to return. `blocks`: those of all code.
 */
export function endingCalls(
  blocks: readonly Block[],
  findingOf: (step: AmdgpuStep) => Finding | undefined,
): ReadonlySet<number> {
  const starts = new Map(blocks.map((block) => [block.instructions[0]!.offset, block]));
  /** Where the last instruction goes by a call or a register; undefined where that is not known. */
  const goals = blocks.map((block): readonly Block[] | undefined => {
    const last = block.instructions.at(-1)!;
    if (last.control !== 'call' && last.control !== 'jump') return [];
    const finding = findingOf(last);
    if (!finding?.isComplete || finding.returnsTo !== undefined) return undefined;
    const found = [...finding.targets].flatMap((target) => starts.get(target) ?? []);
    return found.length > 0 && found.length === finding.targets.size ? found : undefined;
  });
  const isCall = ({ instructions }: Block): boolean => instructions.at(-1)!.control === 'call';
  const comesFrom = blocks.map((): Block[] => []);
  const returning = new Returning(blocks);
  for (const block of blocks) {
    for (const to of [block.next, block.target, ...(goals[block.index] ?? [])])
      if (to) comesFrom[to.index]!.push(block);
    if (mayReturn(block, goals[block.index])) returning.mark(block);
  }
  returning.spread((index) => {
    for (const from of comesFrom[index]!) {
      const callees = isCall(from) ? goals[from.index] : undefined;
      const comesBack = !callees || callees.some((callee) => returning.has(callee));
      if (comesBack && (!callees || !from.next || returning.has(from.next))) returning.mark(from);
    }
  });
  const isEnding = (block: Block): boolean =>
    isCall(block) && goals[block.index]?.some((each) => returning.has(each)) === false;
  return new Set(blocks.filter(isEnding).map(({ instructions }) => instructions.at(-1)!.offset));
}

/** Whether a function may return with the last instruction of a block, whatever else is known. */
function mayReturn({ instructions, next, target }: Block, goals: readonly Block[] | undefined): boolean {
  const last = instructions.at(-1)!;
  switch (last.control) {
    case 'end':
      return false;
    case 'call':
      return goals === undefined && !next;
    case 'jump':
      return goals === undefined && !target;
    default:
      return last.control === 'return' || (fallsThrough(last) && !next) || (last.target !== undefined && !target);
  }
}
