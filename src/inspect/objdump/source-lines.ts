/** Source lines in front of the first instruction of each, as llvm-objdump prints them. */
import { LineTable, type SourceLine } from '../../codeobject/line-table.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { Output } from './output.ts';
import type { SideStreams } from './streams.ts';

export class SourceLines {
  readonly #table: LineTable;
  readonly #out: Output;
  readonly #streams: SideStreams;
  readonly #elf: ElfFile;
  /** Lines of files, by name; empty for those that cannot be read. */
  readonly #files = new Map<string, readonly string[]>();
  #last: SourceLine | undefined;

  constructor(elf: ElfFile, out: Output, streams: SideStreams) {
    this.#table = LineTable.read(elf);
    this.#elf = elf;
    this.#out = out;
    this.#streams = streams;
  }

  /** Prints the line of the instruction at an address, unless the last one had the same. */
  print(address: number): void {
    const line = this.#table.lineAt(BigInt(address));
    const last = this.#last;
    // Behind code of no line it is printed again.
    this.#last = line;
    if (!line || (line.line === last?.line && line.file === last.file)) return;
    const text = this.#linesOf(line.file)[line.line - 1];
    if (text !== undefined && text !== '') this.#out.text('; ').line(text);
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
