/** What is known of accesses whose lanes are at equal distances, and what looks at them. */
import type { Local } from '../../../wasm/function.ts';
import type { LaneArgument } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { Hoisted } from './hoisted.ts';
import type { IndexedAddress, Node } from './node.ts';

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
  /** Bytes of each lane's value in that of four lanes that follow each other. */
  readonly swizzle: Local;
}

export interface LinearEnvironment {
  readonly state: FunctionState;
  readonly hoisted: Hoisted;
  scalar(node: Node): Local;
}

/** Values that were emitted; `release` frees them. */
export interface EmittedValues {
  argument(node: Node): LaneArgument;
  release(): void;
}
