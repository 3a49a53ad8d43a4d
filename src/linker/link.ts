/**
 * Links relocatable objects of one target into a code object that ROCm and Wavewright load: what
 * `ld.lld -shared` does for AMDGPU. LLVM "User Guide for AMDGPU Backend", "Relocation Records" and "ELF Code
 * Object"; System V ABI, "Dynamic Linking".
 */
import { assert, WavewrightError } from '../base/errors.ts';
import { EM_AMDGPU } from '../codeobject/elf-flags.ts';
import { R_AMDGPU, relocationType } from '../codeobject/relocation-types.ts';
import {
  DT_FINI_ARRAY,
  DT_FINI_ARRAYSZ,
  DT_INIT_ARRAY,
  DT_INIT_ARRAYSZ,
  ET_DYN,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHN_ABS,
  SHT_DYNAMIC,
  SHT_DYNSYM,
  SHT_GNU_HASH,
  SHT_HASH,
  SHT_NOBITS,
  SHT_RELA,
  SHT_STRTAB,
  SHT_SYMTAB,
  STB_LOCAL,
  STT_COMMON,
  STV_HIDDEN,
} from '../elf/constants.ts';
import { type ElfFile, parseElf } from '../elf/elf.ts';
import type { ElfRelocation } from '../elf/relocations.ts';
import {
  encodeRelocations,
  type RelocationToWrite,
  type SectionToWrite,
  type SymbolToWrite,
  writeElf,
} from '../elf/writer.ts';
import {
  ABSOLUTE,
  type InputSection,
  isLinkerDefined,
  isLocalized,
  isPreemptible,
  isReplaceable,
  isSeenByLoader,
  type LinkedSymbol,
  type LinkInputs,
  movesWithObject,
  type OutputSection,
  priority,
  readInputs,
} from './link-inputs.ts';
import { layOut, segmentsOf } from './link-layout.ts';
import { commentOf, dynamicOrder, gnuHashTable, hashTable, symbolTable, tagBytes } from './link-tables.ts';

/** A relocation that the loader applies. */
interface DynamicRelocation {
  readonly section: InputSection | 'got';
  readonly offset: number;
  readonly symbol: LinkedSymbol | undefined;
  readonly type: number;
  readonly target: LinkedSymbol;
  readonly addend: bigint;
}

interface PendingRelocation {
  readonly part: InputSection;
  readonly relocation: ElfRelocation;
  readonly symbol: LinkedSymbol;
}

/**
 * Entries of an array of constructors or destructors that stood in one section, in the order in which they
 * stand now.
 */
export interface ArrayPart {
  readonly kind: ArrayKind;
  /** Linked address. */
  readonly address: number;
  readonly count: number;
  /** Lower ones run first. */
  readonly priority: number;
}

const ARRAY_KINDS = ['init_array', 'fini_array', 'preinit_array'] as const;
export type ArrayKind = (typeof ARRAY_KINDS)[number];

class Linker {
  readonly #inputs: LinkInputs;
  readonly #forLoader: boolean;
  readonly #isPreemptible: (symbol: LinkedSymbol) => boolean;
  readonly #pending: PendingRelocation[] = [];
  readonly #dynamic: DynamicRelocation[] = [];
  /** Slots of the global offset table. */
  readonly #got = new Map<LinkedSymbol, number>();
  readonly #outputs: OutputSection[] = [];
  /** First those that only relocations name, then undefined ones, then what others find. */
  #dynamicSymbols: LinkedSymbol[] = [];
  #hiddenCount = 0;
  readonly #dynamicNumbers = new Map<LinkedSymbol, number>();
  readonly #outputOf = new Map<InputSection, OutputSection>();

  /**
   * `forLoader`: leaves every value that is not known yet to the loader, whatever its type, and everything
   * that another object may define in its place. lld refuses all but addresses of 64 bits, as ROCm's loader
   * would have to.
   */
  constructor(inputs: LinkInputs, forLoader: boolean) {
    this.#inputs = inputs;
    this.#forLoader = forLoader;
    this.#isPreemptible = forLoader ? isReplaceable : isPreemptible;
  }

