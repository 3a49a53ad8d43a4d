/** Instructions that tools neither remove nor replace: code around them would no longer do what it did. */
import { registerSet, stateNumber } from '../../flow/steps.ts';
import { SGPR_VCC_LO } from '../../isa/amdgpu/encoding/registers.ts';
import type { AmdgpuStep } from '../../isa/amdgpu/step.ts';
import { isGetPc } from '../../lift/address-sequence.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';

/** Why an instruction has to stay; undefined where it may go. `live`: registers and state behind it. */
export function whyItStays(step: AmdgpuStep, live: bigint): string | undefined {
  const { waits, counters, writes, writesState, writesAnyOf } = step.effects;
  const stays = (why: string): string => `an instruction is not taken out: ${why}`;
  if (step.control !== 'next') return stays('it says where control goes on');
  if (isGetPc(step)) return stays('others count from its address');
  if (waits.size > 0) return stays('others need what it waits for');
  // A wait for all accesses but the last two means others when one is missing.
  if (counters.size > 0) return stays('waits behind it count its accesses');
  if (writesAnyOf.size > 0) return stays('it is not known what it writes');
  const isNeeded = ({ file, first, dwords }: PhysicalRange): boolean =>
    isSpecial({ file, first }) && isLiveIn(live, { file, first, dwords });
  const isSccNeeded = writesState.has('scc') && ((live >> BigInt(stateNumber('scc'))) & 1n) === 1n;
  if (isSccNeeded || writes.some(isNeeded)) return stays('others need what it leaves in SCC, VCC, EXEC or M0');
  return writesState.has('mode') ? stays('it says how others compute') : undefined;
}

/** Registers that instructions use without naming them. */
const isSpecial = ({ file, first }: Pick<PhysicalRange, 'file' | 'first'>): boolean =>
  file === 'scalar' && first >= SGPR_VCC_LO;

/**
 * What an instruction writes and code behind it reads: without it that is what was there before, which is not
 * known to be needed.
 */
export const oldResults = (step: AmdgpuStep): readonly PhysicalRange[] =>
  step.effects.writes
    .filter((range) => !isSpecial(range))
    .flatMap(({ file, first, dwords }) =>
      Array.from({ length: dwords }, (_, i): PhysicalRange => ({ file, first: first + i, dwords: 1 })),
    );

/** Whether a set has any register of a range. */
export const isLiveIn = (live: bigint, range: PhysicalRange): boolean => (live & registerSet([range])) !== 0n;
