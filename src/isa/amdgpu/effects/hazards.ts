/** All hazards that the hardware does not resolve, a row for each, and the part of an instruction in them. */
import type { HazardRole } from '../../../ir/effects.ts';
import type { Target } from '../encoding/targets.ts';
import type { Facts, Hazard, Part } from './hazard.ts';
import { GFX9_HAZARDS } from './hazards-gfx9.ts';
import { MATRIX_HAZARDS } from './hazards-matrix.ts';
import { RDNA_HAZARDS } from './hazards-rdna.ts';

export const HAZARDS: readonly Hazard[] = [...GFX9_HAZARDS, ...MATRIX_HAZARDS, ...RDNA_HAZARDS];

const known = new Map<string, readonly Hazard[]>();

/** The hazards of waves on a target. */
export function hazardsOf({ processor, families }: Target, waveSize: 32 | 64): readonly Hazard[] {
  const key = `${processor} ${waveSize}`;
  let hazards = known.get(key);
  if (!hazards) {
    hazards = HAZARDS.filter(
      (hazard) =>
        families.includes(hazard.family) &&
        (hazard.until === undefined || !families.includes(hazard.until)) &&
        (hazard.waveSize ?? waveSize) === waveSize,
    );
    known.set(key, hazards);
  }
  return hazards;
}

/** What an instruction has to do with a hazard. */
export interface HazardPart {
  readonly hazard: Hazard;
  readonly before: Part;
  readonly after: Part;
}

/** The hazards that an instruction takes part in, if its target has them. */
export const hazardParts = (facts: Facts): readonly HazardPart[] =>
  hazardsOf(facts.instruction.target, facts.instruction.waveSize).flatMap((hazard) => {
    const [before, after] = [hazard.before(facts), hazard.after(facts)];
    return before === undefined && after === undefined ? [] : [{ hazard, before, after }];
  });

export const hazardRoles = (facts: Facts): readonly HazardRole[] =>
  hazardParts(facts).flatMap(({ hazard: { name }, before, after }) => [
    ...(before === undefined ? [] : [{ hazard: name, role: 'before' } as const]),
    ...(after === undefined ? [] : [{ hazard: name, role: 'after' } as const]),
  ]);
