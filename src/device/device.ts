/**
 * The contract between those who launch kernels (the HSA runtime for one) and whatever executes them: the
 * emulator, a real GPU reached by FFI, or nothing at all (`src/devices/null`). `src/hsa/conformance` is the
 * suite that every implementation passes; CONTRIBUTING.md, "Add a device", says what one has to have.
 *
 * Everything happens on the thread that calls. A device makes progress in `advance`, which the launcher calls
 * again and again; what came of a launch stands in its `Dispatch`, which the launcher looks at in between.
 */
import type { SourceLine } from '../codeobject/line-table.ts';
import type { DeviceDriver } from './driver.ts';
import type { Dispatch, KernelLaunch } from './launch.ts';
import type { DeviceMemory } from './memory.ts';
import type { DeviceProperties } from './properties.ts';

/**
 * What one call of `advance` achieved: `idle`: nothing is left to run; `running`: there is more to do;
 * `waiting`: every resident wave sleeps or spins (s_sleep, barrier), so that only the host, or time, can make
 * progress.
 */
export type AdvanceResult = 'idle' | 'running' | 'waiting';

/** `using` closes it. */
export interface Device extends Disposable {
  /** The name by which users choose the device: `emulated:gfx90a`. */
  readonly name: string;
  readonly properties: DeviceProperties;
  /** Devices that have one and the same object here share their memory, and the addresses in it. */
  readonly memory: DeviceMemory;
  /** There where code is loaded by a driver; `publishCode` is refused then. */
  readonly driver?: DeviceDriver;
  /** The time now, in ticks of `timestampFrequencyHz`; launches are timed by the same clock. */
  clock(): bigint;
  /**
   * Tells the device that code was written, so that it forgets what was there before, and names the functions
   * for reports. Whoever loads code calls this before the code runs.
   */
  publishCode(code: PublishedCode): void;
  /** Takes back what `publishCode` said; the caller frees the memory of the code afterwards. */
  withdrawCode(address: bigint): void;
  /**
   * Starts a kernel. Several may run at once; a launcher that wants an order waits for the one before. Throws
   * WavewrightError where the device refuses the launch. What the device does not look at, the launcher has
   * checked: `checkLaunchSizes` of src/launch holds the sizes against the properties.
   */
  dispatch(launch: KernelLaunch): Dispatch;
  /**
   * The queue is gone that launches named as their origin, and nothing of it runs any more. A device has this
   * where it keeps something for each queue.
   */
  releaseQueue?(queueAddress: bigint): void;
  /**
   * Runs resident waves for about `sliceMs` (default 5) on the calling thread. A device with threads of its
   * own returns at once.
   */
  advance(sliceMs?: number): AdvanceResult;
  /**
   * Cancels what runs. Then everything is refused, with an error of the code USAGE and the HSA status
   * NOT_INITIALIZED, except giving back: `free`, `withdrawCode`, `releaseQueue` and another `close` do
   * nothing.
   */
  close(): void;
}

export interface PublishedCode {
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly name: string;
  /** Function and kernel symbols, in device addresses. */
  readonly symbols: readonly { readonly name: string; readonly address: bigint; readonly sizeBytes: number }[];
  /** The line that an instruction comes from, where that is known. */
  sourceLine?(address: bigint): SourceLine | undefined;
}
