/** Which loops of a function run chunk by chunk, and how many chunks at once. */
import type { VerticalMode } from '../../code/emulator-core.ts';
import type { Block } from '../function/control-flow.ts';
import type { Liveness } from '../function/liveness.ts';
import { isAccess } from '../regions/access-group.ts';
import { estimate } from './loop-cost.ts';
import { changesLanes, type LoopPlan, type PlanOptions, planLoop } from './loop-plan.ts';
import { naturalLoops } from './natural-loop.ts';

export interface VerticalLoop {
  readonly plan: LoopPlan;
  /** Chunks of a group. */
  readonly chunkCount: number;
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
    const { chunkCount, pays } = estimate(plan.usual ?? plan, options.waveSize);
    if (pays || mode === 'always') result.set(header, { plan, chunkCount });
  }
  return result;
}
