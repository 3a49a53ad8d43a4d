/** Private memory that payloads have in kernels that share functions: behind all that the application has. */
import { alignUp } from '../../base/align.ts';
import type { Kernel } from '../../codeobject/code-object.ts';
import type { FlatScratchCopy } from '../machine/flat-scratch.ts';

const ALIGNMENT_BYTES = 16;

/** What of the launch it takes to reach private memory. */
export interface ScratchAccess {
  /** Whether preambles can set all kernels up for it. */
  readonly isPossible: () => boolean;
  /** Whether code of the kernels writes FLAT_SCRATCH, which then is kept elsewhere as it is to be. */
  readonly isFlatScratchWritten: boolean;
  readonly keepFlatScratch: () => FlatScratchCopy | undefined;
}

export class ScratchArea {
  /** Where it begins, in each lane's private memory. */
  readonly startBytes: number;
  readonly #access: ScratchAccess;
  readonly #refusal: string | undefined;
  #sizeBytes = 0;
  #flatScratch: FlatScratchCopy | undefined;
  #isKept = false;

  constructor(kernels: readonly Kernel[], access: ScratchAccess) {
    const sizes = kernels.map(({ descriptor }) => descriptor.privateSegmentFixedSizeBytes);
    this.startBytes = alignUp(Math.max(...sizes), ALIGNMENT_BYTES);
    this.#access = access;
    if (kernels.some(({ descriptor }) => descriptor.properties.usesDynamicStack))
      this.#refusal = 'the stack of the kernel has no fixed size';
  }

  get isUsed(): boolean {
    return this.#sizeBytes > 0;
  }

  /** What kernels must be launched with. */
  get endBytes(): number {
    return this.startBytes + this.#sizeBytes;
  }

  /** Makes room; why there can be none, where that is so. */
  require(sizeBytes: number): string | undefined {
    if (this.#refusal !== undefined) return this.#refusal;
    if (!this.isUsed && !this.#access.isPossible()) return 'the kernel has no user SGPR left for private memory';
    this.#sizeBytes = Math.max(this.#sizeBytes, sizeBytes);
    return undefined;
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
}
