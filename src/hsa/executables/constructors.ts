/**
 * Constructors and destructors of linked code: kernels of one work-item that compilers write, which call what the arrays of functions
 * hold (LLVM, "AMDGPUCtorDtorLowering").
 */
import { WavewrightError } from '../../base/errors.ts';
import { HsaError } from '../objects/status.ts';
import { launchPacket, launchTimeout, prepareLaunch, writeHidden } from '../queues/launch.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Executable } from './executable.ts';
import { type KernelSymbol, kernelName } from './executable-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export interface ConstructorOptions {
  /** Private memory where it cannot be seen how much the calls need; default as for other kernels. */
  readonly stackSizeBytes?: number;
  /** Of all together. */
  readonly timeoutMs?: number;
}

export type ConstructorPhase = 'init' | 'fini';

/** A kernel that calls constructors or destructors, or files that lack one. */
export interface ConstructorCall {
  readonly phase: ConstructorPhase;
  /** Undefined where the files have functions to be called, but no kernel that does it. */
  readonly kernel: KernelSymbol | undefined;
  /** Code objects whose functions it calls. */
  readonly codeObjects: readonly LoadedCodeObject[];
}

const callerName = (phase: ConstructorPhase): string => `amdgcn.device.${phase}`;

/**
 * In the order in which they run: those of code objects as they were loaded, then one for all relocatable objects; destructors the other way
 * round.
 */
export function constructorCalls(executable: Executable, phase: ConstructorPhase): ConstructorCall[] {
  const name = `${callerName(phase)}.kd`;
  const agents = new Set(executable.loadedCodeObjects.map(({ agent }) => agent));
  const calls = [...agents].flatMap((agent) => {
    const codeObjects = executable.loadedCodeObjects.filter((each) => each.agent === agent);
    const kernels = executable.symbols.filter((symbol) => symbol.kind === 'kernel' && symbol.name === name);
    const kernelOf = (users: readonly LoadedCodeObject[]) =>
      kernels.find((kernel): kernel is KernelSymbol => kernel.kind === 'kernel' && users.includes(kernel.codeObject));
    const linked = codeObjects.filter(({ isRelocatable }) => !isRelocatable);
    const objects = codeObjects.filter(({ isRelocatable }) => isRelocatable);
    const users = objects.filter(({ arrays }) => arrays.some(({ kind }) => kind === `${phase}_array`));
    return [
      ...linked.map((codeObject) => ({ phase, kernel: kernelOf([codeObject]), codeObjects: [codeObject] })),
      ...(users.length > 0 ? [{ phase, kernel: kernelOf(objects), codeObjects: users }] : []),
    ].filter(({ kernel, codeObjects: [first] }) => kernel !== undefined || first?.isRelocatable);
  });
  return phase === 'init' ? calls : calls.reverse();
}

/** Throws INVALID_CODE_OBJECT where nothing calls the functions, and what the kernels throw. */
export function runConstructors(
  runtime: Runtime,
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
function runOnce(runtime: Runtime, kernel: KernelSymbol, { stackSizeBytes = 0, timeoutMs }: ConstructorOptions): void {
  const { agent, dynamicCallstack } = kernel;
  const launch = prepareLaunch(kernel, {
    grid: [1],
    workgroup: [1],
    stackSizeBytes: dynamicCallstack ? stackSizeBytes : 0,
  });
  const { kernargSizeBytes } = launch.sizes;
  const pool = runtime.cpuAgent.pool('kernarg', agent);
  using resources = new DisposableStack();
  const queue = resources.use(runtime.createQueue(agent));
  const done = resources.use(runtime.createSignal(1n));
  const kernarg = pool.allocate(kernargSizeBytes, { label: 'kernel arguments' });
  resources.defer(() => pool.free(kernarg));
  const bytes = runtime.view(kernarg, kernargSizeBytes);
  writeHidden(launch, new DataView(bytes.buffer, bytes.byteOffset, kernargSizeBytes), queue);
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
