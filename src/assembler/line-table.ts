/**
 * `.file` and `.loc` to `.debug_line`: the line table of DWARF 4 or 5, opcode for opcode as LLVM writes it
 * (DWARF 5, 6.2).
 */

import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import { leb128, unsigned } from '../base/leb128.ts';
import type { Expression } from '../isa/amdgpu/text/reader/expression.ts';
import type { AssembledSection, SectionOutput } from './section.ts';

/** What a row says beside its address. */
export interface Location {
  readonly file: number;
  readonly line: number;
  readonly column: number;
  readonly isStatement: boolean;
  readonly isBasicBlock: boolean;
  readonly isPrologueEnd: boolean;
  readonly isEpilogueBegin: boolean;
  readonly isa: number;
  readonly discriminator: number;
}

interface Row extends Location {
  readonly offset: number;
}

export interface SourceFile {
  readonly directory: string;
  readonly name: string;
  readonly md5: Uint8Array | undefined;
  /** The text of the file. */
  readonly source: Uint8Array | undefined;
}

interface FileEntry extends Omit<SourceFile, 'directory'> {
  readonly directory: number;
}

/** Files are numbered by the source: as many as there can be. */
const FILE_LIMIT = 2 ** 20;
const INSTRUCTION_SIZE_BYTES = 4;
const [LINE_BASE, LINE_RANGE, OPCODE_BASE] = [-5, 14, 13];
/** How many arguments the standard opcodes have. */
const OPCODE_LENGTHS = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
const LNS = {
  copy: 1,
  advancePc: 2,
  advanceLine: 3,
  setFile: 4,
  setColumn: 5,
  negateStatement: 6,
  setBasicBlock: 7,
  constAddPc: 8,
  setPrologueEnd: 10,
  setEpilogueBegin: 11,
  setIsa: 12,
} as const;
const LNE = { endSequence: 1, setAddress: 2, setDiscriminator: 4 } as const;
const LNCT = { path: 1, directoryIndex: 2, md5: 5, source: 0x2001 } as const;
const FORM = { udata: 0x0f, data16: 0x1e, lineStrp: 0x1f } as const;
/** Instructions that one special opcode can advance. */
const MAX_SPECIAL_ADVANCE = Math.floor((255 - OPCODE_BASE) / LINE_RANGE);

const START: Location = {
  file: 1,
  line: 1,
  column: 0,
  isStatement: true,
  isBasicBlock: false,
  isPrologueEnd: false,
  isEpilogueBegin: false,
  isa: 0,
  discriminator: 0,
};

export class LineTableWriter {
  /** 5 as soon as the source names its file 0. */
  #version = 4;
  #compilationDirectory = '';
  readonly #directories: string[] = [];
  /** By number. */
  readonly #files: (FileEntry | undefined)[] = [];
  readonly #rows = new Map<AssembledSection, Row[]>();
  /** What the last `.loc` said. */
  last: Location = START;
  #isPending = false;

