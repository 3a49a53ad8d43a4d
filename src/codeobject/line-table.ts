/**
 * Source lines of code: the line number programs of `.debug_line` (DWARF 5, section 6.2; versions 4 and 5,
 * 32-bit format).
 */
import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { firstAbove } from '../base/search.ts';
import { hex } from '../base/text.ts';
import type { ElfFile } from '../elf/elf.ts';

export interface SourceLine {
  /** As the compiler wrote it, with the folder that it names. */
  readonly file: string;
  /** From 1 on. */
  readonly line: number;
  /** From 1 on; 0 when it is not known. */
  readonly column: number;
}

interface Row extends SourceLine {
  readonly address: bigint;
}

/** Rows by address without a gap, the end not included. */
interface Sequence {
  readonly start: bigint;
  readonly end: bigint;
  readonly rows: readonly Row[];
}

const MAX_ROWS = 4_000_000;
/** DW_LNS_*. */
const COPY = 1;
const ADVANCE_PC = 2;
const ADVANCE_LINE = 3;
const SET_FILE = 4;
const SET_COLUMN = 5;
const NEGATE_STATEMENT = 6;
const SET_BASIC_BLOCK = 7;
const CONST_ADD_PC = 8;
const FIXED_ADVANCE_PC = 9;
const SET_PROLOGUE_END = 10;
const SET_EPILOGUE_BEGIN = 11;
const SET_ISA = 12;
/** DW_LNE_*. */
const END_SEQUENCE = 1;
const SET_ADDRESS = 2;
/** DW_LNCT_*. */
const CONTENT_PATH = 1;
const CONTENT_DIRECTORY = 2;
/** DW_FORM_*, those that LLVM writes into file tables. */
const FORM_DATA2 = 0x05;
const FORM_DATA4 = 0x06;
const FORM_DATA8 = 0x07;
const FORM_STRING = 0x08;
const FORM_BLOCK = 0x09;
const FORM_DATA1 = 0x0b;
const FORM_STRP = 0x0e;
const FORM_UDATA = 0x0f;
const FORM_DATA16 = 0x1e;
const FORM_LINE_STRP = 0x1f;

/** Where instructions come from, by linked address; empty for a file without line tables. */
export class LineTable {
  readonly #sequences: readonly Sequence[];
  readonly #starts: readonly { readonly address: bigint }[];
  /** Not so where a linker let those of functions that it left out begin at 0. */
  readonly #isDisjoint: boolean;

  private constructor(sequences: readonly Sequence[]) {
    this.#sequences = sequences;
    this.#starts = sequences.map(({ start }) => ({ address: start }));
    this.#isDisjoint = sequences.every(({ end }, i) => end <= (sequences[i + 1]?.start ?? end));
  }

  /**
   * Throws BAD_INPUT for damaged tables, UNSUPPORTED for other versions, LIMIT_EXCEEDED for more than four
   * million rows.
   */
  static read(elf: Pick<ElfFile, 'name' | 'sectionNamed' | 'sectionBytes'>): LineTable {
    const open = (name: string): ByteReader => {
      const section = elf.sectionNamed(name);
      const bytes = section === undefined ? new Uint8Array(0) : elf.sectionBytes(section);
      return new ByteReader(bytes, { ...(elf.name !== undefined && { file: elf.name }), section: name });
    };
    const lines = open('.debug_line');
    const strings = { lines: open('.debug_line_str'), all: open('.debug_str') };
    const sequences: Sequence[] = [];
    const budget = { rows: MAX_ROWS };
    while (lines.remaining > 0) sequences.push(...new LineProgram(lines, strings, budget).run());
    return new LineTable(sequences.toSorted((a, b) => (a.start < b.start ? -1 : 1)));
  }

  get isEmpty(): boolean {
    return this.#sequences.length === 0;
  }

  /** The line of the instruction at a linked address; undefined where the compiler named none. */
  lineAt(address: bigint): SourceLine | undefined {
    if (this.isEmpty) return undefined;
    const holds = ({ start, end }: Sequence): boolean => address >= start && address < end;
    const nearest = this.#isDisjoint ? this.#sequences[firstAbove(this.#starts, address) - 1] : undefined;
    const sequence = nearest && holds(nearest) ? nearest : this.#sequences.find(holds);
    const row = sequence?.rows[firstAbove(sequence.rows, address) - 1];
    // Line 0 stands for code that belongs to no line.
    return row && row.line > 0 ? { file: row.file, line: row.line, column: row.column } : undefined;
  }
}

