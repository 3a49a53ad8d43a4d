/**
 * The tables that a loader reads, written anew behind the code: dynamic symbols that lead to new code,
 * relocations for it, and what finds them.
 */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import {
  DT_GNU_HASH,
  DT_HASH,
  DT_JMPREL,
  DT_REL,
  DT_RELA,
  DT_RELAENT,
  DT_RELASZ,
  DT_STRSZ,
  DT_STRTAB,
  DT_SYMENT,
  DT_SYMTAB,
  DT_TEXTREL,
  DT_VERSYM,
  PT_DYNAMIC,
  SHF_ALLOC,
  SHT_DYNAMIC,
  SHT_DYNSYM,
  SHT_GNU_HASH,
  SHT_GNU_VERSYM,
  SHT_HASH,
  SHT_RELA,
  SHT_STRTAB,
  STB_LOCAL,
} from '../../elf/constants.ts';
import type { ElfEdit, SectionToAdd } from '../../elf/edit.ts';
import type { ElfSegment } from '../../elf/header.ts';
import type { ElfSymbol } from '../../elf/symbols.ts';
import { encodeRelocations, type RelocationToWrite, type SymbolToWrite } from '../../elf/writer.ts';
import { dynamicOrder, gnuHashTable, hashTable, symbolTable, tagBytes } from '../../linker/link-tables.ts';
import type { LiteralRelocation } from '../layout/lay-out.ts';

/** A symbol of the new tables: one of the file, changed, or a new one. */
export interface DynamicSymbol extends SymbolToWrite {
  /** Number that it had in the file; undefined for a new one. */
  readonly oldIndex: number | undefined;
  readonly version: number;
}

export interface RelocationToApply {
  readonly offset: bigint;
  readonly type: number;
  readonly symbol: DynamicSymbol | undefined;
  readonly addend: bigint;
}

/** A table with where it will stand, from the beginning of the segment. */
interface Table {
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly section: SectionToAdd;
}

const LOCAL_VERSION = 0;
const GLOBAL_VERSION = 1;

export const symbolOfFile = (symbol: ElfSymbol, version = GLOBAL_VERSION): DynamicSymbol => ({
  ...{ name: symbol.name, binding: symbol.binding, type: symbol.type, visibility: symbol.other },
  ...{ section: symbol.sectionIndex, value: symbol.value, sizeBytes: BigInt(symbol.sizeBytes) },
  ...{ oldIndex: symbol.index, version },
});

export const newSymbol = (symbol: SymbolToWrite): DynamicSymbol => ({
  ...symbol,
  oldIndex: undefined,
  version: symbol.binding === STB_LOCAL ? LOCAL_VERSION : GLOBAL_VERSION,
});

/** The relocation that fills a literal of new code. */
export const literalRelocation = ({ address, half, addend }: LiteralRelocation, symbol: DynamicSymbol) => ({
  offset: BigInt(address),
  type: half === 'low' ? R_AMDGPU.ABS32_LO : R_AMDGPU.ABS32_HI,
  symbol,
  addend: BigInt(addend),
});

/** Throws UNSUPPORTED for tables that no linker makes for AMD GPUs. */
export function checkDynamic({ elf }: ElfEdit): void {
  const odd = elf.dynamic.find(({ tag }) => tag === DT_REL || tag === DT_JMPREL);
  if (!odd) return;
  const what = `dynamic relocations under tag ${odd.tag}, expected DT_RELA (7) alone`;
  throw new WavewrightError('UNSUPPORTED', what, elf.name === undefined ? {} : { file: elf.name });
}

/**
 * The bytes of a segment at `address`, whose first `reservedBytes` stay free, and what there is in them.
 */
export class DynamicTablesToWrite {
  readonly #edit: ElfEdit;
  readonly #address: number;
  readonly #tables = new Map<string, Table>();
  #end: number;

  constructor(edit: ElfEdit, reservedBytes: number) {
    this.#edit = edit;
    this.#address = edit.nextAddress;
    this.#end = reservedBytes;
  }

  /** Local symbols come first, as everywhere (System V ABI, "Symbol Table"). */
  add(symbols: readonly DynamicSymbol[], relocations: readonly RelocationToApply[]): void {
    const hasVersions = this.#edit.elf.dynamicVersions !== undefined;
    const locals = symbols.filter(({ binding }) => binding === STB_LOCAL);
    const others = symbols.filter(({ binding }) => binding !== STB_LOCAL).map((each) => ({ ...each, of: each }));
    const ordered = dynamicOrder(others.map((each) => ({ ...each, isDefined: each.section !== 0 })));
    const all: readonly DynamicSymbol[] = [...locals, ...ordered];
    const numbers = new Map<DynamicSymbol, number>();
    locals.forEach((symbol, i) => {
      numbers.set(symbol, i + 1);
    });
    ordered.forEach(({ of }, i) => {
      numbers.set(of, locals.length + i + 1);
    });
    const firstHashed = 1 + locals.length + ordered.findIndex(({ isDefined: has }) => has);
    const hashed = ordered.filter(({ isDefined: has }) => has).map(({ name }) => name);
    const { bytes, strings } = symbolTable(all);
    this.#put('dynsym', '.dynsym', SHT_DYNSYM, bytes, { entrySizeBytes: 24, info: locals.length + 1 });
    if (hasVersions) {
      const versions = Uint16Array.from([LOCAL_VERSION, ...all.map(({ version }) => version)]);
      this.#put('versym', '.gnu.version', SHT_GNU_VERSYM, new Uint8Array(versions.buffer), { entrySizeBytes: 2 });
    }
    const gnuHash = gnuHashTable(hashed, hashed.length === 0 ? all.length + 1 : firstHashed);
    this.#put('gnuHash', '.gnu.hash', SHT_GNU_HASH, gnuHash);
    this.#put('hash', '.hash', SHT_HASH, hashTable(all.map(({ name }) => name)), { entrySizeBytes: 4 });
    this.#put('dynstr', '.dynstr', SHT_STRTAB, strings, { alignmentBytes: 1 });
    const records = relocations.map(
      ({ symbol, ...rest }): RelocationToWrite => ({ ...rest, symbol: symbol ? numbers.get(symbol)! : 0 }),
    );
    if (records.length > 0)
      this.#put('rela', '.rela.dyn', SHT_RELA, encodeRelocations(records), { entrySizeBytes: 24 });
    this.#put('dynamic', '.dynamic', SHT_DYNAMIC, tagBytes(this.#tags()), { entrySizeBytes: 16 });
  }

