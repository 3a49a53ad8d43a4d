/** Descriptions of instructions as text. */
import { hex } from '../../../base/text.ts';
import type { Field } from '../encoding/formats.ts';
import type { Instruction } from '../encoding/instruction.ts';
import { formatInstruction } from '../text/disassemble.ts';
import type { DescribedEncoding, DescribedOperand, Description } from './describe.ts';

/** Long meanings, of matrix products say, are cut. */
const MAX_MEANING_LINES = 40;

const bits = ({ low, width }: Field): string => (width === 1 ? `[${low}]` : `[${low + width - 1}:${low}]`);

/** The first nine or more bits, fixed ones as digits. */
function pattern({ mask, value }: DescribedEncoding): string {
  let text = '';
  for (let bit = 31; bit >= 0; bit--) text += (mask >>> bit) & 1 ? (value >>> bit) & 1 : '.';
  return text;
}

function encodingText(encoding: DescribedEncoding): string {
  const { format, opcode, sizeBytes, opcodeField, fields } = encoding;
  const layout = [...fields].sort((a, b) => a.low - b.low).map((field) => `${field.name}${bits(field)}`);
  const lines = [`  ${format.padEnd(12)} opcode ${hex(opcode)}, ${sizeBytes} bytes, ${pattern(encoding)}`];
  let line = `    op${bits(opcodeField)}`;
  for (const part of layout) {
    if (line.length + part.length + 1 > 100) {
      lines.push(line);
      line = '   ';
    }
    line += ` ${part}`;
  }
  return [...lines, line].join('\n');
}

const ROLES = { read: 'read', write: 'written', readwrite: 'read and written' } as const;
const EFFECTS = [
  ['reads', 'readsState'],
  ['writes', 'writesState'],
  ['memory', 'memory'],
  ['raises', 'counters'],
] as const;
const CONDITIONS = { glc: ' when glc is set', vgpr: ' unless lds is set' } as const;

function operandText({ field, type, access, file, widthBits, writtenIf }: DescribedOperand): string {
  const width = widthBits > 0 ? `${widthBits} bits` : 'by addressing mode';
  const role = `${ROLES[access]}${writtenIf ? CONDITIONS[writtenIf] : ''}`;
  return `  ${field.padEnd(8)} ${type.padEnd(8)} ${width.padEnd(10)} ${file}, ${role}`;
}

function descriptionText(description: Description, processors: readonly string[]): string {
  const { name, rowName, encodings, operands, flags, exactness, effects, meaning, manual } = description;
  const set = Object.entries(flags).filter(([flag]) => flag !== 'approximate' && flag !== 'touches');
  const touched = EFFECTS.flatMap(([what, key]) =>
    effects[key].length > 0 ? [`  ${what.padEnd(8)} ${effects[key].join(', ')}`] : [],
  );
  const lines = [
    `${name} (${processors.join(', ')})${rowName === name ? '' : `, ${rowName} in earlier generations`}`,
    ...(manual === undefined ? [] : [`manual: ${manual}`]),
    `execution: ${exactness}${flags.approximate === undefined ? '' : `: ${flags.approximate}`}`,
    'encodings:',
    ...encodings.map(encodingText),
    ...(operands.length > 0 ? ['operands:', ...operands.map(operandText)] : []),
    ...(set.length > 0
      ? [`flags: ${set.map(([flag, value]) => (value === true ? flag : `${flag}=${value}`)).join(', ')}`]
      : []),
    ...(touched.length > 0 ? ['effects besides operands:', ...touched] : []),
    ...(meaning.length > 0 ? ['meaning:', ...meaning.slice(0, MAX_MEANING_LINES).map((line) => `  ${line}`)] : []),
    ...(meaning.length > MAX_MEANING_LINES ? [`  ... and ${meaning.length - MAX_MEANING_LINES} lines more`] : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Descriptions one after the other; targets with equal ones share it. */
export function descriptionsText(descriptions: readonly Description[]): string {
  const alike = Map.groupBy(descriptions, ({ processor: _, ...rest }) => JSON.stringify(rest));
  return [...alike.values()]
    .map((group) =>
      descriptionText(
        group[0]!,
        group.map(({ processor }) => processor),
      ),
    )
    .join('\n');
}

/** One field of a decoded instruction. */
export interface DecodedField {
  readonly name: string;
  readonly bits: string;
  readonly value: number;
}

/** The fields of an encoding with their values, lowest first. */
export const fieldsOf = (instruction: Instruction): DecodedField[] =>
  [...instruction.format.fields]
    .sort((a, b) => a.low - b.low)
    .map((field) => ({ name: field.name, bits: bits(field), value: instruction.field(field.name) }));

/** Text, bytes and fields of a decoded instruction. `bytes`: in memory order. */
export function decodedText(instruction: Instruction, bytes: Uint8Array): string {
  const words = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const fields = fieldsOf(instruction).map(({ name, bits: at, value }) => `  ${name}${at} = ${hex(value)}\n`);
  const literal = instruction.literal === undefined ? '' : `  literal = ${hex(instruction.literal)}\n`;
  return `${formatInstruction(instruction)}\n  ${instruction.format.name}, ${bytes.length} bytes: ${words}\n${fields.join('')}${literal}`;
}
