/**
 * Host memory that agents can use (hsa_amd_memory_lock). The device works on a copy; both sides see each
 * other's writes when the runtime makes progress: what the specification asks of locked memory, which is
 * coarse-grained.
 */
import type { Agent } from '../objects/agent.ts';
import type { MemoryPool } from '../objects/memory-pool.ts';
import { HsaError } from '../objects/status.ts';

export interface LockedMemory {
  readonly hostBytes: Uint8Array;
  /** What kernels use. */
  readonly agentAddress: bigint;
}

interface Locked extends LockedMemory {
  readonly pool: MemoryPool;
  readonly deviceBytes: Uint8Array;
  /** What both sides held when they last agreed. */
  readonly agreed: Uint8Array;
}

export class LockedMemories {
  readonly #locked = new Map<bigint, Locked>();

  /** Throws INVALID_ARGUMENT for no bytes, OUT_OF_RESOURCES when device memory is exhausted. */
  lock(hostBytes: Uint8Array, pool: MemoryPool, agents: readonly Agent[]): LockedMemory {
    if (hostBytes.length === 0) throw new HsaError('INVALID_ARGUMENT', 'locking 0 bytes');
    const agentAddress = pool.allocate(hostBytes.length, { label: 'locked host memory' });
    const memory = pool.memory!;
    pool.allocations.allow(memory, pool.allocations.at(memory, agentAddress), agents);
    const deviceBytes = memory.view(agentAddress, hostBytes.length);
    deviceBytes.set(hostBytes);
    const locked = { hostBytes, agentAddress, pool, deviceBytes, agreed: hostBytes.slice() };
    this.#locked.set(agentAddress, locked);
    return locked;
  }

  /** Throws INVALID_ARGUMENT for bytes that are not locked. The newest lock of the same bytes is undone. */
  unlock(hostBytes: Uint8Array): void {
    const isSame = ({ hostBytes: { buffer, byteOffset } }: Locked): boolean =>
      buffer === hostBytes.buffer && byteOffset === hostBytes.byteOffset;
    const locked = [...this.#locked.values()].findLast(isSame);
    if (locked === undefined) throw new HsaError('INVALID_ARGUMENT', 'these bytes are not locked');
    merge(locked);
    this.#locked.delete(locked.agentAddress);
    locked.pool.free(locked.agentAddress);
  }

  hostBytesAt(agentAddress: bigint): Uint8Array | undefined {
    return this.#locked.get(agentAddress)?.hostBytes;
  }

  /** Lets host and device see what the other wrote. */
  synchronize(): void {
    for (const locked of this.#locked.values()) merge(locked);
  }
}

/** A byte that one side changed goes to the other; where both did, the device's stays. */
function merge({ hostBytes, deviceBytes, agreed }: Locked): void {
  for (let i = 0; i < agreed.length; i++) {
    const [host, device, before] = [hostBytes[i]!, deviceBytes[i]!, agreed[i]!];
    if (host === before && device === before) continue;
    agreed[i] = device === before ? host : device;
    hostBytes[i] = agreed[i]!;
    deviceBytes[i] = agreed[i]!;
  }
}
