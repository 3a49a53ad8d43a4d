/** Memory that a GPU program asks the host for and gives back: malloc of LLVM's C library and of HIP. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';

/**
 * Allocators of GPU programs take memory in slabs of this size and find their headers by masking pointers
 * with it.
 */
const SLAB_BYTES = 2 * 2 ** 20;
const MIN_ALIGNMENT_BYTES = 4096;

/** Where heaps take their memory from: a pool of the runtime, or the memory of a device. */
export interface HeapMemory {
  /** The address of zero-filled memory. Throws LIMIT_EXCEEDED when memory is exhausted. */
  allocate(sizeBytes: number, options?: { alignmentBytes?: number; label?: string }): bigint;
  /** `isByHost`: false for memory that the GPU's program gives back. */
  free(address: bigint, how?: { readonly isByHost?: boolean }): void;
}

/** Memory of a size that a GPU program chose; 0 for no bytes, and when there are not so many. */
export function allocateForProgram(heap: Pick<DeviceHeap, 'allocate'>, size: bigint): bigint {
  if (size === 0n || size > BigInt(Number.MAX_SAFE_INTEGER)) return 0n;
  const sizeBytes = Number(size);
  return heap.allocate(sizeBytes, sizeBytes % SLAB_BYTES === 0 ? SLAB_BYTES : MIN_ALIGNMENT_BYTES);
}

export class DeviceHeap {
  readonly #memory: HeapMemory;
  readonly #maxBytes: number;
  /** Sizes in bytes by address. */
  readonly #allocated = new Map<bigint, number>();
  #bytes = 0;

  /** `maxBytes`: of all allocations together. */
  constructor(memory: HeapMemory, maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#memory = memory;
    this.#maxBytes = maxBytes;
  }

  /** A zero-filled allocation of at least one byte; 0 when memory is exhausted. */
  allocate(sizeBytes: number, alignmentBytes: number): bigint {
    if (this.#bytes + sizeBytes > this.#maxBytes) return 0n;
    try {
      const address = this.#memory.allocate(sizeBytes, { alignmentBytes, label: 'malloc' });
      this.#allocated.set(address, sizeBytes);
      this.#bytes += sizeBytes;
      return address;
    } catch (error) {
      if (error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return 0n;
      throw error;
    }
  }

  /** Throws RPC_PROTOCOL for what `allocate` did not return. */
  free(address: bigint): void {
    const sizeBytes = this.#allocated.get(address);
    if (sizeBytes === undefined) {
      throw new WavewrightError('RPC_PROTOCOL', `free of ${hex(address)}, which malloc did not return`);
    }
    this.#allocated.delete(address);
    this.#bytes -= sizeBytes;
    this.#memory.free(address, { isByHost: false });
  }

  /** Frees what the program left allocated. */
  clear(): void {
    for (const address of this.#allocated.keys()) this.#memory.free(address);
    this.#allocated.clear();
    this.#bytes = 0;
  }
}
