/**
 * The store of a loop in which lanes store to new places in each iteration, side by side. Each group of
 * chunks goes through all iterations before the next one begins, so that lanes store in another order than
 * the wave would: that makes no difference where no two iterations store at one place, and nothing is loaded
 * from the allocation that is stored to. And where one lane's access would fault, no lane may have stored
 * what comes behind it: each group looks at the addresses of all lanes of the wave.
 *
 * Where a group of chunks meets anything unusual, the loop is done again in the usual way, which stores the
 * same values where groups have stored, and those that were wrong (NaNs) once more.
 */
import type { BlockLabel } from '../../../wasm/function.ts';
import type { AccessGroup } from '../regions/access-group.ts';
import { nodesBehind } from '../regions/node.ts';
import type { LoopEnvironment } from './chunk-state.ts';
import { findStored, LaneExtents } from './lane-extents.ts';
import { LoopValues } from './loop-values.ts';
import type { Evaluate } from './side-by-side-accesses.ts';
import { copyRows, forEachActiveChunk } from './wave-chunks.ts';

export class StreamedStore {
  readonly #environment: LoopEnvironment;
  readonly #groups: readonly AccessGroup[];
  readonly #evaluate: Evaluate;

  /**
   * `groups`: of all accesses. The environment says where these are, and where the allocation starts in which
   * lanes store, once `prepare` was emitted.
   */
  constructor(environment: LoopEnvironment, groups: Iterable<AccessGroup>, evaluate: Evaluate) {
    this.#environment = environment;
    this.#groups = [...new Set(groups)];
    this.#evaluate = evaluate;
  }

  /** Comes before the iterations; goes to `otherwise` where lanes access what they may not, or not so. */
  prepare(otherwise: BlockLabel): void {
    const { state, plan, invariants, entries, storedAllocation, waveExtents } = this.#environment;
    const { f, spaces } = state;
    const ends = this.#groups.map((group) => ({ group, extents: new LaneExtents(f) }));
    const roots = this.#groups.flatMap(({ parts: { low, high, floor } }) => [low, high!, ...(floor ? [floor] : [])]);
    const values = new LoopValues(state, invariants, entries);
    const behind = nodesBehind(roots);
    for (const node of plan.nodes) if (behind.has(node) && !node.lane && plan.variant.has(node)) values.emit(node);
    forEachActiveChunk(this.#environment, this.#evaluate, values, roots, (at, argument, nibble) => {
      const mask = at.maskOf(nibble);
      for (const { group, extents } of ends) {
        const { low, high, floor } = group.parts;
        const lanes = { low: argument(low), high: argument(high!), floor: floor && argument(floor) };
        extents.note({ ...group, ...lanes }, mask, spaces.windowHi);
      }
      f.free(mask);
    });
    values.release();
    for (const { group, extents } of ends) {
      waveExtents.set(group, extents.end(otherwise));
      if (group.writes) findStored(f, waveExtents.get(group)!, group, storedAllocation!, otherwise);
    }
    copyRows(this.#environment, 'keep');
  }

  /** Gives rows back what they held before the iterations. */
  undo(): void {
    copyRows(this.#environment, 'restore');
  }

  /** Comes behind the iterations of all chunks. */
  finish(): void {
    const { state, waveExtents } = this.#environment;
    for (const { least, most } of waveExtents.values()) state.f.free(least, most);
    waveExtents.clear();
  }
}
