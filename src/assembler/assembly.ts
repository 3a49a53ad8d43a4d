/** The state of a file that is being assembled: its sections, its symbols, where it stands. */
import { WavewrightError } from '../base/errors.ts';
import { leb128 } from '../base/leb128.ts';
import type { CodeObjectVersion } from '../codeobject/elf-flags.ts';
import { bytesOf } from '../isa/amdgpu/encoding/encode.ts';
import type { Instruction } from '../isa/amdgpu/encoding/instruction.ts';
import { assembleAt, withCaret } from '../isa/amdgpu/text/assembler/assemble.ts';
import type { Expression } from '../isa/amdgpu/text/reader/expression.ts';
import { TextReader } from '../isa/amdgpu/text/reader/text-reader.ts';
import type { AssemblyTarget } from './assembly-target.ts';
import { CallFrames } from './call-frames.ts';
import { resourceFunction } from './kernel-resources.ts';
import type { Leb128Sizes } from './leb128-sizes.ts';
import type { LineStream } from './line-stream.ts';
import { LineTableWriter } from './line-table.ts';
import { AssembledSection, littleEndian, type SectionIdentity, type SectionOutput, usualKind } from './section.ts';
import type { AssemblyLine, Macro } from './source.ts';
import { SymbolTable } from './symbols.ts';

export interface AssemblySource {
  readonly file: string;
  readonly lines: LineStream;
  readonly target: AssemblyTarget;
  readonly readFile: (name: string) => Uint8Array;
  readonly leb128Sizes: Leb128Sizes;
}

/** What has to wait for the end of the file, and the line that asks for it. */
export interface LateStep {
  readonly line: AssemblyLine;
  readonly apply: () => void;
}

/** What a directive does with the rest of its statement. */
export type Directive = (assembly: Assembly, reader: TextReader) => void;

/** Bytes of one section; what a source of a few lines may ask for. */
const SECTION_LIMIT_BYTES = 2 ** 28;

export class Assembly implements SectionOutput {
  readonly file: string;
  readonly target: AssemblyTarget;
  readonly symbols: SymbolTable;
  readonly sections: AssembledSection[] = [];
  readonly #sectionOf = new Map<string, AssembledSection>();
  /** In their order, the names that `.addrsig_sym` gave; undefined without `.addrsig`. */
  addressSignificant: string[] | undefined;
  codeObjectVersion: CodeObjectVersion = 5;
  /** Kernels with a descriptor. */
  readonly kernels: { readonly name: string }[] = [];
  current: AssembledSection;
  previous: AssembledSection | undefined;
  /** What `.popsection` returns to. */
  readonly stack: Pick<Assembly, 'current' | 'previous'>[] = [];
  readonly lines: LineStream;
  readonly macros = new Map<string, Macro>();
  /** Macros that were expanded. */
  expansions = 0;
  /** The bytes of a file that the source includes. */
  readonly readFile: (name: string) => Uint8Array;
  readonly leb128Sizes: Leb128Sizes;
  /** In their order. */
  readonly atEnd: LateStep[] = [];
  readonly lineTable = new LineTableWriter();
  readonly frames = new CallFrames();
  readonly #localLabels = new Map<string, number>();
  #temporaries = 0;

  constructor({ file, lines, target, readFile, leb128Sizes }: AssemblySource) {
    this.file = file;
    this.lines = lines;
    this.target = target;
    this.symbols = new SymbolTable((name, args) => resourceFunction(target, name, args));
    this.readFile = readFile;
    this.leb128Sizes = leb128Sizes;
    this.current = this.section('.text');
    this.current.alignmentBytes = 4;
  }

  /** The line that is being assembled. */
  get line(): AssemblyLine {
    return this.lines.line;
  }

  set line(line: AssemblyLine) {
    this.lines.line = line;
  }

