/** Fixups to relocations, and the sections and symbols of an assembly to a relocatable ELF file. */
import { WavewrightError } from '../base/errors.ts';
import { ELFOSABI_AMDGPU_HSA, EM_AMDGPU, encodeElfFlags } from '../codeobject/elf-flags.ts';
import { ET_REL, SHT_RELA, SHT_STRTAB, SHT_SYMTAB } from '../elf/constants.ts';
import {
  concatenate,
  encodeRelocations,
  encodeSymbols,
  type RelocationToWrite,
  type SectionToWrite,
  StringTableBuilder,
  type SymbolToWrite,
  writeElf,
} from '../elf/writer.ts';
import type { Expression } from '../isa/amdgpu/assembler/expression.ts';
import type { Assembly } from './assembly.ts';
import type { AssembledSection, FieldFixup } from './section.ts';
import type { AssembledSymbol, RelocatableValue } from './symbols.ts';

const SHN_ABS = 0xfff1;
const SHN_COMMON = 0xfff2;
const STT_SECTION = 3;
const STT_FILE = 4;
const SHF_INFO_LINK = 0x40n;
const SHT_LLVM_ADDRSIG = 0x6fff4c03;

const R = { ABS32_LO: 1, ABS32_HI: 2, ABS64: 3, REL32: 4, REL64: 5, ABS32: 6, REL16: 14 } as const;

/** What follows `@` (LLVM AMDGPU usage, "Relocation Records"). */
const VARIANTS: Readonly<Record<string, number>> = {
  gotpcrel: 7,
  'gotpcrel32@lo': 8,
  'gotpcrel32@hi': 9,
  'rel32@lo': 10,
  'rel32@hi': 11,
  rel64: R.REL64,
  'abs32@lo': R.ABS32_LO,
  'abs32@hi': R.ABS32_HI,
};

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
    if (fixup.kind === 'branch') this.#resolveBranch(section, fixup, value);
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
    this.#add(section, this.#relocation(offset, R.REL16, plus.symbol, constant));
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
    const { sections, target, codeObjectVersion } = this.#assembly;
    const numbers = new Map<AssembledSection, number>();
    let next = 1;
    for (const section of sections) {
      numbers.set(section, next);
      next += this.#relocations.has(section) ? 2 : 1;
    }
    const hasSignificance = this.#assembly.addressSignificant !== undefined;
    const symbolsNumber = next + (hasSignificance ? 1 : 0);
    const { symbols, indexOf, localCount } = this.#collectSymbols(numbers);
    const strings = new StringTableBuilder();
    const symbolBytes = encodeSymbols(symbols, strings);
    const written = sections.flatMap((section): SectionToWrite[] => {
      const list = this.#relocations.get(section);
      const own: SectionToWrite = { ...described(section), bytes: section.bytes, sizeBytes: section.sizeBytes };
      return list
        ? [own, this.#relocationSection(section, list, indexOf, [symbolsNumber, numbers.get(section)!])]
        : [own];
    });
    if (hasSignificance) written.push(this.#significanceSection(indexOf, symbolsNumber));
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
      flags: SHF_INFO_LINK,
      bytes: encodeRelocations(entries),
      link,
      info,
      alignmentBytes: 8,
      entrySizeBytes: 24,
    };
  }

  /** Numbers of the symbols whose addresses matter, in LEB128. */
  #significanceSection(indexOf: (target: AssembledSymbol) => number, link: number): SectionToWrite {
    const { addressSignificant = [], symbols } = this.#assembly;
    const bytes = concatenate(addressSignificant.map((name) => unsignedLeb128(indexOf(symbols.get(name)))));
    return { name: '.llvm_addrsig', type: SHT_LLVM_ADDRSIG, flags: 0x80000000n, bytes, link, alignmentBytes: 1 };
  }

  /** Local symbols first; sections that relocations name, files, then the others in the order of their first mention. */
  #collectSymbols(numbers: ReadonlyMap<AssembledSection, number>): {
    symbols: SymbolToWrite[];
    indexOf: (target: AssembledSymbol | AssembledSection) => number;
    localCount: number;
  } {
    const targets = new Set([...this.#relocations.values()].flat().map(({ target }) => target));
    const all = this.#assembly.symbols.all.filter(
      (symbol) =>
        !symbol.name.startsWith('.amdgcn.') && (!symbol.isTemporary || targets.has(symbol)) && isListed(symbol),
    );
    const sections = this.#assembly.sections.filter((section) => targets.has(section));
    const files = all.filter(({ type }) => type === STT_FILE);
    const locals = all.filter((symbol) => symbol.type !== STT_FILE && isLocal(symbol));
    const others = all.filter((symbol) => symbol.type !== STT_FILE && !isLocal(symbol));
    const order = [...files, ...sections, ...locals, ...others];
    const index = new Map(order.map((target, i) => [target, i + 1]));
    const entries = order.map((target) =>
      'alignmentBytes' in target ? sectionSymbol(numbers.get(target)!) : this.#symbolEntry(target, numbers),
    );
    return {
      symbols: entries,
      indexOf: (target) => index.get(target) ?? fail('a symbol of a relocation is not in the symbol table'),
      localCount: files.length + sections.length + locals.length + 1,
    };
  }

  #symbolEntry(symbol: AssembledSymbol, numbers: ReadonlyMap<AssembledSection, number>): SymbolToWrite {
    const { definition, name, visibility, type } = symbol;
    const binding = symbol.binding === 'weak' ? 2 : isLocal(symbol) ? 0 : 1;
    const size = symbol.size && this.#assembly.symbols.evaluate(symbol.size);
    if (size?.plus || size?.minus) fail(`the size of '${name}' is not known`);
    const common = { name, binding, type, visibility, sizeBytes: BigInt.asUintN(64, size?.constant ?? 0n) };
    if (type === STT_FILE) return { ...common, section: SHN_ABS, value: 0n };
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
const isListed = ({ definition, isUsed, type }: AssembledSymbol): boolean =>
  definition !== undefined || isUsed || type === STT_FILE;

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
  if (sizeBytes === 8) return isRelativeField ? R.REL64 : R.ABS64;
  return isRelativeField ? R.REL32 : R.ABS32;
}

function unsignedLeb128(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0));
    rest >>>= 7;
  } while (rest > 0);
  return Uint8Array.from(bytes);
}

function fail(what: string): never {
  throw new WavewrightError('BAD_INPUT', what);
}
