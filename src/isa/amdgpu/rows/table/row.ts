/** How the tables write a row: opcodes by family, operands as text, semantics, flags. */
import type { Family, FormatName } from '../../encoding/format.ts';
import { type Opcode, operands, type Row, type RowFlags } from '../../encoding/row.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';

/**
 * A plain number means the opcode of all gfx9 targets. With a name: the family calls the instruction so,
 * `{ gfx9: 54, gfx11: ['ds_load_b32', 54] }`.
 */
export type Opcodes = number | Readonly<Partial<Record<Family, number | readonly [name: string, opcode: number]>>>;

/** Opcodes whose name is that of the row everywhere. */
export type ByFamily = Readonly<Partial<Record<Family, number>>>;

/** The opcodes `distance` above. */
export const moved = (first: ByFamily, distance: number): ByFamily =>
  Object.fromEntries(Object.entries(first).map(([family, opcode]) => [family, opcode + distance]));

function opcodesByFamily(name: string, opcodes: Opcodes): Row['opcodes'] {
  if (typeof opcodes === 'number') return { gfx9: { name, opcode: opcodes } };
  const byFamily: { -readonly [F in Family]?: Opcode } = {};
  for (const [family, entry] of Object.entries(opcodes)) {
    // reason: the keys of Opcodes are families
    byFamily[family as Family] =
      typeof entry === 'number' ? { name, opcode: entry } : { name: entry[0], opcode: entry[1] };
  }
  return byFamily;
}

// biome-ignore lint/complexity/useMaxParams: the columns of the tables, in their order
export function row(
  format: FormatName,
  name: string,
  opcodes: Opcodes,
  operandText: string,
  semantics?: Semantics,
  flags: RowFlags = {},
): Row {
  return {
    name,
    format,
    opcodes: opcodesByFamily(name, opcodes),
    operands: operands(operandText),
    flags,
    ...(semantics && { semantics }),
  };
}

/** A row and the one of families that have the instruction in another format. */
export const alsoIn = (format: FormatName, original: Row, opcodes: Opcodes): Row[] => [
  original,
  { ...original, format, opcodes: opcodesByFamily(original.name, opcodes) },
];

/** Branches of gfx9 that keep what is left to do on a stack in SGPRs (CDNA2 ISA 4.6). */
export const FORK: RowFlags = {
  terminator: 'jump',
  writesExec: true,
  touches: { readsAnyOf: ['scalar'], writesAnyOf: ['scalar'] },
};
