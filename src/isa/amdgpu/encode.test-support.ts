/** Machine code from field values, for tests. */
import { assert } from '../../base/errors.ts';
import { encodingsOf } from './decode.ts';
import { type Format, type FormatName, SRC0_DPP, SRC0_SDWA } from './formats.ts';
import { ROWS } from './instructions/index.ts';
import { targetFor } from './targets.ts';

/** Field values by name; a value is cut to its field. */
export type FieldValues = Readonly<Record<string, number>>;

export function encodeFields(format: Format, opcode: number, values: FieldValues): [number, number] {
  const marker = format.name.endsWith('_SDWA') ? SRC0_SDWA : format.name.endsWith('_DPP') ? SRC0_DPP : 0;
  const words: [number, number] = [format.value | marker, 0];
  const put = (low: number, width: number, value: number): void => {
    words[low >> 5]! |= (value & (2 ** width - 1)) << (low & 31);
  };
  put(format.opcode.low, format.opcode.width, opcode);
  for (const [name, value] of Object.entries(values)) {
    const field = format.fields.find((candidate) => candidate.name === name);
    assert(field, `${format.name} has field ${name}`);
    put(field.low, field.width, value);
  }
  return [words[0] >>> 0, words[1] >>> 0];
}

/** Words of the instruction `name`, in its first encoding or in `formatName`. */
export function encode(name: string, values: FieldValues, formatName?: FormatName, processor = 'gfx90a'): number[] {
  const encodings = ROWS.filter((row) => row.name === name).flatMap((row) => encodingsOf(row, targetFor(processor)));
  const encoding = encodings.find(({ format }) => formatName === undefined || format.name === formatName);
  assert(encoding, `${name} has an encoding ${formatName ?? ''}`);
  const words = encodeFields(encoding.format, encoding.opcode, values);
  return encoding.format.sizeBytes === 4 ? [words[0]] : words;
}
