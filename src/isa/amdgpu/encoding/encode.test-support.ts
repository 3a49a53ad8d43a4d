/** Machine code of one instruction for tests: from its text, or by its name and the fields of an encoding. */
import { assert } from '../../../base/errors.ts';
import { ROWS } from '../rows/index.ts';
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

/** Words of the instruction `name`, in its first encoding or in `formatName`. */
export function encode(name: string, values: FieldValues, formatName?: FormatName, processor = 'gfx90a'): number[] {
  const isCalledSo = (row: Row): boolean => Object.values(row.opcodes).some((opcode) => opcode.name === name);
  const encodings = ROWS.filter((row) => row.name === name || isCalledSo(row)).flatMap((row) =>
    encodingsOf(row, targetFor(processor)),
  );
  const encoding = encodings.find(({ format }) => formatName === undefined || format.name === formatName);
  assert(encoding, `${name} has an encoding ${formatName ?? ''}`);
  return encodeFields(encoding.format, encoding.opcode, values);
}
