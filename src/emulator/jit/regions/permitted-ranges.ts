/**
 * Where accesses of lanes are permitted, as far as code has learned: of each group of accesses one range of
 * device memory, against which four lanes' addresses are held at once, and one of indices, for lanes that
 * follow each other. What is outside of them is looked up as usual, and its allocation becomes the range.
 *
 * What was learned is used while a wave runs a function, and when it, or the next one in its place, runs that
 * again, unless memory was freed or protected meanwhile: RANGES_EPOCH says so. Freed memory is not used again
 * before every thread has left its function (see Grace).
 */
import {
  add64,
  and,
  assign,
  eqz,
  loadFrom,
  ltU,
  ne,
  operation,
  or,
  type Push,
  push,
  select,
  shrU,
  sub,
  sum,
  type Term,
  zext64,
} from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';
import { INDEX_REACH, isIndexFar } from './address-checks.ts';
import { allocationAt } from './allocation-at.ts';
import { isByDword } from './following-lanes.ts';
import { baseInWindow, baseKey } from './index-base.ts';
import type { IndexedAddress, Node } from './node.ts';

/**
 * A range is two vectors in the wave, the same in all lanes: low words of addresses at which all accesses of
 * the group are permitted, from `first` on, so many. Both are signed numbers, less by 2^31 than what they
 * stand for, since those are compared with fewer instructions. They are not in locals because the ways that
 * learn something are many and rarely taken: engines would move them about where those come together.
 */
const FIRST = 0;
const COUNT = 16;
/**
 * Behind them is a range of indices, which are added to a base that is at INDEX_BASE, less that of the
 * window.
 */
const INDEX_FIRST = 32;
const INDEX_COUNT = 36;
const INDEX_BASE = 40;
const GUIDE_FIRST = 0;
const GUIDE_COUNT = 4;

const SIGN = -0x80000000;

export class PermittedRanges {
  readonly #state: FunctionState;
  readonly #places: Map<AccessGroup, number>;

  /** `places`: where ranges are that code around this has begun. */
  constructor(state: FunctionState, places: ReadonlyMap<AccessGroup, number> = new Map()) {
    this.#state = state;
    this.#places = new Map(places);
  }

  /** Where they are in the wave. */
  get places(): ReadonlyMap<AccessGroup, number> {
    return this.#places;
  }

  /**
   * Emits what comes before a region, which knows what it has learned. Some groups get no range, and none
   * does where accesses are not checked.
   */
  beginRegion(groups: Iterable<AccessGroup>, scalar: (node: Node) => Local): void {
    if (!this.#state.context.checksAccesses) return;
    const all = new Set(groups);
    this.#begin(all, false);
    const indexed = [...all].filter((group) => this.hasIndices(group));
    for (const ofBase of Map.groupBy(indexed, ({ parts }) => baseKey(parts.indexed!)).values())
      this.#beginBase(ofBase, baseInWindow(this.#state, ofBase[0]!.parts.indexed!, scalar));
  }

  /** Emits that the indices of some groups are known only if their base is the one that it was. */
  #beginBase(groups: readonly AccessGroup[], base: Push): void {
    const { f, wave } = this.#state;
    const own = f.local('i64');
    assign(f, own, base);
    const place = this.#places.get(groups[0]!)! + INDEX_BASE;
    push(f, operation('i64.ne', own, loadFrom('i64.load', wave, place)));
    f.if(undefined, () => {
      f.get(wave);
      f.get(own);
      f.store('i64.store', place);
      for (const group of groups) this.#clearIndices(this.#places.get(group)!);
    });
    f.free(own);
  }

