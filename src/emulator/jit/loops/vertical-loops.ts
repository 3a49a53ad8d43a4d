/** Which loops of a function run chunk by chunk, and how many chunks at once. */
import type { VerticalMode } from '../../code/emulator-core.ts';
import type { Block } from '../function/control-flow.ts';
import type { Liveness } from '../function/liveness.ts';
import { isAccess } from '../regions/access-group.ts';
import { isOp } from '../regions/graph.ts';
import type { Node } from '../regions/node.ts';
import { type LaneWay, MAX_LANE_ROWS } from './lane-body.ts';
import { LaneProgram } from './lane-program.ts';
import { estimate, laneWayPays } from './loop-cost.ts';
import { changesLanes, type LoopPlan, type PlanOptions, planLoop, usualPlan } from './loop-plan.ts';
import { naturalLoops } from './natural-loop.ts';
import { OffMasks } from './off-masks.ts';
import { type SteadyWay, sideBySide } from './side-by-side.ts';
import { withWaveExit } from './wave-exit.ts';

/** Of accesses of a lane that goes alone: each takes three registers. */
const MAX_LANE_GROUPS = 16;

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
  /** For lanes that leave the loop one by one: each of them alone. */
  readonly lanes?: LaneWay | undefined;
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
    const ofChunks = withWaveExit(usual);
    const found = sideBySide(usual);
    const { store } = plan;
    if (store && !(found && store.rows.every((row) => found.plan.rows.has(row)))) continue;
    const steady = found ? (store?.isStreamed ? [false] : [false, true]).map((isApart) => ({ found, isApart })) : [];
    const all = mode !== 'auto';
    const waysOf = (way?: SteadyWay): readonly LoopWay[] => {
      const { chunkCount, pays } = estimate(ofChunks, options.waveSize, way);
      return pays || all ? [{ chunkCount, steady: way }] : [];
    };
    const lanes = mode === 'always' || store ? undefined : laneWay(usual, options);
    const alone: readonly LoopWay[] =
      lanes && (all || laneWayPays(usual, options.waveSize, lanes.program))
        ? [{ chunkCount: 1, steady: undefined, lanes }]
        : [];
    const others = store ? [] : [...(all ? [] : alone), ...waysOf()];
    const ways = [...(mode === 'lanes' ? alone : []), ...steady.flatMap(waysOf), ...others];
    if (ways.length > 0) result.set(header, { plan, ways });
  }
  return result;
}

/** The way of lanes that leave one by one, and load from anywhere in device memory. */
function laneWay(plan: LoopPlan, { fused, countsPcs }: PlanOptions): LaneWay | undefined {
  const { graph, nodes, rows, variant } = plan;
  const loads = nodes.filter(isAccess);
  const isAnywhere = ({ lane, leaf }: Node): boolean =>
    lane && leaf.kind === 'load' && (leaf.space === 'global' || leaf.space === 'flat');
  if (countsPcs || graph.again.kind !== 'lanes' || rows.size > MAX_LANE_ROWS) return undefined;
  // A call for each lane: as many for four of them.
  if (!fused && nodes.some((node) => isOp(node, 'f32.fma') || isOp(node, 'f64.fma'))) return undefined;
  if (!loads.every((node) => isAnywhere(node) || (!node.lane && !variant.has(node)))) return undefined;
  const off = new OffMasks(plan);
  if (!off.areKnown) return undefined;
  const bit = (value: bigint): Node => graph.values.constant(value, 'i1');
  const known = new Map([
    [graph.exec, bit(1n)] as const,
    ...[...graph.disjoint].map((base) => [graph.entryMasks.get(base)!, bit(0n)] as const),
  ]);
  const program = new LaneProgram(usualPlan(plan, known));
  return new Set(program.groups.values()).size <= MAX_LANE_GROUPS ? { program, off } : undefined;
}
