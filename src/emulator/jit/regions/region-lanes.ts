import type { Node, NodeOf } from './node.ts';
import type { UsualValues } from './usual.ts';

/** What the lanes of a region compute, and which masks are collected of it. */
export interface RegionLanes {
  /** In order. */
  readonly lanes: readonly Node[];
  readonly usual: UsualValues;
  /** Of the usual values, those that something needs: what only a rare condition chooses is left out. */
  readonly usualLanes: readonly Node[];
  readonly ballots: readonly NodeOf<'ballot'>[];
}
