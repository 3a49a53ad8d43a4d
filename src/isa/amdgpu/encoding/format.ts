/** What an encoding format is, and how formats.ts writes the formats down. */
import { assert } from '../../../base/errors.ts';

/**
 * Groups of targets with the same instruction encodings; a target searches its own first, then its ancestors.
 */
export type Family =
  | 'gfx9'
  | 'gfx900'
  | 'gfx904'
  | 'gfx906'
  | 'gfx908'
  | 'gfx90a'
  | 'gfx940'
  | 'gfx10'
  | 'gfx101'
  | 'gfx1011'
  | 'gfx1013'
  | 'gfx11'
  | 'gfx115'
  | 'gfx12';

/** The table of the first of the families (own first) that has one. */
export function ofFamily<T>(tables: Readonly<Partial<Record<Family, T>>>, families: readonly Family[]): T {
  const found = families.map((family) => tables[family]).find((table) => table !== undefined);
  assert(found !== undefined, () => `a table for ${families.join(', ')}`);
  return found;
}

export interface Field {
  readonly name: string;
  /** How LLVM spells it where that is not its name. */
  readonly text?: string;
  /** Lowest bit, counted over the whole instruction, first dword first; a field does not cross dwords. */
  readonly low: number;
  readonly width: number;
}

export type FormatName =
  | 'SOP1'
  | 'SOP2'
  | 'SOPC'
  | 'SOPK'
  | 'SOPP'
  | 'SMEM'
  | 'VOP1'
  | 'VOP2'
  | 'VOPC'
  | 'VOP3'
  | 'VOP3B'
  | 'VOP3P'
  | 'VOP3P_MAI'
  | 'DS'
  | 'FLAT'
  | 'GLOBAL'
  | 'SCRATCH'
  | 'MUBUF'
  | 'VOP1_SDWA'
  | 'VOP2_SDWA'
  | 'VOPC_SDWA'
  | 'VOP1_DPP'
  | 'VOP2_DPP'
  | 'VOPC_DPP'
  | 'VOP3_DPP'
  | 'VOP3B_DPP'
  | 'VOP3P_DPP'
  | 'VOP1_DPP8'
  | 'VOP2_DPP8'
  | 'VOPC_DPP8'
  | 'VOP3_DPP8'
  | 'VOP3B_DPP8'
  | 'VOP3P_DPP8'
  | 'VOPD'
  | 'VINTERP'
  | 'LDSDIR'
  | 'MTBUF'
  | 'MIMG'
  | 'VSAMPLE'
  | 'EXP';

/** How a vector instruction is extended by a dword, which a value of its src0 field announces. */
export type Extension = 'SDWA' | 'DPP' | 'DPP8';

export interface Format {
  readonly name: FormatName;
  readonly sizeBytes: 4 | 8 | 12;
  /** Bits of the first dword that identify the format. */
  readonly mask: number;
  readonly value: number;
  readonly opcode: Field;
  /** The highest bit of the opcode, where it stands apart. */
  readonly opcodeHigh?: Field;
  readonly fields: readonly Field[];
  /** The value in place of src0 that announces the added dword. */
  readonly marker?: { readonly low: number; readonly value: number };
}

/**
 * `name:high:low` or `name:bit`, separated by spaces, `name=text:bit` with LLVM's spelling; bits from 32 on
 * are in the second dword.
 */
export function fields(list: string): Field[] {
  return list.split(' ').map((part) => {
    const [names, high, low] = part.split(':');
    const [name, text] = names!.split('=');
    const lowBit = Number(low ?? high);
    return { name: name!, low: lowBit, width: Number(high) - lowBit + 1, ...(text !== undefined && { text }) };
  });
}

export function format(
  name: FormatName,
  sizeBytes: 4 | 8 | 12,
  pattern: string,
  opcode: string,
  fieldText: string,
): Format {
  const bits = pattern.padEnd(32, '.');
  const [low, high] = fields(opcode);
  return {
    name,
    sizeBytes,
    mask: Number.parseInt(bits.replaceAll('0', '1').replaceAll('.', '0'), 2) >>> 0,
    value: Number.parseInt(bits.replaceAll('.', '0'), 2) >>> 0,
    opcode: low!,
    ...(high && { opcodeHigh: high }),
    fields: fields(fieldText),
  };
}
