/** What is known of the workgroups behind the one at hand, before any code is made: see series.ts. */
import { SERIES_ROW_COUNT } from '../../machine/layout.ts';
import { type AccessGroup, groupAccesses, isAccess, isAheadOfChunk } from './access-group.ts';
import { valuesOfIndex } from './found-loads.ts';
import { operandsOf } from './guards.ts';
import { type IndexedAddress, lanesBehind, type Node } from './node.ts';
import type { Region } from './region.ts';
import type { RegionLanes } from './region-lanes.ts';
import { Growths, SeriesPlan, staysSame } from './series.ts';

/** `needed`: what the region computes. Undefined where it is not known how all of that grows. */
export function seriesPlanOf(
  region: Region,
  needed: readonly Node[],
  { usualLanes }: RegionLanes,
): SeriesPlan | undefined {
  const { graph, guards } = region;
  const all = [...new Set(groupAccesses(usualLanes).values())];
  const groups = all.filter(isAheadOfChunk);
  const found = all.filter((group) => !isAheadOfChunk(group));
  if (groups.length > SERIES_ROW_COUNT || !all.every(({ space }) => space === 'global')) return undefined;
  const uniform = needed.filter(({ phase }) => phase === 'before');
  if (!uniform.every(isSameInWaves)) return undefined;
  const places = uniform.flatMap(({ leaf, type }) => (leaf.kind === 'scalar' && type === 'i32' ? [leaf.offset] : []));
  const grown = [...guards.flatMap(operandsOf), ...groups.flatMap(sumsOf)];
  // Of several the first one: the number in the first dimension comes before those in the others.
  for (const position of [...new Set(places)].sort((a, b) => a - b)) {
    const growths = new Growths(graph, position);
    const stays = (node: Node): boolean => {
      const step = growths.of(node);
      return step !== undefined && staysSame(step);
    };
    const grows = (node: Node): boolean => growths.of(node) !== undefined;
    const isFit =
      uniform.every((node) => stays(node) || (node.type === 'i32' && grows(node))) &&
      guards.every(({ condition }) => condition.lane || stays(condition)) &&
      grown.every(grows) &&
      lanesBehind(grown).every(grows) &&
      found.every(({ parts: { indexed } }) => isSame(indexed!, stays)) &&
      groups.every(({ parts, writes }) => {
        const { indexed, low, high } = parts;
        const bases = indexed ? [indexed.baseLow, indexed.baseHigh] : [high!];
        return bases.every(stays) && !(writes && stays(indexed?.index ?? low));
      });
    if (isFit) return new SeriesPlan(position, growths, needed, grown);
  }
  return undefined;
}

/** The values whose growth tells how the addresses of a group grow. */
const sumsOf = ({ parts: { indexed, low } }: AccessGroup): readonly Node[] =>
  indexed ? [indexed.index, ...indexed.summands] : [low];

/** Whether indices and what they belong to are the same in all workgroups, but for what lanes load. */
function isSame({ index, baseLow, baseHigh }: IndexedAddress, stays: (node: Node) => boolean): boolean {
  const values = valuesOfIndex(index).filter((node) => !isAccess(node));
  const uniform = values.flatMap(({ args }) => args.filter(({ lane }) => !lane));
  return [baseLow, baseHigh, ...uniform].every(stays);
}

/** Whether a value of the wave is the same in all of its workgroup, where loads find the same. */
const isSameInWaves = ({ leaf }: Node): boolean =>
  leaf.kind !== 'rowLane' &&
  leaf.kind !== 'clock' &&
  (leaf.kind !== 'load' || (leaf.space === 'global' && !leaf.predicated));
