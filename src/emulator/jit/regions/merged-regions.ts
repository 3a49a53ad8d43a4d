/**
 * Regions that follow each other, taken as one: the first loads, the others store. Chunk by chunk that is
 * right only where no lane touches what another one stores, which `ChunkLoop.emitWhole` finds out; the
 * regions themselves are there for all other waves.
 */
import type { Decoded } from '../function/decoded.ts';
import { type AccessGroup, groupAccesses, isAccess, isAheadOfChunk, isLeftOut, laneAccessOf } from './access-group.ts';
import { isFoundLoad } from './found-loads.ts';
import type { GraphOptions } from './graph-builder.ts';
import type { Node } from './node.ts';
import type { Region } from './region.ts';
import { RegionBuilder } from './region-builder.ts';
import type { RegionLanes } from './region-lanes.ts';

interface MergedRegions {
  readonly region: Region;
  /** How many it stands for. */
  readonly count: number;
}

/** What the lanes of a region do: nothing but loads, or nothing but stores. */
function accessesOf({ graph }: Region): 'load' | 'store' | undefined {
  const kinds = new Set(graph.nodes.filter(isAccess).map(({ leaf }) => leaf.kind));
  const [kind] = kinds;
  return kinds.size === 1 && (kind === 'load' || kind === 'store') ? kind : undefined;
}

/** The first of the regions and as many behind it as can be merged with it; undefined where none can. */
export function mergeRegions(
  regions: readonly Region[],
  instructions: readonly Decoded[],
  options: GraphOptions,
): MergedRegions | undefined {
  if (regions.length < 2 || accessesOf(regions[0]!) !== 'load') return undefined;
  const stores = regions.slice(1).findIndex((region) => accessesOf(region) !== 'store');
  for (let count = stores < 0 ? regions.length : stores + 1; count > 1; count--) {
    const builder = new RegionBuilder(options, 'merged');
    const own = instructions.slice(regions[0]!.first, regions[count - 1]!.last + 1);
    if (own.every((instruction) => builder.tryAppend(instruction))) return { region: builder.finish(), count };
  }
  return undefined;
}

/** Values of merged regions above which their accesses take little of the time. */
const MAX_WHOLE_SIZE = 100;

/** How many values are computed in each chunk of a full wave: addresses are not. */
function sizeBesideAddresses(lanes: readonly Node[]): number {
  const used = new Set(lanes.flatMap(({ args }) => args));
  const needed = new Set<Node>();
  for (const node of lanes.toReversed()) {
    if (!needed.has(node) && used.has(node) && !isAccess(node)) continue;
    needed.add(node);
    for (const arg of isAccess(node) ? node.args.slice(1) : node.args) needed.add(arg);
  }
  return lanes.filter((node) => needed.has(node)).length;
}

/**
 * Whether merged regions, or a full wave, can run as `ChunkLoop.emitWhole` has them: where a chunk gives up,
 * it does so before its first store.
 */
export function mayBeWhole({ usualLanes }: RegionLanes, isFull: boolean): boolean {
  const isFit = (node: Node): boolean => {
    const access = laneAccessOf(node);
    return access !== undefined && access.space !== 'private' && access.predicate === undefined && !isLeftOut(node);
  };
  const groups = groupAccesses(usualLanes);
  const isLookedAt = (group: AccessGroup): boolean => isAheadOfChunk(group) || (isFull && isFoundLoad(group, groups));
  return (
    (isFull ? sizeBesideAddresses(usualLanes) : usualLanes.length) <= MAX_WHOLE_SIZE &&
    usualLanes.every((node) => !isAccess(node) || isFit(node)) &&
    [...groups.values()].every(isLookedAt)
  );
}
