/** Which loops of a function run chunk by chunk, and how many chunks at once. */
import type { VerticalMode } from '../../code/emulator-core.ts';
import type { Block } from '../function/control-flow.ts';
import type { Liveness } from '../function/liveness.ts';
import { isAccess } from '../regions/access-group.ts';
import { estimate } from './loop-cost.ts';
import { changesLanes, type LoopPlan, type PlanOptions, planLoop } from './loop-plan.ts';
import { naturalLoops } from './natural-loop.ts';
import { type SteadyWay, sideBySide } from './side-by-side.ts';

export interface VerticalLoop {
  readonly plan: LoopPlan;
  /** That are faster than region by region, best first: where lanes do not suit one, the next is taken. */
  readonly ways: readonly LoopWay[];
}

export interface LoopWay {
  /** Chunks of a group. */
  readonly chunkCount: number;
  /** For lanes that keep their distances. */
  readonly steady: SteadyWay | undefined;
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
    const steady = found ? [false, true].map((isApart) => ({ found, isApart })) : [];
    const ways = [...steady, undefined].flatMap((way) => {
      const { chunkCount, pays } = estimate(usual, options.waveSize, way);
      return pays || mode === 'always' ? [{ chunkCount, steady: way }] : [];
    });
    if (ways.length > 0) result.set(header, { plan, ways });
  }
  return result;
}
