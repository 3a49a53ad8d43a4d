/** What looks at applications while they run: tools in their kernels, sums, traces. */
import type { Executable } from '../hsa/executables/executable.ts';
import type { FinishedKernel } from '../hsa/queues/packet-processor.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';

export interface LoadedImage {
  readonly bytes: Uint8Array;
  readonly name: string;
}

/** Tools in the code of one application. */
export interface ApplicationTools extends LaunchObserver {
  /** What is loaded in place of a code object. */
  instrument(image: LoadedImage): LoadedImage;
  /** Whether the application is not to see a symbol of what was loaded. */
  adds(symbol: string): boolean;
  /** The code is still there, and nothing of it runs any more. */
  onUnloading(executable: Executable): void;
}

/** A kernel that is over. Times are of the system's clock. */
export interface TimedKernel extends FinishedKernel {
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** The address of its queue. */
  readonly queue: bigint;
}

/** Who is told of one application. */
export interface ApplicationObserver {
  readonly tools?: ApplicationTools | undefined;
  onKernel?(kernel: TimedKernel): void;
}
