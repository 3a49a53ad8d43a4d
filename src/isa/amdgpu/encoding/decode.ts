/** Machine code to rows. The tables of a target are built once, from the rows. */
import { assert } from '../../../base/errors.ts';
import { ROWS } from '../rows/index.ts';
import { is64Bit, type Row } from '../rows/row.ts';
import { EXTENSION_MARKERS, type Format, type FormatName, formatByName, formatsOf, generationOf } from './formats.ts';
import { Instruction } from './instruction.ts';
import { type Target, targetFor } from './targets.ts';
import { Validity } from './validity.ts';

/** Formats whose opcodes are among those of another. */
const TABLE_OF: Readonly<Partial<Record<FormatName, FormatName>>> = {
  VOP3B: 'VOP3',
  VOP3B_DPP: 'VOP3_DPP',
  VOP3B_DPP8: 'VOP3_DPP8',
  VOP3P_MAI: 'VOP3P',
};

/** A row in one of its encodings. */
export interface Encoding {
  readonly row: Row;
  /** As the target calls it. */
  readonly name: string;
  readonly format: Format;
  readonly opcode: number;
}

/** Extensions that a row has where its format has them. Only CDNA2 and CDNA3 have DPP with 64-bit operands. */
function hasExtension({ flags, format, operands }: Row, name: FormatName, { families }: Target): boolean {
  if (name.endsWith('_SDWA')) return !flags.noSdwa;
  if (name.startsWith('VOP3P')) return flags.vop3pDpp === true;
  if (name.startsWith('VOP3') && format === 'VOP3' && flags.noVop3Dpp) return false;
  return !flags.noDpp && (families.includes('gfx90a') || !operands.some(({ type }) => is64Bit(type)));
}

/** All encodings of a row on a target; empty when the target lacks the instruction. */
export function encodingsOf(row: Row, target: Target): Encoding[] {
  const family = target.families.find((candidate) => row.opcodes[candidate] !== undefined);
  if (family === undefined) return [];
  const { name, opcode } = row.opcodes[family]!;
  if (opcode < 0) return [];
  const { vop3Base, extended } = generationOf(target.families);
  const encodings: Encoding[] = [];
  const add = (formatName: FormatName, code: number): void => {
    for (const each of [formatName, ...extended.map((format) => format.name)]) {
      if (each !== formatName && !(each.startsWith(`${formatName}_`) && hasExtension(row, each, target))) continue;
      encodings.push({ row, name, format: formatByName(each, target.families), opcode: code });
    }
  };
  const wide = row.flags.vop3b ? 'VOP3B' : 'VOP3';
  add(row.format === 'VOP3' ? wide : row.format, opcode);
  const base = vop3Base[row.format];
  if (base !== undefined && !row.flags.noVop3) add(wide, base + opcode);
  return encodings;
}

interface FormatTable {
  readonly format: Format;
  /** By opcode. A slot of VOP3 may hold a VOP3B encoding, one of VOP3P a VOP3P_MAI encoding. */
  readonly encodings: (Encoding | undefined)[];
  /** Of the encodings, made when they are first met. */
  readonly validities: (Validity | undefined)[];
  /** Position of src0, where its value can announce a dword more. */
  readonly marker: { readonly word: number; readonly shift: number; readonly mask: number } | undefined;
}

function formatTable(format: Format): FormatTable {
  const src0 = format.fields.find(({ name }) => name === 'src0');
  const extensible = /^VOP(1|2|C|3|3P)$/.test(format.name) && src0;
  const marker = extensible ? { word: src0.low >> 5, shift: src0.low & 31, mask: 2 ** src0.width - 1 } : undefined;
  return { format, encodings: [], validities: [], marker };
}

/** Why bytes are not an instruction. */
export type DecodeFailure = 'truncated' | 'unknown';

export class Decoder {
  readonly target: Target;
  readonly waveSize: 32 | 64;
  /** Candidates by the nine top bits of the first dword, in the order to try them. */
  readonly #byTopBits: FormatTable[][] = [];
  readonly #extended = new Map<FormatName, FormatTable>();
  readonly #wideLiterals: boolean;

