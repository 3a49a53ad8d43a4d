import { decoderFor } from '../isa/amdgpu/decoder.ts';
import { formatInstruction } from '../isa/amdgpu/text/disassemble.ts';

/** An instruction as llvm-objdump prints it. Throws UNSUPPORTED for an unknown processor. */
export function instructionText(processor: string, waveSize: 32 | 64, code: DataView, offset: number): string {
  const instruction = decoderFor(processor, waveSize).decode(code, offset);
  return typeof instruction === 'object' ? formatInstruction(instruction) : '(not an instruction)';
}
