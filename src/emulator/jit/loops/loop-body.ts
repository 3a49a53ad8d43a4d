/**
 * The code that takes a group of chunks through a loop. The fast way gives up where a result would not be
 * exact, or an access is not plain; it has changed nothing then. The slow way does everything, for one chunk.
 */
import { assert } from '../../../base/errors.ts';
import type { Type } from '../../../ir/types.ts';
import { assign, assignTogether } from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { type ChunkPlace, laneIdsOf, maskOf, rowOf } from '../../lowering/chunk-place.ts';
import { EMISSION } from '../../lowering/emission.ts';
import { captured, type Emitter, emitLanes, type LaneArgument, type Lanes, splat } from '../../lowering/emitter.ts';
import { emitLoad } from '../../lowering/lane-memory.ts';
import { type AccessGroup, groupAccesses, isAccess, isLeftOut, laneAccessOf } from '../regions/access-group.ts';
import { FastMemory } from '../regions/fast-memory.ts';
import { Hoisted } from '../regions/hoisted.ts';
import type { EmittedValues } from '../regions/linear-access.ts';
import { lanesBehind, type Node } from '../regions/node.ts';
import { PermittedRanges } from '../regions/permitted-ranges.ts';
import { isUniform } from '../regions/uniform-loads.ts';
import { ActiveSpread, activeBits } from './active-spread.ts';
import { emitResults } from './chunk-results.ts';
import type { Chunk, LoopEnvironment } from './chunk-state.ts';
import { InvariantPlaces } from './invariant-places.ts';
import { LaneCounts } from './lane-counts.ts';
import { loopResults, neededLanes, rareValues } from './loop-needs.ts';
import { LoopValues } from './loop-values.ts';
import { NanWatch } from './nan-watch.ts';
import { argumentsOf, removal, vectorArguments } from './node-arguments.ts';
import { type SteadyWay, sideBySideArguments } from './side-by-side.ts';
import { SideBySideAccesses } from './side-by-side-accesses.ts';
import { clearExec } from './wave-exit.ts';

/** What a group leaves; valid until `release`. */
export interface GroupResults {
  /** Values of the wave after the last iteration. */
  readonly scalars: ReadonlyMap<number, Local>;
}

export class LoopBody {
  readonly #environment: LoopEnvironment;
  readonly #isFast: boolean;
  readonly #nodes: readonly Node[];
  readonly #nans: NanWatch | undefined;
  readonly #memory: FastMemory | undefined;
  readonly #sideBySide: SideBySideAccesses | undefined;
  /** What the emission of a node reads. */
  readonly #uses: (node: Node) => readonly Node[];
  readonly #ranges: PermittedRanges | undefined;
  readonly #hoisted: Hoisted;
  #groups: ReadonlyMap<Node, AccessGroup> = new Map();
  readonly #lastUse = new Map<Node, Node>();
  readonly #kept = new Set<Node>();
  readonly #chunkCount: number;
  /** Uniform values that lanes use. */
  readonly #splatted: readonly Node[];
  readonly #places: InvariantPlaces | undefined;
  /** Uniform values that nothing but a rare check needs. */
  readonly #rare: ReadonlySet<Node> = new Set();
  #chunk!: Chunk;
  #uniform!: LoopValues;
  #slow: BlockLabel | undefined;
  #nibble: Local | undefined;
  readonly #spread: ActiveSpread;
  /** Where the notes on skips of this iteration are. */
  #noted: Local | undefined;
  #active: LaneCounts | undefined;

