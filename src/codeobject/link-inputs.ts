/** Relocatable objects of one target, their sections grouped by output section and their symbols resolved. */
import { WavewrightError } from '../base/errors.ts';
import { ET_REL, SHN_ABS, SHN_UNDEF, SHT_NOBITS, STB_WEAK, STT_SECTION, STV_PROTECTED } from '../elf/constants.ts';
import { type ElfFile, parseElf } from '../elf/elf.ts';
import type { ElfSection } from '../elf/header.ts';
import type { ElfSymbol } from '../elf/symbols.ts';
import { identifyCodeObject } from './elf-flags.ts';

const SHF_WRITE = 1n;
const SHF_ALLOC = 2n;
const SHF_EXECINSTR = 4n;
const SHF_EXCLUDE = 0x80000000n;
const SHN_COMMON = 0xfff2;
/** Of a variable in group memory that the linker has to give a place (LLVM AMDGPU usage, "SHN_AMDGPU_LDS"). */
const SHN_AMDGPU_LDS = 0xff00;
const STB_LOCAL = 0;

/** A section of an input, with its place in the output once there is one. */
export interface InputSection {
  readonly file: ElfFile;
  readonly section: ElfSection;
  readonly bytes: Uint8Array;
  address: number;
}

/** Input sections of one name and kind, in their order. */
export interface OutputSection {
  readonly name: string;
  readonly type: number;
  readonly flags: bigint;
  readonly parts: InputSection[];
  alignmentBytes: number;
  sizeBytes: number;
  address: number;
  offset: number;
  /** Header number. */
  index: number;
}

/** A symbol after resolution; `section` is undefined for absolute and undefined ones. */
export interface LinkedSymbol {
  readonly name: string;
  binding: number;
  type: number;
  visibility: number;
  isDefined: boolean;
  section: InputSection | undefined;
  /** Offset in `section`, or the value. */
  value: bigint;
  sizeBytes: number;
  /** Some relocation names it. */
  isUsed: boolean;
}

export interface LinkInputs {
  readonly files: readonly ElfFile[];
  readonly sections: OutputSection[];
  /** Symbols of each file by their index. */
  readonly symbolsOf: ReadonlyMap<ElfFile, readonly LinkedSymbol[]>;
  readonly locals: readonly LinkedSymbol[];
  readonly globals: ReadonlyMap<string, LinkedSymbol>;
  readonly sectionOf: ReadonlyMap<ElfSection, InputSection>;
}

function fail(what: string, file?: ElfFile): never {
  throw new WavewrightError('BAD_INPUT', what, file?.name === undefined ? {} : { file: file.name });
}

/** Output names of sections that are split by symbol or priority, as lld groups them. */
const PREFIXES = ['.text', '.rodata', '.data.rel.ro', '.data', '.bss.rel.ro', '.bss', '.init_array', '.fini_array'];

const outputName = (name: string): string =>
  PREFIXES.find((prefix) => name === prefix || name.startsWith(`${prefix}.`)) ?? name;

/** `.init_array.101` runs before `.init_array`. */
function priority(name: string): number {
  const number = /^\.(?:init|fini)_array\.(\d+)$/.exec(name)?.[1];
  return number === undefined ? 65536 : Number(number);
}

function openObjects(objects: readonly { readonly bytes: Uint8Array; readonly name: string }[]): ElfFile[] {
  const files = objects.map(({ bytes, name }) => parseElf(bytes, name));
  const [first] = files;
  if (!first) throw new WavewrightError('USAGE', 'no object to link');
  for (const file of files) {
    identifyCodeObject(file.header, file.name);
    if (file.header.type !== ET_REL) fail('not a relocatable object', file);
    if (file.header.flags !== first.header.flags || file.header.abiVersion !== first.header.abiVersion) {
      fail(`its target or code object version is not that of ${first.name}`, file);
    }
  }
  return files;
}

export function readInputs(objects: readonly { readonly bytes: Uint8Array; readonly name: string }[]): LinkInputs {
  const files = openObjects(objects);
  const sectionOf = new Map<ElfSection, InputSection>();
  const sections = new Map<string, OutputSection>();
  for (const file of files) {
    for (const section of file.sections) {
      if ((section.flags & SHF_ALLOC) === 0n || (section.flags & SHF_EXCLUDE) !== 0n) continue;
      const part: InputSection = { file, section, bytes: file.sectionBytes(section), address: 0 };
      sectionOf.set(section, part);
      outputFor(sections, part).parts.push(part);
    }
  }
  const globals = new Map<string, LinkedSymbol>();
  const locals: LinkedSymbol[] = [];
  const symbolsOf = new Map<ElfFile, LinkedSymbol[]>();
  for (const file of files) symbolsOf.set(file, readSymbols(file, { sectionOf, globals, locals }));
  placeCommons(sections, files[0]!, globals, symbolsOf);
  for (const output of sections.values()) {
    output.parts.sort((a, b) => priority(a.section.name) - priority(b.section.name));
    output.alignmentBytes = output.parts.reduce((most, { section }) => Math.max(most, section.alignmentBytes), 1);
  }
  return { files, sections: [...sections.values()], symbolsOf, locals, globals, sectionOf };
}

