/**
 * What the scalar registers of a wave hold when a kernel begins: values for the whole dispatch, the user
 * SGPRs, then values of the workgroup and the wave, the system SGPRs, without gaps but for what the
 * descriptor counts as user SGPRs beyond those that it enables (LLVM AMDGPU usage, "Initial Kernel Execution
 * State").
 */
import type { ComputePgmRsrc2, KernelCodeProperties } from './descriptor-fields.ts';
import type { KernelDescriptor } from './kernel-descriptor.ts';

/** User SGPRs in their order. */
const USER_VALUES = [
  ['privateSegmentBuffer', 4, 'enableSgprPrivateSegmentBuffer'],
  ['dispatchPtr', 2, 'enableSgprDispatchPtr'],
  ['queuePtr', 2, 'enableSgprQueuePtr'],
  ['kernargSegmentPtr', 2, 'enableSgprKernargSegmentPtr'],
  ['dispatchId', 2, 'enableSgprDispatchId'],
  ['flatScratchInit', 2, 'enableSgprFlatScratchInit'],
  ['privateSegmentSize', 1, 'enableSgprPrivateSegmentSize'],
] as const satisfies readonly (readonly [name: string, dwords: number, enabledBy: keyof KernelCodeProperties])[];

/** System SGPRs in their order, each one dword; the wave's offset in scratch follows them. */
const SYSTEM_VALUES = [
  ['workgroupIdX', 'enableSgprWorkgroupIdX'],
  ['workgroupIdY', 'enableSgprWorkgroupIdY'],
  ['workgroupIdZ', 'enableSgprWorkgroupIdZ'],
  ['workgroupInfo', 'enableSgprWorkgroupInfo'],
] as const satisfies readonly (readonly [name: string, enabledBy: keyof ComputePgmRsrc2])[];

export type UserValue = (typeof USER_VALUES)[number][0];
export type WorkgroupValue = Exclude<(typeof SYSTEM_VALUES)[number][0], 'workgroupInfo'>;
export type InitialValue = UserValue | 'kernargPreload' | (typeof SYSTEM_VALUES)[number][0] | 'scratchWaveOffset';

/** User SGPRs that hardware sets up at most. */
export const MAX_USER_SGPRS = 16;

/** The property of a descriptor that asks for a value. */
export const enabledBy = (value: UserValue): keyof KernelCodeProperties =>
  USER_VALUES.find(([name]) => name === value)![2];

/** The bit of a descriptor that asks for a part of the workgroup's position. */
export const workgroupEnabledBy = (value: WorkgroupValue): keyof ComputePgmRsrc2 =>
  SYSTEM_VALUES.find(([name]) => name === value)![1];

export interface SgprRange {
  readonly first: number;
  readonly dwords: number;
}

export interface InitialSgprs {
  /** Values that the wave has, in the order of their registers. */
  readonly values: ReadonlyMap<InitialValue, SgprRange>;
  /** User SGPRs that are enabled, without preloaded arguments; the descriptor may count more. */
  readonly userCount: number;
  /** Registers with values, and those between them. */
  readonly count: number;
}

/** In what targets differ here. */
export interface SgprTraits {
  /** Where FLAT_SCRATCH is; if `architected`, hardware finds each wave's scratch, and needs no register. */
  readonly flatScratch: 'sgprs' | 'hardwareRegisters' | 'architected';
  /** The position of the workgroup is in trap registers, whatever the descriptor asks for. */
  readonly workgroupIdsInTrapRegisters: boolean;
}

export function initialSgprs(
  { properties, rsrc2, kernargPreload }: Pick<KernelDescriptor, 'properties' | 'rsrc2' | 'kernargPreload'>,
  { flatScratch, workgroupIdsInTrapRegisters }: SgprTraits,
): InitialSgprs {
  const values = new Map<InitialValue, SgprRange>();
  let next = 0;
  const add = (name: InitialValue, dwords: number): void => {
    values.set(name, { first: next, dwords });
    next += dwords;
  };
  for (const [name, dwords, property] of USER_VALUES) if (properties[property]) add(name, dwords);
  const userCount = next;
  // The descriptor counts them as user SGPRs; what it does not count is not there.
  const preloadDwords = Math.min(kernargPreload.lengthDwords, rsrc2.userSgprCount - userCount);
  if (preloadDwords > 0) add('kernargPreload', preloadDwords);
  next = Math.max(next, rsrc2.userSgprCount);
  if (!workgroupIdsInTrapRegisters) for (const [name, property] of SYSTEM_VALUES) if (rsrc2[property]) add(name, 1);
  // With architected flat scratch the bit asks for scratch memory alone.
  if (rsrc2.enablePrivateSegment && flatScratch !== 'architected') add('scratchWaveOffset', 1);
  return { values, userCount, count: next };
}
