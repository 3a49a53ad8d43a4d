/**
 * Private memory that payloads have in kernels that share functions: behind all that the application has, or,
 * where it is not known how far a stack grows, between the frames of the kernels and the stack, which then
 * begins behind it.
 */
import { alignUp } from '../../base/align.ts';
import type { Kernel } from '../../codeobject/code-object.ts';
import type { FlatScratchCopy } from '../machine/flat-scratch.ts';
import type { PhysicalRange } from '../machine/machine-code.ts';
import { STACK_REGISTERS, type StackStart, stackStartWords } from './stack-start.ts';

/** Frames are aligned to as much, and what needs more is aligned by code (LLVM, "Non-Kernel Functions"). */
const ALIGNMENT_BYTES = 16;
/** Of sizes in kernel descriptors, and of stack pointers. */
const MAX_32_BITS = 2 ** 32 - 1;

/** What of the launch it takes to reach private memory. */
export interface ScratchAccess {
  /** Whether preambles can set all kernels up for it. */
  readonly isPossible: () => boolean;
  /** Whether code of the kernels writes FLAT_SCRATCH, which then is kept elsewhere as it is to be. */
  readonly isFlatScratchWritten: boolean;
  readonly keepFlatScratch: () => FlatScratchCopy | undefined;
}

export interface ScratchKernel {
  readonly kernel: Kernel;
  /** Where its stack begins; undefined where that is not seen. */
  readonly stackStart: () => StackStart | undefined;
}

const privateBytesOf = ({ descriptor }: Kernel): number => descriptor.privateSegmentFixedSizeBytes;
const isDynamic = ({ kernel }: ScratchKernel): boolean => kernel.descriptor.properties.usesDynamicStack;

export class ScratchArea {
  readonly #kernels: readonly ScratchKernel[];
  readonly #access: ScratchAccess;
  /** Where stacks begin that move; empty where all that the application has ends somewhere. */
  #stacks: ReadonlyMap<Kernel, StackStart> | undefined;
  #refusal: string | undefined;
  #startBytes: number | undefined;
  #sizeBytes = 0;
  #flatScratch: FlatScratchCopy | undefined;
  #isKept = false;

  constructor(kernels: readonly ScratchKernel[], access: ScratchAccess) {
    this.#kernels = kernels;
    this.#access = access;
  }

  get isUsed(): boolean {
    return this.#sizeBytes > 0;
  }

  /** Where it begins, in each lane's private memory. */
  get startBytes(): number {
    this.#startBytes ??= alignUp(
      Math.max(...this.#kernels.map(({ kernel }) => this.#takenBy(kernel))),
      ALIGNMENT_BYTES,
    );
    return this.#startBytes;
  }

  /** What no payload takes: code that is instrumented again shows by these where its stacks begin. */
  get reserved(): readonly PhysicalRange[] {
    return this.#kernels.some(isDynamic) ? [STACK_REGISTERS] : [];
  }

  /** What a kernel must be launched with. */
  privateBytesOf(kernel: Kernel): number {
    return privateBytesOf(kernel) + this.#endBytes - this.#takenBy(kernel);
  }

  /** Makes room; why there can be none, where that is so. */
  require(sizeBytes: number): string | undefined {
    this.#findStacks();
    if (this.#refusal !== undefined) return this.#refusal;
    if (!this.isUsed && !this.#access.isPossible()) return 'the kernel has no user SGPR left for private memory';
    if (sizeBytes <= this.#sizeBytes) return undefined;
    const before = this.#sizeBytes;
    this.#sizeBytes = alignUp(sizeBytes, ALIGNMENT_BYTES);
    if (this.#fits()) return undefined;
    this.#sizeBytes = before;
    return 'private memory, or the stack in it, would end beyond 2^32 - 1';
  }

  /** What instructions become that set stack pointers, by their addresses. */
  stackStarts(): ReadonlyMap<number, readonly number[]> {
    const moved = this.isUsed ? [...this.#findStacks().values()] : [];
    return new Map(moved.map((stack) => [stack.step.offset, stackStartWords(stack, this.#endBytes)]));
  }

  /**
   * Where the value for FLAT_SCRATCH is; undefined where it has that value anyway. A text says why it is
   * nowhere.
   */
  flatScratch(): FlatScratchCopy | undefined | string {
    if (!this.#access.isFlatScratchWritten) return undefined;
    if (!this.#isKept) this.#flatScratch = this.#access.keepFlatScratch();
    this.#isKept = true;
    return this.#flatScratch ?? 'no registers are free for what FLAT_SCRATCH is to be';
  }

  get #endBytes(): number {
    return this.startBytes + this.#sizeBytes;
  }

  /** Of each lane's private memory, what stays where it is. */
  #takenBy(kernel: Kernel): number {
    return this.#findStacks().get(kernel)?.startBytes ?? privateBytesOf(kernel);
  }

  #fits(): boolean {
    const stackPointers = [...this.#findStacks().values()].map(({ unitsPerByte }) => this.#endBytes * unitsPerByte);
    const sizes = this.#kernels.map(({ kernel }) => this.privateBytesOf(kernel));
    return [...stackPointers, ...sizes].every((each) => each <= MAX_32_BITS);
  }

  #findStacks(): ReadonlyMap<Kernel, StackStart> {
    if (this.#stacks) return this.#stacks;
    const stacks = new Map<Kernel, StackStart>();
    this.#stacks = stacks;
    if (!this.#kernels.some(isDynamic)) return stacks;
    for (const each of this.#kernels) {
      const found = each.stackStart();
      if (found) stacks.set(each.kernel, found);
      else if (isDynamic(each)) this.#refusal = 'the stack of the kernel has no fixed size, nor is it seen to begin';
    }
    return stacks;
  }
}
