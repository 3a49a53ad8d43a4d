/** What a modifier in the text of an instruction is, and the simple kinds. */

import type { Draft } from '../encoding/encode.ts';
import type { Instruction } from '../encoding/instruction.ts';
import type { TextReader } from './reader/text-reader.ts';

export interface Modifier {
  /** With its leading space; nothing when the fields are as without the modifier. */
  readonly print: (instruction: Instruction) => string;
  /**
   * Reads what follows the word `name` into the draft. False, with nothing read, when this modifier is not
   * called so.
   */
  readonly parse: (name: string, reader: TextReader, draft: Draft) => boolean;
  /** Sets the fields to what they are without the modifier, where that is not 0. */
  readonly preset?: (draft: Draft) => void;
  /** What to say when the instruction cannot do without it and does not have it. */
  readonly missing?: (draft: Draft) => string | undefined;
}

/** A bit; `no` in front of the name clears it. */
export const flag = (field: string, text?: string): Modifier => ({
  print: (instruction) => (instruction.field(field) ? ` ${text ?? instruction.fieldText(field)}` : ''),
  parse: (name, _reader, draft) => {
    const own = text ?? draft.fieldText(field);
    if (!draft.has(field) || (name !== own && name !== `no${own}`)) return false;
    draft.set(field, name === own ? 1 : 0);
    return true;
  },
});

/** `only` restricts a modifier to instructions that have it; the others neither print nor read it. */
export const only = (has: (instruction: Instruction) => boolean, modifier: Modifier): Modifier => {
  const { print, parse, preset } = modifier;
  return {
    print: (instruction) => (has(instruction) ? print(instruction) : ''),
    parse: (name, reader, draft) => has(draft) && parse(name, reader, draft),
    ...(preset && {
      preset: (draft: Draft): void => {
        if (has(draft)) preset(draft);
      },
    }),
  };
};

/** `text:NUMBER`, absent at 0. */
export const number = (field: string, text = field): Modifier => ({
  print: (instruction) => (instruction.field(field) ? ` ${text}:${instruction.field(field)}` : ''),
  parse: (name, reader, draft) => {
    if (name !== text || !draft.has(field)) return false;
    reader.expect(':');
    draft.set(field, reader.integerIn(0, draft.limit(field), text));
    return true;
  },
});

export const bitList = (name: string, bits: number, count: number): string =>
  ` ${name}:[${Array.from({ length: count }, (_, i) => (bits >> i) & 1).join(',')}]`;

/** `[1,0,1]`, the lowest bit first. */
export function parseBits(reader: TextReader, limit: number, what: string): number {
  reader.expect(':');
  return reader.list(limit, 1, what).reduce((bits, bit, i) => bits | (bit << i), 0);
}

export const operandSpec = ({ row }: Instruction, name: string) => row.operands.find(({ field }) => field === name);
