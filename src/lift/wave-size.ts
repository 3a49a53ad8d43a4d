/** Which wave size machine code was compiled for: nothing in a code object says so where there is no kernel. */
import { decoderFor } from '../isa/amdgpu/decode.ts';
import type { Instruction } from '../isa/amdgpu/instruction.ts';

const EXEC = 126;

/**
 * From the first instruction that writes EXEC as 32 or as 64 bits, or reads it as 64; undefined where none does, as in straight code,
 * which runs in waves of either size. Throws UNSUPPORTED for a processor without instruction tables.
 */
export function waveSizeOfCode(bytes: Uint8Array, processor: string): 32 | 64 | undefined {
  const decoder = decoderFor(processor, 32);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset + 4 <= view.byteLength; ) {
    const instruction = decoder.decode(view, offset);
    if (typeof instruction === 'string') {
      offset += 4;
      continue;
    }
    const size = execSize(instruction);
    if (size !== undefined) return size;
    offset += instruction.sizeBytes;
  }
  return undefined;
}

function execSize(instruction: Instruction): 32 | 64 | undefined {
  const { name, row } = instruction;
  const accesses = row.operands.map((_, index) => {
    const operand = instruction.operand(index);
    return operand.kind === 'scalar' && operand.register === EXEC ? (instruction.access(index) ?? '') : '';
  });
  const isWritten = row.name.includes('saveexec') || accesses.some((access) => access.includes('write'));
  if (name.endsWith('_b64') && (isWritten || accesses.some(Boolean))) return 64;
  return name.endsWith('_b32') && isWritten ? 32 : undefined;
}
