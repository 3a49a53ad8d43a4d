/** A fault in words: what was attempted, by which instruction of which wave, and what memory is near. */
import { formatInstruction } from '../isa/amdgpu/disassemble.ts';
import type { Instruction } from '../isa/amdgpu/instruction.ts';
import type { CodeCache } from './code-cache.ts';
import type { Emulator } from './emulator.ts';
import {
  accessKind,
  accessName,
  describeAccess,
  describePlace,
  type EmulatorFault,
  FAULT_JUMP,
  FAULT_MODE,
  type WaveFault,
} from './faults.ts';
import type { Triple } from './launch.ts';
import { RECORD_PC } from './layout.ts';

const hex = (value: bigint): string => `0x${value.toString(16)}`;

/** The instruction as LLVM prints it. */
export function instructionText(instruction: Instruction | undefined): string {
  return instruction ? formatInstruction(instruction) : '(not an instruction)';
}

export function reportFault(
  emulator: Emulator,
  fault: WaveFault,
  cache: CodeCache,
  place: { readonly workgroup: Triple; readonly wave: number },
): EmulatorFault {
  const offset = emulator.state.view.getUint32(fault.record + RECORD_PC, true);
  const pc = emulator.memory.address(offset);
  const location = emulator.locate(offset);
  const instruction = instructionText(cache.instruction(fault.record));
  const at = `pc ${hex(pc)}${location && ` in ${location}`}`;
  const base = { pc, instruction, location, ...place };
  const where = `workgroup (${place.workgroup.join(', ')}), wave ${place.wave}`;
  const untranslated = cache.untranslated(fault.record);
  if (untranslated?.code === 'illegal') {
    return { ...base, kind: 'illegal-instruction', message: `${untranslated.message} at ${at}; ${where}` };
  }
  const { processor } = emulator.target;
  if (untranslated) {
    return { ...base, kind: 'unsupported', message: `${untranslated.message} (${processor}) at ${at}; ${where}` };
  }
  const { address } = fault;
  switch (fault.code) {
    case FAULT_MODE:
      return {
        ...base,
        kind: 'unsupported',
        message: `unsupported MODE ${hex(address)} (${processor}) by '${instruction}' at ${at}; ${where}`,
      };
    case FAULT_JUMP: {
      const message = `jump to ${hex(address)}, where there is no code, by '${instruction}' at ${at}; ${where}`;
      return withPlace(emulator, { ...base, kind: 'memory', message, address, access: 'execute' });
    }
  }
  if (fault.code < 0) return { ...base, kind: 'exception', message: `trap by '${instruction}' at ${at}; ${where}` };
  const kind = accessKind(fault.code);
  const lane = fault.lane < 0 ? '' : `, lane ${fault.lane}`;
  const message = `${describeAccess(fault.code, address)} by '${instruction}' at ${at}; ${where}${lane}`;
  const access = accessName(fault.code);
  const report = { ...base, ...(fault.lane >= 0 && { lane: fault.lane }), kind, message, address, access };
  return kind === 'memory' ? withPlace(emulator, report) : report;
}

/** With what is near the address. */
function withPlace({ memory }: Emulator, fault: EmulatorFault & { readonly address: bigint }): EmulatorFault {
  const target = memory.offset(fault.address);
  if (target === undefined) return { ...fault, message: `${fault.message}; not an address of this device` };
  const nearest = memory.nearest(target);
  const freed = memory.find(target) ? undefined : memory.findFreed(target);
  const message = `${fault.message}; ${describePlace(target, fault.access, nearest, freed, memory.address(0))}`;
  return { ...fault, ...(nearest && { nearest }), ...(freed && { freed }), message };
}
