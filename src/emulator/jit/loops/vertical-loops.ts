/** Which loops of a function run chunk by chunk, and how many chunks at once. */
import type { VerticalMode } from '../../code/emulator-core.ts';
import type { Block } from '../function/control-flow.ts';
import type { Liveness } from '../function/liveness.ts';
import { isAccess } from '../regions/access-group.ts';
import { estimate, type LoopEstimate } from './loop-cost.ts';
import { changesLanes, type LoopPlan, type PlanOptions, planLoop } from './loop-plan.ts';
import { naturalLoops } from './natural-loop.ts';
import { type SideBySide, sideBySide } from './side-by-side.ts';

export interface VerticalLoop {
  readonly plan: LoopPlan;
  /** Chunks of a group; absent where that is no faster than region by region. */
  readonly chunkCount: number | undefined;
  /** The way for lanes that are side by side. */
  readonly sideBySide: { readonly found: SideBySide; readonly chunkCount: number } | undefined;
}

export function verticalLoops(
  blocks: readonly Block[],
  liveness: Liveness,
  options: PlanOptions,
  mode: VerticalMode,
): Map<Block, VerticalLoop> {
  const result = new Map<Block, VerticalLoop>();
  if (mode === 'never') return result;
  for (const [header, loop] of naturalLoops(blocks)) {
    const plan = planLoop(loop, liveness, options);
    // Where a fault cuts off counted iterations, nobody knows which of them a lane that left had run.
    if (!plan || (options.countsPcs && changesLanes(plan) && plan.nodes.some(isAccess))) continue;
    const usual = plan.usual ?? plan;
    const found = sideBySide(usual);
    const all = estimate(usual, options.waveSize);
    const aside = found && estimate(usual, options.waveSize, found);
    const isTaken = ({ pays }: LoopEstimate): boolean => pays || mode === 'always';
    const way = found && aside && isTaken(aside) ? { found, chunkCount: aside.chunkCount } : undefined;
    if (isTaken(all) || way)
      result.set(header, { plan, chunkCount: isTaken(all) ? all.chunkCount : undefined, sideBySide: way });
  }
  return result;
}
