import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import { hex } from '../base/text.ts';
import { DT_RELR, ET_REL, STB_WEAK } from '../elf/constants.ts';
import { type ElfFile, parseElf } from '../elf/elf.ts';
import { type ElfSymbol, isDefined, isInSection } from '../elf/symbols.ts';
import { type CodeObjectVersion, identifyCodeObject } from './elf-flags.ts';
import { decodeKernelDescriptor, KERNEL_DESCRIPTOR_SIZE_BYTES, type KernelDescriptor } from './kernel-descriptor.ts';
import type { CodeObjectMetadata, KernelMetadata } from './metadata.ts';
import { readMetadata } from './metadata-reader.ts';
import { processorNamed } from './processors.ts';
import { type CodeObjectTarget, formatIsaName } from './target-id.ts';

/** The kernel of a program that a loader runs as `main`. */
export const PROGRAM_KERNEL = '_start';

/** Owner and type of the metadata note (LLVM AMDGPU usage, "Code Object V3 and Above Note Records"). */
export const METADATA_NOTE_NAME = 'AMDGPU';
export const METADATA_NOTE_TYPE = 32;
const DESCRIPTOR_SUFFIX = '.kd';

export interface Kernel {
  /** The descriptor symbol's name without `.kd`. */
  name: string;
  /** The `.kd` symbol: from the dynamic symbol table when it is exported, otherwise from .symtab. */
  symbol: ElfSymbol;
  /** Whether a loader finds the kernel by name, that is in the dynamic symbol table. */
  isExported: boolean;
  descriptor: KernelDescriptor;
  /** Address of the first instruction; `undefined` in a relocatable object, where it is not known yet. */
  entryAddress: bigint | undefined;
  /** `undefined` for a kernel that the metadata does not list (hand-written assembly). */
  metadata: KernelMetadata | undefined;
}

/** An AMD GPU code object of version 3 to 6: an ELF file with kernels. */
export interface CodeObject {
  name: string;
  elf: ElfFile;
  version: CodeObjectVersion;
  target: CodeObjectTarget;
  /** e.g. `amdgcn-amd-amdhsa--gfx90a:xnack-`. */
  isaName: string;
  /** ET_REL: not linked, so it cannot be loaded. */
  isRelocatable: boolean;
  /** `undefined` when there is no metadata note, as in code without kernels. */
  metadata: CodeObjectMetadata | undefined;
  /** A kernel of the metadata without a descriptor in the file (hidden and stripped) is left out. */
  kernels: readonly Kernel[];
  /** The dynamic symbol table, or .symtab in a relocatable object. */
  symbols: readonly ElfSymbol[];
}

/**
 * Reads a code object. Errors: `BAD_INPUT` for anything malformed, `UNSUPPORTED` for version 2, other
 * operating systems, unknown processors and packed relocations, `LIMIT_EXCEEDED`.
 *
 * @param bytes the whole ELF file; kept and shared, so do not change it
 * @param name  what errors call it
 */
export function parseCodeObject(bytes: Uint8Array, name: string): CodeObject {
  const elf = parseElf(bytes, name);
  const { version, target } = identifyCodeObject(elf.header, name);
  if (elf.dynamic.some((entry) => entry.tag === DT_RELR)) {
    throw new WavewrightError('UNSUPPORTED', 'packed relative relocations (DT_RELR)', { file: name });
  }
  const metadata = findMetadata(elf, name);
  const isRelocatable = elf.header.type === ET_REL;
  return {
    name,
    elf,
    version,
    target,
    isaName: formatIsaName(target),
    isRelocatable,
    metadata,
    kernels: findKernels(elf, name, target, metadata),
    symbols: isRelocatable ? elf.symbols : elf.dynamicSymbols,
  };
}

