/** One iteration of a loop as values, and what is known of the loop. */
import type { Decoded } from '../function/decoded.ts';
import type { Graph } from '../regions/graph.ts';
import type { Node, NodeOf } from '../regions/node.ts';

/**
 * Blocks that the wave skips when a mask is empty; code for lanes runs them all the same, with nothing
 * active.
 */
export interface Skip {
  /** Per lane. */
  readonly mask: Node;
  /** The branch that skips, whether it is taken then, and the skip that it is in. */
  readonly branch: Decoded;
  readonly isTaken: boolean;
  readonly outer: Skip | undefined;
  /** Those that run when the mask is not empty, and do not depend on a further skip. */
  readonly instructions: Decoded[];
}

/** Instructions that run together, with the same lanes. */
export interface CountedSpan {
  /** EXEC of a lane, by its number in `counted`. */
  readonly exec: number;
  readonly skip: Skip | undefined;
  readonly instructions: Decoded[];
}

/**
 * When the next iteration follows: as long as lanes are left in a mask, or by a condition of the wave.
 * `until`: a condition of the wave by which all lanes leave, of which the mask knows nothing.
 */
export type Again =
  | { readonly kind: 'lanes'; readonly mask: Node; readonly until?: Node }
  | { readonly kind: 'wave'; readonly condition: Node; readonly when: boolean; readonly until?: undefined };

/**
 * Leaves of kind `row` and `scalar` are what a register holds when the iteration begins; so is a `laneMask`
 * of a scalar register in `masks`.
 */
export interface LoopGraph {
  /** Its values, each behind those that it is computed from. */
  readonly values: Graph;
  /**
   * Registers that the loop writes, with their values after an iteration: rows of VGPRs, scalars, masks of
   * lanes.
   */
  readonly rows: ReadonlyMap<number, Node>;
  readonly scalars: ReadonlyMap<number, Node>;
  readonly masks: ReadonlyMap<number, Node>;
  /** The nodes of masks when the iteration begins, by register. */
  readonly entryMasks: ReadonlyMap<number, Node>;
  /**
   * Masks whose lanes do not go on, such as that of the lanes that have left the loop. When an iteration
   * begins it is taken for granted that they have no lane in common with EXEC: to be asked before the first.
   */
  readonly disjoint: ReadonlySet<number>;
  /**
   * Registers that depend on whether the wave skipped blocks: by register, the masks of these skips. Their
   * values are those of a wave that did not.
   */
  readonly ambiguous: ReadonlyMap<number, readonly Node[]>;
  readonly again: Again;
  /** What lanes store. */
  readonly stored: NodeOf<'store'> | undefined;
  /** EXEC of a lane when the iteration begins. */
  readonly exec: Node;
  readonly writesExec: boolean;
  /** Whether inactive lanes are read. */
  readonly readsInactive: boolean;
  readonly skips: readonly Skip[];
  /** Those of an iteration that skips all it can. */
  readonly instructions: readonly Decoded[];
  /**
   * Where lanes are counted that change in an iteration: what EXEC is, per lane, and what runs with each.
   */
  readonly counted: readonly Node[];
  readonly spans: readonly CountedSpan[];
}

/** Mask of all lanes of the wave from a value per lane. */
export const isBallot = (node: Node): node is NodeOf<'ballot'> => node.leaf.kind === 'ballot';
