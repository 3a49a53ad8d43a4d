/**
 * How waves and lanes go through a function, as graphs in which as many leave each node as come to it. Waves
 * go through blocks. Lanes go through regions of blocks (`execRegions`): where EXEC is written, lanes vanish
 * and others appear.
 */
import type { CountedEdge } from '../../flow/edge-counts.ts';
import type { Value } from '../../ir/types.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import { type ExecRegion, execRegions, writesExec } from './exec-regions.ts';
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
  /** Nodes by number; 0 stands for everything outside. */
  readonly regions: readonly (ExecRegion | undefined)[];
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
const LAUNCH_COST = 0.01;

/** `comesBack`: whether all waves come back from a call, with their lanes in doubt all the same. */
export function flowOf(
  fn: ToolFunction,
  kind: FlowKind,
  { isNeeded, comesBack }: { isNeeded(region: ExecRegion): boolean; comesBack(call: ToolInstruction): boolean },
): Flow {
  return new FlowBuilder(fn, kind, comesBack).build(isNeeded);
}

/** An edge before it is known where it can be counted. */
interface OpenEdge {
  readonly from: number;
  readonly to: number;
  /** The way in the code that it is, if it is one. */
  readonly way?: { readonly side: EdgePlace['side']; readonly instruction: ToolInstruction };
}

class FlowBuilder {
  readonly #fn: ToolFunction;
  readonly #kind: FlowKind;
  readonly #comesBack: (call: ToolInstruction) => boolean;
  readonly #regions: (ExecRegion | undefined)[] = [undefined];
  readonly #firsts = new Map<ToolBlock, number>();
  readonly #edges: OpenEdge[] = [];
  readonly #circles: ReadonlySet<number>;

  constructor(fn: ToolFunction, kind: FlowKind, comesBack: (call: ToolInstruction) => boolean) {
    this.#fn = fn;
    this.#kind = kind;
    this.#comesBack = comesBack;
    this.#circles = new Set(fn.lifted.loops.irreducible.flat());
  }

  build(isNeeded: (region: ExecRegion) => boolean): Flow {
    const inside = this.#fn.blocks.map((block) => {
      const { instructions } = block;
      const regions = this.#kind === 'waves' ? [{ block, instructions }] : execRegions(block);
      this.#firsts.set(block, this.#regions.length);
      return regions.map((region) => this.#regions.push(region) - 1);
    });
    for (const [i, block] of this.#fn.blocks.entries()) this.#connect(block, inside[i]!, isNeeded);
    return { regions: this.#regions, edges: this.#placed() };
  }

  #connect(block: ToolBlock, nodes: readonly number[], isNeeded: (region: ExecRegion) => boolean): void {
    const first = firstOf(block);
    if (first.address === this.#fn.address) this.#edge(OUTSIDE, nodes[0]!, { side: 'entry', instruction: first });
    for (const [i, node] of nodes.slice(0, -1).entries()) {
      // Between two writes of EXEC, what nobody asks about needs no edges.
      if (i === 0 || isNeeded(this.#regions[node]!)) this.#edge(node, OUTSIDE);
      const next = nodes[i + 1]!;
      const isBetween = i + 2 < nodes.length;
      if (!isBetween || isNeeded(this.#regions[next]!)) this.#edge(OUTSIDE, next);
    }
    this.#leave(block, nodes.at(-1)!);
  }

  #leave(block: ToolBlock, node: number): void {
    const last = lastOf(block);
    const isCall = last.step.control === 'call';
    const isCut = this.#kind === 'waves' ? isCall && !this.#comesBack(last) : isCall || writesExec(last);
    const empty = this.#kind === 'lanes' ? emptyWay(last) : undefined;
    const { next, target } = block;
    if (isCut) this.#edge(node, OUTSIDE);
    const from = isCut ? OUTSIDE : node;
    if (next && empty !== 'next') this.#edge(from, this.#firsts.get(next)!, { side: 'after', instruction: last });
    if (target && empty !== 'taken') this.#edge(from, this.#firsts.get(target)!, { side: 'taken', instruction: last });
    const leaves = block.leaves && !isCall && !isCut;
    if (leaves || (!next && !target && !isCut)) this.#edge(node, OUTSIDE);
  }

  #edge(from: number, to: number, way?: OpenEdge['way']): void {
    this.#edges.push({ from, to, ...(way && { way }) });
  }

  #placed(): FlowEdge[] {
    const [out, into] = [new Int32Array(this.#regions.length), new Int32Array(this.#regions.length)];
    for (const { from, to } of this.#edges) {
      out[from]!++;
      into[to]!++;
    }
    return this.#edges.map(({ from, to, way }) => {
      const isLaunch = way?.side === 'entry' && this.#runsOnce(this.#regions[to]!.block);
      const only = from !== OUTSIDE && out[from] === 1 ? from : to !== OUTSIDE && into[to] === 1 ? to : undefined;
      const place = only === undefined ? way && this.#onWay(way, [from, to]) : this.#inside(this.#regions[only]!);
      const depth = Math.min(...[from, to].filter((each) => each !== OUTSIDE).map((each) => this.#depth(each)));
      const each = only === undefined && way?.side === 'taken' ? DETOUR_COST : STRAIGHT_COST;
      const cost = isLaunch && this.#kind === 'waves' ? LAUNCH_COST : each * LOOP_FACTOR ** Math.min(depth, MOST_DEPTH);
      return { from, to, cost: place ? cost : Number.POSITIVE_INFINITY, place, isLaunch };
    });
  }

  #onWay({ side, instruction }: NonNullable<OpenEdge['way']>, ends: readonly number[]): EdgePlace {
    const isOnce = ends.some((end) => end !== OUTSIDE && this.#runsOnce(this.#regions[end]!.block));
    return { side, instruction, candidates: [instruction], isOnce };
  }

  #inside({ block, instructions }: ExecRegion): EdgePlace {
    const end = instructions.indexOf(endOf(block));
    // What is counted is put away at the end of a wave: it is counted before.
    const candidates = end < 0 ? instructions : instructions.slice(0, Math.max(end, 1));
    return { side: 'before', instruction: candidates[0]!, candidates, isOnce: this.#runsOnce(block) };
  }

  #depth(node: number): number {
    const { index } = this.#regions[node]!.block;
    const depth = this.#fn.lifted.loops.at(index)?.depth ?? 0;
    // What is called may be so in a loop.
    return depth + (this.#circles.has(index) ? 1 : 0) + (this.#isLaunched ? 0 : 1);
  }

  #runsOnce({ index }: ToolBlock): boolean {
    return this.#isLaunched && this.#depth(this.#firsts.get(this.#fn.blocks[index]!)!) === 0;
  }

  get #isLaunched(): boolean {
    return this.#fn.isKernel && this.#fn.lifted.callers.size === 0;
  }
}

/** Which way of a branch is taken with no lane on. */
function emptyWay({ step: { control, instruction } }: ToolInstruction): 'next' | 'taken' | undefined {
  if (control !== 'conditional') return undefined;
  const branch = meaningOf(instruction)?.values.find(({ leaf }) => leaf.kind === 'branch');
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
