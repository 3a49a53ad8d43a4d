/** Fixups to relocations, and the sections and symbols of an assembly to a relocatable ELF file. */
import { concatenate } from '../base/concatenate.ts';
import { WavewrightError } from '../base/errors.ts';
import { leb128, unsigned } from '../base/leb128.ts';
import { ELFOSABI_AMDGPU_HSA, EM_AMDGPU, encodeElfFlags } from '../codeobject/elf-flags.ts';
import { R_AMDGPU } from '../codeobject/relocation-types.ts';
import {
  ET_REL,
  GRP_COMDAT,
  SHF_GROUP,
  SHF_INFO_LINK,
  SHN_ABS,
  SHN_COMMON,
  SHT_GROUP,
  SHT_LLVM_ADDRSIG,
  SHT_RELA,
  SHT_STRTAB,
  SHT_SYMTAB,
  STT_SECTION,
} from '../elf/constants.ts';
import {
  encodeRelocations,
  encodeSymbols,
  type RelocationToWrite,
  type SectionToWrite,
  StringTableBuilder,
  type SymbolToWrite,
  writeElf,
} from '../elf/writer.ts';
import type { Expression } from '../isa/amdgpu/text/reader/expression.ts';
import type { Assembly } from './assembly.ts';
import { type AssembledSection, type FieldFixup, type Leb128Field, littleEndian } from './section.ts';
import type { AssembledSymbol, RelocatableValue } from './symbols.ts';

/** Numbers from there on have other meanings (ELF, "Special Section Indexes"). */
const SECTION_LIMIT = 0xfef0;

/** What follows `@` (LLVM AMDGPU usage, "Relocation Records"). */
const VARIANTS: Readonly<Record<string, number>> = {
  gotpcrel: R_AMDGPU.GOTPCREL,
  'gotpcrel32@lo': R_AMDGPU.GOTPCREL32_LO,
  'gotpcrel32@hi': R_AMDGPU.GOTPCREL32_HI,
  'rel32@lo': R_AMDGPU.REL32_LO,
  'rel32@hi': R_AMDGPU.REL32_HI,
  rel64: R_AMDGPU.REL64,
  'abs32@lo': R_AMDGPU.ABS32_LO,
  'abs32@hi': R_AMDGPU.ABS32_HI,
};

/** Sections that are linked together or not at all. */
interface Group {
  readonly signature: AssembledSymbol;
  /** Of the section that says so. */
  readonly number: number;
  readonly isComdat: boolean;
  /** Header numbers. */
  readonly members: number[];
}

interface Relocation {
  readonly offset: number;
  readonly type: number;
  /** The section when the symbol is a local one. */
  readonly target: AssembledSymbol | AssembledSection | undefined;
  readonly addend: bigint;
}

/** A literal is relative to its own place unless it is a difference or says otherwise. */
function isRelative(expression: Expression): boolean {
  switch (expression.kind) {
    case 'number':
    case 'call':
      return false;
    case 'symbol':
      return expression.variant === undefined || !expression.variant.startsWith('abs32');
    case 'unary':
      return isRelative(expression.operand);
    case 'binary':
      return expression.operator !== '-' && (isRelative(expression.left) || isRelative(expression.right));
  }
}

const isLocal = (symbol: AssembledSymbol): boolean =>
  symbol.binding === 'local' || (symbol.binding === undefined && symbol.definition !== undefined);

export class ObjectWriter {
  readonly #assembly: Assembly;
  readonly #relocations = new Map<AssembledSection, Relocation[]>();

  constructor(assembly: Assembly) {
    this.#assembly = assembly;
  }

  /** Fills in what is known, keeps the rest as relocations. Throws BAD_INPUT for what neither can hold. */
  resolve(section: AssembledSection, fixup: FieldFixup): void {
    const value = this.#assembly.symbols.evaluate(fixup.expression);
    if (typeof fixup.kind === 'object') this.#resolveLeb128(section, fixup.offset, fixup.kind, value);
    else if (fixup.kind === 'branch') this.#resolveBranch(section, fixup, value);
    else if (fixup.kind === 'literal') this.#resolveField(section, fixup, value, 4, isRelative(fixup.expression));
    else this.#resolveField(section, fixup, value, fixup.kind, false);
  }

