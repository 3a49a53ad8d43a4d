/**
 * Constructors and destructors of linked code: kernels of one work-item that compilers write, which call what
 * the arrays of functions hold (LLVM, "AMDGPUCtorDtorLowering").
 */
import type { ExecutableSymbol } from './executable-symbol.ts';
import type { KernelSymbol } from './kernel-symbol.ts';
import type { LoadedCodeObject } from './loaded-code-object.ts';

export interface ConstructorOptions {
  /** Private memory where it cannot be seen how much the calls need; default as for other kernels. */
  readonly stackSizeBytes?: number;
  /** The time limit of each kernel that calls them. */
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

/** What an executable holds. */
export interface LinkedCode {
  readonly loadedCodeObjects: readonly LoadedCodeObject[];
  readonly symbols: readonly ExecutableSymbol[];
}

/** The name of the kernel that calls them. */
export const callerName = (phase: ConstructorPhase): string => `amdgcn.device.${phase}`;

/**
 * In the order in which they run: those of code objects as they were loaded, then one for all relocatable
 * objects; destructors the other way round.
 */
export function constructorCalls(
  { loadedCodeObjects: loaded, symbols }: LinkedCode,
  phase: ConstructorPhase,
): ConstructorCall[] {
  const name = `${callerName(phase)}.kd`;
  const agents = new Set(loaded.map(({ agent }) => agent));
  const calls = [...agents].flatMap((agent) => {
    const codeObjects = loaded.filter((each) => each.agent === agent);
    const kernels = symbols.filter((symbol) => symbol.kind === 'kernel' && symbol.name === name);
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