function outputFor(sections: Map<string, OutputSection>, { section }: InputSection): OutputSection {
  const name = outputName(section.name);
  const known = sections.get(name);
  const flags = section.flags & (SHF_WRITE | SHF_ALLOC | SHF_EXECINSTR);
  if (known) {
    if (known.flags !== flags) throw new WavewrightError('BAD_INPUT', `sections '${name}' have different flags`);
    return known;
  }
  const place = { address: 0, offset: 0, index: 0, sizeBytes: 0, alignmentBytes: 1 };
  const output: OutputSection = { name, type: section.type, flags, parts: [], ...place };
  sections.set(name, output);
  return output;
}

interface SymbolContext {
  readonly sectionOf: ReadonlyMap<ElfSection, InputSection>;
  readonly globals: Map<string, LinkedSymbol>;
  readonly locals: LinkedSymbol[];
}

function readSymbols(file: ElfFile, { sectionOf, globals, locals }: SymbolContext): LinkedSymbol[] {
  return file.symbols.map((symbol) => {
    if (symbol.sectionIndex === SHN_AMDGPU_LDS) {
      const what = `'${symbol.name}' is a variable in group memory that the linker has to place`;
      const hint = 'declare group memory in kernels, or let the compiler see the whole program (-fgpu-rdc and LTO)';
      throw new WavewrightError('UNSUPPORTED', what, { ...(file.name !== undefined && { file: file.name }), hint });
    }
    const section = sectionOf.get(file.sections[symbol.sectionIndex]!);
    const linked: LinkedSymbol = {
      name: symbol.name,
      binding: symbol.binding,
      type: symbol.type,
      visibility: symbol.visibility,
      isDefined: symbol.sectionIndex === SHN_ABS || symbol.sectionIndex === SHN_COMMON || section !== undefined,
      section,
      value: symbol.value,
      sizeBytes: symbol.sizeBytes,
      isUsed: false,
    };
    if (symbol.binding !== STB_LOCAL) return resolve(globals, linked, symbol, file);
    if (symbol.type !== STT_SECTION && symbol.index > 0 && section) locals.push(linked);
    return linked;
  });
}

/** A definition replaces what is undefined, a strong one a weak one; the strictest visibility wins. */
function resolve(
  globals: Map<string, LinkedSymbol>,
  linked: LinkedSymbol,
  symbol: ElfSymbol,
  file: ElfFile,
): LinkedSymbol {
  const known = globals.get(symbol.name);
  if (!known) {
    globals.set(symbol.name, linked);
    return linked;
  }
  const visibilities = [known.visibility, linked.visibility].filter((visibility) => visibility !== 0);
  const visibility = visibilities.length === 0 ? 0 : Math.min(...visibilities);
  const isDefinition = linked.isDefined && symbol.sectionIndex !== SHN_UNDEF;
  if (isDefinition && known.isDefined && known.binding !== STB_WEAK && linked.binding !== STB_WEAK) {
    const isCommon = (each: LinkedSymbol): boolean => each.section === undefined;
    if (!isCommon(known) && !isCommon(linked)) fail(`symbol '${symbol.name}' is defined twice`, file);
  }
  const replaces = isDefinition && (!known.isDefined || (known.binding === STB_WEAK && linked.binding !== STB_WEAK));
  if (replaces) Object.assign(known, { ...linked, isUsed: known.isUsed });
  else if (!known.isDefined && linked.binding !== STB_WEAK) known.binding = linked.binding;
  known.visibility = visibility;
  return known;
}

/** Common symbols get zeroed space in .bss; their value was their alignment. */
function placeCommons(
  sections: Map<string, OutputSection>,
  file: ElfFile,
  globals: ReadonlyMap<string, LinkedSymbol>,
  symbolsOf: ReadonlyMap<ElfFile, readonly LinkedSymbol[]>,
): void {
  const commons = new Set<LinkedSymbol>();
  for (const [owner, symbols] of symbolsOf) {
    owner.symbols.forEach((symbol, index) => {
      if (symbol.sectionIndex === SHN_COMMON && symbols[index]!.section === undefined) commons.add(symbols[index]!);
    });
  }
  for (const symbol of globals.values()) {
    if (!commons.has(symbol)) continue;
    const alignmentBytes = Math.max(1, Number(symbol.value));
    const section: ElfSection = {
      index: 0,
      name: '.bss',
      type: SHT_NOBITS,
      flags: SHF_WRITE | SHF_ALLOC,
      address: 0n,
      offset: 0,
      sizeBytes: symbol.sizeBytes,
      link: 0,
      info: 0,
      alignmentBytes,
      entrySizeBytes: 0,
    };
    const part: InputSection = { file, section, bytes: new Uint8Array(0), address: 0 };
    outputFor(sections, part).parts.push(part);
    symbol.section = part;
    symbol.value = 0n;
  }
}

/** Whether a loader sees the symbol. */
export const isExported = (symbol: LinkedSymbol): boolean =>
  symbol.binding !== STB_LOCAL && (symbol.visibility === 0 || symbol.visibility === STV_PROTECTED);

/** Whether another code object may define the symbol in place of this one. */
export const isPreemptible = (symbol: LinkedSymbol): boolean =>
  symbol.binding !== STB_LOCAL &&
  symbol.visibility === 0 &&
  !(symbol.binding === STB_WEAK && !symbol.isDefined && !symbol.isUsed);
