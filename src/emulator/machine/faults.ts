/** Faults of a wave: thrown by executors, completed with what the emulator knows about code and memory. */

import { hex } from '../../base/text.ts';
import { ACCESS_CODES, FAULT_LDS, FAULT_MISALIGNED, FAULT_PRIVATE } from './access-codes.ts';
import type { Triple } from './launch.ts';
import type { MemoryRegion } from './memory.ts';

export type EmulatorFaultKind = 'memory' | 'aperture' | 'illegal-instruction' | 'unsupported' | 'exception' | 'lds';

/** Codes of faults that are no memory access. */
export const FAULT_UNTRANSLATED = -1;
export const FAULT_TRAP = -2;
/** Jump to an address without code. */
export const FAULT_JUMP = -3;
/** MODE got bits that are not modelled. */
export const FAULT_MODE = -4;
/** All lanes of the wave wait for each other. */
export const FAULT_DEADLOCK = -5;

/** A barrier with a number or a count that it cannot have; what was asked for is in place of an address. */
export const FAULT_BARRIER = -6;

/** Unwinds an executor. `code` is an access code with FAULT_ flags, or why the instruction cannot run. */
export class WaveFault extends Error {
  readonly record: number;
  readonly code: number;
  readonly lane: number;
  readonly address: bigint;

  constructor(record: number, code: number, lane: number, address: bigint) {
    super('wave fault');
    this.record = record;
    this.code = code;
    this.lane = lane;
    this.address = address;
  }
}

/** Whether the instruction did not run to its end: it accessed what it may not. */
export const isAccessFault = ({ code }: WaveFault): boolean => code >= 0;

export interface EmulatorFault {
  readonly kind: EmulatorFaultKind;
  readonly message: string;
  /** The part of the message that says what was attempted, and the one that says what memory is there. */
  readonly what: string;
  readonly near?: string;
  readonly pc: bigint;
  readonly instruction: string;
  readonly location: string;
  readonly workgroup: Triple;
  readonly wave: number;
  readonly lane?: number;
  readonly address?: bigint;
  readonly access?: 'read' | 'write' | 'atomic' | 'execute';
  readonly nearest?: MemoryRegion;
  /** What the address lay in before it was freed. */
  readonly freed?: MemoryRegion;
}

export const accessName = (code: number): 'read' | 'write' | 'atomic' => {
  const base = code & 3;
  return base === ACCESS_CODES.read ? 'read' : base === ACCESS_CODES.write ? 'write' : 'atomic';
};

export const accessKind = (code: number): EmulatorFaultKind =>
  code & FAULT_LDS ? 'lds' : code & FAULT_PRIVATE ? 'aperture' : 'memory';

/** What was attempted, in words. */
export function describeAccess(code: number, address: bigint): string {
  const access = accessName(code);
  if (code & FAULT_MISALIGNED) {
    const place = code & FAULT_PRIVATE ? 'private offset' : code & FAULT_LDS ? 'LDS offset' : undefined;
    if (place) return `misaligned ${access} at ${place} ${hex(address & 0xffffffffn)}`;
    return `misaligned ${access} of address ${hex(address)}`;
  }
  if (code & FAULT_LDS) return `${access} outside the workgroup's LDS at ${hex(address & 0xffffffffn)}`;
  if (code & FAULT_PRIVATE) return `${access} outside the private segment at ${hex(address & 0xffffffffn)}`;
  return `invalid ${access} of address ${hex(address)}`;
}

/** Where an address lies relative to allocations. */
export function describePlace(
  offset: number,
  access: EmulatorFault['access'],
  nearest: MemoryRegion | undefined,
  freed: MemoryRegion | undefined,
  base: bigint,
): string {
  if (freed) return `inside freed ${freed.label} at ${hex(base + BigInt(freed.offset))}`;
  if (!nearest) return 'no allocation';
  const end = nearest.offset + nearest.sizeBytes;
  if (offset >= nearest.offset && offset < end) {
    const kind = access === 'execute' ? '' : nearest.permissions === 0 ? 'inaccessible ' : 'read-only ';
    return `inside ${kind}${nearest.label} at ${hex(base + BigInt(nearest.offset))}`;
  }
  const distance = offset < nearest.offset ? `${nearest.offset - offset} bytes before` : `${offset - end} bytes after`;
  return `${distance} ${nearest.label} (${nearest.sizeBytes} bytes at ${hex(base + BigInt(nearest.offset))})`;
}