  link(): Uint8Array {
    if (!this.#forLoader) this.#defineOwn();
    for (const file of this.#inputs.files) this.#scan(file);
    const { globals } = this.#inputs;
    const visible = [...globals.values()].filter(
      (symbol) => isSeenByLoader(symbol) && (symbol.isDefined || symbol.isUsed),
    );
    const hidden = this.#dynamic.flatMap(({ symbol }) => (symbol && !isSeenByLoader(symbol) ? symbol : []));
    this.#hiddenCount = new Set(hidden).size;
    this.#dynamicSymbols = [...new Set(hidden), ...dynamicOrder(visible)];
    for (const [i, symbol] of this.#dynamicSymbols.entries()) this.#dynamicNumbers.set(symbol, i + 1);
    this.#checkUndefined();
    const tables = this.#makeTables();
    for (const output of layOut(this.#inputs.sections, tables)) {
      this.#outputs.push(output);
      for (const part of output.parts) this.#outputOf.set(part, output);
    }
    this.#defineBoundValues();
    this.#fillTables();
    for (const pending of this.#pending) this.#apply(pending);
    return this.#write();
  }

  /** Symbols that the linker defines when they are used; over several objects that is the loader's work. */
  #defineOwn(): void {
    for (const symbol of this.#inputs.globals.values()) {
      if (symbol.isDefined || !isLinkerDefined(symbol.name)) continue;
      Object.assign(symbol, { isDefined: true, visibility: STV_HIDDEN, section: undefined, value: 0n });
    }
  }

  #defineBoundValues(): void {
    for (const kind of ARRAY_KINDS) {
      const output = this.#outputs.find(({ name }) => name === `.${kind}`);
      for (const end of ['start', 'end']) {
        const symbol = this.#inputs.globals.get(`__${kind}_${end}`);
        if (symbol?.section !== undefined || !symbol?.isDefined) continue;
        symbol.value = output ? BigInt(output.address + (end === 'end' ? output.sizeBytes : 0)) : 0n;
      }
    }
  }

  /** After linking. */
  get arrays(): ArrayPart[] {
    return ARRAY_KINDS.flatMap((kind) =>
      (this.#find(`.${kind}`)?.parts ?? []).map(({ address, section: { name, sizeBytes } }) => {
        return { kind, address, count: Math.floor(sizeBytes / 8), priority: priority(name) };
      }),
    );
  }

  /** What each relocation needs of the loader. */
  #scan(file: ElfFile): void {
    const symbols = this.#inputs.symbolsOf.get(file)!;
    for (const { targetSectionIndex, relocations } of file.relocationSections) {
      const part = this.#inputs.sectionOf.get(file.sections[targetSectionIndex]!);
      if (!part) continue;
      for (const relocation of relocations) {
        const symbol = relocation.symbolIndex === 0 ? ABSOLUTE : symbols[relocation.symbolIndex]!;
        symbol.isUsed = true;
        this.#scanOne(part, relocation, symbol);
      }
    }
  }

  #scanOne(part: InputSection, relocation: ElfRelocation, symbol: LinkedSymbol): void {
    const { type, offset } = relocation;
    const row = relocationType(type);
    const where = { file: part.file.name ?? 'object', section: part.section.name, offset };
    if (!row || row.fieldBits === 0) throw new WavewrightError('UNSUPPORTED', `relocation type ${type}`, where);
    const isNear = !this.#isPreemptible(symbol);
    if (symbol.binding === STB_LOCAL && !symbol.isDefined) {
      const what = `${row.name} against '${symbol.name}' in a COMDAT group that another file has already`;
      throw new WavewrightError('BAD_INPUT', what, where);
    }
    if (row.name.includes('GOTPCREL')) {
      if (!this.#got.has(symbol)) {
        const place = { section: 'got', offset: this.#got.size * 8, target: symbol, addend: 0n } as const;
        this.#got.set(symbol, this.#got.size);
        if (!isNear) this.#dynamic.push({ ...place, symbol, type: R_AMDGPU.ABS64 });
        else if (symbol.isDefined) this.#dynamic.push({ ...place, symbol: undefined, type: R_AMDGPU.RELATIVE64 });
      }
    } else if (row.calculation.includes('- P')) {
      if (!isNear) {
        const what = `${row.name} against symbol '${symbol.name}' that may be elsewhere`;
        const hint = `make '${symbol.name}' hidden or protected, or use gotpcrel32`;
        this.#leave(part, relocation, symbol, new WavewrightError('BAD_INPUT', what, { ...where, hint }));
        return;
      }
    } else if (type === R_AMDGPU.ABS64) {
      const place = { section: part, offset: Number(offset), target: symbol, addend: relocation.addend ?? 0n };
      if (!isNear) this.#dynamic.push({ ...place, symbol, type });
      else if (movesWithObject(symbol)) this.#dynamic.push({ ...place, symbol: undefined, type: R_AMDGPU.RELATIVE64 });
    } else if (!isNear || movesWithObject(symbol)) {
      const what = `${row.name} against symbol '${symbol.name}': its address is not known`;
      this.#leave(part, relocation, symbol, new WavewrightError('BAD_INPUT', what, where));
      return;
    }
    this.#pending.push({ part, relocation, symbol });
  }

  /** To the loader, where it can: otherwise throws `refusal`. */
  #leave(part: InputSection, relocation: ElfRelocation, symbol: LinkedSymbol, refusal: WavewrightError): void {
    if (!this.#forLoader) throw refusal;
    const { type, offset, addend = 0n } = relocation;
    this.#dynamic.push({ section: part, offset: Number(offset), target: symbol, addend, symbol, type });
    // Distances are there as long as nobody replaces the symbol: a kernel descriptor tells where its code is
    // before it is loaded.
    if (symbol.isDefined) this.#pending.push({ part, relocation, symbol });
  }

  #checkUndefined(): void {
    for (const symbol of this.#inputs.globals.values()) {
      const isStrong = symbol.binding === 1;
      if (!symbol.isDefined && symbol.isUsed && isStrong && !this.#isPreemptible(symbol)) {
        throw new WavewrightError('BAD_INPUT', `undefined hidden symbol '${symbol.name}'`);
      }
    }
  }