  /** `.file NUMBER`. Throws BAD_INPUT for a number that has a file. */
  addFile(number: number, file: SourceFile): void {
    if (number > FILE_LIMIT)
      throw new WavewrightError('LIMIT_EXCEEDED', `file ${number}, expected at most ${FILE_LIMIT}`);
    if (number === 0) {
      this.#version = 5;
      this.#compilationDirectory = file.directory;
      this.#files[0] = { ...file, directory: 0 };
      return;
    }
    if (this.#files[number]) throw new WavewrightError('BAD_INPUT', `file number ${number} is already taken`);
    let { directory, name } = file;
    if (directory === this.#compilationDirectory) directory = '';
    const slash = name.lastIndexOf('/');
    if (directory === '' && slash > 0 && slash + 1 < name.length) {
      [directory, name] = [name.slice(0, slash), name.slice(slash + 1)];
    }
    this.#files[number] = { ...file, name, directory: this.#directoryIndex(directory) };
  }

  #directoryIndex(directory: string): number {
    if (directory === '') return 0;
    const known = this.#directories.indexOf(directory);
    return known >= 0 ? known + 1 : this.#directories.push(directory);
  }

  hasFile(number: number): boolean {
    return this.#files[number] !== undefined || (number === 0 && this.#version >= 5);
  }

  /** `.loc`: what comes next in a section is from there. */
  locate(location: Location, current: AssembledSection): void {
    this.mark(current);
    this.last = location;
    this.#isPending = true;
  }

  /** Something is about to be put into `section`. */
  mark(section: AssembledSection): void {
    if (!this.#isPending) return;
    this.#isPending = false;
    const row = { ...this.last, offset: section.sizeBytes };
    const rows = this.#rows.get(section);
    if (rows) rows.push(row);
    else this.#rows.set(section, [row]);
  }

  /** Appends the table to `.debug_line`, when there is anything to say. */
  write(output: SectionOutput): void {
    if (this.#files.length === 0) return;
    output.current = output.section('.debug_line');
    const section = output.current;
    const strings = new LineStrings();
    const lengthAt = section.sizeBytes;
    const isLatest = this.#version >= 5;
    output.append(Uint8Array.of(0, 0, 0, 0, this.#version, 0, ...(isLatest ? [8, 0] : [])));
    const headerLengthAt = section.sizeBytes;
    output.append(Uint8Array.of(0, 0, 0, 0, INSTRUCTION_SIZE_BYTES, 1, 1, LINE_BASE & 255, LINE_RANGE, OPCODE_BASE));
    output.append(Uint8Array.from(OPCODE_LENGTHS));
    if (isLatest) this.#writeFiles5(output, strings);
    else this.#writeFiles4(output);
    section.patch(headerLengthAt, BigInt(section.sizeBytes - headerLengthAt - 4), 4);
    for (const [code, rows] of this.#rows) writeSequence(output, code, rows);
    section.patch(lengthAt, BigInt(section.sizeBytes - lengthAt - 4), 4);
    if (isLatest) strings.write(output);
  }

  #writeFiles4(output: SectionOutput): void {
    for (const directory of this.#directories) output.append(terminated(directory));
    output.append(Uint8Array.of(0));
    for (const file of this.#files.slice(1)) {
      output.append(terminated(file?.name ?? ''));
      output.append(unsigned(file?.directory ?? 0));
      output.append(Uint8Array.of(0, 0));
    }
    output.append(Uint8Array.of(0));
  }

  #writeFiles5(output: SectionOutput, strings: LineStrings): void {
    const reference = (text: string | Uint8Array): void => {
      const offset: Expression = { kind: 'number', value: BigInt(strings.add(text)) };
      output.appendValue({ kind: 'binary', operator: '+', left: LineStrings.START, right: offset }, 4);
    };
    output.append(Uint8Array.of(1, LNCT.path, FORM.lineStrp));
    output.append(unsigned(this.#directories.length + 1));
    for (const directory of [this.#compilationDirectory, ...this.#directories]) reference(directory);
    const files = Array.from(
      this.#files,
      (file) => file ?? { name: '', directory: 0, md5: undefined, source: undefined },
    );
    const hasMd5 = files.every(({ md5 }) => md5 !== undefined);
    const hasSource = files.some(({ source }) => source !== undefined);
    output.append(Uint8Array.of(2 + Number(hasMd5) + Number(hasSource)));
    output.append(Uint8Array.of(LNCT.path, FORM.lineStrp, LNCT.directoryIndex, FORM.udata));
    if (hasMd5) output.append(Uint8Array.of(LNCT.md5, FORM.data16));
    if (hasSource) output.append(Uint8Array.of(...unsigned(LNCT.source), FORM.lineStrp));
    output.append(unsigned(files.length));
    for (const { name, directory, md5, source } of files) {
      reference(name);
      output.append(unsigned(directory));
      if (hasMd5) output.append(md5!);
      if (hasSource) reference(source ?? '');
    }
  }
}

/** The section of strings that the tables of DWARF 5 refer to. */
class LineStrings {
  static readonly LABEL = '\u0001line-strings';
  static readonly START: Expression = { kind: 'symbol', name: LineStrings.LABEL, variant: undefined };
  readonly #offsets = new Map<string, number>();
  readonly #parts: Uint8Array[] = [];
  #sizeBytes = 0;

  add(text: string | Uint8Array): number {
    const bytes = typeof text === 'string' ? terminated(text) : concatenate([text, Uint8Array.of(0)]);
    const key = new TextDecoder('latin1').decode(bytes);
    const known = this.#offsets.get(key);
    if (known !== undefined) return known;
    const offset = this.#sizeBytes;
    this.#offsets.set(key, offset);
    this.#parts.push(bytes);
    this.#sizeBytes += bytes.length;
    return offset;
  }

  write(output: SectionOutput): void {
    output.current = output.section('.debug_line_str', 1, 0x30n, 1);
    output.defineLabel(LineStrings.LABEL);
    for (const part of this.#parts) output.append(part);
  }
}

const terminated = (text: string): Uint8Array => new TextEncoder().encode(`${text}\0`);

/** The rows of one section. */
function writeSequence(output: SectionOutput, section: AssembledSection, rows: readonly Row[]): void {
  let state = START;
  let offset = 0;
  for (const [index, row] of rows.entries()) {
    output.append(Uint8Array.from(changes(state, row)));
    if (index === 0) {
      output.append(Uint8Array.of(0, 9, LNE.setAddress));
      output.appendPlace(section, row.offset, 8);
      offset = row.offset;
    }
    output.append(Uint8Array.from(advance(row.line - state.line, row.offset - offset)));
    state = row;
    offset = row.offset;
  }
  output.append(Uint8Array.from(endOfSequence(section.sizeBytes - offset)));
}

/** The opcodes for what differs from the row before, apart from line and address. */
function changes(from: Location, to: Location): number[] {
  const opcodes: number[] = [];
  if (to.file !== from.file) opcodes.push(LNS.setFile, ...unsigned(to.file));
  if (to.column !== from.column) opcodes.push(LNS.setColumn, ...unsigned(to.column));
  if (to.discriminator !== 0) {
    const number = unsigned(to.discriminator);
    opcodes.push(0, number.length + 1, LNE.setDiscriminator, ...number);
  }
  if (to.isa !== from.isa) opcodes.push(LNS.setIsa, ...unsigned(to.isa));
  if (to.isStatement !== from.isStatement) opcodes.push(LNS.negateStatement);
  if (to.isBasicBlock) opcodes.push(LNS.setBasicBlock);
  if (to.isPrologueEnd) opcodes.push(LNS.setPrologueEnd);
  if (to.isEpilogueBegin) opcodes.push(LNS.setEpilogueBegin);
  return opcodes;
}

/** The opcodes that advance line and address and make a row. */
function advance(lines: number, bytes: number): number[] {
  const instructions = Math.floor(bytes / INSTRUCTION_SIZE_BYTES);
  const isSpecial = lines >= LINE_BASE && lines < LINE_BASE + LINE_RANGE;
  const prefix = isSpecial ? [] : [LNS.advanceLine, ...leb128(BigInt(lines), true)];
  const lineAdvance = isSpecial ? lines : 0;
  if (lineAdvance === 0 && instructions === 0) return [...prefix, LNS.copy];
  const opcode = lineAdvance - LINE_BASE + OPCODE_BASE;
  const special = opcode + instructions * LINE_RANGE;
  if (special <= 255) return [...prefix, special];
  const second = special - MAX_SPECIAL_ADVANCE * LINE_RANGE;
  if (second <= 255) return [...prefix, LNS.constAddPc, second];
  return [...prefix, LNS.advancePc, ...unsigned(instructions), isSpecial ? opcode : LNS.copy];
}

function endOfSequence(bytes: number): number[] {
  const instructions = Math.floor(bytes / INSTRUCTION_SIZE_BYTES);
  const end = [0, 1, LNE.endSequence];
  if (instructions === 0) return end;
  if (instructions === MAX_SPECIAL_ADVANCE) return [LNS.constAddPc, ...end];
  return [LNS.advancePc, ...unsigned(instructions), ...end];
}
