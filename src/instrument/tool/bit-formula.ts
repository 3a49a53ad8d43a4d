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
  const atoms = isSubset(b.atoms, a.atoms) ? a.atoms : [...new Set([...a.atoms, ...b.atoms])].sort(ascending);
  if (atoms.length > MOST_ATOMS) return undefined;
  const table = OPERATIONS[operation](tableOver(atoms, a), tableOver(atoms, b));
  const matters = atoms.filter((_, place) => dependsOn(table, place, atoms.length));
  if (matters.length === atoms.length) return { atoms, table };
  const places = matters.map((atom) => atoms.indexOf(atom));
  let smaller = 0;
  for (let row = 0; row < 1 << places.length; row++) smaller |= ((table >>> spread(row, places)) & 1) << row;
  return { atoms: matters, table: smaller };
}

export const isSameFormula = (a: BitFormula, b: BitFormula): boolean =>
  a === b || (a.table === b.table && a.atoms.length === b.atoms.length && isSubset(a.atoms, b.atoms));

export const formulaKey = ({ atoms, table }: BitFormula): string => `${atoms}:${table >>> 0}`;

const ascending = (one: number, other: number): number => one - other;

const isSubset = (some: readonly AtomId[], all: readonly AtomId[]): boolean =>
  some === all || some.every((atom) => all.includes(atom));

/** The table of a formula as one of more masks, all of its own among them. */
function tableOver(atoms: readonly AtomId[], { atoms: own, table }: BitFormula): number {
  if (own.length === atoms.length) return table;
  const places = own.map((atom) => atoms.indexOf(atom));
  let larger = 0;
  for (let row = 0; row < 1 << atoms.length; row++) larger |= ((table >>> gather(row, places)) & 1) << row;
  return larger;
}

/** Whether it matters in any row what bit `place` of the row is. */
function dependsOn(table: number, place: number, count: number): boolean {
  for (let row = 0; row < 1 << count; row++) {
    const other = row | (1 << place);
    if (((table >>> row) ^ (table >>> other)) & 1) return true;
  }
  return false;
}

/** The number whose bits at `places` are those of a number, one by one. */
function spread(bits: number, places: readonly number[]): number {
  let spreadBits = 0;
  for (let i = 0; i < places.length; i++) spreadBits |= ((bits >> i) & 1) << places[i]!;
  return spreadBits;
}

/** The bits at `places`, one by one. */
function gather(bits: number, places: readonly number[]): number {
  let gathered = 0;
  for (let i = 0; i < places.length; i++) gathered |= ((bits >> places[i]!) & 1) << i;
  return gathered;
}
