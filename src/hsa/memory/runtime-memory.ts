/** What can be done with memory that the pools of a runtime handed out, and with memory of the host. */

import { hex } from '../../base/text.ts';
import type { DeviceMemory } from '../../device/memory.ts';
import type { Agent } from '../objects/agent.ts';
import { expectCallback, expectHandle } from '../objects/handles.ts';
import type { Lifetime } from '../objects/lifetime.ts';
import {
  type Allocations,
  type DeallocationCallback,
  MemoryPool,
  type PoolAllocation,
} from '../objects/memory-pool.ts';
import { HsaError } from '../objects/status.ts';
import { LockedMemories, type LockedMemory } from './locked-memory.ts';
import { type PointerInfo, pointerInfo } from './pointer-info.ts';

/** What this has of its runtime. */
export interface MemoryOwner {
  /** The CPU agent first. */
  readonly agents: readonly Agent[];
  readonly allocations: Allocations;
  memoryOf(address: bigint): DeviceMemory;
  /** Whether another runtime shares the allocation at `address`. */
  isAttached(address: bigint): boolean;
  readonly lifetime: Lifetime;
  /** Throws NOT_INITIALIZED and INVALID_AGENT. */
  expectAgent(agent: Agent): void;
}

export class RuntimeMemory {
  readonly #owner: MemoryOwner;
  readonly #locked = new LockedMemories();

  /** Use `Runtime.memory`. */
  constructor(owner: MemoryOwner) {
    this.#owner = owner;
  }

