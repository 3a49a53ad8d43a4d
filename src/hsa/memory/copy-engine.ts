/**
 * Copies that wait for signals and complete one (hsa_amd_memory_async_copy, hsa_amd_memory_async_copy_rect).
 * They run on the host while the runtime makes progress; one that may not start yet does not hold back later
 * ones.
 */

import { hex } from '../../base/text.ts';
import { guestAddress } from '../../device/guest-address.ts';
import type { DeviceMemory } from '../../device/memory.ts';
import type { Agent } from '../objects/agent.ts';
import { HsaError, withStatus } from '../objects/status.ts';
import {
  completeSignal,
  expectSignals,
  failSignal,
  type Progress,
  type Signal,
  signalValue,
} from '../signals/signal.ts';

/** Where a copied box starts, and how far its rows and planes are apart, in bytes. */
export interface PitchedPointer {
  readonly address: bigint;
  readonly pitchBytes: number;
  /** From one plane to the next; needed for more than one. */
  readonly sliceBytes?: number;
}

interface CopyDependencies {
  /** The copy starts when all of them are 0. */
  readonly dependencies?: readonly Signal[];
  /**
   * Loses 1 when the copy is done, and gets its times. It becomes negative when the copy fails: minus the
   * status.
   */
  readonly completionSignal?: Signal;
  /** Whose memory it is; only checked. */
  readonly destinationAgent?: Agent;
  readonly sourceAgent?: Agent;
  /** hsa_amd_sdma_engine_id_t; there is one engine, 1. */
  readonly engine?: number;
}

/** hsa_amd_sdma_engine_id_t of the one engine that there is: the host. */
export const COPY_ENGINE = 1;

export interface CopyOptions extends CopyDependencies {
  readonly destination: bigint;
  readonly source: bigint;
  readonly sizeBytes: number;
}

export interface CopyRectOptions extends CopyDependencies {
  readonly destination: PitchedPointer;
  readonly source: PitchedPointer;
  /** Bytes of a row, rows, planes. */
  readonly range: readonly [number, number, number];
}

/** Memory of several devices by address. */
export interface MemoryLookup {
  /** Whose signals copies may use. */
  readonly runtime: Progress;
  memoryOf(address: bigint): DeviceMemory;
  clock(): bigint;
  /** Throws INVALID_AGENT. */
  expectAgent(agent: Agent): void;
}

interface PendingCopy {
  readonly run: () => void;
  readonly dependencies: readonly Signal[];
  readonly completionSignal: Signal | undefined;
}

const checkSize = (what: string, value: number): void => {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new HsaError('INVALID_ARGUMENT', `${what} is ${value}, expected an integer from 0`);
};

/**
 * Signals are in memory that others may free or write to while a copy waits: they are looked up as a packet's
 * are.
 */
const isPending = ({ memory, address }: Signal): boolean => signalValue(memory, guestAddress(address)) !== 0n;

export class CopyEngine {
  readonly #lookup: MemoryLookup;
  readonly #pending: PendingCopy[] = [];
  #failure: HsaError | undefined;
  /** Whether completion signals get the times of copies. */
  isTimed = true;

  constructor(lookup: MemoryLookup) {
    this.#lookup = lookup;
  }

  /**
   * `count` dwords of `value`. Throws INVALID_ARGUMENT for an address that is not a multiple of 4 or memory
   * that is not there.
   */
  fill(address: bigint, value: number, count: number): void {
    checkSize('the count', count);
    if (address % 4n !== 0n) throw new HsaError('INVALID_ARGUMENT', `${hex(address)} is not a multiple of 4`);
    if (count === 0) return;
    const bytes = this.#view(address, count * 4);
    new Uint32Array(bytes.buffer, bytes.byteOffset, count).fill(value);
  }

  /** At once. The ranges may overlap. Throws INVALID_ARGUMENT for memory that is not there. */
  copy(destination: bigint, source: bigint, sizeBytes: number): void {
    checkSize('the size', sizeBytes);
    if (sizeBytes > 0) this.#view(destination, sizeBytes).set(this.#view(source, sizeBytes));
  }

