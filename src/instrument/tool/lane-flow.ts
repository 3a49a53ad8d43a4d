/**
 * How waves and lanes go through a function, as graphs in which as many leave each node as come to it. Waves
 * go through blocks. Lanes go through regions of blocks (`execRegions`): where EXEC is written, lanes vanish
 * and others appear.
 */
import type { CountedEdge } from '../../flow/edge-counts.ts';
import type { BlockDepths } from './block-depths.ts';
import { type CarriedMasks, carriedMasks } from './carried-masks.ts';
import { type ExecRegion, emptyWay, execRegions, writesExec } from './exec-regions.ts';
import { endOf, firstOf, lastOf, type ToolBlock, type ToolFunction, type ToolInstruction } from './tool-function.ts';

/** Where an edge can be counted. */
export interface EdgePlace {
  readonly side: 'entry' | 'before' | 'after' | 'taken';
  readonly instruction: ToolInstruction;
  /** Of a region where any instruction will do: those that will, the first one among them. */
  readonly candidates: readonly ToolInstruction[];
  /** Whether a wave comes by at most once. */
  readonly isOnce: boolean;
}

export interface FlowEdge extends CountedEdge {
  /** Undefined where there is none: the edge must not be counted. */
  readonly place: EdgePlace | undefined;
  /** Every wave that runs the kernel comes by once. */
  readonly isLaunch: boolean;
}

export interface Flow {
  readonly nodeCount: number;
  /** Each is the edge with its number: what goes through it. */
  readonly regions: readonly ExecRegion[];
  readonly edges: readonly FlowEdge[];
}

/** What goes through: all waves, or what depends on the lanes that are on. */
export type FlowKind = 'waves' | 'lanes';

const OUTSIDE = 0;
/** Counting in a loop counts this many times more. */
const LOOP_FACTOR = 10;
const MOST_DEPTH = 8;
/** What is counted on the way to a branch target costs a branch back, too. */
const [STRAIGHT_COST, DETOUR_COST] = [1, 2];
/** The kernel's own beginning is known without a counter. */
const [LAUNCH_COST, FREE_COST] = [0.01, 0.001];

/** What else is known of a function. */
export interface FlowFacts {
  readonly depths: BlockDepths;
  /** Whether all waves come back from a call, with their lanes in doubt all the same. */
  comesBack(call: ToolInstruction): boolean;
  /** Whether it matters how many come through a region. */
  isNeeded(region: ExecRegion): boolean;
  /** Whether a counter is there anyway that tells this, by the first instruction of the region. */
  isFree(first: ToolInstruction): boolean;
}

export const flowOf = (fn: ToolFunction, kind: FlowKind, facts: FlowFacts): Flow =>
  new FlowBuilder(fn, kind, facts).build();

/** An edge before it is known where it can be counted; places of `CarriedMasks` are numbers below 0. */
interface OpenEdge {
  readonly from: number;
  readonly to: number;
  /** The way in the code that it is, if it is one. */
  readonly way?: { readonly side: EdgePlace['side']; readonly instruction: ToolInstruction };
}

class FlowBuilder {
  readonly #fn: ToolFunction;
  readonly #kind: FlowKind;
  readonly #facts: FlowFacts;
  readonly #regions: (ExecRegion | undefined)[] = [undefined];
  readonly #firsts = new Map<ToolBlock, number>();
  readonly #edges: OpenEdge[] = [];
  readonly #carried: CarriedMasks | undefined;

  constructor(fn: ToolFunction, kind: FlowKind, facts: FlowFacts) {
    this.#fn = fn;
    this.#kind = kind;
    this.#facts = facts;
    this.#carried = kind === 'lanes' ? carriedMasks(fn) : undefined;
  }

