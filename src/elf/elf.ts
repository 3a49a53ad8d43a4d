import { ByteReader } from '../base/bytes.ts';
import { hex } from '../base/text.ts';
import {
  PT_DYNAMIC,
  PT_LOAD,
  PT_NOTE,
  SHT_DYNSYM,
  SHT_NOBITS,
  SHT_NOTE,
  SHT_NULL,
  SHT_REL,
  SHT_RELA,
  SHT_STRTAB,
  SHT_SYMTAB,
} from './constants.ts';
import { DynamicTables, type ElfDynamicEntry, readDynamic } from './dynamic.ts';
import { type ElfHeader, type ElfSection, type ElfSegment, readHeader, readSections, readSegments } from './header.ts';
import { type ElfNote, readNotes } from './notes.ts';
import { type ElfRelocation, type ElfRelocationSection, readRelocations } from './relocations.ts';
import { readStringTable } from './strings.ts';
import { type ElfSymbol, readSymbols, SYMBOL_ENTRY_SIZE_BYTES } from './symbols.ts';

/**
 * Opens an ELF64 little-endian file. The header, the program headers and the section headers are read and
 * checked at once; symbols, relocations, notes and the dynamic section when first asked for. Errors:
 * `BAD_INPUT`, `LIMIT_EXCEEDED`.
 *
 * @param bytes the whole file; kept and shared, so do not change it
 * @param name  what errors call the file
 */
export function parseElf(bytes: Uint8Array, name?: string): ElfFile {
  const file = new ByteReader(bytes, name === undefined ? {} : { file: name });
  const header = readHeader(file);
  return new ElfFile(file, header, readSegments(file, header), readSections(file, header));
}

export class ElfFile {
  readonly header: ElfHeader;
  readonly segments: readonly ElfSegment[];
  readonly sections: readonly ElfSection[];
  readonly #file: ByteReader;
  #symbols: ElfSymbol[] | undefined;
  #dynamic: { entries: ElfDynamicEntry[]; tables: DynamicTables } | undefined;
  #dynamicSymbols: ElfSymbol[] | undefined;
  #dynamicVersions: { readonly value: readonly number[] | undefined } | undefined;
  #dynamicRelocations: ElfRelocation[] | undefined;
  #relocationSections: ElfRelocationSection[] | undefined;
  #notes: ElfNote[] | undefined;

  constructor(file: ByteReader, header: ElfHeader, segments: ElfSegment[], sections: ElfSection[]) {
    this.#file = file;
    this.header = header;
    this.segments = segments;
    this.sections = sections;
  }

  get bytes(): Uint8Array {
    return this.#file.bytes;
  }

  get name(): string | undefined {
    return this.#file.source.file;
  }

  /** The symbols of .symtab; empty when the file is stripped. */
  get symbols(): readonly ElfSymbol[] {
    this.#symbols ??= this.#readSymbolSection(this.sections.find((section) => section.type === SHT_SYMTAB));
    return this.#symbols;
  }

  /** The entries of the segment PT_DYNAMIC up to DT_NULL; empty without one. */
  get dynamic(): readonly ElfDynamicEntry[] {
    return this.#openDynamic().entries;
  }

  /** The symbols that a loader sees: DT_SYMTAB, or .dynsym in a file without PT_DYNAMIC. */
  get dynamicSymbols(): readonly ElfSymbol[] {
    this.#dynamicSymbols ??= this.#readDynamicSymbols();
    return this.#dynamicSymbols;
  }

  /**
   * What DT_VERSYM says of each dynamic symbol (LSB, "Symbol Version Table"); undefined in a file without
   * versions.
   */
  get dynamicVersions(): readonly number[] | undefined {
    this.#dynamicVersions ??= { value: this.#openDynamic().tables.readVersions(this.dynamicSymbols.length) };
    return this.#dynamicVersions.value;
  }

  /** The relocations that a loader applies: DT_RELA, DT_REL and DT_JMPREL. */
  get dynamicRelocations(): readonly ElfRelocation[] {
    this.#dynamicRelocations ??= this.#openDynamic().tables.readRelocations(this.dynamicSymbols);
    return this.#dynamicRelocations;
  }

  /** All SHT_RELA and SHT_REL sections in file order. */
  get relocationSections(): readonly ElfRelocationSection[] {
    this.#relocationSections ??= this.#readRelocationSections();
    return this.#relocationSections;
  }

  /** The notes of the PT_NOTE segments, or of the note sections in a file without such segments. */
  get notes(): readonly ElfNote[] {
    this.#notes ??= this.#readNotes();
    return this.#notes;
  }

  /** The first section with this name. */
  sectionNamed(name: string): ElfSection | undefined {
    return this.sections.find((section) => section.name === name);
  }

  /** The bytes of a section, shared with the file; empty for SHT_NOBITS. */
  sectionBytes(section: ElfSection): Uint8Array {
    return this.#sectionReader(section).bytes;
  }