interface Strings {
  readonly lines: ByteReader;
  readonly all: ByteReader;
}

/** One unit of `.debug_line`. */
class LineProgram {
  readonly #unit: ByteReader;
  readonly #budget: { rows: number };
  readonly #version: number;
  readonly #minInstructionBytes: number;
  readonly #lineBase: number;
  readonly #lineRange: number;
  readonly #opcodeBase: number;
  readonly #operandCounts: readonly number[];
  readonly #files: readonly string[];

  /** Leaves the reader behind the unit. */
  constructor(section: ByteReader, strings: Strings, budget: { rows: number }) {
    const length = section.u32('the length of a line table');
    if (length >= 0xffff_fff0) throw unsupported(section, 'line tables in the 64-bit format');
    const start = section.offset;
    const unit = new ByteReader(section.take(length, 'a line table'), {
      ...section.source,
      section: `.debug_line+${hex(start)}`,
    });
    this.#unit = unit;
    this.#budget = budget;
    this.#version = unit.u16('the version of a line table');
    if (this.#version !== 4 && this.#version !== 5) throw unsupported(unit, `line tables of version ${this.#version}`);
    if (this.#version === 5) unit.take(2, 'the sizes of addresses and segments');
    const headerBytes = unit.u32('the length of a line table header');
    const program = unit.offset + headerBytes;
    this.#minInstructionBytes = unit.u8('the smallest instruction');
    unit.take(2, 'operations per instruction, and whether rows are statements');
    this.#lineBase = (unit.u8('the line base') << 24) >> 24;
    this.#lineRange = unit.u8('the line range');
    this.#opcodeBase = unit.u8('the opcode base');
    if (this.#lineRange === 0 || this.#opcodeBase === 0) unit.fail('a line range or an opcode base of 0');
    this.#operandCounts = [...unit.take(this.#opcodeBase - 1, 'operand counts')];
    this.#files = this.#version === 5 ? readFiles5(unit, strings) : readFiles4(unit);
    if (program > unit.length) unit.fail('a line table header that is longer than its table');
    unit.offset = program;
  }

  run(): Sequence[] {
    const unit = this.#unit;
    const sequences: Sequence[] = [];
    let rows: Row[] = [];
    let [address, file, line, column] = [0n, 1, 1, 0];
    const name = (): string => this.#files[this.#version === 5 ? file : file - 1] ?? '?';
    const advance = (operations: number): void => {
      address += BigInt(operations * this.#minInstructionBytes);
    };
    const emit = (): void => {
      if (--this.#budget.rows < 0) {
        throw new WavewrightError('LIMIT_EXCEEDED', `more than ${MAX_ROWS} rows of line tables`, unit.source);
      }
      rows.push({ address, file: name(), line, column });
    };
    const finish = (): void => {
      const [first] = rows;
      if (first !== undefined && address > first.address) sequences.push({ start: first.address, end: address, rows });
      rows = [];
      [address, file, line, column] = [0n, 1, 1, 0];
    };
    const extended = (): void => {
      const sizeBytes = unit.uleb128('a number');
      const end = unit.offset + sizeBytes;
      if (sizeBytes > 0) {
        const opcode = unit.u8('an extended opcode');
        if (opcode === END_SEQUENCE) finish();
        else if (opcode === SET_ADDRESS) address = unit.u64('an address');
      }
      if (end > unit.length) unit.fail('an extended opcode that is longer than its table');
      unit.offset = end;
    };
    const standard = (opcode: number): void => {
      switch (opcode) {
        case COPY:
          emit();
          return;
        case ADVANCE_PC:
          advance(unit.uleb128('a number'));
          return;
        case ADVANCE_LINE:
          line += sleb(unit);
          return;
        case SET_FILE:
          file = unit.uleb128('a number');
          return;
        case SET_COLUMN:
          column = unit.uleb128('a number');
          return;
        case CONST_ADD_PC:
          advance(Math.floor((255 - this.#opcodeBase) / this.#lineRange));
          return;
        case FIXED_ADVANCE_PC:
          address += BigInt(unit.u16('an advance'));
          return;
        case NEGATE_STATEMENT:
        case SET_BASIC_BLOCK:
        case SET_PROLOGUE_END:
        case SET_EPILOGUE_BEGIN:
          return;
        default:
          // SET_ISA, and opcodes of later versions: their operands are numbers.
          for (let i = 0; i < (opcode === SET_ISA ? 1 : (this.#operandCounts[opcode - 1] ?? 0)); i++)
            unit.uleb128('a number');
      }
    };
    while (unit.remaining > 0) {
      const opcode = unit.u8('an opcode');
      if (opcode >= this.#opcodeBase) {
        const adjusted = opcode - this.#opcodeBase;
        advance(Math.floor(adjusted / this.#lineRange));
        line += this.#lineBase + (adjusted % this.#lineRange);
        emit();
      } else if (opcode === 0) extended();
      else standard(opcode);
    }
    return sequences;
  }
}

/** File 1 is the first; folder 0 is that of the compilation, whose name stands elsewhere. */
function readFiles4(unit: ByteReader): string[] {
  const folders = [''];
  for (let name = text(unit); name !== ''; name = text(unit)) folders.push(name);
  const files: string[] = [];
  for (let name = text(unit); name !== ''; name = text(unit)) {
    files.push(join(folders[unit.uleb128('a number')] ?? '', name));
    unit.uleb128('a number');
    unit.uleb128('a number');
  }
  return files;
}

/** File and folder 0 are those of the compilation. */
function readFiles5(unit: ByteReader, strings: Strings): string[] {
  const folders = readEntries(unit, strings);
  const [root = ''] = folders.map(({ path }) => path);
  return readEntries(unit, strings).map(({ path, folder }) => join(root, join(folders[folder]?.path ?? '', path)));
}

function readEntries(unit: ByteReader, strings: Strings): { path: string; folder: number }[] {
  const formats = Array.from(
    { length: unit.u8('a count of formats') },
    () => [unit.uleb128('a number'), unit.uleb128('a number')] as const,
  );
  const count = unit.uleb128('a number');
  const entries: { path: string; folder: number }[] = [];
  for (let i = 0; i < count; i++) {
    const entry = { path: '', folder: 0 };
    if (formats.length === 0) unit.fail(`${count} entries without a format`);
    for (const [content, form] of formats) {
      const value = readForm(unit, form, strings);
      if (content === CONTENT_PATH) entry.path = String(value);
      else if (content === CONTENT_DIRECTORY) entry.folder = Number(value);
    }
    entries.push(entry);
  }
  return entries;
}

function readForm(unit: ByteReader, form: number, strings: Strings): string | number {
  const pointed = (reader: ByteReader): string => {
    reader.offset = unit.u32('the place of a string');
    return text(reader);
  };
  switch (form) {
    case FORM_STRING:
      return text(unit);
    case FORM_LINE_STRP:
      return pointed(strings.lines);
    case FORM_STRP:
      return pointed(strings.all);
    case FORM_UDATA:
      return unit.uleb128('a number');
    case FORM_DATA1:
      return unit.u8('a number');
    case FORM_DATA2:
      return unit.u16('a number');
    case FORM_DATA4:
      return unit.u32('a number');
    case FORM_DATA8:
      return unit.size('a number');
    case FORM_DATA16:
      unit.take(16, 'a checksum');
      return 0;
    case FORM_BLOCK:
      unit.take(unit.uleb128('a number'), 'a block');
      return 0;
    default:
      throw unsupported(unit, `form ${hex(form)} in a line table`);
  }
}

const join = (folder: string, name: string): string =>
  folder === '' || name.startsWith('/') ? name : `${folder.replace(/\/$/, '')}/${name}`;

function text(reader: ByteReader): string {
  const end = reader.bytes.indexOf(0, reader.offset);
  if (end < 0) reader.fail('a string without an end');
  const bytes = reader.take(end - reader.offset, 'a string');
  reader.offset = end + 1;
  return new TextDecoder().decode(bytes);
}

function sleb(reader: ByteReader): number {
  let [value, scale] = [0, 1];
  for (;;) {
    const byte = reader.u8('a number');
    value += (byte & 0x7f) * scale;
    scale *= 0x80;
    if (byte < 0x80) return byte & 0x40 ? value - scale : value;
    if (scale > 2 ** 63) reader.fail('a number without an end');
  }
}

function unsupported({ source }: ByteReader, what: string): WavewrightError {
  return new WavewrightError('UNSUPPORTED', what, source);
}
