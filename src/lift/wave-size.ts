/**
 * Which wave size machine code was compiled for: nothing in a code object says so where there is no kernel.
 */
import { followingOffset } from '../ir/step.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import { SGPR_EXEC_LO, SGPR_VCC_LO } from '../isa/amdgpu/encoding/registers.ts';
import { AmdgpuStepReader } from '../isa/amdgpu/step.ts';

/** Registers behind them are VCC, EXEC, constants. */
const LAST_SGPR = 105;

export interface WaveSizeEvidence {
  /** Undefined where nothing shows it, as in straight code. */
  readonly waveSize: 32 | 64 | undefined;
  /**
   * Masks of lanes stand in SGPRs: where the wave size is not known, waves of 64 might overwrite what stands
   * beside them.
   */
  readonly keepsMasks: boolean;
}

/**
 * From the first instruction that writes EXEC as 32 or as 64 bits, or reads it as 64, and from masks of
 * lanes: vector instructions make and use them, scalar ones show how wide they are. Throws UNSUPPORTED for a
 * processor without instruction tables.
 */
export function waveSizeOfCode(bytes: Uint8Array, processor: string): WaveSizeEvidence {
  const reader = new AmdgpuStepReader(processor, 32, 0);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const block = new MaskBlock();
  let keepsMasks = false;
  for (let offset = 0; offset + 4 <= view.byteLength; ) {
    const step = reader.step(view, offset);
    if (typeof step === 'string') {
      offset += 4;
      continue;
    }
    const { instruction, control } = step;
    const waveSize = execSize(instruction) ?? block.note(instruction);
    if (waveSize !== undefined) return { waveSize, keepsMasks: true };
    keepsMasks ||= block.hasMasks;
    if (control !== 'next') block.clear();
    offset = followingOffset(step);
  }
  return { waveSize: undefined, keepsMasks };
}

/** What is known of registers between two branches. */
class MaskBlock {
  /** First registers of masks that vector instructions made. */
  readonly #masks = new Set<number>();
  /** How many dwords at once scalar instructions wrote. */
  readonly #written = new Map<number, number>();
  hasMasks = false;

  clear(): void {
    this.#masks.clear();
    this.#written.clear();
  }

  note(instruction: Instruction): 32 | 64 | undefined {
    const isScalar = /^S(OP|MEM)/.test(instruction.format.name);
    let waveSize: 32 | 64 | undefined;
    const operands = instruction.row.operands.flatMap(({ type }, index) => {
      const operand = instruction.operand(index);
      if (operand.kind !== 'scalar' || operand.register > SGPR_VCC_LO) return [];
      const { register } = operand;
      return [
        { register, dwords: instruction.dwords(index), isMask: type === 'mask', access: instruction.access(index) },
      ];
    });
    for (const { register, dwords, isMask, access } of operands) {
      if (!access?.includes('read')) continue;
      if (isScalar && this.#masks.has(register)) waveSize ??= dwords === 2 ? 64 : 32;
      if (!isScalar && isMask) waveSize ??= this.#writtenSize(register);
    }
    for (const { register, dwords, isMask, access } of operands) {
      if (!access?.includes('write')) continue;
      for (let i = 0; i < dwords; i++) this.#forget(register + i);
      if (isScalar) this.#written.set(register, dwords);
      else if (isMask) {
        this.#masks.add(register);
        if (register <= LAST_SGPR) this.hasMasks = true;
        // Waves of 64 have masks in pairs of registers.
        if (register % 2 === 1) waveSize ??= 32;
      }
    }
    return waveSize;
  }

  /** A mask that two instructions wrote by halves is 64 bits wide. */
  #writtenSize(register: number): 32 | 64 | undefined {
    const dwords = this.#written.get(register);
    if (dwords === 2) return 64;
    return dwords === 1 && !this.#written.has(register + 1) ? 32 : undefined;
  }

  #forget(register: number): void {
    this.#masks.delete(register);
    this.#written.delete(register);
  }
}

function execSize(instruction: Instruction): 32 | 64 | undefined {
  const { row } = instruction;
  // Scalar arithmetic that writes EXEC besides its result saves as much of it as it writes.
  const saves = row.format === 'SOP1' && row.flags.writesExec === true;
  const sizes = row.operands.map(({ type, access }, index): 32 | 64 | undefined => {
    const operand = instruction.operand(index);
    const isSaved = saves && access === 'write';
    const isExec = operand.kind === 'scalar' && operand.register === SGPR_EXEC_LO;
    // A mask is as wide as the wave, which is the question.
    if (!(isSaved || isExec) || type === 'mask') return undefined;
    if (instruction.dwords(index) === 2) return 64;
    return instruction.access(index)?.includes('write') ? 32 : undefined;
  });
  return sizes.find((size) => size !== undefined);
}
