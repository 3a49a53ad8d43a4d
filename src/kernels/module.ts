/** Code that is loaded and linked, and its kernels. */
import type { OutputOptions, ProgramOutput } from '../base/caller-output.ts';
import { WavewrightError } from '../base/errors.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import type { LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import { explicitParameters } from '../launch/kernel-arguments.ts';
import { type ArgumentValue, FunctionAddress } from './arguments.ts';

export interface LaunchOptions extends OutputOptions {
  /** Work-items, in one dimension as a number, else in x, y, z. A grid counts work-items, not workgroups. */
  readonly grid: number | readonly number[];
  /** Work-items of a workgroup. */
  readonly workgroup: number | readonly number[];
  /** Group memory beyond that of the kernel and of `LocalMemory` arguments, in bytes. */
  readonly dynamicLdsSizeBytes?: number;
  /**
   * Private memory of a work-item in bytes, where it needs more than is known. Default: 16,384 where it
   * cannot be seen how much the calls need.
   */
  readonly stackSizeBytes?: number;
  /** All workgroups run at the same time and may wait for each other: a cooperative grid. Default `false`. */
  readonly cooperative?: boolean;
  /** The time that the kernel may run, in milliseconds of wall time. Default: no limit. */
  readonly timeoutMs?: number;
  /**
   * Which version runs, where the module was loaded with `presets`: one of these, or `native`. Default: what
   * `setVersion` said, else `native`.
   */
  readonly preset?: string;
  /** Stops the kernel; the launch throws the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface LaunchResult {
  /** The time from start to end of the kernel, by the clock of the device. */
  readonly durationNs: number;
  readonly statistics: DispatchStatistics;
  /** What the kernel printed, in the order in which it asked, as far as no function takes it. */
  readonly output: ProgramOutput;
}

/**
 * What a kernel is called with, as the metadata says it; names and types are those that the compiler left
 * there.
 */
export interface KernelParameter {
  readonly name: string | undefined;
  readonly typeName: string | undefined;
  /** `by_value`, `global_buffer`, `dynamic_shared_pointer`, ... */
  readonly valueKind: string;
  readonly sizeBytes: number;
}

/** Other versions of kernels, by name, such as `ToolPresets` of wavewright/instrument. */
export interface KernelPresets extends LaunchObserver {
  /** Dispatches of the kernel run this version until the result is disposed. Throws USAGE for no version. */
  during(kernel: KernelSymbol, preset: string): Disposable;
}

/** What a context does for its modules. */
export type Launcher = (
  executable: Executable,
  kernel: KernelSymbol,
  options: LaunchOptions,
  args: readonly unknown[],
) => Promise<LaunchResult>;

/** A kernel of a module, to be launched any number of times. */
export class ModuleKernel {
  readonly name: string;
  /**
   * Undefined for a kernel that the metadata does not list: then arguments are placed one after the other.
   */
  readonly parameters: readonly KernelParameter[] | undefined;
  readonly #launch: (options: LaunchOptions, args: readonly unknown[]) => Promise<LaunchResult>;

  constructor(
    symbol: KernelSymbol,
    launch: (options: LaunchOptions, args: readonly unknown[]) => Promise<LaunchResult>,
  ) {
    this.name = kernelName(symbol);
    this.parameters = explicitParameters(symbol)?.map(({ name, typeName, valueKind, sizeBytes }) => {
      return { name, typeName, valueKind, sizeBytes };
    });
    this.#launch = launch;
  }

  /**
   * Runs the kernel once, after all earlier launches of the context; hidden arguments are filled in, and what
   * it asks the host for meanwhile (printf, malloc) is served. What it allocates lasts until it is freed or
   * the context goes. The event loop has its turns. Throws USAGE for a grid or arguments that the kernel does
   * not take, GPU_FAULT with the instruction, TIMEOUT with the state of the waves, LIMIT_EXCEEDED, and
   * UNSUPPORTED or RPC_PROTOCOL for a request that nobody serves.
   */
  launch(options: LaunchOptions, ...args: ArgumentValue[]): Promise<LaunchResult> {
    return this.#launch(options, args);
  }
}

/** Use `Context.load`. `using` unloads it; the context unloads those that are left. */
export class Module implements Disposable {
  readonly #executable: Executable;
  readonly #launcher: Launcher;
  readonly #view: (address: bigint, sizeBytes: number) => Uint8Array;

  constructor(executable: Executable, launcher: Launcher, view: (address: bigint, sizeBytes: number) => Uint8Array) {
    this.#executable = executable;
    this.#launcher = launcher;
    this.#view = view;
  }

  /** Names of all kernels. */
  get kernelNames(): readonly string[] {
    return this.#kernels.map(kernelName);
  }

  /** Throws BAD_INPUT, with the names that there are, when there is no kernel of this name. */
  kernel(name: string): ModuleKernel {
    const shared = this.#executable.findSymbol(`${name}.kd`);
    const symbol = shared?.kind === 'kernel' ? shared : this.#kernels.find((each) => kernelName(each) === name);
    if (symbol === undefined) throw this.#missing('kernel', name, this.kernelNames);
    return new ModuleKernel(symbol, (options, args) => this.#launcher(this.#executable, symbol, options, args));
  }

  /**
   * A device function, as an argument of a kernel that calls it. Throws BAD_INPUT when there is none of this
   * name.
   */
  deviceFunction(name: string): FunctionAddress {
    const symbol = this.#executable.findSymbol(name);
    if (symbol?.kind === 'indirect-function') return new FunctionAddress(name);
    const functions = this.#executable.symbols.filter(({ kind }) => kind === 'indirect-function');
    const names = functions.filter(({ linkage }) => linkage === 'program').map((each) => each.name);
    throw this.#missing('device function', name, names);
  }

  /**
   * The memory of a global variable, such as that of a tool: it is read and written while no kernel runs.
   * Throws BAD_INPUT when there is none of this name.
   */
  variable(name: string): Uint8Array {
    const symbol = this.#executable.findSymbol(name);
    if (symbol?.kind === 'variable') return this.#view(symbol.address, symbol.sizeBytes);
    const variables = this.#executable.symbols.filter(({ kind }) => kind === 'variable');
    throw this.#missing(
      'variable',
      name,
      variables.map((each) => each.name),
    );
  }

  get #kernels(): KernelSymbol[] {
    return this.#executable.symbols.filter((symbol) => symbol.kind === 'kernel');
  }

  #missing(what: string, name: string, names: readonly string[]): WavewrightError {
    const found = names.length === 0 ? 'there are none' : `there are ${names.slice(0, 20).join(', ')}`;
    const file = this.#executable.loadedCodeObjects.map((each) => each.name).join(', ');
    return new WavewrightError('BAD_INPUT', `there is no ${what} '${name}'; ${found}`, { file });
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    this.#executable[Symbol.dispose]();
  }
}
