/** How a device's fault reaches HSA's users: a status for the queue, and for memory faults a system event. */
import type { SourceLine } from '../../codeobject/line-table.ts';
import type { Fault } from '../../device/fault.ts';
import { faultText } from '../../launch/fault-text.ts';
import type { Agent } from '../objects/agent.ts';
import type { ResidentCode } from '../objects/resident-code.ts';
import { HsaError, type HsaStatus } from '../objects/status.ts';

const STATUS: Record<Fault['kind'], HsaStatus> = {
  memory: 'MEMORY_FAULT',
  aperture: 'MEMORY_APERTURE_VIOLATION',
  lds: 'MEMORY_APERTURE_VIOLATION',
  'illegal-instruction': 'ILLEGAL_INSTRUCTION',
  unsupported: 'NOT_SUPPORTED',
  exception: 'EXCEPTION',
};

/** The line that the instruction at `pc` comes from, where its code object has line tables. */
export function sourceAt(agent: Agent, pc: bigint): SourceLine | undefined {
  const isAt = ({ address, sizeBytes }: ResidentCode): boolean => pc >= address && pc < address + BigInt(sizeBytes);
  return [...agent.codeObjects].find(isAt)?.sourceLine(pc);
}

/** The fault with what the runtime knows besides: the source line, and who freed the memory. */
export function explainFault(fault: Fault, agent: Agent): Fault {
  const source = sourceAt(agent, fault.pc);
  const { freedAllocation: freed } = fault;
  const freedBy = freed && agent.pools[0]?.allocations.freedBy(freed);
  return { ...fault, ...(source && { source }), ...(freedBy !== undefined && { freedBy }) };
}

export function faultError(
  fault: Fault,
  { node, name }: Agent,
  place: { readonly kernel?: string | undefined; readonly privateSizeBytes?: number | undefined },
): HsaError {
  const lacksAccess = isInside(fault) && fault.nearestAllocation?.access === 'none';
  const agentNote = lacksAccess ? ', which has no access' : '';
  const { message, ...context } = faultText(fault, { ...place, agent: `${node} (${name})`, agentNote });
  return new HsaError(STATUS[fault.kind], message, context);
}

/** Reason mask of `hsa_amd_gpu_memory_fault_info_t`. */
export const FAULT_REASON = { pageNotPresent: 1, readOnly: 2, noExecute: 4 } as const;

/**
 * An access inside a live allocation was refused for what it was; any other because nothing is mapped there
 * for the agent.
 */
export function faultReason(fault: Fault): number {
  if (fault.access === 'execute') return FAULT_REASON.noExecute;
  const isReadOnly = isInside(fault) && fault.access !== 'read' && fault.nearestAllocation?.access !== 'none';
  return isReadOnly ? FAULT_REASON.readOnly : FAULT_REASON.pageNotPresent;
}

/** Whether the address is in a live allocation. */
function isInside({ address, nearestAllocation: near }: Fault): boolean {
  if (address === undefined || near === undefined) return false;
  return address >= near.address && address < near.address + BigInt(near.sizeBytes);
}
