/** What of an encoding, besides its operands, distinguishes handlers. */
import type { Format } from './encoding/formats.ts';
import type { Instruction } from './encoding/instruction.ts';
import type { Row } from './encoding/row.ts';

/** Fields that the record or the lane table carries; all others distinguish handlers. */
const PARAMETER_FIELDS = new Set(['dpp_ctrl', 'dpp8', 'row_mask', 'bank_mask', 'acc']);

/** Formats of one name have other fields in another generation. */
const modifierFields = new WeakMap<Format, Map<Row, readonly string[]>>();

/** The encoding's fields that are neither operands nor parameters, where they are not 0. */
export function modifierKey(instruction: Instruction): string {
  const { row, format } = instruction;
  let byRow = modifierFields.get(format);
  if (!byRow) {
    byRow = new Map();
    modifierFields.set(format, byRow);
  }
  let names = byRow.get(row);
  if (!names) {
    const operandFields = new Set(row.operands.map(({ field }) => field));
    names = format.fields
      .map(({ name }) => name)
      .filter((name) => !operandFields.has(name) && !PARAMETER_FIELDS.has(name) && !/^(v?s?dst|src\d)$/.test(name));
    byRow.set(row, names);
  }
  let key = '';
  for (const name of names) {
    const value = instruction.field(name);
    if (value !== 0) key += ` ${name}=${value}`;
  }
  return key;
}
