/**
 * What a kernel finds in its registers when it begins (LLVM AMDGPU usage, "Initial Kernel Execution State").
 */
import { initialSgprs } from '../../codeobject/initial-sgprs.ts';
import type { KernelArgument } from '../../codeobject/metadata.ts';
import { high, low, PayloadBuilder, part } from '../machine/payload-builder.ts';
import type { HookCode } from './hook.ts';
import type { ToolFunction } from './tool-function.ts';
import type { ToolVariable } from './variables.ts';

/** The first of the two registers with the address of the arguments; undefined where the kernel has none. */
export function argumentsRegister({ lifted }: ToolFunction): number | undefined {
  const kernel = lifted.kernels[0];
  const first = lifted.blocks[0]?.instructions[0];
  return kernel && first
    ? initialSgprs(kernel.descriptor, first.instruction.target).values.get('kernargSegmentPtr')?.first
    : undefined;
}

/** As the metadata of the kernel list them, hidden ones too. */
export const declaredArguments = ({ lifted }: ToolFunction): readonly KernelArgument[] =>
  lifted.kernels[0]?.metadata?.args ?? [];

/** Bytes of the arguments in memory. */
export const argumentBytes = ({ lifted }: ToolFunction): number => {
  const kernel = lifted.kernels[0];
  return kernel?.metadata?.kernargSegmentSizeBytes ?? kernel?.descriptor.kernargSizeBytes ?? 0;
};

const CHUNK_DWORDS = 4;
/** Offsets in instructions that all targets have. */
const MAX_OFFSET_BYTES = 2047;

/**
 * At the entry of a kernel: copies arguments into a variable, whose size is a multiple of 4. The address of
 * the arguments is in the register and the one behind it.
 */
export const copyArguments =
  (register: number, { symbol, sizeBytes }: ToolVariable): HookCode =>
  (code) => {
    const b = new PayloadBuilder(code);
    const [saved, address, loaded] = [b.mask(), b.scalar(2), b.scalar(CHUNK_DWORDS)];
    b.emit`s_mov_${b.maskBits} ${saved}, ${b.exec}`;
    b.emit`s_mov_${b.maskBits} ${b.exec}, 1`;
    b.emit`s_mov_b32 ${low(address)}, ${{ half: 'low', symbol, addend: 0 }}`;
    b.emit`s_mov_b32 ${high(address)}, ${{ half: 'high', symbol, addend: 0 }}`;
    b.otherLanes = 'first';
    const [zero, values] = [b.vector(), b.vector(CHUNK_DWORDS)];
    b.emit`v_mov_b32 ${zero}, 0`;
    const end = Math.min(sizeBytes, MAX_OFFSET_BYTES);
    const chunksEnd = end - (end % (4 * CHUNK_DWORDS));
    for (let at = 0; at < chunksEnd; at += 4 * CHUNK_DWORDS) {
      b.emit`s_load_dwordx4 ${loaded}, s[${register}:${register + 1}], ${at}`;
      for (let i = 0; i < CHUNK_DWORDS; i++) b.emit`v_mov_b32 ${part(values, i)}, ${part(loaded, i)}`;
      b.emit`global_store_dwordx4 ${zero}, ${values}, ${address} offset:${at}`;
    }
    for (let at = chunksEnd; at < end; at += 4) {
      b.emit`s_load_dword ${part(loaded, 0)}, s[${register}:${register + 1}], ${at}`;
      b.emit`v_mov_b32 ${part(values, 0)}, ${part(loaded, 0)}`;
      b.emit`global_store_dword ${zero}, ${part(values, 0)}, ${address} offset:${at}`;
    }
    b.otherLanes = 'none';
    b.emit`s_mov_${b.maskBits} ${b.exec}, ${saved}`;
    return [b.payload()];
  };
