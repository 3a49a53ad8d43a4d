/**
 * Constructors and destructors of linked code: kernels of one work-item that compilers write, which call what the arrays of functions
 * hold (LLVM, "AMDGPUCtorDtorLowering").
 */
import { WavewrightError } from '../base/errors.ts';
import { writeHiddenArguments } from '../codeobject/hidden-arguments.ts';
import type { Executable } from './executable.ts';
import type { KernelSymbol } from './executable-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';
import type { Runtime } from './runtime.ts';
import { HsaError } from './status.ts';

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

const kernelName = (phase: ConstructorPhase): string => `amdgcn.device.${phase}`;

/**
 * In the order in which they run: those of code objects as they were loaded, then one for all relocatable objects; destructors the other way
 * round.
 */
export function constructorCalls(executable: Executable, phase: ConstructorPhase): ConstructorCall[] {
  const name = `${kernelName(phase)}.kd`;
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
      const what = `it has ${phase === 'init' ? 'constructors' : 'destructors'}, but no file has the kernel '${kernelName(phase)}' that calls them`;
      throw new HsaError('INVALID_CODE_OBJECT', what, { file: codeObjects[0]!.name });
    }
  }
}

/** One work-item. */
function runOnce(runtime: Runtime, kernel: KernelSymbol, { stackSizeBytes = 0, timeoutMs }: ConstructorOptions): void {
  const { agent, metadata } = kernel;
  const pool = runtime.cpuAgent.pool('kernarg', agent);
  using resources = new DisposableStack();
  const queue = resources.use(runtime.createQueue(agent));
  const done = resources.use(runtime.createSignal(1n));
  const sizeBytes = Math.max(kernel.kernargSegmentSizeBytes, 16);
  const kernarg = pool.allocate(sizeBytes, { label: 'kernel arguments' });
  resources.defer(() => pool.free(kernarg));
  if (metadata !== undefined) {
    const bytes = runtime.view(kernarg, sizeBytes);
    const { sharedApertureHi, privateApertureHi } = agent.requireDevice().properties;
    writeHiddenArguments(new DataView(bytes.buffer, bytes.byteOffset, sizeBytes), metadata, {
      ...{ gridSize: [1, 1, 1], workgroupSize: [1, 1, 1], dims: 1 },
      ...{ queuePtr: queue.address, sharedBase: sharedApertureHi, privateBase: privateApertureHi },
    });
  }
  const privateSegmentSizeBytes = Math.max(
    kernel.privateSegmentSizeBytes,
    kernel.dynamicCallstack ? stackSizeBytes : 0,
  );
  const section = `kernel '${kernel.name.replace(/\.kd$/, '')}'`;
  try {
    queue.dispatch({
      ...{ kernel: kernel.kernelObject, grid: [1], workgroup: [1], kernarg, completionSignal: done },
      ...{ groupSegmentSizeBytes: kernel.groupSegmentSizeBytes, privateSegmentSizeBytes },
    });
    done.waitSync('lt', 1n, timeoutMs === undefined ? {} : { timeoutMs });
    if (queue.error !== undefined) throw queue.error.error;
  } catch (error) {
    throw error instanceof WavewrightError ? error.within({ section }) : error;
  }
  if (done.load() > 0n) {
    const waves = queue.describeWaves().join('\n  ');
    throw new WavewrightError('TIMEOUT', `${section} did not end within ${timeoutMs! / 1000} s`, {
      ...(waves !== '' && { hint: `its waves:\n  ${waves}` }),
    });
  }
}
