/** Our text of instructions beside that of LLVM's disassembler. */
import { decoderFor } from '../../src/isa/amdgpu/decoder.ts';
import type { Instruction } from '../../src/isa/amdgpu/encoding/instruction.ts';
import { formatInstruction } from '../../src/isa/amdgpu/text/disassemble.ts';
import { LLVM_ERRATA } from './llvm-errata.ts';
import { llvmDisassemble } from './llvm-mc.ts';

export interface LlvmTarget {
  readonly processor: string;
  readonly waveSize: 32 | 64;
}

function decode(words: readonly number[], { processor, waveSize }: LlvmTarget): Instruction | string {
  const code = new DataView(new ArrayBuffer(words.length * 4));
  words.forEach((word, i) => {
    code.setUint32(i * 4, word, true);
  });
  return decoderFor(processor, waveSize).decode(code, 0);
}

export const textOf = (words: readonly number[], target: LlvmTarget): string => {
  const instruction = decode(words, target);
  return typeof instruction === 'string' ? `<${instruction}>` : formatInstruction(instruction);
};

const hexWords = (words: readonly number[]): string =>
  words.map((word) => word.toString(16).padStart(8, '0')).join(' ');

interface Comparison {
  /** Encodings that LLVM knows. */
  accepted: number;
  /** Of these, the ones that we print otherwise. */
  readonly differences: string[];
}

/** `known` says which of the texts of LLVM to compare with. */
export function compareWithLlvm(
  target: LlvmTarget,
  encodings: readonly (readonly number[])[],
  known: (text: string) => boolean = () => true,
): Comparison {
  const texts = llvmDisassemble(encodings, target.processor, target.waveSize);
  const result: Comparison = { accepted: 0, differences: [] };
  encodings.forEach((words, i) => {
    // Words that follow an instruction of 4 bytes are another instruction.
    const ours = textOf(words, target);
    const instruction = decode(words, target);
    const isShort = typeof instruction === 'object' && instruction.sizeBytes < words.length * 4;
    const theirs = isShort ? texts[i]?.split('; ')[0] : texts[i];
    if (theirs === undefined || !known(theirs)) return;
    result.accepted++;
    if (ours !== theirs) result.differences.push(`${hexWords(words)}: ${ours}, expected ${theirs}`);
  });
  return result;
}

/** Images are known by name only, the parameter interpolation of gfx10 not at all. */
export const isShown = (text: string): boolean =>
  !/^(image_|v_interp_\w+_e32)/.test(text) && !LLVM_ERRATA.some((erratum) => erratum.text.test(text));
