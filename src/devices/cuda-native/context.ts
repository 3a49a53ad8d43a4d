/**
 * The primary context of a GPU in this process, and what became of it. A kernel that faults spoils it for
 * good; a kernel that does not end cannot be stopped by anything but the end of the process, and whatever
 * frees memory or unloads code would wait for it.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { CudaLibrary } from './library.ts';
import { resultFault } from './results.ts';

const STACK_SIZE = 0;
/** CU_STREAM_NON_BLOCKING: it does not wait for the stream that everybody shares. */
const NON_BLOCKING = 1;

/** The context of this thread, as the driver sees it: threads have modules of their own, too. */
let current = 0n;

export class CudaContext {
  readonly library: CudaLibrary;
  readonly name: string;
  /** Copies, and memory that running kernels ask for, go beside the kernels. */
  readonly copies: bigint;
  readonly #device: number;
  readonly #handle: bigint;
  #stackSizeBytes: number;
  #end: string | undefined;
  #isStuck = false;

  constructor(library: CudaLibrary, device: number, name: string) {
    const { call } = library;
    this.library = library;
    this.name = name;
    this.#device = device;
    this.#handle = library.word((out) => call.cuDevicePrimaryCtxRetain(out, device), 'cuDevicePrimaryCtxRetain');
    try {
      this.enter();
      this.#stackSizeBytes = Number(library.word((out) => call.cuCtxGetLimit(out, STACK_SIZE), 'cuCtxGetLimit'));
      this.copies = this.createStream();
    } catch (error) {
      this.#release();
      throw error;
    }
  }

  /** Makes it the context of this thread's calls. */
  enter(): void {
    if (current === this.#handle) return;
    this.library.check(this.library.call.cuCtxSetCurrent(this.#handle), 'cuCtxSetCurrent');
    current = this.#handle;
  }

  /**
   * Whether the driver may be asked to free things: else it would refuse, or wait for a kernel that never
   * ends.
   */
  get isUsable(): boolean {
    return this.#end === undefined;
  }

  /** Throws GPU_FAULT where the context is of no use any more. */
  expectUsable(): void {
    if (this.#end !== undefined)
      throw new WavewrightError('GPU_FAULT', `${this.name} is of no use: ${this.#end}`, {
        hint: 'a new process can use it again',
      });
    this.enter();
  }

  /** From now on everything is refused, and nothing is freed. */
  giveUp(why: string): void {
    this.#end ??= why;
  }

  /** Throws the error of a result; one that a kernel caused is the end of the context. */
  check(result: number, what: string): void {
    const fault = resultFault(result);
    if (fault) this.giveUp(`${fault.what} (${what})`);
    this.library.check(result, what);
  }

  createStream(): bigint {
    return this.library.word((out) => this.library.call.cuStreamCreate(out, NON_BLOCKING), 'cuStreamCreate');
  }

  /**
   * Gives the threads of kernels at least so much stack. The driver reserves it for all that can be
   * resident.
   */
  reserveStack(sizeBytes: number): void {
    if (sizeBytes <= this.#stackSizeBytes) return;
    this.check(this.library.call.cuCtxSetLimit(STACK_SIZE, BigInt(sizeBytes)), `a stack of ${sizeBytes} bytes`);
    this.#stackSizeBytes = sizeBytes;
  }

  /** What is left is freed by the end of the process where the context is of no use. */
  close(): void {
    if (this.isUsable) {
      this.enter();
      this.check(this.library.call.cuStreamDestroy_v2(this.copies), 'cuStreamDestroy_v2');
      this.#release();
    } else if (!this.#isStuck) this.#release();
  }

  /** A kernel runs that does not end. */
  stick(why: string): void {
    this.#isStuck = true;
    this.giveUp(why);
  }

  #release(): void {
    if (current === this.#handle) current = 0n;
    this.library.call.cuCtxSetCurrent(0n);
    this.library.call.cuDevicePrimaryCtxRelease_v2(this.#device);
  }
}
