/**
 * The code of a linked code object: its bytes at their addresses, where it is entered, what depends on its
 * place.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { CodeObject, Kernel } from '../../codeobject/code-object.ts';
import { R_AMDGPU } from '../../codeobject/relocation-types.ts';
import { fallsThrough, followingOffset } from '../../ir/step.ts';
import { Draft } from '../../isa/amdgpu/encoding/encode.ts';
import { SRC_LITERAL } from '../../isa/amdgpu/encoding/formats.ts';
import { type Instruction, wordsOf } from '../../isa/amdgpu/encoding/instruction.ts';
import { targetFor } from '../../isa/amdgpu/encoding/targets.ts';
import { type AmdgpuStep, AmdgpuStepReader } from '../../isa/amdgpu/step.ts';
import { isComputedWith } from '../../lift/address-arithmetic.ts';
import { addressPairOf, isGetPc } from '../../lift/address-sequence.ts';
import { functionSymbols, type LiftedCode } from '../../lift/lifted-code.ts';
import type { LiftedFunction } from '../../lift/lifted-function.ts';
import { type CodeItem, Label } from './code-item.ts';
import type { CodeEntry, PcUse } from './compose.ts';
import { type LayoutCode, layoutCodeFor } from './layout-code.ts';
import type { Half } from './payload-code.ts';

export interface NamedEntry extends CodeEntry {
  readonly name: string;
}

const KERNEL_ALIGNMENT_BYTES = 256;
const SECOND_ENTRY_BYTES = 256;
const MAY_BE_DATA = 'it may be data: an address leads there, but what stands there does not come to an end';
/** MIMG of gfx10 with three dwords of addresses (RDNA2 ISA 13.6.1) is the longest there is. */
const MAX_INSTRUCTION_BYTES = 20;
/** Too large for an inline constant. */
const ANY_LITERAL = 0x1234_5678;
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
  /** Places that addresses lead to, which are not known to be code. */
  readonly unknown: { readonly name: string; readonly address: number; readonly reason: string }[] = [];
  readonly #lifted: LiftedCode;
  readonly #codeObject: CodeObject;
  /** Entries of all functions. */
  readonly #functions = new Set<number>();
  /** Those among them of which more than an address is known. */
  #known: ReadonlySet<number> | undefined;
  readonly #view: DataView;
  readonly #reader: AmdgpuStepReader;
  /** Indices of relocations, by the dwords that they write. */
  readonly #relocations = new Map<number, number>();
  /** What is made of instructions that make addresses of their own one, by address. */
  readonly #addressUses = new Map<number, PcUse>();
  /** Addresses of these instructions, by whether they lead to code, and where to. */
  readonly #addressTargets: { readonly isCode: boolean; readonly target: number; readonly steps: readonly number[] }[] =
    [];

  /** Throws UNSUPPORTED for an unknown processor. */
  constructor(lifted: LiftedCode) {
    const { codeObject } = lifted;
    const { elf, target } = codeObject;
    this.#lifted = lifted;
    this.#codeObject = codeObject;
    this.code = layoutCodeFor(target.processor);
    const { buffer, byteOffset, byteLength } = lifted.image;
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#reader = new AmdgpuStepReader(target.processor, targetFor(target.processor).waveSizes[0]!, MODE);
    for (const [index, { offset, type }] of elf.dynamicRelocations.entries()) {
      const address = Number(offset);
      this.#relocations.set(address, index);
      if (type === R_AMDGPU.ABS64 || type === R_AMDGPU.REL64 || type === R_AMDGPU.RELATIVE64) {
        this.#relocations.set(address + 4, index);
      }
    }
  }

  /** Kernels of these names with what they call, or all there is. Throws BAD_INPUT when none is chosen. */
  findEntries(isChosen: ((kernelName: string) => boolean) | undefined): void {
    const { kernels, name: file } = this.#codeObject;
    const chosen = isChosen ? kernels.filter(({ name }) => isChosen(name)) : kernels;
    if (isChosen && chosen.length === 0) {
      const known = kernels.map(({ name }) => name).join(', ');
      throw new WavewrightError('BAD_INPUT', `no kernel is chosen; the kernels are ${known || 'none'}`, { file });
    }
    for (const lifted of this.#lifted.functions) {
      if (this.#isFunction(lifted)) this.#functions.add(lifted.entry);
      else if (!isChosen) this.unknown.push({ name: lifted.name, address: lifted.entry, reason: MAY_BE_DATA });
    }
    const functions = isChosen ? this.#calledBy(chosen) : this.#lifted.functions;
    for (const { entry: address, name } of functions) {
      if (!this.#functions.has(address)) continue;
      this.entries.set(address, { address, name, alignmentBytes: alignmentOf(address), hasSecondEntry: false });
    }
    for (const kernel of chosen) this.#addKernel(kernel);
    this.#findAddressUses();
  }

  /**
   * Whether a place is entered for certain: a kernel, what symbols call a function, what is called or jumped
   * to. Of others an address is made or stored alone; tables and constants stand among code, too, but these
   * do not come to an end of their own as code does.
   */
  #isFunction({ entry, kernels, blocks }: LiftedFunction): boolean {
    this.#known ??= new Set([
      ...this.#lifted.sites.flatMap(({ targets }) => targets),
      ...functionSymbols(this.#codeObject).map(({ value }) => Number(value)),
    ]);
    if (kernels.length > 0 || this.#known.has(entry)) return true;
    const runsOut = blocks.some(({ next, instructions }) => !next && fallsThrough(instructions.at(-1)!));
    if (blocks.length === 0 || runsOut) return false;
    return blocks.every(({ instructions }) => instructions.every((step) => this.obstacle(step) === undefined));
  }

  #calledBy(kernels: readonly Kernel[]): ReadonlySet<LiftedFunction> {
    const found = new Set<LiftedFunction>();
    for (const { entryAddress } of kernels) {
      const kernel = this.#lifted.functionAt(Number(entryAddress));
      if (kernel) found.add(kernel);
    }
    for (const { callees } of found) for (const callee of callees) found.add(callee);
    return found;
  }

  /**
   * Literals that lead from an instruction's own address to data and functions count from the new address.
   * What code may compute with other addresses of code is not known: these stay.
   */
  #findAddressUses(): void {
    for (const { getpc, low, high, target, isCode } of this.#lifted.addresses) {
      if (!low || !high || target === undefined || (isCode && !this.#functions.has(target))) continue;
      if (isCode && this.#isComputedWith(high, addressPairOf(getpc)!)) continue;
      const [lowWords, highWords] = [withLiteral(low.instruction), withLiteral(high.instruction)];
      if (!lowWords || !highWords) continue;
      const from = new Label('base');
      const place = isCode ? { origin: target } : target;
      const literal = (half: Half, words: readonly number[]): PcUse => ({
        ...{ kind: 'literal', words },
        fixup: { kind: 'relative', half, from, target: place },
      });
      this.#addressTargets.push({ isCode, target, steps: [getpc.offset, low.offset, high.offset] });
      this.#addressUses.set(getpc.offset, { kind: 'base', label: from });
      this.#addressUses.set(low.offset, literal('low', lowWords)).set(high.offset, literal('high', highWords));
    }
  }

  /** Whether code computes with an address that a step completes in a pair of registers. */
  #isComputedWith(step: AmdgpuStep, register: number): boolean {
    const owner = this.#lifted.functionOf(step);
    const block = owner?.blockOf(step);
    return (
      block !== undefined &&
      isComputedWith({ owner: owner!, block, index: block.instructions.indexOf(step) + 1, register })
    );
  }

  /** Whether a function that an instruction calls computes with the address behind the call. */
  #returnsElsewhere(step: AmdgpuStep): boolean {
    const site = step.control === 'call' ? this.#lifted.functionOf(step)?.siteOf(step) : undefined;
    const register = site && addressPairOf(step);
    if (register === undefined) return false;
    return site!.callees.some((owner) => {
      const block = owner.entryBlock;
      return block !== undefined && isComputedWith({ owner, block, index: 0, register });
    });
  }

  /** New code that is loaded apart has no distance to what stays: addresses of that are the old ones. */
  pinWhatStays(isMoved: (address: number) => boolean): void {
    for (const { isCode, target, steps } of this.#addressTargets) {
      if (!isCode || !isMoved(target)) for (const step of steps) this.#addressUses.delete(step);
    }
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
    return this.#lifted.codeRanges.some(({ start, end }) => address >= start && address < end);
  }

  /** The instruction at an image address, or why there is none. */
  read(address: number): AmdgpuStep | string {
    return this.#lifted.stepAt(address) ?? this.#reader.step(this.#view, address);
  }

  /** Whether an instruction of a function has the byte at an address. */
  isInstruction(address: number): boolean {
    for (let at = address & ~3; at > address - MAX_INSTRUCTION_BYTES; at -= 4) {
      const step = this.#lifted.stepAt(at);
      const owner = step && address < at + step.sizeBytes ? this.#lifted.functionOf(step) : undefined;
      if (owner && this.#functions.has(owner.entry)) return true;
    }
    return false;
  }

  /** Zeros of linkers, or where code that was rewritten before ends. */
  isFiller(address: number): boolean {
    if (address + 4 > this.#view.byteLength) return false;
    const word = this.#view.getUint32(address, true);
    return word === 0 || word === this.code.stop;
  }

  /** Why an instruction cannot stand elsewhere. */
  obstacle(step: AmdgpuStep): string | undefined {
    const { instruction, offset, sizeBytes } = step;
    if (step.target === undefined && instruction.labelTarget(offset) !== undefined) {
      return `'${instruction.name}' names a place in a way that is not supported`;
    }
    if (this.#returnsElsewhere(step)) return `code computes with the address behind '${instruction.name}'`;
    if (this.#relocations.size === 0) return undefined;
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
      const fixup = { kind: 'absolute', half, symbol: copiedRelocation(index), addend: 0 } as const;
      return { kind: 'literal', words: step.words, fixup };
    }
    const known = this.#addressUses.get(step.offset);
    if (known || !isGetPc(step)) return known;
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

/** An instruction with a literal where it has one or another constant; undefined where it cannot have one. */
function withLiteral(instruction: Instruction): readonly number[] | undefined {
  if (instruction.literal !== undefined) return wordsOf(instruction);
  const index = [...instruction.row.operands.keys()].find((each) => instruction.operand(each).kind === 'constant');
  if (index === undefined) return undefined;
  const { encoding, words } = Draft.of(instruction);
  const draft = new Draft(encoding, instruction, words, ANY_LITERAL);
  const operand = draft.setEncoded(index, SRC_LITERAL) ? draft.operand(index) : undefined;
  return operand?.kind === 'constant' && operand.value === BigInt(ANY_LITERAL) ? wordsOf(draft) : undefined;
}

/** What the place of a function shows of how it was aligned, at most as kernels are. */
function alignmentOf(address: number): number {
  let alignment = 4;
  while (alignment < KERNEL_ALIGNMENT_BYTES && address % (alignment * 2) === 0) alignment *= 2;
  return alignment;
}
