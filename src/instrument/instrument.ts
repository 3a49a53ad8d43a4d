/**
 * Rewrites code objects: code is laid out anew behind the original, with what tools add to it, and
 * everything that leads to functions leads to the new ones. What is not understood keeps leading to the
 * original code, which stays whole, so that programs compute what they did.
 */
import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import { type CodeObject, type Kernel, parseCodeObject } from '../codeobject/code-object.ts';
import { encodeInsertedTools, type InsertedTool, TOOLS_SECTION } from '../codeobject/inserted-tools.ts';
import type { KernelDescriptor } from '../codeobject/kernel-descriptor.ts';
import { R_AMDGPU } from '../codeobject/relocation-types.ts';
import {
  PF_R,
  PF_X,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHT_PROGBITS,
  STB_LOCAL,
  STT_OBJECT,
  STV_HIDDEN,
} from '../elf/constants.ts';
import { ElfEdit } from '../elf/edit.ts';
import type { ElfFile } from '../elf/elf.ts';
import { targetFor } from '../isa/amdgpu/encoding/targets.ts';
import { type LiftedCode, liftCodeObject } from '../lift/lifted-code.ts';
import { linkCodeObject } from '../linker/link.ts';
import type { Preamble } from './kernel/preamble.ts';
import { callWays } from './layout/call-ways.ts';
import type { CodeItem } from './layout/code-item.ts';
import { CodeSource, copiedRelocation } from './layout/code-source.ts';
import { type CodeEntry, compose, type EditStep } from './layout/compose.ts';
import { type LaidOutCode, layOutCode } from './layout/lay-out.ts';
import { findMovableCode, type KeptCode, type MovableCode } from './layout/movable-code.ts';
import { decodePcMap, encodePcMap, PcMap } from './layout/pc-map.ts';
import { keepHazardsApart } from './layout/seams.ts';
import { type ApartKernel, addApartTables, apartDescriptors, ORIGINAL, openApart } from './object/apart.ts';
import {
  checkDynamic,
  type DynamicSymbol,
  DynamicTablesToWrite,
  newSymbol,
  type RelocationToApply,
} from './object/dynamic-tables.ts';
import { type ChangedKernels, changeDescriptor, changeMetadata, type KernelChanges } from './object/kernel-changes.ts';
import { type NativeKernels, nativeKernels } from './object/native-kernels.ts';
import { rewriteNotes } from './object/notes.ts';
import {
  type NewPlaces,
  redirectKernel,
  redirectRelocations,
  redirectStaticSymbols,
  redirectSymbols,
} from './object/redirect.ts';
import { addSourceLines } from './object/source-lines.ts';
import { addVariables, pointerRelocations, type VariableToAdd } from './object/variables.ts';

export interface InstrumentOptions {
  /** What messages call the code object. */
  readonly name?: string;
  /** Which kernels get new code, all by default. Functions are shared by kernels: with a choice they stay. */
  readonly isChosen?: (kernelName: string) => boolean;
  /** What tools add; nothing by default. */
  readonly edit?: EditStep;
  /** Memory for tools; literals of added code name it (`LiteralFixup` of kind `absolute`). */
  readonly variables?: readonly VariableToAdd[];
  /** What the file is to say of tools (`.wavewright.tools`). */
  readonly inserted?: readonly InsertedTool[];
  /** Kernels can be launched as they were, too (`natives`). */
  readonly keepsNatives?: boolean;
  /** What kernels that are entered at one place run first; asked before `edit`. */
  readonly preambleOf?: (kernels: readonly Kernel[]) => Preamble | undefined;
  /**
   * The new code is a code object of its own, without the old (`object/apart.ts`): for code as it is loaded.
   * The loader gives it the address of the old one.
   */
  readonly isApart?: boolean;
  /** How a kernel is to be launched; asked for those with new code, when all of it is laid out. */
  readonly kernelChanges?: (kernelName: string) => KernelChanges | undefined;
}

/** Code that stays, with the name of the kernel or function that it is entered by. */
export interface KeptEntry extends KeptCode {
  readonly name: string;
}

