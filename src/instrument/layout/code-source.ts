/**
 * The code of a linked code object: its bytes at their addresses, where it is entered, what depends on its
 * place.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import { wavefrontSize } from '../../codeobject/kernel-descriptor.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import { PF_X, PT_LOAD, STT_FUNC } from '../../elf/constants.ts';
import { isDefined } from '../../elf/symbols.ts';
import { followingOffset } from '../../ir/step.ts';
import { meaningOf } from '../../isa/amdgpu/effects/meaning.ts';
import type { Row } from '../../isa/amdgpu/encoding/row.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import type { CodeItem } from './code-item.ts';
import type { CodeEntry, PcUse } from './compose.ts';
import { type LayoutCode, layoutCodeFor } from './layout-code.ts';

export interface NamedEntry extends CodeEntry {
  readonly name: string;
}

const KERNEL_ALIGNMENT_BYTES = 256;
const SECOND_ENTRY_BYTES = 256;
/** MODE that steps are read with: what is asked here does not depend on it. */
const MODE = 0;

/** The name under which a copy of a relocated literal refers to what fills the original one. */
export const copiedRelocation = (index: number): string => `relocation ${index}`;

export class CodeSource {
  readonly code: LayoutCode;
  /** By address. */
  readonly entries = new Map<number, NamedEntry>();
  /**
   * Next addresses of instructions that read their own, where the new code goes on with the original
   * address.
   */
  readonly pinned: number[] = [];
  readonly #codeObject: CodeObject;
  readonly #ranges: readonly { readonly start: number; readonly end: number }[];
  readonly #view: DataView;
  readonly #reader: AmdgpuStepReader;
  /** Indices of relocations, by the dwords that they write. */
  readonly #relocations = new Map<number, number>();

