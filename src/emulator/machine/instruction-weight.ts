/**
 * How long an instruction takes, as an estimate that is the same on every machine: turns of waves are bounded
 * by it.
 */
import type { Leaf, Program } from '../../ir/types.ts';

const ACCESSES = new Set<Leaf['kind']>(['load', 'store', 'atomic']);
/** Of an access that each lane makes by itself. */
const ACCESS_WEIGHT = 8;
/** Of a product that is added to an accumulator, whose factors are looked up. */
const STEP_WEIGHT = 4;

/** Operations of a chunk of lanes; a plain vector instruction has about five. */
export function weightOf({ values }: Program): number {
  let weight = 0;
  for (const { leaf, lane } of values) {
    if (leaf.kind === 'matrixProduct') weight += leaf.product.results * leaf.product.steps * STEP_WEIGHT;
    else if (lane) weight += ACCESSES.has(leaf.kind) ? ACCESS_WEIGHT : 1;
  }
  return weight;
}

/**
 * Instructions up to this weight have turns of full length: all but matrix products of many steps and
 * accesses that are taken apart.
 */
const FULL_TURN_WEIGHT = 64;

/** The part of a full turn that waves have whose heaviest instruction is so heavy. */
export const turnShare = (heaviest: number): number => Math.min(1, FULL_TURN_WEIGHT / heaviest);
