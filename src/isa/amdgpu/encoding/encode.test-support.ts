/** Machine code of one instruction for tests: from its text, or by its name and the fields of an encoding. */
import { assert } from '../../../base/errors.ts';
import { allRows } from '../rows/index.ts';
import { assembleInstruction } from '../text/assembler/assemble.ts';
import { encodeFields, type FieldValues } from './encode.ts';
import { encodingsOf } from './encodings.ts';
import type { FormatName } from './formats.ts';
import type { Row } from './row.ts';
import { targetFor } from './targets.ts';

export type { FieldValues } from './encode.ts';

/** Words of an instruction in assembler text. */
export function assemble(text: string, processor = 'gfx90a', waveSize: 32 | 64 = 64): readonly number[] {
  return assembleInstruction(text, { target: targetFor(processor), waveSize }).words;
}

/** Rows by their names and by what targets call them: some tests encode every value of an immediate. */
const rowsNamed = new Map<string, Set<Row>>();
for (const row of allRows()) {
  for (const name of [row.name, ...Object.values(row.opcodes).map((opcode) => opcode.name)]) {
    if (name === undefined) continue;
    const rows = rowsNamed.get(name) ?? new Set();
    rowsNamed.set(name, rows.add(row));
  }
}

/** Words of the instruction `name`, in its first encoding or in `formatName`. */
export function encode(name: string, values: FieldValues, formatName?: FormatName, processor = 'gfx90a'): number[] {
  const encodings = [...(rowsNamed.get(name) ?? [])].flatMap((row) => encodingsOf(row, targetFor(processor)));
  const encoding = encodings.find(({ format }) => formatName === undefined || format.name === formatName);
  assert(encoding, `${name} has an encoding ${formatName ?? ''}`);
  return encodeFields(encoding.format, encoding.opcode, values);
}