export interface InstrumentedCode {
  readonly bytes: Uint8Array;
  /** Kernels with new code. */
  readonly kernelNames: readonly string[];
  /**
   * Symbols of descriptors that lead to original code, by the names of kernels with new code; where one is
   * missing, the kernel's original code may come to new code. Empty without `keepsNatives`.
   */
  readonly natives: ReadonlyMap<string, string>;
  /** Of new code, padding included. */
  readonly newSizeBytes: number;
  /** For all code that was ever rewritten: of a code object that was instrumented before, that code, too. */
  readonly map: PcMap;
  readonly kept: readonly KeptEntry[];
  readonly islandCount: number;
  /** Instructions that keep hazards apart between payloads and the code around them. */
  readonly nopCount: number;
  /** It was a relocatable object, and is none any more. */
  readonly wasLinked: boolean;
  /** Addresses that code reads of itself, where it goes on with the one that it had. */
  readonly pinned: readonly number[];
}

interface NewCode {
  readonly laidOut: LaidOutCode;
  /** By the original addresses. */
  readonly newEntries: ReadonlyMap<number, number>;
  readonly nopCount: number;
}

export const MAP_SECTION = '.wavewright.map';
const TEXT_SECTION = '.text.wavewright';
const TEXT_ALIGNMENT_BYTES = 256;
/** Instruction prefetch must not leave the code: compilers put as much behind it (LLVM, AMDGPUAsmPrinter). */
const PADDING_DWORDS = 256;
const PADDING_BYTES = PADDING_DWORDS * 4;
/** The symbol that literals of new code count from. */
const ANCHOR = 'wavewright.text';
/** Room for more program headers than are added. */
const MORE_SEGMENTS = 5;

/**
 * A code object with new code for its kernels and functions. A relocatable object is linked first.
 *
 * Throws BAD_INPUT, UNSUPPORTED and LIMIT_EXCEEDED as `parseCodeObject` does, and BAD_INPUT when no kernel is
 * chosen.
 */
export function instrumentCodeObject(bytes: Uint8Array, options: InstrumentOptions = {}): InstrumentedCode {
  return new CodeRewriter(bytes, options).rewrite(options);
}

/** The map of a code object that was instrumented; undefined of any other. Throws BAD_INPUT. */
export function readPcMap(elf: ElfFile): PcMap | undefined {
  const section = elf.sectionNamed(MAP_SECTION);
  const at = elf.name === undefined ? { section: MAP_SECTION } : { file: elf.name, section: MAP_SECTION };
  return section && decodePcMap(elf.sectionBytes(section), at);
}

/** `instrumentCodeObject` in two steps, for who has to know the code before it says what to add. */
export class CodeRewriter {
  readonly lifted: LiftedCode;
  readonly #codeObject: CodeObject;
  readonly #wasLinked: boolean;
  readonly #edit: ElfEdit;
  readonly #source: CodeSource;
  readonly #movable: MovableCode;
  readonly #textAddress: number;
  /** By their first instructions. */
  #kernels: ReadonlyMap<number, readonly Kernel[]> | undefined;
  readonly #preambles = new Map<number, Preamble>();
  readonly #isChosen: InstrumentOptions['isChosen'];
  #options: Omit<InstrumentOptions, 'name' | 'isChosen'> = {};

