/**
 * How branches reach their targets: directly, or through islands. An island is a branch that stands where
 * control does not come by itself, behind an unconditional one; where there is no such place for long, a
 * branch leads around the islands.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { DWORD_BYTES, displacement, MAX_DWORDS } from './branches.ts';
import { becomesCode, type CodeItem, endsFlow, isGlued, Label, type NewCodeOf, sizeBytesOf } from './code-item.ts';

/** Islands are looked for so much nearer, because more of them may come between. */
const REACH_BYTES = MAX_DWORDS * DWORD_BYTES - 8192;
/** Islands of this much code stand together. */
const POOL_BYTES = 16384;
/** More than a target needs in any code that fits a file: each round places islands nearer to targets. */
const MAX_ROUNDS = 1000;

/** A label, or an image address in code that is not laid out. */
export type BranchTarget = Label | number;

export interface Island {
  readonly label: Label;
  readonly target: BranchTarget;
  /** The island that it goes through in its turn. */
  via: Island | undefined;
  /** Of the branch that needed it first. */
  readonly origin: number | undefined;
}

export interface Pool {
  readonly islands: readonly Island[];
  /** Control comes by: a branch around the islands stands in front. */
  readonly isPassed: boolean;
}

export interface BranchPlan {
  readonly end: number;
  /** Islands behind an item, by its index. */
  readonly pools: ReadonlyMap<number, Pool>;
  addressOf(place: BranchTarget | NewCodeOf): number;
  /** Where the branch of an index goes: its target, or an island. */
  targetOf(index: number): BranchTarget;
}

/** Where an island leads. */
export const nextPlace = ({ via, target }: Island): BranchTarget => via?.label ?? target;

/** Where every item stands when each branch reaches its target. Throws UNSUPPORTED where one cannot. */
export function planBranches(items: readonly CodeItem[], start: number): BranchPlan {
  const planner = new Planner(items, start);
  planner.assign();
  for (let round = 0; !planner.reroute(); round++) {
    if (round === MAX_ROUNDS) throw new WavewrightError('UNSUPPORTED', 'branches that do not reach their targets');
    planner.assign();
  }
  return planner;
}

interface OpenPool {
  readonly islands: Island[];
  readonly isPassed: boolean;
  readonly byTarget: Map<BranchTarget, Island>;
}

/** A place for islands, behind an item. */
interface PoolSite {
  readonly index: number;
  readonly isPassed: boolean;
}

class Planner implements BranchPlan {
  end: number;
  readonly pools = new Map<number, OpenPool>();
  readonly #items: readonly CodeItem[];
  readonly #start: number;
  /** Behind each item, before its islands. */
  readonly #ends: Float64Array;
  readonly #labels = new Map<Label, number>();
  /** Labels of original addresses. */
  readonly #origins = new Map<number, Label>();
  /** What control from outside comes to them by, where that is another place. */
  readonly #outsides = new Map<number, Label>();
  readonly #branches: number[] = [];
  readonly #vias = new Map<number, Island>();
  #sites: readonly PoolSite[] | undefined;

  constructor(items: readonly CodeItem[], start: number) {
    this.#items = items;
    this.#start = start;
    this.end = start;
    this.#ends = new Float64Array(items.length);
    for (let index = 0; index < items.length; index++) {
      const item = items[index]!;
      if (item.kind === 'branch') this.#branches.push(index);
      else if (item.kind === 'label') {
        if (item.origin !== undefined) this.#origins.set(item.origin, item.label);
        if (item.outsideOf !== undefined) this.#outsides.set(item.outsideOf, item.label);
      }
    }
  }

  addressOf(place: BranchTarget | NewCodeOf): number {
    if (typeof place === 'object' && 'origin' in place) {
      const outside = this.#outsides.get(place.origin);
      return this.addressOf(outside ?? place.origin);
    }
    const label = typeof place === 'number' ? this.#origins.get(place) : place;
    if (label === undefined) return Number(place);
    const address = this.#labels.get(label);
    if (address !== undefined) return address;
    throw new WavewrightError('INTERNAL', `label '${label.name}' stands nowhere`);
  }

  targetOf(index: number): BranchTarget {
    const via = this.#vias.get(index);
    if (via) return via.label;
    const item = this.#items[index]!;
    if (item.kind !== 'branch') throw new WavewrightError('INTERNAL', `item ${index} is no branch`);
    return item.target;
  }

