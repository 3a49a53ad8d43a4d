/** Whether a loop can run chunk by chunk with the same result, and what that takes. */
import { MATRIX_ROW_COUNT, STATE_OFFSETS } from '../../machine/layout.ts';
import type { Block } from '../function/control-flow.ts';
import type { Literals } from '../function/literals.ts';
import type { Liveness } from '../function/liveness.ts';
import { haveFastAccess, isAccess, usedBy } from '../regions/access-group.ts';
import { constantOf, isOp } from '../regions/graph.ts';
import { type Node, type NodeOf, nodesBehind } from '../regions/node.ts';
import { NO_FACTS, type UsualFacts, UsualValues } from '../regions/usual.ts';
import { LoopBuilder } from './loop-builder.ts';
import { isBallot, type LoopGraph } from './loop-graph.ts';
import type { MaskAlgebra } from './mask-algebra.ts';
import { iteration, type MaskLogic } from './mask-logic.ts';
import type { NaturalLoop } from './natural-loop.ts';

const EXEC = STATE_OFFSETS.exec;
const MAX_SKIPS = 4;
/** Rows of a loop that stores: what they held before it stands where products of matrices would. */
const MAX_KEPT_ROWS = MATRIX_ROW_COUNT;

/** A number that says whether a lane of a mask is set. */
export interface LaneTest {
  readonly mask: Node;
  readonly when: boolean;
}

/**
 * A store of lanes: at places that stay the same, `rows` hold behind an iteration what it stores; else it is
 * a node of the loop.
 */
export interface LoopStore {
  readonly node: NodeOf<'store'>;
  readonly rows: readonly number[];
  readonly isStreamed: boolean;
}

export interface LoopPlan extends UsualFacts {
  readonly loop: NaturalLoop;
  readonly graph: LoopGraph;
  /** What an iteration must compute, in order. */
  readonly nodes: readonly Node[];
  /** Nodes that change from one iteration to the next. */
  readonly variant: ReadonlySet<Node>;
  /** Registers to be stored after the last iteration, and to be handed on to the next one. */
  readonly rows: ReadonlyMap<number, Node>;
  readonly scalars: ReadonlyMap<number, Node>;
  readonly masks: ReadonlyMap<number, Node>;
  readonly tests: ReadonlyMap<number, LaneTest>;
  /** Masks of which lanes that leave the loop before others lose their bit in the next iteration of these. */
  readonly cleared: ReadonlySet<number>;
  /**
   * Masks that only take over the lanes that EXEC loses: no iteration computes them, since they are what they
   * and EXEC were before the loop, without what EXEC is behind it.
   */
  readonly leavers: ReadonlySet<number>;
  /** Whether lanes that are off when the loop is entered do anything that counts behind it. */
  readonly offHasResults: boolean;
  /** Rows that something after the loop may read. */
  readonly rowsOutside: ReadonlySet<number>;
  readonly store: LoopStore | undefined;
  /** Less, for iterations in which nothing rare happens. */
  readonly usual?: LoopPlan;
}

/** Whether instructions run with other lanes, or in other iterations, than others of the loop. */
export const changesLanes = ({ graph }: Pick<LoopPlan, 'graph'>): boolean => graph.writesExec || graph.skips.length > 0;

export interface PlanOptions {
  readonly waveSize: 32 | 64;
  readonly windowHi: number;
  readonly literals: Literals;
  readonly countsPcs: boolean;
  /** Whether the host rounds a product and a sum once. */
  readonly fused: boolean;
}

export function planLoop(loop: NaturalLoop, liveness: Liveness, options: PlanOptions): LoopPlan | undefined {
  const writesExec = loop.blocks.some(({ instructions }) => instructions.some((each) => liveness.writesExec(each)));
  const masks = new Set(writesExec ? [EXEC] : []);
  let disjoint: ReadonlySet<number> = new Set();
  for (;;) {
    const builder = new LoopBuilder(loop, masks, { ...options, writesExec, disjoint });
    const graph = builder.build();
    if (!graph || graph.skips.length > MAX_SKIPS) return undefined;
    const { newMasks } = builder;
    if (newMasks.size === 0 && disjoint.isSubsetOf(graph.disjoint))
      return new Planner(loop, { ...graph, disjoint }, builder.masks, liveness, options.waveSize).plan();
    // With all masks known, what was taken for granted may turn out not to last.
    disjoint = newMasks.size > 0 ? graph.disjoint : disjoint.intersection(graph.disjoint);
    for (const base of newMasks) masks.add(base);
  }
}

class Planner {
  readonly #loop: NaturalLoop;
  readonly #graph: LoopGraph;
  readonly #masks: MaskAlgebra;
  readonly #logic: MaskLogic;
  readonly #liveness: Liveness;
  readonly #waveSize: 32 | 64;
  readonly #tainted = new Map<Node, boolean>();