  /** Of a code object, or of one that was lifted before. Throws as `instrumentCodeObject` does. */
  constructor(
    code: Uint8Array | LiftedCode,
    { name = 'the code object', isChosen }: Pick<InstrumentOptions, 'name' | 'isChosen'> = {},
  ) {
    const { lifted, wasLinked } = 'codeObject' in code ? { lifted: code, wasLinked: false } : liftImage(code, name);
    this.#codeObject = lifted.codeObject;
    this.#isChosen = isChosen;
    this.#wasLinked = wasLinked;
    this.#edit = new ElfEdit(lifted.codeObject.elf);
    checkDynamic(this.#edit);
    this.#textAddress = this.#edit.nextAddress;
    this.lifted = lifted;
    const source = new CodeSource(lifted);
    source.findEntries(isChosen);
    this.#source = source;
    this.#movable = findMovableCode({
      read: (address) => source.read(address),
      isCode: (address) => source.isCode(address),
      isFiller: (address) => source.isFiller(address),
      comesBack: (call) => lifted.functionOf(call)?.siteOf(call)?.comesBack !== false,
      obstacle: (step) => source.obstacle(step),
      entries: [...source.entries.keys()],
      blocks: lifted.blocksFrom(source.entries),
    });
  }

  /** Whether a kernel gets new code: what runs first in it, then, is its preamble. */
  isMoved({ entryAddress }: Kernel): boolean {
    return this.#movable.entries.has(Number(entryAddress));
  }

  /** Once. */
  rewrite(options: Omit<InstrumentOptions, 'name' | 'isChosen'>): InstrumentedCode {
    this.#options = options;
    const source = this.#source;
    const movable = this.#movable;
    if (options.isApart) this.#expectApart();
    const { laidOut, newEntries, nopCount } = this.#layOutCode(movable);
    const map = this.#mapWith(laidOut.map);
    const natives = this.#options.keepsNatives && !options.isApart ? nativeKernels(this.lifted, newEntries) : undefined;
    return {
      bytes: options.isApart
        ? this.#writeApart({ laidOut, newEntries, nopCount })
        : this.#write({ laidOut, newEntries, nopCount }, map, natives),
      natives: natives?.symbols ?? new Map(),
      kernelNames: this.#codeObject.kernels
        .filter(({ entryAddress }) => newEntries.has(Number(entryAddress)))
        .map(({ name }) => name),
      newSizeBytes: laidOut.bytes.length,
      map,
      kept: [
        ...[...movable.kept].map(([entry, why]) => ({ name: source.entries.get(entry)!.name, ...why })),
        ...source.unknown,
      ],
      islandCount: laidOut.islandCount,
      nopCount,
      wasLinked: this.#wasLinked,
      pinned: source.pinned,
    };
  }

  /** With what the code object says of earlier rewritings. */
  #mapWith(map: PcMap): PcMap {
    const earlier = readPcMap(this.#codeObject.elf);
    if (!earlier) return map;
    earlier.columns.addAll(map.columns);
    return new PcMap(earlier.columns);
  }

  #layOutCode({ blocks, entries }: MovableCode): NewCode {
    const { code } = this.#source;
    const { items, entryLabels } = compose({
      blocks,
      entries: [...this.#source.entries.values()].flatMap((entry) =>
        entries.has(entry.address) ? { ...entry, ...this.#preambleAt(entry) } : [],
      ),
      code,
      edit: this.#options.edit ?? (() => undefined),
      pcUse: (step) =>
        this.#options.isApart
          ? this.#source.pcUse(step, ORIGINAL, 0)
          : this.#source.pcUse(step, ANCHOR, this.#textAddress),
    });
    const padding: CodeItem = { kind: 'instruction', words: new Array<number>(PADDING_DWORDS).fill(code.stop) };
    const original = (address: number) => {
      const step = this.#source.read(address);
      return typeof step === 'string' ? undefined : step;
    };
    const target = targetFor(this.#codeObject.target.processor);
    const apart = keepHazardsApart({ items, original, target, calls: callWays(this.lifted) });
    const laidOut = layOutCode([...apart.items, padding], this.#textAddress, code);
    const newEntries = new Map([...entryLabels].map(([entry, label]) => [entry, laidOut.addressOf(label)]));
    return { laidOut, newEntries, nopCount: apart.nopCount };
  }

  #preambleAt({ address }: CodeEntry): Pick<CodeEntry, 'preamble'> {
    this.#kernels ??= Map.groupBy(this.#codeObject.kernels, ({ entryAddress }) => Number(entryAddress));
    const kernels = this.#kernels.get(address);
    const preamble = kernels && this.#options.preambleOf?.(kernels);
    if (!preamble) return {};
    this.#preambles.set(address, preamble);
    return { preamble: preamble.items };
  }

  /** New code alone reaches the old through addresses, not through branches. Throws UNSUPPORTED. */
  #expectApart(): void {
    const moved = new Set(this.#movable.blocks.map(({ instructions }) => instructions[0]!.offset));
    for (const { target, offset } of this.#movable.blocks.flatMap(({ instructions }) => instructions)) {
      if (target === undefined || moved.has(target)) continue;
      const what = `code that is loaded apart, whose branch at ${hex(offset)} leads to code that stays`;
      throw new WavewrightError('UNSUPPORTED', what, { file: this.#codeObject.name });
    }
    this.#source.pinWhatStays((address) => this.#movable.entries.has(address));
  }

  #writeApart({ laidOut, newEntries }: NewCode): Uint8Array {
    const codeObject = this.#codeObject;
    const edit = openApart(codeObject, this.#textAddress);
    const sectionIndex = addText(edit, laidOut);
    const changes: Map<string, { kernel: Kernel; changes: KernelChanges }> = new Map();
    const kernels: ApartKernel[] = codeObject.kernels.flatMap((kernel) => {
      const entry = newEntries.get(Number(kernel.entryAddress));
      if (entry === undefined || this.#isChosen?.(kernel.name) === false) return [];
      return [{ kernel: { ...kernel, descriptor: this.#changeKernel(kernel, changes) }, entry }];
    });
    const descriptors = apartDescriptors(kernels, this.#textAddress + laidOut.bytes.length - PADDING_BYTES);
    const variables = addVariables(edit, [...descriptors, ...(this.#options.variables ?? [])]);
    const table = addApartTables(edit, { codeObject, laidOut, sectionIndex, newEntries, kernels, changes, variables });
    addSourceLines(edit, laidOut.map, this.#textAddress + laidOut.bytes.length, codeObject.elf);
    putSection(edit, MAP_SECTION, encodePcMap(laidOut.map));
    return edit.finish(table);
  }

  #write({ laidOut, newEntries }: NewCode, map: PcMap, natives: NativeKernels | undefined): Uint8Array {
    const edit = this.#edit;
    const sectionIndex = addText(edit, laidOut);
    const places: NewPlaces = {
      entryAt: (address) => (this.#isChosen ? undefined : newEntries.get(address)),
      sizeOf: (address, sizeBytes) => laidOut.map.newSizeOf(address, sizeBytes),
      sectionIndex,
      isInstruction: (address) => this.#source.isInstruction(address),
    };
    const end = this.#textAddress + laidOut.bytes.length - PADDING_BYTES;
    const changes = this.#changeKernels(newEntries, end);
    const variables = addVariables(edit, [...(natives?.variables ?? []), ...(this.#options.variables ?? [])]);
    const tables = new DynamicTablesToWrite(edit, edit.segmentTableBytes(MORE_SEGMENTS));
    this.#addTables(tables, laidOut, places, variables);
    const { processor } = this.#codeObject.target;
    const moveNotes =
      changes.size === 0 ? undefined : rewriteNotes(edit, tables, (note) => changeMetadata(note, changes, processor));
    const segment = edit.addSegment(PF_R, tables.bytes());
    tables.install(segment);
    moveNotes?.(segment);
    redirectStaticSymbols(edit, places);
    addSourceLines(edit, laidOut.map, this.#textAddress + laidOut.bytes.length);
    putSection(edit, MAP_SECTION, encodePcMap(map));
    const { inserted } = this.#options;
    if (inserted) putSection(edit, TOOLS_SECTION, encodeInsertedTools(inserted));
    return edit.finish(segment);
  }

  /** Lets descriptors lead to new code. What else changes, by the symbol of the kernel. */
  #changeKernels(newEntries: ReadonlyMap<number, number>, end: number): ChangedKernels {
    const { kernels } = this.#codeObject;
    const changed: Map<string, { kernel: Kernel; changes: KernelChanges }> = new Map();
    for (const kernel of kernels) {
      const entry = newEntries.get(Number(kernel.entryAddress));
      if (entry === undefined) continue;
      const descriptor = this.#changeKernel(kernel, changed);
      redirectKernel(this.#edit, { ...kernel, descriptor }, entry, end);
    }
    return changed;
  }

  /** The descriptor that it is launched with; what is changed is entered. */
  #changeKernel(kernel: Kernel, changed: Map<string, { kernel: Kernel; changes: KernelChanges }>): KernelDescriptor {
    const changes = this.#changesOf(kernel);
    if (changes && Object.keys(changes).length > 0) changed.set(kernel.symbol.name, { kernel, changes });
    return changes ? changeDescriptor(kernel, changes, this.#codeObject.target.processor) : kernel.descriptor;
  }

  #changesOf(kernel: Kernel): KernelChanges | undefined {
    const asked = this.#options.kernelChanges?.(kernel.name);
    const needed = this.#preambles.get(Number(kernel.entryAddress))?.changes;
    if (!needed) return asked;
    return { ...asked, ...needed, sgprCount: Math.max(asked?.sgprCount ?? 0, needed.sgprCount) };
  }

  #addTables(
    tables: DynamicTablesToWrite,
    { relocations }: LaidOutCode,
    places: NewPlaces,
    variables: ReadonlyMap<string, DynamicSymbol>,
  ): void {
    const symbols = redirectSymbols(this.#codeObject, places);
    const old = redirectRelocations(this.#codeObject, symbols, places);
    const anchor = newSymbol({
      ...{ name: ANCHOR, binding: STB_LOCAL, type: STT_OBJECT, visibility: STV_HIDDEN },
      ...{ section: places.sectionIndex, value: BigInt(this.#textAddress), sizeBytes: 0n },
    });
    const bySymbol = new Map(old.map((relocation, index) => [copiedRelocation(index), relocation]));
    const added = relocations.map(({ address, half, symbol, addend }): RelocationToApply => {
      const offset = BigInt(address);
      const copied = bySymbol.get(symbol);
      if (copied) return { ...copied, offset };
      const type = half === 'low' ? R_AMDGPU.ABS32_LO : R_AMDGPU.ABS32_HI;
      return { offset, type, symbol: this.#symbolNamed(symbol, anchor, variables, symbols), addend: BigInt(addend) };
    });
    const pointers = pointerRelocations(this.#options.variables ?? [], variables);
    const isAnchored = added.some(({ symbol }) => symbol === anchor);
    tables.add([...(isAnchored ? [anchor] : []), ...symbols, ...variables.values()], [...old, ...added, ...pointers]);
  }
  /** What a literal of added code means by a name. Throws USAGE for a name that nothing has. */
  #symbolNamed(
    name: string,
    anchor: DynamicSymbol,
    variables: ReadonlyMap<string, DynamicSymbol>,
    symbols: readonly DynamicSymbol[],
  ): DynamicSymbol {
    const found = name === ANCHOR ? anchor : (variables.get(name) ?? symbols.find((symbol) => symbol.name === name));
    if (found) return found;
    throw new WavewrightError('USAGE', `a literal names '${name}', which no symbol is called`);
  }
}

/** A code object, linked where it is not yet, with its code. */
function liftImage(bytes: Uint8Array, name: string): { lifted: LiftedCode; wasLinked: boolean } {
  const given = parseCodeObject(bytes, name);
  const codeObject = given.isRelocatable ? parseCodeObject(linkCodeObject([{ bytes, name }]), name) : given;
  return { lifted: liftCodeObject(codeObject), wasLinked: given.isRelocatable };
}

/** Returns the index of the section. */
function addText(edit: ElfEdit, { bytes }: LaidOutCode): number {
  const text = edit.addSegment(PF_R | PF_X, bytes);
  const flags = SHF_ALLOC | SHF_EXECINSTR;
  const section = { name: TEXT_SECTION, type: SHT_PROGBITS, flags, alignmentBytes: TEXT_ALIGNMENT_BYTES };
  return edit.addLoadedSection(section, text, 0, bytes.length);
}

/** A section that is not loaded, in the place of the one of that name. */
function putSection(edit: ElfEdit, name: string, bytes: Uint8Array): void {
  const old = edit.elf.sectionNamed(name) && edit.sections.find((each) => each.name === name);
  if (old) edit.replaceSection(old, bytes);
  else edit.addSection({ name, type: SHT_PROGBITS, flags: 0n, alignmentBytes: 4 }, bytes);
}
