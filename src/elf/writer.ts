/**
 * Writes ELF64 little-endian files: header, segments, sections, string tables, symbols, relocations. The
 * counterpart of elf.ts.
 */
import { alignUp } from '../base/align.ts';
import { concatenate } from '../base/concatenate.ts';
import { assert } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { SHT_NOBITS } from './constants.ts';

export const FILE_HEADER_SIZE_BYTES = 64;
export const SEGMENT_HEADER_SIZE_BYTES = 56;
const SECTION_HEADER_SIZE_BYTES = 64;

/** A section to write. Section 0 is added by the writer; `link` and `info` count it. */
export interface SectionToWrite {
  readonly name: string;
  /** SHT_*. */
  readonly type: number;
  /** SHF_*. */
  readonly flags: bigint;
  readonly address?: bigint;
  /** Place in the file; the next one that is aligned when it is not given. */
  readonly offset?: number;
  /** Empty for SHT_NOBITS. */
  readonly bytes: Uint8Array;
  /** In memory; `bytes` decides otherwise. */
  readonly sizeBytes?: number;
  readonly link?: number;
  readonly info?: number;
  readonly alignmentBytes: number;
  readonly entrySizeBytes?: number;
}

export interface SegmentToWrite {
  readonly type: number;
  /** PF_*. */
  readonly flags: number;
  readonly offset: number;
  readonly address: bigint;
  readonly fileSizeBytes: number;
  readonly memorySizeBytes: number;
  readonly alignmentBytes: number;
}

export interface FileToWrite {
  readonly type: number;
  readonly machine: number;
  readonly osAbi: number;
  readonly abiVersion: number;
  readonly flags: number;
  readonly segments: readonly SegmentToWrite[];
  /** One of them is called `nameSection` and holds the names; the writer fills it. */
  readonly sections: readonly SectionToWrite[];
  readonly nameSection: string;
}

/** NUL-terminated strings, each once; offset 0 is the empty one. */
export class StringTableBuilder {
  readonly #offsets = new Map<string, number>([['', 0]]);
  readonly #parts: Uint8Array[] = [Uint8Array.of(0)];
  #sizeBytes = 1;

  add(text: string): number {
    const known = this.#offsets.get(text);
    if (known !== undefined) return known;
    const offset = this.#sizeBytes;
    const encoded = new TextEncoder().encode(`${text}\0`);
    this.#offsets.set(text, offset);
    this.#parts.push(encoded);
    this.#sizeBytes += encoded.length;
    return offset;
  }

  bytes(): Uint8Array {
    return concatenate(this.#parts);
  }
}

export interface SymbolToWrite {
  readonly name: string;
  /** STB_*. */
  readonly binding: number;
  /** STT_*. */
  readonly type: number;
  /** STV_*. */
  readonly visibility: number;
  readonly section: number;
  readonly value: bigint;
  readonly sizeBytes: bigint;
}

const SYMBOL_SIZE_BYTES = 24;

/** The entries of a symbol table, with the null symbol in front. */
export function encodeSymbols(symbols: readonly SymbolToWrite[], strings: StringTableBuilder): Uint8Array {
  const bytes = new Uint8Array((symbols.length + 1) * SYMBOL_SIZE_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, symbol] of symbols.entries()) {
    const at = (index + 1) * SYMBOL_SIZE_BYTES;
    view.setUint32(at, strings.add(symbol.name), true);
    view.setUint8(at + 4, (symbol.binding << 4) | symbol.type);
    view.setUint8(at + 5, symbol.visibility);
    view.setUint16(at + 6, symbol.section, true);
    view.setBigUint64(at + 8, BigInt.asUintN(64, symbol.value), true);
    view.setBigUint64(at + 16, symbol.sizeBytes, true);
  }
  return bytes;
}

export interface RelocationToWrite {
  readonly offset: bigint;
  readonly type: number;
  /** Index in the symbol table. */
  readonly symbol: number;
  readonly addend: bigint;
}

/** The entries of a SHT_RELA section. */
export function encodeRelocations(relocations: readonly RelocationToWrite[]): Uint8Array {
  const bytes = new Uint8Array(relocations.length * 24);
  const view = new DataView(bytes.buffer);
  for (const [index, { offset, type, symbol, addend }] of relocations.entries()) {
    view.setBigUint64(index * 24, offset, true);
    view.setUint32(index * 24 + 8, type, true);
    view.setUint32(index * 24 + 12, symbol, true);
    view.setBigInt64(index * 24 + 16, BigInt.asIntN(64, addend), true);
  }
  return bytes;
}

