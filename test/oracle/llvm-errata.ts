/** Where LLVM 19 is wrong, and what we do instead. The oracle tests leave these texts out. */

export interface Erratum {
  /** Texts of instructions that it concerns. */
  readonly text: RegExp;
  readonly reason: string;
}

export const LLVM_ERRATA: readonly Erratum[] = [
  {
    text: /^s_setreg_imm32_b32 .*, -?\d+\.\d+$/,
    reason:
      'The disassembler writes literals such as 0x3f800000 as floating-point numbers; the assembler takes the low half of the f64 of the same number, 0. Here it is the f32, so that the text names the instruction.',
  },
  {
    text: /^(v_cmpx?_\w+_e64(_dpp)?|v_readfirstlane_b32) src_/,
    reason:
      'The disassembler accepts constants such as src_scc as the scalar destination of a vector instruction. They cannot be written; the assembler here refuses them.',
  },
  {
    text: /\|v\d+, vcc(_lo)?\|/,
    reason:
      'The magnitude of the second source of v_cndmask_b32 ends behind the mask on gfx12. Here it ends behind the source.',
  },
  {
    text: /[-|(]src_(vccz|execz)/,
    reason:
      'Values that gfx11 lacks are refused, but for those with a sign or a magnitude. Here they are refused everywhere.',
  },
  {
    text: /^t?buffer_.*\], 0x[0-9a-f]+/,
    reason:
      'On gfx11 the disassembler takes 255 in place of a scalar offset for a literal constant. Buffer instructions have none (RDNA3 ISA 9.1); here it is no instruction.',
  },
];

/**
 * Instructions, as they are called here, that LLVM 19 takes for none although the hardware has them; besides
 * wide vector instructions with something in the fields of sources that they lack, which LLVM 23 writes.
 */
export const LLVM_REFUSALS: readonly Erratum[] = [
  {
    text: /^v_.*\bv\d+\.h\b/,
    reason:
      'Without true 16-bit registers LLVM refuses the high halves of registers that VOP1, VOP2 and VOPC of gfx11 name, or complains about them. The hardware has them (RDNA3 ISA 7.4), and later versions of LLVM too.',
  },
  {
    text: /^ds_(store|(add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpstore)_[a-z]*\d)/,
    reason:
      'LLVM wants vdst to be 0 in instructions of the LDS without a result. RDNA3 leaves the register alone, whatever it is, and there are programs that have one; so gfx11 has it here, and gfx9 does not.',
  },
];
