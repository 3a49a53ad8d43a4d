/**
 * Accesses of several chunks whose addresses are looked at together, before these chunks run: where all
 * lanes' addresses follow each other, or are all the same, one check permits the accesses of all these lanes,
 * and each is made of loads or stores of vectors.
 */
import { assert } from '../../../base/errors.ts';
import {
  add64,
  and,
  assign,
  eqz,
  geU,
  gtU,
  gtU64,
  ltS,
  ltU,
  ne,
  operation,
  or,
  type Push,
  push,
  shl,
  shrU,
  sub,
  sum,
  type Term,
} from '../../../wasm/expression.ts';
import type { BlockLabel, Local } from '../../../wasm/function.ts';
import { type DwordPair, loadPair } from '../../lowering/dword-pairs.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { privateDword } from '../../lowering/private-address.ts';
import { HOLE_BYTES, MAX_LDS_BYTES, MAY_READ, MAY_WRITE } from '../../machine/layout.ts';
import { type AccessGroup, type LoadedDword, laneAccessOf } from './access-group.ts';
import { isIndexFar } from './address-checks.ts';
import {
  isByDword,
  isFollowing,
  loadDwords,
  loadFollowingPair,
  pushFollowing,
  storeFollowing,
} from './following-lanes.ts';
import { baseInWindow, baseKey } from './index-base.ts';
import { loadLanes, storeLanes } from './lane-accesses.ts';
import type { LaneStep, LaneSteps } from './lane-steps.ts';
import {
  type FollowingIndex,
  type LinearAccess,
  type LinearEnvironment,
  newVector,
  setVector,
} from './linear-access.ts';
import { type ChunkValues, LinearTerms } from './linear-terms.ts';
import type { IndexedAddress, Node } from './node.ts';
import type { PermittedRanges } from './permitted-ranges.ts';
import { pushPrivate, storePrivate } from './private-rows.ts';

/** An index that moves an address by this or more either way is not looked at here. */
const REACH_LOG2 = 29;
/**
 * Lanes further apart than this in global memory are not looked at here: first and last byte then say nothing
 * of what is between them.
 */
const MAX_STRIDE_BYTES = 128;
/** Addresses that turned out to be linear, while their range is checked. */
interface LinearOpening {
  readonly steps: LaneSteps;
  /** How many, from `firstLane` on. */
  readonly lanes: number;
  readonly firstLane: Local;
  /** What was asked of indices. */
  readonly looked: Set<string>;
  /** Where it goes that is not permitted. */
  readonly no: BlockLabel;
}

/** A word of its own that says where a group's addresses lead. */
const highWordOf = ({ parts }: AccessGroup): Node | undefined =>
  parts.indexed || !parts.high?.lane ? undefined : parts.high;

export class LinearAccesses {
  /** What the addresses of all lanes are looked at by. */
  readonly terms: LinearTerms;
  readonly #environment: LinearEnvironment;
  readonly #accesses = new Map<AccessGroup, LinearAccess>();
  readonly #bases = new Map<string, Local>();