  constructor(target: Target, waveSize: 32 | 64) {
    this.target = target;
    this.waveSize = waveSize;
    const tables = formatsOf(target.families)
      // RDNA3 ISA 7.6: VOPD is legal in wave32 only.
      .filter((format) => !TABLE_OF[format.name] && !(format.name === 'VOPD' && waveSize === 64))
      .map(formatTable);
    for (let top = 0; top < 512; top++) {
      this.#byTopBits[top] = tables.filter(
        ({ format }) => (((top << 23) ^ format.value) & format.mask & 0xff800000) === 0,
      );
    }
    const { extended, wideLiterals } = generationOf(target.families);
    for (const format of extended) if (!TABLE_OF[format.name]) this.#extended.set(format.name, formatTable(format));
    this.#wideLiterals = wideLiterals;
    for (const row of ROWS) {
      for (const encoding of encodingsOf(row, target)) {
        const name = TABLE_OF[encoding.format.name] ?? encoding.format.name;
        const table: FormatTable | undefined =
          this.#extended.get(name) ?? tables.find(({ format }) => format.name === name);
        if (!table && name === 'VOPD') continue;
        assert(table, () => `format ${name} has a table`);
        const earlier = table.encodings[encoding.opcode];
        assert(
          !earlier,
          () =>
            `${row.name} and ${earlier?.row.name} share opcode ${encoding.opcode} of ${name} on ${target.processor}`,
        );
        table.encodings[encoding.opcode] = encoding;
      }
    }
  }

  /** Decodes at byte `offset` of `code`, which ends at `code.byteLength`. */
  decode(code: DataView, offset: number): Instruction | DecodeFailure {
    const available = code.byteLength - offset;
    if (available < 4) return 'truncated';
    const first = code.getUint32(offset, true);
    const table = this.#byTopBits[first >>> 23]!.find(({ format }) => ((first ^ format.value) & format.mask) === 0);
    if (!table) return 'unknown';
    const { opcode, opcodeHigh, sizeBytes } = table.format;
    if (available < sizeBytes) return 'truncated';
    const words = [first];
    for (let at = 4; at < sizeBytes; at += 4) words.push(code.getUint32(offset + at, true));
    const high = opcodeHigh ? ((words[opcodeHigh.low >> 5]! >>> (opcodeHigh.low & 31)) & 1) << opcode.width : 0;
    const number = high | ((first >>> opcode.low) & ((1 << opcode.width) - 1));
    const extension = this.#extension(table, words);
    // What has no operands may have any number in place of src0.
    const { encodings, validities } = extension?.encodings[number] ? extension : table;
    const encoding = encodings[number];
    if (!encoding) return 'unknown';
    const { format } = encoding;
    if (available < format.sizeBytes) return 'truncated';
    for (let at = sizeBytes; at < format.sizeBytes; at += 4) words.push(code.getUint32(offset + at, true));
    validities[number] ??= new Validity(encoding, this);
    const validity = validities[number];
    if (!validity.admits(words)) return 'unknown';
    let literal: number | undefined;
    if ((sizeBytes === 4 || this.#wideLiterals) && validity.namesLiteral(words)) {
      if (available < format.sizeBytes + 4) return 'truncated';
      literal = code.getUint32(offset + format.sizeBytes, true);
    }
    const instruction = new Instruction(encoding, words, literal, this);
    return validity.accepts(instruction) ? instruction : 'unknown';
  }

  /** The table that the instruction's src0 refers to, if it does. */
  #extension({ format, marker }: FormatTable, words: readonly number[]): FormatTable | undefined {
    if (!marker) return undefined;
    const extension = EXTENSION_MARKERS[(words[marker.word]! >>> marker.shift) & marker.mask];
    return extension && this.#extended.get(`${format.name}_${extension}` as FormatName);
  }
}

const decoders = new Map<string, Decoder>();

/** The decoder of a processor, built on first use. Throws UNSUPPORTED for an unknown processor. */
export function decoderFor(processor: string, waveSize: 32 | 64): Decoder {
  const key = `${processor} ${waveSize}`;
  let decoder = decoders.get(key);
  if (!decoder) {
    decoder = new Decoder(targetFor(processor), waveSize);
    decoders.set(key, decoder);
  }
  return decoder;
}
