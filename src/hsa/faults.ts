/** How a device's fault reaches HSA's users: a status for the queue, and for memory faults a system event. */
import type { Fault } from './device.ts';
import { HsaError, type HsaStatus } from './status.ts';

const STATUS: Record<Fault['kind'], HsaStatus> = {
  memory: 'MEMORY_FAULT',
  aperture: 'MEMORY_APERTURE_VIOLATION',
  lds: 'MEMORY_APERTURE_VIOLATION',
  'illegal-instruction': 'ILLEGAL_INSTRUCTION',
  unsupported: 'NOT_SUPPORTED',
  exception: 'EXCEPTION',
};

/** The kernel is named where the place of the fault, in a function that it called, does not name it. */
export function faultError(fault: Fault, kernel?: string): HsaError {
  const isNamed = kernel === undefined || fault.location.startsWith(`${kernel}+`);
  return new HsaError(STATUS[fault.kind], isNamed ? fault.message : `${fault.message}; kernel ${kernel}`);
}

/** Reason mask of `hsa_amd_gpu_memory_fault_info_t`. */
export const FAULT_REASON = { pageNotPresent: 1, readOnly: 2, noExecute: 4 } as const;

/** An access inside a live allocation was refused for what it was; any other because nothing is mapped there. */
export function faultReason(fault: Fault): number {
  if (fault.access === 'execute') return FAULT_REASON.noExecute;
  const { address, nearestAllocation: near } = fault;
  const mapped =
    address !== undefined &&
    near !== undefined &&
    address >= near.address &&
    address < near.address + BigInt(near.sizeBytes);
  return mapped && fault.access !== 'read' ? FAULT_REASON.readOnly : FAULT_REASON.pageNotPresent;
}