  /** As `copy` when the dependencies allow. Throws INVALID_ARGUMENT now, not later. */
  submit({ destination, source, sizeBytes, ...rest }: CopyOptions): void {
    checkSize('the size', sizeBytes);
    if (sizeBytes > 0) for (const address of [destination, source]) this.#view(address, sizeBytes);
    this.#enqueue(() => this.copy(destination, source, sizeBytes), rest);
  }

  submitRect({ destination, source, range, ...rest }: CopyRectOptions): void {
    const [width, rows, planes] = range;
    for (const size of range) checkSize('a size of the range', size);
    for (const { address, pitchBytes, sliceBytes = 0 } of [destination, source]) {
      checkSize('a pitch', pitchBytes);
      checkSize('a slice', sliceBytes);
      if (pitchBytes < width || (planes > 1 && sliceBytes < pitchBytes * rows)) {
        const what = `rows of ${width} bytes, ${rows} of them in a plane`;
        throw new HsaError(
          'INVALID_ARGUMENT',
          `${what}: a pitch of ${pitchBytes} and a slice of ${sliceBytes} are too small`,
        );
      }
      if (width > 0 && rows > 0 && planes > 0) {
        this.#view(address, (planes - 1) * sliceBytes + (rows - 1) * pitchBytes + width);
      }
    }
    const place = ({ address, pitchBytes, sliceBytes = 0 }: PitchedPointer, row: number, plane: number): bigint =>
      address + BigInt(plane * sliceBytes + row * pitchBytes);
    this.#enqueue(() => {
      if (width === 0) return;
      for (let plane = 0; plane < planes; plane++) {
        for (let row = 0; row < rows; row++)
          this.copy(place(destination, row, plane), place(source, row, plane), width);
      }
    }, rest);
  }

  /** Runs what may start; returns whether anything did. */
  process(): boolean {
    if (this.isIdle) return false;
    let moved = false;
    for (const copy of [...this.#pending]) {
      try {
        if (copy.dependencies.some(isPending)) continue;
        const start = this.#lookup.clock();
        copy.run();
        const { completionSignal: signal } = copy;
        const [startTicks, endTicks] = this.isTimed ? [start, this.#lookup.clock()] : [0n, 0n];
        if (signal) completeSignal(signal.memory, guestAddress(signal.address), startTicks, endTicks);
      } catch (error) {
        if (!(error instanceof HsaError)) throw error;
        this.#fail(copy, error);
      }
      this.#pending.splice(this.#pending.indexOf(copy), 1);
      moved = true;
    }
    return moved;
  }

  /**
   * Memory or signals are gone since the copy was submitted, or GPU code wrote to the signal (HSA runtime
   * 1.2: then it becomes negative).
   */
  #fail({ completionSignal: signal }: PendingCopy, error: HsaError): void {
    if (signal && failSignal(signal.memory, guestAddress(signal.address), error)) return;
    this.#failure = error.within({ section: 'an asynchronous copy' });
  }

  /** Why the last copy failed that had no signal to say so. */
  get failure(): HsaError | undefined {
    return this.#failure;
  }

  /** Whether no copy waits or runs. */
  get isIdle(): boolean {
    return this.#pending.length === 0;
  }

  #enqueue(run: () => void, { dependencies = [], completionSignal, ...rest }: CopyDependencies): void {
    for (const agent of [rest.destinationAgent, rest.sourceAgent]) {
      if (agent !== undefined) this.#lookup.expectAgent(agent);
    }
    if (rest.engine !== undefined && rest.engine !== COPY_ENGINE) {
      throw new HsaError('INVALID_ARGUMENT', `copy engine ${rest.engine}, there is engine ${COPY_ENGINE}`);
    }
    expectSignals(
      this.#lookup.runtime,
      completionSignal === undefined ? dependencies : [...dependencies, completionSignal],
    );
    this.#pending.push({
      run,
      dependencies: [...dependencies],
      completionSignal,
    });
  }

  #view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return withStatus('INVALID_ARGUMENT', () => this.#lookup.memoryOf(address).view(address, sizeBytes));
  }
}
