/**
 * Relocation records of AMD GPU code objects (LLVM AMDGPU usage, "Relocation Records"). S = address of the
 * symbol, A = addend, P = address of the place, B = load base, G + GOT = address of the symbol's slot in the
 * global offset table.
 */
export interface RelocationType {
  name: string;
  /** R_AMDGPU_* number. */
  number: number;
  /** Width of the patched field; 0 when nothing is patched. */
  fieldBits: 0 | 16 | 32 | 64;
  calculation: string;
}

/** The numbers that ELF files name the records by. */
export const R_AMDGPU = {
  NONE: 0,
  ABS32_LO: 1,
  ABS32_HI: 2,
  ABS64: 3,
  REL32: 4,
  REL64: 5,
  ABS32: 6,
  GOTPCREL: 7,
  GOTPCREL32_LO: 8,
  GOTPCREL32_HI: 9,
  REL32_LO: 10,
  REL32_HI: 11,
  RELATIVE64: 13,
  REL16: 14,
} as const;

const row = (
  name: keyof typeof R_AMDGPU,
  fieldBits: RelocationType['fieldBits'],
  calculation: string,
): RelocationType => ({
  number: R_AMDGPU[name],
  name: `R_AMDGPU_${name}`,
  fieldBits,
  calculation,
});

export const RELOCATION_TYPES: readonly RelocationType[] = [
  row('NONE', 0, 'none'),
  row('ABS32_LO', 32, '(S + A) & 0xffffffff'),
  row('ABS32_HI', 32, '(S + A) >> 32'),
  row('ABS64', 64, 'S + A'),
  row('REL32', 32, 'S + A - P'),
  row('REL64', 64, 'S + A - P'),
  row('ABS32', 32, 'S + A'),
  row('GOTPCREL', 32, 'G + GOT + A - P'),
  row('GOTPCREL32_LO', 32, '(G + GOT + A - P) & 0xffffffff'),
  row('GOTPCREL32_HI', 32, '(G + GOT + A - P) >> 32'),
  row('REL32_LO', 32, '(S + A - P) & 0xffffffff'),
  row('REL32_HI', 32, '(S + A - P) >> 32'),
  row('RELATIVE64', 64, 'B + A'),
  row('REL16', 16, '((S + A - P) - 4) / 4'),
];

const byNumber = new Map(RELOCATION_TYPES.map((type) => [type.number, type]));

/** The relocation type with this number. */
export function relocationType(number: number): RelocationType | undefined {
  return byNumber.get(number);
}
