/** What an address belongs to (hsa_amd_pointer_info). */
import type { Agent } from '../objects/agent.ts';
import type { Allocations } from '../objects/memory-pool.ts';
import type { LockedMemories } from './locked-memory.ts';

export interface PointerInfo {
  /**
   * `unknown`: no memory of a device; everything else is absent then. `locked`: what the device sees of
   * locked host memory. `ipc`: what another runtime shares.
   */
  readonly type: 'unknown' | 'hsa' | 'locked' | 'ipc';
  /** Start of the allocation, the same for host and agents unless it is locked. */
  readonly base?: bigint;
  readonly sizeBytes?: number;
  /** Who asked for the memory: "kernarg pool", "code object a.co". */
  readonly label?: string;
  /** GPU agents that may use the address. */
  readonly agents?: readonly Agent[];
  /** Whose pool it came from; absent for memory of the runtime's own. */
  readonly owner?: Agent;
  /** Flags of the pool. */
  readonly globalFlags?: number;
  readonly userData?: unknown;
  /** The bytes that were locked. */
  readonly hostBytes?: Uint8Array;
}

/** `agents`: the CPU agent first. */
export function pointerInfo(
  agents: readonly Agent[],
  allocations: Allocations,
  locked: LockedMemories,
  isAttached: (base: bigint) => boolean,
  address: bigint,
): PointerInfo {
  const reaching = agents.filter(({ device }) => device?.memory.find(address) !== undefined);
  const [first] = reaching;
  const memory = first?.device?.memory;
  const region = memory?.find(address);
  if (memory === undefined || region === undefined) return { type: 'unknown' };
  const { address: base, sizeBytes, label } = region;
  const record = allocations.find(memory, address);
  const host = locked.hostBytesAt(base);
  const allowed = record?.agents;
  return {
    type: host !== undefined ? 'locked' : record === undefined && isAttached(base) ? 'ipc' : 'hsa',
    ...{ base, sizeBytes, label },
    agents: allowed === undefined ? reaching : reaching.filter((agent) => allowed.includes(agent)),
    ...(record && {
      owner: agents.find(({ pools }) => pools.includes(record.pool))!,
      globalFlags: record.pool.flags,
      ...(record.userData !== undefined && { userData: record.userData }),
    }),
    ...(host && { hostBytes: host }),
  };
}
