import type { ByteReader } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';
import { hex } from '../base/text.ts';
import { PT_LOAD, SHN_XINDEX, SHT_NOBITS, SHT_NULL } from './constants.ts';
import { readStringTable } from './strings.ts';

/** The ELF-64 file header (ELF-64 object file format 1.5, section 3). */
export interface ElfHeader {
  /** EI_OSABI. */
  osAbi: number;
  /** EI_ABIVERSION; its meaning belongs to the OS ABI. */
  abiVersion: number;
  /** ET_*. */
  type: number;
  /** EM_*. */
  machine: number;
  /** Processor-specific e_flags. */
  flags: number;
  entry: bigint;
  segmentTableOffset: number;
  /** Program headers; the count of section 0 when e_phnum is PN_XNUM. */
  segmentCount: number;
  sectionTableOffset: number;
  /** Section headers; the count of section 0 when e_shnum is 0. */
  sectionCount: number;
  /** Index of the section that holds the section names, 0 for none. */
  sectionNameIndex: number;
}

/** A program header. */
export interface ElfSegment {
  index: number;
  /** PT_*. */
  type: number;
  /** PF_X 1, PF_W 2, PF_R 4. */
  flags: number;
  /** File offset of the first byte. */
  offset: number;
  virtualAddress: bigint;
  physicalAddress: bigint;
  fileSizeBytes: number;
  /** At least `fileSizeBytes` for PT_LOAD; the rest is zero. */
  memorySizeBytes: number;
  /** 0, 1 or a power of two. */
  alignmentBytes: number;
}

/** A section header. */
export interface ElfSection {
  index: number;
  name: string;
  /** SHT_*. */
  type: number;
  /** SHF_*. */
  flags: bigint;
  address: bigint;
  offset: number;
  /** For SHT_NOBITS the size in memory; such a section has no bytes in the file. */
  sizeBytes: number;
  link: number;
  info: number;
  alignmentBytes: number;
  entrySizeBytes: number;
}

const HEADER_SIZE_BYTES = 64;
export const SEGMENT_ENTRY_SIZE_BYTES = 56;
export const SECTION_ENTRY_SIZE_BYTES = 64;
const PN_XNUM = 0xffff;

/** Whether the bytes start with the ELF magic. */
export function isElf(bytes: Uint8Array): boolean {
  return bytes[0] === 0x7f && bytes[1] === 0x45 && bytes[2] === 0x4c && bytes[3] === 0x46;
}

/** e_machine of a little-endian file, without a look at the rest; undefined for what is no ELF file. */
export const elfMachine = (bytes: Uint8Array): number | undefined =>
  isElf(bytes) && bytes.length >= 20 ? bytes[18]! | (bytes[19]! << 8) : undefined;

/**
 * Reads the file header. Errors: `BAD_INPUT` when it is not 64-bit little-endian ELF or its tables lie
 * outside the file.
 */
export function readHeader(file: ByteReader): ElfHeader {
  if (file.length === 0) file.fail('the file is empty, an ELF file expected', 0);
  if (!isElf(file.bytes)) file.fail('no ELF magic 7f 45 4c 46', 0);
  file.check(0, HEADER_SIZE_BYTES, 'the ELF header');
  const expectByte = (offset: number, expected: number, what: string) => {
    const found = file.bytes[offset]!;
    if (found !== expected) file.fail(`${what} is ${found}, expected ${expected}`, offset);
  };
  expectByte(4, 2, 'EI_CLASS (2 = 64-bit)');
  expectByte(5, 1, 'EI_DATA (1 = little-endian)');
  expectByte(6, 1, 'EI_VERSION');
  const osAbi = file.bytes[7]!;
  const abiVersion = file.bytes[8]!;
  file.offset = 16;
  const type = file.u16('e_type');
  const machine = file.u16('e_machine');
  const version = file.u32('e_version');
  if (version !== 1) file.fail(`e_version is ${version}, expected 1`, 20);
  const entry = file.u64('e_entry');
  const segmentTableOffset = file.size('e_phoff');
  const sectionTableOffset = file.size('e_shoff');
  const flags = file.u32('e_flags');
  file.u16('e_ehsize');
  const segmentEntrySizeBytes = file.u16('e_phentsize');
  let segmentCount = file.u16('e_phnum');
  const sectionEntrySizeBytes = file.u16('e_shentsize');
  let sectionCount = file.u16('e_shnum');
  let sectionNameIndex = file.u16('e_shstrndx');

  if (sectionTableOffset !== 0) {
    if (sectionEntrySizeBytes !== SECTION_ENTRY_SIZE_BYTES) {
      file.fail(`e_shentsize is ${sectionEntrySizeBytes}, expected ${SECTION_ENTRY_SIZE_BYTES}`, 58);
    }
    // Counts that do not fit 16 bits stand in section 0 (System V ABI, "Section header table").
    if (sectionCount === 0 || segmentCount === PN_XNUM || sectionNameIndex === SHN_XINDEX) {
      const first = file.region(sectionTableOffset, SECTION_ENTRY_SIZE_BYTES, 'section header 0');
      first.offset = 32;
      const size = first.size('sh_size');
      const link = first.u32('sh_link');
      const info = first.u32('sh_info');
      if (sectionCount === 0) sectionCount = size;
      if (sectionNameIndex === SHN_XINDEX) sectionNameIndex = link;
      if (segmentCount === PN_XNUM) segmentCount = info;
    }
    checkLimit('elfSections', sectionCount, { ...file.source, offset: 60 });
    file.check(sectionTableOffset, sectionCount * SECTION_ENTRY_SIZE_BYTES, 'the section header table');
    if (sectionNameIndex >= Math.max(1, sectionCount)) {
      file.fail(`e_shstrndx is ${sectionNameIndex}, the file has ${sectionCount} sections`, 62);
    }
  } else if (sectionCount !== 0) {
    file.fail(`e_shnum is ${sectionCount}, but e_shoff is 0`, 60);
  }
  if (segmentCount !== 0) {
    if (segmentEntrySizeBytes !== SEGMENT_ENTRY_SIZE_BYTES) {
      file.fail(`e_phentsize is ${segmentEntrySizeBytes}, expected ${SEGMENT_ENTRY_SIZE_BYTES}`, 54);
    }
    checkLimit('elfSegments', segmentCount, { ...file.source, offset: 56 });
    file.check(segmentTableOffset, segmentCount * SEGMENT_ENTRY_SIZE_BYTES, 'the program header table');
  }
  return {
    osAbi,
    abiVersion,
    type,
    machine,
    flags,
    entry,
    segmentTableOffset,
    segmentCount,
    sectionTableOffset,
    sectionCount,
    sectionNameIndex: sectionTableOffset === 0 ? 0 : sectionNameIndex,
  };
}

