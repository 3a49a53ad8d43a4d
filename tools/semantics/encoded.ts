/** Encodings as LLVM takes them: fields that an instruction does not have are zero, whatever is asked for. */

import { encodeFields, type FieldValues } from '../../src/isa/amdgpu/encoding/encode.ts';
import type { Encoding } from '../../src/isa/amdgpu/encoding/encodings.ts';
import { fixedBits } from '../../src/isa/amdgpu/encoding/fixed-bits.ts';
import type { Target } from '../../src/isa/amdgpu/encoding/targets.ts';

export function encodedWords(encoding: Encoding, target: Target, values: FieldValues): number[] {
  const { masks, values: fixed } = fixedBits(encoding, target);
  const { format, opcode, row } = encoding;
  // LLVM takes any number for a result that there is not, and writes 0.
  const isAbsent = format.name === 'DS' && 'vdst' in values && !row.operands.some(({ field }) => field === 'vdst');
  return encodeFields(format, opcode, isAbsent ? { ...values, vdst: 0 } : values).map((word, i) => {
    const mask = masks[i] ?? 0;
    return ((word & ~mask) | ((fixed[i] ?? 0) & mask)) >>> 0;
  });
}

/** What became of the fields that were asked for. */
export function effectiveFields({ format }: Encoding, words: readonly number[], values: FieldValues): FieldValues {
  return Object.fromEntries(
    Object.keys(values).map((name) => {
      const { low, width } = format.fields.find((field) => field.name === name)!;
      return [name, (words[low >> 5]! >>> (low & 31)) & (2 ** width - 1)];
    }),
  );
}
