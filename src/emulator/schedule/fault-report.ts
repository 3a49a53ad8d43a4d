/** A fault in words: what was attempted, by which instruction of which wave, and what memory is near. */

import { hex } from '../../base/text.ts';
import type { Step } from '../../ir/step.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { EmulatorCore } from '../code/emulator-core.ts';
import {
  accessKind,
  accessName,
  describeAccess,
  describePlace,
  type EmulatorFault,
  FAULT_BARRIER,
  FAULT_DEADLOCK,
  FAULT_JUMP,
  FAULT_MODE,
  type WaveFault,
} from '../machine/faults.ts';
import type { Triple } from '../machine/launch.ts';
import { RECORD_PC } from '../machine/layout.ts';
import type { EmulatorMemory } from '../machine/memory.ts';
import type { StateMemory } from '../machine/state-memory.ts';
import { barrierRequest } from './named-barriers.ts';

/** What reports ask of the emulator whose wave faulted. */
export interface ReportingCore extends EmulatorCore<EmulatorMemory, StateMemory> {
  /** The symbol and the distance from it at an offset of code; empty where there is none. */
  locate(offset: number): string;
}

/** The instruction as the tools of its language print it. */
export const stepText = (step: Step | undefined): string => step?.text() ?? '(not an instruction)';

export function reportFault(
  emulator: ReportingCore,
  fault: WaveFault,
  cache: CodeCache,
  place: { readonly workgroup: Triple; readonly wave: number },
): EmulatorFault {
  const offset = emulator.state.view.getUint32(fault.record + RECORD_PC, true);
  const pc = emulator.memory.address(offset);
  const location = emulator.locate(offset);
  const instruction = stepText(cache.step(fault.record));
  const at = `pc ${hex(pc)}${location && ` in ${location}`}`;
  const where = `workgroup (${place.workgroup.join(', ')}), wave ${place.wave}`;
  const lane = fault.lane < 0 ? '' : `, lane ${fault.lane}`;
  /** `by`: names the instruction, which some texts do themselves. */
  const report = (kind: EmulatorFault['kind'], what: string, by = ` by '${instruction}'`): EmulatorFault => ({
    ...{ kind, what, pc, instruction, location, ...place, ...(fault.lane >= 0 && { lane: fault.lane }) },
    message: `${what}${by} at ${at}; ${where}${lane}`,
  });
  const untranslated = cache.untranslated(fault.record);
  if (untranslated?.code === 'illegal') return report('illegal-instruction', untranslated.message, '');
  const { processor } = emulator.frontEnd;
  if (untranslated) return report('unsupported', `${untranslated.message} (${processor})`, '');
  const { address } = fault;
  switch (fault.code) {
    case FAULT_MODE:
      return report('unsupported', `unsupported MODE ${hex(address)} (${processor})`);
    case FAULT_JUMP: {
      const jump = report('memory', `jump to ${hex(address)}, where there is no code,`);
      return withPlace(emulator, { ...jump, address, access: 'execute' });
    }
  }
  if (fault.code === FAULT_BARRIER) {
    const { number, count } = barrierRequest(Number(address));
    const what = `barrier ${number} of ${count} threads: the number is at most 15, the count a multiple of the warp's size, and that of the others who came,`;
    return report('exception', what);
  }
  if (fault.code === FAULT_DEADLOCK) return report('exception', 'deadlock: all threads that are left wait,');
  if (fault.code < 0) return report('exception', 'trap');
  const kind = accessKind(fault.code);
  const access = accessName(fault.code);
  const found = { ...report(kind, describeAccess(fault.code, address)), address, access };
  return kind === 'memory' ? withPlace(emulator, found) : found;
}

/** With what is near the address. */
function withPlace({ memory }: ReportingCore, fault: EmulatorFault & { readonly address: bigint }): EmulatorFault {
  const target = memory.offset(fault.address);
  if (target === undefined) {
    const near = 'not an address of this device';
    return { ...fault, near, message: `${fault.message}; ${near}` };
  }
  const nearest = memory.nearest(target);
  const freed = memory.find(target) ? undefined : memory.findFreed(target);
  const near = describePlace(target, fault.access, nearest, freed, memory.address(0));
  return { ...fault, near, message: `${fault.message}; ${near}`, ...(nearest && { nearest }), ...(freed && { freed }) };
}
