/** What looks at applications while they run: tools in their kernels, sums, traces. */
import type { Executable } from '../hsa/executables/executable.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { TimedPacket } from './timed-packet.ts';
import type { ApplicationTrace } from './trace.ts';

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

/** Who is told of one application. */
export interface ApplicationObserver {
  readonly tools?: ApplicationTools | undefined;
  onPacket?(packet: TimedPacket): void;
  /** Where it is there, the application tells what it does. */
  readonly trace?: ApplicationTrace | undefined;
}
