/**
 * What the relocations of a loaded image store ("Relocation Records" in LLVM's AMDGPU usage guide). Records
 * that need a global offset table are a linker's work and cannot stand in a loaded image.
 */
import { hex } from '../../base/text.ts';
import { type RelocationType, relocationType } from '../../codeobject/relocation-types.ts';
import { HsaError } from '../objects/status.ts';

export interface RelocationOperands {
  /** S: value of the symbol; 0 for an undefined weak one. */
  readonly symbol: bigint;
  /** A. */
  readonly addend: bigint;
  /** P: address of the field. */
  readonly place: bigint;
  /** B: difference between loaded and linked addresses. */
  readonly base: bigint;
}

/** How the value becomes the field: all 64 bits, one half of them, or fewer bits that must hold all of it. */
type Part = 'all' | 'low' | 'high' | 'unsigned' | 'signed';
type Formula = readonly [part: Part, value: (operands: RelocationOperands) => bigint];

const absolute = ({ symbol, addend }: RelocationOperands) => symbol + addend;
const relative = ({ symbol, addend, place }: RelocationOperands) => symbol + addend - place;

const FORMULAS: Readonly<Record<string, Formula>> = {
  R_AMDGPU_ABS32_LO: ['low', absolute],
  R_AMDGPU_ABS32_HI: ['high', absolute],
  R_AMDGPU_ABS64: ['all', absolute],
  R_AMDGPU_REL32: ['signed', relative],
  R_AMDGPU_REL64: ['all', relative],
  R_AMDGPU_ABS32: ['unsigned', absolute],
  R_AMDGPU_REL32_LO: ['low', relative],
  R_AMDGPU_REL32_HI: ['high', relative],
  R_AMDGPU_RELATIVE64: ['all', ({ base, addend }) => base + addend],
  // The displacement of a branch, in dwords from the instruction behind it.
  R_AMDGPU_REL16: ['signed', (operands) => (relative(operands) - 4n) / 4n],
};

/** The type, if a loaded image can hold it. Throws INVALID_CODE_OBJECT otherwise. */
export function loadableRelocation(number: number): RelocationType {
  const type = relocationType(number);
  if (type !== undefined && (type.name in FORMULAS || type.fieldBits === 0)) return type;
  const found = type === undefined ? `relocation type ${number}` : `relocation ${type.name} (${number})`;
  throw new HsaError('INVALID_CODE_OBJECT', `${found}, expected one that a loaded image can hold`, {
    hint: `these are ${Object.keys(FORMULAS).join(', ')}; link the object with ld.lld -shared first`,
  });
}

/** The unsigned contents of the field. Throws INVALID_CODE_OBJECT when the value does not fit. */
export function relocate({ name, fieldBits }: RelocationType, operands: RelocationOperands): bigint {
  const [part, formula] = FORMULAS[name]!;
  const value = formula(operands);
  const fits =
    part === 'signed'
      ? BigInt.asIntN(fieldBits, value) === value
      : part !== 'unsigned' || BigInt.asUintN(fieldBits, value) === value;
  if (!fits) throw new HsaError('INVALID_CODE_OBJECT', `${name}: ${hex(value)} does not fit ${fieldBits} bits`);
  return BigInt.asUintN(fieldBits, part === 'high' ? value >> 32n : value);
}
