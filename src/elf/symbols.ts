import type { ByteReader } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';
import { SHN_LORESERVE, SHN_UNDEF } from './constants.ts';
import type { StringTable } from './strings.ts';

/** An entry of a symbol table (System V ABI, "Symbol Table"). */
export interface ElfSymbol {
  index: number;
  name: string;
  /** Address in ET_DYN and ET_EXEC; offset in the section in ET_REL. */
  value: bigint;
  sizeBytes: number;
  /** STB_*. */
  binding: number;
  /** STT_*. */
  type: number;
  /** STV_*. */
  visibility: number;
  /** The whole st_other byte; bits 0 and 1 are the visibility. */
  other: number;
  /** Section index or SHN_*. */
  sectionIndex: number;
}

export const SYMBOL_ENTRY_SIZE_BYTES = 24;

/** Whether the symbol stands for something in this file. */
export function isDefined(symbol: ElfSymbol): boolean {
  return symbol.sectionIndex !== SHN_UNDEF;
}

/** Whether `sectionIndex` is an index of the section table rather than a reserved number. */
export function isInSection(symbol: ElfSymbol): boolean {
  return symbol.sectionIndex !== SHN_UNDEF && symbol.sectionIndex < SHN_LORESERVE;
}

/** Reads a whole symbol table, the null symbol 0 included. */
export function readSymbols(table: ByteReader, names: StringTable): ElfSymbol[] {
  if (table.length % SYMBOL_ENTRY_SIZE_BYTES !== 0) {
    table.fail(`the table has ${table.length} bytes, expected a multiple of ${SYMBOL_ENTRY_SIZE_BYTES}`, 0);
  }
  const count = table.length / SYMBOL_ENTRY_SIZE_BYTES;
  checkLimit('elfSymbols', count, table.source);
  const symbols: ElfSymbol[] = [];
  table.offset = 0;
  for (let index = 0; index < count; index++) {
    const nameOffset = table.u32('st_name');
    const info = table.u8('st_info');
    const other = table.u8('st_other');
    const sectionIndex = table.u16('st_shndx');
    symbols.push({
      index,
      name: nameOffset === 0 ? '' : names(nameOffset, `name of symbol ${index}`),
      value: table.u64('st_value'),
      sizeBytes: table.size('st_size'),
      binding: info >> 4,
      type: info & 0xf,
      visibility: other & 3,
      other,
      sectionIndex,
    });
  }
  return symbols;
}
