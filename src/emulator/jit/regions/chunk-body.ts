/** The values of one chunk of 4 lanes. */
import { assert } from '../../../base/errors.ts';
import type { Type } from '../../../ir/types.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { type ChunkPlace, gatherRow, laneBytesOf, laneIdsOf, rowOf, storeRow } from '../../lowering/chunk-place.ts';
import { EMISSION } from '../../lowering/emission.ts';
import { captured, type Emitter, emitLanes, type LaneArgument, type Lanes } from '../../lowering/emitter.ts';
import { emitAtomic } from '../../lowering/lane-atomics.ts';
import { emitLoad, emitStore, type LaneAccess } from '../../lowering/lane-memory.ts';
import type { FunctionState } from '../function/function-state.ts';
import { type AccessGroup, isAccess, isLeftOut, loadedDword, usedBy } from './access-group.ts';
import { addToBallot, addToMask } from './ballots.ts';
import type { BodyValues } from './body-values.ts';
import { ChunkMasks } from './chunk-masks.ts';
import { FastAtomic } from './fast-atomic.ts';
import { FastMemory } from './fast-memory.ts';
import type { FoundRange } from './found-range.ts';
import { keepsNan } from './graph.ts';
import type { Hoisted } from './hoisted.ts';
import { laneSpread, spreadLanes } from './lane-spread.ts';
import type { EmittedValues } from './linear-access.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import { lanesBehind, type Node, type NodeOf } from './node.ts';
import { type ChunkResults, type NodeResults, resultsOf } from './node-results.ts';
import type { PermittedRanges } from './permitted-ranges.ts';
import type { Region } from './region.ts';

/** What the bodies of a loop use: values that do not change from chunk to chunk. */
export interface ChunkEnvironment {
  readonly state: FunctionState;
  readonly region: Region;
  scalar(node: Node): Local;
  splat(node: Node): Lanes;
  /** Where ranges of permitted addresses are that a region has begun. */
  readonly ranges: ReadonlyMap<AccessGroup, number>;
  /** Offset in the wave state of a row that lanes read from each other. */
  gatheredRow(offset: number): number;
}

/** What bodies use that give up on what is unusual. */
export interface FastEnvironment {
  readonly hoisted: Hoisted;
  /** Accesses that have a short way. */
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  readonly ranges: PermittedRanges;
  /** Accesses that are looked at before the chunk. */
  readonly linear: LinearAccesses | undefined;
  /** Loads anywhere that were looked at before the chunk, and where they may be. */
  readonly found?: ReadonlyMap<AccessGroup, FoundRange>;
}

interface Body {
  readonly place: ChunkPlace;
  readonly e: Emitter;
  /** Mask of the active lanes; undefined where all are. */
  readonly mask: Local | undefined;
  /** The same as bits, for accesses. */
  readonly nibble: Local | undefined;
  /** Where a chunk with something unusual goes. */
  readonly slow: BlockLabel | undefined;
  /** Is told of each condition that must be false. */
  readonly noteRare?: (condition: Local) => void;
}

/** Chunks of an iteration by the values of one, at most. */
const UNROLL: readonly (readonly [size: number, chunks: number])[] = [
  [16, 4],
  [40, 2],
  [Number.POSITIVE_INFINITY, 1],
];

export class ChunkBody {
  readonly #environment: ChunkEnvironment;
  readonly #values: BodyValues;
  /** Lane values that this body needs, in order. */
  readonly #nodes: readonly Node[];
  readonly #fast: FastEnvironment | undefined;
  readonly #memory: FastMemory | undefined;
  readonly #atomic: FastAtomic | undefined;
  readonly #masks: ChunkMasks;
  readonly #lastUse = new Map<Node, Node>();
  readonly #kept: Set<Node>;
  readonly #results: ChunkResults;
  /** Nodes that are no NaN, or whose NaN another node's check finds too. */
  readonly #covered: Set<Node>;
  #lanes = new Map<Node, Lanes>();
  /** Of each load, the nodes of its dwords. */
  readonly #dwords = new Map<Node, Node[]>();
  /**
   * In a chunk with lanes off: its vector of NIBBLE_SPREADS, and what was made with it for an access that is
   * being opened.
   */
  #spread: Local | undefined;
  readonly #opening: Local[] = [];
  /**
   * Dwords of a fast body that are not loaded yet: that happens before their first use, so that few are held
   * at a time.
   */
  readonly #unloaded = new Set<Node>();

