/**
 * A linked code object as it lies in its own address space: the segments in their places, and what a loader
 * makes of the pointers in it. Addresses are those of the file, as if it were loaded at 0.
 */
import { WavewrightError } from '../base/errors.ts';
import { checkLimit } from '../base/limits.ts';
import type { CodeObject } from '../codeobject/code-object.ts';
import { R_AMDGPU } from '../codeobject/relocation-types.ts';
import { PF_W, PF_X, PT_GNU_RELRO, PT_LOAD } from '../elf/constants.ts';
import type { ElfFile } from '../elf/elf.ts';
import type { ElfRelocation } from '../elf/relocations.ts';
import { isDefined } from '../elf/symbols.ts';

/** Addresses from `start` up to below `end`. */
export interface AddressSpan {
  readonly start: number;
  readonly end: number;
}

/** A pointer of 64 bits that a loader writes. */
export interface RelocatedPointer {
  readonly address: number;
  /** Undefined where another code object has what it points to. */
  readonly target: bigint | undefined;
}

const holds = (spans: readonly AddressSpan[], address: number): boolean =>
  spans.some(({ start, end }) => address >= start && address < end);

export class CodeImage {
  /** From address 0 on, before any relocation; what no segment has is 0. */
  readonly bytes: Uint8Array;
  /**
   * What the file has of executable segments, by address. The zeros behind that, which decode as
   * instructions, may be as long as a header says, and nobody has code there.
   */
  readonly codeRanges: readonly AddressSpan[];
  /** By address. */
  readonly pointers: readonly RelocatedPointer[];
  readonly #constantRanges: readonly AddressSpan[];
  readonly #pointersByDword = new Map<number, RelocatedPointer>();
  readonly #view: DataView;
  readonly #elf: ElfFile;
  #staticRelocations: ReadonlySet<number> | undefined;

  /** Throws UNSUPPORTED for a relocatable object, BAD_INPUT, LIMIT_EXCEEDED for addresses that are huge. */
  constructor({ elf, name, isRelocatable }: CodeObject) {
    if (isRelocatable) {
      throw new WavewrightError('UNSUPPORTED', 'a relocatable object has no addresses yet', {
        ...{ file: name, hint: 'link it first: `wavewright asm` does' },
      });
    }
    this.#elf = elf;
    const segments = elf.segments.filter(({ type }) => type === PT_LOAD);
    const end = segments.reduce(
      (most, { virtualAddress, memorySizeBytes }) => Math.max(most, Number(virtualAddress) + memorySizeBytes),
      0,
    );
    checkLimit('imageBytes', end, { file: name });
    this.bytes = new Uint8Array(end);
    for (const segment of segments) this.bytes.set(elf.segmentBytes(segment), Number(segment.virtualAddress));
    this.#view = new DataView(this.bytes.buffer);
    this.codeRanges = segments
      .filter(({ flags, fileSizeBytes }) => (flags & PF_X) !== 0 && fileSizeBytes > 0)
      .map(({ virtualAddress, fileSizeBytes }) => spanOf(virtualAddress, fileSizeBytes))
      .sort((a, b) => a.start - b.start);
    this.#constantRanges = elf.segments
      .filter(({ type, flags }) => type === PT_GNU_RELRO || (type === PT_LOAD && (flags & PF_W) === 0))
      .map(({ virtualAddress, memorySizeBytes }) => spanOf(virtualAddress, memorySizeBytes));
    this.pointers = elf.dynamicRelocations
      .flatMap((relocation) => pointerOf(relocation) ?? [])
      .sort((a, b) => a.address - b.address);
    for (const pointer of this.pointers) {
      this.#pointersByDword.set(pointer.address, pointer);
      this.#pointersByDword.set(pointer.address + 4, pointer);
    }
  }

  isCode(address: number): boolean {
    return holds(this.codeRanges, address);
  }

  /** Whether a loader writes any of these bytes. */
  isRelocated(address: number, sizeBytes: number): boolean {
    for (let at = address; at < address + sizeBytes; at += 4) if (this.#pointersByDword.has(at)) return true;
    return false;
  }

  pointerAt(address: number): RelocatedPointer | undefined {
    const pointer = this.#pointersByDword.get(address);
    return pointer?.address === address ? pointer : undefined;
  }

  /** Those in the memory around an address that is never written once the code runs; undefined: it may be. */
  constantPointersAround(address: number): readonly RelocatedPointer[] | undefined {
    const spans = this.#constantRanges.filter(({ start, end }) => address >= start && address < end);
    if (spans.length === 0) return undefined;
    return this.pointers.filter((pointer) => holds(spans, pointer.address));
  }

  /** Whether the linker kept the relocation of a place in code (`--emit-relocs`). */
  hasStaticRelocation(address: number): boolean {
    this.#staticRelocations ??= new Set(
      this.#elf.relocationSections
        .filter(({ targetSectionIndex }) => targetSectionIndex !== 0)
        .flatMap(({ relocations }) => relocations.map(({ offset }) => Number(offset))),
    );
    return this.#staticRelocations.has(address);
  }

  /** A dword that is never written once the code runs; undefined for all other memory. */
  constantDword(address: bigint): number | undefined {
    const at = Number(address);
    const isConstant = holds(this.#constantRanges, at) && at + 4 <= this.bytes.length;
    if (!isConstant) return undefined;
    const pointer = this.#pointersByDword.get(at);
    if (!pointer) return this.#view.getInt32(at, true);
    if (pointer.target === undefined) return undefined;
    return Number(BigInt.asIntN(32, at === pointer.address ? pointer.target : pointer.target >> 32n));
  }
}

const spanOf = (start: bigint, sizeBytes: number): AddressSpan => ({
  start: Number(start),
  end: Number(start) + sizeBytes,
});

/** Undefined for relocations that make no pointer of 64 bits; what these write is not known. */
function pointerOf({ offset, type, symbol, addend = 0n }: ElfRelocation): RelocatedPointer | undefined {
  const address = Number(offset);
  if (type === R_AMDGPU.RELATIVE64) return { address, target: BigInt.asUintN(64, addend) };
  const target = symbol && isDefined(symbol) ? BigInt.asUintN(64, symbol.value + addend) : undefined;
  if (type === R_AMDGPU.ABS64) return { address, target };
  return { address, target: undefined };
}
