/** What looks at applications while they run: tools in their kernels, sums, traces. */
import type { Device } from '../device/device.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import { type LaunchObserver, observedBy } from '../hsa/runtime/launch-observer.ts';
import type { TimedPacket } from './timed-packet.ts';
import type { ApplicationTrace } from './trace.ts';
import type { TracedCall } from './trace-ring.ts';

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

/** Looks at an application, and changes nothing. */
export interface ApplicationWatcher extends LaunchObserver {
  /** As that of tools. */
  onUnloading?(executable: Executable): void;
}

/** What watchers see; undefined where there are none. */
export function watchedBy(watchers: readonly ApplicationWatcher[]): ApplicationTools | undefined {
  if (watchers.length === 0) return undefined;
  return {
    ...observedBy(watchers),
    instrument: (image) => image,
    adds: () => false,
    onUnloading: (executable) => {
      for (const each of watchers) each.onUnloading?.(executable);
    },
  };
}

/** Who is told of one application. */
export interface ApplicationObserver {
  /** The application has got its device; nothing is loaded yet. */
  onDevice?(device: Device): void;
  readonly tools?: ApplicationTools | undefined;
  onPacket?(packet: TimedPacket): void;
  /** Where it is there, the application tells what it does; so it does with `onCall`. */
  readonly trace?: ApplicationTrace | undefined;
  /** Of an application that calls too often some are lost. */
  onCall?(call: TracedCall): void;
  /** Before `onFinished` of the tools: how many calls were lost. */
  onLostCalls?(count: number): void;
}