  /** With `fast`: without calls; it gives up on what is unusual. */
  constructor(environment: ChunkEnvironment, values: BodyValues, fast?: FastEnvironment) {
    this.#environment = environment;
    this.#values = values;
    this.#masks = new ChunkMasks(environment);
    const { lanes, rare, numbers, kept = [] } = values;
    this.#fast = fast;
    this.#results = resultsOf(environment.region, values, fast);
    this.#kept = new Set([...this.#results.late.keys(), ...kept]);
    this.#covered = new Set(numbers);
    const needed = new Set([...this.#kept, ...this.#results.early.keys(), ...rare]);
    for (const node of lanes.toReversed()) {
      if (!needed.has(node) && !isAccess(node)) continue;
      needed.add(node);
      for (const arg of this.#uses(node)) needed.add(arg);
    }
    this.#nodes = lanes.filter((node) => needed.has(node));
    const atomic = this.#nodes.find((node): node is NodeOf<'atomic'> => node.leaf.kind === 'atomic');
    for (const node of this.#nodes) {
      if (node.leaf.kind === 'load') this.#dwords.set(node, [node]);
      if (node.leaf.kind === 'loaded') this.#dwords.get(node.args[0]!)![node.leaf.index] = node;
      for (const arg of this.#uses(node)) {
        this.#lastUse.set(arg, node);
        // Nothing that comes after an atomic is done again.
        if (keepsNan(node) && !(atomic && node.id > atomic.id)) this.#covered.add(arg);
      }
    }
    if (fast) {
      const argument = (node: Node): LaneArgument => this.#argument(node);
      const address = (node: Node): LaneArgument => this.#addressArgument(node);
      // Lanes that are off are known in the whole chunk.
      const spread = (_: Local, emit: () => void): void => emit();
      this.#memory = new FastMemory({ ...fast, state: environment.state, argument, address, spread });
      if (atomic) this.#atomic = new FastAtomic(environment.state, atomic);
    }
  }

  #uses(node: Node): readonly Node[] {
    const group = this.#fast?.groups.get(node);
    if (group && this.#fast?.linear?.has(group)) return node.args.slice(1);
    const range = group && this.#fast?.found?.get(group);
    return range ? [group.parts.low, range.index] : usedBy(node, this.#fast !== undefined);
  }

  /** Whether a fast body may give up. */
  get mayGiveUp(): boolean {
    return this.#results.mayGiveUp;
  }

  /** About what a chunk costs: its values. */
  get size(): number {
    return this.#nodes.length;
  }

  /** How many chunks an iteration of a loop over chunks has. */
  get unrolled(): number {
    return UNROLL.find(([most]) => this.size <= most)![1];
  }

  get hasAccesses(): boolean {
    return this.#nodes.some(isAccess);
  }

  /** Emits what comes before the loop. */
  prepare(): void {
    this.#atomic?.prepare();
  }

  release(): void {
    this.#atomic?.release();
  }

  /** Emits lane values that depend on no access. */
  evaluate(place: ChunkPlace, nodes: readonly Node[]): EmittedValues {
    const { e } = this.#environment.state;
    const body = { place, e, mask: undefined, nibble: undefined, slow: undefined };
    const outer = this.#lanes;
    const own = new Map<Node, Lanes>();
    this.#lanes = own;
    for (const node of lanesBehind(nodes)) own.set(node, this.#scopedLanesOf(body, node));
    this.#masks.close();
    this.#lanes = outer;
    return {
      argument: (node) => (node.lane ? { lanes: own.get(node)! } : this.#argument(node)),
      release: () => e.f.free(...new Set([...own.values()].flat())),
    };
  }

  /**
   * The fast way. Where lanes may be off, `mask` says which are on, and `nibble` where there are accesses.
   * `use`: emits what is done with kept values.
   */
  emitFast(
    place: ChunkPlace,
    slow: BlockLabel | undefined,
    mask?: Local,
    nibble?: Local,
    use?: (argument: (node: Node) => LaneArgument) => void,
  ): void {
    const { f, context } = this.#environment.state;
    if (nibble && this.hasAccesses) {
      this.#spread = laneSpread(f, nibble);
    }
    // The sum of results is a NaN when one of them is. Infinities may make it one too, which does no harm.
    const sums = { f32x4: f.local('v128'), f64x2: f.local('v128') };
    const summed = new Set<'f32x4' | 'f64x2'>();
    const found = (width: 'f32x4' | 'f64x2', result: Local): void => {
      f.get(result);
      if (summed.has(width)) {
        f.get(sums[width]);
        f.op(`${width}.add`);
      }
      f.set(sums[width]);
      summed.add(width);
    };
    let unusual: Local | undefined;
    const noteRare = (condition: Local): void => {
      f.get(condition);
      if (unusual) {
        f.get(unusual);
        f.op('v128.or');
      } else unusual = f.local('v128');
      f.set(unusual);
    };
    const giveUp = (): void => {
      if (unusual) {
        f.get(unusual);
        if (mask) {
          f.get(mask);
          f.op('v128.and');
        }
        f.op('i32x4.bitmask');
        f.brIfRare(slow!);
        f.free(unusual);
        unusual = undefined;
      }
      for (const width of summed) {
        f.get(sums[width]);
        f.get(sums[width]);
        f.op(`${width}.ne`);
        if (mask && width === 'f32x4') {
          f.get(mask);
          f.op('v128.and');
        }
        f.op(width === 'f32x4' ? 'i32x4.bitmask' : 'i64x2.bitmask');
        f.brIfRare(slow!);
      }
      summed.clear();
    };
    for (const node of this.#nodes) {
      // What a store writes must be right; after it the chunk can still be done again, because it then stores
      // the same.
      if (node.leaf.kind === 'store' || node === this.#atomic?.node) {
        giveUp();
        for (const unloaded of this.#unloaded) this.#load(unloaded);
      }
      const deferNan = this.#covered.has(node) ? () => {} : found;
      const isLate = this.#atomic !== undefined && node.id >= this.#atomic.node.id;
      const e = isLate ? { f, context } : { f, context, deferNan };
      this.#emitNode({ place, e, mask, nibble, slow, noteRare }, node);
    }
    giveUp();
    f.free(sums.f32x4, sums.f64x2);
    if (use) {
      for (const node of this.#kept) this.#load(node);
      use((node) => this.#argument(node));
    }
    this.#commit({ place, e: { f, context }, mask, nibble, slow });
    this.#memory!.close();
    if (this.#spread) f.free(this.#spread);
    this.#spread = undefined;
    this.#fast?.linear?.advance();
  }

  emitSlow(place: ChunkPlace, nibble: Local, mask: Local): void {
    const body = { place, e: this.#environment.state.e, mask, nibble, slow: undefined };
    for (const node of this.#nodes) this.#emitNode(body, node);
    this.#commit(body);
  }

  /**
   * Part of an address, or a predicate: lanes that are off look like one that is on, so that they ask for
   * nothing else.
   */
  #addressArgument(node: Node): LaneArgument {
    if (!this.#spread || !node.lane) return this.#argument(node);
    const lanes = spreadLanes(this.#environment.state.f, this.#argument(node).lanes[0]!, this.#spread);
    this.#opening.push(lanes);
    return { lanes: [lanes] };
  }

  #argument(node: Node): LaneArgument {
    if (node.lane) return { lanes: this.#lanes.get(node)! };
    return { lanes: this.#environment.splat(node), scalar: this.#environment.scalar(node) };
  }

  /** Emits a node and gives back the locals of values that nothing needs any more. */
  #emitNode(body: Body, node: Node): void {
    const { f } = body.e;
    const uses = this.#uses(node);
    for (const arg of uses) this.#load(arg);
    if (isAccess(node) && node !== this.#atomic?.node && body.slow)
      this.#memory!.open(node, body.place, body.slow, body.mask);
    f.free(...this.#opening.splice(0));
    if (node.leaf.kind === 'load' && this.#fast && !isLeftOut(node)) {
      for (const dword of this.#dwords.get(node)!) if (dword) this.#unloaded.add(dword);
    } else if (node.leaf.kind !== 'loaded') {
      const lanes = this.#scopedLanesOf(body, node);
      this.#opening.length = 0;
      if (node.leaf.kind === 'load') this.#setLoaded(node, lanes);
      else this.#lanes.set(node, lanes);
      if (this.#values.rare.has(node)) body.noteRare?.(lanes[0]!);
    }
    const results = this.#results.early.get(node);
    if (results) this.#store(body, node, results);
    if (!this.#lastUse.has(node)) this.#release(node);
    for (const arg of new Set(uses)) if (this.#lastUse.get(arg) === node) this.#release(arg);
  }

  /** Loads a dword that is not loaded yet, and what is loaded with it. */
  #load(node: Node): void {
    if (!this.#unloaded.has(node)) return;
    const own = loadedDword(node);
    const others = this.#memory!.loadedWith(own, this.#unloaded);
    if (others.length > 0) {
      const together = [own, ...others];
      for (const [i, local] of this.#memory!.loadTogether(together).entries()) {
        const { load, index } = together[i]!;
        const loaded = this.#dwords.get(load)![index]!;
        this.#unloaded.delete(loaded);
        this.#lanes.set(loaded, [local]);
      }
      return;
    }
    const { load, index } = own;
    const nodes = this.#dwords.get(load)!;
    for (const [dword, local] of this.#memory!.load(load, index)) {
      const loaded = nodes[dword];
      if (loaded && this.#unloaded.delete(loaded)) this.#lanes.set(loaded, [local]);
      else this.#environment.state.f.free(local);
    }
  }

  #release(node: Node): void {
    if (this.#kept.has(node)) return;
    this.#unloaded.delete(node);
    const lanes = this.#lanes.get(node);
    if (!lanes) return;
    this.#environment.state.f.free(...new Set(lanes));
    this.#lanes.delete(node);
  }

  /** Without locals that were taken for them alone; what masks share is held. */
  #scopedLanesOf(body: Body, node: Node): Lanes {
    if (node.leaf.kind === 'laneMask') return [this.#masks.of(node.args[0]!, body.place)];
    return body.e.f.scoped(() => this.#lanesOf(body, node));
  }

  #lanesOf(body: Body, node: Node): Lanes {
    const { e, place } = body;
    const { f } = e;
    const { leaf, args } = node;
    const { state } = this.#environment;
    switch (leaf.kind) {
      case 'pure':
        return emitLanes(
          e,
          leaf.op,
          EMISSION[leaf.op],
          args.map((arg) => this.#argument(arg)),
        );
      case 'row':
        return [rowOf(f, place, leaf.offset)];
      case 'laneId':
        return [laneIdsOf(f, place)];
      case 'laneByte':
        state.pushLiteral(leaf.index);
        return [laneBytesOf(f, place)];
      case 'gatherRow':
        return [this.#gather(leaf.offset, this.#argument(args[0]!).lanes[0]!)];
      case 'load':
        if (body.slow && isLeftOut(node)) {
          f.v128([0, 0, 0, 0]);
          return [captured(f)];
        }
        return emitLoad(e, state.spaces, this.#access(body, node), leaf, this.#arguments(node));
      case 'store':
        if (body.slow && isLeftOut(node)) return [];
        if (body.slow && this.#memory) this.#memory.store(node, body);
        else emitStore(e, state.spaces, this.#access(body, node), leaf, this.#arguments(node));
        return [];
      case 'atomic':
        if (body.slow && this.#atomic) {
          const isRead = this.#lastUse.has(node) || this.#kept.has(node);
          return this.#atomic.emit(this.#memory!.environment, isRead, body.slow, body.nibble);
        }
        return emitAtomic(
          e,
          state.spaces,
          this.#access(body, node),
          { leaf, type: node.type as Type },
          this.#arguments(node),
        );
      default:
        assert(false, `per-lane ${leaf.kind}`);
    }
  }

  #arguments(node: Node): LaneArgument[] {
    return node.args.map((arg) => this.#argument(arg));
  }

  #access({ place, nibble }: Body, node: Node): LaneAccess {
    const { state } = this.#environment;
    const pushRecord = (): void => state.pushRecord(node.instruction);
    return { pushRecord, wave: state.wave, chunk: place.chunk, nibble: nibble! };
  }

  /** Gives the dwords of a load to their nodes; one that nothing reads has no node. */
  #setLoaded(load: Node, lanes: Lanes): void {
    const nodes = this.#dwords.get(load)!;
    lanes.forEach((local, i) => {
      const node = nodes[i];
      if (node) this.#lanes.set(node, [local]);
      else this.#environment.state.f.free(local);
    });
  }

  #gather(offset: number, index: Local): Local {
    const { f, wave, spaces } = this.#environment.state;
    const row = this.#environment.gatheredRow(offset);
    return gatherRow(f, { wave, waveSize: spaces.waveSize }, row, index);
  }

  /** Stores what is left of what the region leaves in registers and masks. */
  #commit(body: Body): void {
    for (const [node, results] of this.#results.late) {
      this.#load(node);
      this.#store(body, node, results);
    }
    for (const lanes of this.#lanes.values()) this.#environment.state.f.free(...new Set(lanes));
    this.#lanes.clear();
    this.#masks.close();
  }

  #store({ e: { f }, place, mask }: Body, node: Node, { rows, masks, ballots }: NodeResults): void {
    const { state, region } = this.#environment;
    const value = this.#argument(node).lanes[0]!;
    for (const offset of rows) {
      const isThere = node.leaf.kind === 'row' && node.leaf.offset === offset;
      if (!isThere) storeRow(f, place, offset, value, region.wholeRows.has(offset) ? undefined : mask);
    }
    for (const ballot of masks) addToMask(f, place, ballot, value, mask);
    for (const index of ballots) addToBallot(state, place, index, value, mask);
  }
}