  /**
   * The section of this name, group and number; a new one is made as its name or the arguments say. Throws
   * BAD_INPUT when it was something else before.
   */
  section(
    name: string,
    type?: number,
    flags?: bigint,
    entrySizeBytes = 0,
    identity: SectionIdentity = {},
  ): AssembledSection {
    const { group, unique, linkedTo } = identity;
    const key = [name, group, unique, linkedTo].join('\0');
    const known = this.#sectionOf.get(key);
    if (known) {
      if ((type ?? known.type) !== known.type || (flags ?? known.flags) !== known.flags) {
        throw new WavewrightError('BAD_INPUT', `section '${name}' had another type or other flags before`);
      }
      return known;
    }
    const usual = usualKind(name);
    const section = new AssembledSection(name, type ?? usual.type, flags ?? usual.flags, entrySizeBytes, identity);
    this.sections.push(section);
    this.#sectionOf.set(key, section);
    return section;
  }

  switchTo(section: AssembledSection): void {
    this.previous = this.current;
    this.current = section;
  }

  /** Throws LIMIT_EXCEEDED when the current section cannot take `count` more bytes. */
  checkRoom(count: number): void {
    const { name, sizeBytes } = this.current;
    if (sizeBytes + count <= SECTION_LIMIT_BYTES) return;
    throw new WavewrightError('LIMIT_EXCEEDED', `section '${name}' grows above ${SECTION_LIMIT_BYTES} bytes`);
  }

  /** Appends to the current section; only zeros where it has no bytes in the file. */
  append(bytes: Uint8Array): void {
    this.lineTable.mark(this.current);
    this.#put(bytes);
  }

