/**
 * Regions in which EXEC is what it was in an earlier one: compilers put it back behind code for some lanes.
 * What lanes came through the earlier ones came through these, and need not be counted again.
 */
import { ExecFormulas } from './exec-formulas.ts';
import { type ExecRegion, execRegions, writesExec } from './exec-regions.ts';
import { endOf, lastOf, type ToolBlock, type ToolFunction } from './tool-function.ts';

/** Places where masks are the same again: what leaves the regions of one comes to others of it. */
export interface CarriedMasks {
  readonly count: number;
  /** The place that a region's lanes go to when EXEC is written behind it. */
  readonly from: ReadonlyMap<ExecRegion, number>;
  /** The place that a region's lanes come from where EXEC was written before it. */
  readonly to: ReadonlyMap<ExecRegion, number>;
}

const NOTHING: CarriedMasks = { count: 0, from: new Map(), to: new Map() };

/** In blocks of one region there is nothing to come to. */
export const carriedMasks = (fn: ToolFunction): CarriedMasks =>
  fn.blocks.some((block) => execRegions(block).length > 1) ? new CarriedMaskFinder(fn).find() : NOTHING;

/** A region in its block. */
interface Place {
  readonly region: ExecRegion;
  readonly index: number;
}

class CarriedMaskFinder {
  readonly #blocks: readonly ToolBlock[];
  readonly #start: ToolBlock | undefined;
  readonly #masks: ExecFormulas;
  readonly #before = new Map<ToolBlock, ToolBlock[]>();

  constructor({ blocks, address }: ToolFunction) {
    this.#blocks = blocks;
    this.#start = blocks.find(({ instructions }) => instructions[0]!.address === address);
    for (const block of blocks) {
      for (const to of waysOf(block)) this.#before.set(to, [...(this.#before.get(to) ?? []), block]);
    }
    this.#masks = new ExecFormulas(blocks);
  }

  find(): CarriedMasks {
    // Most masks are in one region alone.
    const targeted = this.#masksOf(this.#placesWhere(({ index }) => index > 0));
    const sources = this.#placesWhere((place) => this.#isWrittenBehind(place) && this.#isAmong(targeted, place));
    const left = this.#masksOf(sources);
    const targets = this.#placesWhere((place) => place.index > 0 && this.#isAmong(left, place));
    const ahead = new Map(sources.map((place) => [place.region, this.#targetsOf(place)]));
    const behind = new Map(targets.map((place) => [place.region, this.#sourcesOf(place)]));
    const from = new Map<ExecRegion, number>();
    const to = new Map<ExecRegion, number>();
    const seen = new Set<ExecRegion>();
    let count = 0;
    for (const { region } of sources) {
      if (seen.has(region)) continue;
      const [before, after] = [new Set([region]), new Set<ExecRegion>()];
      let isValid = true;
      // Sets grow while they are gone through.
      for (let size = -1; size < before.size + after.size; ) {
        size = before.size + after.size;
        for (const each of before) {
          const found = ahead.get(each);
          isValid &&= found !== undefined;
          for (const other of found ?? []) after.add(other);
        }
        for (const each of after) {
          const found = behind.get(each);
          isValid &&= found !== undefined;
          for (const other of found ?? []) before.add(other);
        }
      }
      for (const each of before) seen.add(each);
      if (!isValid || after.size === 0) continue;
      for (const each of before) from.set(each, count);
      for (const each of after) to.set(each, count);
      count++;
    }
    return { count, from, to };
  }

  #placesWhere(isWanted: (place: Place) => boolean): Place[] {
    return this.#blocks
      .flatMap((block) => execRegions(block).map((region, index) => ({ region, index })))
      .filter(isWanted);
  }

  #masksOf(places: readonly Place[]): ReadonlySet<string> {
    return new Set(places.map(({ region }) => this.#masks.of(region)));
  }

  #isAmong(masks: ReadonlySet<string>, { region }: Place): boolean {
    return masks.has(this.#masks.of(region));
  }

  /** Not by a call, behind which any lanes may be on. */
  #isWrittenBehind({ region }: Place): boolean {
    const last = region.instructions.at(-1)!;
    return writesExec(last) && last.step.control !== 'call';
  }

  /** The next regions with the same lanes, one of which each wave comes to; undefined where that is open. */
  #targetsOf(source: Place): ReadonlySet<ExecRegion> | undefined {
    const mask = this.#masks.of(source.region);
    const found = new Set<ExecRegion>();
    const seen = new Set<ExecRegion>();
    const work: Place[] = [];
    const goOn = ({ region, index }: Place): boolean => {
      const regions = execRegions(region.block);
      if (index + 1 < regions.length) {
        work.push({ region: regions[index + 1]!, index: index + 1 });
        return true;
      }
      const ways = waysOf(region.block);
      work.push(...ways.map((to) => ({ region: execRegions(to)[0]!, index: 0 })));
      return ways.length > 0 && staysInside(region.block);
    };
    if (!goOn(source)) return undefined;
    for (let place = work.pop(); place; place = work.pop()) {
      const { region, index } = place;
      if (seen.has(region)) continue;
      seen.add(region);
      if (this.#masks.of(region) === mask) {
        if (index === 0) return undefined;
        found.add(region);
      } else if (!goOn(place)) return undefined;
    }
    return found;
  }

  /** The last regions with the same lanes, one of which each wave comes from; undefined as above. */
  #sourcesOf(target: Place): ReadonlySet<ExecRegion> | undefined {
    const mask = this.#masks.of(target.region);
    const found = new Set<ExecRegion>();
    const seen = new Set<ExecRegion>();
    const work: Place[] = [];
    const goBack = ({ region: { block }, index }: Place): boolean => {
      if (index > 0) {
        work.push({ region: execRegions(block)[index - 1]!, index: index - 1 });
        return true;
      }
      const ways = this.#before.get(block) ?? [];
      for (const each of ways) {
        const regions = execRegions(each);
        work.push({ region: regions.at(-1)!, index: regions.length - 1 });
      }
      return ways.length > 0 && block !== this.#start && ways.every(staysInside);
    };
    goBack(target);
    for (let place = work.pop(); place; place = work.pop()) {
      const { region } = place;
      if (seen.has(region)) continue;
      seen.add(region);
      if (this.#masks.of(region) === mask) {
        if (!this.#isWrittenBehind(place)) return undefined;
        found.add(region);
      } else if (!goBack(place)) return undefined;
    }
    return found;
  }
}

const waysOf = ({ next, target }: ToolBlock): ToolBlock[] => [next, target].filter((to) => to !== undefined);

/** Whether waves go on in the function, whoever they are. */
const staysInside = (block: ToolBlock): boolean =>
  !block.leaves && lastOf(block).step.control !== 'call' && endOf(block).step.control !== 'end';
