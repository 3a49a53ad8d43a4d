/**
 * The store of a loop in which each lane stores at one place, the same in all iterations, as sums do that
 * compilers may not keep in a register: only the last of them counts, and it is made behind the loop. Before
 * the loop it is found out where the lanes store: all in one allocation, in which nothing of the loop loads.
 * Where that is not so, or a group of chunks meets anything unusual, nothing of the loop has happened.
 */
import { assign, laneOf, loadFrom } from '../../../wasm/expression.ts';
import type { BlockLabel } from '../../../wasm/function.ts';
import { storeLanes } from '../regions/lane-accesses.ts';
import type { Node } from '../regions/node.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import { findStored, LaneExtents } from './lane-extents.ts';
import type { LoopStore } from './loop-plan.ts';
import { LoopValues } from './loop-values.ts';
import type { Evaluate } from './side-by-side-accesses.ts';
import { type ChunkUse, copyRows, forEachActiveChunk } from './wave-chunks.ts';

export class FinalStore {
  readonly #environment: LoopEnvironment;
  readonly #store: LoopStore;
  readonly #evaluate: Evaluate;

  /** The environment says where the allocation starts in which lanes store, once `prepare` was emitted. */
  constructor(environment: LoopEnvironment, store: LoopStore, evaluate: Evaluate) {
    this.#environment = environment;
    this.#store = store;
    this.#evaluate = evaluate;
  }

  /** Comes before the iterations; goes to `otherwise` where lanes may not store, or not so. */
  prepare(otherwise: BlockLabel): void {
    const { state, storedAllocation } = this.#environment;
    const { f, spaces } = state;
    const { low, high, floor, offset } = this.#store.node.address!;
    const { alignmentBytes = 1, sizeBytes } = this.#store.node.leaf;
    const extents = new LaneExtents(f);
    this.#forEachChunk([low, high!, ...(floor ? [floor] : [])], (at, argument, nibble) => {
      const mask = at.maskOf(nibble);
      const lanes = { low: argument(low), high: argument(high!), floor: floor && argument(floor) };
      const misalignmentBytes = offset & (alignmentBytes - 1);
      extents.note({ ...lanes, alignmentBytes, misalignmentBytes }, mask, spaces.windowHi);
      f.free(mask);
    });
    const ends = extents.end(otherwise);
    findStored(f, ends, { min: offset, max: offset + sizeBytes }, storedAllocation!, otherwise);
    f.free(ends.least, ends.most);
    copyRows(this.#environment, 'keep');
  }

  /** Gives rows back what they held before the iterations. */
  undo(): void {
    copyRows(this.#environment, 'restore');
  }

  /** Comes behind the iterations of all chunks, whose rows are in the wave. */
  finish(): void {
    const { f } = this.#environment.state;
    const { node, rows } = this.#store;
    const { low, offset } = node.address!;
    const data = rows.map(() => f.local('v128'));
    const lanes = [0, 1, 2, 3].map(() => f.local('i32'));
    this.#forEachChunk([low], (at, argument, nibble) => {
      for (const [i, local] of lanes.entries()) assign(f, local, laneOf(argument(low), i));
      for (const [i, row] of rows.entries()) assign(f, data[i]!, loadFrom('v128.load', at.pointer, row));
      storeLanes(f, lanes, { offset, data, sizeBytes: node.leaf.sizeBytes }, nibble);
    });
    f.free(...data, ...lanes);
  }

  #forEachChunk(roots: readonly Node[], use: ChunkUse): void {
    const values = new LoopValues(this.#environment.state, this.#environment.invariants);
    forEachActiveChunk(this.#environment, this.#evaluate, values, roots, use);
    values.release();
  }
}
