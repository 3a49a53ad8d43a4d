/** What the pools of a runtime handed out, and what users said of it: access, user data, callbacks (hsa_amd_pointer_info and its kin). */

import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/device.ts';
import type { Agent } from '../objects/agent.ts';
import type { Lifetime } from '../objects/lifetime.ts';
import { HsaError, withStatus } from '../objects/status.ts';
import type { MemoryPool } from './memory-pool.ts';
import { SharedRegions } from './shared-regions.ts';

/** Frees that a fault can explain; each keeps a stack trace. */
const MAX_REMEMBERED = 4096;
const OWN_FRAME = /\/hsa\/memory\/(?:allocations|memory-pool|runtime-memory|locked-memory)\.[jt]s/;

export type DeallocationCallback = (address: bigint) => void;

export interface PoolAllocation {
  readonly address: bigint;
  readonly sizeBytes: number;
  pool: MemoryPool;
  /** hsa_amd_pointer_info_set_userdata. */
  userData: unknown;
  /** Agents that access was granted to; undefined: all that reach the memory. */
  agents: readonly Agent[] | undefined;
  readonly callbacks: Set<DeallocationCallback>;
}

export class Allocations {
  readonly lifetime: Lifetime;
  /** Whether agents have system memory only when they were given access; its devices can take access away, then. */
  readonly enforcesAccess: boolean;
  /** Where the host was when it freed memory, the longest ago first. */
  readonly #freed = new Map<bigint, Error>();
  readonly #live = new Map<DeviceMemory, Map<bigint, PoolAllocation>>();

  constructor(lifetime: Lifetime, enforcesAccess: boolean) {
    this.lifetime = lifetime;
    this.enforcesAccess = enforcesAccess;
  }

  /** Throws OUT_OF_RESOURCES when memory is exhausted, INVALID_ARGUMENT for an alignment that is no power of two. */
  allocate(pool: MemoryPool, memory: DeviceMemory, sizeBytes: number, options: AllocateOptions): bigint {
    const address = withStatus('INVALID_ARGUMENT', () => memory.allocate(sizeBytes, options));
    const ofMemory = this.#live.get(memory) ?? new Map<bigint, PoolAllocation>();
    this.#live.set(memory, ofMemory);
    const record = { address, sizeBytes, pool, userData: undefined, agents: undefined, callbacks: new Set<never>() };
    ofMemory.set(address, record);
    if (this.enforcesAccess) this.allow(memory, record, undefined);
    return address;
  }

  /** Who may use an allocation from now on, besides the agent that its pool belongs to; undefined: who may by default. */
  allow(memory: DeviceMemory, record: PoolAllocation, agents: readonly Agent[] | undefined): void {
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
    throw new HsaError('INVALID_ALLOCATION', `no pool allocation starts at 0x${address.toString(16)}`, {}, 'USAGE');
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

  /** For the end of the runtime: no callbacks. */
  freeAll(): void {
    for (const [memory, ofMemory] of this.#live)
      for (const address of ofMemory.keys()) SharedRegions.of(memory).release(address);
    this.#live.clear();
  }
}
