/** What is known of accesses whose lanes are at equal distances, and what looks at them. */
import { assign } from '../../../wasm/expression.ts';
import type { FunctionBuilder, Local } from '../../../wasm/function.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from './access-group.ts';
import { followingSpread, isByDword, isFollowing, mayOverlap } from './following-lanes.ts';
import type { Hoisted } from './hoisted.ts';
import type { IndexedAddress, Node } from './node.ts';
import type { PermittedRanges } from './permitted-ranges.ts';

/** Sizes of accesses that are one or two vectors where the lanes follow each other. */
const VECTOR_UNITS = new Set([1, 2, 4, 8]);

/**
 * What is known of a group of accesses in the chunks that follow: its lanes' addresses are at equal
 * distances, in private memory the same.
 */
export interface LinearAccess {
  /** Linear address of the next chunk's first lane, without the accesses' offsets. */
  readonly address: Local;
  /** Bytes from lane to lane; undefined in private memory. */
  readonly stride: Local | undefined;
  /** Absent where the accesses are never made of vectors. */
  readonly vector: VectorAccess | undefined;
  readonly following: FollowingIndex | undefined;
}

/** An address that is a base and an index which grows by `unit` or not at all from lane to lane. */
export interface FollowingIndex {
  readonly indexed: IndexedAddress;
  readonly unit: number;
  /** Address of the base less that of the window, 64 bits. */
  readonly base: Local;
}

export interface VectorAccess {
  /**
   * Whether the lanes' values follow each other, or, of a load, are all the same; undefined where nothing
   * else is looked for.
   */
  readonly isVector: Local | undefined;
  /** Of loads of a dword at most: bytes of each lane's value in that of four lanes that follow each other. */
  readonly swizzle: Local | undefined;
}

export interface LinearEnvironment {
  readonly state: FunctionState;
  readonly hoisted: Hoisted;
  /** What is known of permitted ranges, of some groups. */
  readonly ranges?: PermittedRanges;
  scalar(node: Node): Local;
}

/** Values that were emitted; `release` frees them. */
export interface EmittedValues {
  argument(node: Node): LaneArgument;
  release(): void;
}

/**
 * Whether accesses touch one place after another: then the lanes, too, may be further apart than one access.
 */
const hasNeighbors = ({ offsets, unitBytes }: AccessGroup): boolean =>
  [...offsets].some((offset) => offsets.has(offset + unitBytes));

/** Undefined where accesses of a group are never made of vectors. */
export function newVector(f: FunctionBuilder, group: AccessGroup): VectorAccess | undefined {
  const { unitBytes } = group;
  if (!VECTOR_UNITS.has(unitBytes) && !mayOverlap(group)) return undefined;
  const isVector = hasNeighbors(group) || isByDword(group) ? f.local('i32') : undefined;
  return { isVector, swizzle: group.writes || mayOverlap(group) ? undefined : f.local('v128') };
}

/** Says which way vectors are made of lanes at such a distance. */
export function setVector(
  f: FunctionBuilder,
  { isVector, swizzle }: VectorAccess,
  group: AccessGroup,
  stride: Local,
): void {
  if (isVector) assign(f, isVector, isFollowing(stride, group.unitBytes, group));
  if (swizzle) assign(f, swizzle, followingSpread(stride, group.unitBytes, isVector !== undefined));
}
