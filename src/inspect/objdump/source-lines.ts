/** Where instructions come from, in front of the first one of each place, as llvm-objdump prints it. */
import { firstAbove } from '../../base/search.ts';
import type { LineTable, SourceLine } from '../../codeobject/line-table.ts';
import { STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT } from '../../elf/constants.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import { dynamicSymbolsOf, isAllocated, sectionOf, symbolsOf } from './object-view.ts';
import type { Output } from './output.ts';
import { lineTableOf, sectionPlace } from './relocated-lines.ts';
import type { SideStreams } from './streams.ts';

/** What is wanted: functions with numbers of lines, the lines themselves. */
export interface SourceParts {
  readonly lineNumbers: boolean;
  readonly source: boolean;
}

export class SourceLines {
  readonly #table: LineTable;
  readonly #out: Output;
  readonly #streams: SideStreams;
  readonly #elf: ElfFile;
  /** Lines of files, by name; empty for those that cannot be read. */
  readonly #files = new Map<string, readonly string[]>();
  #last: SourceLine | undefined;
  readonly #parts: SourceParts;
  #functions: readonly NamedPlace[] | undefined;
  #lastFunction: string | undefined;

  constructor(elf: ElfFile, out: Output, streams: SideStreams, parts: SourceParts) {
    this.#parts = parts;
    this.#table = lineTableOf(elf);
    this.#elf = elf;
    this.#out = out;
    this.#streams = streams;
  }

  /** Prints the place of the instruction at an address of a section, as far as the last one had another. */
  print(section: ElfSection, address: number): void {
    const line = this.#table.lineAt(BigInt(sectionPlace(this.#elf, section) + address));
    const last = this.#last;
    // Behind code of no line it is printed again.
    this.#last = line;
    const isSame = line?.line === last?.line && line?.file === last?.file;
    if (this.#parts.lineNumbers) this.#printNumber(address, line, isSame);
    if (!this.#parts.source || !line || isSame) return;
    const text = this.#linesOf(line.file)[line.line - 1];
    if (text !== undefined && text !== '') this.#out.text('; ').line(text);
  }

  #printNumber(address: number, line: SourceLine | undefined, isSame: boolean): void {
    const name = this.#functionAt(address);
    const isNew = name !== undefined && name !== this.#lastFunction;
    this.#lastFunction = name;
    if (isNew)
      this.#out
        .text('; ')
        .text(name)
        .line(name.endsWith('()') ? ':' : '():');
    if (line && (!isSame || isNew)) this.#out.text('; ').line(`${line.file}:${line.line}`);
  }

  #functionAt(address: number): string | undefined {
    this.#functions ??= namedPlaces(this.#elf);
    const found = this.#functions[firstAbove(this.#functions, address) - 1];
    const isInside = found && (found.sizeBytes === 0 || address < found.address + found.sizeBytes);
    return isInside ? found.name : undefined;
  }

  #linesOf(file: string): readonly string[] {
    let lines = this.#files.get(file);
    if (!lines) {
      const text = this.#streams.readSource(file);
      if (text === undefined) this.#streams.warn(`'${this.#elf.name}': failed to find source ${file}`);
      lines = text?.split('\n') ?? [];
      this.#files.set(file, lines);
    }
    return lines;
  }
}

interface NamedPlace {
  readonly address: number;
  readonly sizeBytes: number;
  readonly name: string;
}

const NAMING: ReadonlySet<number> = new Set([STT_NOTYPE, STT_FUNC, STT_OBJECT, STT_GNU_IFUNC]);

/**
 * By address; of several at one address the largest one, as LLVM's symbolizer takes it, which does not ask
 * for their sections either.
 */
function namedPlaces(elf: ElfFile): NamedPlace[] {
  const symbols = symbolsOf(elf).length > 0 ? symbolsOf(elf) : dynamicSymbolsOf(elf);
  const places = symbols.flatMap((symbol: ElfSymbol) => {
    const section = NAMING.has(symbol.type) ? sectionOf(elf, symbol) : undefined;
    if (!section || !isAllocated(section)) return [];
    const { value, sizeBytes, name } = symbol;
    return { address: Number(value), sizeBytes, name };
  });
  places.sort((a, b) => a.address - b.address || a.sizeBytes - b.sizeBytes);
  return places.filter(({ address }, i) => places[i + 1]?.address !== address);
}
