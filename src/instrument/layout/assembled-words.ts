/** Instructions that are written as text and stand in the code of many functions. */
import type { CodeContext } from '../../isa/amdgpu/encoding/instruction.ts';
import type { Target } from '../../isa/amdgpu/encoding/targets.ts';
import { assembleInstruction } from '../../isa/amdgpu/text/assembler/assemble.ts';

const known = new WeakMap<Target, Map<string, readonly number[]>>();

/** All dwords of an instruction, one array for each text. Throws BAD_INPUT as the assembler does. */
export function assembledWords(text: string, code: CodeContext): readonly number[] {
  let byText = known.get(code.target);
  if (!byText) {
    byText = new Map();
    known.set(code.target, byText);
  }
  const key = `${code.waveSize} ${text}`;
  let words = byText.get(key);
  if (!words) {
    words = assembleInstruction(text, code).words;
    byText.set(key, words);
  }
  return words;
}