  /** What an address belongs to (hsa_amd_pointer_info). Throws INVALID_ARGUMENT for address 0. */
  pointerInfo(address: bigint): PointerInfo {
    this.#owner.lifetime.expect();
    if (address === 0n) throw new HsaError('INVALID_ARGUMENT', 'address 0');
    const { agents, allocations, isAttached } = this.#owner;
    return pointerInfo(agents, allocations, this.#locked, isAttached, address);
  }

  /**
   * What `pointerInfo` says of the allocation besides. Throws INVALID_ALLOCATION for what does not start a
   * pool's allocation.
   */
  setPointerUserData(address: bigint, userData: unknown): void {
    this.#allocation(address).userData = userData;
  }

  /**
   * From now on these agents, and the one that the pool belongs to, use the allocation, and no others
   * (hsa_amd_agents_allow_access). Kernels of others fault there if the runtime enforces access
   * (`RuntimeOptions.enforcesAccess`). Throws INVALID_ARGUMENT for no agents and agents that do not reach the
   * pool, INVALID_ALLOCATION.
   */
  allowAccess(agents: readonly Agent[], address: bigint): void {
    this.#owner.lifetime.expect();
    for (const agent of agents) this.#owner.expectAgent(agent);
    if (agents.length === 0) throw new HsaError('INVALID_ARGUMENT', 'access for no agent');
    const allocation = this.#allocation(address);
    const { pool } = allocation;
    for (const agent of agents) {
      if (agent.reaches(pool)) continue;
      throw new HsaError('INVALID_ARGUMENT', `agent ${agent.name} does not reach the ${pool.kind} pool`);
    }
    const owners = this.#owner.agents.filter(({ pools }) => pools.includes(pool));
    this.#owner.allocations.allow(pool.memory!, allocation, [...agents, ...owners]);
  }

  /** Whether `migrate` could move memory between the pools (hsa_amd_memory_pool_can_migrate). */
  canMigrate(source: MemoryPool, destination: MemoryPool): boolean {
    for (const pool of [source, destination]) this.#expectPool(pool);
    return source.memory !== undefined && source.memory === destination.memory;
  }

  /**
   * Makes an allocation one of another pool; its address stays. Throws INVALID_MEMORY_POOL where `canMigrate`
   * says no.
   */
  migrate(address: bigint, destination: MemoryPool): void {
    this.#owner.lifetime.expect();
    const allocation = this.#allocation(address);
    if (!this.canMigrate(allocation.pool, destination)) {
      throw new HsaError('INVALID_MEMORY_POOL', `memory of the ${allocation.pool.kind} pool cannot move there`);
    }
    allocation.pool = destination;
    this.#owner.allocations.allow(destination.memory!, allocation, undefined);
  }

  /**
   * Gives a buffer to an agent (hsa_memory_assign_agent): memory is coherent here, so that only the arguments
   * are checked.
   */
  assignAgent(address: bigint, agent: Agent, access: 'ro' | 'wo' | 'rw'): void {
    this.#owner.expectAgent(agent);
    if (!['ro', 'wo', 'rw'].includes(access)) throw new HsaError('INVALID_ARGUMENT', `access '${access}'`);
    this.#allocation(address);
  }

  /**
   * hsa_memory_register: agents with the base profile have no use for it, so that only the arguments are
   * checked. Throws INVALID_ARGUMENT for address 0 and for no bytes.
   */
  register(address: bigint, sizeBytes: number): void {
    this.#owner.lifetime.expect();
    if (address > 0n && Number.isSafeInteger(sizeBytes) && sizeBytes > 0) return;
    throw new HsaError('INVALID_ARGUMENT', `registering ${sizeBytes} bytes at ${hex(address)}`);
  }

  /** hsa_memory_deregister: undoes what `register` did, which is nothing. */
  deregister(_address: bigint, _sizeBytes: number): void {
    this.#owner.lifetime.expect();
  }

  /**
   * Lets agents use bytes of the host (hsa_amd_memory_lock, _lock_to_pool); by default all GPU agents that
   * share the first one's memory. Both sides see each other's writes when the runtime makes progress. Throws
   * INVALID_ARGUMENT for no bytes or no agents, INVALID_AGENT.
   */
  lock(hostBytes: Uint8Array, agents?: readonly Agent[], pool?: MemoryPool): LockedMemory {
    this.#owner.lifetime.expect();
    for (const agent of agents ?? []) this.#owner.expectAgent(agent);
    if (agents?.length === 0) throw new HsaError('INVALID_ARGUMENT', 'locking for no agent');
    if (pool !== undefined) this.#expectPool(pool);
    expectHandle(hostBytes, Uint8Array, 'INVALID_ARGUMENT');
    const isGpu = ({ device }: Agent): boolean => device !== undefined;
    const near = agents?.find(isGpu) ?? this.#owner.agents.find(isGpu)!;
    const target = pool ?? this.#owner.agents[0]!.pool('fine-grained', near);
    const users = agents ?? this.#owner.agents.filter((agent) => isGpu(agent) && agent.reaches(target));
    return this.#locked.lock(hostBytes, target, users);
  }

  /** Ends what `lock` began. Throws INVALID_ARGUMENT for bytes that are not locked. */
  unlock(hostBytes: Uint8Array): void {
    this.#owner.lifetime.expect();
    expectHandle(hostBytes, Uint8Array, 'INVALID_ARGUMENT');
    this.#locked.unlock(hostBytes);
  }

  /**
   * Calls `callback` once, before the allocation that contains `address` is freed
   * (hsa_amd_register_deallocation_callback). Returns what removes it again, and then whether it was still
   * there. Throws INVALID_ALLOCATION, INVALID_ARGUMENT.
   */
  onDeallocate(address: bigint, callback: DeallocationCallback): () => boolean {
    this.#owner.lifetime.expect();
    expectCallback(callback);
    const allocation = this.#owner.allocations.find(this.#owner.memoryOf(address), address);
    if (allocation === undefined) {
      throw new HsaError('INVALID_ALLOCATION', `${hex(address)} is in no pool's memory`, {}, 'USAGE');
    }
    const call = (): void => callback(address);
    allocation.callbacks.add(call);
    return () => allocation.callbacks.delete(call);
  }

  #allocation(address: bigint): PoolAllocation {
    this.#owner.lifetime.expect();
    return this.#owner.allocations.at(this.#owner.memoryOf(address), address);
  }

  /** Throws INVALID_MEMORY_POOL for a pool of another runtime. */
  #expectPool(pool: MemoryPool): void {
    this.#owner.lifetime.expect();
    expectHandle(pool, MemoryPool, 'INVALID_MEMORY_POOL');
    if (pool.allocations === this.#owner.allocations) return;
    throw new HsaError('INVALID_MEMORY_POOL', `the ${pool.kind} pool belongs to another runtime`);
  }

  /** Lets host and devices see what the other wrote to locked memory. */
  synchronize(): void {
    this.#locked.synchronize();
  }
}
