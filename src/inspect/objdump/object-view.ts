/** Sections and symbols of a code object as llvm-objdump sees them. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import {
  ET_REL,
  PF_X,
  PT_LOAD,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHN_LORESERVE,
  SHN_UNDEF,
  SHT_DYNSYM,
  SHT_NOBITS,
  SHT_PROGBITS,
  STT_FILE,
  STT_SECTION,
} from '../../elf/constants.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';

export const isText = ({ flags }: ElfSection): boolean => (flags & SHF_EXECINSTR) !== 0n;
export const isAllocated = ({ flags }: ElfSection): boolean => (flags & SHF_ALLOC) !== 0n;
export const isVirtual = ({ type }: ElfSection): boolean => type === SHT_NOBITS;
export const isRelocatable = (elf: ElfFile): boolean => elf.header.type === ET_REL;

/** The column Type of -h. */
export function sectionKind(section: ElfSection): string {
  const { type, flags, name } = section;
  const kinds: string[] = [];
  if (isText(section)) kinds.push('TEXT');
  if (type === SHT_PROGBITS && isAllocated(section) && !isText(section)) kinds.push('DATA');
  if (type === SHT_NOBITS && (flags & (SHF_ALLOC | SHF_WRITE)) !== 0n) kinds.push('BSS');
  if (/^\.z?debug|^\.gdb_index$/.test(name)) kinds.push('DEBUG');
  return kinds.join(', ');
}

/** The sections; in a file without section headers one for each executable segment. */
export function sectionsOf(elf: ElfFile): readonly ElfSection[] {
  if (elf.sections.length > 0) return elf.sections;
  return elf.segments
    .filter(({ type, flags }) => type === PT_LOAD && (flags & PF_X) !== 0)
    .map(({ index, virtualAddress, offset, fileSizeBytes, alignmentBytes }, position) => ({
      index: position,
      name: `PT_LOAD#${index}`,
      type: SHT_PROGBITS,
      flags: SHF_ALLOC | SHF_EXECINSTR,
      address: virtualAddress,
      offset,
      sizeBytes: fileSizeBytes,
      link: 0,
      info: 0,
      alignmentBytes,
      entrySizeBytes: 0,
    }));
}

/**
 * The bytes of a section, a made-up one included. Throws BAD_INPUT when a null section, whose range no reader
 * looks at, goes beyond the file.
 */
export function contentsOf(elf: ElfFile, { index, offset, sizeBytes }: ElfSection): Uint8Array {
  const end = offset + sizeBytes;
  if (end <= elf.bytes.length) return elf.bytes.subarray(offset, end);
  const what = `section ${index} ends at ${hex(end)}, the file has ${hex(elf.bytes.length)} bytes`;
  throw new WavewrightError('BAD_INPUT', what, elf.name === undefined ? {} : { file: elf.name });
}

/** Without the null symbol. */
export const symbolsOf = (elf: ElfFile): readonly ElfSymbol[] => elf.symbols.slice(1);

/** Without the null symbol; of a file with section headers only. */
export const dynamicSymbolsOf = (elf: ElfFile): readonly ElfSymbol[] =>
  elf.sections.some(({ type }) => type === SHT_DYNSYM) ? elf.dynamicSymbols.slice(1) : [];

/**
 * The section that a symbol is in; undefined for one that is undefined, absolute or common. Throws BAD_INPUT.
 */
export function sectionOf(elf: ElfFile, symbol: ElfSymbol): ElfSection | undefined {
  const { sectionIndex } = symbol;
  if (sectionIndex === SHN_UNDEF || sectionIndex >= SHN_LORESERVE) return undefined;
  const section = elf.sections[sectionIndex];
  if (section) return section;
  const what = `symbol '${symbol.name}' is in section ${sectionIndex}, the file has ${elf.sections.length}`;
  throw new WavewrightError('BAD_INPUT', what, elf.name === undefined ? {} : { file: elf.name });
}

/** An address that listings count with. Throws BAD_INPUT from 2^53 on. */
export function addressOf(elf: ElfFile, { address, sizeBytes, name }: ElfSection): number {
  if (address + BigInt(sizeBytes) <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(address);
  const what = `the section ends at ${hex(address + BigInt(sizeBytes))}, expected at most 2^53`;
  throw new WavewrightError('BAD_INPUT', what, { ...(elf.name !== undefined && { file: elf.name }), section: name });
}

/** Sections and files are symbols that no listing of code shows. */
export const isShown = ({ type, name }: ElfSymbol): boolean => type !== STT_SECTION && type !== STT_FILE && name !== '';
