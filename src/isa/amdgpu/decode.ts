/** Machine code to rows. The tables of a target are built once, from the rows. */
import { assert } from '../../base/errors.ts';
import {
  EXTENDED_FORMATS,
  type Format,
  type FormatName,
  formatByName,
  formatsOf,
  SRC_LITERAL,
  SRC0_DPP,
  SRC0_SDWA,
} from './formats.ts';
import { Instruction } from './instruction.ts';
import { ROWS } from './instructions/index.ts';
import type { Row } from './row.ts';
import { type Target, targetFor } from './targets.ts';

/** Where an opcode of the primary format appears in VOP3 (CDNA2 ISA 13.3.4). */
const VOP3_BASE: Readonly<Partial<Record<FormatName, number>>> = { VOPC: 0, VOP2: 0x100, VOP1: 0x140 };
const SOURCE_FORMATS = new Set<FormatName>(['SOP1', 'SOP2', 'SOPC', 'VOP1', 'VOP2', 'VOPC']);

/** Formats whose opcodes are among those of another. */
const TABLE_OF: Readonly<Partial<Record<FormatName, FormatName>>> = { VOP3B: 'VOP3', VOP3P_MAI: 'VOP3P' };

/** A row in one of its encodings. */
export interface Encoding {
  readonly row: Row;
  readonly format: Format;
  readonly opcode: number;
}

/** All encodings of a row on a target; empty when the target lacks the instruction. */
export function encodingsOf(row: Row, target: Target): Encoding[] {
  const family = target.families.find((candidate) => row.opcodes[candidate] !== undefined);
  if (family === undefined) return [];
  const opcode = row.opcodes[family]!;
  if (opcode < 0) return [];
  const at = (name: FormatName, code: number): Encoding => ({
    row,
    format: formatByName(name, target.families),
    opcode: code,
  });
  const encodings = [at(row.format === 'VOP3' && row.flags.vop3b ? 'VOP3B' : row.format, opcode)];
  const base = VOP3_BASE[row.format];
  if (base !== undefined) {
    if (!row.flags.noVop3) encodings.push(at(row.flags.vop3b ? 'VOP3B' : 'VOP3', base + opcode));
    if (!row.flags.noSdwa) encodings.push(at(`${row.format}_SDWA` as FormatName, opcode));
    if (!row.flags.noDpp && row.format !== 'VOPC') encodings.push(at(`${row.format}_DPP` as FormatName, opcode));
  }
  return encodings;
}

interface FormatTable {
  readonly format: Format;
  /** By opcode. A slot of VOP3 may hold a VOP3B encoding, one of VOP3P a VOP3P_MAI encoding. */
  readonly encodings: (Encoding | undefined)[];
}

/** Why bytes are not an instruction. */
export type DecodeFailure = 'truncated' | 'unknown';

export class Decoder {
  readonly target: Target;
  readonly waveSize: 32 | 64;
  /** Candidates by the nine top bits of the first dword, in the order to try them. */
  readonly #byTopBits: FormatTable[][] = [];
  readonly #extended = new Map<FormatName, FormatTable>();

  constructor(target: Target, waveSize: 32 | 64) {
    this.target = target;
    this.waveSize = waveSize;
    const tables = formatsOf(target.families)
      .filter((format) => !TABLE_OF[format.name])
      .map((format) => ({ format, encodings: [] }));
    for (let top = 0; top < 512; top++) {
      this.#byTopBits[top] = tables.filter(
        ({ format }) => (((top << 23) ^ format.value) & format.mask & 0xff800000) === 0,
      );
    }
    for (const format of Object.values(EXTENDED_FORMATS)) this.#extended.set(format.name, { format, encodings: [] });
    for (const row of ROWS) {
      for (const encoding of encodingsOf(row, target)) {
        const name = TABLE_OF[encoding.format.name] ?? encoding.format.name;
        const table: FormatTable | undefined =
          this.#extended.get(name) ?? tables.find(({ format }) => format.name === name);
        assert(table, `format ${name} has a table`);
        const earlier = table.encodings[encoding.opcode];
        assert(
          !earlier,
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
    const { opcode } = table.format;
    const code0 = (first >>> opcode.low) & ((1 << opcode.width) - 1);
    let encoding = table.encodings[code0];
    let literal: number | undefined;
    let second = 0;
    const source0 = first & (table.format.name.startsWith('V') ? 0x1ff : 0xff);
    if (
      table.format.sizeBytes === 4 &&
      table.format.name.startsWith('V') &&
      (source0 === SRC0_SDWA || source0 === SRC0_DPP)
    ) {
      const suffix = source0 === SRC0_SDWA ? '_SDWA' : '_DPP';
      encoding = this.#extended.get(`${table.format.name}${suffix}` as FormatName)?.encodings[code0];
    }
    if (!encoding) return available < table.format.sizeBytes ? 'truncated' : 'unknown';
    const { format, row } = encoding;
    if (format.sizeBytes === 8) {
      if (available < 8) return 'truncated';
      second = code.getUint32(offset + 4, true);
    } else if (this.#hasLiteral(encoding, first)) {
      if (available < 8) return 'truncated';
      literal = code.getUint32(offset + 4, true);
    }
    return new Instruction(row, format, [first, second], literal, this.waveSize, this.target.families);
  }

  #hasLiteral({ row, format }: Encoding, first: number): boolean {
    if (row.operands.some((spec) => spec.type === 'literal32')) return true;
    if (!SOURCE_FORMATS.has(format.name)) return false;
    if (format.name.startsWith('V')) return (first & 0x1ff) === SRC_LITERAL;
    if ((first & 0xff) === SRC_LITERAL && row.operands.some((spec) => spec.field === 'ssrc0')) return true;
    return (
      ((first >>> 8) & 0xff) === SRC_LITERAL &&
      row.operands.some((spec) => spec.field === 'ssrc1' && spec.file !== 'immediate')
    );
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
