/**
 * A region as WebAssembly: uniform values, the loop over the chunks, uniform values that need the lanes,
 * registers.
 */
import { assert } from '../../../base/errors.ts';
import { ne64, type Push, push } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { pushLaneOffset } from '../../lowering/chunk-place.ts';
import type { AddressSpaces } from '../../lowering/memory-access.ts';
import { emitFence } from '../../lowering/uniform-memory.ts';
import { STATE_OFFSETS } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { groupAccesses, isAccess, isAheadOfChunk, usedBy } from './access-group.ts';
import { ChunkLoop } from './chunk-loop.ts';
import { isOp } from './graph.ts';
import { mayBeWhole } from './merged-regions.ts';
import { type Node, type NodeOf, nodesBehind } from './node.ts';
import type { LaneWrite, Region } from './region.ts';
import type { RegionLanes } from './region-lanes.ts';
import type { Series, SeriesPlan } from './series.ts';
import { seriesPlanOf } from './series-plan.ts';
import { UniformValues } from './uniform-values.ts';
import { UsualValues } from './usual.ts';

const allLanes = ({ waveSize }: AddressSpaces): bigint => (waveSize === 64 ? -1n : 0xffffffffn);

/** Whether some lanes are off by the EXEC that is in the wave state. */
export const isNotFull = (state: FunctionState): Push => ne64(state.mask(STATE_OFFSETS.exec), allLanes(state.spaces));

/** Whether a mask is what EXEC was when the region began. */
export const isEntryExec = (node: Node): boolean =>
  node.leaf.kind === 'scalar'
    ? node.leaf.offset === STATE_OFFSETS.exec
    : isOp(node, 'i64.zext32') && isEntryExec(node.args[0]!);

export class RegionLowering {
  readonly state: FunctionState;
  readonly region: Region;
  readonly #values: UniformValues;
  #plan: RegionPlan | undefined;

  constructor(state: FunctionState, region: Region) {
    this.state = state;
    this.region = region;
    this.#values = new UniformValues(state);
  }

