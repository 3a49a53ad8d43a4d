/** The options of `runProgram`; their numbers and names are checked before anything else happens. */

import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { Extent } from '../hsa/queues/packet.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { FileSystem } from './host/file-system.ts';
import type { StreamOptions } from './host/standard-streams.ts';
import type { StreamLimits } from './host/streams.ts';
import type { KernelResources } from './resource-usage.ts';
import type { Handler, HostFunction } from './rpc/protocol/host.ts';
import type { ConversationRecord } from './rpc/server.ts';

/** What a program may take; see also `timeoutMs`. */
export interface RunLimits extends StreamLimits {
  /**
   * Bytes of device memory that malloc gives out together; then it returns null. Default: what the device
   * has.
   */
  readonly heapBytes?: number;
}

export interface RunOptions extends StreamOptions {
  /** Not closed afterwards. */
  device: Device;
  /** argv; the first one is the name of the image. */
  args: readonly string[];
  /** envp; a variable that is undefined is left out. Default: empty. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Workgroups of `_start` in x, y, z. Default: one. */
  blocks?: Extent;
  /** Work-items of a workgroup of `_start` in x, y, z. Default: one. */
  threads?: Extent;
  /** Default: an empty one in memory. */
  filesystem?: FileSystem;
  /** What errors call the image. Default: `args[0]`. */
  name?: string;
  /** For the whole run from the call on, loading included, in milliseconds. Default: none. */
  timeoutMs?: number;
  /**
   * What `timeoutMs` is measured with, in milliseconds from any start; never faster than wall time, which is
   * the default. A clock of the work alone: what the run chooses to wait is added.
   */
  clock?: () => number;
  /** When the time of `timeoutMs` began, by that clock. Default: with the call. */
  startedMs?: number;
  /** Ends the run with the signal's reason, which `runProgram` throws. */
  signal?: AbortSignal;
  /**
   * Called when the signal ends the run while a kernel runs: the kernel, and where its waves stand, a line
   * each.
   */
  onAbort?: (kernel: string, waves: readonly string[]) => void;
  limits?: RunLimits;
  /**
   * C's system: gives the wait status of a command. Other waves go on while a promise is open; the signal
   * says that the program is over. Default: the program may run none, and gets -1.
   */
  system?: (command: string, signal: AbortSignal) => number | Promise<number>;
  /** Conversations of opcodes of your own, by the whole number; one of the C library can be replaced. */
  opcodes?: ReadonlyMap<number, Handler>;
  /**
   * Functions for HOST_CALL and the offload runtime's host calls, by what the program takes for their
   * address.
   */
  hostFunctions?: ReadonlyMap<bigint, HostFunction>;
  /** Called after each RPC conversation. */
  onConversation?: (conversation: ConversationRecord) => void;
  /**
   * RPC ports, from 1 to what the program's generation allows. Default: what `_start` can hold at once, see
   * launch.ts.
   */
  portCount?: number;
  /**
   * Scratch of a work-item, at least, in bytes. Default: what the kernel needs, 16 KiB where the compiler
   * could not know the stack.
   */
  stackSizeBytes?: number;
  /** Called before each kernel. */
  onKernel?: (resources: KernelResources) => void;
  /** A tool that sees the program when it is loaded and each kernel when it is launched. */
  observer?: LaunchObserver | undefined;
}

function check(name: string, value: number | undefined, min: number, isWhole = true): void {
  // NaN fails every comparison.
  if (value === undefined || (value >= min && (!isWhole || Number.isSafeInteger(value)))) return;
  const expected = isWhole ? `an integer from ${min}` : `a number from ${min}`;
  throw new WavewrightError('USAGE', `${name} is ${value}, expected ${expected}`);
}

/** What errors call the image. Throws USAGE where there are no options to run a program with. */
export function programName(options: RunOptions): string {
  if (!Array.isArray(options?.args) || typeof options.device !== 'object') {
    throw new WavewrightError('USAGE', 'a program without options, expected at least { device, args }');
  }
  return options.name ?? options.args[0] ?? 'image';
}

/** Throws USAGE. What the device or the kernel allows is checked where that is known. */
export function checkRunOptions({
  blocks,
  threads,
  stackSizeBytes,
  timeoutMs,
  limits = {},
  env = {},
}: RunOptions): void {
  for (const [name, extent] of Object.entries({ blocks, threads })) {
    for (const size of extent ?? []) check(name, size, 1);
  }
  check('stackSizeBytes', stackSizeBytes, 0);
  check('timeoutMs', timeoutMs, 0, false);
  for (const [name, limit] of Object.entries(limits)) {
    if (limit !== Number.POSITIVE_INFINITY) check(`limits.${name}`, limit, 0);
  }
  for (const name of Object.keys(env)) {
    if (name === '' || name.includes('=')) throw new WavewrightError('USAGE', `'${name}' is no name of a variable`);
  }
}
