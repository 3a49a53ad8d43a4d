/** Relocatable objects of one target, their sections grouped by output section and their symbols resolved. */
import { ByteReader } from '../base/bytes.ts';
import { WavewrightError } from '../base/errors.ts';
import { identifyCodeObject } from '../codeobject/elf-flags.ts';
import {
  ET_REL,
  GRP_COMDAT,
  SHF_ALLOC,
  SHF_EXCLUDE,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHN_ABS,
  SHN_AMDGPU_LDS,
  SHN_COMMON,
  SHN_UNDEF,
  SHT_GROUP,
  SHT_NOBITS,
  STB_GLOBAL,
  STB_LOCAL,
  STB_WEAK,
  STT_SECTION,
  STV_PROTECTED,
} from '../elf/constants.ts';
import type { ElfFile } from '../elf/elf.ts';
import type { ElfSection } from '../elf/header.ts';
import { LINKER_TABLES } from './link-tables.ts';

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
  /** Without a place until all files are read: the largest of one name gets one. */
  isCommon: boolean;
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

/** An input that brings one, as a linked object does, would stand beside the linker's. */
const OWN_NAMES: ReadonlySet<string> = new Set(Object.values(LINKER_TABLES).flat());

/** `.init_array.101` runs before `.init_array`. */
export function priority(name: string): number {
  const number = /^\.(?:init|fini)_array\.(\d+)$/.exec(name)?.[1];
  return number === undefined ? 65536 : Number(number);
}

function checkObjects(files: readonly ElfFile[]): void {
  const [first] = files;
  if (!first) throw new WavewrightError('USAGE', 'no object to link');
  for (const file of files) {
    identifyCodeObject(file.header, file.name);
    if (file.header.type !== ET_REL) fail('not a relocatable object', file);
    if (file.header.flags !== first.header.flags || file.header.abiVersion !== first.header.abiVersion) {
      fail(`its target or code object version is not that of ${first.name}`, file);
    }
  }
}

/** Sections of the file's COMDAT groups that `groups` has already; the others are added to it. */
function discardedSections(file: ElfFile, groups: Set<string>): ReadonlySet<number> {
  const discarded = new Set<number>();
  for (const section of file.sections) {
    if (section.type !== SHT_GROUP) continue;
    const words = new ByteReader(file.sectionBytes(section), {
      ...(file.name && { file: file.name }),
      section: '.group',
    });
    if ((words.u32('flags of a group') & GRP_COMDAT) === 0) continue;
    const signature = file.symbols[section.info] ?? fail(`section ${section.index} has no signature`, file);
    const name = signature.type === STT_SECTION ? file.sections[signature.sectionIndex]?.name : signature.name;
    if (name === undefined || name === '') fail(`the signature of section ${section.index} has no name`, file);
    if (!groups.has(name)) groups.add(name);
    else while (words.remaining > 0) discarded.add(words.u32('section of a group'));
  }
  return discarded;
}

/** `groups`: signatures of the COMDAT groups that are there already; those of the objects are added. */
export function readInputs(files: readonly ElfFile[], groups = new Set<string>()): LinkInputs {
  checkObjects(files);
  const sectionOf = new Map<ElfSection, InputSection>();
  const sections = new Map<string, OutputSection>();
  for (const file of files) {
    const discarded = discardedSections(file, groups);
    for (const section of file.sections) {
      if (discarded.has(section.index)) continue;
      if ((section.flags & SHF_ALLOC) === 0n || (section.flags & SHF_EXCLUDE) !== 0n) continue;
      if (OWN_NAMES.has(section.name)) {
        fail(`its section '${section.name}' is loaded, but is one that the linker makes`, file);
      }
      const part: InputSection = { file, section, bytes: file.sectionBytes(section), address: 0 };
      sectionOf.set(section, part);
      outputFor(sections, part).parts.push(part);
    }
  }
  const globals = new Map<string, LinkedSymbol>();
  const locals: LinkedSymbol[] = [];
  const symbolsOf = new Map<ElfFile, LinkedSymbol[]>();
  for (const file of files) {
    symbolsOf.set(file, readSymbols(file, { sectionOf, globals, locals }));
    checkRelocations(file, sectionOf);
  }
  placeCommons(sections, files[0]!, globals);
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
    const isCommon = symbol.sectionIndex === SHN_COMMON;
    const isDefined = symbol.sectionIndex === SHN_ABS || isCommon || section !== undefined;
    const linked: LinkedSymbol = {
      name: symbol.name,
      // What a group that is there already defines must be found there.
      binding:
        !isDefined && symbol.sectionIndex !== SHN_UNDEF && symbol.binding === STB_WEAK ? STB_GLOBAL : symbol.binding,
      type: symbol.type,
      visibility: symbol.visibility,
      isDefined,
      isCommon,
      section,
      value: symbol.value,
      sizeBytes: symbol.sizeBytes,
      isUsed: false,
    };
    if (symbol.binding !== STB_LOCAL) return resolve(globals, linked, file);
    if (symbol.type !== STT_SECTION && symbol.index > 0 && section) locals.push(linked);
    return linked;
  });
}