/** Lays out what has no offset yet behind what has one, the section headers last. */
export function writeElf(file: FileToWrite): Uint8Array {
  const names = new StringTableBuilder();
  for (const { name } of file.sections) names.add(name);
  const nameIndex = file.sections.findIndex(({ name }) => name === file.nameSection);
  assert(nameIndex >= 0, 'the section of names is one of the sections');
  const sections = file.sections.map((section, index) =>
    index === nameIndex ? { ...section, bytes: names.bytes() } : section,
  );
  let end = FILE_HEADER_SIZE_BYTES + file.segments.length * SEGMENT_HEADER_SIZE_BYTES;
  const offsets = sections.map((section) => {
    const offset = section.offset ?? alignUp(end, section.alignmentBytes);
    if (section.type !== SHT_NOBITS) end = Math.max(end, offset + section.bytes.length);
    return offset;
  });
  const headersAt = alignUp(end, 8);
  checkLimit('elfFileBytes', headersAt, {});
  const bytes = new Uint8Array(headersAt + (sections.length + 1) * SECTION_HEADER_SIZE_BYTES);
  const view = new DataView(bytes.buffer);
  writeHeader(view, file, headersAt, nameIndex + 1);
  for (const [index, segment] of file.segments.entries()) {
    writeSegment(view, FILE_HEADER_SIZE_BYTES + index * SEGMENT_HEADER_SIZE_BYTES, segment);
  }
  for (const [index, section] of sections.entries()) {
    // What takes no room in the file may begin behind its end.
    if (section.bytes.length > 0) bytes.set(section.bytes, offsets[index]!);
    const at = headersAt + (index + 1) * SECTION_HEADER_SIZE_BYTES;
    writeSection(view, at, section, offsets[index]!, names.add(section.name));
  }
  return bytes;
}

function writeHeader(view: DataView, file: FileToWrite, headersAt: number, nameIndex: number): void {
  const { segments, sections } = file;
  [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, file.osAbi, file.abiVersion].forEach((byte, i) => {
    view.setUint8(i, byte);
  });
  view.setUint16(16, file.type, true);
  view.setUint16(18, file.machine, true);
  view.setUint32(20, 1, true);
  view.setBigUint64(32, segments.length === 0 ? 0n : BigInt(FILE_HEADER_SIZE_BYTES), true);
  view.setBigUint64(40, BigInt(headersAt), true);
  view.setUint32(48, file.flags, true);
  view.setUint16(52, FILE_HEADER_SIZE_BYTES, true);
  view.setUint16(54, segments.length === 0 ? 0 : SEGMENT_HEADER_SIZE_BYTES, true);
  view.setUint16(56, segments.length, true);
  view.setUint16(58, SECTION_HEADER_SIZE_BYTES, true);
  view.setUint16(60, sections.length + 1, true);
  view.setUint16(62, nameIndex, true);
}

export function writeSegment(view: DataView, at: number, segment: SegmentToWrite): void {
  view.setUint32(at, segment.type, true);
  view.setUint32(at + 4, segment.flags, true);
  view.setBigUint64(at + 8, BigInt(segment.offset), true);
  view.setBigUint64(at + 16, segment.address, true);
  view.setBigUint64(at + 24, segment.address, true);
  view.setBigUint64(at + 32, BigInt(segment.fileSizeBytes), true);
  view.setBigUint64(at + 40, BigInt(segment.memorySizeBytes), true);
  view.setBigUint64(at + 48, BigInt(segment.alignmentBytes), true);
}

export function writeSection(view: DataView, at: number, section: SectionToWrite, offset: number, name: number): void {
  view.setUint32(at, name, true);
  view.setUint32(at + 4, section.type, true);
  view.setBigUint64(at + 8, section.flags, true);
  view.setBigUint64(at + 16, section.address ?? 0n, true);
  view.setBigUint64(at + 24, BigInt(offset), true);
  view.setBigUint64(at + 32, BigInt(section.sizeBytes ?? section.bytes.length), true);
  view.setUint32(at + 40, section.link ?? 0, true);
  view.setUint32(at + 44, section.info ?? 0, true);
  view.setBigUint64(at + 48, BigInt(section.alignmentBytes), true);
  view.setBigUint64(at + 56, BigInt(section.entrySizeBytes ?? 0), true);
}
