/**
 * Memory pools (hsa_amd_memory_pool_t), which are the regions of the core specification too, and what they
 * handed out. Every address is valid on the host and on the device.
 */

import { hex } from '../../base/text.ts';
import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/memory.ts';
import type { Lifetime } from './lifetime.ts';
import { SharedRegions } from './shared-regions.ts';
import { HsaError, withStatus } from './status.ts';

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
  /** The memory that the pool hands out; none for the group pool, of which the host gets nothing. */
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
   * Zero-filled bytes. Throws INVALID_ARGUMENT for a size of 0, an alignment or flags that cannot be,
   * INVALID_ALLOCATION for the group pool and for more than the pool has, OUT_OF_RESOURCES when memory is
   * exhausted, NOT_INITIALIZED when the runtime was shut down.
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
   * Frees what `allocate` of any pool of the runtime returned; 0 is ignored. Throws INVALID_ALLOCATION for
   * anything else. `isByHost`: a fault may name the line of the host's program; not so for memory that the
   * GPU's program gives back.
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

/** Frees that a fault can explain; each keeps a stack trace. */
const MAX_REMEMBERED = 4096;
const OWN_FRAME = /\/hsa\/(?:objects\/memory-pool|memory\/(?:runtime-memory|locked-memory))\.[jt]s/;

export type DeallocationCallback = (address: bigint) => void;

/** Who may be given access to memory: an agent, as far as it matters here. */
export interface MemoryUser {
  readonly device: { readonly memory: DeviceMemory } | undefined;
}

export interface PoolAllocation {
  readonly address: bigint;
  readonly sizeBytes: number;
  pool: MemoryPool;
  /** hsa_amd_pointer_info_set_userdata. */
  userData: unknown;
  /** Agents that access was granted to; undefined: all that reach the memory. */
  agents: readonly MemoryUser[] | undefined;
  readonly callbacks: Set<DeallocationCallback>;
}

/**
 * What the pools of a runtime handed out, and what users said of it: access, user data, callbacks
 * (hsa_amd_pointer_info and its kin).
 */
export class Allocations {
  readonly lifetime: Lifetime;
  /**
   * Whether agents have system memory only when they were given access; its devices can take access away,
   * then.
   */
  readonly enforcesAccess: boolean;
  /** Stacks of the host from when it freed memory, by address, the oldest first. */
  readonly #freed = new Map<bigint, Error>();
  readonly #live = new Map<DeviceMemory, Map<bigint, PoolAllocation>>();

  constructor(lifetime: Lifetime, enforcesAccess: boolean) {
    this.lifetime = lifetime;
    this.enforcesAccess = enforcesAccess;
  }

  /**
   * Throws OUT_OF_RESOURCES when memory is exhausted, INVALID_ARGUMENT for an alignment that is no power of
   * two.
   */
  allocate(pool: MemoryPool, memory: DeviceMemory, sizeBytes: number, options: AllocateOptions): bigint {
    const address = withStatus('INVALID_ARGUMENT', () => memory.allocate(sizeBytes, options));
    const ofMemory = this.#live.get(memory) ?? new Map<bigint, PoolAllocation>();
    this.#live.set(memory, ofMemory);
    const record = { address, sizeBytes, pool, userData: undefined, agents: undefined, callbacks: new Set<never>() };
    ofMemory.set(address, record);
    if (this.enforcesAccess) this.allow(memory, record, undefined);
    return address;
  }

  /**
   * Who may use an allocation from now on, besides the agent that its pool belongs to; undefined: who may by
   * default.
   */
  allow(memory: DeviceMemory, record: PoolAllocation, agents: readonly MemoryUser[] | undefined): void {
    const isOwn = record.pool.location === 'gpu';
    record.agents = agents ?? (this.enforcesAccess && !isOwn ? [] : undefined);
    if (!this.enforcesAccess) return;
    const isAllowed = isOwn || record.agents?.some(({ device }) => device?.memory === memory) === true;
    memory.setAccess?.(record.address, isAllowed);
  }

  /** Calls the deallocation callbacks, then frees. Throws INVALID_ALLOCATION for what no pool handed out. */
  free(memory: DeviceMemory, address: bigint, isByHost = true): void {
    const { callbacks } = this.at(memory, address);
    for (const callback of callbacks) callback(address);
    this.#live.get(memory)!.delete(address);
    SharedRegions.of(memory).release(address);
    this.#freed.delete(address);
    if (!isByHost) return;
    // Formatted when a fault asks.
    this.#freed.set(address, new Error('freed'));
    if (this.#freed.size > MAX_REMEMBERED) this.#freed.delete(this.#freed.keys().next().value!);
  }

  /** The line of the host's stack that freed an allocation, undefined when that was long ago or no pool's. */
  freedBy({ address }: Allocation): string | undefined {
    const frames = this.#freed.get(address)?.stack?.split('\n').slice(1) ?? [];
    const frame = frames.find((line) => !OWN_FRAME.test(line));
    return frame?.trim().replace(/^at /, '');
  }

  /** The allocation that starts at `address`. Throws INVALID_ALLOCATION. */
  at(memory: DeviceMemory, address: bigint): PoolAllocation {
    const found = this.#live.get(memory)?.get(address);
    if (found !== undefined) return found;
    throw new HsaError('INVALID_ALLOCATION', `no pool allocation starts at ${hex(address)}`, {}, 'USAGE');
  }

  /** The allocation that contains `address`. */
  find(memory: DeviceMemory, address: bigint): PoolAllocation | undefined {
    const region = memory.find(address);
    return region && this.#live.get(memory)?.get(region.address);
  }

  /** Bytes that the pools of a memory handed out. */
  usedBytes(memory: DeviceMemory): number {
    let bytes = 0;
    for (const { sizeBytes } of this.#live.get(memory)?.values() ?? []) bytes += sizeBytes;
    return bytes;
  }

  /** Frees everything at the end of the runtime; deallocation callbacks are not called. */
  freeAll(): void {
    for (const [memory, ofMemory] of this.#live)
      for (const address of ofMemory.keys()) SharedRegions.of(memory).release(address);
    this.#live.clear();
  }
}
