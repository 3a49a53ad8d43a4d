/** What all groups of a loop use, and what a chunk has while it goes through the loop. */
import type { Local } from '../../../wasm/function.ts';
import type { ChunkPlace } from '../../lowering/chunk-place.ts';
import type { Lanes } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import type { Node } from '../regions/node.ts';
import type { LoopPlan } from './loop-plan.ts';
import type { LoopValues } from './loop-values.ts';
import type { SkipNotes } from './skip-notes.ts';

/** Low words of the first and the last address of a wave's lanes when a loop is entered. */
export type WaveExtents = Map<AccessGroup, { readonly least: Local; readonly most: Local }>;

export interface LoopEnvironment {
  readonly state: FunctionState;
  readonly plan: LoopPlan;
  /** Values that do not change. */
  readonly invariants: LoopValues;
  /** Scalar registers that change, as they were before the loop. */
  readonly entries: ReadonlyMap<number, Local>;
  /** Results of all groups: masks (i64), and whether a lane of a mask is set. */
  readonly masks: ReadonlyMap<number, Local>;
  readonly tests: ReadonlyMap<number, Local>;
  /** Number of the group's first lane, and the wave's address plus 4 bytes for each lane below. */
  readonly chunk: Local;
  readonly pointer: Local;
  /** Iterations of the current group, and at most. */
  readonly count: Local;
  readonly limit: Local;
  /** Most iterations of a group so far. */
  readonly longest: Local;
  /** Whether some group has not come to the end. */
  readonly unfinished: Local;
  readonly notes: SkipNotes | undefined;
  /** Of a loop that stores: where the allocation starts to which it does. */
  readonly storedAllocation: Local | undefined;
  /** Of a loop that stores in each iteration: where the lanes of its accesses are when it is entered. */
  readonly waveExtents: WaveExtents;
  /** Whether a group of chunks has run. */
  readonly begun: Local;
  /** Where they are counted: lanes of all groups in all iterations, by their number in the graph. */
  readonly counted: readonly Local[];
}

export interface Chunk {
  readonly place: ChunkPlace;
  readonly lanes: Map<Node, Lanes>;
  /** Registers that change, by their places, and the masks of tests. */
  readonly rows: Map<number, Local>;
  readonly masks: Map<number, Local>;
  readonly tests: Map<number, Local>;
  /** What was seen of NaNs and rare conditions: 32-bit lanes, 64-bit lanes. */
  readonly nans: { readonly f32x4: Local; readonly f64x2: readonly [Local, Local] } | undefined;
}