/** A linker that was given several relocatable objects keeps the note of each: their kernels are one list. */
function findMetadata(elf: ElfFile, file: string): CodeObjectMetadata | undefined {
  const notes = elf.notes
    .filter(({ name, type }) => name === METADATA_NOTE_NAME && type === METADATA_NOTE_TYPE)
    .map(({ descriptor, section }) => readMetadata(descriptor, { file, section }));
  const [first] = notes;
  if (first === undefined || notes.length === 1) return first;
  const printf = notes.flatMap((note) => note.printf ?? []);
  return {
    ...first,
    printf: printf.length > 0 ? printf : undefined,
    kernels: notes.flatMap((note) => note.kernels),
    unknown: Object.assign({}, ...notes.map((note) => note.unknown)),
  };
}

/** The kernels that have a descriptor: those that the metadata lists, in its order, then the others. */
function findKernels(
  elf: ElfFile,
  file: string,
  target: CodeObjectTarget,
  metadata: CodeObjectMetadata | undefined,
): Kernel[] {
  const descriptors = new Map<string, { symbol: ElfSymbol; isExported: boolean }>();
  const collect = (symbols: readonly ElfSymbol[], isExported: boolean) => {
    for (const symbol of symbols) {
      if (!symbol.name.endsWith(DESCRIPTOR_SUFFIX) || !isDefined(symbol) || descriptors.has(symbol.name)) continue;
      descriptors.set(symbol.name, { symbol, isExported });
    }
  };
  collect(elf.dynamicSymbols, true);
  collect(elf.symbols, false);
  checkLimit('kernels', descriptors.size, { file });

  const { family } = processorNamed(target.processor)!;
  const kernels: Kernel[] = [];
  const listed = new Set<string>();
  const add = (symbolName: string, kernelMetadata: KernelMetadata | undefined) => {
    const found = descriptors.get(symbolName);
    if (listed.has(symbolName)) {
      // Of a weak kernel in several relocatable objects, such as one that calls constructors, a linker keeps
      // the first, but the notes of all.
      if (found?.symbol.binding === STB_WEAK) return;
      const what = `the metadata lists the kernel descriptor '${symbolName}' twice`;
      throw new WavewrightError('BAD_INPUT', what, { file });
    }
    listed.add(symbolName);
    // A kernel that is not exported has no symbol in a stripped file: nothing can launch it.
    if (found === undefined) return;
    const { symbol, isExported } = found;
    const descriptor = decodeKernelDescriptor(readSymbolBytes(elf, file, symbol), family);
    kernels.push({
      name: symbolName.slice(0, -DESCRIPTOR_SUFFIX.length),
      symbol,
      isExported,
      descriptor,
      entryAddress:
        elf.header.type === ET_REL
          ? undefined
          : BigInt.asUintN(64, symbol.value + descriptor.kernelCodeEntryByteOffset),
      metadata: kernelMetadata,
    });
  };
  for (const kernel of metadata?.kernels ?? []) add(kernel.symbol, kernel);
  for (const symbolName of descriptors.keys()) if (!listed.has(symbolName)) add(symbolName, undefined);
  return kernels;
}

function readSymbolBytes(elf: ElfFile, file: string, symbol: ElfSymbol): Uint8Array {
  const what = `kernel descriptor '${symbol.name}'`;
  const fail = (problem: string): never => {
    throw new WavewrightError('BAD_INPUT', `${what} ${problem}`, { file });
  };
  if (symbol.sizeBytes !== KERNEL_DESCRIPTOR_SIZE_BYTES) {
    fail(`has ${symbol.sizeBytes} bytes, expected ${KERNEL_DESCRIPTOR_SIZE_BYTES}`);
  }
  if (elf.header.type !== ET_REL) return elf.read(symbol.value, KERNEL_DESCRIPTOR_SIZE_BYTES, what);
  const section = isInSection(symbol) ? elf.sections[symbol.sectionIndex] : undefined;
  if (section === undefined) return fail(`is in section ${symbol.sectionIndex}, which does not exist`);
  const bytes = elf.sectionBytes(section);
  const end = symbol.value + BigInt(KERNEL_DESCRIPTOR_SIZE_BYTES);
  if (end > BigInt(bytes.length)) fail(`ends at ${hex(end)}, beyond the end of section ${section.name}`);
  return bytes.subarray(Number(symbol.value), Number(end));
}
