import { toHex } from '../base/bytes.ts';
import { hex } from '../base/text.ts';
import {
  type CodeObject,
  type Kernel,
  METADATA_NOTE_NAME,
  METADATA_NOTE_TYPE,
  parseCodeObject,
} from '../codeobject/code-object.ts';
import {
  type CodeObjectImage,
  type ContainerOptions,
  listCodeObjects,
  openContainer,
} from '../codeobject/container.ts';
import { describeMachine } from '../codeobject/elf-flags.ts';
import { isHiddenArgument } from '../codeobject/hidden-arguments.ts';
import { scalarRegisterCount, vectorRegisterCount, wavefrontSize } from '../codeobject/kernel-descriptor.ts';
import type { KernelArgument } from '../codeobject/metadata.ts';
import { relocationType } from '../codeobject/relocation-types.ts';
import { formatTargetId } from '../codeobject/target-id.ts';
import {
  DYNAMIC_TAG_NAMES,
  FILE_TYPE_NAMES,
  SECTION_INDEX_NAMES,
  SECTION_TYPE_NAMES,
  SEGMENT_TYPE_NAMES,
  STT_SECTION,
  SYMBOL_BINDING_NAMES,
  SYMBOL_TYPE_NAMES,
  SYMBOL_VISIBILITY_NAMES,
  sectionFlagLetters,
  segmentFlagLetters,
} from '../elf/constants.ts';
import type { ElfFile } from '../elf/elf.ts';
import type { ElfRelocation } from '../elf/relocations.ts';
import type { ElfSymbol } from '../elf/symbols.ts';

/** What `JSON.stringify` writes without loss. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export const REPORT_SCHEMA = 'wavewright.readobj';
export const REPORT_VERSION = 1;

export type ReadobjReport = ReturnType<typeof describeFile>;
export type CodeObjectReport = ReturnType<typeof describeCodeObject>;
export type KernelReport = ReturnType<typeof describeKernel>;

/**
 * Everything that a file holds, ready for JSON: what `wavewright readobj` shows. Addresses, 64-bit values and
 * flags are strings `0x…`, sizes and offsets are numbers, constants have their names. Errors: as
 * `openContainer` and `parseCodeObject`.
 */
export function describeFile(bytes: Uint8Array, name: string, options: ContainerOptions = {}) {
  const container = openContainer(bytes, name, options);
  return {
    schema: REPORT_SCHEMA,
    version: REPORT_VERSION,
    file: name,
    sizeBytes: bytes.length,
    kind: container.kind,
    host: container.host === undefined ? null : { machine: describeMachine(container.host.header.machine) },
    bundles: container.bundles.map(({ offset, compression, entries }) => ({
      offset,
      compression: compression === undefined ? null : plain({ ...compression, hash: hex(compression.hash, 16) }),
      entries: entries.map((entry) => ({
        id: entry.id,
        offloadKind: entry.offloadKind,
        triple: entry.triple,
        target: entry.target === undefined ? null : formatTargetId(entry.target),
        offset: entry.offset,
        sizeBytes: entry.bytes.length,
      })),
    })),
    codeObjects: listCodeObjects(container, bytes, name).map(describeCodeObject),
  };
}

function describeCodeObject(image: CodeObjectImage) {
  const codeObject = parseCodeObject(image.bytes, image.name);
  const { elf, metadata } = codeObject;
  const described = new Set(codeObject.kernels.map((kernel) => kernel.metadata));
  return {
    id: image.id ?? null,
    offset: image.offset,
    sizeBytes: image.bytes.length,
    codeObjectVersion: codeObject.version,
    isaName: codeObject.isaName,
    target: { ...codeObject.target },
    header: describeHeader(elf),
    segments: elf.segments.map((segment) => ({
      type: nameOf(SEGMENT_TYPE_NAMES, segment.type),
      flags: segmentFlagLetters(segment.flags),
      offset: segment.offset,
      virtualAddress: hex(segment.virtualAddress),
      physicalAddress: hex(segment.physicalAddress),
      fileSizeBytes: segment.fileSizeBytes,
      memorySizeBytes: segment.memorySizeBytes,
      alignmentBytes: segment.alignmentBytes,
    })),
    sections: elf.sections.map((section) => ({
      index: section.index,
      name: section.name,
      type: nameOf(SECTION_TYPE_NAMES, section.type),
      flags: sectionFlagLetters(section.flags),
      address: hex(section.address),
      offset: section.offset,
      sizeBytes: section.sizeBytes,
      entrySizeBytes: section.entrySizeBytes,
      link: section.link,
      info: section.info,
      alignmentBytes: section.alignmentBytes,
    })),
    dynamic: elf.dynamic.map(({ tag, value }) => ({ tag: nameOf(DYNAMIC_TAG_NAMES, tag), value: hex(value) })),
    dynamicSymbols: elf.dynamicSymbols.map((symbol) => describeSymbol(elf, symbol)),
    symbols: elf.symbols.map((symbol) => describeSymbol(elf, symbol)),
    relocations: describeRelocations(codeObject),
    notes: elf.notes.map((note) => {
      const isMetadata = note.name === METADATA_NOTE_NAME && note.type === METADATA_NOTE_TYPE;
      return {
        name: note.name,
        type: note.type,
        section: note.section,
        sizeBytes: note.descriptor.length,
        descriptor: isMetadata ? null : toHex(note.descriptor),
      };
    }),
    // The kernels of the metadata stand with their descriptors; here are those that have none.
    metadata:
      metadata === undefined
        ? null
        : plain({ ...metadata, kernels: metadata.kernels.filter((kernel) => !described.has(kernel)) }),
    kernels: codeObject.kernels.map(describeKernel),
  };
}