  #resolveBranch(section: AssembledSection, { offset }: FieldFixup, value: RelocatableValue): void {
    const { plus, minus, constant } = value;
    const definition = plus?.symbol.definition;
    if (!plus || minus || plus.variant !== undefined) fail('expected a label');
    if (definition?.kind === 'label' && definition.section === section && isLocal(plus.symbol)) {
      const distance = (definition.offset + Number(constant) - offset - 4) / 4;
      if (!Number.isInteger(distance) || distance < -(2 ** 15) || distance >= 2 ** 15) {
        fail(`the branch target is ${distance * 4} bytes away, expected a multiple of 4 within 128 KiB`);
      }
      section.patch(offset, BigInt(distance), 2);
      return;
    }
    if (!definition) fail(`undefined label '${plus.symbol.name}'`);
    // The field of an address 0, as LLVM leaves it; the relocation overwrites it.
    section.patch(offset, (constant - 4n) / 4n, 2);
    this.#add(section, this.#relocation(offset, R_AMDGPU.REL16, plus.symbol, constant));
  }

  /** Asks for another size where this one is too small. */
  #resolveLeb128(section: AssembledSection, offset: number, field: Leb128Field, value: RelocatableValue): void {
    if (value.plus || value.minus) fail('there is no relocation for LEB128');
    const bytes = leb128(value.constant, field.isSigned, field.sizeBytes);
    if (bytes.length > field.sizeBytes) this.#assembly.leb128Sizes.grow(field.ordinal, bytes.length);
    else section.patchBytes(offset, bytes);
  }

  #resolveField(
    section: AssembledSection,
    { offset }: FieldFixup,
    value: RelocatableValue,
    sizeBytes: 1 | 2 | 4 | 8,
    isRelativeField: boolean,
  ): void {
    const { plus, minus } = value;
    let { constant } = value;
    let relative = isRelativeField;
    if (minus) {
      const place = minus.definition;
      if (place?.kind !== 'label' || place.section !== section || relative) fail('the difference is not known');
      constant += BigInt(offset - place.offset);
      relative = true;
    }
    const definition = plus?.symbol.definition;
    const isNear = definition?.kind === 'label' && definition.section === section;
    if (relative && plus && isNear && plus.variant === undefined && isLocal(plus.symbol)) {
      section.patch(offset, BigInt(definition.offset - offset) + constant, sizeBytes);
      return;
    }
    if (!plus && !relative) {
      section.patch(offset, constant, sizeBytes);
      return;
    }
    if (sizeBytes < 4) fail('there is no relocation of 1 or 2 bytes');
    this.#add(
      section,
      this.#relocation(offset, relocationType(plus?.variant, sizeBytes, relative), plus?.symbol, constant),
    );
  }

  /** Local symbols stand as offsets in their sections, which the linker must not merge. */
  #relocation(offset: number, type: number, symbol: AssembledSymbol | undefined, addend: bigint): Relocation {
    const definition = symbol?.definition;
    if (symbol && definition?.kind === 'label' && isLocal(symbol)) {
      if (symbol.isTemporary || !definition.section.isMergeable || addend === 0n) {
        return { offset, type, target: definition.section, addend: addend + BigInt(definition.offset) };
      }
    }
    return { offset, type, target: symbol, addend };
  }

  #add(section: AssembledSection, relocation: Relocation): void {
    const list = this.#relocations.get(section) ?? [];
    list.push(relocation);
    this.#relocations.set(section, list);
  }

  /** The bytes of the file. */
  write(): Uint8Array {
    const { target, codeObjectVersion } = this.#assembly;
    const { numbers, groups, count } = this.#numberSections();
    const hasSignificance = this.#assembly.addressSignificant !== undefined;
    const symbolsNumber = count + (hasSignificance ? 1 : 0);
    const { symbols, numberOf, localCount } = this.#collectSymbols(numbers, groups);
    const indexOf = (target: AssembledSymbol | AssembledSection): number =>
      numberOf(target) ?? fail('a symbol of a relocation is not in the symbol table');
    const strings = new StringTableBuilder();
    const symbolBytes = encodeSymbols(symbols, strings);
    const written = this.#assembly.sections.flatMap((section): SectionToWrite[] => {
      const group = groups.get(section.identity.group ?? '');
      const isFirst = group !== undefined && group.members[0] === numbers.get(section);
      const own = { ...described(section), bytes: section.bytes, sizeBytes: section.sizeBytes };
      const list = this.#relocations.get(section);
      return [
        ...(isFirst ? [groupSection(group, indexOf(group.signature), symbolsNumber)] : []),
        { ...own, link: this.#linkedSection(section, numbers) },
        ...(list ? [this.#relocationSection(section, list, indexOf, [symbolsNumber, numbers.get(section)!])] : []),
      ];
    });
    if (hasSignificance) written.push(this.#significanceSection(numberOf, symbolsNumber));
    return writeElf({
      type: ET_REL,
      machine: EM_AMDGPU,
      osAbi: ELFOSABI_AMDGPU_HSA,
      abiVersion: codeObjectVersion - 2,
      flags: encodeElfFlags({ version: codeObjectVersion, target: { ...target.id, genericVersion: 0 } }),
      segments: [],
      sections: [
        ...written,
        {
          name: '.symtab',
          type: SHT_SYMTAB,
          flags: 0n,
          bytes: symbolBytes,
          link: symbolsNumber + 1,
          info: localCount,
          alignmentBytes: 8,
          entrySizeBytes: 24,
        },
        { name: '.strtab', type: SHT_STRTAB, flags: 0n, bytes: strings.bytes(), alignmentBytes: 1 },
        { name: '.shstrtab', type: SHT_STRTAB, flags: 0n, bytes: new Uint8Array(0), alignmentBytes: 1 },
      ],
      nameSection: '.shstrtab',
    });
  }

  /**
   * Header numbers: each section stands before its relocations, the first one of a group behind the section
   * of the group.
   */
  #numberSections(): { numbers: Map<AssembledSection, number>; groups: Map<string, Group>; count: number } {
    const numbers = new Map<AssembledSection, number>();
    const groups = new Map<string, Group>();
    let count = 1;
    for (const section of this.#assembly.sections) {
      const { group: name, isComdat = false } = section.identity;
      let group = name === undefined ? undefined : groups.get(name);
      if (name !== undefined && !group) {
        group = { signature: this.#assembly.symbols.get(name), number: count++, isComdat, members: [] };
        groups.set(name, group);
      }
      numbers.set(section, count);
      group?.members.push(count++);
      if (!group) count++;
      if (!this.#relocations.has(section)) continue;
      group?.members.push(count);
      count++;
    }
    if (count > SECTION_LIMIT) {
      throw new WavewrightError('LIMIT_EXCEEDED', `${count} sections, expected at most ${SECTION_LIMIT}`);
    }
    return { numbers, groups, count };
  }

  /** The section that `.section` with the flag `o` names a symbol of; 0 where there is none. */
  #linkedSection({ identity: { linkedTo } }: AssembledSection, numbers: ReadonlyMap<AssembledSection, number>): number {
    const definition = linkedTo === undefined ? undefined : this.#assembly.symbols.find(linkedTo)?.definition;
    if (linkedTo !== undefined && definition?.kind !== 'label') fail(`'${linkedTo}' is in no section`);
    return definition?.kind === 'label' ? numbers.get(definition.section)! : 0;
  }

  #relocationSection(
    section: AssembledSection,
    list: readonly Relocation[],
    indexOf: (target: AssembledSymbol | AssembledSection) => number,
    [link, info]: readonly [link: number, info: number],
  ): SectionToWrite {
    const entries = list
      .toSorted((a, b) => a.offset - b.offset)
      .map(
        ({ offset, type, target, addend }): RelocationToWrite => ({
          offset: BigInt(offset),
          type,
          symbol: target === undefined ? 0 : indexOf(target),
          addend,
        }),
      );
    return {
      name: `.rela${section.name}`,
      type: SHT_RELA,
      flags: section.identity.group === undefined ? SHF_INFO_LINK : SHF_GROUP,
      bytes: encodeRelocations(entries),
      link,
      info,
      alignmentBytes: 8,
      entrySizeBytes: 24,
    };
  }

  /** Numbers of the symbols whose addresses matter, in LEB128, as far as the symbol table has them. */
  #significanceSection(numberOf: (target: AssembledSymbol) => number | undefined, link: number): SectionToWrite {
    const { addressSignificant = [], symbols } = this.#assembly;
    const numbers = addressSignificant.flatMap((name) => numberOf(symbols.get(name)) ?? []);
    return {
      name: '.llvm_addrsig',
      type: SHT_LLVM_ADDRSIG,
      flags: 0x80000000n,
      bytes: concatenate(numbers.map(unsigned)),
      link,
      alignmentBytes: 1,
    };
  }

  /**
   * Local symbols first; sections that relocations name, then the others in the order of their first mention.
   */
  #collectSymbols(
    numbers: ReadonlyMap<AssembledSection, number>,
    groups: ReadonlyMap<string, Group>,
  ): {
    symbols: SymbolToWrite[];
    numberOf: (target: AssembledSymbol | AssembledSection) => number | undefined;
    localCount: number;
  } {
    const targets = new Set([...this.#relocations.values()].flat().map(({ target }) => target));
    const all = this.#assembly.symbols.all.filter(
      (symbol) =>
        groups.has(symbol.name) ||
        (!symbol.name.startsWith('.amdgcn.') && (!symbol.isTemporary || targets.has(symbol)) && isListed(symbol)),
    );
    const sections = this.#assembly.sections.filter((section) => targets.has(section));
    // The name of a group that is no symbol besides.
    const isName = (symbol: AssembledSymbol): boolean => groups.has(symbol.name) && !isListed(symbol);
    const isFirst = (symbol: AssembledSymbol): boolean => isLocal(symbol) || isName(symbol);
    const locals = all.filter(isFirst);
    const order = [...sections, ...locals, ...all.filter((symbol) => !isFirst(symbol))];
    const index = new Map(order.map((target, i) => [target, i + 1]));
    const entries = order.map((target) => {
      if ('alignmentBytes' in target) return sectionSymbol(numbers.get(target)!);
      const entry = this.#symbolEntry(target, numbers);
      return isName(target) ? { ...entry, binding: 0, section: groups.get(target.name)!.number } : entry;
    });
    return {
      symbols: entries,
      numberOf: (target) => index.get(target),
      localCount: sections.length + locals.length + 1,
    };
  }

  #symbolEntry(symbol: AssembledSymbol, numbers: ReadonlyMap<AssembledSection, number>): SymbolToWrite {
    const { definition, name, visibility, type } = symbol;
    const binding = symbol.binding === 'weak' ? 2 : isLocal(symbol) ? 0 : 1;
    const size = symbol.size && this.#assembly.symbols.evaluate(symbol.size);
    if (size?.plus || size?.minus) fail(`the size of '${name}' is not known`);
    const common = { name, binding, type, visibility, sizeBytes: BigInt.asUintN(64, size?.constant ?? 0n) };
    switch (definition?.kind) {
      case undefined:
        return { ...common, section: 0, value: 0n };
      case 'common':
        return { ...common, section: SHN_COMMON, value: definition.alignmentBytes };
      case 'label':
        return { ...common, section: numbers.get(definition.section)!, value: BigInt(definition.offset) };
      case 'equal':
        return { ...common, ...this.#equalPlace(symbol, definition.expression, numbers) };
    }
  }

  #equalPlace(
    symbol: AssembledSymbol,
    expression: Expression,
    numbers: ReadonlyMap<AssembledSection, number>,
  ): { section: number; value: bigint } {
    const { constant, plus, minus } = this.#assembly.symbols.evaluate(expression);
    if (!plus && !minus) return { section: SHN_ABS, value: constant };
    const definition = plus?.symbol.definition;
    if (minus || definition?.kind !== 'label') fail(`'${symbol.name}' stands for nothing that a symbol can have`);
    return { section: numbers.get(definition.section)!, value: BigInt(definition.offset) + constant };
  }
}

