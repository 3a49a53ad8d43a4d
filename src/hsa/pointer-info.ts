/** What an address belongs to (hsa_amd_pointer_info; spec/hsa.md section 2.1). */
import type { Agent } from './agent.ts';

export interface PointerInfo {
  /** `unknown`: no memory of a device; everything else is absent then. */
  readonly type: 'unknown' | 'hsa';
  /** Start of the allocation, the same for host and agents. */
  readonly base?: bigint;
  readonly sizeBytes?: number;
  /** Who asked for the memory: "kernarg pool", "code object a.co". */
  readonly label?: string;
  /** GPU agents that reach the address. */
  readonly agents?: readonly Agent[];
}

export function pointerInfo(gpuAgents: readonly Agent[], address: bigint): PointerInfo {
  const agents = gpuAgents.filter((agent) => agent.requireDevice().memory.find(address) !== undefined);
  const allocation = agents[0]?.requireDevice().memory.find(address);
  if (allocation === undefined) return { type: 'unknown' };
  return { type: 'hsa', base: allocation.address, sizeBytes: allocation.sizeBytes, label: allocation.label, agents };
}