  /** Gives every item and label its address. */
  assign(): void {
    let at = this.#start;
    for (let index = 0; index < this.#items.length; index++) {
      const item = this.#items[index]!;
      if (item.kind === 'label') this.#labels.set(item.label, at);
      else if (item.kind === 'align') at = alignUp(at, item.sizeBytes);
      else at += sizeBytesOf(item);
      this.#ends[index] = at;
      const pool = this.pools.get(index);
      if (!pool) continue;
      if (pool.isPassed) at += DWORD_BYTES;
      for (const { label } of pool.islands) {
        this.#labels.set(label, at);
        at += DWORD_BYTES;
      }
    }
    this.end = at;
  }

  /** Sends what does not reach its target through islands. True when there was nothing to do. */
  reroute(): boolean {
    let isDone = true;
    for (const index of this.#branches) {
      const item = this.#items[index]!;
      if (item.kind !== 'branch' || this.#reaches(this.#ends[index]!, this.targetOf(index))) continue;
      this.#vias.set(index, this.#islandFor(this.#ends[index]!, item.target, item.origin ?? item.point));
      isDone = false;
    }
    for (const [index, pool] of [...this.pools]) {
      for (const island of pool.islands) {
        if (this.#reaches(this.addressOf(island.label) + DWORD_BYTES, nextPlace(island))) continue;
        // Seen from its pool, so that the pool itself is no way on: the island would lead to itself.
        island.via = this.#islandFor(this.#ends[index]!, island.target, island.origin);
        isDone = false;
      }
    }
    return isDone;
  }

  #reaches(behind: number, target: BranchTarget): boolean {
    return displacement(behind, this.addressOf(target)) !== undefined;
  }

  /** The island nearest to the target among those in reach of a place, and not at that place. */
  #islandFor(behind: number, target: BranchTarget, origin: number | undefined): Island {
    const site = this.#siteTowards(behind, this.addressOf(target));
    let pool = this.pools.get(site.index);
    if (!pool) {
      pool = { islands: [], isPassed: site.isPassed, byTarget: new Map() };
      this.pools.set(site.index, pool);
    }
    let island = pool.byTarget.get(target);
    if (!island) {
      island = { label: new Label('island'), target, via: undefined, origin };
      pool.islands.push(island);
      pool.byTarget.set(target, island);
      this.#labels.set(island.label, this.#ends[site.index]!);
    }
    return island;
  }

  #siteTowards(behind: number, target: number): PoolSite {
    this.#sites ??= this.#findSites();
    const isForward = target > behind;
    const [low, high] = isForward ? [behind, behind + REACH_BYTES] : [behind - REACH_BYTES, behind];
    const inReach = this.#sitesBetween(
      Math.max(low, Math.min(behind, target)),
      Math.min(high, Math.max(behind, target)),
    );
    const ordered = isForward ? inReach.toReversed() : inReach;
    const site = ordered.find(({ isPassed }) => !isPassed) ?? ordered[0];
    if (site) return site;
    const what = `no place for a branch between ${hex(behind)} and ${hex(target)}`;
    throw new WavewrightError('UNSUPPORTED', what);
  }

  /** Sites whose place is between two addresses, these not included. */
  #sitesBetween(low: number, high: number): PoolSite[] {
    const sites = this.#sites!;
    let [first, last] = [0, sites.length];
    while (first < last) {
      const middle = (first + last) >>> 1;
      if (this.#ends[sites[middle]!.index]! <= low) first = middle + 1;
      else last = middle;
    }
    const found: PoolSite[] = [];
    for (let i = first; i < sites.length && this.#ends[sites[i]!.index]! < high; i++) found.push(sites[i]!);
    return found;
  }

  /**
   * One in each stretch of code, behind an unconditional branch where there is one, and none where an
   * instruction reads the address behind itself.
   */
  #findSites(): PoolSite[] {
    const sites: PoolSite[] = [];
    /** Where the stretch begins that has no site yet. */
    let stretch = this.#start + POOL_BYTES;
    for (let index = 0; index < this.#items.length; index++) {
      const item = this.#items[index]!;
      const at = this.#ends[index]!;
      if (!becomesCode(item) || isGlued(item) || at < stretch) continue;
      // What is glued together may reach into the next stretch: the place behind it is taken then.
      const isPassed = !endsFlow(item);
      if (isPassed && (at < stretch + POOL_BYTES - 64 || this.#isAddressRead(index))) continue;
      sites.push({ index, isPassed });
      stretch += (1 + Math.floor((at - stretch) / POOL_BYTES)) * POOL_BYTES;
    }
    return sites;
  }

  /** Whether the item may read the address behind it, which a label of no block stands for then. */
  #isAddressRead(index: number): boolean {
    const next = this.#items[index + 1];
    return next?.kind === 'label' && next.origin === undefined;
  }
}
