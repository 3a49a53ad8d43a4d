/**
 * Relocation records of AMD GPU code objects (LLVM AMDGPU usage, "Relocation Records"). S = address of the symbol, A = addend,
 * P = address of the place, B = load base, G + GOT = address of the symbol's slot in the global offset table.
 */
export interface RelocationType {
  name: string;
  /** R_AMDGPU_* number. */
  number: number;
  /** Width of the patched field; 0 when nothing is patched. */
  fieldBits: 0 | 16 | 32 | 64;
  calculation: string;
}

const row = (
  number: number,
  name: string,
  fieldBits: RelocationType['fieldBits'],
  calculation: string,
): RelocationType => ({
  number,
  name: `R_AMDGPU_${name}`,
  fieldBits,
  calculation,
});

export const RELOCATION_TYPES: readonly RelocationType[] = [
  row(0, 'NONE', 0, 'none'),
  row(1, 'ABS32_LO', 32, '(S + A) & 0xffffffff'),
  row(2, 'ABS32_HI', 32, '(S + A) >> 32'),
  row(3, 'ABS64', 64, 'S + A'),
  row(4, 'REL32', 32, 'S + A - P'),
  row(5, 'REL64', 64, 'S + A - P'),
  row(6, 'ABS32', 32, 'S + A'),
  row(7, 'GOTPCREL', 32, 'G + GOT + A - P'),
  row(8, 'GOTPCREL32_LO', 32, '(G + GOT + A - P) & 0xffffffff'),
  row(9, 'GOTPCREL32_HI', 32, '(G + GOT + A - P) >> 32'),
  row(10, 'REL32_LO', 32, '(S + A - P) & 0xffffffff'),
  row(11, 'REL32_HI', 32, '(S + A - P) >> 32'),
  row(13, 'RELATIVE64', 64, 'B + A'),
  row(14, 'REL16', 16, '((S + A - P) - 4) / 4'),
];

const byNumber = new Map(RELOCATION_TYPES.map((type) => [type.number, type]));

/** The relocation type with this number. */
export function relocationType(number: number): RelocationType | undefined {
  return byNumber.get(number);
}
