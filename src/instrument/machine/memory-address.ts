/** The addresses that an instruction of the application accesses, as payloads compute them. */
import type { Instruction } from '../../isa/amdgpu/encoding/instruction.ts';
import { scalarText } from '../../isa/amdgpu/encoding/registers.ts';
import type { VirtualRegister } from './machine-code.ts';
import { high, low, type PayloadBuilder } from './payload-builder.ts';

/** Registers and the constant whose sum an address is. */
interface AddressParts {
  /** The first of the registers; undefined where there is none. */
  readonly vector: { readonly first: number; readonly dwords: number } | undefined;
  readonly scalar: { readonly first: number; readonly dwords: number } | undefined;
  readonly offset: number;
  /** Undefined: 32 bits, in the LDS. */
  readonly isWide: boolean;
}

/** Why there is no address, in words that stand behind "the instruction". */
function partsOf(instruction: Instruction): AddressParts | string {
  const { row, format } = instruction;
  const registerIn = (...fields: readonly string[]) => {
    const index = row.operands.findIndex(({ field }) => fields.includes(field));
    const operand = index < 0 ? undefined : instruction.operand(index);
    const dwords = index < 0 ? 0 : instruction.dwords(index);
    return operand && 'register' in operand && dwords > 0 ? { first: operand.register, dwords } : undefined;
  };
  const offset = row.operands.find(({ field }) => field === 'offset');
  const bytes = offset ? instruction.immediate(offset) : 0;
  switch (format.name) {
    case 'GLOBAL':
    case 'FLAT':
      if (!registerIn('addr') && !registerIn('saddr')) break;
      return { vector: registerIn('addr'), scalar: registerIn('saddr'), offset: bytes, isWide: true };
    case 'DS': {
      const vector = registerIn('addr');
      if (!vector || instruction.field('gds') === 1) break;
      if (!offset) return 'accesses two places in the LDS';
      return { vector, scalar: undefined, offset: bytes, isWide: false };
    }
    default:
      break;
  }
  return `has no address of its own in each lane (format ${format.name})`;
}

/** Undefined where the addresses can be computed; else why not. */
export function addressRefusal(instruction: Instruction): string | undefined {
  const parts = partsOf(instruction);
  return typeof parts === 'string' ? parts : undefined;
}

/** In the active lanes, the byte that an access of `instruction` begins at, in 64 bits. */
export function emitAddress(b: PayloadBuilder, instruction: Instruction): VirtualRegister {
  const parts = partsOf(instruction);
  const result = b.vector(2);
  if (typeof parts === 'string') return result;
  const { vector, scalar, offset, isWide } = parts;
  const name = (first: number): string => scalarText(first, 1, instruction.scalars) ?? `s${first}`;
  b.emit`v_mov_b32_e32 ${low(result)}, ${vector ? `v${vector.first}` : 0}`;
  b.emit`v_mov_b32_e32 ${high(result)}, ${vector?.dwords === 2 ? `v${vector.first + 1}` : 0}`;
  if (!isWide) {
    if (offset !== 0) b.emit`v_add_u32_e32 ${low(result)}, ${offset}, ${low(result)}`;
    return result;
  }
  const add = (from: string | number, fromHigh: string | number): void => {
    const [carry, addend] = [b.mask(), b.vector(2)];
    // The high half of a sum reads the carry, and no second scalar besides it (CDNA2 ISA 6.2.1).
    b.emit`v_mov_b32_e32 ${low(addend)}, ${from}`;
    b.emit`v_mov_b32_e32 ${high(addend)}, ${fromHigh}`;
    b.emit`v_add_co_u32_e64 ${low(result)}, ${carry}, ${low(result)}, ${low(addend)}`;
    b.emit`v_addc_co_u32_e64 ${high(result)}, ${carry}, ${high(result)}, ${high(addend)}, ${carry}`;
  };
  if (scalar) add(name(scalar.first), name(scalar.first + 1));
  if (offset !== 0) add(offset, offset < 0 ? -1 : 0);
  return result;
}
