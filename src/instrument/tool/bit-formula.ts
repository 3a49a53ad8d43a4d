/** Formulas of masks, bit by bit: which bits of the masks that they are made of make a bit 1. */

/** Functions of so many masks have a table that fits into 32 bits. */
const MOST_ATOMS = 5;

export type AtomId = number;

export interface BitFormula {
  /** Masks that it depends on, in ascending order. */
  readonly atoms: readonly AtomId[];
  /** Bit `i`: the result where the atoms have the bits of `i`, the first one the lowest. */
  readonly table: number;
}

export const ZEROS: BitFormula = { atoms: [], table: 0 };
export const ONES: BitFormula = { atoms: [], table: 1 };

export const formulaOf = (atom: AtomId): BitFormula => ({ atoms: [atom], table: 0b10 });

const OPERATIONS = {
  and: (a: number, b: number) => a & b,
  or: (a: number, b: number) => a | b,
  xor: (a: number, b: number) => a ^ b,
} as const;
export type BitOperation = keyof typeof OPERATIONS;

/** Undefined where it depends on too many masks. */
export function combine(operation: BitOperation, a: BitFormula, b: BitFormula): BitFormula | undefined {
  const atoms = [...new Set([...a.atoms, ...b.atoms])].sort((one, other) => one - other);
  if (atoms.length > MOST_ATOMS) return undefined;
  const bit = OPERATIONS[operation];
  const rowOf = makeRow(atoms);
  const results = Array.from({ length: 1 << atoms.length }, (_, i) => bit(rowOf(a, i), rowOf(b, i)));
  const matters = atoms.filter((_, k) => results.some((result, i) => result !== results[i ^ (1 << k)]));
  const kept = matters.map((atom) => atoms.indexOf(atom));
  let table = 0;
  for (let i = 0; i < 1 << kept.length; i++) {
    const row = kept.reduce((sum, place, k) => sum | (((i >> k) & 1) << place), 0);
    table |= results[row]! << i;
  }
  return { atoms: matters, table };
}

/** What a formula gives where `atoms` have the bits of a number. */
const makeRow =
  (atoms: readonly AtomId[]) =>
  (bits: BitFormula, i: number): number =>
    (bits.table >>> bits.atoms.reduce((row, atom, k) => row | (((i >> atoms.indexOf(atom)) & 1) << k), 0)) & 1;

export const formulaKey = ({ atoms, table }: BitFormula): string => `${atoms}:${table >>> 0}`;
