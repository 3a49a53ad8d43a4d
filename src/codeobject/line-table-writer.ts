/**
 * Source lines for code that was laid out anew: a line table and the unit that leads readers to it (DWARF 4,
 * sections 6.2 and 7.5). The counterpart of line-table.ts.
 */
import { concatenate } from '../base/concatenate.ts';
import { signed, unsigned } from '../base/leb128.ts';
import type { SourceLine } from './line-table.ts';

/** From an address on; undefined: code of no line. */
export interface LineRow {
  readonly address: number;
  readonly source: SourceLine | undefined;
}

export interface LineSections {
  readonly lines: Uint8Array;
  readonly info: Uint8Array;
  readonly abbreviations: Uint8Array;
}

const VERSION = 4;
const [LINE_BASE, LINE_RANGE, OPCODE_BASE] = [1, 1, 10];
/** Arguments of the standard opcodes. */
const OPCODE_LENGTHS = [0, 1, 1, 1, 1, 0, 0, 0, 1];
const [COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, SET_COLUMN] = [1, 2, 3, 4, 5];
const [END_SEQUENCE, SET_ADDRESS] = [1, 2];
const INSTRUCTION_BYTES = 4;
/**
 * DW_TAG_compile_unit without children: DW_AT_name, DW_AT_stmt_list, DW_AT_low_pc, DW_AT_high_pc by their
 * forms.
 */
const ABBREVIATION = [1, 0x11, 0, 0x03, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0, 0, 0];
const UNIT_NAME = 'wavewright';

/**
 * What is to be appended to `.debug_line`, `.debug_info` and `.debug_abbrev`, which have so many bytes
 * already. `rows` stand in the order of their addresses; the code ends at `end`.
 */
export function encodeLineTable(
  rows: readonly LineRow[],
  end: number,
  before: { readonly lineBytes: number; readonly abbreviationBytes: number },
): LineSections {
  const start = rows[0]?.address ?? end;
  const unit = concatenate([
    Uint8Array.of(VERSION, 0),
    words(before.abbreviationBytes),
    Uint8Array.of(8, 1),
    text(UNIT_NAME),
    words(before.lineBytes),
    longs(start, end - start),
  ]);
  return {
    lines: lineProgram(rows, start, end),
    info: concatenate([words(unit.length), unit]),
    abbreviations: Uint8Array.from(ABBREVIATION),
  };
}

function lineProgram(rows: readonly LineRow[], start: number, end: number): Uint8Array {
  const files = new Map<string, number>();
  const body: number[] = [0, 9, SET_ADDRESS, ...longs(start)];
  let [address, file, line, column] = [start, 1, 1, 0];
  const advance = (to: number): void => {
    if (to > address) body.push(ADVANCE_PC, ...unsigned((to - address) / INSTRUCTION_BYTES));
    address = to;
  };
  for (const { address: place, source } of rows) {
    if (source && !files.has(source.file)) files.set(source.file, files.size + 1);
    // Line 0 stands for code that belongs to no line, of whatever file.
    const next = source
      ? { file: files.get(source.file)!, line: source.line, column: source.column }
      : { file, line: 0, column: 0 };
    advance(place);
    if (next.file !== file) body.push(SET_FILE, ...unsigned(next.file));
    if (next.column !== column) body.push(SET_COLUMN, ...unsigned(next.column));
    if (next.line !== line) body.push(ADVANCE_LINE, ...signed(next.line - line));
    body.push(COPY);
    ({ file, line, column } = next);
  }
  advance(end);
  body.push(0, 1, END_SEQUENCE);
  const names = [...files.keys()].map((name) => concatenate([text(name), Uint8Array.of(0, 0, 0)]));
  const header = concatenate([
    Uint8Array.of(INSTRUCTION_BYTES, 1, 1, LINE_BASE, LINE_RANGE, OPCODE_BASE, ...OPCODE_LENGTHS),
    // No folders: names are whole paths.
    Uint8Array.of(0),
    ...names,
    Uint8Array.of(0),
  ]);
  const unit = concatenate([Uint8Array.of(VERSION, 0), words(header.length), header, Uint8Array.from(body)]);
  return concatenate([words(unit.length), unit]);
}

const text = (value: string): Uint8Array => new TextEncoder().encode(`${value}\0`);
const words = (...values: number[]): Uint8Array => new Uint8Array(Uint32Array.from(values).buffer);
const longs = (...values: number[]): Uint8Array => new Uint8Array(BigUint64Array.from(values.map(BigInt)).buffer);
