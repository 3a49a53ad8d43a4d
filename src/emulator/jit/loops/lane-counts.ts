/** How often lanes of a group of chunks were active, at each place where EXEC may be another one. */
import type { Local } from '../../../wasm/function.ts';
import { captured } from '../../lowering/emitter.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { Node } from '../regions/node.ts';

const LANES = 4;

export class LaneCounts {
  readonly #state: FunctionState;
  readonly #masks: readonly Node[];
  readonly #totals: readonly Local[];
  /** By mask: each lane counts those of its chunks that have its number. */
  readonly #sums: readonly Local[];

  /** `totals`: one for each mask, to which groups that did not give up are added. */
  constructor(state: FunctionState, masks: readonly Node[], totals: readonly Local[]) {
    this.#state = state;
    this.#masks = masks;
    this.#totals = totals;
    this.#sums = totals.map(() => {
      state.f.v128([0, 0, 0, 0]);
      return captured(state.f);
    });
  }

  /** A chunk comes to the end of an iteration; a lane that is set in a mask is -1. */
  count(lanesOf: (mask: Node) => Local): void {
    const { f } = this.#state;
    for (const [i, sum] of this.#sums.entries()) {
      f.get(sum);
      f.get(lanesOf(this.#masks[i]!));
      f.op('i32x4.sub');
      f.set(sum);
    }
  }

  /** The group is at its end. */
  finish(): void {
    const { f } = this.#state;
    for (const [i, sum] of this.#sums.entries()) {
      f.get(this.#totals[i]!);
      for (let lane = 0; lane < LANES; lane++) {
        f.get(sum);
        f.lane('i32x4.extract_lane', lane);
        f.op('i32.add');
      }
      f.set(this.#totals[i]!);
    }
    f.free(...this.#sums);
  }
}