/** Relocations number the symbols that `readSymbols` reads, and not those of a dynamic symbol table. */
function checkRelocations(file: ElfFile, sectionOf: ReadonlyMap<ElfSection, InputSection>): void {
  for (const { name, targetSectionIndex, relocations } of file.relocationSections) {
    if (!sectionOf.has(file.sections[targetSectionIndex]!)) continue;
    if (relocations.some(({ symbol, symbolIndex }) => symbol && symbol !== file.symbols[symbolIndex]))
      fail(`the symbols of ${name} are those of a dynamic symbol table, expected .symtab`, file);
  }
}

const STRONG = 3;

/** How much a symbol has to say about what its name means. */
function rank({ isDefined, isCommon, binding }: LinkedSymbol): number {
  if (!isDefined) return 0;
  if (binding === STB_WEAK) return 1;
  return isCommon ? 2 : STRONG;
}

/** A strong definition comes before a common one, that before a weak one; the strictest visibility wins. */
function resolve(globals: Map<string, LinkedSymbol>, linked: LinkedSymbol, file: ElfFile): LinkedSymbol {
  const known = globals.get(linked.name);
  if (!known) {
    globals.set(linked.name, linked);
    return linked;
  }
  const visibility = strictest(known.visibility, linked.visibility);
  const isSameNumber = !known.section && !linked.section && known.value === linked.value;
  if (rank(known) === STRONG && rank(linked) === STRONG && !isSameNumber) {
    fail(`symbol '${linked.name}' is defined twice`, file);
  }
  if (known.isCommon && linked.isCommon) {
    known.sizeBytes = Math.max(known.sizeBytes, linked.sizeBytes);
    if (linked.value > known.value) known.value = linked.value;
  } else if (rank(linked) > rank(known)) Object.assign(known, { ...linked, isUsed: known.isUsed });
  else if (!known.isDefined && linked.binding !== STB_WEAK) known.binding = linked.binding;
  known.visibility = visibility;
  return known;
}

/** Of two STV_*: default gives way to all others, of which the lower number hides more. */
export function strictest(a: number, b: number): number {
  return a === 0 || b === 0 ? a + b : Math.min(a, b);
}

/** Common symbols get zeroed space in .bss; their value was their alignment. */
function placeCommons(
  sections: Map<string, OutputSection>,
  file: ElfFile,
  globals: ReadonlyMap<string, LinkedSymbol>,
): void {
  for (const symbol of globals.values()) {
    if (!symbol.isCommon) continue;
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
export const isSeenByLoader = (symbol: LinkedSymbol): boolean =>
  symbol.binding !== STB_LOCAL && (symbol.visibility === 0 || symbol.visibility === STV_PROTECTED);

/** Whether another code object may define the symbol in place of this one. */
export const isPreemptible = (symbol: LinkedSymbol): boolean =>
  symbol.binding !== STB_LOCAL &&
  symbol.visibility === 0 &&
  !(symbol.binding === STB_WEAK && !symbol.isDefined && !symbol.isUsed);

/**
 * Whether another relocatable object may define the symbol in place of this one, now that they are linked one
 * by one.
 */
export const isReplaceable = (symbol: LinkedSymbol): boolean =>
  isPreemptible(symbol) ||
  (symbol.binding !== STB_LOCAL && (!symbol.isDefined || symbol.isCommon || symbol.binding === STB_WEAK));

/** What relocation symbol 0 stands for. */
export const ABSOLUTE: LinkedSymbol = {
  name: '',
  binding: 0,
  type: 0,
  visibility: 0,
  isDefined: true,
  isCommon: false,
  section: undefined,
  value: 0n,
  sizeBytes: 0,
  isUsed: true,
};

/**
 * Symbols that the linker defines: the ends of arrays of functions, and what tells one code object from
 * another.
 */
const LINKER_DEFINED = /^__(?:preinit_array|init_array|fini_array)_(?:start|end)$|^__dso_handle$/;

export const isLinkerDefined = (name: string): boolean => LINKER_DEFINED.test(name);

/** Whether the address moves with the code object. */
export const movesWithObject = (symbol: LinkedSymbol): boolean =>
  symbol.isDefined && (symbol.section !== undefined || isLinkerDefined(symbol.name));

export const isLocalized = (symbol: LinkedSymbol): boolean => symbol.isDefined && !isSeenByLoader(symbol);
