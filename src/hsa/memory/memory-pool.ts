/**
 * Memory pools (hsa_amd_memory_pool_t), which are the regions of the core specification too. Every address is
 * valid on the host and on the device.
 */

import type { DeviceMemory } from '../../device/device.ts';
import { HsaError } from '../objects/status.ts';
import type { Allocations } from './allocations.ts';

export type PoolKind = 'fine-grained' | 'kernarg' | 'coarse-grained' | 'group';

/** hsa_amd_memory_pool_global_flag_t; a kernarg pool is fine-grained too. */
export const POOL_FLAGS: Record<PoolKind, number> = {
  'fine-grained': 2,
  kernarg: 3,
  'coarse-grained': 4,
  group: 0,
};

/** hsa_amd_memory_pool_flag_t: behind a PCIe atomic, contiguous, executable. Our memory is all of it. */
export const ALLOCATE_FLAGS = { pcie: 1, contiguous: 2, executable: 4 } as const;
const ALL_FLAGS = 7;

export interface PoolAllocateOptions {
  /** Power of two; at least 4,096 is used. */
  alignmentBytes?: number;
  /** Who asks, for fault reports. */
  label?: string;
  /** `ALLOCATE_FLAGS`. */
  flags?: number;
}

export class MemoryPool {
  readonly kind: PoolKind;
  readonly flags: number;
  readonly sizeBytes: number;
  readonly granuleBytes = 4096;
  /** Whose memory it is: system memory belongs to the CPU agent. */
  readonly location: 'cpu' | 'gpu';
  /** What the pool's addresses belong to; none for a pool that gives no memory to the host. */
  readonly memory: DeviceMemory | undefined;
  readonly allocations: Allocations;

  constructor(
    allocations: Allocations,
    location: 'cpu' | 'gpu',
    kind: PoolKind,
    sizeBytes: number,
    memory?: DeviceMemory,
  ) {
    this.kind = kind;
    this.flags = POOL_FLAGS[kind];
    this.sizeBytes = sizeBytes;
    this.location = location;
    this.memory = memory;
    this.allocations = allocations;
  }

  /**
   * Zero-filled bytes. Throws INVALID_ARGUMENT for a size of 0, an alignment or flags that cannot be, INVALID_ALLOCATION for the group pool and for more
   * than the pool has, OUT_OF_RESOURCES when memory is exhausted, NOT_INITIALIZED when the runtime was shut down.
   */
  allocate(sizeBytes: number, { flags = 0, ...options }: PoolAllocateOptions = {}): bigint {
    this.allocations.lifetime.expect();
    const memory = this.#owned();
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1) {
      throw new HsaError('INVALID_ARGUMENT', `an allocation of ${sizeBytes} bytes, expected at least 1`);
    }
    if ((flags & ~ALL_FLAGS) !== 0 || !Number.isInteger(flags)) {
      throw new HsaError('INVALID_ARGUMENT', `allocation flags ${flags}, expected a sum of 1, 2 and 4`);
    }
    const { alignmentBytes = this.granuleBytes } = options;
    if (!Number.isInteger(Math.log2(alignmentBytes))) {
      throw new HsaError('INVALID_ARGUMENT', `an alignment of ${alignmentBytes} bytes, expected a power of two`);
    }
    if (sizeBytes > this.sizeBytes) {
      throw new HsaError(
        'INVALID_ALLOCATION',
        `an allocation of ${sizeBytes} bytes, the ${this.kind} pool has ${this.sizeBytes}`,
      );
    }
    return this.allocations.allocate(this, memory, sizeBytes, { label: `${this.kind} pool`, ...options });
  }

  /**
   * Frees what `allocate` of any pool of the runtime returned; 0 is ignored. Throws INVALID_ALLOCATION for anything else. `isByHost`:
   * a fault may name the line of the host's program; not so for memory that the GPU's program gives back.
   */
  free(address: bigint, { isByHost = true }: { readonly isByHost?: boolean } = {}): void {
    this.allocations.lifetime.expect();
    if (address !== 0n) this.allocations.free(this.#owned(), address, isByHost);
  }

  #owned(): DeviceMemory {
    if (this.memory !== undefined) return this.memory;
    throw new HsaError('INVALID_ALLOCATION', `the ${this.kind} pool gives no memory to the host`, {}, 'USAGE');
  }
}
