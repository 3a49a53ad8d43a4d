/** How a device's fault reaches HSA's users: a status for the queue, and for memory faults a system event. */
import type { ErrorReport } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { SourceLine } from '../../codeobject/line-table.ts';
import type { Fault } from '../../device/fault.ts';
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

/** The kernel is named where the place of the fault, in a function that it called, does not name it. */
export function faultError(
  fault: Fault,
  { node, name }: Agent,
  {
    kernel,
    privateSizeBytes,
  }: { readonly kernel?: string | undefined; readonly privateSizeBytes?: number | undefined },
): HsaError {
  const isNamed = kernel === undefined || fault.location.startsWith(`${kernel}+`);
  const { source, freedBy } = fault;
  const lacksAccess = isInside(fault) && fault.nearestAllocation?.access === 'none';
  const parts = [
    fault.message,
    ...(isNamed ? [] : [`kernel ${kernel}`]),
    ...(source ? [`at ${source.file}:${source.line}:${source.column}`] : []),
    ...(freedBy === undefined ? [] : [`freed by ${freedBy}`]),
    `agent ${node} (${name})${lacksAccess ? ', which has no access' : ''}`,
  ];
  const isStack = fault.kind === 'aperture' || fault.nearestAllocation?.label === 'scratch';
  const hint =
    isStack && privateSizeBytes !== undefined
      ? `a work-item had ${privateSizeBytes} bytes of private memory, its stack included: --stack-size=BYTES (stackSizeBytes) gives it more`
      : undefined;
  const report = reportOf(fault, node, name, kernel);
  return new HsaError(STATUS[fault.kind], parts.join('; '), { report, ...(hint !== undefined && { hint }) });
}

function reportOf(fault: Fault, node: number, name: string, kernel: string | undefined): ErrorReport {
  const { what, near, source, freedBy, lane } = fault;
  const place = `workgroup (${fault.workgroup.join(', ')}), wave ${fault.wave}`;
  return {
    headline: what?.replace(/,$/, '') ?? fault.message,
    fields: {
      ...(fault.instruction !== '' && { instruction: `'${fault.instruction}'` }),
      at: `pc ${hex(fault.pc)}${fault.location && ` in ${fault.location}`}`,
      ...(source && { source: `${source.file}:${source.line}:${source.column}` }),
      ...(kernel !== undefined && !fault.location.startsWith(`${kernel}+`) && { kernel }),
      'work-item': lane === undefined ? place : `${place}, lane ${lane}`,
      ...(near !== undefined && { memory: near }),
      ...(freedBy !== undefined && { 'freed by': freedBy }),
      agent: `${node} (${name})`,
    },
    ...(source && { source }),
  };
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