  /**
   * `elf` was found to span no more than the limit `imageBytes`. Throws UNSUPPORTED for an unknown
   * processor.
   */
  constructor(codeObject: CodeObject) {
    const { elf, target, kernels } = codeObject;
    this.#codeObject = codeObject;
    this.code = layoutCodeFor(target.processor);
    const code = elf.segments.filter(({ type, flags }) => type === PT_LOAD && (flags & PF_X) !== 0);
    this.#ranges = code.map(({ virtualAddress, fileSizeBytes }) => {
      const start = Number(virtualAddress);
      return { start, end: start + fileSizeBytes };
    });
    const image = new Uint8Array(Math.max(0, ...this.#ranges.map(({ end }) => end)));
    for (const segment of code) image.set(elf.segmentBytes(segment), Number(segment.virtualAddress));
    this.#view = new DataView(image.buffer);
    const waveSize = kernels[0] ? wavefrontSize(kernels[0].descriptor) : targetFor(target.processor).waveSizes[0]!;
    this.#reader = new AmdgpuStepReader(target.processor, waveSize, MODE);
    for (const [index, { offset, type }] of elf.dynamicRelocations.entries()) {
      const address = Number(offset);
      this.#relocations.set(address, index);
      if (type === R_AMDGPU.ABS64 || type === R_AMDGPU.REL64 || type === R_AMDGPU.RELATIVE64) {
        this.#relocations.set(address + 4, index);
      }
    }
  }

  /** Kernels of these names, or all there is, functions too. Throws BAD_INPUT when none is chosen. */
  findEntries(isChosen: ((kernelName: string) => boolean) | undefined): void {
    const { kernels, elf, name: file } = this.#codeObject;
    const chosen = isChosen ? kernels.filter(({ name }) => isChosen(name)) : kernels;
    if (isChosen && chosen.length === 0) {
      const known = kernels.map(({ name }) => name).join(', ');
      throw new WavewrightError('BAD_INPUT', `no kernel is chosen; the kernels are ${known || 'none'}`, { file });
    }
    const functions = isChosen ? [] : [...elf.symbols, ...elf.dynamicSymbols];
    for (const { type, name, value, ...rest } of functions) {
      const address = Number(value);
      if (type !== STT_FUNC || !isDefined({ type, name, value, ...rest }) || !this.isCode(address)) continue;
      const alignmentBytes = alignmentOf(address);
      this.entries.set(address, { address, name, alignmentBytes, hasSecondEntry: false });
    }
    for (const kernel of chosen) this.#addKernel(kernel);
  }

  #addKernel({ name, entryAddress, descriptor }: Kernel): void {
    const address = Number(entryAddress);
    const hasSecondEntry = descriptor.kernargPreload.lengthDwords > 0;
    const alignmentBytes = KERNEL_ALIGNMENT_BYTES;
    this.entries.set(address, { address, name, alignmentBytes, hasSecondEntry });
    if (!hasSecondEntry) return;
    const second = address + SECOND_ENTRY_BYTES;
    this.entries.set(second, { address: second, name: `${name}+256`, alignmentBytes, hasSecondEntry: false });
  }

  isCode(address: number): boolean {
    return this.#ranges.some(({ start, end }) => address >= start && address < end);
  }

  /** The instruction at an image address, or why there is none. */
  read(address: number): AmdgpuStep | string {
    return this.#reader.step(this.#view, address);
  }

  isFiller(address: number): boolean {
    return address + 4 <= this.#view.byteLength && this.#view.getUint32(address, true) === 0;
  }

  /** Why an instruction cannot stand elsewhere. */
  obstacle(step: AmdgpuStep): string | undefined {
    const { instruction, offset, sizeBytes } = step;
    if (step.target === undefined && instruction.labelTarget(offset) !== undefined) {
      return `'${instruction.name}' names a place in a way that is not supported`;
    }
    const literal = this.#literalRelocation(step);
    for (let at = offset; at < offset + sizeBytes; at += 4) {
      if (this.#relocations.has(at) && this.#relocations.get(at) !== literal) {
        return `the loader changes '${instruction.name}'`;
      }
    }
    return undefined;
  }

  /** `textAddress`: where the symbol `anchor` will be. */
  pcUse(step: AmdgpuStep, anchor: string, textAddress: number): PcUse | undefined {
    const index = this.#literalRelocation(step);
    if (index !== undefined) {
      const half = this.#codeObject.elf.dynamicRelocations[index]!.type === R_AMDGPU.ABS32_LO ? 'low' : 'high';
      return { kind: 'literal', fixup: { kind: 'absolute', half, symbol: copiedRelocation(index), addend: 0 } };
    }
    if (step.control !== 'next' || !readsNextPc(step)) return undefined;
    const destination = step.instruction.operand(0);
    if (destination.kind !== 'scalar') return undefined;
    const behind = followingOffset(step);
    this.pinned.push(behind);
    const addend = behind - textAddress;
    const items = (['low', 'high'] as const).map((half, i): CodeItem => {
      const words = this.code.move(step.instruction.encoded(0) + i, 0);
      return { kind: 'instruction', words, fixup: { kind: 'absolute', half, symbol: anchor, addend } };
    });
    return { kind: 'pinned', items };
  }

  /** The relocation that fills the literal of an instruction with half of an address. */
  #literalRelocation({ instruction, offset, sizeBytes }: AmdgpuStep): number | undefined {
    if (instruction.literal === undefined) return undefined;
    const index = this.#relocations.get(offset + sizeBytes - 4);
    if (index === undefined) return undefined;
    const { type } = this.#codeObject.elf.dynamicRelocations[index]!;
    return type === R_AMDGPU.ABS32_LO || type === R_AMDGPU.ABS32_HI ? index : undefined;
  }
}

const pcReaders = new WeakMap<Row, boolean>();

/** Whether an instruction computes with the address behind it. */
function readsNextPc({ instruction }: AmdgpuStep): boolean {
  const { row } = instruction;
  let reads = pcReaders.get(row);
  if (reads === undefined) {
    reads = meaningOf(instruction)?.values.some(({ leaf }) => leaf.kind === 'nextPc' || leaf.kind === 'pc') ?? false;
    pcReaders.set(row, reads);
  }
  return reads;
}

/** What the place of a function shows of how it was aligned, at most as kernels are. */
function alignmentOf(address: number): number {
  let alignment = 4;
  while (alignment < KERNEL_ALIGNMENT_BYTES && address % (alignment * 2) === 0) alignment *= 2;
  return alignment;
}