  #put(bytes: Uint8Array): void {
    this.checkRoom(bytes.length);
    if (!this.current.hasBytes && bytes.some((byte) => byte !== 0)) {
      throw new WavewrightError('BAD_INPUT', `section '${this.current.name}' can hold only zeros`);
    }
    this.current.append(bytes);
  }

  /** `count` times `element`. */
  appendRepeated(count: number, element: Uint8Array): void {
    this.checkRoom(count * element.length);
    const bytes = new Uint8Array(count * element.length);
    if (element.some((byte) => byte !== 0)) for (let i = 0; i < count; i++) bytes.set(element, i * element.length);
    this.#put(bytes);
  }

  appendZeros(count: number): void {
    this.appendRepeated(count, Uint8Array.of(0));
  }

  /** Puts a field of `sizeBytes` there; what is not known yet is filled in at the end. */
  appendValue(expression: Expression, sizeBytes: 1 | 2 | 4 | 8): void {
    if (expression.kind !== 'number') {
      const offset = this.current.sizeBytes;
      this.append(new Uint8Array(sizeBytes));
      this.current.fixups.push({ offset, kind: sizeBytes, expression, line: this.line });
      return;
    }
    const signed = BigInt.asIntN(64, expression.value);
    const value = signed < 0n ? signed : expression.value;
    const bits = BigInt(8 * sizeBytes);
    if (value < -(1n << (bits - 1n)) || value >= 1n << bits) {
      throw new WavewrightError('BAD_INPUT', `${value} does not fit ${sizeBytes} bytes`);
    }
    this.append(littleEndian(value, sizeBytes));
  }

  /** The address of a place, of which the linker knows more. */
  appendPlace(section: AssembledSection, offset: number, sizeBytes: 4 | 8): void {
    const name = `\u0001place.${this.#temporaries++}`;
    this.symbols.get(name).definition = { kind: 'label', section, offset };
    this.appendValue({ kind: 'symbol', name, variant: undefined }, sizeBytes);
  }

  /**
   * A number in LEB128: as short as it can be when it is known, else as long as it was found to be the last
   * time.
   */
  appendLeb128(expression: Expression, isSigned: boolean): void {
    const { constant, plus, minus } = this.symbols.evaluate(expression);
    if (!plus && !minus) {
      this.append(leb128(constant, isSigned));
      return;
    }
    const size = this.leb128Sizes.next();
    const offset = this.current.sizeBytes;
    this.append(new Uint8Array(size.sizeBytes));
    this.current.fixups.push({ offset, kind: { isSigned, ...size }, expression, line: this.line });
  }

  defineLabel(name: string): void {
    const symbol = this.symbols.get(name);
    if (symbol.definition) throw new WavewrightError('BAD_INPUT', `symbol '${name}' is already defined`);
    symbol.definition = { kind: 'label', section: this.current, offset: this.current.sizeBytes };
  }

  /** `1:`. */
  defineLocalLabel(number: string): void {
    const count = (this.#localLabels.get(number) ?? 0) + 1;
    this.#localLabels.set(number, count);
    this.defineLabel(`\u0001${number}.${count}`);
  }

  /** A reader of the rest of a statement. */
  reader(text: string, position: number): TextReader {
    return new TextReader(text, position, (name) => this.symbols.numberOf(name));
  }

  /** The expression with `.` and labels such as `1b` as the symbols that they are here. */
  localize(expression: Expression): Expression {
    switch (expression.kind) {
      case 'number':
        return expression;
      case 'symbol': {
        // What is a number now is that number, whatever it becomes.
        const { definition, binding } = this.symbols.find(expression.name) ?? {};
        const isNumber = definition?.kind === 'equal' && definition.expression.kind === 'number' && binding !== 'weak';
        if (isNumber && expression.variant === undefined) return definition.expression;
        return { ...expression, name: this.#localName(expression.name) };
      }
      case 'unary':
        return { ...expression, operand: this.localize(expression.operand) };
      case 'binary':
        return { ...expression, left: this.localize(expression.left), right: this.localize(expression.right) };
      case 'call':
        return { ...expression, args: expression.args.map((argument) => this.localize(argument)) };
    }
  }

  #localName(name: string): string {
    if (name === '.') {
      const here = `\u0001here.${this.#temporaries++}`;
      this.defineLabel(here);
      return here;
    }
    const local = /^(\d+)([bf])$/.exec(name);
    if (!local) return name;
    const [, number, direction] = local;
    const count = this.#localLabels.get(number!) ?? 0;
    if (direction === 'b' && count === 0) throw new WavewrightError('BAD_INPUT', `no label '${number}:' before`);
    return `\u0001${number}.${direction === 'b' ? count : count + 1}`;
  }

  /** Reads an expression whose value is known here; places of one section have known distances. */
  absolute(reader: TextReader, what: string): bigint {
    reader.skipBlanks();
    const at = reader.position;
    const { constant, plus, minus } = this.symbols.evaluate(this.localize(reader.expression()));
    if (plus || minus) reader.fail(`${what} must be known here`, at);
    return constant;
  }

  /** Assembles the instruction that `reader` stands before. */
  instruction(reader: TextReader): void {
    const { instruction, words, fixup } = assembleAt(reader, this.target.context);
    const offset = this.current.sizeBytes;
    const expression = fixup && this.localize(fixup.expression);
    this.append(bytesOf(words));
    if (fixup && expression) {
      const at = fixup.kind === 'literal' ? offset + instruction.code.length * 4 : offset;
      this.current.fixups.push({ offset: at, kind: fixup.kind, expression, line: this.line });
    }
    this.#countRegisters(instruction);
  }

  /** `.amdgcn.next_free_vgpr` and `.amdgcn.next_free_sgpr`: above the registers that instructions name. */
  #countRegisters(instruction: Instruction): void {
    for (const [index] of instruction.row.operands.entries()) {
      if (instruction.access(index) === undefined) continue;
      const operand = instruction.operand(index);
      if (operand.kind === 'vector' && !operand.accumulator) {
        this.#raise('.amdgcn.next_free_vgpr', operand.register + instruction.dwords(index));
      }
      if (operand.kind === 'scalar' && operand.register < this.target.context.target.scalars.sgprCount) {
        this.#raise('.amdgcn.next_free_sgpr', operand.register + instruction.dwords(index));
      }
    }
  }

  #raise(name: string, count: number): void {
    const known = this.symbols.numberOf(name) ?? 0n;
    if (BigInt(count) > known) this.setNumber(name, BigInt(count));
  }

  setNumber(name: string, value: bigint): void {
    this.symbols.get(name).definition = { kind: 'equal', expression: { kind: 'number', value } };
  }

  /**
   * The error with file, line and column in front, and behind it the line with a caret and what the line was
   * made of.
   */
  located(error: WavewrightError, line: AssemblyLine, column: number): WavewrightError {
    const within: string[] = [];
    for (let { expansion } = line; expansion; expansion = expansion.at.expansion) {
      within.push(`${expansion.at.file}:${expansion.at.number}: in ${expansion.what}`);
    }
    const what = [error.what, withCaret(line.text, column), ...within].join('\n');
    const { cause: _, ...context } = error.context;
    return new WavewrightError(error.code, what, { ...context, file: `${line.file}:${line.number}:${column + 1}` });
  }
}
