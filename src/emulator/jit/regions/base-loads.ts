/**
 * Loads of the wave from one base with constant offsets, as those of a kernel's arguments: what is permitted
 * is asked once for all of them.
 */
import { and, assign, eq, operation, sum } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { validityOf } from '../../lowering/memory-access.ts';
import { HOLE_BYTES, MAY_READ } from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import { withoutOffset } from './address-parts.ts';
import type { Node, NodeOf } from './node.ts';

/** Loads further apart than this are checked apart: with its size none ends behind a hole. */
const RANGE_BYTES = HOLE_BYTES / 2;

/** Loads that are checked together, at least two. */
export interface BaseLoads {
  readonly base: Node;
  /** Offsets of the first byte and after the last byte that any of them touches. */
  readonly min: number;
  readonly max: number;
}

/** Those of the nodes that are checked with others, with what they are checked with. */
export function baseLoadsOf(nodes: readonly Node[]): ReadonlyMap<Node, BaseLoads> {
  const found = Map.groupBy(nodes.filter(isPlainLoad), (load) => {
    const { base, offset } = withoutOffset(load.args[0]!);
    return `${base.id} ${Math.floor(offset / RANGE_BYTES)}`;
  });
  return new Map([...found.values()].filter(({ length }) => length > 1).flatMap(together));
}

function together(loads: readonly NodeOf<'load'>[]): [Node, BaseLoads][] {
  const places = loads.map(({ args, leaf }) => ({ ...withoutOffset(args[0]!), sizeBytes: leaf.sizeBytes }));
  const min = Math.min(...places.map(({ offset }) => offset));
  const max = Math.max(...places.map(({ offset, sizeBytes }) => offset + sizeBytes));
  const shared = { base: places[0]!.base, min, max };
  return loads.map((load) => [load, shared]);
}

/**
 * Emits whether all that `loads` touch may be read; the hole that is behind all memory keeps sums of
 * permitted addresses from wrapping. `base`: 64 bits.
 */
export function emitPermits({ f, spaces }: FunctionState, base: Local, { min, max }: BaseLoads): Local {
  const [address, first, permits] = [f.local('i64'), f.local('i32'), f.local('i32')];
  assign(f, address, operation('i64.add', base, BigInt(min)));
  assign(f, first, operation('i32.wrap_i64', address));
  const isInWindow = eq(operation('i32.wrap_i64', operation('i64.shr_u', address, 32n)), spaces.windowHi);
  const permissions = and(validityOf(first), validityOf(sum(first, max - min - 1)));
  assign(f, permits, and(isInWindow, and(permissions, MAY_READ)));
  f.free(address, first);
  return permits;
}

const isPlainLoad = (node: Node): node is NodeOf<'load'> =>
  node.leaf.kind === 'load' &&
  !node.lane &&
  node.leaf.space === 'global' &&
  !node.leaf.predicated &&
  node.leaf.alignmentBytes === undefined;
