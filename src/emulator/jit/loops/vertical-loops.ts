/** Which loops of a function run chunk by chunk, and how many chunks at once. */
import type { VerticalMode } from '../../code/emulator-core.ts';
import type { Block } from '../function/control-flow.ts';
import type { Liveness } from '../function/liveness.ts';
import { estimate } from './loop-cost.ts';
import { type LoopPlan, type PlanOptions, planLoop } from './loop-plan.ts';
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
    // Lanes are counted where all have the same EXEC in all iterations.
    if (!plan || (options.countsPcs && (plan.graph.writesExec || plan.graph.skips.length > 0))) continue;
    const { chunkCount, pays } = estimate(plan.usual ?? plan, options.waveSize);
    if (pays || mode === 'always') result.set(header, { plan, chunkCount });
  }
  return result;
}
