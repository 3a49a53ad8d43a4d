/** What is said of devices: plain data. */
import type { DeviceLink, PhysicalDeviceInfo } from '../backend/topology.ts';

/** What a device is, for reports: plain data. */
export interface DeviceDescription {
  readonly name: string;
  readonly devices: readonly (PhysicalDeviceInfo & { readonly queues: readonly string[] })[];
  /** How kernels and copies of a device get at the memory of another one. */
  readonly links: readonly DeviceLink[];
  readonly heaps: readonly {
    readonly memoryType: readonly string[];
    readonly usage: readonly string[];
    readonly maxAllocationBytes: number;
    readonly minAlignmentBytes: number;
  }[];
}

/** One moment by two clocks: that of the device lies between the two times of the host. */
export interface ClockSample {
  /** Of `PhysicalDeviceInfo.clockFrequencyHz`. */
  readonly deviceTicks: bigint;
  /** Milliseconds, as `performance.now` and events of queues have them. */
  readonly hostBeforeMs: number;
  readonly hostAfterMs: number;
}
