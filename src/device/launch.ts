/** A kernel that is to run, and one that runs. */
import type { WavewrightError } from '../base/errors.ts';
import type { Fault } from './fault.ts';
import type { GuestAddress } from './guest-address.ts';
import type { DispatchStatistics } from './statistics.ts';

/** What a work-item or a workgroup gets; where the code itself says that it needs more, it gets that. */
export interface LaunchResources {
  /** Private memory of a work-item. */
  readonly privateSizeBytes: number;
  /** Memory that the work-items of a workgroup share. */
  readonly groupSizeBytes: number;
}

/** Which queue the launch comes from, for kernels that ask for it in their initial registers. */
export interface LaunchOrigin {
  /** The address of the queue's structure; it tells launches of one queue from those of others. */
  readonly queueAddress: bigint;
  /** The address of the launch's packet in the queue. */
  readonly packetAddress: bigint;
  /** The number of the packet, counted since the queue was made. */
  readonly index: bigint;
}

/**
 * One launch of a kernel: code, grid, arguments, resources. Sizes of grid and workgroup are in work-items.
 */
export interface KernelLaunch {
  /**
   * The address of what the code's format has for the start of a kernel. AMDGPU has a descriptor of 64 bytes,
   * which leads to the first instruction; HSA calls this address the kernel object.
   */
  readonly entry: GuestAddress;
  readonly workgroupSize: readonly [number, number, number];
  readonly gridSize: readonly [number, number, number];
  /** The address of the arguments, hidden ones included, laid out as the code expects them. */
  readonly argumentsAddress: GuestAddress;
  readonly resources: LaunchResources;
  /** Absent for a launch of no queue; what the kernel asks for of it is 0 then. */
  readonly origin?: LaunchOrigin;
}

/** `state` leaves `running` once; what came of the launch stands here from then on. */
export interface Dispatch {
  readonly state: 'running' | 'complete' | 'faulted' | 'cancelled';
  /** Why the kernel was stopped, where `state` is `faulted`. */
  readonly fault?: Fault | undefined;
  /** Why the device cancelled it, where it was not asked to: what it needed was not there. */
  readonly error?: WavewrightError | undefined;
  /** Device clock ticks. */
  readonly startTicks: bigint;
  readonly endTicks: bigint;
  readonly statistics: DispatchStatistics;
  /** Stops all waves; used by time limits and by a program's exit. Idempotent. */
  cancel(): void;
  /**
   * Where the resident waves stand, for a kernel that does not end: a bounded number of lines, and what it
   * looks like.
   */
  describeWaves(sourceOf?: (pc: bigint) => string | undefined): string[];
}
