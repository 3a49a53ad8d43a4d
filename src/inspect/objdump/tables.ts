/** Everything but the disassembly: headers, symbols, relocations. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { relocationType } from '../../codeobject/relocation-types.ts';
import {
  DT_JMPREL,
  DT_REL,
  DT_RELA,
  PT_LOAD,
  SHN_ABS,
  SHN_COMMON,
  SHT_DYNAMIC,
  STB_GNU_UNIQUE,
  STB_LOCAL,
  STB_WEAK,
  STT_COMMON,
  STT_FILE,
  STT_FUNC,
  STT_GNU_IFUNC,
  STT_OBJECT,
  STT_SECTION,
} from '../../elf/constants.ts';
import type { ElfFile } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import type { ElfRelocation, ElfRelocationSection } from '../../elf/relocations.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import {
  dynamicSymbolsOf,
  isAllocated,
  isRelocatable,
  sectionKind,
  sectionOf,
  sectionsOf,
  symbolsOf,
} from './object-view.ts';
import type { ObjdumpOptions } from './options.ts';
import type { Output } from './output.ts';

const VISIBILITIES = ['', ' .internal', ' .hidden', ' .protected'];
const MIN_NAME_WIDTH = 13;
const TYPE_WIDTH = 24;

const hex16 = (value: bigint): string => value.toString(16).padStart(16, '0');

/** Whether --section lets a section through. */
export const isSelected = ({ name }: ElfSection, { sections = [] }: ObjdumpOptions): boolean =>
  sections.length === 0 || sections.includes(name);

export function printFileHeader(elf: ElfFile, out: Output): void {
  out.line('architecture: amdgcn').line(`start address: 0x${hex16(elf.header.entry)}`);
}

/** Where a section is loaded: shifted like the segment that holds it. */
function loadAddress(elf: ElfFile, { address, sizeBytes }: ElfSection): bigint {
  const segment = elf.segments.find(
    ({ type, virtualAddress, memorySizeBytes }) =>
      type === PT_LOAD &&
      address >= virtualAddress &&
      address + BigInt(sizeBytes) <= virtualAddress + BigInt(memorySizeBytes),
  );
  return segment ? address - segment.virtualAddress + segment.physicalAddress : address;
}

export function printSectionHeaders(elf: ElfFile, options: ObjdumpOptions, out: Output): void {
  const sections = sectionsOf(elf).filter((section) => isSelected(section, options));
  const width = sections.reduce((widest, { name }) => Math.max(widest, name.length), MIN_NAME_WIDTH);
  const showsLoadAddress = sections.some(
    (section) => isAllocated(section) && loadAddress(elf, section) !== section.address,
  );
  const lma = (text: string): string => (showsLoadAddress ? `${text.padEnd(16)} ` : '');
  out.line(`\nSections:\nIdx ${'Name'.padEnd(width)} Size     ${'VMA'.padEnd(16)} ${lma('LMA')}Type`);
  for (const section of sections) {
    const { index, name, sizeBytes, address } = section;
    const loaded = isAllocated(section) ? loadAddress(elf, section) : address;
    out.line(
      `${String(index).padStart(3)} ${name.padEnd(width)} ${sizeBytes.toString(16).padStart(8, '0')} ${hex16(address)} ${lma(hex16(loaded))}${sectionKind(section)}`,
    );
  }
}

export function printSymbols(elf: ElfFile, options: ObjdumpOptions, out: Output): void {
  out.line('\nSYMBOL TABLE:');
  for (const symbol of symbolsOf(elf)) printSymbol(elf, symbol, ' ', options, out);
}

export function printDynamicSymbols(elf: ElfFile, options: ObjdumpOptions, out: Output): void {
  out.line('\nDYNAMIC SYMBOL TABLE:');
  for (const symbol of dynamicSymbolsOf(elf)) printSymbol(elf, symbol, 'D', options, out);
}

function printSymbol(elf: ElfFile, symbol: ElfSymbol, kind: 'D' | ' ', options: ObjdumpOptions, out: Output): void {
  const { type, binding, sectionIndex, sizeBytes, other, value } = symbol;
  const section = sectionOf(elf, symbol);
  const isCommon = type === STT_COMMON || sectionIndex === SHN_COMMON;
  const isAbsolute = sectionIndex === SHN_ABS;
  const inRelocatable = section !== undefined && isRelocatable(elf) ? section.address : 0n;
  // Of a common symbol the value is the alignment, and what is shown as its address is its size.
  const address = BigInt.asUintN(64, isCommon ? BigInt(sizeBytes) : value + inRelocatable);
  const { startAddress = 0, stopAddress = Number.POSITIVE_INFINITY } = options;
  if (address < startAddress || address > stopAddress) return;
  const isWeak = binding === STB_WEAK;
  const placed = (section !== undefined || isAbsolute) && !isWeak;
  const scope = binding === STB_GNU_UNIQUE ? 'u' : placed ? (binding === STB_LOCAL ? 'l' : 'g') : ' ';
  const indirect = type === STT_GNU_IFUNC ? 'i' : ' ';
  const debug = kind === 'D' ? 'D' : type === STT_SECTION || type === STT_FILE ? 'd' : ' ';
  const object = type === STT_OBJECT || type === STT_COMMON ? 'O' : ' ';
  const letter = type === STT_FILE ? 'f' : type === STT_FUNC ? 'F' : object;
  const place = isAbsolute ? '*ABS*' : isCommon ? '*COM*' : (section?.name ?? '*UND*');
  const size = hex16(isCommon ? value : BigInt(sizeBytes));
  const visibility = VISIBILITIES[other] ?? ` ${hex(other, 2)}`;
  const name = type === STT_SECTION && section !== undefined ? section.name : symbol.name;
  out.line(
    `${hex16(address)} ${scope}${isWeak ? 'w' : ' '}  ${indirect}${debug}${letter} ${place}\t${size}${visibility} ${name}`,
  );
}