/** What is neither defined nor used leaves no trace. */
const isListed = ({ definition, isUsed }: AssembledSymbol): boolean => definition !== undefined || isUsed;

const described = ({ name, type, flags, alignmentBytes, entrySizeBytes }: AssembledSection) => ({
  name,
  type,
  flags,
  alignmentBytes,
  entrySizeBytes,
});

const sectionSymbol = (section: number): SymbolToWrite => ({
  name: '',
  binding: 0,
  type: STT_SECTION,
  visibility: 0,
  section,
  value: 0n,
  sizeBytes: 0n,
});

function relocationType(variant: string | undefined, sizeBytes: number, isRelativeField: boolean): number {
  if (variant !== undefined) return VARIANTS[variant] ?? fail(`unknown relocation '@${variant}'`);
  if (sizeBytes === 8) return isRelativeField ? R_AMDGPU.REL64 : R_AMDGPU.ABS64;
  return isRelativeField ? R_AMDGPU.REL32 : R_AMDGPU.ABS32;
}

function groupSection({ isComdat, members }: Group, signature: number, symbolsNumber: number): SectionToWrite {
  return {
    name: '.group',
    type: SHT_GROUP,
    flags: 0n,
    bytes: concatenate([isComdat ? GRP_COMDAT : 0, ...members].map((word) => littleEndian(BigInt(word), 4))),
    link: symbolsNumber,
    info: signature,
    alignmentBytes: 4,
    entrySizeBytes: 4,
  };
}

function fail(what: string): never {
  throw new WavewrightError('BAD_INPUT', what);
}
