/**
 * What chunks leave in registers and masks, by the values that these get. Most is stored as soon as it is
 * computed, so that it has not to be held until the chunk ends. A chunk that gives up can still be done
 * again: the body that does it stores all of that anew.
 */
import type { Local } from '../../../wasm/function.ts';
import { type AccessGroup, isAccess, laneAccessOf } from './access-group.ts';
import type { BodyValues } from './body-values.ts';
import { constantOf, keepsNan } from './graph.ts';
import type { LinearAccesses } from './linear-accesses.ts';
import type { Node } from './node.ts';
import type { Region } from './region.ts';

/** What gets a value. */
export interface NodeResults {
  /** By their offset in the wave state. */
  readonly rows: number[];
  /** Masks in locals. */
  readonly masks: Local[];
  /** Masks in the wave state, by their number. */
  readonly ballots: number[];
}

export interface ChunkResults {
  /** Of values that are stored as soon as they are computed. */
  readonly early: ReadonlyMap<Node, NodeResults>;
  /** The same of those that are stored when the chunk ends. */
  readonly late: ReadonlyMap<Node, NodeResults>;
  /** Whether what is unusual may show only while a chunk runs. */
  readonly mayGiveUp: boolean;
}

/** Accesses of a fast body, and those of them that were looked at before. */
interface FastAccesses {
  readonly groups: ReadonlyMap<Node, AccessGroup>;
  readonly linear: LinearAccesses | undefined;
}

/** What is computed where it stands; what is loaded is so before its first use. */
const COMPUTED = new Set<Node['leaf']['kind']>(['pure', 'laneId', 'laneMask', 'gatherRow']);

/** `fast`: of a body that a chunk may give up. */
export function resultsOf(region: Region, values: BodyValues, fast: FastAccesses | undefined): ChunkResults {
  const [early, late] = [new Map<Node, NodeResults>(), new Map<Node, NodeResults>()];
  const of = (node: Node, isEarly: boolean): NodeResults => {
    const all = isEarly && node.lane && COMPUTED.has(node.leaf.kind) ? early : late;
    const results = all.get(node) ?? { rows: [], masks: [], ballots: [] };
    all.set(node, results);
    return results;
  };
  const mayGiveUp = fast !== undefined && isUnsure(values, fast);
  const isSure = fast !== undefined && !mayGiveUp;
  const isFree = fast ? freeRows(region, values, isSure) : () => false;
  for (const [offset, node] of values.rows) of(node, isFree(offset, node)).rows.push(offset);
  for (const [mask, node] of values.ballots) if (constantOf(node) !== 0n) of(node, false).masks.push(mask);
  // The body that does a chunk again adds to the bits that it finds.
  for (const [index, node] of values.manyBallots.entries())
    if (constantOf(node) !== 0n) of(node, isSure).ballots.push(index);
  return { early, late, mayGiveUp };
}

/** Whether a row may get its value as soon as that is computed: nothing needs what it has. */
function freeRows({ graph }: Region, { lanes }: BodyValues, isSure: boolean) {
  const read = new Set<number>();
  for (const { leaf } of graph.nodes) if ('offset' in leaf) read.add(leaf.offset);
  const places = new Map<Node, number>();
  const lastReads = new Map<number, number>();
  for (const [i, node] of lanes.entries()) {
    places.set(node, i);
    if ('offset' in node.leaf) lastReads.set(node.leaf.offset, i);
  }
  return (offset: number, node: Node): boolean =>
    !read.has(offset) || (isSure && (lastReads.get(offset) ?? 0) <= places.get(node)!);
}

function isUnsure({ lanes, rare }: BodyValues, { groups, linear }: FastAccesses): boolean {
  const isSure = (node: Node): boolean => {
    const group = groups.get(node);
    return group !== undefined && linear?.has(group) === true && !laneAccessOf(node)?.predicate;
  };
  return rare.size > 0 || lanes.some((node) => (isAccess(node) ? !isSure(node) : keepsNan(node)));
}