export const relocationName = ({ type }: ElfRelocation): string => relocationType(type)?.name ?? 'Unknown';

/** Symbol and addend. Addends of REL tables stand in the place itself and are not shown. */
export function relocationValue(elf: ElfFile, { symbol, addend = 0n }: ElfRelocation): string {
  const name =
    symbol === undefined
      ? '*ABS*'
      : symbol.type === STT_SECTION
        ? (sectionOf(elf, symbol)?.name ?? symbol.name)
        : symbol.name;
  if (addend === 0n) return name;
  return `${name}${addend < 0n ? '-' : '+'}${hex(addend < 0n ? -addend : addend)}`;
}

const HEADINGS = `${'OFFSET'.padEnd(16)} ${'TYPE'.padEnd(TYPE_WIDTH)} VALUE`;

function printRelocation(elf: ElfFile, relocation: ElfRelocation, out: Output): void {
  const type = relocationName(relocation).padEnd(TYPE_WIDTH);
  out.line(`${hex16(relocation.offset)} ${type} ${relocationValue(elf, relocation)}`);
}

/**
 * What is applied to each section of a relocatable object, by section index, sorted by offset. Empty for
 * other files.
 */
export function relocationsByTarget(elf: ElfFile): Map<number, ElfRelocation[]> {
  const byTarget = new Map<number, ElfRelocation[]>();
  if (!isRelocatable(elf)) return byTarget;
  for (const { targetSectionIndex, relocations } of elf.relocationSections) {
    byTarget.set(targetSectionIndex, [...(byTarget.get(targetSectionIndex) ?? []), ...relocations]);
  }
  for (const relocations of byTarget.values()) {
    relocations.sort((a, b) => (a.offset < b.offset ? -1 : a.offset > b.offset ? 1 : 0));
  }
  return byTarget;
}

/** Those of relocatable objects. */
export function printRelocations(elf: ElfFile, options: ObjdumpOptions, out: Output): void {
  if (!isRelocatable(elf)) return;
  const byTarget = new Map<number, ElfRelocationSection[]>();
  for (const table of elf.relocationSections) {
    const section = elf.sections[table.sectionIndex]!;
    if (isAllocated(section) || table.relocations.length === 0 || !isSelected(section, options)) continue;
    const known = byTarget.get(table.targetSectionIndex);
    if (known) known.push(table);
    else byTarget.set(table.targetSectionIndex, [table]);
  }
  const { startAddress = 0, stopAddress = Number.POSITIVE_INFINITY } = options;
  for (const [target, tables] of byTarget) {
    out.line(`\nRELOCATION RECORDS FOR [${elf.sections[target]?.name ?? ''}]:`).line(HEADINGS);
    for (const relocation of tables.flatMap(({ relocations }) => relocations)) {
      if (relocation.offset >= startAddress && relocation.offset <= stopAddress) printRelocation(elf, relocation, out);
    }
  }
}

const RELOCATION_TABLES: readonly number[] = [DT_RELA, DT_REL, DT_JMPREL];

/** Those that a loader applies. Throws BAD_INPUT for an object without a dynamic section. */
export function printDynamicRelocations(elf: ElfFile, out: Output): void {
  if (!elf.sections.some(({ type }) => type === SHT_DYNAMIC)) {
    throw new WavewrightError('BAD_INPUT', 'not a dynamic object', elf.name === undefined ? {} : { file: elf.name });
  }
  const addresses = elf.dynamic.filter(({ tag }) => RELOCATION_TABLES.includes(tag)).map(({ value }) => value);
  const tables = elf.relocationSections.filter(({ sectionIndex }) =>
    addresses.includes(elf.sections[sectionIndex]!.address),
  );
  if (tables.length === 0) return;
  out.line('\nDYNAMIC RELOCATION RECORDS').line(HEADINGS);
  for (const { relocations } of tables) for (const relocation of relocations) printRelocation(elf, relocation, out);
}
