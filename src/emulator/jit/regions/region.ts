/** Instructions that are compiled together. */
import type { Graph } from './graph.ts';
import type { Node } from './node.ts';

/** A value of the wave that goes into one lane of a row. */
export interface LaneWrite {
  readonly offset: number;
  readonly lane: Node;
  readonly value: Node;
}

/** A condition of lanes that is expected to be the same in all of them. */
export interface LaneGuard {
  readonly condition: Node;
  readonly expected: boolean;
  /** Whether a wave has nothing to do where no lane is as expected. */
  readonly idles: boolean;
}

/**
 * Instructions that run together: uniform values first, then all lane values of one chunk after the other,
 * then what needs both.
 */
export interface Region {
  /** Its values, each behind those that it is computed from. */
  readonly graph: Graph;
  /** EXEC of everything per lane; undefined when nothing is. */
  readonly exec: Node | undefined;
  /** Places of the wave state, and rows of VGPRs, with the values that they get. */
  readonly scalars: ReadonlyMap<number, Node>;
  readonly rows: ReadonlyMap<number, Node>;
  /** Rows that may be written in lanes that are off, too: nothing reads these. */
  readonly wholeRows: ReadonlySet<number>;
  /** In order; no lane value of the region is in one of these rows. */
  readonly laneWrites: readonly LaneWrite[];
  /** Rows that are read across lanes. */
  readonly gathered: ReadonlySet<number>;
  /** Condition of the conditional branch that ends the region. */
  readonly branch: Node | undefined;
  /** Whether one of its loads must come after all stores before it. */
  readonly fences: boolean;
  /** Of a full wave (full-waves.ts), what must hold for it to be one. */
  readonly guards: readonly LaneGuard[];
  /** Numbers of the first and the last instruction in the function. */
  readonly first: number;
  readonly last: number;
}