/** Reads the program headers and checks that what they cover lies in the file. */
export function readSegments(file: ByteReader, header: ElfHeader): ElfSegment[] {
  const segments: ElfSegment[] = [];
  file.offset = header.segmentTableOffset;
  for (let index = 0; index < header.segmentCount; index++) {
    const at = file.offset;
    const type = file.u32('p_type');
    const segment: ElfSegment = {
      index,
      type,
      flags: file.u32('p_flags'),
      offset: file.size('p_offset'),
      virtualAddress: file.u64('p_vaddr'),
      physicalAddress: file.u64('p_paddr'),
      fileSizeBytes: file.size('p_filesz'),
      memorySizeBytes: file.size('p_memsz'),
      alignmentBytes: readAlignment(file, `program header ${index}: p_align`),
    };
    if (segment.fileSizeBytes !== 0) file.check(segment.offset, segment.fileSizeBytes, `segment ${index}`);
    if (type === PT_LOAD && segment.memorySizeBytes < segment.fileSizeBytes) {
      const { memorySizeBytes, fileSizeBytes } = segment;
      file.fail(`program header ${index}: p_memsz ${memorySizeBytes} is less than p_filesz ${fileSizeBytes}`, at + 40);
    }
    if (segment.virtualAddress + BigInt(segment.memorySizeBytes) > 1n << 64n) {
      file.fail(`program header ${index}: p_vaddr + p_memsz is beyond 2^64`, at + 16);
    }
    segments.push(segment);
  }
  return segments;
}

/** Reads the section headers with their names and checks that their contents lie in the file. */
export function readSections(file: ByteReader, header: ElfHeader): ElfSection[] {
  const sections: ElfSection[] = [];
  const nameOffsets: number[] = [];
  file.offset = header.sectionTableOffset;
  for (let index = 0; index < header.sectionCount; index++) {
    nameOffsets.push(file.u32('sh_name'));
    const section: ElfSection = {
      index,
      name: '',
      type: file.u32('sh_type'),
      flags: file.u64('sh_flags'),
      address: file.u64('sh_addr'),
      offset: file.size('sh_offset'),
      sizeBytes: file.size('sh_size'),
      link: file.u32('sh_link'),
      info: file.u32('sh_info'),
      alignmentBytes: readAlignment(file, `section header ${index}: sh_addralign`),
      entrySizeBytes: file.size('sh_entsize'),
    };
    if (section.type !== SHT_NULL && section.type !== SHT_NOBITS) {
      file.check(section.offset, section.sizeBytes, `section ${index}`);
    }
    sections.push(section);
  }
  const holder = sections[header.sectionNameIndex];
  if (holder !== undefined && holder.index !== 0) {
    if (holder.type === SHT_NOBITS)
      file.fail(`section ${holder.index}, which should hold the section names, has no bytes`);
    const names = readStringTable(file.region(holder.offset, holder.sizeBytes, 'section name table'));
    for (const section of sections)
      section.name = names(nameOffsets[section.index]!, `name of section ${section.index}`);
  }
  return sections;
}

function readAlignment(file: ByteReader, what: string): number {
  const at = file.offset;
  const value = file.u64(what);
  if ((value & (value - 1n)) !== 0n) file.fail(`${what} is ${hex(value)}, expected a power of two`, at);
  if (value > 1n << 52n) file.fail(`${what} is ${hex(value)}, expected at most 2^52`, at);
  return Number(value);
}
