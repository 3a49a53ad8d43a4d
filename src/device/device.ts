/**
 * The contract between those who launch kernels (the HSA runtime for one) and whatever executes them: the
 * emulator, or a real GPU reached by FFI. One suite runs against every implementation.
 */
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
  /** As the user names it: `emulated:gfx90a`. */
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: DeviceMemory;
  /** Device clock, ticks of `timestampFrequencyHz`. */
  clock(): bigint;
  /**
   * Tells the device that code was written, and names its functions for reports. Must be called before the
   * code runs.
   */
  publishCode(code: PublishedCode): void;
  /** Withdraws published code before its memory is freed. */
  withdrawCode(address: bigint): void;
  /**
   * Starts a kernel. Several may run at once. Throws WavewrightError for what the launch can be refused for.
   */
  dispatch(launch: KernelLaunch): Dispatch;
  /** The queue is gone whose `queueAddress` dispatches had. Nothing of it runs any more. */
  releaseQueue?(queueAddress: bigint): void;
  /**
   * Runs resident waves for about `sliceMs` (default 5) on the calling thread. A device with threads of its
   * own returns at once.
   */
  advance(sliceMs?: number): AdvanceResult;
  /**
   * Cancels what runs. Then everything is refused with NOT_INITIALIZED but giving back: `free`,
   * `withdrawCode`, `releaseQueue` and another `close`, which do nothing.
   */
  close(): void;
}

export interface PublishedCode {
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly name: string;
  /** Function and kernel symbols, in device addresses. */
  readonly symbols: readonly { readonly name: string; readonly address: bigint; readonly sizeBytes: number }[];
}
