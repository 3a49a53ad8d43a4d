/**
 * Accesses of the same lanes in a region whose addresses differ by constants only: what is checked for all of
 * them at once.
 */
import type { MemorySpace } from '../../../ir/types.ts';
import { type AddressParts, lanesBehind, type Node } from './node.ts';

/**
 * Accesses further apart than this are checked apart: first and last byte of such a range are not in two
 * allocations, between which is a hole.
 */
const RANGE_BYTES = 2048;

export interface AccessGroup {
  readonly space: MemorySpace;
  readonly parts: AddressParts;
  readonly writes: boolean;
  /** Offsets of the first byte and after the last byte that any of them touches. */
  min: number;
  max: number;
  /** Whether all are of whole dwords; whether all, whether any of them is of one. */
  allWhole: boolean;
  allDwords: boolean;
  anyDword: boolean;
  /** Size of each of them; 0: they differ. */
  unitBytes: number;
  readonly offsets: Set<number>;
  /**
   * What the addresses of lanes have to be multiples of, 1: of nothing, once `misalignmentBytes` is added,
   * which is less and the same for all accesses.
   */
  alignmentBytes: number;
  readonly misalignmentBytes: number;
}

/** A dword of a load. */
export interface LoadedDword {
  readonly load: Node;
  readonly index: number;
}

/** The dword that a node stands for: of its load, or itself a load's first. */
export const loadedDword = (node: Node): LoadedDword =>
  node.leaf.kind === 'loaded' ? { load: node.args[0]!, index: node.leaf.index } : { load: node, index: 0 };

/** Whether a dword is loaded with the one beside it. */
export const isInPair = ({ load: { leaf }, index }: LoadedDword): boolean =>
  leaf.kind === 'load' && (index | 1) < leaf.dwords;

export interface Access {
  readonly space: MemorySpace;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  readonly writes: boolean;
  readonly predicate: Node | undefined;
  readonly parts: AddressParts;
}

export const isAccess = ({ leaf }: Node): boolean =>
  leaf.kind === 'load' || leaf.kind === 'store' || leaf.kind === 'atomic';

/** An access that the fast body leaves out: it gives up when a lane makes it. */
export const isLeftOut = ({ leaf }: Node): boolean => (leaf.kind === 'load' || leaf.kind === 'store') && !!leaf.isRare;

/** What the emission of a lane value reads; a fast access reads the parts of its address. */
export function usedBy(node: Node, isFast: boolean): readonly Node[] {
  const { active, address, args } = node;
  const used =
    isFast && isLeftOut(node) ? args.slice(-1) : isFast && address ? [...partsOf(address), ...args.slice(1)] : args;
  return active ? [...used, active] : used;
}

const partsOf = ({ low, high, floor, indexed }: AddressParts): readonly Node[] =>
  [low, high, floor, indexed?.baseLow, indexed?.baseHigh].filter((node) => node !== undefined);

export const addressNodes = ({ parts }: AccessGroup): readonly Node[] => partsOf(parts);

/** Values of the wave that addresses of lanes are computed from. */
export function uniformBehind({ parts }: AccessGroup): readonly Node[] {
  const { indexed } = parts;
  const ends = [...partsOf(parts), ...(indexed ? [indexed.index] : [])];
  const lanes = lanesBehind(ends);
  return [...new Set([...ends, ...lanes.flatMap(({ args }) => args)])].filter(({ lane }) => !lane);
}

/** Undefined for nodes that are no load or store of lanes. */
export function laneAccessOf({ leaf, address, args }: Node): Access | undefined {
  if (!address || (leaf.kind !== 'load' && leaf.kind !== 'store')) return undefined;
  const { space, sizeBytes, alignmentBytes = 1, predicated } = leaf;
  return {
    space,
    sizeBytes,
    alignmentBytes,
    writes: leaf.kind === 'store',
    predicate: predicated ? args.at(-1) : undefined,
    parts: address,
  };
}

/**
 * Whether the accesses of a region have a short way each; with more than one atomic, the second could not
 * give up any more.
 */
export function haveFastAccess(nodes: readonly Node[]): boolean {
  const isAtomic = ({ leaf }: Node): boolean => leaf.kind === 'atomic';
  return nodes.every((node) => !isAccess(node) || hasFastAccess(node)) && nodes.filter(isAtomic).length < 2;
}

/**
 * Whether an access of four lanes has a short way; in private memory an access must not touch two rows for a
 * dword.
 */
function hasFastAccess(node: Node): boolean {
  if (node.leaf.kind === 'atomic') return node.leaf.space !== 'private';
  const access = laneAccessOf(node);
  if (!access) return false;
  const { space, sizeBytes, parts } = access;
  return space !== 'private' || (parts.offset & 3) + Math.min(sizeBytes, 4) <= 4;
}

export function groupAccesses(nodes: readonly Node[]): Map<Node, AccessGroup> {
  const groups = new Map<string, AccessGroup>();
  const result = new Map<Node, AccessGroup>();
  for (const node of nodes) {
    const access = laneAccessOf(node);
    if (!access || isLeftOut(node)) continue;
    const { space, parts, sizeBytes, alignmentBytes, writes } = access;
    const { low, high, floor, offset } = parts;
    const range = space === 'lds' || space === 'private' ? 0 : Math.floor(offset / RANGE_BYTES);
    const misalignmentBytes = offset & (alignmentBytes - 1);
    const own = misalignmentBytes === 0 ? 0 : alignmentBytes;
    const key = [space, low.id, high?.id, floor?.id, node.active?.id, range, writes, own, misalignmentBytes].join();
    let group = groups.get(key);
    if (!group) {
      group = {
        space,
        parts,
        writes,
        min: offset,
        max: 0,
        allWhole: true,
        allDwords: true,
        anyDword: false,
        unitBytes: sizeBytes,
        offsets: new Set(),
        alignmentBytes,
        misalignmentBytes,
      };
      groups.set(key, group);
    }
    group.min = Math.min(group.min, offset);
    group.max = Math.max(group.max, offset + sizeBytes);
    group.alignmentBytes = Math.max(group.alignmentBytes, alignmentBytes);
    group.allWhole &&= sizeBytes % 4 === 0;
    group.allDwords &&= sizeBytes === 4;
    group.anyDword ||= sizeBytes === 4;
    if (group.unitBytes !== sizeBytes) group.unitBytes = 0;
    group.offsets.add(offset);
    result.set(node, group);
  }
  return result;
}

/** Addresses of more values than this are not looked at ahead of their chunk; most are sums. */
const MAX_AHEAD = 60;
const AHEAD = new Set<Node['leaf']['kind']>(['row', 'laneId', 'laneByte', 'laneMask']);

/**
 * Whether the addresses of a group can be computed apart from the chunk: integer operations, and nothing that
 * is loaded.
 */
export const isAheadOfChunk = (group: AccessGroup): boolean => areAhead(addressNodes(group));

/** The same of values. */
export function areAhead(values: readonly Node[]): boolean {
  const nodes = lanesBehind(values);
  return (
    nodes.length <= MAX_AHEAD &&
    nodes.every(({ leaf }) => (leaf.kind === 'pure' ? leaf.op.startsWith('i') : AHEAD.has(leaf.kind)))
  );
}
