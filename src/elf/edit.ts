/**
 * Changes an ELF64 file that is linked: everything keeps its place in the file and in memory, what is new
 * stands behind it. Bytes are patched where they are, sections are moved, segments and sections are added.
 */
import { alignUp } from '../base/align.ts';
import { concatenate } from '../base/concatenate.ts';
import { assert, WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { hex } from '../base/text.ts';
import { PT_LOAD, PT_PHDR, SHF_ALLOC, SHN_LORESERVE, SHT_STRTAB } from './constants.ts';
import type { ElfFile } from './elf.ts';
import { type ElfSection, type ElfSegment, SECTION_ENTRY_SIZE_BYTES, SEGMENT_ENTRY_SIZE_BYTES } from './header.ts';
import { StringTableBuilder, writeSection, writeSegment } from './writer.ts';

/** A part of a new segment that has a section of its own. */
export interface SectionToAdd {
  readonly name: string;
  /** SHT_*. */
  readonly type: number;
  /** SHF_*. */
  readonly flags: bigint;
  readonly alignmentBytes: number;
  readonly entrySizeBytes?: number;
  readonly link?: number;
  readonly info?: number;
}

const MIN_PAGE_BYTES = 4096;
const NAMES = '.shstrtab';

export class ElfEdit {
  readonly elf: ElfFile;
  /** By index; those of the file first. */
  readonly sections: ElfSection[];
  readonly segments: ElfSegment[];
  readonly #chunks: Uint8Array[];
  readonly #pageBytes: number;
  #fileEnd: number;
  #memoryEnd: number;

  /**
   * New segments stand behind those of the file, and not before `firstAddress`. Throws LIMIT_EXCEEDED for
   * addresses that no new segment can stand behind.
   */
  constructor(elf: ElfFile, firstAddress = 0) {
    this.elf = elf;
    this.sections = elf.sections.map((section) => ({ ...section }));
    this.segments = elf.segments.map((segment) => ({ ...segment }));
    this.#chunks = [elf.bytes];
    this.#fileEnd = elf.bytes.length;
    const loads = elf.segments.filter(({ type }) => type === PT_LOAD);
    this.#pageBytes = Math.max(MIN_PAGE_BYTES, ...loads.map(({ alignmentBytes }) => alignmentBytes));
    this.#memoryEnd = Math.max(
      firstAddress,
      ...loads.map((each) => Number(each.virtualAddress) + each.memorySizeBytes),
    );
    checkLimit('imageBytes', this.#memoryEnd, elf.name === undefined ? {} : { file: elf.name });
    if (this.sections.length === 0) this.sections.push(emptySection());
  }

  /** Where the next segment will stand. */
  get nextAddress(): number {
    return alignUp(this.#memoryEnd, this.#pageBytes);
  }

  /** Puts bytes in the place of those at an address. Throws BAD_INPUT where the file has none. */
  patch(address: bigint, bytes: Uint8Array, what: string): void {
    const holds = ({ type, virtualAddress: start, fileSizeBytes }: ElfSegment): boolean =>
      type === PT_LOAD && address >= start && address + BigInt(bytes.length) <= start + BigInt(fileSizeBytes);
    const segment = this.elf.segments.find(holds);
    if (!segment) throw new WavewrightError('BAD_INPUT', `${what} at ${hex(address)} is in no segment`);
    // A slice of what node:fs reads would be the same memory.
    if (this.#chunks[0] === this.elf.bytes) this.#chunks[0] = new Uint8Array(this.elf.bytes);
    this.#chunks[0]!.set(bytes, segment.offset + Number(address - segment.virtualAddress));
  }

  /** Adds a loaded segment at `nextAddress`; what is behind the bytes is zero. */
  addSegment(flags: number, bytes: Uint8Array, memorySizeBytes = bytes.length): ElfSegment {
    const address = this.nextAddress;
    const offset = this.#append(bytes, this.#pageBytes);
    const segment: ElfSegment = {
      ...{ index: this.segments.length, type: PT_LOAD, flags, offset },
      ...{ virtualAddress: BigInt(address), physicalAddress: BigInt(address) },
      ...{ fileSizeBytes: bytes.length, memorySizeBytes, alignmentBytes: this.#pageBytes },
    };
    this.#memoryEnd = address + memorySizeBytes;
    // The loaded segments stand in the order of their addresses (System V ABI, "Program Header").
    const last = this.segments.findLastIndex(({ type }) => type === PT_LOAD);
    this.segments.splice(last + 1, 0, segment);
    return segment;
  }

  /** Adds a section that describes loaded bytes. Returns its index. */
  addLoadedSection(
    section: SectionToAdd,
    { virtualAddress, offset }: ElfSegment,
    at: number,
    sizeBytes: number,
  ): number {
    return this.#addSection(section, { address: virtualAddress + BigInt(at), offset: offset + at, sizeBytes });
  }

  /** Adds a section that is not loaded. Returns its index. */
  addSection(section: SectionToAdd, bytes: Uint8Array): number {
    const offset = this.#append(bytes, section.alignmentBytes);
    return this.#addSection(section, { address: 0n, offset, sizeBytes: bytes.length });
  }

  /** Gives a section that is not loaded other bytes. */
  replaceSection(section: ElfSection, bytes: Uint8Array): void {
    assert((section.flags & SHF_ALLOC) === 0n, 'the section is not loaded');
    section.offset = this.#append(bytes, section.alignmentBytes);
    section.sizeBytes = bytes.length;
  }

  #addSection(section: SectionToAdd, place: Pick<ElfSection, 'address' | 'offset' | 'sizeBytes'>): number {
    const index = this.sections.length;
    const { link = 0, info = 0, entrySizeBytes = 0 } = section;
    this.sections.push({ ...section, ...place, index, link, info, entrySizeBytes });
    return index;
  }

  #append(bytes: Uint8Array, alignmentBytes: number): number {
    const offset = alignUp(this.#fileEnd, alignmentBytes);
    this.#chunks.push(new Uint8Array(offset - this.#fileEnd), bytes);
    this.#fileEnd = offset + bytes.length;
    return offset;
  }

  /** The program headers as a loaded segment has them, when one is added for them and `others` more. */
  segmentTableBytes(others: number): number {
    return (this.segments.length + others) * SEGMENT_ENTRY_SIZE_BYTES;
  }

  /**
   * The changed file. `table`: the segment whose first bytes are left for the program headers.
   */
  finish(table: ElfSegment): Uint8Array {
    for (const segment of this.segments) {
      if (segment.type !== PT_PHDR) continue;
      segment.offset = table.offset;
      segment.virtualAddress = table.virtualAddress;
      segment.physicalAddress = table.virtualAddress;
      segment.fileSizeBytes = this.segmentTableBytes(0);
      segment.memorySizeBytes = segment.fileSizeBytes;
    }
    const nameIndex = this.#nameSections();
    const headersAt = this.#append(this.#sectionHeaders(), 8);
    const bytes = concatenate(this.#chunks);
    const view = new DataView(bytes.buffer);
    for (const [index, segment] of this.segments.entries()) {
      const { virtualAddress: address } = segment;
      writeSegment(view, table.offset + index * SEGMENT_ENTRY_SIZE_BYTES, { ...segment, address });
    }
    view.setBigUint64(32, BigInt(table.offset), true);
    view.setBigUint64(40, BigInt(headersAt), true);
    view.setUint16(54, SEGMENT_ENTRY_SIZE_BYTES, true);
    view.setUint16(56, this.segments.length, true);
    view.setUint16(58, SECTION_ENTRY_SIZE_BYTES, true);
    view.setUint16(60, this.sections.length, true);
    view.setUint16(62, nameIndex, true);
    return bytes;
  }

  #nameSections(): number {
    const found = this.sections[this.elf.header.sectionNameIndex];
    const index =
      found && found.index > 0
        ? found.index
        : this.addSection({ name: NAMES, type: SHT_STRTAB, flags: 0n, alignmentBytes: 1 }, new Uint8Array(0));
    checkSections(this.sections.length, this.elf.name);
    return index;
  }

  #sectionHeaders(): Uint8Array {
    const names = new StringTableBuilder();
    for (const { name } of this.sections) names.add(name);
    const nameIndex = this.elf.header.sectionNameIndex;
    const table = this.sections[nameIndex > 0 ? nameIndex : this.sections.length - 1]!;
    this.replaceSection(table, names.bytes());
    const bytes = new Uint8Array(this.sections.length * SECTION_ENTRY_SIZE_BYTES);
    const view = new DataView(bytes.buffer);
    for (const [index, section] of this.sections.entries()) {
      if (index === 0) continue;
      const written = { ...section, bytes: new Uint8Array(0) };
      writeSection(view, index * SECTION_ENTRY_SIZE_BYTES, written, section.offset, names.add(section.name));
    }
    return bytes;
  }
}

function checkSections(count: number, file: string | undefined): void {
  if (count < SHN_LORESERVE) return;
  throw new WavewrightError('UNSUPPORTED', `${count} sections`, file === undefined ? {} : { file });
}

function emptySection(): ElfSection {
  return {
    ...{ index: 0, name: '', type: 0, flags: 0n, address: 0n, offset: 0, sizeBytes: 0 },
    ...{ link: 0, info: 0, alignmentBytes: 0, entrySizeBytes: 0 },
  };
}