  /** `chunkCount`: chunks of a group; `steady`: of the plan, which is what it leaves for lanes. */
  constructor(environment: LoopEnvironment, chunkCount: number, isFast: boolean, steady?: SteadyWay) {
    this.#environment = environment;
    this.#chunkCount = chunkCount;
    this.#isFast = isFast;
    const { plan, state } = environment;
    this.#hoisted = new Hoisted(state.f);
    this.#spread = new ActiveSpread(state.f);
    const uses = steady ? sideBySideArguments : (node: Node) => argumentsOf(node, isFast);
    this.#uses = uses;
    const results = loopResults(plan, environment.counted.length > 0);
    this.#nodes = neededLanes(plan, results, uses);
    for (const node of results) this.#kept.add(node);
    for (const node of plan.rare) if (!plan.variant.has(node)) this.#kept.add(node);
    this.#kept.add(plan.graph.exec);
    const splatted = new Set(results);
    for (const node of this.#nodes) {
      for (const arg of uses(node)) this.#lastUse.set(arg, node);
      for (const arg of steady && isAccess(node) ? uses(node) : vectorArguments(node, isFast)) splatted.add(arg);
    }
    this.#splatted = [...splatted].filter((node) => !node.lane);
    if (!isFast) return;
    this.#groups = groupAccesses(this.#nodes);
    const known = { ranges: new PermittedRanges(state), hoisted: this.#hoisted };
    this.#ranges = known.ranges;
    this.#memory = new FastMemory({
      ...{ ...known, state, groups: this.#groups, linear: undefined },
      argument: (node) => this.#argument(node),
      address: (node) => this.#spreadArgument(node),
      spread: (active, emit) => this.#spread.within(active, emit),
    });
    if (steady) {
      this.#sideBySide = new SideBySideAccesses(environment, steady, this.#groups, known);
      this.#rare = rareValues(plan, this.#nodes, uses, [...results, ...this.#sideBySide.usual]);
    }
    this.#nans = new NanWatch(environment, this.#nodes);
    this.#places = new InvariantPlaces(environment, this.#nodes, chunkCount, this.#kept);
  }

  /** Whether something in it is for groups only of which all lanes are active when the loop is entered. */
  get needsAllLanes(): boolean {
    return !this.#sideBySide && [...this.#groups].some(([load, group]) => !load.active && !isUniform(group));
  }

