import type { ByteReader } from '../base/bytes.ts';
import { checkLimit } from '../base/limits.ts';
import type { ElfSymbol } from './symbols.ts';

/** One relocation record (System V ABI, "Relocation"). */
export interface ElfRelocation {
  /** Address of the place in ET_DYN; offset in the target section in ET_REL. */
  offset: bigint;
  /** Processor-specific number. */
  type: number;
  symbolIndex: number;
  /** `undefined` for index 0, that is no symbol. */
  symbol: ElfSymbol | undefined;
  /** `undefined` in a REL table, where the addend stands in the place itself. */
  addend: bigint | undefined;
}

/** A relocation section with what it applies to. */
export interface ElfRelocationSection {
  sectionIndex: number;
  name: string;
  /** Index of the section that is patched; 0 in dynamic tables. */
  targetSectionIndex: number;
  relocations: ElfRelocation[];
}

export const RELA_ENTRY_SIZE_BYTES = 24;
export const REL_ENTRY_SIZE_BYTES = 16;

/** Reads a whole RELA or REL table. */
export function readRelocations(
  table: ByteReader,
  withAddend: boolean,
  symbols: readonly ElfSymbol[],
): ElfRelocation[] {
  const entrySizeBytes = withAddend ? RELA_ENTRY_SIZE_BYTES : REL_ENTRY_SIZE_BYTES;
  if (table.length % entrySizeBytes !== 0) {
    table.fail(`the table has ${table.length} bytes, expected a multiple of ${entrySizeBytes}`, 0);
  }
  const count = table.length / entrySizeBytes;
  checkLimit('elfRelocations', count, table.source);
  const relocations: ElfRelocation[] = [];
  table.offset = 0;
  for (let index = 0; index < count; index++) {
    const offset = table.u64('r_offset');
    const type = table.u32('r_info');
    const symbolIndex = table.u32('r_info');
    if (symbolIndex !== 0 && symbolIndex >= symbols.length) {
      const at = index * entrySizeBytes + 12;
      table.fail(`relocation ${index} names symbol ${symbolIndex}, the table has ${symbols.length}`, at);
    }
    const symbol = symbolIndex === 0 ? undefined : symbols[symbolIndex];
    const addend = withAddend ? table.i64('r_addend') : undefined;
    relocations.push({ offset, type, symbolIndex, symbol, addend });
  }
  return relocations;
}
