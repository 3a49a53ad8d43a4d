/** Machine code to instructions, by tables of a target's rows. */
import { assert } from '../../../base/errors.ts';
import { type Encoding, encodingsOf } from './encodings.ts';
import {
  type EncodingGeneration,
  EXTENSION_MARKERS,
  type Format,
  type FormatName,
  formatsOf,
  generationOf,
} from './formats.ts';
import { Instruction } from './instruction.ts';
import type { Row } from './row.ts';
import type { Target } from './targets.ts';
import { Validity } from './validity.ts';

/** Formats whose opcodes share the table of another format, by their names. */
const TABLE_OF: Readonly<Partial<Record<FormatName, FormatName>>> = {
  VOP3B: 'VOP3',
  VOP3B_DPP: 'VOP3_DPP',
  VOP3B_DPP8: 'VOP3_DPP8',
  VOP3P_MAI: 'VOP3P',
};

type RowsOf = (format: FormatName) => readonly Row[];

/**
 * Formats whose rows may have encodings in the table of `name`: those that share it, and of VOP3 all with a
 * form there.
 */
function formatsInTable(name: FormatName, { vop3Base }: EncodingGeneration): readonly FormatName[] {
  // reason: the keys of both are names of formats
  const sharing = (Object.keys(TABLE_OF) as FormatName[]).filter((format) => TABLE_OF[format] === name);
  return [name, ...sharing, ...(name === 'VOP3' ? (Object.keys(vop3Base) as FormatName[]) : [])];
}

interface FormatTable {
  readonly format: Format;
  /** Whether the rows are entered, as they are when a dword has the format for the first time. */
  isFilled: boolean;
  /** By opcode. A slot of VOP3 may hold a VOP3B encoding, one of VOP3P a VOP3P_MAI encoding. */
  readonly encodings: (Encoding | undefined)[];
  /** Checks of the encodings, each built on its first use. */
  readonly validities: (Validity | undefined)[];
  /** Position of src0, where its value can announce a dword more. */
  readonly marker: { readonly word: number; readonly shift: number; readonly mask: number } | undefined;
}

function formatTable(format: Format): FormatTable {
  const src0 = format.fields.find(({ name }) => name === 'src0');
  const extensible = /^VOP(1|2|C|3|3P)$/.test(format.name) && src0;
  const marker = extensible ? { word: src0.low >> 5, shift: src0.low & 31, mask: 2 ** src0.width - 1 } : undefined;
  return { format, isFilled: false, encodings: [], validities: [], marker };
}

/** Why bytes are not an instruction. */
export type DecodeFailure = 'truncated' | 'unknown';

export class Decoder {
  readonly target: Target;
  readonly waveSize: 32 | 64;
  /** The primary formats, in the order to try them. */
  readonly #primary: readonly FormatTable[];
  /** Those that the nine top bits of a first dword allow, each worked out on its first use. */
  readonly #byTopBits: FormatTable[][] = [];
  readonly #extended = new Map<FormatName, FormatTable>();
  readonly #tables: ReadonlyMap<FormatName, FormatTable>;
  readonly #rowsOf: RowsOf;
  /** Formats whose rows the tables hold. Most code has few formats. */
  readonly #entered = new Set<FormatName>();
  readonly #wideLiterals: boolean;

  /** The tables hold rows that the instruction set above brings, and that are asked for by format. */
  constructor(target: Target, waveSize: 32 | 64, rowsOf: RowsOf) {
    this.target = target;
    this.waveSize = waveSize;
    this.#primary = formatsOf(target.families)
      // RDNA3 ISA 7.6: VOPD is legal in wave32 only.
      .filter((format) => !TABLE_OF[format.name] && !(format.name === 'VOPD' && waveSize === 64))
      .map(formatTable);
    const { extended, wideLiterals } = generationOf(target.families);
    for (const format of extended) if (!TABLE_OF[format.name]) this.#extended.set(format.name, formatTable(format));
    this.#wideLiterals = wideLiterals;
    const tables = new Map(this.#primary.map((table) => [table.format.name, table]));
    for (const [name, table] of this.#extended) tables.set(name, table);
    this.#tables = tables;
    this.#rowsOf = rowsOf;
  }

  /** Enters the rows that may have encodings in a table: those of its format, and all with a form in VOP3. */
  #fill(table: FormatTable): void {
    table.isFilled = true;
    for (const format of formatsInTable(table.format.name, generationOf(this.target.families))) {
      if (this.#entered.has(format)) continue;
      this.#entered.add(format);
      for (const row of this.#rowsOf(format)) {
        for (const encoding of encodingsOf(row, this.target)) this.#enter(encoding);
      }
    }
  }

  #enter(encoding: Encoding): void {
    const { row, format, opcode } = encoding;
    const name = TABLE_OF[format.name] ?? format.name;
    const table = this.#tables.get(name);
    assert(table, () => `format ${name} has a table`);
    const earlier = table.encodings[opcode];
    const { processor } = this.target;
    assert(!earlier, () => `${row.name} and ${earlier?.row.name} share opcode ${opcode} of ${name} on ${processor}`);
    table.encodings[opcode] = encoding;
  }

  /** Decodes at byte `offset` of `code`, which ends at `code.byteLength`. */
  decode(code: DataView, offset: number): Instruction | DecodeFailure {
    const available = code.byteLength - offset;
    if (available < 4) return 'truncated';
    const first = code.getUint32(offset, true);
    const table = this.#candidates(first >>> 23).find(({ format }) => ((first ^ format.value) & format.mask) === 0);
    if (!table) return 'unknown';
    if (!table.isFilled) this.#fill(table);
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

  #candidates(top: number): readonly FormatTable[] {
    this.#byTopBits[top] ??= this.#primary.filter(
      ({ format }) => (((top << 23) ^ format.value) & format.mask & 0xff800000) === 0,
    );
    return this.#byTopBits[top];
  }

  /** The table that the instruction's src0 refers to, if it does. */
  #extension({ format, marker }: FormatTable, words: readonly number[]): FormatTable | undefined {
    if (!marker) return undefined;
    const extension = EXTENSION_MARKERS[(words[marker.word]! >>> marker.shift) & marker.mask];
    return extension && this.#extended.get(`${format.name}_${extension}` as FormatName);
  }
}