  build(): Flow {
    const inside = this.#fn.blocks.map((block) => {
      const { instructions } = block;
      const regions = this.#kind === 'waves' ? [{ block, instructions }] : execRegions(block);
      this.#firsts.set(block, this.#regions.length);
      return regions.map((region) => this.#regions.push(region) - 1);
    });
    for (const [i, block] of this.#fn.blocks.entries()) this.#connect(block, inside[i]!);
    const regions = this.#regions.filter((region) => region !== undefined);
    const nodeCount = outOf(regions.length) + 1 + (this.#carried?.count ?? 0);
    return { nodeCount, regions, edges: this.#placed() };
  }

  #connect(block: ToolBlock, nodes: readonly number[]): void {
    const isNeeded = (node: number): boolean =>
      this.#facts.isNeeded(this.#regions[node]!) || this.#behind(node) !== OUTSIDE || this.#ahead(node) !== OUTSIDE;
    const first = firstOf(block);
    if (first.address === this.#fn.address) this.#edge(OUTSIDE, nodes[0]!, { side: 'entry', instruction: first });
    for (const [i, node] of nodes.slice(0, -1).entries()) {
      // Between two writes of EXEC, what nobody asks about needs no edges.
      if (i === 0 || isNeeded(node)) this.#edge(node, this.#behind(node));
      const next = nodes[i + 1]!;
      const isBetween = i + 2 < nodes.length;
      if (!isBetween || isNeeded(next)) this.#edge(this.#ahead(next), next);
    }
    this.#leave(block, nodes.at(-1)!);
  }

  #leave(block: ToolBlock, node: number): void {
    const last = lastOf(block);
    const isCall = last.step.control === 'call';
    const isCut = this.#kind === 'waves' ? isCall && !this.#facts.comesBack(last) : isCall || writesExec(last);
    const empty = this.#kind === 'lanes' ? emptyWay(last) : undefined;
    const { next, target } = block;
    if (isCut) this.#edge(node, this.#behind(node));
    const from = isCut ? OUTSIDE : node;
    if (next && empty !== 'next') this.#edge(from, this.#firsts.get(next)!, { side: 'after', instruction: last });
    if (target && empty !== 'taken') this.#edge(from, this.#firsts.get(target)!, { side: 'taken', instruction: last });
    const leaves = block.leaves && !isCall && !isCut;
    if (leaves || (!next && !target && !isCut)) this.#edge(node, OUTSIDE);
  }

  /** Where lanes go when EXEC is written behind a region. */
  #behind(node: number): number {
    const place = this.#carried?.from.get(this.#regions[node]!);
    return place === undefined ? OUTSIDE : -1 - place;
  }

  /** Where lanes come from when EXEC was written before it. */
  #ahead(node: number): number {
    const place = this.#carried?.to.get(this.#regions[node]!);
    return place === undefined ? OUTSIDE : -1 - place;
  }

  #edge(from: number, to: number, way?: OpenEdge['way']): void {
    this.#edges.push({ from, to, ...(way && { way }) });
  }

  #placed(): FlowEdge[] {
    const [out, into] = [new Int32Array(this.#regions.length), new Int32Array(this.#regions.length)];
    for (const { from, to } of this.#edges) {
      if (from >= 0) out[from]!++;
      if (to >= 0) into[to]!++;
    }
    const nodeOf = (end: number, side: typeof inOf): number => {
      if (end < 0) return outOf(this.#regions.length - 1) - end;
      return end === OUTSIDE ? OUTSIDE : side(end);
    };
    const ways = this.#edges.map(({ from, to, way }): FlowEdge => {
      const ends = { from: nodeOf(from, outOf), to: nodeOf(to, inOf) };
      const isLaunch = way?.side === 'entry' && this.#facts.depths.isOnce(this.#regions[to]!.block);
      const only = from > 0 && out[from] === 1 ? from : to > 0 && into[to] === 1 ? to : undefined;
      if (only !== undefined) return { ...ends, ...this.#inside(this.#regions[only]!, isLaunch), isLaunch };
      if (!way) return { ...ends, cost: Number.POSITIVE_INFINITY, place: undefined, isLaunch };
      return { ...ends, ...this.#onWay(way, [from, to], isLaunch), isLaunch };
    });
    const through = this.#regions.flatMap((region, node): FlowEdge[] =>
      region ? [{ from: inOf(node), to: outOf(node), ...this.#inside(region, false), isLaunch: false }] : [],
    );
    return [...through, ...ways];
  }

  #onWay({ side, instruction }: NonNullable<OpenEdge['way']>, ends: readonly number[], isLaunch: boolean) {
    const depths = ends.filter((end) => end !== OUTSIDE).map((end) => this.#facts.depths.of(this.#regions[end]!.block));
    const depth = Math.min(...depths);
    const each = side === 'taken' ? DETOUR_COST : STRAIGHT_COST;
    const place: EdgePlace = { side, instruction, candidates: [instruction], isOnce: depth === 0 };
    return { place, cost: this.#cost(depth, each, isLaunch) };
  }

  #inside({ block, instructions }: ExecRegion, isLaunch: boolean) {
    const end = instructions.indexOf(endOf(block));
    // What is counted is put away at the end of a wave: it is counted before.
    const candidates = end < 0 ? instructions : instructions.slice(0, Math.max(end, 1));
    const depth = this.#facts.depths.of(block);
    const place: EdgePlace = { side: 'before', instruction: candidates[0]!, candidates, isOnce: depth === 0 };
    const isFree = this.#kind === 'lanes' && this.#facts.isFree(instructions[0]!);
    return { place, cost: isFree ? FREE_COST : this.#cost(depth, STRAIGHT_COST, isLaunch) };
  }

  #cost(depth: number, each: number, isLaunch: boolean): number {
    if (isLaunch && this.#kind === 'waves') return LAUNCH_COST;
    return each * LOOP_FACTOR ** Math.min(depth, MOST_DEPTH);
  }
}

/** A region is two nodes, so that it can be counted itself: waves come to one and leave the other. */
const inOf = (region: number): number => 2 * region - 1;
const outOf = (region: number): number => 2 * region;