  /** The sections that the linker adds, of their final sizes. */
  #makeTables(): Map<string, OutputSection> {
    const defined = this.#foundNames();
    const names = this.#dynamicSymbols.map(({ name }) => name);
    const { strings } = symbolTable(this.#dynamicSymbols.map((symbol) => plainSymbol(symbol)));
    const tables = new Map<string, OutputSection>();
    const add = (name: string, type: number, flags: bigint, alignmentBytes: number, sizeBytes: number): void => {
      const place = { address: 0, offset: 0, index: 0, parts: [] };
      if (sizeBytes > 0) tables.set(name, { name, type, flags, alignmentBytes, sizeBytes, ...place });
    };
    add('.dynsym', SHT_DYNSYM, SHF_ALLOC, 8, (names.length + 1) * 24);
    add('.gnu.hash', SHT_GNU_HASH, SHF_ALLOC, 8, gnuHashTable(defined, names.length - defined.length + 1).length);
    add('.hash', SHT_HASH, SHF_ALLOC, 4, hashTable(names).length);
    add('.dynstr', SHT_STRTAB, SHF_ALLOC, 1, strings.length);
    add('.rela.dyn', SHT_RELA, SHF_ALLOC, 8, this.#dynamic.length * 24);
    add('.dynamic', SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 8, (this.#dynamicTags(tables).length + 1) * 16);
    add('.got', 1, SHF_ALLOC | SHF_WRITE, 8, this.#got.size * 8);
    return tables;
  }

  /** Names of the symbols at the end of the table, which hash tables find. */
  #foundNames(): string[] {
    const found = this.#dynamicSymbols.slice(this.#hiddenCount).filter(({ isDefined }) => isDefined);
    return found.map(({ name }) => name);
  }

  readonly #contents = new Map<string, Uint8Array>();

  #find(name: string): OutputSection | undefined {
    return this.#outputs.find((output) => output.name === name);
  }

  #addressOf(symbol: LinkedSymbol): bigint {
    return symbol.section ? BigInt(symbol.section.address) + symbol.value : symbol.value;
  }

  #fillTables(): void {
    const symbols = this.#dynamicSymbols.map((symbol, i) => {
      const entry = this.#symbolEntry(symbol);
      return i < this.#hiddenCount && !this.#forLoader ? { ...entry, binding: 0 } : entry;
    });
    const { bytes, strings } = symbolTable(symbols);
    const names = this.#dynamicSymbols.map(({ name }) => name);
    const defined = this.#foundNames();
    this.#contents.set('.dynsym', bytes);
    this.#contents.set('.dynstr', strings);
    this.#contents.set('.hash', hashTable(names));
    this.#contents.set('.gnu.hash', gnuHashTable(defined, names.length - defined.length + 1));
    this.#contents.set('.rela.dyn', encodeRelocations(this.#dynamicRelocations()));
    this.#contents.set(
      '.dynamic',
      tagBytes(this.#dynamicTags(new Map(this.#outputs.map((each) => [each.name, each])))),
    );
    const got = new Uint8Array(this.#got.size * 8);
    const view = new DataView(got.buffer);
    for (const [symbol, index] of this.#got) {
      const isKnown = symbol.isDefined && !this.#isPreemptible(symbol);
      view.setBigUint64(index * 8, isKnown ? this.#addressOf(symbol) : 0n, true);
    }
    this.#contents.set('.got', got);
  }

  /** Relative ones first, so that their count can be told. */
  #dynamicRelocations(): RelocationToWrite[] {
    const order = this.#dynamic.toSorted(
      (a, b) => Number(b.type === R_AMDGPU.RELATIVE64) - Number(a.type === R_AMDGPU.RELATIVE64),
    );
    return order.map(({ section, offset, symbol, type, target, addend }) => ({
      offset: BigInt((section === 'got' ? this.#find('.got')!.address : section.address) + offset),
      type,
      symbol: symbol ? this.#dynamicNumbers.get(symbol)! : 0,
      addend: symbol ? addend : this.#addressOf(target) + addend,
    }));
  }

  #dynamicTags(sections: ReadonlyMap<string, OutputSection>): [tag: number, value: number][] {
    const tags: [number, number][] = [];
    const add = (name: string, entries: (section: OutputSection) => [number, number][]): void => {
      const section = sections.get(name);
      if (section) tags.push(...entries(section));
    };
    const relative = this.#dynamic.filter(({ type }) => type === R_AMDGPU.RELATIVE64).length;
    add('.rela.dyn', ({ address, sizeBytes }) => [
      [7, address],
      [8, sizeBytes],
      [9, 24],
      ...(relative > 0 ? ([[0x6ffffff9, relative]] as [number, number][]) : []),
    ]);
    add('.dynsym', ({ address }) => [
      [6, address],
      [11, 24],
    ]);
    add('.dynstr', ({ address, sizeBytes }) => [
      [5, address],
      [10, sizeBytes],
    ]);
    add('.gnu.hash', ({ address }) => [[0x6ffffef5, address]]);
    add('.hash', ({ address }) => [[4, address]]);
    for (const [name, at, size] of ARRAY_TAGS) {
      const section = sections.get(name) ?? this.#inputs.sections.find((each) => each.name === name);
      if (section) tags.push([at, section.address], [size, section.sizeBytes]);
    }
    return tags;
  }

  #symbolEntry(symbol: LinkedSymbol): SymbolToWrite {
    const output = symbol.section && this.#outputOf.get(symbol.section);
    const section = output ? output.index : symbol.isDefined ? SHN_ABS : 0;
    const type = symbol.isCommon && this.#forLoader ? STT_COMMON : symbol.type;
    return { ...plainSymbol(symbol), type, section, value: this.#addressOf(symbol) };
  }

  #apply({ part, relocation, symbol }: PendingRelocation): void {
    const { offset, type } = relocation;
    const row = relocationType(type)!;
    const addend = relocation.addend ?? 0n;
    const place = BigInt(part.address) + offset;
    const target = row.name.includes('GOTPCREL')
      ? BigInt(this.#find('.got')!.address + this.#got.get(symbol)! * 8)
      : this.#addressOf(symbol);
    const relative = row.calculation.includes('- P') ? place : 0n;
    const value = this.#isPreemptible(symbol) && type === R_AMDGPU.ABS64 ? 0n : target + addend - relative;
    const view = this.#viewOf(part);
    const at = Number(offset);
    const where = { file: part.file.name ?? 'object', section: part.section.name, offset };
    if (at + row.fieldBits / 8 > view.byteLength)
      throw new WavewrightError('BAD_INPUT', 'a relocation lies outside its section', where);
    if (row.fieldBits === 64) view.setBigUint64(at, BigInt.asUintN(64, value), true);
    else if (row.fieldBits === 16) {
      const distance = (value - 4n) / 4n;
      if (distance < -(2n ** 15n) || distance >= 2n ** 15n)
        throw new WavewrightError('BAD_INPUT', 'a branch is too far', where);
      view.setInt16(at, Number(distance), true);
    } else {
      const isHigh = row.name.endsWith('_HI');
      const isHalf = isHigh || row.name.endsWith('_LO');
      if (!isHalf && (value < -(2n ** 31n) || value >= 2n ** 32n)) {
        throw new WavewrightError('BAD_INPUT', `${row.name} against '${symbol.name}' is out of range`, where);
      }
      view.setUint32(at, Number(BigInt.asUintN(32, isHigh ? value >> 32n : value)), true);
    }
  }

  readonly #copies = new Map<InputSection, Uint8Array>();

  #bytesOf(part: InputSection): Uint8Array {
    let copy = this.#copies.get(part);
    if (!copy) {
      // A slice of what node:fs reads would be the same memory.
      copy = new Uint8Array(part.bytes);
      this.#copies.set(part, copy);
    }
    return copy;
  }

  #viewOf(part: InputSection): DataView {
    const bytes = this.#bytesOf(part);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #write(): Uint8Array {
    const [first] = this.#inputs.files;
    assert(first, 'there is an input');
    const sections = this.#outputs.map((output) => this.#sectionToWrite(output));
    const comment = commentOf(this.#inputs.files);
    if (comment.length > 0) {
      const flags = 0x30n;
      sections.push({ name: '.comment', type: 1, flags, bytes: comment, alignmentBytes: 1, entrySizeBytes: 1 });
    }
    // The loader still has to know what other objects may mean.
    const isLocal = (symbol: LinkedSymbol) => !this.#forLoader && isLocalized(symbol);
    const locals = [...this.#inputs.locals, ...[...this.#inputs.globals.values()].filter(isLocal)];
    const globals = [...this.#inputs.globals.values()].filter(
      (symbol) => !isLocal(symbol) && (symbol.isDefined || symbol.isUsed),
    );
    const { bytes, strings } = symbolTable([
      ...locals.map((symbol) => ({ ...this.#symbolEntry(symbol), binding: 0 })),
      ...globals.map((symbol) => this.#symbolEntry(symbol)),
    ]);
    const link = sections.length + 3;
    const info = locals.length + 1;
    sections.push(
      { name: '.symtab', type: SHT_SYMTAB, flags: 0n, bytes, link, info, alignmentBytes: 8, entrySizeBytes: 24 },
      { name: '.shstrtab', type: SHT_STRTAB, flags: 0n, bytes: new Uint8Array(0), alignmentBytes: 1 },
      { name: '.strtab', type: SHT_STRTAB, flags: 0n, bytes: strings, alignmentBytes: 1 },
    );
    const { osAbi, abiVersion, flags } = first.header;
    const file = { type: ET_DYN, machine: EM_AMDGPU, osAbi, abiVersion, flags, nameSection: '.shstrtab' };
    return writeElf({ ...file, segments: segmentsOf(this.#outputs), sections });
  }

  #sectionToWrite(output: OutputSection): SectionToWrite {
    const { name, type, flags, alignmentBytes, sizeBytes, offset } = output;
    const links: Readonly<Record<string, string>> = {
      '.dynsym': '.dynstr',
      '.gnu.hash': '.dynsym',
      '.hash': '.dynsym',
      '.rela.dyn': '.dynsym',
      '.dynamic': '.dynstr',
    };
    const entrySizes: Readonly<Record<string, number>> = { '.dynsym': 24, '.hash': 4, '.rela.dyn': 24, '.dynamic': 16 };
    const link = links[name] === undefined ? 0 : (this.#find(links[name])?.index ?? 0);
    const bytes = type === SHT_NOBITS ? new Uint8Array(0) : (this.#contents.get(name) ?? this.#joined(output));
    assert(type === SHT_NOBITS || bytes.length === sizeBytes, () => `${name} has the size that was laid out`);
    return {
      ...{ name, type, flags, alignmentBytes, sizeBytes, offset, bytes, link },
      address: BigInt(output.address),
      info: name === '.dynsym' ? 1 + this.#hiddenCount : 0,
      entrySizeBytes: entrySizes[name] ?? 0,
    };
  }

  #joined(output: OutputSection): Uint8Array {
    const bytes = new Uint8Array(output.sizeBytes);
    const isCode = (output.flags & SHF_EXECINSTR) !== 0n;
    // Gaps in code are s_nop 0.
    if (isCode) fillNops(bytes);
    for (const part of output.parts) bytes.set(this.#bytesOf(part), part.address - output.address);
    return bytes;
  }
}

/** Arrays of functions, with the tags of their address and of their size. */
const ARRAY_TAGS = [
  ['.init_array', DT_INIT_ARRAY, DT_INIT_ARRAYSZ],
  ['.fini_array', DT_FINI_ARRAY, DT_FINI_ARRAYSZ],
] as const;

const plainSymbol = ({ name, binding, type, visibility, sizeBytes }: LinkedSymbol): SymbolToWrite => ({
  ...{ name, binding, type, visibility },
  section: 0,
  value: 0n,
  sizeBytes: BigInt(sizeBytes),
});

function fillNops(bytes: Uint8Array): void {
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.set([0, 0, 0x80, 0xbf], at);
}

/**
 * Throws BAD_INPUT for what is no such object, undefined hidden symbols and addresses that are not known when
 * linking.
 */
export function linkCodeObject(objects: readonly { readonly bytes: Uint8Array; readonly name: string }[]): Uint8Array {
  return new Linker(readInputs(objects.map(({ bytes, name }) => parseElf(bytes, name))), false).link();
}

/**
 * One object for a loader that links it with others. `groups`: signatures of the COMDAT groups that these
 * have; what they have is left out here, and those of this object are added. Throws as `linkCodeObject`.
 */
export function linkForLoader(
  object: ElfFile,
  groups: Set<string>,
): { readonly bytes: Uint8Array; readonly arrays: readonly ArrayPart[] } {
  const linker = new Linker(readInputs([object], groups), true);
  const bytes = linker.link();
  return { bytes, arrays: linker.arrays };
}