  /** `others`: sums that are no addresses. */
  constructor(environment: LinearEnvironment, groups: Iterable<AccessGroup>, others: readonly Node[] = []) {
    this.#environment = environment;
    const { f } = environment.state;
    for (const group of groups) {
      const isPrivate = group.space === 'private';
      const vector = isPrivate ? undefined : newVector(f, group);
      this.#accesses.set(group, {
        address: f.local('i32'),
        stride: isPrivate ? undefined : f.local('i32'),
        vector,
        following: vector && !vector.isVector ? this.#followingIndex(group) : undefined,
      });
    }
    const highWords = new Set<Node>();
    const roots = [...others];
    const summands = new Set<Node>();
    for (const group of this.#accesses.keys()) {
      for (const summand of group.parts.indexed?.summands ?? []) summands.add(summand);
      roots.push(group.parts.indexed?.index ?? group.parts.low);
      const high = highWordOf(group);
      if (high && this.looksAtHigh(group)) highWords.add(high);
    }
    this.terms = new LinearTerms(environment, roots, highWords, summands);
  }

  has(group: AccessGroup): boolean {
    return this.#accesses.has(group);
  }

  /** What `emit` sets of a group. */
  of(group: AccessGroup): LinearAccess {
    return this.#accesses.get(group)!;
  }

  release(): void {
    const { f } = this.#environment.state;
    for (const { address, stride, vector } of this.#accesses.values())
      f.free(...[address, stride, vector?.isVector, vector?.swizzle].filter((local) => local !== undefined));
    f.free(...this.#bases.values());
  }

  /** Emits the base of the group's addresses, which all chunks use. */
  #followingIndex(group: AccessGroup): FollowingIndex | undefined {
    const { indexed } = group.parts;
    if (!indexed || group.space === 'lds' || !this.looksAtHigh(group)) return undefined;
    const unit = group.unitBytes / 2 ** indexed.shift;
    if (!Number.isInteger(unit)) return undefined;
    const { state, scalar } = this.#environment;
    const { f } = state;
    const key = baseKey(indexed);
    let base = this.#bases.get(key);
    if (!base) {
      base = f.local('i64');
      this.#bases.set(key, base);
      assign(f, base, baseInWindow(state, indexed, scalar));
    }
    return { indexed, unit, base };
  }

  /** Goes on to the next chunk. */
  advance(): void {
    const { f } = this.#environment.state;
    for (const { address, stride } of this.#accesses.values()) {
      f.get(address);
      if (stride) {
        f.get(stride);
        f.i32(2);
        f.op('i32.shl');
      } else f.i32(16);
      f.op('i32.add');
      f.set(address);
    }
  }

  /**
   * Looks at the accesses of `chunks` chunks from lane `firstLane` on; `at` emits values of one of them.
   * Where not all are linear, goes to `no`.
   */
  emit(chunks: number, firstLane: Local, at: ChunkValues, no: BlockLabel): void {
    const steps = this.terms.look(chunks, at, no);
    const looked = new Set<string>();
    for (const [group, access] of this.#accesses)
      this.#open(group, access, { steps, lanes: chunks * 4, firstLane, looked, no });
    steps.release();
  }

  /** The high word of a flat address also says in which space it is. */
  looksAtHigh({ space }: AccessGroup): boolean {
    return this.#environment.state.context.checksAccesses || space === 'flat';
  }

  /** Checks the range that the accesses touch. */
  #open(group: AccessGroup, access: LinearAccess, opening: LinearOpening): void {
    const { ranges } = this.#environment;
    if (ranges?.hasIndices(group)) this.#openInRange(group, access, opening, ranges);
    else if (access.following) this.#openIndexed(group, access, access.following, opening);
    else this.#openAnywhere(group, access, opening.steps.of(group.parts.low), opening);
    this.setVector(group);
  }

  /**
   * The same with the indices that are known to be permitted: what they say is looked at only where lanes
   * follow each other, and becomes known then.
   */
  #openInRange(group: AccessGroup, access: LinearAccess, opening: LinearOpening, ranges: PermittedRanges): void {
    const { state, scalar } = this.#environment;
    const { f } = state;
    const { address, stride, following } = access;
    const { alignmentBytes, unitBytes } = group;
    const { index, shift, baseLow } = group.parts.indexed!;
    const { first, step } = opening.steps.of(index);
    assign(f, address, sum(scalar(baseLow), shl(first, shift)));
    assign(f, stride!, shl(step, shift));
    // One index says it of all of them where they are in such units.
    if (2 ** shift < alignmentBytes) this.#refuseMisaligned(group, address, stride!, opening.no);
    const isRow = isFollowing(step, unitBytes / 2 ** shift, group);
    f.block(undefined, (known) => {
      push(f, and(isRow, ranges.permitsIndex(group, first)));
      f.brIf(known);
      const own = { ...opening, looked: new Set<string>() };
      if (following) this.#openIndexed(group, access, following, own);
      else {
        const [lowFirst, lowStep] = [f.local('i32'), f.local('i32')];
        assign(f, lowFirst, address);
        assign(f, lowStep, stride!);
        this.#openAnywhere(group, access, { first: lowFirst, step: lowStep }, own);
        f.free(lowFirst, lowStep);
      }
      push(f, isRow);
      f.if(undefined, () => ranges.learnIndex(group, first, address, unitBytes * (opening.lanes - 1)));
    });
  }

  /** The same of lanes at any equal distances, from `first` on. */
  #openAnywhere(
    group: AccessGroup,
    { address, stride, vector }: LinearAccess,
    { first, step }: Pick<LaneStep, 'first' | 'step'>,
    opening: LinearOpening,
  ): void {
    const { f } = this.#environment.state;
    const { lanes, no } = opening;
    assign(f, address, first);
    this.#refuseMisaligned(group, address, step, no);
    if (!stride) {
      push(f, step);
      f.brIf(no);
      this.#openPrivate(group, address, opening.firstLane, no);
      return;
    }
    assign(f, stride, step);
    const isShort = vector !== undefined && !vector.isVector;
    if (isShort) {
      push(f, eqz(isFollowing(stride, group.unitBytes, group)));
      f.brIf(no);
    }
    const span = f.local('i32');
    assign(f, span, operation('i32.mul', stride, lanes - 1));
    const anyStride = isShort ? undefined : stride;
    if (group.space === 'lds') this.#openLds(group, address, anyStride, span, no);
    else if (this.looksAtHigh(group)) {
      if (group.parts.indexed) this.#refuseOutOfReach(group.parts.indexed, opening);
      this.#openGlobal(group, { address, stride: anyStride, span }, lanes, no);
    }
    f.free(span);
  }

  /** The same where all that is to be known of the lanes is how their index grows. */
  #openIndexed(
    group: AccessGroup,
    { address, stride }: LinearAccess,
    { indexed: { index, shift, isSigned }, unit, base }: FollowingIndex,
    { steps, lanes, looked, no }: LinearOpening,
  ): void {
    const { f } = this.#environment.state;
    const { first, step } = steps.of(index);
    /** What is asked of an index is asked once for all groups that have it. */
    const refuse = (name: string, condition: Push): void => {
      const key = `${name} ${index.id}`;
      if (looked.has(key)) return;
      looked.add(key);
      push(f, condition);
      f.brIf(no);
    };
    refuse(`step ${unit} ${group.writes}`, eqz(isFollowing(step, unit, group)));
    refuse(`reach ${isSigned}`, isIndexFar(first, isSigned));
    const inWindow = f.local('i64');
    const index64 = operation(isSigned ? 'i64.extend_i32_s' : 'i64.extend_i32_u', first);
    assign(f, inWindow, add64(base, operation('i64.shl', index64, BigInt(shift))));
    push(f, gtU64(inWindow, 0xffffffffn));
    f.brIf(no);
    assign(f, address, operation('i32.wrap_i64', inWindow));
    f.free(inWindow);
    assign(f, stride!, shl(step, shift));
    this.#refuseMisaligned(group, address, stride!, no);
    this.#refuseForbidden(group, address, operation('i32.mul', stride!, lanes - 1), no);
  }

  /** Goes to `no` where a lane's address is no multiple of what an access asks for. */
  #refuseMisaligned(
    { alignmentBytes, misalignmentBytes }: AccessGroup,
    address: Local,
    step: Term,
    no: BlockLabel,
  ): void {
    if (alignmentBytes === 1) return;
    const { f } = this.#environment.state;
    const first = misalignmentBytes === 0 ? address : sum(address, misalignmentBytes);
    push(f, and(or(first, step), alignmentBytes - 1));
    f.brIf(no);
  }

  /** Goes to `no` where an index goes too far: with a short step, all are between the first and the last. */
  #refuseOutOfReach({ index, shift, isSigned }: IndexedAddress, { steps, lanes, no }: LinearOpening): void {
    const { f } = this.#environment.state;
    const reach = REACH_LOG2 - shift;
    const { first, step } = steps.of(index);
    const isFar = (lane: Term): Push => (isSigned ? shrU(sum(lane, 2 ** reach), reach + 1) : shrU(lane, reach));
    const last = sum(first, operation('i32.mul', step, lanes - 1));
    push(f, or(or(isFar(first), isFar(last)), gtU(step, MAX_STRIDE_BYTES)));
    f.brIf(no);
  }

  /** Whether lanes of a group must follow each other, or have the same address. */
  needsFollowing(group: AccessGroup): boolean {
    const { vector } = this.of(group);
    return vector !== undefined && !vector.isVector;
  }

  /** Says which way vectors are made, as the stride of the group is. */
  setVector(group: AccessGroup): void {
    const { vector, stride } = this.of(group);
    if (vector) setVector(this.#environment.state.f, vector, group, stride!);
  }

  #openLds({ max }: AccessGroup, address: Local, stride: Local | undefined, span: Local, no: BlockLabel): void {
    const { state, hoisted } = this.#environment;
    const { f } = state;
    const size = hoisted.sizeBytes('lds');
    const translate = (): void => assign(f, address, sum(address, hoisted.base('lds')));
    if (!state.context.checksAccesses) {
      translate();
      return;
    }
    // Address and stride are below a size of at most MAX_LDS_BYTES, or are refused: no sum wraps. A vector
    // load where all lanes are the same reads up to 12 bytes more (LDS_SLACK_BYTES).
    assert(max + 64 * MAX_LDS_BYTES < 2 ** 31, () => `an LDS access that ends at ${max} is small`);
    const isBeyond = stride ? or(geU(address, size), geU(stride, size)) : geU(address, size);
    push(f, or(isBeyond, gtU(sum(address, span, max), size)));
    f.brIf(no);
    translate();
  }

  #openPrivate({ max }: AccessGroup, address: Local, firstLane: Local, no: BlockLabel): void {
    const { state, hoisted } = this.#environment;
    const { f } = state;
    const isUnaligned = and(address, 3);
    if (!state.context.checksAccesses) push(f, isUnaligned);
    else push(f, or(isUnaligned, geU(address, hoisted.permittedCount('private', max))));
    f.brIf(no);
    assign(f, address, privateDword(hoisted.base('private'), address, firstLane, state.spaces.waveSize));
  }

  #openGlobal(
    group: AccessGroup,
    { address, stride, span }: { readonly address: Local; readonly stride: Local | undefined; readonly span: Local },
    lanes: number,
    no: BlockLabel,
  ): void {
    const { parts, min, max } = group;
    const { state, scalar } = this.#environment;
    const { f } = state;
    const high = parts.indexed ? parts.indexed.baseHigh : parts.high;
    assert(high, 'a global address has a high word');
    if (!high.lane) {
      push(f, ne(scalar(high), state.spaces.windowHi));
      f.brIf(no);
    }
    if (parts.indexed) {
      // The sum did not wrap: its low word is below that of the base if and only if the index is negative.
      const base = scalar(parts.indexed.baseLow);
      push(f, ne(ltU(address, base), ltS(sub(address, base), 0)));
      f.brIf(no);
    }
    assert(
      (lanes - 1) * MAX_STRIDE_BYTES + max - min < HOLE_BYTES,
      () => `${max - min} bytes of ${lanes} lanes are smaller than a hole`,
    );
    if (stride) {
      push(f, gtU(stride, MAX_STRIDE_BYTES));
      f.brIf(no);
    }
    this.#refuseForbidden(group, address, span, no);
  }

  /** `span`: from the first lane's address to the last one's. */
  #refuseForbidden({ min, max, writes }: AccessGroup, address: Local, span: Term, no: BlockLabel): void {
    const { f } = this.#environment.state;
    const permissions = and(validityOf(sum(address, min)), validityOf(sum(address, span, max - 1)));
    push(f, eqz(and(permissions, writes ? MAY_WRITE : MAY_READ)));
    f.brIf(no);
  }

  /**
   * Vectors of single dwords, each without another of its pair: which way they are loaded is asked once for
   * all of them.
   */
  load(group: AccessGroup, dwords: readonly LoadedDword[]): Local[] {
    const { f, spaces } = this.#environment.state;
    const access = this.of(group);
    const { address, vector } = access;
    const parts = dwords.map(({ load, index }) => ({
      result: f.local('v128'),
      at: load.address!.offset + index * 4,
      sizeBytes: laneAccessOf(load)!.sizeBytes,
    }));
    const following = (): void => {
      for (const { result, at, sizeBytes } of parts) {
        pushFollowing(f, address, at, sizeBytes);
        f.get(vector!.swizzle!);
        f.op('i8x16.relaxed_swizzle');
        f.set(result);
      }
    };
    const apart = (): void =>
      this.#withLanes(access, (lanes) => {
        for (const { result, at, sizeBytes } of parts) loadLanes(f, result, lanes, at, sizeBytes);
      });
    if (group.space === 'private') {
      for (const { result, at, sizeBytes } of parts) {
        pushPrivate(f, address, at, sizeBytes, spaces.waveSize);
        f.set(result);
      }
    } else this.#emitVectors(access, isByDword(group) ? () => loadDwords(f, access, parts) : following, apart);
    return parts.map(({ result }) => result);
  }

  /** Whether it is asked in each chunk how dwords of a group are loaded. */
  asksEachChunk(group: AccessGroup): boolean {
    return this.#accesses.get(group)?.vector?.isVector !== undefined;
  }

  /** Sets the vectors of two dwords of a load, of which each lane's are read at once. */
  loadPair(node: Node, group: AccessGroup, index: number, pair: DwordPair): void {
    const { f } = this.#environment.state;
    const access = this.of(group);
    const at = node.address!.offset + index * 4;
    const dwords = pair.map((result, i) => ({ result, at: at + i * 4 }));
    const following = (): void =>
      loadDwords(f, access, dwords, {
        same: () => loadPair(f, [access.address], at, pair),
        others: () => loadFollowingPair(f, access.address, at, undefined, pair),
      });
    const apart = (): void => this.#withLanes(access, (lanes) => loadPair(f, lanes, at, pair));
    this.#emitVectors(access, isByDword(group) ? () => loadDwords(f, access, dwords) : following, apart);
  }

  /** Emits an access of vectors, or, where lanes do not follow each other, that of each lane. */
  #emitVectors({ vector }: LinearAccess, following: () => void, apart: () => void): void {
    const { f } = this.#environment.state;
    if (vector?.isVector) {
      f.get(vector.isVector);
      f.if(undefined, following, apart);
    } else if (vector) following();
    else apart();
  }

  /** In the lanes of `nibble`, or in all. */
  store(node: Node, group: AccessGroup, data: readonly Local[], nibble?: Local): void {
    const { f, spaces } = this.#environment.state;
    const access = this.of(group);
    const { address } = access;
    const stored = { offset: node.address!.offset, data, sizeBytes: laneAccessOf(node)!.sizeBytes };
    const following = (): void => storeFollowing(f, address, stored);
    const apart = (): void => this.#withLanes(access, (lanes) => storeLanes(f, lanes, stored, nibble));
    if (nibble) apart();
    else if (group.space === 'private') storePrivate(f, address, stored, spaces.waveSize);
    else this.#emitVectors(access, following, apart);
  }

  /** Emits the addresses of the chunk's lanes for `body`. */
  #withLanes({ address, stride }: LinearAccess, body: (lanes: readonly Local[]) => void): void {
    const { f } = this.#environment.state;
    const lanes = [address];
    while (lanes.length < 4) {
      const lane = f.local('i32');
      f.get(lanes.at(-1)!);
      f.get(stride!);
      f.op('i32.add');
      f.set(lane);
      lanes.push(lane);
    }
    body(lanes);
    f.free(...lanes.slice(1));
  }
}
