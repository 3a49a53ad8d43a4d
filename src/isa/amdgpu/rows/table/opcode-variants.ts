/**
 * Opcodes of instructions that come in variants: as far apart in every family, with names that change alike.
 */
import type { Opcodes } from './row.ts';

/**
 * Each opcode `step` further on. Families that rename the instruction have the name that `rename` makes of
 * theirs; what a family lacks stays out of it.
 */
export function variant(opcodes: Opcodes, step: number, rename: (name: string) => string = (name) => name): Opcodes {
  if (typeof opcodes === 'number') return opcodes + step;
  const entries = Object.entries(opcodes).map(([family, entry]) => {
    if (typeof entry === 'number') return [family, entry < 0 ? entry : entry + step];
    return [family, [rename(entry[0]), entry[1] + step]];
  });
  return Object.fromEntries(entries);
}
