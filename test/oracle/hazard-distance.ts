/** Whether hazards keep their distances in straight code. */

import type { Effects } from '../../src/ir/effects.ts';
import { HAZARDS } from '../../src/isa/amdgpu/effects/hazards.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';
import type { StepBlocks } from '../../src/lift/blocks.test-support.ts';
import { stepEffects } from '../../src/lift/step-effects.ts';

interface Place {
  readonly instruction: Instruction;
  readonly effects: Effects;
}

/** The steps of blocks in their order. */
export const placesOf = (blocks: StepBlocks): Place[] =>
  blocks.flatMap(({ instructions }) =>
    instructions.map((step) => ({ instruction: step.instruction, effects: stepEffects(step) })),
  );

/**
 * The hazard between an instruction and one shortly before it, in words. `countsNops`: else s_nop is as if it
 * were not there.
 */
export function hazardAt(places: readonly Place[], number: number, countsNops = true): string | undefined {
  const after = places[number]!;
  for (const { name, waitStates, via } of HAZARDS) {
    if (!after.effects.hazards.some(({ hazard, role }) => hazard === name && role === 'after')) continue;
    for (let at = number - 1, distance = 0; at >= 0 && distance < waitStates; at--) {
      const { instruction, effects } = places[at]!;
      if (instruction.row.flags.terminator !== undefined) break;
      const isBefore = effects.hazards.some(({ hazard, role }) => hazard === name && role === 'before');
      const meets = effects.writes.some((written) =>
        after.effects.reads.some(
          (read) =>
            read.file === via &&
            written.file === via &&
            read.first < written.first + written.dwords &&
            written.first < read.first + read.dwords,
        ),
      );
      if (isBefore && (via === undefined || meets))
        return `${name} ${instruction.name} at ${at}, ${after.instruction.name} at ${number}`;
      const isNop = instruction.name === 's_nop';
      distance += isNop ? (countsNops ? instruction.field('simm16') + 1 : 0) : 1;
    }
  }
  return undefined;
}
