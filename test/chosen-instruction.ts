/**
 * `WAVEWRIGHT_INSTRUCTION=NAME` leaves tests that go through all rows with the rows of one instruction:
 * tools/check-instruction.ts.
 */
import type { Row } from '../src/isa/amdgpu/encoding/row.ts';

export const CHOSEN_INSTRUCTION = process.env['WAVEWRIGHT_INSTRUCTION'];

/** All names of a row: those of its targets, and its own. */
export const namesOf = ({ name, opcodes }: Row): Set<string> =>
  new Set([name, ...Object.values(opcodes).map((opcode) => opcode.name)]);

export const isChosen = (row: Row): boolean => CHOSEN_INSTRUCTION === undefined || namesOf(row).has(CHOSEN_INSTRUCTION);
