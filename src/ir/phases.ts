/**
 * In which order generated code computes the values of a program: what is the wave's, what is the lanes',
 * what depends on them.
 */
import { assert } from '../base/errors.ts';
import { isEffect } from './leaves.ts';
import type { Value } from './types.ts';

export type ProgramPhase = 'before' | 'lanes' | 'after';

/** When each value is computed. Uniform effects come last: everything they read was read before. */
export function phasesOf(live: readonly Value[]): Map<Value, ProgramPhase> {
  const phases = new Map<Value, ProgramPhase>();
  for (const value of live) {
    const { kind } = value.leaf;
    const dependsOnLanes = value.args.some((arg) => phases.get(arg) === 'after');
    if (value.lane) {
      assert(!dependsOnLanes, 'a lane value depends on a result of all lanes');
      phases.set(value, 'lanes');
    } else {
      const late = (isEffect(kind) && kind !== 'load' && kind !== 'fence') || kind === 'ballot' || dependsOnLanes;
      phases.set(value, late ? 'after' : 'before');
    }
  }
  return phases;
}
