/**
 * Accesses of a group of chunks in a loop whose lanes are side by side: before the iterations it is found out
 * how far each chunk is from the guide, which is the first active lane; then only the guide's addresses are
 * looked at. Where lanes are apart, it is found out how far each of them is.
 */
import {
  and,
  assign,
  eq,
  eqz,
  gtU,
  laneOf,
  loadFrom,
  ltS,
  operation,
  or,
  type Push,
  push,
  select,
  shl,
  shrU,
  sub,
  sum,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { BlockLabel, FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { ChunkPlace } from '../../lowering/chunk-place.ts';
import { loadPair } from '../../lowering/dword-pairs.ts';
import type { Lanes } from '../../lowering/emitter.ts';
import { NIBBLE_SPREADS } from '../../machine/layout.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import { AddressChecks } from '../regions/address-checks.ts';
import { followingSpread, loadFollowingPair, pushFollowing, storeFollowing } from '../regions/following-lanes.ts';
import type { Hoisted } from '../regions/hoisted.ts';
import { loadLanes, storeLanes } from '../regions/lane-accesses.ts';
import type { EmittedValues } from '../regions/linear-access.ts';
import { type Node, nodesBehind } from '../regions/node.ts';
import type { PermittedRanges } from '../regions/permitted-ranges.ts';
import type { Chunk, LoopEnvironment } from './chunk-state.ts';
import { extremeLane } from './extreme-lane.ts';
import { GuideChecks, type GuidePlace, MAX_SPAN_BYTES, type Rarely, spanOf } from './guide-checks.ts';
import { LoopValues } from './loop-values.ts';
import type { GuideAddress, LeftRow, SideBySide, SteadyWay } from './side-by-side.ts';

/** Lanes further from the guide are not side by side. */
const REACH_BYTES = 2 ** 28;

/** Where a group of accesses is; valid until `end`. */
interface Place extends GuidePlace {
  /** Bytes from the guide to the lanes of each chunk, or to its first one. */
  readonly chunks: readonly Local[];
  /** Where lanes are side by side: bytes of each one's value in that of four that follow each other. */
  readonly swizzle: Local | undefined;
}

/** Active lanes of a chunk, and which lane each of its lanes looks like. */
interface Active {
  readonly nibble: Push;
  readonly spread: Local;
}

interface Looked {
  /** If its lanes follow each other, and if they are at one place. */
  readonly ways: readonly { readonly first: Local; readonly isSo: Local }[];
  /** Low words, in lanes that are off as in one that is on. */
  readonly lanes: Local;
}

interface Opening {
  readonly address: GuideAddress;
  readonly guideLow: Local;
  /** Of each chunk. */
  readonly looked: readonly Looked[];
  readonly active: readonly Push[];
}

/** Evaluates values of a chunk as they are when the loop is entered. */
export type Evaluate = (place: ChunkPlace, roots: readonly Node[], values: LoopValues) => EmittedValues;

export class SideBySideAccesses {
  readonly #environment: LoopEnvironment;
  readonly #found: SideBySide;
  /** By group, one of its accesses. */
  readonly #groups: ReadonlyMap<AccessGroup, Node>;
  readonly #ranges: PermittedRanges;
  readonly #isApart: boolean;
  readonly #guide: GuideChecks;
  readonly #hoisted: Hoisted;
  /** What the guide has in rows: now, and when the loop was entered. */
  readonly registers = new Map<number, Local>();
  readonly #entries = new Map<number, Local>();
  readonly #places = new Map<AccessGroup, Place>();
  /** Active lanes of the group of chunks. */
  #bits!: Local;

  constructor(
    environment: LoopEnvironment,
    { found, isApart }: SteadyWay,
    groups: ReadonlyMap<Node, AccessGroup>,
    { ranges, hoisted }: { readonly ranges: PermittedRanges; readonly hoisted: Hoisted },
  ) {
    this.#environment = environment;
    this.#found = found;
    this.#groups = new Map([...groups].map(([access, group]) => [group, access]));
    this.#ranges = ranges;
    this.#isApart = isApart;
    this.#hoisted = hoisted;
    this.#guide = new GuideChecks(environment, ranges, new AddressChecks({ state: environment.state, hoisted }));
  }

  /**
   * Emits what comes before the iterations of a group of chunks; `bits`: its active lanes, of which there is
   * one at least. Where they are not side by side, goes to `unfit`.
   */
  begin(chunks: readonly Chunk[], bits: Local, unfit: BlockLabel, evaluate: Evaluate): void {
    const { state, invariants, entries, pointer, plan } = this.#environment;
    const { f } = state;
    this.#bits = bits;
    const guide = f.local('i32');
    assign(f, guide, sum(pointer, shl(operation('i32.ctz', bits), 2)));
    for (const offset of this.#found.registers.keys()) {
      const [now, entry] = [f.local('i32'), f.local('i32')];
      assign(f, now, loadFrom('i32.load', guide, offset));
      assign(f, entry, now);
      this.registers.set(offset, now);
      this.#entries.set(offset, entry);
    }
    f.free(guide);
    const roots = [...this.#groups.keys()].map(({ parts: { low, high } }) => [low, high!]);
    const own = [...this.#groups.values()].flatMap((access) => this.#addressNodes(access));
    const needed = nodesBehind([...roots.flat(), ...own]);
    const values = new LoopValues(state, invariants, new Map([...entries, ...this.registers]));
    for (const node of plan.nodes) if (needed.has(node) && !node.lane && plan.variant.has(node)) values.emit(node);
    const splatted = [...needed].filter(({ lane }) => lane).flatMap(({ args }) => args.filter(({ lane }) => !lane));
    for (const node of [...splatted, ...roots.flat().filter(({ lane }) => !lane)]) values.splat(node);
    const bad = f.local('i32');
    assign(f, bad, 0);
    const spreads = chunks.map((_, i) => {
      const nibble = and(shrU(bits, i * 4), 15);
      return { nibble, spread: made(f, loadFrom('v128.load', shl(nibble, 4), NIBBLE_SPREADS), 'v128') };
    });
    for (const [group, access] of this.#groups) {
      const address = this.#found.addresses.get(access)!;
      const guideLow = values.local(address.low);
      const looked = chunks.map((chunk, i) => {
        const { argument, release } = evaluate(chunk.place, [group.parts.low, group.parts.high!], values);
        const found = this.#look(group, (node) => argument(node).lanes[0]!, spreads[i]!, bad);
        release();
        return found;
      });
      const active = spreads.map(({ nibble }) => nibble);
      this.#places.set(group, this.#place(group, { address, guideLow, looked, active }, bad));
    }
    f.free(...spreads.map(({ spread }) => spread));
    values.release();
    f.get(bad);
    f.brIf(unfit);
    f.free(bad);
  }

  #addressNodes(access: Node): readonly Node[] {
    const { low, high, indices } = this.#found.addresses.get(access)!;
    return [low, high, ...indices.map(({ value }) => value)];
  }

  /** Where the first lane of a chunk is if its lanes follow each other, and if they are at one place. */
  #look({ parts, unitBytes }: AccessGroup, lanesOf: (node: Node) => Local, active: Active, bad: Local): Looked {
    const { f } = this.#environment.state;
    const spreadOf = (lanes: Term): Local => made(f, operation('i8x16.relaxed_swizzle', lanes, active.spread), 'v128');
    const high = spreadOf(lanesOf(parts.high!));
    const outside = operation('v128.any_true', operation('v128.xor', high, this.#hoisted.window));
    assign(f, bad, or(bad, select(outside, 0, active.nibble)));
    f.free(high);
    const low = lanesOf(parts.low);
    const units = operation('i32x4.mul', this.#hoisted.lanes, operation('i32x4.splat', unitBytes));
    const lanes = spreadOf(low);
    const following = spreadOf(operation('i32x4.sub', low, units));
    const ways = [following, lanes].map((spread) => {
      const first = made(f, laneOf(spread, 0));
      const others = operation('v128.any_true', operation('v128.xor', spread, operation('i32x4.splat', first)));
      return { first, isSo: made(f, select(eqz(others), 1, active.nibble)) };
    });
    f.free(following);
    return { ways, lanes };
  }

  #place(group: AccessGroup, { address, guideLow, looked, active }: Opening, bad: Local): Place {
    const { f } = this.#environment.state;
    const guide = operation('i32x4.splat', guideLow);
    const lanes = looked.map(({ lanes: low }, i) => {
      const distances = operation('i32x4.sub', low, guide);
      return made(f, operation('v128.and', distances, operation('i32x4.splat', select(-1, 0, active[i]!))), 'v128');
    });
    const ends = (['i32x4.min_s', 'i32x4.max_s'] as const).map((name) => {
      const each = made(
        f,
        lanes.reduce<Term>((a, b) => operation(name, a, b), operation('i32x4.splat', 0)),
        'v128',
      );
      const end = extremeLane(f, each, name === 'i32x4.min_s' ? ltS : (a, b) => ltS(b, a));
      f.free(each);
      return end;
    });
    const [least, most] = ends as [Local, Local];
    // Before the guide an index of a lane might be less than 0 when the guide's is not.
    const isForward = address.indices.some(({ isSigned }) => !isSigned);
    if (isForward) assign(f, bad, or(bad, ltS(least, 0)));
    if (this.#environment.waveExtents.has(group)) {
      this.#reachWave(group, guideLow, least, most);
      if (isForward) assign(f, bad, or(bad, and(eqz(this.#environment.begun), ltS(least, 0))));
    }
    const isFar = (distance: Local): Push => gtU(sum(distance, REACH_BYTES), 2 * REACH_BYTES);
    const all = made(
      f,
      lanes.reduce<Term>((a, b) => operation('v128.or', a, b), operation('i32x4.splat', 0)),
      'v128',
    );
    const isUnaligned =
      group.alignmentBytes > 1
        ? operation('v128.any_true', operation('v128.and', all, operation('i32x4.splat', group.alignmentBytes - 1)))
        : 0;
    assign(f, bad, or(bad, or(or(isFar(least), isFar(most)), isUnaligned)));
    if (this.#ranges.has(group)) {
      const except = group.writes ? undefined : this.#environment.storedAllocation;
      this.#ranges.learnGuide(group, guideLow, least, most, except);
      const isLong = gtU(sub(most, least), MAX_SPAN_BYTES);
      assign(f, bad, or(bad, and(isLong, eqz(this.#ranges.permitsGuide(group, guideLow)))));
    }
    f.free(all);
    const place = this.#isApart
      ? { chunks: lanes, swizzle: undefined }
      : this.#sideBySide(group, { address, guideLow, looked, active }, bad);
    if (!this.#isApart) f.free(...lanes);
    for (const { ways, lanes: low } of looked) f.free(low, ...ways.flatMap(({ first, isSo }) => [first, isSo]));
    const last = group.writes ? made(f, sub(guideLow, spanOf(group, { least, most }))) : undefined;
    const known = this.#guide.mayKnow(group, address) ? { first: made(f, 0), count: made(f, 0) } : undefined;
    return { address, least, most, ...place, last, known };
  }

  /** What the guide computes in each iteration, whatever is known. */
  get usual(): readonly Node[] {
    const ofAddresses = [...this.#groups].flatMap(([group, access]) => {
      const address = this.#found.addresses.get(access)!;
      const { low, high, floor, indices } = address;
      const values = indices.map(({ value }) => value);
      return this.#guide.mayKnow(group, address) ? [low, ...values] : [low, high, ...(floor ? [floor] : []), ...values];
    });
    return [...ofAddresses, ...[...this.#found.registers.values()].filter((next) => next !== undefined)];
  }

  /** Sets the least and the most distance to those of all lanes of the wave. */
  #reachWave(group: AccessGroup, guideLow: Local, least: Local, most: Local): void {
    const { state, waveExtents } = this.#environment;
    const wave = waveExtents.get(group)!;
    assign(state.f, least, sub(wave.least, guideLow));
    assign(state.f, most, sub(wave.most, guideLow));
  }

  #sideBySide(
    { unitBytes, writes }: AccessGroup,
    { guideLow, looked, active }: Opening,
    bad: Local,
  ): Pick<Place, 'chunks' | 'swizzle'> {
    const { f } = this.#environment.state;
    const [following, same] = [0, 1].map((way) =>
      made(f, looked.map(({ ways }) => ways[way]!.isSo).reduce<Term>(and, 1)),
    );
    assign(f, bad, or(bad, eqz(writes ? following! : or(following!, same!))));
    const chunks = looked.map(({ ways: [ifFollowing, ifSame] }, i) =>
      made(f, select(sub(select(ifFollowing!.first, ifSame!.first, following!), guideLow), 0, active[i]!)),
    );
    const stride = made(f, select(unitBytes, 0, following!));
    const swizzle = made(f, followingSpread(stride, unitBytes, false), 'v128');
    f.free(stride, following!, same!);
    return { chunks, swizzle };
  }

  /** Looks at what the guide's addresses are in an iteration; `rarely`: see GuideChecks. */
  check(values: LoopValues, slow: BlockLabel, rarely: Rarely): void {
    this.#guide.check(this.#places, values, slow, rarely);
  }

  /** Stores in the active lanes of chunk number `chunk`, in an iteration that was looked at. */
  store(store: Node, group: AccessGroup, chunk: number, data: readonly Local[], values: LoopValues): void {
    const { f } = this.#environment.state;
    const { address, chunks } = this.#places.get(group)!;
    const stored = { offset: store.address!.offset, data, sizeBytes: group.unitBytes };
    const nibble = made(f, and(shrU(this.#bits, chunk * 4), 15));
    const first = made(f, sum(values.local(address.low), chunks[chunk]!));
    push(f, eq(nibble, 15));
    f.if(
      undefined,
      () => storeFollowing(f, first, stored),
      () => {
        const lanes = [0, 1, 2, 3].map((lane) => made(f, sum(first, lane * group.unitBytes)));
        storeLanes(f, lanes, stored, nibble);
        f.free(...lanes);
      },
    );
    f.free(nibble, first);
  }

  /** Dwords of a load of chunk number `chunk`, in an iteration that was looked at. */
  load(load: Node, group: AccessGroup, chunk: number, values: LoopValues): Lanes {
    const { f } = this.#environment.state;
    const { address, chunks, swizzle } = this.#places.get(group)!;
    const { offset } = load.address!;
    const low = values.local(address.low);
    const pair = group.unitBytes === 8 ? ([f.local('v128'), f.local('v128')] as const) : undefined;
    const result = pair ?? ([f.local('v128')] as const);
    if (swizzle) {
      const first = made(f, sum(low, chunks[chunk]!));
      if (pair) loadFollowingPair(f, first, offset, swizzle, pair);
      else {
        pushFollowing(f, first, offset, group.unitBytes);
        f.get(swizzle);
        f.op('i8x16.relaxed_swizzle');
        f.set(result[0]);
      }
      f.free(first);
    } else {
      const all = made(f, operation('i32x4.add', operation('i32x4.splat', low), chunks[chunk]!), 'v128');
      const lanes = [0, 1, 2, 3].map((lane) => made(f, laneOf(all, lane)));
      if (pair) loadPair(f, lanes, offset, pair);
      else loadLanes(f, result[0], lanes, offset, group.unitBytes);
      f.free(all, ...lanes);
    }
    return [...result];
  }

  /** What the guide's registers get behind an iteration. */
  nextRegisters(values: LoopValues): (readonly [to: Local, from: Local])[] {
    const moves: (readonly [Local, Local])[] = [];
    for (const [offset, next] of this.#found.registers)
      if (next) moves.push([this.registers.get(offset)!, values.local(next)]);
    return moves;
  }

  /** Emits what comes behind the iterations: rows that lanes did not compute. */
  end(chunks: readonly Chunk[]): void {
    const { f } = this.#environment.state;
    // High words first: they look at the low words that were there before.
    const left = [...this.#found.left].sort((a, b) => Number(b.high !== undefined) - Number(a.high !== undefined));
    for (const chunk of chunks) for (const row of left) this.#storeLeft(row, chunk);
    for (const { chunks: distances, least, most, swizzle, last, known } of this.#places.values())
      f.free(
        ...[...distances, least, most, swizzle, last, known?.first, known?.count].filter(
          (local) => local !== undefined,
        ),
      );
    this.#places.clear();
    for (const locals of [this.registers, this.#entries]) {
      f.free(...locals.values());
      locals.clear();
    }
  }

  /** The wave added to all lanes what the guide has more than before. */
  #storeLeft({ low, high }: LeftRow, { place, lanes }: Chunk): void {
    const { state, plan } = this.#environment;
    const { f } = state;
    const { pointer, offset } = place;
    const before = (row: number): Push => loadFrom('v128.load', pointer, row + offset * 4);
    const difference = (row: number): Push => sub(this.registers.get(row)!, this.#entries.get(row)!);
    const added = made(f, operation('i32x4.splat', difference(low)), 'v128');
    const now = made(f, operation('i32x4.add', before(low), added), 'v128');
    const row = high ?? low;
    if (high !== undefined) {
      const [guideNow, guideBefore] = [this.registers, this.#entries].map((each) =>
        or64(each.get(low)!, each.get(high)!),
      );
      const word = operation(
        'i32.wrap_i64',
        operation('i64.shr_u', operation('i64.sub', guideNow!, guideBefore!), 32n),
      );
      // The carry of a lane is -1.
      const carry = operation('i32x4.lt_u', now, added);
      assign(
        f,
        now,
        operation('i32x4.sub', operation('i32x4.add', before(high), operation('i32x4.splat', word)), carry),
      );
    }
    f.get(pointer);
    push(f, operation('v128.bitselect', now, before(row), lanes.get(plan.graph.exec)![0]!));
    f.store('v128.store', row + offset * 4);
    f.free(added, now);
  }
}

function made(f: FunctionBuilder, value: Term, type: 'i32' | 'v128' = 'i32'): Local {
  const local = f.local(type);
  assign(f, local, value);
  return local;
}

const or64 = (low: Local, high: Local): Push =>
  operation('i64.or', zext64(low), operation('i64.shl', zext64(high), 32n));
