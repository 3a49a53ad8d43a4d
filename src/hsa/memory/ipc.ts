/**
 * Sharing by handle (hsa_amd_ipc_memory_create, hsa_amd_ipc_signal_create and their kin) between the runtimes
 * of a thread that have a device in common. No other process and no worker has the device itself: a handle
 * that comes from there is refused like any that nobody made.
 */

import { alignUp } from '../../base/align.ts';
import { hex } from '../../base/text.ts';
import type { DeviceMemory } from '../../device/memory.ts';
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { SIGNAL } from '../objects/layouts.ts';
import type { Allocations } from '../objects/memory-pool.ts';
import { type SharedRegion, SharedRegions } from '../objects/shared-regions.ts';
import { HsaError, withStatus } from '../objects/status.ts';
import { expectSignals, initializeSignal, type Progress, Signal } from '../signals/signal.ts';

/** What sharing has of its runtime. */
export interface IpcOwner {
  readonly runtime: Progress;
  readonly memories: readonly DeviceMemory[];
  readonly allocations: Allocations;
  memoryOf(address: bigint): DeviceMemory;
  /** Where a signal for these consumers is. Throws as `Runtime.createSignal`. */
  signalMemory(consumers: readonly Agent[]): DeviceMemory;
  /** Throws NOT_INITIALIZED and INVALID_AGENT. */
  expectAgent(agent: Agent): void;
}

interface Found {
  readonly memory: DeviceMemory;
  readonly region: SharedRegion;
}

interface Attachment extends Found {
  count: number;
}

const PAGE_BYTES = 4096;

/** HIP asks for whole pages. */
const isSizeOf = ({ sizeBytes }: { readonly sizeBytes: number }, wanted: number): boolean =>
  wanted === sizeBytes || wanted === alignUp(sizeBytes, PAGE_BYTES);

export class IpcSharing {
  readonly #owner: IpcOwner;
  readonly #attached = new Map<bigint, Attachment>();
  readonly #signals = new Map<Signal, Found>();

  /** Use `Runtime.ipc`. */
  constructor(owner: IpcOwner) {
    this.#owner = owner;
  }

  /**
   * A handle of 32 bytes for a whole allocation of a pool, good until its last user lets it go
   * (hsa_amd_ipc_memory_create). Throws INVALID_ARGUMENT for an address that does not start one, or another
   * size.
   */
  createMemoryHandle(address: bigint, sizeBytes: number): Uint8Array {
    const { allocations, memoryOf } = this.#owner;
    this.#owner.runtime.lifetime.expect();
    const memory = memoryOf(address);
    const allocation = allocations.find(memory, address);
    if (allocation?.address !== address || !isSizeOf(allocation, sizeBytes)) {
      const what = `${sizeBytes} bytes at ${hex(address)} are no whole allocation of a pool`;
      throw new HsaError('INVALID_ARGUMENT', what);
    }
    return SharedRegions.of(memory).share('memory', address, allocation.sizeBytes).handle.slice();
  }

  /**
   * Returns the address of the memory behind a handle, the same in every runtime (hsa_amd_ipc_memory_attach).
   * Throws INVALID_ARGUMENT for a handle that is not good here, another size, and agents that do not reach
   * the memory; INVALID_AGENT.
   */
  attachMemory(handle: Uint8Array, sizeBytes: number, agents: readonly Agent[] = []): bigint {
    for (const agent of agents) this.#owner.expectAgent(agent);
    const { memory, region } = this.#find('memory', handle);
    if (!isSizeOf(region, sizeBytes)) {
      throw new HsaError('INVALID_ARGUMENT', `the handle is for ${region.sizeBytes} bytes, not for ${sizeBytes}`);
    }
    for (const { device, name } of agents) {
      if (device === undefined || device.memory === memory) continue;
      throw new HsaError('INVALID_ARGUMENT', `agent ${name} does not reach the shared memory`);
    }
    SharedRegions.of(memory).use(region);
    const attachment = this.#attached.get(region.address) ?? { memory, region, count: 0 };
    attachment.count++;
    this.#attached.set(region.address, attachment);
    if (agents.length === 0 || agents.some(({ device }) => device !== undefined))
      memory.setAccess?.(region.address, true);
    return region.address;
  }

