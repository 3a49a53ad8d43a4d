/** Memory pools (hsa_amd_memory_pool_t; spec/hsa.md section 1.5). Every address is valid on the host and on the device. */
import type { DeviceMemory } from './device.ts';
import { HsaError } from './status.ts';

export type PoolKind = 'fine-grained' | 'kernarg' | 'coarse-grained' | 'group';

/** hsa_amd_memory_pool_global_flag_t; a kernarg pool is fine-grained too. */
export const POOL_FLAGS: Record<PoolKind, number> = {
  'fine-grained': 2,
  kernarg: 3,
  'coarse-grained': 4,
  group: 0,
};

export interface PoolAllocateOptions {
  /** Power of two; at least 4,096 is used. */
  alignmentBytes?: number;
  /** Who asks, for fault reports. */
  label?: string;
}

export class MemoryPool {
  readonly kind: PoolKind;
  readonly flags: number;
  readonly sizeBytes: number;
  readonly granuleBytes = 4096;
  /** What the pool's addresses belong to; none for a pool that gives no memory to the host. */
  readonly memory: DeviceMemory | undefined;

  constructor(kind: PoolKind, sizeBytes: number, memory?: DeviceMemory) {
    this.kind = kind;
    this.flags = POOL_FLAGS[kind];
    this.sizeBytes = sizeBytes;
    this.memory = memory;
  }

  /** Zero-filled bytes. Throws INVALID_ALLOCATION for the group pool and LIMIT_EXCEEDED when memory is exhausted. */
  allocate(sizeBytes: number, options: PoolAllocateOptions = {}): bigint {
    return this.#owned().allocate(sizeBytes, { label: `${this.kind} pool`, ...options });
  }

  /** Frees what `allocate` returned; 0 is ignored. */
  free(address: bigint): void {
    if (address !== 0n) this.#owned().free(address);
  }

  #owned(): DeviceMemory {
    if (this.memory !== undefined) return this.memory;
    throw new HsaError('INVALID_ALLOCATION', `the ${this.kind} pool gives no memory to the host`, {}, 'USAGE');
  }
}
