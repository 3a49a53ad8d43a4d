/** Messages of s_sendmsg, by the number in simm16 (CDNA2 ISA 12.5.1; RDNA3 ISA 5.3). */
import type { Instruction } from './instruction.ts';

export const MESSAGE_INTERRUPT = 1;
/** Among messages of 8 bits; it gives the VGPRs back before the program ends. */
const MESSAGE_DEALLOC_VGPRS = 3;

/** The number of a message; undefined for instructions that send none. */
export const messageOf = (instruction: Instruction): number | undefined =>
  instruction.row.flags.message ? instruction.field('simm16') & (2 ** instruction.target.messageBits - 1) : undefined;

/** Whether the wave has no VGPRs behind the instruction, though it goes on. */
export const freesVectors = (instruction: Instruction): boolean =>
  instruction.target.messageBits === 8 && messageOf(instruction) === MESSAGE_DEALLOC_VGPRS;
