import type { ByteReader } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';
import { hex } from '../base/text.ts';
import {
  DT_GNU_HASH,
  DT_HASH,
  DT_JMPREL,
  DT_NULL,
  DT_PLTREL,
  DT_PLTRELSZ,
  DT_REL,
  DT_RELA,
  DT_RELAENT,
  DT_RELASZ,
  DT_RELENT,
  DT_RELSZ,
  DT_STRSZ,
  DT_STRTAB,
  DT_SYMENT,
  DT_SYMTAB,
  DT_VERSYM,
} from './constants.ts';
import { type ElfRelocation, REL_ENTRY_SIZE_BYTES, RELA_ENTRY_SIZE_BYTES, readRelocations } from './relocations.ts';
import { readStringTable } from './strings.ts';
import { type ElfSymbol, readSymbols, SYMBOL_ENTRY_SIZE_BYTES } from './symbols.ts';

/** An entry of the dynamic section (System V ABI, "Dynamic Section"). */
export interface ElfDynamicEntry {
  /** DT_*. */
  tag: number;
  /** An address or a value, as the tag says. */
  value: bigint;
}

/** Gives the file bytes behind an address range of the loaded image. */
export type AddressReader = (address: bigint, sizeBytes: number, what: string) => ByteReader;

/** Gives the file bytes from an address to the end of its segment. */
export type TailReader = (address: bigint, what: string) => ByteReader;

/** Reads the entries up to DT_NULL. */
export function readDynamic(table: ByteReader): ElfDynamicEntry[] {
  const entries: ElfDynamicEntry[] = [];
  table.offset = 0;
  while (table.remaining > 0) {
    checkLimit('elfDynamicEntries', entries.length + 1, table.source);
    const at = table.offset;
    const wideTag = table.i64('d_tag');
    const value = table.u64('d_val');
    const tag = Number(wideTag);
    if (!Number.isSafeInteger(tag)) table.fail(`d_tag is ${wideTag}, which no specification defines`, at);
    if (tag === DT_NULL) break;
    entries.push({ tag, value });
  }
  return entries;
}

/** The tables that the dynamic section points to, for files with and without section headers. */
export class DynamicTables {
  readonly #values = new Map<number, bigint>();
  readonly #table: ByteReader;
  readonly #at: AddressReader;
  readonly #tail: TailReader;

  constructor(table: ByteReader, entries: readonly ElfDynamicEntry[], at: AddressReader, tail: TailReader) {
    for (const { tag, value } of entries) this.#values.set(tag, value);
    this.#table = table;
    this.#at = at;
    this.#tail = tail;
  }

  /** Address of the dynamic symbol table; `undefined` when the file has none. */
  get symbolTableAddress(): bigint | undefined {
    return this.#values.get(DT_SYMTAB);
  }

  /** `symbolCount`: from the section header when there is one, otherwise the hash table tells. */
  readSymbols(symbolCount: number | undefined): ElfSymbol[] {
    const address = this.#values.get(DT_SYMTAB);
    if (address === undefined) return [];
    this.#expectEntrySize(DT_SYMENT, 'DT_SYMENT', SYMBOL_ENTRY_SIZE_BYTES);
    const count = symbolCount ?? this.#countSymbols();
    checkLimit('elfSymbols', count, this.#table.source);
    const names = this.#at(
      this.#require(DT_STRTAB, 'DT_STRTAB'),
      this.#size(DT_STRSZ, 'DT_STRSZ'),
      'dynamic string table',
    );
    const table = this.#at(address, count * SYMBOL_ENTRY_SIZE_BYTES, 'dynamic symbol table');
    return readSymbols(table, readStringTable(names));
  }

  /** DT_VERSYM: a version for each of `count` symbols; undefined without it. */
  readVersions(count: number): number[] | undefined {
    const address = this.#values.get(DT_VERSYM);
    if (address === undefined) return undefined;
    const table = this.#at(address, count * 2, 'DT_VERSYM table');
    return Array.from({ length: count }, () => table.u16('version of a symbol'));
  }

  /** DT_RELA, DT_REL and DT_JMPREL, in this order. */
  readRelocations(symbols: readonly ElfSymbol[]): ElfRelocation[] {
    const relocations: ElfRelocation[] = [];
    const add = (tag: number, sizeTag: number, withAddend: boolean, what: string) => {
      const address = this.#values.get(tag);
      if (address === undefined) return;
      const table = this.#at(address, this.#size(sizeTag, `size of the ${what}`), what);
      for (const relocation of readRelocations(table, withAddend, symbols)) relocations.push(relocation);
    };
    if (this.#values.has(DT_RELA)) this.#expectEntrySize(DT_RELAENT, 'DT_RELAENT', RELA_ENTRY_SIZE_BYTES);
    if (this.#values.has(DT_REL)) this.#expectEntrySize(DT_RELENT, 'DT_RELENT', REL_ENTRY_SIZE_BYTES);
    add(DT_RELA, DT_RELASZ, true, 'DT_RELA table');
    add(DT_REL, DT_RELSZ, false, 'DT_REL table');
    if (this.#values.has(DT_JMPREL)) {
      const kind = this.#size(DT_PLTREL, 'DT_PLTREL');
      if (kind !== DT_RELA && kind !== DT_REL)
        this.#table.fail(`DT_PLTREL is ${kind}, expected 7 (RELA) or 17 (REL)`, 0);
      add(DT_JMPREL, DT_PLTRELSZ, kind === DT_RELA, 'DT_JMPREL table');
    }
    return relocations;
  }

  #countSymbols(): number {
    const hash = this.#values.get(DT_HASH);
    if (hash !== undefined) {
      const header = this.#at(hash, 8, 'DT_HASH table');
      header.u32('nbucket');
      return header.u32('nchain');
    }
    const gnuHash = this.#values.get(DT_GNU_HASH);
    if (gnuHash !== undefined) return countGnuHash(this.#tail(gnuHash, 'DT_GNU_HASH table'));
    return this.#table.fail(
      'the file has DT_SYMTAB, but neither DT_HASH, DT_GNU_HASH nor a section that tell its size',
      0,
    );
  }

  #require(tag: number, what: string): bigint {
    return this.#values.get(tag) ?? this.#table.fail(`${what} is missing`, 0);
  }

  #size(tag: number, what: string): number {
    const value = this.#require(tag, what);
    if (value > BigInt(Number.MAX_SAFE_INTEGER))
      this.#table.fail(`${what} is ${hex(value)}, more than any file holds`, 0);
    return Number(value);
  }

  #expectEntrySize(tag: number, what: string, expected: number): void {
    const value = this.#require(tag, what);
    if (value !== BigInt(expected)) this.#table.fail(`${what} is ${value}, expected ${expected}`, 0);
  }
}

/** Symbols that a GNU hash table implies: the end of the chain of its highest bucket. */
function countGnuHash(table: ByteReader): number {
  const bucketCount = table.u32('nbuckets');
  const firstHashed = table.u32('symoffset');
  const bloomWords = table.u32('bloom_size');
  table.u32('bloom_shift');
  table.take(bloomWords * 8, 'the bloom filter');
  checkLimit('elfSymbols', bucketCount, table.source);
  let last = 0;
  for (let bucket = 0; bucket < bucketCount; bucket++) last = Math.max(last, table.u32('bucket'));
  if (last < firstHashed) return firstHashed;
  const chains = table.offset;
  for (;;) {
    table.offset = chains + (last - firstHashed) * 4;
    last++;
    if (table.u32('hash chain') & 1) return last;
  }
}
