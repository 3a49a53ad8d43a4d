/** The encodings that a row has on a target. */
import { type EncodingGeneration, type Format, type FormatName, formatByName, generationOf } from './formats.ts';
import { is64Bit, type Row } from './row.ts';
import type { Target } from './targets.ts';

/** A row in one of its encodings. */
export interface Encoding {
  readonly row: Row;
  /** As the target calls it. */
  readonly name: string;
  readonly format: Format;
  readonly opcode: number;
}

/**
 * Extensions that a row has where its format has them. Only CDNA2 and CDNA3 have DPP with 64-bit operands.
 */
function hasExtension({ flags, format, operands }: Row, name: FormatName, { wideLaneForms }: Target): boolean {
  if (name.endsWith('_SDWA')) return !flags.noSdwa;
  if (name.startsWith('VOP3P')) return flags.vop3pDpp === true;
  if (name.startsWith('VOP3') && format === 'VOP3' && flags.noVop3Dpp) return false;
  return !flags.noDpp && (wideLaneForms || !operands.some(({ type }) => is64Bit(type)));
}

const extensionsByGeneration = new WeakMap<EncodingGeneration, Map<FormatName, readonly FormatName[]>>();

/** Formats that the src0 of a format announces. */
function extensionsOf(format: FormatName, generation: EncodingGeneration): readonly FormatName[] {
  const known = extensionsByGeneration.get(generation) ?? new Map<FormatName, readonly FormatName[]>();
  extensionsByGeneration.set(generation, known);
  let found = known.get(format);
  if (!found) {
    found = generation.extended.map(({ name }) => name).filter((name) => name.startsWith(`${format}_`));
    known.set(format, found);
  }
  return found;
}

/** All encodings of a row on a target; empty when the target lacks the instruction. */
export function encodingsOf(row: Row, target: Target): Encoding[] {
  const family = target.families.find((candidate) => row.opcodes[candidate] !== undefined);
  if (family === undefined) return [];
  const { name, opcode } = row.opcodes[family]!;
  if (opcode < 0) return [];
  const generation = generationOf(target.families);
  const encodings: Encoding[] = [];
  const add = (formatName: FormatName, code: number): void => {
    encodings.push({ row, name, format: formatByName(formatName, target.families), opcode: code });
    for (const each of extensionsOf(formatName, generation)) {
      if (!hasExtension(row, each, target)) continue;
      encodings.push({ row, name, format: formatByName(each, target.families), opcode: code });
    }
  };
  const wide = row.flags.vop3b ? 'VOP3B' : 'VOP3';
  add(row.format === 'VOP3' ? wide : row.format, opcode);
  const base = generation.vop3Base[row.format];
  if (base !== undefined && !row.flags.noVop3) add(wide, base + opcode);
  return encodings;
}