  constructor(loop: NaturalLoop, graph: LoopGraph, masks: MaskAlgebra, liveness: Liveness, waveSize: 32 | 64) {
    this.#loop = loop;
    this.#graph = graph;
    this.#masks = masks;
    this.#logic = masks.logic;
    this.#liveness = liveness;
    this.#waveSize = waveSize;
  }

  plan(): LoopPlan | undefined {
    const graph = this.#graph;
    const all = { ...graph, rows: this.#rows() };
    const isLive = ([offset]: readonly [number, Node]): boolean => this.#isLiveAt(this.#exitBlock, offset);
    const rows = new Map([...all.rows].filter(isLive));
    const masks = new Map([...all.masks].filter(isLive).filter(([base]) => !this.#takesLeavers(base)));
    const scalars = new Map<number, Node>();
    const tests = new Map<number, LaneTest>();
    for (const [offset, node] of [...all.scalars].filter(isLive)) {
      const test = laneTest(node);
      if (test) tests.set(offset, test);
      else scalars.set(offset, node);
    }
    // Beside what is read after the loop, what the next iteration needs for that.
    let nodes: readonly Node[] = [];
    for (let size = -1; size !== nodes.length; ) {
      size = nodes.length;
      nodes = this.#needed(rows, scalars, masks, tests);
      const read = new Set(nodes);
      for (const { leaf } of nodes) {
        if (leaf.kind === 'row' && all.rows.has(leaf.offset)) rows.set(leaf.offset, all.rows.get(leaf.offset)!);
        if (leaf.kind === 'scalar' && all.scalars.has(leaf.offset))
          scalars.set(leaf.offset, all.scalars.get(leaf.offset)!);
      }
      for (const [base, mask] of graph.entryMasks)
        if (read.has(mask) && all.masks.has(base)) masks.set(base, all.masks.get(base)!);
    }
    const store = graph.stored && loopStore(graph.stored, { nodes, variant: variantNodes(graph, nodes), rows });
    if (graph.stored && !store) return undefined;
    if (store?.isStreamed) {
      const own = new Set([...nodes, store.node]);
      nodes = graph.values.nodes.filter((node) => own.has(node));
    }
    const leavers = new Set([...all.masks].filter(isLive).flatMap(([base]) => (masks.has(base) ? [] : [base])));
    const cleared = new Set<number>();
    const isCarried = (offset: number): boolean => scalars.has(offset) || masks.has(this.#maskBase(offset));
    if (
      !haveFastAccess(nodes.filter(({ lane }) => lane)) ||
      !this.#isUntainted(nodes, [...rows.values(), ...scalars.values(), ...masks.values()]) ||
      !this.#isExact(masks, tests, cleared, isCarried)
    )
      return undefined;
    const rowsOutside = new Set([...rows.keys()].filter((offset) => this.#liveness.isLiveAt(this.#exitBlock, offset)));
    const offStays = !graph.writesExec || [...rowsOutside].every((at) => this.#staysOff(rows.get(at)!, at));
    // Lanes that are done are not looked at while others go on.
    if (graph.again.kind === 'lanes' && !offStays) return undefined;
    const variant = variantNodes(graph, nodes);
    const plan: LoopPlan = {
      loop: this.#loop,
      graph,
      nodes,
      variant,
      ...NO_FACTS,
      rows,
      scalars,
      masks,
      tests,
      cleared,
      leavers,
      offHasResults: !offStays || this.#offHasResults(masks, tests),
      rowsOutside,
      store,
    };
    return { ...plan, usual: usualPlan(plan) };
  }

  /** Of rows that are dead outside, lanes that leave need no value, nor those that are inactive. */
  #rows(): Map<number, Node> {
    const { rows, masks, writesExec, readsInactive } = this.#graph;
    const exec = masks.get(EXEC);
    if (!writesExec || readsInactive || !exec) return new Map(rows);
    const active = this.#logic.table(exec);
    const isLive = (offset: number): boolean => this.#liveness.isLiveAt(this.#exitBlock, offset);
    return new Map([...rows].map(([at, node]) => [at, isLive(at) ? node : this.#masks.simplified(node, active)]));
  }

  /** Whether lanes in which EXEC is not set keep what a row holds. */
  #staysOff(node: Node, offset: number): boolean {
    const off = this.#logic.not(this.#logic.table(this.#graph.exec));
    const { leaf } = this.#masks.simplified(node, off);
    return leaf.kind === 'row' && leaf.offset === offset;
  }

  /** Beside rows. */
  #offHasResults(masks: ReadonlyMap<number, Node>, tests: ReadonlyMap<number, LaneTest>): boolean {
    const { skips, counted } = this.#graph;
    const noted = [...masks.values(), ...skips.map(({ mask }) => mask), ...counted];
    const areOfExec = tests.size === 0 && noted.every((mask) => this.#isOfExec(mask));
    return !areOfExec || [...masks.keys()].some((base) => base !== EXEC);
  }

  #isOfExec(mask: Node): boolean {
    return this.#logic.implies(this.#logic.table(mask), this.#logic.table(this.#graph.exec));
  }

  /** Whether a mask and EXEC share the same lanes among them behind an iteration as before it. */
  #takesLeavers(base: number): boolean {
    const { masks, entryMasks, disjoint } = this.#graph;
    if (!disjoint.has(base)) return false;
    const [before, after] = [entryMasks, masks].map((all) =>
      this.#logic.either(this.#logic.table(all.get(EXEC)!), this.#logic.table(all.get(base)!)),
    );
    return this.#logic.equal(before, after);
  }

  get #exitBlock() {
    return this.#loop.latch[this.#loop.exit];
  }

  /** The first register of the mask that a register may be a part of. */
  #maskBase(offset: number): number {
    return this.#waveSize === 64 ? offset & ~7 : offset;
  }

  /** Whether a register is read at a place; of a mask in two registers, either of them. */
  #isLiveAt(block: Block | undefined, offset: number): boolean {
    const isPair = this.#waveSize === 64 && this.#graph.masks.has(offset);
    return this.#liveness.isLiveAt(block, offset) || (isPair && this.#liveness.isLiveAt(block, offset + 4));
  }

  #needed(
    rows: ReadonlyMap<number, Node>,
    scalars: ReadonlyMap<number, Node>,
    masks: ReadonlyMap<number, Node>,
    tests: ReadonlyMap<number, LaneTest>,
  ): Node[] {
    const { values, again, stored, exec, skips, counted } = this.#graph;
    const needed = new Set<Node>([...rows.values(), ...scalars.values(), ...masks.values(), exec, ...counted]);
    for (const { mask } of [...tests.values(), ...skips]) needed.add(mask);
    needed.add(again.kind === 'lanes' ? again.mask : again.condition);
    for (const node of values.nodes.toReversed()) {
      if (!needed.has(node) && !isAccess(node)) continue;
      // What it stores is in rows; where, is asked before the loop.
      if (node !== stored) needed.add(node);
      for (const arg of node.args) needed.add(arg);
      const { low, high, floor } = node.address ?? {};
      for (const part of [low, high, floor, node.active]) if (part) needed.add(part);
    }
    return values.nodes.filter((node) => needed.has(node));
  }

  /** Whether numbers depend on what all lanes computed. */
  #isTainted(node: Node): boolean {
    let tainted = this.#tainted.get(node);
    if (tainted === undefined) {
      tainted = isBallot(node) || (!node.lane && node.args.some((arg) => this.#isTainted(arg)));
      this.#tainted.set(node, tainted);
    }
    return tainted;
  }

  #isUntainted(nodes: readonly Node[], results: readonly Node[]): boolean {
    const { again } = this.#graph;
    const used = [...results, ...nodes.flatMap((node) => (node.lane || isAccess(node) ? node.args : []))];
    if (again.kind === 'wave') used.push(again.condition);
    return !used.some((node) => !node.lane && this.#isTainted(node));
  }

  /**
   * Whether groups of lanes can leave the loop before others do, and skipped code counts as run; finds the
   * masks that are cleared.
   */
  #isExact(
    masks: ReadonlyMap<number, Node>,
    tests: ReadonlyMap<number, LaneTest>,
    cleared: Set<number>,
    isCarried: (offset: number) => boolean,
  ): boolean {
    const graph = this.#graph;
    const logic = this.#logic;
    const { again, ambiguous, entryMasks, skips } = graph;
    const after = (base: number): bigint | undefined => {
      const mask = graph.masks.get(base) ?? entryMasks.get(base);
      return mask && logic.table(mask);
    };
    const lanesDecide = again.kind === 'lanes';
    for (const [offset, skipped] of ambiguous) {
      if (this.#liveness.isLiveAt(this.#exitBlock, offset)) return false;
      if (!isCarried(offset)) continue;
      // Where the wave may have skipped, the lanes must be done.
      if (!lanesDecide || !skipped.every((mask) => logic.implies(after(EXEC), logic.table(mask)))) return false;
    }
    if (!lanesDecide) return true;
    if (!graph.writesExec || !logic.equal(after(EXEC), logic.table(again.mask))) return false;
    if (!skips.every(({ mask }) => this.#isOfExec(mask))) return false;
    // Lanes that are done must stay as they are while others go on.
    const done = logic.not(after(EXEC));
    const next = new Map<Node, bigint>();
    for (const [base, node] of entryMasks) {
      const table = after(base);
      if (table !== undefined) next.set(node, table);
    }
    const second = iteration(next);
    const stays = (mask: Node): boolean => logic.equal(logic.table(mask), logic.table(mask, second), done);
    for (const [base, mask] of masks) {
      if (stays(mask)) continue;
      if (!logic.equal(logic.table(mask, second), 0n, done)) return false;
      cleared.add(base);
    }
    return [again.mask, ...[...tests.values()].map(({ mask }) => mask)].every(stays);
  }
}

/** Undefined where the wave loads, or places stay the same and no rows hold what they get. */
function loopStore(
  node: NodeOf<'store'>,
  { nodes, variant, rows }: Pick<LoopPlan, 'nodes' | 'variant' | 'rows'>,
): LoopStore | undefined {
  const { low, high } = node.address!;
  if (!high || rows.size > MAX_KEPT_ROWS || nodes.some((each) => isAccess(each) && !each.lane)) return undefined;
  if (variant.has(low) || variant.has(high)) return { node, rows: [], isStreamed: true };
  const data = node.args.slice(1, 1 + Math.max(1, node.leaf.sizeBytes / 4));
  const offsets = data.map((value) => [...rows].find(([, next]) => next === value)?.[0]);
  return offsets.every((offset) => offset !== undefined) ? { node, rows: offsets, isStreamed: false } : undefined;
}

function variantNodes({ rows, scalars, masks, entryMasks }: LoopGraph, nodes: readonly Node[]): Set<Node> {
  const changing = new Set<Node>([...masks.keys()].map((base) => entryMasks.get(base)!));
  const variant = new Set<Node>();
  for (const node of nodes) {
    const { leaf } = node;
    const changes =
      (leaf.kind === 'row' && rows.has(leaf.offset)) ||
      (leaf.kind === 'scalar' && scalars.has(leaf.offset)) ||
      leaf.kind === 'load' ||
      changing.has(node) ||
      node.args.some((arg) => variant.has(arg));
    if (changes) variant.add(node);
  }
  return variant;
}

/** The plan for iterations in which nothing rare happens; `known`: what some values of lanes are. */
export function usualPlan(plan: LoopPlan, known?: ReadonlyMap<Node, Node>): LoopPlan {
  const { graph } = plan;
  const usual = new UsualValues(
    graph.values,
    plan.nodes.filter(({ lane }) => lane),
    known,
  );
  const of = (node: Node): Node => usual.of(node);
  const all = (nodes: ReadonlyMap<number, Node>): ReadonlyMap<number, Node> =>
    new Map([...nodes].map(([key, node]) => [key, of(node)]));
  const { again, skips, exec, counted } = graph;
  const usualGraph: LoopGraph = {
    ...graph,
    again: again.kind === 'lanes' ? { ...again, mask: of(again.mask) } : again,
    skips: skips.map((skip) => ({ ...skip, mask: of(skip.mask) })),
    exec: of(exec),
    counted: counted.map(of),
  };
  const [rows, masks] = [all(plan.rows), all(plan.masks)];
  const tests = new Map([...plan.tests].map(([key, test]) => [key, { ...test, mask: of(test.mask) }]));
  const used = new Set([...rows.values(), ...masks.values(), usualGraph.exec, ...usualGraph.counted]);
  if (usualGraph.again.kind === 'lanes') used.add(usualGraph.again.mask);
  for (const { mask } of [...tests.values(), ...usualGraph.skips]) used.add(mask);
  for (const node of usual.lanes) for (const arg of [...usedBy(node, true), ...usedBy(node, false)]) used.add(arg);
  // What was made on the way comes from values that are there, or that the plan did not need.
  const own = new Set(plan.nodes);
  const behind = nodesBehind([...used]);
  const isThere = (node: Node): boolean => own.has(node) || usual.made.has(node) || behind.has(node);
  const nodes = [...graph.values.nodes.filter((node) => !node.lane && isThere(node)), ...usual.lanes];
  return {
    ...plan,
    graph: usualGraph,
    nodes,
    variant: variantNodes(graph, nodes),
    rows,
    masks,
    tests,
    rare: new Set([...[...plan.rare].map(of), ...usual.facts.rare]),
    numbers: new Set([...[...plan.numbers].map(of), ...usual.facts.numbers]),
  };
}

/** A comparison of a mask with zero. */
function laneTest(node: Node): LaneTest | undefined {
  let when = false;
  let condition = node;
  for (; isOp(condition, 'i1.not'); condition = condition.args[0]!) when = !when;
  const mask = condition.args[0];
  const isTest = mask && isBallot(mask) && isOp(condition, 'i64.eq') && constantOf(condition.args[1]!) === 0n;
  return isTest ? { mask: mask.args[0]!, when } : undefined;
}
