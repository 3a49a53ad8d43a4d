/** A kernel that is to run, and one that runs. */
import type { WavewrightError } from '../base/errors.ts';
import type { Fault } from './fault.ts';
import type { GuestAddress } from './guest-address.ts';
import type { DispatchStatistics } from './statistics.ts';

/** What a work-item or a workgroup gets, besides what the code itself says that it needs. */
export interface LaunchResources {
  /** Private memory of a work-item. */
  readonly privateSizeBytes: number;
  /** Memory that the work-items of a workgroup share. */
  readonly groupSizeBytes: number;
}

/** Who launched, for kernels that ask for it in their initial registers. */
export interface LaunchOrigin {
  /** Tells launches of one queue from those of others; see `Device.releaseQueue`. */
  readonly queueAddress: bigint;
  /** Of the record of the launch in the queue. */
  readonly packetAddress: bigint;
  /** Of the launch among those of its queue. */
  readonly index: bigint;
}

/**
 * One launch of a kernel: code, grid, arguments, resources. Sizes of grid and workgroup are in work-items.
 */
export interface KernelLaunch {
  /** What the code's format has for the start of a kernel: for AMDGPU its descriptor, of 64 bytes. */
  readonly entry: GuestAddress;
  readonly workgroupSize: readonly [number, number, number];
  readonly gridSize: readonly [number, number, number];
  /** Of the block of arguments, as the code expects it. */
  readonly argumentsAddress: GuestAddress;
  readonly resources: LaunchResources;
  /** Absent for a launch of no queue; what the kernel asks for of it is 0 then. */
  readonly origin?: LaunchOrigin;
}

export interface Dispatch {
  readonly state: 'running' | 'complete' | 'faulted' | 'cancelled';
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