  get #mayGiveUp(): boolean {
    return this.#isFast && (this.#nans!.mayGiveUp || this.#environment.plan.nodes.some(isAccess));
  }

  /** Of all accesses of lanes. */
  get accessGroups(): Iterable<AccessGroup> {
    return this.#groups.values();
  }

  /** Emits what comes before the loop over the groups. */
  prepare(): void {
    this.#hoisted.emit(this.#environment.state, new Set(this.#groups.values()));
    this.#ranges?.beginLoop(this.#groups.values(), this.#environment.storedAllocation !== undefined);
    const { state, invariants, plan } = this.#environment;
    const { f, wave } = state;
    for (const node of this.#splatted) {
      if (plan.variant.has(node)) continue;
      const place = this.#places?.get(node);
      if (place === undefined) invariants.splat(node);
      else {
        const [lanes] = splat(state.e, invariants.local(node), node.type as Type);
        f.get(wave);
        f.get(lanes!);
        f.store('v128.store', place);
        f.free(lanes!);
      }
    }
  }

  release(): void {
    this.#hoisted.release();
  }

  /**
   * Emits a group of chunks; `slow`: where it goes when it gives up. `nibble`: the active lanes, for the slow
   * way, and for lanes side by side; `unfit`: where it goes when these are not.
   */
  emit(
    slow: BlockLabel | undefined,
    nibble: Local | undefined,
    done: (results: GroupResults) => void,
    unfit?: BlockLabel,
  ): void {
    const { state, plan, count, limit, unfinished, notes } = this.#environment;
    const { f } = state;
    const { until } = plan.graph.again;
    this.#slow = slow;
    this.#nibble = nibble;
    const chunks = Array.from({ length: this.#chunkCount }, (_, i) => this.#enter(i * 4));
    const scalars = new Map<number, Local>();
    for (const offset of plan.scalars.keys()) {
      const local = f.local('i32');
      f.get(this.#environment.entries.get(offset)!);
      f.set(local);
      scalars.set(offset, local);
    }
    this.#sideBySide?.begin(chunks, nibble!, unfit!, (...asked) => this.evaluate(...asked));
    const goesOn = f.local('i32');
    assign(f, count, 0);
    this.#places?.begin();
    if (notes) {
      this.#noted = f.local('i32');
      notes.begin(this.#noted);
    }
    this.#active = new LaneCounts(state, plan.graph.counted, this.#environment.counted);
    assign(f, goesOn, 0);
    f.block(undefined, (end) => {
      f.loop(undefined, (again) => {
        this.#iteration(chunks, scalars);
        if (until) f.brIf(end);
        f.op('i32.eqz');
        f.brIf(end);
        f.get(count);
        f.get(limit);
        f.op('i32.ne');
        f.brIf(again);
      });
      assign(f, goesOn, 1);
    });
    if (until) clearExec(f, chunks, goesOn);
    if (slow) for (const chunk of chunks) this.#nans?.giveUp(chunk, slow);
    if (this.#mayGiveUp) notes?.merge(count);
    f.get(unfinished);
    f.get(goesOn);
    f.op('i32.or');
    f.set(unfinished);
    this.#sideBySide?.end(chunks);
    emitResults(this.#environment, chunks);
    this.#active.finish();
    done({ scalars });
    this.#places?.end();
    if (this.#noted) f.free(this.#noted);
    f.free(goesOn, ...scalars.values());
    for (const chunk of chunks) this.#leave(chunk);
  }

  // Before and after the iterations

  #enter(offset: number): Chunk {
    const { state, plan, chunk: lane, pointer } = this.#environment;
    const { f } = state;
    const fresh = (): Local => f.local('v128');
    const chunk: Chunk = {
      place: { chunk: lane, pointer, offset },
      lanes: new Map(),
      rows: new Map(),
      masks: new Map(),
      tests: new Map(),
      nans: this.#nans?.begin(),
    };
    this.#chunk = chunk;
    for (const at of plan.tests.keys()) chunk.tests.set(at, fresh());
    this.#uniform = this.#environment.invariants;
    for (const at of plan.rows.keys()) {
      const local = fresh();
      chunk.rows.set(at, local);
      f.get(pointer);
      f.load('v128.load', at + offset * 4);
      f.set(local);
    }
    for (const base of plan.masks.keys()) {
      const node = plan.graph.entryMasks.get(base);
      const local =
        node && plan.nodes.includes(node) ? maskOf(f, chunk.place, this.#uniform.local(node.args[0]!)) : fresh();
      chunk.masks.set(base, local);
    }
    for (const node of this.#nodes) {
      const { leaf } = node;
      if (leaf.kind === 'row' && plan.rows.has(leaf.offset)) chunk.lanes.set(node, [chunk.rows.get(leaf.offset)!]);
      else if (!plan.variant.has(node)) this.#setInvariant(node);
    }
    for (const [base, node] of plan.graph.entryMasks) {
      const local = chunk.masks.get(base);
      if (local) chunk.lanes.set(node, [local]);
    }
    for (const node of plan.rare) this.#nans?.noteFirst(node, chunk);
    return chunk;
  }

  #setInvariant(node: Node): void {
    const { state } = this.#environment;
    const { f } = state;
    const { lanes } = this.#chunk;
    const place = this.#places?.get(node);
    if (place !== undefined && node.leaf.kind === 'row') return;
    const held = this.#places?.load(this.#chunk, argumentsOf(node, this.#isFast)) ?? [];
    const result = f.scoped(() => this.#lanesOf(state.e, node));
    this.#places?.unload(this.#chunk, held);
    if (place === undefined) lanes.set(node, result);
    else {
      f.get(state.wave);
      f.get(result[0]!);
      f.store('v128.store', place + this.#chunk.place.offset * 4);
      f.free(result[0]!);
    }
  }

  /** Emits what lanes have, apart from the iterations. */
  evaluate(place: ChunkPlace, roots: readonly Node[], values: LoopValues): EmittedValues {
    const { state } = this.#environment;
    const own = new Map<Node, Lanes>();
    const [outerChunk, outerValues] = [this.#chunk, this.#uniform];
    this.#chunk = { place, lanes: own, rows: new Map(), masks: new Map(), tests: new Map(), nans: undefined };
    this.#uniform = values;
    for (const node of lanesBehind(roots))
      own.set(
        node,
        state.f.scoped(() => this.#lanesOf(state.e, node)),
      );
    [this.#chunk, this.#uniform] = [outerChunk, outerValues];
    return {
      argument: (node) => (node.lane ? { lanes: own.get(node)! } : values.argument(node)),
      release: () => state.f.free(...new Set([...own.values()].flat())),
    };
  }

  #leave({ lanes, rows, masks, tests, nans }: Chunk): void {
    const all = [...[...lanes.values()].flat(), ...rows.values(), ...masks.values(), ...tests.values()];
    this.#environment.state.f.free(...new Set([...all, ...(nans ? [nans.f32x4, ...nans.f64x2] : [])]));
  }

  // An iteration

  /** Pushes whether lanes go on, and then whether the wave leaves, where it has a condition of its own. */
  #iteration(chunks: readonly Chunk[], scalars: ReadonlyMap<number, Local>): void {
    const { state, plan, invariants, count, notes } = this.#environment;
    const { f } = state;
    const { again, skips } = plan.graph;
    const registers = new Map([...scalars, ...(this.#sideBySide?.registers ?? [])]);
    this.#uniform = new LoopValues(state, invariants, registers);
    for (const node of plan.nodes)
      if (!node.lane && plan.variant.has(node) && !this.#rare.has(node)) this.#uniform.emit(node);
    this.#sideBySide?.check(this.#uniform, this.#slow!, (use) => this.#uniform.within(this.#rare, use));
    for (const node of this.#splatted) if (plan.variant.has(node)) this.#uniform.splat(node);
    const fixed = chunks.map(({ lanes }) => new Set(lanes.keys()));
    for (const [i, chunk] of chunks.entries()) {
      this.#chunk = chunk;
      // A mask that an iteration left may be one that must be empty, or lanes may be on that were off.
      for (const node of plan.rare) if (fixed[i]!.has(node)) this.#nans?.noteFixed(node, this.#lanes(node), chunk);
      for (const node of this.#nodes)
        if (plan.variant.has(node) && !fixed[i]!.has(node)) this.#emitNode(node, fixed[i]!);
      this.#memory?.close();
    }
    skips.forEach(({ mask }, i) => {
      notes!.note(this.#noted!, i, this.#mayGiveUp, () => this.#pushAny(chunks, mask));
    });
    notes?.advance(this.#noted!);
    if (again.kind === 'wave') {
      f.get(this.#uniform.local(again.condition));
      if (!again.when) f.op('i32.eqz');
    } else {
      this.#pushAny(chunks, again.mask);
      // Shorter code than v128.any_true.
      f.op('i32x4.bitmask');
      if (again.until) f.get(this.#uniform.local(again.until));
    }
    f.get(count);
    f.i32(1);
    f.op('i32.add');
    f.set(count);
    for (const chunk of chunks) {
      this.#chunk = chunk;
      this.#active!.count((mask) => this.#lanes(mask));
      assignTogether(f, [
        ...[...chunk.rows].map(([at, local]) => [local, this.#lanes(plan.rows.get(at)!)] as const),
        ...[...chunk.masks].map(([base, local]) => [local, this.#lanes(plan.masks.get(base)!)] as const),
        ...[...chunk.tests].map(([at, local]) => [local, this.#lanes(plan.tests.get(at)!.mask)] as const),
      ]);
    }
    assignTogether(f, [
      ...[...scalars].map(([at, local]) => [local, this.#uniform.local(plan.scalars.get(at)!)] as const),
      ...(this.#sideBySide?.nextRegisters(this.#uniform) ?? []),
    ]);
    for (const [i, { lanes }] of chunks.entries()) {
      for (const [node, locals] of lanes) {
        if (fixed[i]!.has(node)) continue;
        f.free(...new Set(locals));
        lanes.delete(node);
      }
    }
    this.#uniform.release();
    this.#places?.move();
  }

  #lanes(node: Node): Local {
    return this.#argument(node).lanes[0]!;
  }

  /** Pushes the union of a mask over the chunks. */
  #pushAny(chunks: readonly Chunk[], mask: Node): void {
    const { f } = this.#environment.state;
    chunks.forEach((chunk, i) => {
      this.#chunk = chunk;
      f.get(this.#lanes(mask));
      if (i > 0) f.op('v128.or');
    });
  }

  #emitNode(node: Node, fixed: ReadonlySet<Node>): void {
    const { state } = this.#environment;
    const { f } = state;
    const { lanes } = this.#chunk;
    if (node.leaf.kind === 'store') this.#store(node);
    else if (isAccess(node) && this.#slow) this.#setLoaded(node, this.#loadFast(node, this.#slow));
    else if (node.leaf.kind !== 'loaded') {
      const emitter = this.#nans?.emitter(node, this.#chunk) ?? state.e;
      const held = this.#places?.load(this.#chunk, argumentsOf(node, this.#isFast)) ?? [];
      const result = f.scoped(() => this.#lanesOf(emitter, node));
      this.#places?.unload(this.#chunk, held);
      if (node.leaf.kind === 'load') this.#setLoaded(node, result);
      else lanes.set(node, result);
      this.#nans?.noteRare(node, result[0]!, this.#chunk);
    }
    if (!this.#lastUse.has(node)) this.#free(node, fixed);
    for (const arg of new Set(this.#uses(node))) if (this.#lastUse.get(arg) === node) this.#free(arg, fixed);
  }

  #free(node: Node, fixed: ReadonlySet<Node>): void {
    const { lanes } = this.#chunk;
    const locals = lanes.get(node);
    if (!locals || this.#kept.has(node) || fixed.has(node)) return;
    this.#environment.state.f.free(...new Set(locals));
    lanes.delete(node);
  }

  #argument(node: Node): LaneArgument {
    const lanes = this.#chunk.lanes.get(node);
    if (!node.lane) return this.#uniform.argument(node, lanes);
    assert(lanes, `node ${node.id} (${node.leaf.kind}) has lanes`);
    return { lanes };
  }

  #lanesOf(e: Emitter, node: Node): Lanes {
    const { f } = e;
    const { leaf, args } = node;
    const { state } = this.#environment;
    const { place } = this.#chunk;
    switch (leaf.kind) {
      case 'pure': {
        const [kept, removed] = removal(node);
        if (!kept || !removed)
          return emitLanes(
            e,
            leaf.op,
            EMISSION[leaf.op],
            args.map((arg) => this.#argument(arg)),
          );
        f.get(this.#lanes(kept));
        f.get(this.#lanes(removed));
        f.op('v128.andnot');
        return [captured(f)];
      }
      case 'row':
        return [rowOf(f, place, leaf.offset)];
      case 'laneId':
        return [laneIdsOf(f, place)];
      case 'laneMask':
        return [maskOf(f, place, this.#uniform.local(args[0]!))];
      case 'load': {
        const pushRecord = (): void => state.pushRecord(node.instruction);
        const nibble = node.active ? activeBits(f, this.#lanes(node.active)) : this.#nibble!;
        const access = { pushRecord, wave: state.wave, chunk: place.chunk, nibble };
        return emitLoad(
          e,
          state.spaces,
          access,
          leaf,
          args.map((arg) => this.#argument(arg)),
        );
      }
      default:
        assert(false, `per-lane ${leaf.kind} in a loop`);
    }
  }

  /** Dwords of a load on the fast way; what is in lanes that make none is not said. */
  #loadFast(node: Node, slow: BlockLabel): Lanes {
    const { f } = this.#environment.state;
    const { active } = node;
    const memory = this.#memory!;
    if (this.#sideBySide) {
      const number = this.#chunk.place.offset / 4;
      return this.#sideBySide.load(node, this.#groups.get(node)!, number, this.#uniform);
    }
    const load = (active?: Local): Lanes => {
      memory.open(node, this.#chunk.place, slow, active);
      this.#spread.close();
      if (!isLeftOut(node)) return f.scoped(() => memory.loadAll(node));
      f.v128([0, 0, 0, 0]);
      return [captured(f)];
    };
    if (!active) return load();
    const group = this.#groups.get(node);
    if (group && this.#ranges!.has(group) && !laneAccessOf(node)!.predicate) return load(this.#lanes(active));
    let lanes: Lanes = [];
    const bits = activeBits(f, this.#lanes(active));
    f.get(bits);
    f.if(undefined, () => this.#spread.within(this.#lanes(active), () => (lanes = load())));
    f.free(bits);
    return lanes;
  }

  /** Lanes are side by side. */
  #store(node: Node): void {
    const values = sideBySideArguments(node);
    const held = this.#places?.load(this.#chunk, values) ?? [];
    const data = values.map((value) => this.#lanes(value));
    this.#sideBySide!.store(node, this.#groups.get(node)!, this.#chunk.place.offset / 4, data, this.#uniform);
    this.#places?.unload(this.#chunk, held);
  }

  /** Lanes that make no access look like one that does, so that they ask for nothing else. */
  #spreadArgument(node: Node): LaneArgument {
    const argument = this.#argument(node);
    return node.lane ? { lanes: argument.lanes.map((lanes) => this.#spread.of(lanes)) } : argument;
  }

  #setLoaded(load: Node, lanes: Lanes): void {
    lanes.forEach((local, i) => {
      const node =
        i === 0
          ? load
          : this.#nodes.find(({ leaf, args }) => leaf.kind === 'loaded' && leaf.index === i && args[0] === load);
      if (node) this.#chunk.lanes.set(node, [local]);
      else this.#environment.state.f.free(local);
    });
  }
}
