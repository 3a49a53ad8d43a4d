/**
 * Copies that wait for signals and complete one (hsa_amd_memory_async_copy, hsa_amd_memory_async_copy_rect; spec/hsa.md section 1.2). They
 * run on the host while the runtime makes progress; one that may not start yet does not hold back later ones.
 */
import type { Agent } from './agent.ts';
import type { DeviceMemory } from './device.ts';
import { completeSignal, expectSignals, type Progress, type Signal, signalValue } from './signal.ts';
import { HsaError, withStatus } from './status.ts';

/** Where a copied box starts, and how far its rows and planes are apart, in bytes. */
export interface PitchedPointer {
  readonly address: bigint;
  readonly pitchBytes: number;
  /** Of a plane; needed for more than one. */
  readonly sliceBytes?: number;
}

interface CopyDependencies {
  /** The copy starts when all of them are 0. */
  readonly dependencies?: readonly Signal[];
  /** Loses 1 when the copy is done, and gets its times. */
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
  readonly dependencies: readonly bigint[];
  readonly completionSignal: bigint;
}

const checkSize = (what: string, value: number): void => {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new HsaError('INVALID_ARGUMENT', `${what} is ${value}, expected an integer from 0`);
};

export class CopyEngine {
  readonly #lookup: MemoryLookup;
  readonly #pending: PendingCopy[] = [];
  /** Whether completion signals get the times of copies. */
  isTimed = true;

  constructor(lookup: MemoryLookup) {
    this.#lookup = lookup;
  }

  /** `count` dwords of `value`. Throws INVALID_ARGUMENT for an address that is not a multiple of 4 or memory that is not there. */
  fill(address: bigint, value: number, count: number): void {
    checkSize('the count', count);
    if (address % 4n !== 0n) throw new HsaError('INVALID_ARGUMENT', `0x${address.toString(16)} is not a multiple of 4`);
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
      for (let plane = 0; plane < planes; plane++) {
        for (let row = 0; row < rows; row++)
          this.copy(place(destination, row, plane), place(source, row, plane), width);
      }
    }, rest);
  }

  /** Runs what may start; returns whether anything did. */
  process(): boolean {
    const lookup = this.#lookup;
    let moved = false;
    for (const copy of [...this.#pending]) {
      if (copy.dependencies.some((address) => signalValue(lookup.memoryOf(address), address) !== 0n)) continue;
      this.#pending.splice(this.#pending.indexOf(copy), 1);
      const start = lookup.clock();
      copy.run();
      const { completionSignal: signal } = copy;
      const [startTicks, endTicks] = this.isTimed ? [start, lookup.clock()] : [0n, 0n];
      if (signal !== 0n) completeSignal(lookup.memoryOf(signal), signal, startTicks, endTicks);
      moved = true;
    }
    return moved;
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
      dependencies: dependencies.map(({ address }) => address),
      completionSignal: completionSignal?.address ?? 0n,
    });
  }

  #view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return withStatus('INVALID_ARGUMENT', () => this.#lookup.memoryOf(address).view(address, sizeBytes));
  }
}
