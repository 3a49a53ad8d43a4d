/**
 * Files with hooks: what clang made of C, C++, HIP or OpenCL C, as an object, a linked code object or an
 * offload bundle. Objects are linked here, so that all that follows sees one address space.
 */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import { type ContainerOptions, openCodeObjects, pickCodeObject } from '../../codeobject/container.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import type { TargetId } from '../../codeobject/target-id.ts';
import {
  ET_REL,
  SHF_ALLOC,
  SHF_EXECINSTR,
  SHF_WRITE,
  SHT_NOBITS,
  SHT_PROGBITS,
  STB_LOCAL,
  STT_FUNC,
  STT_OBJECT,
  STV_DEFAULT,
} from '../../elf/constants.ts';
import { type ElfFile, parseElf } from '../../elf/elf.ts';
import type { ElfSection } from '../../elf/header.ts';
import { linkCodeObject } from '../../linker/link.ts';
import { MARKER_SECTION, type Marker, readMarkers } from './intrinsics.ts';

/** Memory of all hooks, such as their .bss: it becomes a variable of each instrumented object. */
export interface HookBlock {
  /** Unique among the blocks of a file, such as `.bss`. */
  readonly name: string;
  /** In the image of the hooks. */
  readonly address: number;
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  /** Undefined: zeros. */
  readonly bytes: Uint8Array | undefined;
  readonly isWritable: boolean;
  /** Places in the block that hold the address of a place in a block. */
  readonly pointers: readonly { readonly offset: number; readonly target: number }[];
}

/** A variable that the source names, for the host. */
export interface HookVariable {
  readonly name: string;
  readonly block: HookBlock;
  readonly offset: number;
  readonly sizeBytes: number;
}

export interface HookFunction {
  readonly name: string;
  readonly address: number;
  /** Of the symbol; code that the function reaches may lie outside. */
  readonly sizeBytes: number;
  /** Other files cannot name it: `static` in C, so a helper rather than a hook. */
  readonly isLocal: boolean;
}

export interface HookFile {
  readonly name: string;
  readonly processor: string;
  /** As a linked code object. */
  readonly linked: Uint8Array;
  readonly functions: ReadonlyMap<string, HookFunction>;
  readonly variables: readonly HookVariable[];
  readonly blocks: readonly HookBlock[];
  /** By the address of the instruction. */
  readonly markers: ReadonlyMap<number, Marker>;
  /** What is executable: its bytes, from `address` on. */
  readonly code: { readonly bytes: Uint8Array; readonly address: number };
  /** A dword that is never written; undefined for all other memory. */
  constantDword(address: number): number | undefined;
  /** What a loader makes 64 bits point to; undefined where it writes none, or code may do later. */
  pointerAt(address: number): number | undefined;
}

/**
 * Opens the hooks for a device. Throws UNSUPPORTED where the file has no code for it, BAD_INPUT for what is
 * damaged, for symbols that nothing defines, for bitcode and for files without hooks.
 */
export function openHookFile(
  bytes: Uint8Array,
  name: string,
  agent: TargetId,
  options: ContainerOptions = {},
): HookFile {
  const image = pickCodeObject(openCodeObjects(bytes, name, options), agent);
  const file = parseElf(image.bytes, image.name);
  const isRelocatable = file.header.type === ET_REL;
  const elf = isRelocatable ? parseElf(linkCodeObject([image]), image.name) : file;
  const { code, markers } = readCode(elf, image.name);
  const pointers = pointersOf(elf);
  const blocks = elf.sections.filter(isData).map((section) => blockOf(elf, section, pointers));
  const { functions, variables } = namesOf(elf, blocks);
  if (functions.size === 0)
    throw new WavewrightError('BAD_INPUT', 'no function that can be a hook', {
      file: image.name,
      hint: 'WW_HOOK of wavewright/hook.h stands in front of a hook; kernels are none',
    });
  return {
    ...{
      name: image.name,
      processor: image.target.processor,
      linked: elf.bytes,
      functions,
      variables,
      blocks,
      markers,
      code,
    },
    constantDword: (address) => constantDword(blocks, address),
    pointerAt: (address) => (blockAt(blocks, address)?.isWritable === false ? pointers.get(address) : undefined),
  };
}

