/** Device memory as a worker sees it. The main thread keeps account of what is allocated; the worker asks it, seldom. */
import { WavewrightError } from '../../base/errors.ts';
import type { EmulatorMemory, LinearMemory, Region, RegionOptions } from '../memory.ts';

export type MemoryQuestion =
  | { readonly kind: 'allocate'; readonly sizeBytes: number; readonly options: RegionOptions }
  | { readonly kind: 'free'; readonly offset: number }
  | { readonly kind: 'find'; readonly offset: number };

/** Freed memory that all workers keep for their next workgroups. */
const MAX_KEPT_BYTES = 64 * 2 ** 20;
const EXHAUSTED = 'LIMIT_EXCEEDED';

/** What the main thread answers. */
export function answerMemory(memory: EmulatorMemory, question: MemoryQuestion): unknown {
  switch (question.kind) {
    case 'allocate':
      try {
        return memory.allocate(question.sizeBytes, question.options);
      } catch (error) {
        if (error instanceof WavewrightError && error.code === EXHAUSTED) return { message: error.what };
        throw error;
      }
    case 'free':
      memory.free(question.offset);
      return null;
    case 'find':
      return memory.find(question.offset) ?? null;
  }
}

interface Block {
  readonly offset: number;
  readonly sizeBytes: number;
  readonly key: string;
}

export class RemoteMemory implements LinearMemory {
  readonly memory: WebAssembly.Memory;
  readonly buffer: SharedArrayBuffer;
  readonly view: DataView;
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  readonly windowHi: number;
  readonly pages: number;
  readonly #ask: (question: MemoryQuestion) => unknown;
  readonly #used = new Map<number, Block>();
  /** Freed, the last one last. */
  readonly #kept: Block[] = [];
  readonly #maxKeptBytes: number;
  #keptBytes = 0;
  #regions: Region[] = [];

  /** `workers`: how many there are. */
  constructor(
    memory: WebAssembly.Memory,
    windowHi: number,
    workers: number,
    ask: (question: MemoryQuestion) => unknown,
  ) {
    this.#maxKeptBytes = MAX_KEPT_BYTES / workers;
    this.memory = memory;
    this.buffer = memory.buffer as SharedArrayBuffer;
    this.view = new DataView(this.buffer);
    this.bytes = new Uint8Array(this.buffer);
    this.words = new Int32Array(this.buffer);
    this.windowHi = windowHi;
    this.pages = this.buffer.byteLength / 65536;
    this.#ask = ask;
  }

  address(offset: number): bigint {
    return (BigInt(this.windowHi) << 32n) | BigInt(offset >>> 0);
  }

  offset(address: bigint): number | undefined {
    return address >> 32n === BigInt(this.windowHi) ? Number(address & 0xffffffffn) : undefined;
  }

  /** Throws LIMIT_EXCEEDED when no memory is left. */
  allocate(sizeBytes: number, options: RegionOptions = {}): number {
    const key = JSON.stringify([sizeBytes, options]);
    const index = this.#kept.findLastIndex((block) => block.key === key);
    if (index >= 0) {
      const block = this.#kept.splice(index, 1)[0]!;
      this.#keptBytes -= block.sizeBytes;
      this.#used.set(block.offset, block);
      return block.offset;
    }
    const answer = this.#ask({ kind: 'allocate', sizeBytes, options });
    if (typeof answer !== 'number') throw new WavewrightError(EXHAUSTED, (answer as { message: string }).message);
    // Only what the GPU cannot reach, and nobody expects to be zero, may stay allocated.
    if (options.permissions === 0 && options.uninitialized) {
      this.#used.set(answer, { offset: answer, sizeBytes, key });
    }
    return answer;
  }

  free(offset: number): void {
    const block = this.#used.get(offset);
    if (!block) {
      this.#ask({ kind: 'free', offset });
      return;
    }
    this.#used.delete(offset);
    this.#kept.push(block);
    this.#keptBytes += block.sizeBytes;
    while (this.#keptBytes > this.#maxKeptBytes) {
      const oldest = this.#kept.shift()!;
      this.#keptBytes -= oldest.sizeBytes;
      this.#ask({ kind: 'free', offset: oldest.offset });
    }
  }

  /** The region that contains `offset`, as it was since `forget`. */
  find(offset: number): Region | undefined {
    const known = this.#regions.find((region) => offset >= region.offset && offset < region.offset + region.sizeBytes);
    if (known) return known;
    const found = this.#ask({ kind: 'find', offset }) as Region | null;
    if (found) this.#regions.push(found);
    return found ?? undefined;
  }

  /** Regions may be others from now on. */
  forget(): void {
    this.#regions = [];
  }
}
