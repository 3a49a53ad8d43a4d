/** A prepared launch on a queue: its packet, how long it took, and what is said of one that does not end. */
import { WavewrightError } from '../../base/errors.ts';
import { kernelName } from '../../codeobject/kernel-name.ts';
import type { PreparedLaunch } from '../../launch/prepare.ts';
import type { Signal } from '../signals/signal.ts';
import type { DispatchOptions } from './packet-options.ts';
import type { Queue } from './queue.ts';

/**
 * The launch as `Queue.dispatch` takes it. `kernarg`: the address of the segment, which is filled in by now.
 */
export function launchPacket(
  { kernel, grid, workgroup, sizes }: PreparedLaunch<{ readonly kernelObject: bigint }>,
  kernarg: bigint,
  completionSignal: Signal,
): DispatchOptions {
  const { groupSegmentSizeBytes, privateSegmentSizeBytes } = sizes;
  const packet = { kernel: kernel.kernelObject, grid, workgroup, kernarg, completionSignal };
  return { ...packet, groupSegmentSizeBytes, privateSegmentSizeBytes };
}

/**
 * From the kernel's start to its end, by the clock of the device. `completionSignal`: that of the launch,
 * which is complete.
 */
export function launchDurationNs({ device }: PreparedLaunch, completionSignal: Signal): number {
  const ticks = completionSignal.endTicks - completionSignal.startTicks;
  return Number((ticks * 1_000_000_000n) / BigInt(device.properties.timestampFrequencyHz));
}

/** The error of a launch that its time limit ended; it says where the waves stand. */
export function launchTimeout({ kernel }: PreparedLaunch, queue: Queue, timeoutMs: number): WavewrightError {
  const what = `kernel '${kernelName(kernel)}' did not end within ${timeoutMs / 1000} s`;
  return new WavewrightError('TIMEOUT', [what, ...queue.describeWaves()].join('\n  '));
}