  #clearIndices(place: number): void {
    const { f, wave } = this.#state;
    f.get(wave);
    f.i32(0);
    f.store('i32.store', place + INDEX_COUNT);
  }

  /** Whether a range of indices is kept of a group: of what is added to its base in units of an access. */
  hasIndices(group: AccessGroup): boolean {
    const { parts, unitBytes } = group;
    return this.has(group) && parts.indexed !== undefined && !isByDword(group) && isUnit(unitBytes, parts.indexed);
  }

  /** Whether all that lanes access from an index on, which follow each other, is permitted. */
  permitsIndex(group: AccessGroup, first: Local): Push {
    const part = (at: number): Push => loadFrom('i32.load', this.#state.wave, this.#places.get(group)! + at);
    return ltU(sub(first, part(INDEX_FIRST)), part(INDEX_COUNT));
  }

  /**
   * Makes the indices of the allocation the range that is around what is accessed at `address`, of index
   * `first`, and up to `spanBytes` behind it.
   */
  learnIndex(group: AccessGroup, first: Local, address: Local, spanBytes: number): void {
    const { f, wave } = this.#state;
    const { min, max } = group;
    const { shift, isSigned } = group.parts.indexed!;
    const [touched, behind, count, last, ahead] = [
      ...[f.local('i32'), f.local('i32'), f.local('i32'), f.local('i32')],
      f.local('i64'),
    ] as const;
    assign(f, touched, sum(address, min));
    // What is permitted of one access is so of all: the size is 0 else.
    const { start, sizeBytes, release } = allocationAt(f, touched);
    assign(f, behind, sub(touched, start));
    assign(f, ahead, operation('i64.sub', zext64(sizeBytes), add64(zext64(behind), BigInt(max - min + spanBytes))));
    assign(f, behind, shrU(behind, shift));
    assign(f, count, sum(behind, operation('i32.wrap_i64', operation('i64.shr_s', ahead, BigInt(shift))), 1));
    assign(f, behind, sub(first, behind));
    assign(f, last, sum(behind, count, -1));
    const isFar = or(isIndexFar(behind, isSigned), isIndexFar(last, isSigned));
    const isRange = and(operation('i64.ge_s', ahead, 0n), eqz(isFar));
    assign(f, count, select(count, 0, isRange));
    for (const [value, at] of [
      [behind, INDEX_FIRST],
      [count, INDEX_COUNT],
    ] as const) {
      f.get(wave);
      f.get(value);
      f.store('i32.store', this.#places.get(group)! + at);
    }
    release();
    f.free(touched, behind, count, last, ahead);
  }

  /** Emits what comes before a loop: nothing is known. `always`: also where accesses are not checked. */
  beginLoop(groups: Iterable<AccessGroup>, always: boolean): void {
    if (this.#state.context.checksAccesses || always) this.#begin(new Set(groups), true);
  }

  #begin(groups: ReadonlySet<AccessGroup>, isOnce: boolean): void {
    const all = [...groups].filter(({ space }) => space === 'global' || space === 'flat');
    if (all.length === 0) return;
    const places = this.#state.rangePlaces.open(all.length, (places) => this.#clear(places), isOnce);
    for (const [i, place] of places.entries()) this.#places.set(all[i]!, place);
  }

  /** Emits that no address is in the ranges at some places. */
  #clear(places: readonly number[]): void {
    const { f, wave } = this.#state;
    const none = f.local('v128');
    assign(f, none, operation('i32x4.splat', SIGN));
    for (const place of places) {
      f.get(wave);
      f.get(none);
      f.store('v128.store', place + COUNT);
      this.#clearIndices(place);
    }
    f.free(none);
  }

  has(group: AccessGroup): boolean {
    return this.#places.has(group);
  }

  /** In which lanes an address is in the range, if the high word is that of device memory. */
  permitted(group: AccessGroup, low: Local): Push {
    const [first, count] = [FIRST, COUNT].map((part) => this.#part(group, part));
    return operation('i32x4.gt_s', count!, operation('i32x4.sub', low, first!));
  }

  #part(group: AccessGroup, part: number): Push {
    return loadFrom('v128.load', this.#state.wave, this.#places.get(group)! + part);
  }

  #setPart(group: AccessGroup, part: number, value: Term): void {
    const { f, wave } = this.#state;
    f.get(wave);
    push(f, operation('i32x4.splat', value));
    f.store('v128.store', this.#places.get(group)! + part);
  }

  /** Makes the allocation around a permitted address the range. */
  learn(group: AccessGroup, address: Local): void {
    const { start, count, release } = this.#find(group, address);
    this.#setPart(group, FIRST, sub(start, (group.min + SIGN) | 0));
    this.#setPart(group, COUNT, sub(count(), SIGN));
    release();
  }

  // The range of the guide of lanes is two numbers, as they are.

  /** Whether the guide, whose low word this is, and its lanes are in the range. */
  permitsGuide(group: AccessGroup, low: Local): Push {
    const [first, count] = [GUIDE_FIRST, GUIDE_COUNT].map((part) =>
      loadFrom('i32.load', this.#state.wave, this.#places.get(group)! + part),
    );
    return ltU(sub(low, first!), count!);
  }

  /**
   * Makes the allocation around the guide the range of lanes from `least` to `most` bytes away from it,
   * unless it is the one that starts at `except`.
   */
  learnGuide(group: AccessGroup, low: Local, least: Local, most: Local, except?: Local): void {
    const { start, count, release } = this.#find(group, low);
    const all = count(sub(most, least));
    this.#setGuide(group, GUIDE_FIRST, sub(sub(start, group.min), least));
    this.#setGuide(group, GUIDE_COUNT, except ? select(all, 0, ne(start, except)) : all);
    release();
  }

  /**
   * Sets the indices at which the guide is in the range, none where it is not there now: its low word is
   * `low` at `index`, and moves by 2^shift with it.
   */
  findIndices(
    group: AccessGroup,
    low: Local,
    { index, shift, isSigned }: Pick<IndexedAddress, 'shift' | 'isSigned'> & { readonly index: Local },
    { first, count }: { readonly first: Local; readonly count: Local },
  ): void {
    const { f, wave } = this.#state;
    const [from, to] = [f.local('i64'), f.local('i64')];
    const place = this.#places.get(group)!;
    const behindFirst = sub(low, loadFrom('i32.load', wave, place + GUIDE_FIRST));
    const beforeEnd = sub(sub(loadFrom('i32.load', wave, place + GUIDE_COUNT), 1), behindFirst);
    const now = operation(isSigned ? 'i64.extend_i32_s' : 'i64.extend_i32_u', index);
    const least = isSigned ? -BigInt(INDEX_REACH) : 0n;
    assign(f, from, operation('i64.sub', now, zext64(shrU(behindFirst, shift))));
    assign(f, from, select(from, least, operation('i64.gt_s', from, least)));
    assign(f, to, add64(now, zext64(shrU(beforeEnd, shift))));
    assign(f, to, select(to, BigInt(INDEX_REACH), operation('i64.lt_s', to, BigInt(INDEX_REACH))));
    assign(f, first, operation('i32.wrap_i64', from));
    const found = sum(operation('i32.wrap_i64', operation('i64.sub', to, from)), 1);
    assign(f, count, select(found, 0, this.permitsGuide(group, low)));
    f.free(from, to);
  }

  #setGuide(group: AccessGroup, part: number, value: Term): void {
    const { f, wave } = this.#state;
    f.get(wave);
    push(f, value);
    f.store('i32.store', this.#places.get(group)! + part);
  }

  /**
   * Looks up the allocation around an address: where it starts, and at how many addresses accesses of the
   * group are in it, with what is that many bytes behind them.
   */
  #find(group: AccessGroup, address: Local) {
    const { f } = this.#state;
    const { start, sizeBytes, permits, ...found } = allocationAt(f, address);
    const places = f.local('i64');
    const count = (behindBytes?: Term): Push => {
      // All that is accessed behind the first byte must be there, too.
      const own = BigInt(group.max - group.min - 1);
      const behind = behindBytes === undefined ? own : add64(zext64(behindBytes), own);
      assign(f, places, operation('i64.sub', zext64(sizeBytes), behind));
      const isRange = and(operation('i64.gt_s', places, 0n), permits(group));
      return select(operation('i32.wrap_i64', places), 0, isRange);
    };
    const release = (): void => {
      found.release();
      f.free(places);
    };
    return { start, count, release };
  }
}

const isUnit = (unitBytes: number, { shift }: IndexedAddress): boolean =>
  unitBytes > 0 && Number.isInteger(unitBytes / 2 ** shift);
