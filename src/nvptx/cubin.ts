/** Cubins: ELF files with machine code of NVIDIA's GPUs. Nothing is read here but what they are for. */
import type { ElfHeader } from '../elf/header.ts';

/** EI_ABIVERSION since CUDA 13, which moved the number of the processor in e_flags. */
const NEW_ABI_VERSION = 8;

/** `sm_90`. */
export function cubinProcessor({ abiVersion, flags }: ElfHeader): string {
  return `sm_${(abiVersion >= NEW_ABI_VERSION ? flags >> 8 : flags) & 0xff}`;
}