/** Tables for the loader are of other types; what compilers note for linkers is not allocated. */
const isContent = ({ type, flags, sizeBytes, name }: ElfSection): boolean =>
  (type === SHT_PROGBITS || type === SHT_NOBITS) &&
  (flags & SHF_ALLOC) !== 0n &&
  sizeBytes > 0 &&
  name !== MARKER_SECTION;
const isCode = (section: ElfSection): boolean => isContent(section) && (section.flags & SHF_EXECINSTR) !== 0n;
const isData = (section: ElfSection): boolean => isContent(section) && (section.flags & SHF_EXECINSTR) === 0n;

function readCode(elf: ElfFile, file: string): Pick<HookFile, 'code' | 'markers'> {
  const sections = elf.sections.filter(isCode);
  const [section, ...others] = sections;
  if (!section) throw new WavewrightError('BAD_INPUT', 'no code in a file of hooks', { file });
  if (others.length > 0)
    throw new WavewrightError('UNSUPPORTED', `${sections.length} sections of code in a linked file`, { file });
  const records = elf.sectionNamed(MARKER_SECTION);
  const markers = records
    ? readMarkers(elf.sectionBytes(records), Number(records.address), file)
    : new Map<number, Marker>();
  const address = Number(section.address);
  for (const { address: at } of markers.values()) {
    if (at < address || at >= address + section.sizeBytes)
      throw new WavewrightError('BAD_INPUT', `a marker at ${hex(at)}, outside of code`, { file });
  }
  return { code: { bytes: elf.sectionBytes(section), address }, markers };
}

/** By the address of the place, which a loader fills in. */
function pointersOf(elf: ElfFile): ReadonlyMap<number, number> {
  return new Map(
    elf.dynamicRelocations.flatMap(({ type, offset, symbol, addend = 0n }) => {
      const isKnown = type === R_AMDGPU.RELATIVE64 || (type === R_AMDGPU.ABS64 && symbol !== undefined);
      return isKnown ? [[Number(offset), Number((symbol?.value ?? 0n) + addend)] as const] : [];
    }),
  );
}

function blockOf(elf: ElfFile, section: ElfSection, pointers: ReadonlyMap<number, number>): HookBlock {
  const address = Number(section.address);
  const { sizeBytes } = section;
  return {
    ...{ name: section.name, address, sizeBytes, alignmentBytes: Math.max(Number(section.alignmentBytes), 1) },
    bytes: section.type === SHT_NOBITS ? undefined : elf.sectionBytes(section),
    // Only loaders write the global offset table.
    isWritable: (section.flags & SHF_WRITE) !== 0n && section.name !== '.got',
    pointers: [...pointers]
      .filter(([place]) => place >= address && place < address + sizeBytes)
      .map(([place, target]) => ({ offset: place - address, target })),
  };
}

function namesOf(elf: ElfFile, blocks: readonly HookBlock[]): Pick<HookFile, 'functions' | 'variables'> {
  const functions = new Map<string, HookFunction>();
  const variables: HookVariable[] = [];
  const symbols = elf.symbols.length > 0 ? elf.symbols : elf.dynamicSymbols;
  const descriptors = new Set(symbols.flatMap(({ name }) => (name.endsWith('.kd') ? [name] : [])));
  for (const { name, type, binding, visibility, value, sizeBytes } of symbols) {
    if (descriptors.has(name) || descriptors.has(`${name}.kd`)) continue;
    const address = Number(value);
    // Linking makes hidden functions local, too, but they keep their visibility.
    const isLocal = binding === STB_LOCAL && visibility === STV_DEFAULT;
    if (type === STT_FUNC) functions.set(name, { name, address, sizeBytes, isLocal });
    const block = type === STT_OBJECT ? blockAt(blocks, address) : undefined;
    if (block) variables.push({ name, block, offset: address - block.address, sizeBytes });
  }
  return { functions, variables };
}

/** The block that holds an address; the end of a block belongs to it, as pointers behind the last byte do. */
export const blockAt = (blocks: readonly HookBlock[], address: number): HookBlock | undefined =>
  blocks.find((each) => address >= each.address && address < each.address + each.sizeBytes) ??
  blocks.find((each) => address === each.address + each.sizeBytes);

function constantDword(blocks: readonly HookBlock[], address: number): number | undefined {
  const block = blockAt(blocks, address);
  if (!block || block.isWritable || !block.bytes) return undefined;
  const at = address - block.address;
  if (at + 4 > block.bytes.length) return undefined;
  return new DataView(block.bytes.buffer, block.bytes.byteOffset).getInt32(at, true);
}
