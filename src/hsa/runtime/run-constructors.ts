/**
 * Constructors and destructors are run: each kernel that calls them is one launch of one work-item, with a
 * queue of its own.
 */
import { WavewrightError } from '../../base/errors.ts';
import { kernelName } from '../../codeobject/kernel-name.ts';
import { prepareLaunch, writeHidden } from '../../launch/prepare.ts';
import { type ConstructorCall, type ConstructorOptions, callerName } from '../executables/constructors.ts';
import type { KernelSymbol } from '../executables/kernel-symbol.ts';
import type { Agent } from '../objects/agent.ts';
import { HsaError } from '../objects/status.ts';
import type { Queue } from '../queues/queue.ts';
import { launchPacket, launchTimeout } from '../queues/queue-launch.ts';
import { withinDevice } from '../queues/within-device.ts';
import type { Signal } from '../signals/signal.ts';

/** What the runtime gives to launches of its own. */
export interface LaunchHost {
  readonly cpuAgent: Agent;
  createQueue(agent: Agent): Queue;
  createSignal(initial: bigint): Signal;
  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer>;
}

/** Throws INVALID_CODE_OBJECT where nothing calls the functions, and what the kernels throw. */
export function runConstructors(
  runtime: LaunchHost,
  calls: readonly ConstructorCall[],
  options: ConstructorOptions,
): void {
  for (const { phase, kernel, codeObjects } of calls) {
    if (kernel !== undefined) runOnce(runtime, kernel, options);
    else {
      const what = `it has ${phase === 'init' ? 'constructors' : 'destructors'}, but no file has the kernel '${callerName(phase)}' that calls them`;
      throw new HsaError('INVALID_CODE_OBJECT', what, { file: codeObjects[0]!.name });
    }
  }
}

/** One work-item. */
function runOnce(runtime: LaunchHost, kernel: KernelSymbol, { stackSizeBytes, timeoutMs }: ConstructorOptions): void {
  const { agent } = kernel;
  const options = { grid: [1], workgroup: [1], stackSizeBytes, stackUsers: 'unknown' } as const;
  const launch = withinDevice(() => prepareLaunch(agent.requireDevice(), kernel, options));
  const { kernargSizeBytes } = launch.sizes;
  const pool = runtime.cpuAgent.pool('kernarg', agent);
  using resources = new DisposableStack();
  const queue = resources.use(runtime.createQueue(agent));
  const done = resources.use(runtime.createSignal(1n));
  const kernarg = pool.allocate(kernargSizeBytes, { label: 'kernel arguments' });
  resources.defer(() => pool.free(kernarg));
  const bytes = runtime.view(kernarg, kernargSizeBytes);
  writeHidden(launch, new DataView(bytes.buffer, bytes.byteOffset, kernargSizeBytes), queue.address);
  try {
    queue.dispatch(launchPacket(launch, kernarg, done));
    done.waitSync('lt', 1n, timeoutMs === undefined ? {} : { timeoutMs });
    if (queue.error !== undefined) throw queue.error.error;
  } catch (error) {
    const section = `kernel '${kernelName(kernel)}'`;
    throw error instanceof WavewrightError ? error.within({ section }) : error;
  }
  if (done.load() > 0n) throw launchTimeout(launch, queue, timeoutMs!);
}