  /**
   * Undoes one `attachMemory` (hsa_amd_ipc_memory_detach). Throws INVALID_ARGUMENT for what is not attached.
   */
  detachMemory(address: bigint): void {
    this.#owner.runtime.lifetime.expect();
    const attachment = this.#attached.get(address);
    if (attachment === undefined) {
      throw new HsaError('INVALID_ARGUMENT', `no memory is attached at ${hex(address)}`);
    }
    attachment.count--;
    if (attachment.count === 0) this.#attached.delete(address);
    SharedRegions.of(attachment.memory).release(address);
  }

  /** Whether the allocation at `address` was attached here. */
  isAttached(address: bigint): boolean {
    return this.#attached.has(address);
  }

  /** As `Runtime.createSignal`, of a signal that can be shared (HSA_AMD_SIGNAL_IPC). */
  createSignal(initial: bigint, ...consumers: readonly Agent[]): Signal {
    const memory = this.#owner.signalMemory(consumers);
    const address = withStatus('OUT_OF_RESOURCES', () => memory.allocate(SIGNAL.sizeBytes, { label: 'shared signal' }));
    initializeSignal(memory, address, initial);
    return this.#signal(
      { memory, region: SharedRegions.of(memory).share('signal', address, SIGNAL.sizeBytes) },
      consumers,
    );
  }

  /**
   * A handle of 32 bytes (hsa_amd_ipc_signal_create). Throws INVALID_ARGUMENT for a signal that was not made
   * to be shared, INVALID_SIGNAL.
   */
  createSignalHandle(signal: Signal): Uint8Array {
    expectSignals(this.#owner.runtime, [signal]);
    const found = this.#signals.get(signal);
    if (found !== undefined) return found.region.handle.slice();
    throw new HsaError('INVALID_ARGUMENT', 'the signal was not created to be shared');
  }

  /**
   * Another object for the same signal, which lives until all of them are disposed
   * (hsa_amd_ipc_signal_attach). Throws INVALID_ARGUMENT.
   */
  attachSignal(handle: Uint8Array): Signal {
    const found = this.#find('signal', handle);
    SharedRegions.of(found.memory).use(found.region);
    return this.#signal(found, []);
  }

  #signal(found: Found, consumers: readonly Agent[]): Signal {
    const { memory, region } = found;
    const signal: Signal = new Signal(
      memory,
      region.address,
      this.#owner.runtime,
      () => this.#forget(signal),
      consumers,
    );
    this.#signals.set(signal, found);
    return signal;
  }

  #forget(signal: Signal): void {
    const { memory, region } = this.#signals.get(signal)!;
    this.#signals.delete(signal);
    SharedRegions.of(memory).release(region.address);
  }

  #find(kind: SharedRegion['kind'], handle: Uint8Array): Found {
    this.#owner.runtime.lifetime.expect();
    expectHandle(handle, Uint8Array, 'INVALID_ARGUMENT');
    for (const memory of this.#owner.memories) {
      const region = SharedRegions.of(memory).find(handle);
      if (region?.kind === kind) return { memory, region };
    }
    throw new HsaError('INVALID_ARGUMENT', `the handle is for no ${kind} that a runtime with these devices shares`);
  }

  /** Lets everything go at the end of the runtime. */
  releaseAll(): void {
    for (const { memory, region, count } of this.#attached.values()) {
      for (let i = 0; i < count; i++) SharedRegions.of(memory).release(region.address);
    }
    this.#attached.clear();
    for (const signal of [...this.#signals.keys()]) this.#forget(signal);
  }
}
