/**
 * What is known of the work-item ids that a wave begins with. They are the same in all workgroups of a launch
 * that are not cut at its edge, and the runner begins these in one place: so the first wave there looks at
 * its lanes, and leaves what it found to those that come after it.
 */
import { and, assign, eq, loadFrom, type Push, push, sum } from '../../../wasm/expression.ts';
import type { Local } from '../../../wasm/function.ts';
import { ID_REGISTERS, TEMPLATE_ROWS_OFFSET } from '../../machine/group-layout.ts';
import {
  FIRST_LOOK_VECTORS,
  FRESH,
  rowSizeBytes,
  WAVE_BUDGET,
  WAVE_FIRST_LOOK,
  WAVE_FRESHNESS,
  WAVE_TURN,
} from '../../machine/layout.ts';
import type { FunctionState } from '../function/function-state.ts';
import type { LaneStep } from './lane-steps.ts';
import { lanesBehind, type Node } from './node.ts';

/** Whether lane values follow from the ids alone, and what is to be known of them has a place. */
export function followsFromIds(terms: readonly Node[], waveSize: 32 | 64): boolean {
  const end = TEMPLATE_ROWS_OFFSET + ID_REGISTERS * rowSizeBytes(waveSize);
  const isId = ({ lane, leaf }: Node): boolean =>
    leaf.kind === 'row' ? leaf.offset < end : leaf.kind === 'const' || (lane && leaf.kind === 'pure');
  return terms.length <= FIRST_LOOK_VECTORS && lanesBehind(terms).every((node) => isId(node) && node.args.every(isId));
}

/**
 * Whether all registers are as the wave began with them. A function begins with one instruction more in its
 * budget.
 */
export function isFresh(wave: Local): Push {
  const hasNotRun = eq(loadFrom('i32.load', wave, WAVE_BUDGET), sum(loadFrom('i32.load', wave, WAVE_TURN), 1));
  return and(eq(loadFrom('i32.load', wave, WAVE_FRESHNESS), FRESH), hasNotRun);
}

/** Emits `look`, which sets steps, unless a wave before this one knew them. */
export function onFirstLook(
  { f, wave, literalBase }: FunctionState,
  steps: readonly LaneStep[],
  look: () => void,
): void {
  const isNew = f.local('i32');
  assign(f, isNew, isFresh(wave));
  const places = steps.flatMap(({ first, step, pitches }, i) =>
    [first, step, ...pitches].map((local, k): readonly [Local, number] => [
      local,
      WAVE_FIRST_LOOK + 16 * (i + 1) + 4 * k,
    ]),
  );
  f.block(undefined, (known) => {
    f.block(undefined, (unknown) => {
      // A function stands for its terms: a launch begins at one place.
      push(f, and(isNew, eq(loadFrom('i32.load', wave, WAVE_FIRST_LOOK), literalBase)));
      f.op('i32.eqz');
      f.brIf(unknown);
      for (const [local, place] of places) assign(f, local, loadFrom('i32.load', wave, place));
      f.br(known);
    });
    look();
    push(f, isNew);
    f.if(undefined, () => {
      for (const [value, place] of [...places, [literalBase, WAVE_FIRST_LOOK] as const]) {
        f.get(wave);
        f.get(value);
        f.store('i32.store', place);
      }
    });
  });
  f.free(isNew);
}