  /** The file-backed bytes of a segment, shared with the file. */
  segmentBytes(segment: ElfSegment): Uint8Array {
    return this.bytes.subarray(segment.offset, segment.offset + segment.fileSizeBytes);
  }

  /**
   * The bytes at an address of the loaded image; `BAD_INPUT` unless one PT_LOAD holds all of them in the
   * file.
   */
  read(address: bigint, sizeBytes: number, what: string): Uint8Array {
    return this.#readAddress(address, sizeBytes, what).bytes;
  }

  #readAddress(address: bigint, sizeBytes: number, what: string): ByteReader {
    const tail = this.#readTail(address, what);
    tail.check(0, sizeBytes, `${what} at address ${hex(address)}`);
    return tail.region(0, sizeBytes, what);
  }

  #readTail(address: bigint, what: string): ByteReader {
    for (const segment of this.segments) {
      if (segment.type !== PT_LOAD || address < segment.virtualAddress) continue;
      const offset = address - segment.virtualAddress;
      if (offset >= BigInt(segment.fileSizeBytes)) continue;
      return this.#file.region(segment.offset + Number(offset), segment.fileSizeBytes - Number(offset), what);
    }
    return this.#file.fail(`${what} is at address ${hex(address)}, which no PT_LOAD segment holds`, 0);
  }

  #sectionReader(section: ElfSection): ByteReader {
    const empty = section.type === SHT_NOBITS || section.type === SHT_NULL;
    const name = section.name === '' ? `section ${section.index}` : section.name;
    return this.#file.region(empty ? 0 : section.offset, empty ? 0 : section.sizeBytes, name);
  }

  #linkedSection(section: ElfSection, types: readonly number[], what: string): ElfSection {
    const linked = this.sections[section.link];
    if (linked !== undefined && types.includes(linked.type)) return linked;
    return this.#sectionReader(section).fail(`sh_link is ${section.link}, expected the index of ${what}`, 0);
  }

  #readSymbolSection(section: ElfSection | undefined): ElfSymbol[] {
    if (section === undefined) return [];
    const names = this.#linkedSection(section, [SHT_STRTAB], 'a string table');
    return readSymbols(this.#sectionReader(section), readStringTable(this.#sectionReader(names)));
  }

  #openDynamic(): { entries: ElfDynamicEntry[]; tables: DynamicTables } {
    if (this.#dynamic === undefined) {
      const segment = this.segments.find((candidate) => candidate.type === PT_DYNAMIC);
      const table = this.#file.region(segment?.offset ?? 0, segment?.fileSizeBytes ?? 0, 'dynamic section');
      const entries = readDynamic(table);
      const tables = new DynamicTables(
        table,
        entries,
        (address, sizeBytes, what) => this.#readAddress(address, sizeBytes, what),
        (address, what) => this.#readTail(address, what),
      );
      this.#dynamic = { entries, tables };
    }
    return this.#dynamic;
  }

  #readDynamicSymbols(): ElfSymbol[] {
    const { tables } = this.#openDynamic();
    const section = this.sections.find((candidate) => candidate.type === SHT_DYNSYM);
    const address = tables.symbolTableAddress;
    if (address === undefined) return this.#readSymbolSection(section);
    const known = section !== undefined && section.address === address;
    return tables.readSymbols(known ? Math.floor(section.sizeBytes / SYMBOL_ENTRY_SIZE_BYTES) : undefined);
  }

  #readRelocationSections(): ElfRelocationSection[] {
    const tables: ElfRelocationSection[] = [];
    for (const section of this.sections) {
      if (section.type !== SHT_RELA && section.type !== SHT_REL) continue;
      // Statically linked host programs have relocation sections without a symbol table (link 0).
      const linked =
        section.link === 0 ? undefined : this.#linkedSection(section, [SHT_SYMTAB, SHT_DYNSYM], 'a symbol table');
      const symbols =
        linked === undefined ? [] : linked.type === SHT_SYMTAB ? this.symbols : this.#readSymbolSection(linked);
      tables.push({
        sectionIndex: section.index,
        name: section.name,
        targetSectionIndex: section.info,
        relocations: readRelocations(this.#sectionReader(section), section.type === SHT_RELA, symbols),
      });
    }
    return tables;
  }

  #readNotes(): ElfNote[] {
    const notes: ElfNote[] = [];
    for (const segment of this.segments) {
      if (segment.type !== PT_NOTE) continue;
      const table = this.#file.region(segment.offset, segment.fileSizeBytes, `PT_NOTE segment ${segment.index}`);
      readNotes(table, segment.alignmentBytes, notes);
    }
    if (notes.length > 0) return notes;
    for (const section of this.sections) {
      if (section.type === SHT_NOTE) readNotes(this.#sectionReader(section), section.alignmentBytes, notes);
    }
    return notes;
  }
}
