/**
 * What a relocatable object says, apart from the order of its symbols and strings: for comparing one
 * assembler's with another's.
 */
import type { ElfFile } from '../../src/elf/elf.ts';
import type { ElfSection } from '../../src/elf/header.ts';

/** Their contents are numbers of symbols, or strings. */
const BY_NUMBER = /^(|\.strtab|\.shstrtab|\.symtab|\.llvm_addrsig)$/;
const SHT_GROUP = 17;

export interface ObjectDescription {
  readonly header: readonly unknown[];
  readonly sections: readonly { readonly name: string; readonly kind: string; readonly bytes: string }[];
  readonly symbols: readonly string[];
  readonly relocations: readonly string[];
}

export function describeObject(elf: ElfFile): ObjectDescription {
  const { osAbi, abiVersion, flags, type } = elf.header;
  const sectionName = (index: number): string => elf.sections[index]?.name ?? String(index);
  const symbolName = (index: number): string => {
    const symbol = elf.symbols[index];
    return symbol?.name || sectionName(symbol?.sectionIndex ?? 0);
  };
  /** Members of a group by name, with the symbol that names it. */
  const group = (section: ElfSection): string => {
    const bytes = elf.sectionBytes(section);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const [flag, ...members] = Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
    return [flag, symbolName(section.info), ...members.map(sectionName)].join(' ');
  };
  const contents = (section: ElfSection): string => {
    if (section.name.startsWith('.rela')) return '';
    return section.type === SHT_GROUP ? group(section) : Buffer.from(elf.sectionBytes(section)).toString('hex');
  };
  const sections = elf.sections
    .filter(({ name }) => !BY_NUMBER.test(name))
    .map((section) => ({
      name: section.name,
      kind: [section.type, section.flags, section.sizeBytes, section.alignmentBytes, section.entrySizeBytes].join(' '),
      bytes: contents(section),
    }));
  const symbols = elf.symbols.map(({ name, binding, type, visibility, sectionIndex, value, sizeBytes }) =>
    [name, binding, type, visibility, sectionName(sectionIndex), value, sizeBytes].join(' '),
  );
  const relocations = elf.relocationSections.flatMap(({ name, relocations }) =>
    relocations.map(({ offset, type, symbol, addend }) => {
      const target = symbol?.name || (symbol && sectionName(symbol.sectionIndex));
      return [name, offset, type, target, addend].join(' ');
    }),
  );
  return { header: [osAbi, abiVersion, flags, type], sections, symbols: symbols.toSorted(), relocations };
}
