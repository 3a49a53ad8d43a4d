/** Kernels in assembly, for what compilers would not write. */
import { assembleFile } from '../assembler/assemble-file.ts';
import { linkCodeObject } from '../linker/link.ts';
import type { KernelImage } from './kernel-runner.ts';

/**
 * A kernel of the given instructions, for gfx90a; it may use v0 to v31 and s0 to s31. `directives`: more of
 * those of its descriptor.
 */
export const kernelSource = (name: string, body: string, directives = ''): string => `.text
.globl ${name}
.p2align 8
.type ${name},@function
${name}:
${body}
s_endpgm
.size ${name}, .-${name}
.rodata
.p2align 6
.amdhsa_kernel ${name}
 .amdhsa_next_free_vgpr 32
 .amdhsa_next_free_sgpr 32
 .amdhsa_accum_offset 32
${directives}.end_amdhsa_kernel
`;

/** Assembles and links for gfx90a. */
export function assembledImage(source: string, name: string): KernelImage {
  return { name, bytes: linkCodeObject([{ bytes: assembleFile(source, { processor: 'gfx90a' }), name: `${name}.o` }]) };
}
