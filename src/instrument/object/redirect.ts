/** Symbols, relocations and kernel descriptors that lead to new code where they led to old. */

import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import { encodeKernelDescriptor, type KernelDescriptor } from '../../codeobject/kernel-descriptor.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import { SHN_ABS, SHT_SYMTAB, STB_GLOBAL, STT_FUNC, STT_NOTYPE, STV_HIDDEN } from '../../elf/constants.ts';
import type { ElfEdit } from '../../elf/edit.ts';
import type { ElfRelocation } from '../../elf/relocations.ts';
import { type ElfSymbol, isDefined } from '../../elf/symbols.ts';
import { encodeSymbols, StringTableBuilder } from '../../elf/writer.ts';
import { type DynamicSymbol, type RelocationToApply, symbolOfFile } from './dynamic-tables.ts';

/** Where the code of functions went. */
export interface NewPlaces {
  /** The new address of an entry; undefined where its code stayed. */
  entryAt(address: number): number | undefined;
  /** Bytes of new code for those of a function. */
  sizeOf(address: number, sizeBytes: number): number;
  /** Index of the section that holds the new code. */
  readonly sectionIndex: number;
  /** Whether an address is that of an instruction, or in one. */
  isInstruction(address: number): boolean;
}

const WITH_ADDEND: ReadonlySet<number> = new Set([
  ...[R_AMDGPU.ABS64, R_AMDGPU.ABS32, R_AMDGPU.ABS32_LO, R_AMDGPU.ABS32_HI],
  ...[R_AMDGPU.REL64, R_AMDGPU.REL32, R_AMDGPU.REL32_LO, R_AMDGPU.REL32_HI],
]);

/** What a symbol becomes; undefined where it stays as it is. */
function redirected(symbol: ElfSymbol, places: NewPlaces): Pick<ElfSymbol, 'value' | 'sizeBytes'> | undefined {
  const isPlace = isDefined(symbol) && symbol.sectionIndex !== SHN_ABS;
  if (!isPlace || (symbol.type !== STT_FUNC && symbol.type !== STT_NOTYPE)) return undefined;
  const value = places.entryAt(Number(symbol.value));
  if (value === undefined) return undefined;
  return { value: BigInt(value), sizeBytes: places.sizeOf(Number(symbol.value), symbol.sizeBytes) };
}

/** The dynamic symbols of the file, without the null one. */
export function redirectSymbols({ elf }: CodeObject, places: NewPlaces): DynamicSymbol[] {
  const versions = elf.dynamicVersions;
  return elf.dynamicSymbols.slice(1).map((symbol) => {
    const known = symbolOfFile(symbol, versions?.[symbol.index]);
    const moved = redirected(symbol, places);
    if (!moved) return known;
    return { ...known, value: moved.value, sizeBytes: BigInt(moved.sizeBytes), section: places.sectionIndex };
  });
}

/** The dynamic relocations of the file, over `symbols` in the order of the file. */
export function redirectRelocations(
  { elf }: CodeObject,
  symbols: readonly DynamicSymbol[],
  places: NewPlaces,
): RelocationToApply[] {
  return elf.dynamicRelocations.map((relocation) => {
    const { offset, type, symbolIndex, addend = 0n } = relocation;
    const symbol = symbolIndex === 0 ? undefined : symbols[symbolIndex - 1];
    return { offset, type, symbol, addend: newAddend(relocation, addend, symbol, places) };
  });
}

function newAddend(
  { offset, type, symbol: old }: ElfRelocation,
  addend: bigint,
  symbol: DynamicSymbol | undefined,
  places: NewPlaces,
): bigint {
  // What code computes with may be any address in it: only data point to functions.
  const isPointer = !places.isInstruction(Number(offset));
  if (type === R_AMDGPU.RELATIVE64) {
    const entry = isPointer ? places.entryAt(Number(addend)) : undefined;
    return entry === undefined ? addend : BigInt(entry);
  }
  if (!symbol || !old || !isDefined(old) || !WITH_ADDEND.has(type)) return addend;
  const target = old.value + addend;
  const entry = isPointer || addend === 0n ? places.entryAt(Number(target)) : undefined;
  // A symbol that moved takes its relocations along, also those to its middle, which did not.
  return (entry === undefined ? target : BigInt(entry)) - symbol.value;
}

/** Lets `.symtab` name the new code, and the old one as NAME.original. */
export function redirectStaticSymbols(edit: ElfEdit, places: NewPlaces): void {
  const { elf } = edit;
  if (elf.symbols.length === 0) return;
  const [table, names] = staticTables(edit);
  if (!table || !names) return;
  const strings = new StringTableBuilder();
  const taken = new Set(elf.symbols.map(({ name }) => name));
  const originals: ElfSymbol[] = [];
  const moved = elf.symbols.slice(1).map((symbol) => {
    const place = redirected(symbol, places);
    if (!place) return symbol;
    const name = freeName(`${symbol.name}.original`, taken);
    // Hidden, so that nothing but messages and listings sees them.
    originals.push({ ...symbol, name, binding: STB_GLOBAL, type: STT_NOTYPE, other: STV_HIDDEN });
    return { ...symbol, ...place, sectionIndex: places.sectionIndex };
  });
  const bytes = encodeSymbols(
    [...moved, ...originals].map((symbol) => symbolOfFile(symbol)),
    strings,
  );
  edit.replaceSection(table, bytes);
  edit.replaceSection(names, strings.bytes());
}

function staticTables({ elf, sections }: ElfEdit) {
  const table = sections.find(({ type }) => type === SHT_SYMTAB);
  const names = table && sections[table.link];
  // Names of sections may stand in the same table.
  return [table, names && names.index !== elf.header.sectionNameIndex ? names : undefined] as const;
}

/** A name like `name` that is not taken; it is now. */
export function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let i = 2; taken.has(free); i++) free = `${name}.${i}`;
  taken.add(free);
  return free;
}

/** INST_PREF_SIZE counts them (LLVM "User Guide for AMDGPU Backend", COMPUTE_PGM_RSRC3 of gfx11). */
const PREFETCH_UNIT_BYTES = 128;

/** Lets the descriptor of a kernel lead to its new code, which ends at `end`. */
export function redirectKernel(edit: ElfEdit, { symbol, descriptor, name }: Kernel, entry: number, end: number): void {
  const bytes = descriptorOf(descriptor, symbol.value, entry, end);
  edit.patch(symbol.value, bytes, `the descriptor of kernel '${name}'`);
}

/** A descriptor at `address` that leads to code which ends at `end`: no more of it is prefetched. */
export function descriptorOf(descriptor: KernelDescriptor, address: bigint, entry: number, end: number): Uint8Array {
  const rsrc3 = { ...descriptor.rsrc3 };
  const { instructionPrefetchSize: units } = rsrc3;
  const most = Math.ceil((end - entry) / PREFETCH_UNIT_BYTES);
  if (units !== undefined) rsrc3.instructionPrefetchSize = Math.min(units, most);
  return encodeKernelDescriptor({ ...descriptor, rsrc3, kernelCodeEntryByteOffset: BigInt(entry) - address });
}