function describeHeader({ header }: ElfFile) {
  return {
    type: nameOf(FILE_TYPE_NAMES, header.type),
    machine: header.machine,
    osAbi: header.osAbi,
    abiVersion: header.abiVersion,
    flags: hex(header.flags),
    entry: hex(header.entry),
    segmentTableOffset: header.segmentTableOffset,
    segmentCount: header.segmentCount,
    sectionTableOffset: header.sectionTableOffset,
    sectionCount: header.sectionCount,
  };
}

function describeSymbol(elf: ElfFile, symbol: ElfSymbol) {
  const { sectionIndex } = symbol;
  return {
    index: symbol.index,
    name: symbol.name,
    value: hex(symbol.value),
    sizeBytes: symbol.sizeBytes,
    type: nameOf(SYMBOL_TYPE_NAMES, symbol.type),
    binding: nameOf(SYMBOL_BINDING_NAMES, symbol.binding),
    visibility: nameOf(SYMBOL_VISIBILITY_NAMES, symbol.visibility),
    section: SECTION_INDEX_NAMES[sectionIndex] ?? elf.sections[sectionIndex]?.name ?? String(sectionIndex),
  };
}

/** The relocation sections, or the tables of the dynamic section in a file without sections. */
function describeRelocations({ elf }: CodeObject) {
  const describe = (relocation: ElfRelocation) => ({
    offset: hex(relocation.offset),
    type: relocationType(relocation.type)?.name ?? String(relocation.type),
    symbol: symbolName(elf, relocation.symbol),
    addend: relocation.addend === undefined ? null : String(relocation.addend),
  });
  if (elf.sections.length > 0) {
    return elf.relocationSections.map(({ name, relocations }) => ({
      section: name,
      entries: relocations.map(describe),
    }));
  }
  return [{ section: 'dynamic section', entries: elf.dynamicRelocations.map(describe) }];
}

/** A section symbol has no name of its own; its section's stands for it. */
function symbolName(elf: ElfFile, symbol: ElfSymbol | undefined): string | null {
  if (symbol === undefined) return null;
  return symbol.type === STT_SECTION ? (elf.sections[symbol.sectionIndex]?.name ?? symbol.name) : symbol.name;
}

function describeKernel(kernel: Kernel) {
  const { descriptor, metadata } = kernel;
  return {
    name: kernel.name,
    symbol: kernel.symbol.name,
    isExported: kernel.isExported,
    descriptorAddress: hex(kernel.symbol.value),
    entryAddress: kernel.entryAddress === undefined ? null : hex(kernel.entryAddress),
    wavefrontSize: wavefrontSize(descriptor),
    vectorRegisterCount: vectorRegisterCount(descriptor),
    scalarRegisterCount: scalarRegisterCount(descriptor),
    descriptor: plain({ ...descriptor, kernelCodeEntryByteOffset: String(descriptor.kernelCodeEntryByteOffset) }),
    arguments: (metadata?.args ?? []).map(describeArgument),
    // Its arguments stand above.
    metadata: metadata === undefined ? null : plain({ ...metadata, args: undefined }),
  };
}

function describeArgument(argument: KernelArgument) {
  const { offsetBytes, sizeBytes, valueKind, name, typeName, addressSpace, ...rest } = argument;
  return {
    offsetBytes,
    sizeBytes,
    valueKind,
    isHidden: isHiddenArgument(argument),
    name: name ?? null,
    typeName: typeName ?? null,
    addressSpace: addressSpace ?? null,
    qualifiers: plain(rest),
  };
}

function nameOf(names: Readonly<Record<number, string>>, value: number): string {
  return names[value] ?? hex(value);
}

/** The value as JSON: bigint as `0x…`, bytes as hexadecimal text, what is undefined left out. */
function plain(value: unknown): Json {
  if (typeof value === 'bigint') return hex(value);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Uint8Array) return toHex(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return null;
  const result: Record<string, Json> = {};
  for (const [key, item] of Object.entries(value)) if (item !== undefined) result[key] = plain(item);
  return result;
}