  /** Room for something else that is to be loaded; returns where it stands in the segment. */
  addBytes(key: string, bytes: Uint8Array, section: SectionToAdd): number {
    const at = alignUp(this.#end, section.alignmentBytes);
    this.#tables.set(key, { at, bytes, section });
    this.#end = at + bytes.length;
    return at;
  }

  bytes(): Uint8Array {
    const all = new Uint8Array(this.#end);
    for (const { at, bytes } of this.#tables.values()) all.set(bytes, at);
    return all;
  }

  /** Lets the file's headers point to the tables, once their segment is there. */
  install(segment: ElfSegment): void {
    const { sections, segments } = this.#edit;
    const indices = new Map<string, number>();
    for (const [key, table] of this.#tables) {
      if (key.startsWith('.')) continue;
      const known = sections.find(({ type, flags, name }) => {
        const isLoaded = (flags & SHF_ALLOC) !== 0n;
        return isLoaded && type === table.section.type && (type !== SHT_STRTAB || name === table.section.name);
      });
      if (known) moveSection(known, segment, table);
      const index = known?.index ?? this.#edit.addLoadedSection(table.section, segment, table.at, table.bytes.length);
      indices.set(key, index);
    }
    const link = (key: string, to: string): void => {
      const index = indices.get(key);
      if (index !== undefined) sections[index]!.link = indices.get(to)!;
    };
    for (const key of ['versym', 'gnuHash', 'hash', 'rela']) link(key, 'dynsym');
    for (const key of ['dynsym', 'dynamic']) link(key, 'dynstr');
    const table = this.#tables.get('dynamic')!;
    let dynamic = segments.find(({ type }) => type === PT_DYNAMIC);
    if (!dynamic) {
      dynamic = { ...segment, type: PT_DYNAMIC, alignmentBytes: 8 };
      segments.push(dynamic);
    }
    moveSegment(dynamic, segment, table.at, table.bytes.length);
  }

  #put(key: string, name: string, type: number, bytes: Uint8Array, section: Partial<SectionToAdd> = {}): void {
    this.addBytes(key, bytes, { name, type, flags: SHF_ALLOC, alignmentBytes: 8, ...section });
  }

  #tags(): [tag: number, value: number][] {
    const place = (key: string): number => this.#address + this.#tables.get(key)!.at;
    const size = (key: string): number => this.#tables.get(key)!.bytes.length;
    const own = new Map([
      [DT_SYMTAB, place('dynsym')],
      [DT_SYMENT, 24],
      [DT_STRTAB, place('dynstr')],
      [DT_STRSZ, size('dynstr')],
      [DT_GNU_HASH, place('gnuHash')],
      [DT_HASH, place('hash')],
    ]);
    if (this.#tables.has('versym')) own.set(DT_VERSYM, place('versym'));
    if (this.#tables.has('rela')) {
      own.set(DT_RELA, place('rela')).set(DT_RELASZ, size('rela')).set(DT_RELAENT, 24);
      // Literals of code are among what the loader writes.
      own.set(DT_TEXTREL, 0);
    }
    const others = this.#edit.elf.dynamic.filter(({ tag }) => !own.has(tag));
    return [...own, ...others.map(({ tag, value }): [number, number] => [tag, Number(value)])];
  }
}

function moveSection(
  section: { address: bigint; offset: number; sizeBytes: number; info: number },
  { virtualAddress, offset }: ElfSegment,
  { at, bytes, section: { info } }: Table,
): void {
  section.address = virtualAddress + BigInt(at);
  section.offset = offset + at;
  section.sizeBytes = bytes.length;
  if (info !== undefined) section.info = info;
}

/** Lets a program header name bytes of another segment. */
export function moveSegment(
  header: ElfSegment,
  { virtualAddress, offset }: ElfSegment,
  at: number,
  sizeBytes: number,
): void {
  header.offset = offset + at;
  header.virtualAddress = virtualAddress + BigInt(at);
  header.physicalAddress = header.virtualAddress;
  header.fileSizeBytes = sizeBytes;
  header.memorySizeBytes = sizeBytes;
}