  /** Whether the region can run as `ChunkLoop.emitWhole` has it. */
  get mayBeWhole(): boolean {
    const { fences, gathered, laneWrites, guards } = this.region;
    const isPlain = !fences && gathered.size === 0 && laneWrites.length === 0;
    return isPlain && mayBeWhole(this.#planned.lanes, guards.length > 0);
  }

  /** Whether addresses of a region that may be whole are found in memory (found-loads.ts). */
  get hasFoundLoads(): boolean {
    const groups = groupAccesses(this.#planned.lanes.usualLanes);
    return [...groups.values()].some((group) => !isAheadOfChunk(group));
  }

  /** Whether lanes store. */
  get stores(): boolean {
    return this.#planned.lanes.lanes.some(({ leaf }) => leaf.kind === 'store');
  }

  /** What is to be known of workgroups that follow each other, if that can be known. */
  get seriesPlan(): SeriesPlan | undefined {
    const { needed, lanes } = this.#planned;
    return seriesPlanOf(this.region, [...needed], lanes);
  }

  get #planned(): RegionPlan {
    this.#plan ??= planRegion(this.region);
    return this.#plan;
  }

  /**
   * Emits the region; the condition of its branch, if it ends in one, is in a local that the caller frees.
   * `otherwise`: of merged regions and full waves, where waves go, unchanged, that cannot run it; `idle`:
   * where those go that have nothing to do. `series`: of a full wave that may be done with those of other
   * workgroups.
   */
  emit(otherwise?: BlockLabel, idle?: BlockLabel, series?: Series): Local | undefined {
    const region = this.region;
    const values = this.#values;
    const { needed: own, lanes } = this.#planned;
    const steps = series?.plan.steps;
    const needed = steps ? region.graph.nodes.filter((node) => own.has(node) || steps.has(node)) : [...own];
    if (region.fences) emitFence(this.state.f);
    const before = needed.filter(({ phase }) => phase === 'before');
    values.expect(before);
    const first = otherwise ? nodesBehind([region.exec!]) : new Set<Node>();
    for (const node of before) if (first.has(node)) values.emit(node);
    if (otherwise) this.#refuseUnlessFull(otherwise);
    // Loads of a full wave may be some that others do not make: they are no faults.
    const refused = region.guards.length > 0 ? otherwise : undefined;
    for (const node of before) if (!first.has(node)) values.emit(node, refused);
    if (lanes.lanes.length + lanes.ballots.length + region.rows.size > 0) {
      assert(region.exec, 'a region with lane values has an EXEC');
      const loop = new ChunkLoop(this.state, region, lanes, (node) => values.local(node));
      const emitAfter = (): void => {
        for (const [node, local] of loop.ballots) values.hold(node, local);
        for (const node of needed) if (node.phase === 'after' && node.leaf.kind !== 'ballot') values.emit(node);
      };
      if (series?.emitBranch) {
        loop.emitWhole(otherwise!, idle, series, () => {
          emitAfter();
          series.emitBranch!(values.local(region.branch!));
        });
        values.release();
        return undefined;
      }
      if (otherwise) loop.emitWhole(otherwise, idle, series);
      else loop.emit();
      emitAfter();
    }
    this.#storeScalars();
    for (const each of region.laneWrites) this.#storeLane(each);
    const condition = region.branch && this.#copyOf(region.branch);
    values.release();
    return condition;
  }

  /** Before anything else is computed: of most waves whose lanes do not suit, some are off. */
  #refuseUnlessFull(otherwise: BlockLabel): void {
    const { f, spaces } = this.state;
    const { exec, guards } = this.region;
    // EXEC of a full wave is a constant, and that of others may be on its way to the wave.
    push(f, guards.length > 0 ? isNotFull(this.state) : ne64(this.#values.local(exec!), allLanes(spaces)));
    f.brIf(otherwise);
  }

  #storeLane({ offset, lane, value }: LaneWrite): void {
    const { f, wave, spaces } = this.state;
    f.get(wave);
    f.get(this.#values.local(lane));
    pushLaneOffset(f, spaces.waveSize);
    f.op('i32.add');
    f.get(this.#values.local(value));
    f.store('i32.store', offset);
  }

  #copyOf(node: Node): Local {
    const { f } = this.state;
    const copy = f.local('i32');
    f.get(this.#values.local(node));
    f.set(copy);
    return copy;
  }

  #storeScalars(): void {
    const { f, wave } = this.state;
    const { scalars } = this.region;
    const written = new Set<number>();
    for (const [offset, node] of scalars) {
      if (written.has(offset) || isUnchanged(offset, node)) continue;
      const high = scalars.get(offset + 4);
      f.get(wave);
      if (isOp(node, 'i64.low') && high && isOp(high, 'i64.high') && high.args[0] === node.args[0]) {
        f.get(this.#values.local(node.args[0]!));
        f.store('i64.store', offset);
        written.add(offset + 4);
      } else {
        f.get(this.#values.local(node));
        f.store('i32.store', offset);
      }
    }
  }
}

/** Whether a place gets what it had. */
const isUnchanged = (offset: number, { leaf, type }: Node): boolean =>
  leaf.kind === 'scalar' && leaf.offset === offset && type !== 'i64';

/** What a region must compute. */
interface RegionPlan {
  readonly needed: ReadonlySet<Node>;
  readonly lanes: RegionLanes;
}

/** Adds to the region's graph what is usual. */
function planRegion(region: Region): RegionPlan {
  const own = neededNodes(region);
  const lanes = own.filter(({ phase }) => phase === 'lanes');
  const usual = new UsualValues(region.graph, lanes);
  const ballots = own.filter((node): node is NodeOf<'ballot'> => node.leaf.kind === 'ballot');
  const needed = new Set(usual.differs ? neededNodes(region, { usual, ballots }) : own);
  return { needed, lanes: { lanes, usual, usualLanes: usual.lanes.filter((node) => needed.has(node)), ballots } };
}

interface UsuallyNeeded {
  readonly usual: UsualValues;
  readonly ballots: readonly NodeOf<'ballot'>[];
}

/**
 * Nodes that the region's results and accesses need, in order; with `usually`, also what they and its ballots
 * usually need. That may stand behind the ballots.
 */
function neededNodes(
  { graph, exec, scalars, rows, laneWrites, branch, guards }: Region,
  usually?: UsuallyNeeded,
): Node[] {
  const needed = new Set<Node>(usually?.usual.facts.rare);
  for (const node of [...rows.values(), ...(usually?.ballots ?? []).map(({ args }) => args[0]!)]) {
    needed.add(node);
    if (usually) needed.add(usually.usual.of(node));
  }
  for (const [offset, node] of scalars) if (!isUnchanged(offset, node)) needed.add(node);
  for (const { lane, value } of laneWrites) needed.add(lane).add(value);
  if (exec) needed.add(exec);
  if (branch) needed.add(branch);
  // Arguments come before what uses them.
  for (const node of graph.nodes.toReversed()) {
    if (!needed.has(node) && !isAccess(node)) continue;
    needed.add(node);
    for (const arg of [...usedBy(node, true), ...usedBy(node, false)]) needed.add(arg);
  }
  // What guards need of lanes is looked at before the chunks.
  const guarded = nodesBehind(guards.map(({ condition }) => condition));
  return graph.nodes.filter((node) => needed.has(node) || (guarded.has(node) && node.phase === 'before'));
}
