/** Kernels, buffers and launches on one device: what a host program needs where it has no `main` to run. */
import { assembleFile } from '../assembler/assemble-file.ts';
import { CallerOutput } from '../base/caller-output.ts';
import { assert, WavewrightError } from '../base/errors.ts';
import type { ContainerOptions } from '../codeobject/container.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import { parseTargetId } from '../codeobject/target-id.ts';
import type { Device } from '../device/device.ts';
import { addStatistics } from '../device/statistics.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import { functionAddress } from '../hsa/executables/function-address.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import { InterceptQueue } from '../hsa/queues/intercept-queue.ts';
import type { Queue } from '../hsa/queues/queue.ts';
import { launchDurationNs, launchPacket, launchTimeout } from '../hsa/queues/queue-launch.ts';
import { createSharedQueue } from '../hsa/runtime/launch-observer.ts';
import { createRuntime, type Runtime } from '../hsa/runtime/runtime.ts';
import type { Signal } from '../hsa/signals/signal.ts';
import { placeArguments, writeArguments } from '../launch/kernel-arguments.ts';
import { type PreparedLaunch, prepareLaunch, writeHidden } from '../launch/prepare.ts';
import { type LinkFile, openLinkFile, pickLinkImages } from '../linker/link-files.ts';
import { KernelHeap } from '../services/kernel-heap.ts';
import { KernelServices } from '../services/kernel-services.ts';
import { launchArguments } from './arguments.ts';
import { DeviceBuffer } from './buffer.ts';
import { elementBytes, isTypedArray, type TypedArray, type TypedArrayName, valueText } from './elements.ts';
import { type KernelPresets, type LaunchOptions, type LaunchResult, Module } from './module.ts';

/**
 * The bytes of a code object, a relocatable object, an archive, an offload bundle or a program with one
 * inside; or assembler source in LLVM's syntax.
 */
export type Code = Uint8Array | string;

export interface ModuleOptions extends ContainerOptions {
  /** What errors call the code. Default: `code`. */
  readonly name?: string;
  /** Whether constructors of global objects run when the code is loaded. Default `run`. */
  readonly constructors?: 'run' | 'none';
  /** Versions of its kernels that launches choose by `preset`. They go with the module. */
  readonly presets?: KernelPresets;
}

/** The host serves a kernel for so long at a time. */
const SERVICE_SLICE_MS = 20;
/** The event loop gets a turn at least this often, in milliseconds. */
const YIELD_INTERVAL_MS = 20;

/** What a launch writes for its arguments, once it is its turn. */
interface Ready extends PreparedLaunch<KernelSymbol> {
  readonly write: (segment: DataView, queue: Queue, services: KernelServices) => void;
}

/** A launch whose turn it is. */
interface Running {
  readonly queue: Queue;
  readonly done: Signal;
  readonly services: KernelServices;
}

/** Use `createContext`. `using` frees everything that was made in it; the device stays open. */
export class Context implements Disposable {
  readonly device: Device;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  /** What kernels allocate, until they free it or the context goes. */
  readonly #heap: KernelHeap;
  #queue: Queue | undefined;
  /** Of modules that are loaded; a queue shows them its packets. */
  readonly #presets = new Map<Executable, KernelPresets>();
  /** Ends when all launches so far have ended. */
  #turn: Promise<void> = Promise.resolve();
  #nextYield = performance.now() + YIELD_INTERVAL_MS;
  #isDisposed = false;

  constructor(device: Device) {
    this.device = device;
    this.#runtime = createRuntime({ devices: [device] });
    this.#agent = this.#runtime.gpuAgents[0]!;
    this.#heap = new KernelHeap(this.#runtime, this.#agent);
  }

  /**
   * Loads code for the device; several pieces are linked with each other. Throws BAD_INPUT for what is no
   * code, UNSUPPORTED for code for other targets, USAGE with line and column for wrong assembler source.
   */
  load(code: Code | readonly Code[], options: ModuleOptions = {}): Module {
    this.#expectLive();
    if (typeof options !== 'object' || options === null) {
      throw new WavewrightError('USAGE', `${valueText(options)}, expected options such as { name }`);
    }
    if ([code].flat().length === 0) throw new WavewrightError('USAGE', 'no code to load');
    const executable = this.#runtime.createExecutable();
    try {
      const { name = 'code', constructors = 'run', presets, ...container } = options;
      const pieces = [code].flat().map((piece) => this.#open(piece, name, container));
      for (const { isModule, ...image } of pickLinkImages(pieces, parseTargetId(this.device.properties.targetId))) {
        executable.loadCodeObject(this.#agent, new CodeObjectReader(image.bytes, image.name), { isModule });
      }
      executable.freeze({ constructors });
      if (presets) this.#addPresets(executable, presets);
    } catch (error) {
      executable[Symbol.dispose]();
      throw error;
    }
    return new Module(
      executable,
      (...launch) => this.#launch(...launch),
      (address, sizeBytes) => this.#runtime.view(address, sizeBytes),
    );
  }

  #addPresets(executable: Executable, presets: KernelPresets): void {
    presets.onLoaded(this.#runtime, this.#agent, executable);
    this.#presets.set(executable, presets);
    executable.own({ [Symbol.dispose]: () => this.#presets.delete(executable) });
  }

  #open(code: unknown, name: string, options: ContainerOptions): LinkFile {
    const { processor } = this.device.properties;
    if (typeof code === 'string') return openLinkFile(assembleFile(code, { file: name, processor }), name);
    if (isTypedArray(code)) return openLinkFile(elementBytes(code), name, options);
    throw new WavewrightError('USAGE', `${valueText(code)}, expected bytes or assembler source`);
  }

  /**
   * Device memory that holds `contents` and is read as an array of the same type. Throws LIMIT_EXCEEDED where
   * there is not enough.
   */
  buffer<Name extends TypedArrayName>(contents: TypedArray<Name>): DeviceBuffer<Name>;
  /** Zeroed bytes, which fit a pointer of any type. */
  buffer(sizeBytes: number): DeviceBuffer<'Uint8Array'>;
  buffer(contents: TypedArray | number): DeviceBuffer {
    this.#expectLive();
    const isSize = typeof contents === 'number';
    if (!isSize && !isTypedArray(contents)) {
      throw new WavewrightError(
        'USAGE',
        `a buffer of ${valueText(contents)}, expected a typed array or a size in bytes`,
      );
    }
    const sizeBytes = isSize ? contents : contents.byteLength;
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1) {
      throw new WavewrightError('USAGE', `a buffer of ${sizeBytes} bytes, expected at least 1`);
    }
    const elements = isSize ? 'Uint8Array' : contents[Symbol.toStringTag];
    const pool = this.#runtime.cpuAgent.pool('fine-grained', this.#agent);
    const address = pool.allocate(sizeBytes, { label: `buffer of ${elements}` });
    const view = () => {
      this.#expectLive();
      return this.#runtime.view(address, sizeBytes);
    };
    if (!isSize) view().set(elementBytes(contents));
    const free = () => {
      if (!this.#isDisposed) pool.free(address);
    };
    return new DeviceBuffer({ address, view, free }, elements, isSize ? sizeBytes : contents.length, sizeBytes);
  }

  async #launch(
    executable: Executable,
    kernel: KernelSymbol,
    options: LaunchOptions,
    args: readonly unknown[],
  ): Promise<LaunchResult> {
    try {
      // What the arguments hold counts when `launch` is called, not when it is the launch's turn.
      const ready = this.#prepare(executable, kernel, options, args);
      return await this.#inTurn(() => {
        this.#expectLive();
        executable.expectLive();
        options.signal?.throwIfAborted();
        return this.#runVersion(executable, ready, options);
      });
    } catch (error) {
      throw inKernel(kernelName(kernel), error);
    }
  }

  async #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const previous = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await previous;
    try {
      return await run();
    } finally {
      resolve();
    }
  }

  #prepare(executable: Executable, kernel: KernelSymbol, options: LaunchOptions, args: readonly unknown[]): Ready {
    this.#expectLive();
    executable.expectLive();
    checkOptions(options);
    const placed = placeArguments(kernel, launchArguments(kernel, args));
    const { dynamicLdsSizeBytes = 0, stackSizeBytes } = options;
    const launch = prepareLaunch(this.device, kernel, {
      grid: extentOf(options.grid),
      workgroup: extentOf(options.workgroup),
      argumentsSizeBytes: placed.argumentsSizeBytes,
      dynamicGroupSizeBytes: placed.localSizeBytes + dynamicLdsSizeBytes,
      stackSizeBytes,
    });
    return {
      ...launch,
      write: (segment, queue, services) => {
        writeArguments(segment, placed, {
          address: ({ buffer }) => buffer.address,
          functionAddress: (name) => functionAddress(executable, name),
        });
        writeHidden(launch, segment, queue.address, services.hidden);
      },
    };
  }

  async #runVersion(executable: Executable, ready: Ready, options: LaunchOptions): Promise<LaunchResult> {
    const { preset } = options;
    const presets = this.#presets.get(executable);
    if (preset === undefined) return await this.#run(ready, options);
    if (!presets) {
      const hint = 'load(code, { presets: new ToolPresets({ ... }) })';
      throw new WavewrightError('USAGE', `preset '${preset}' of a module without presets`, { hint });
    }
    using _ = presets.during(ready.kernel, preset);
    return await this.#run(ready, options);
  }

  /** A plain queue has no way to show packets; between launches it can go. */
  #openQueue(): Queue {
    if (this.#presets.size > 0 && this.#queue && !(this.#queue instanceof InterceptQueue)) {
      this.#queue[Symbol.dispose]();
      this.#queue = undefined;
    }
    const observers = () => new Set(this.#presets.values());
    this.#queue ??=
      this.#presets.size > 0
        ? createSharedQueue(this.#runtime, this.#agent, observers)
        : this.#runtime.createQueue(this.#agent);
    return this.#queue;
  }

  async #run(ready: Ready, options: LaunchOptions): Promise<LaunchResult> {
    const { kernargSizeBytes } = ready.sizes;
    const pool = this.#runtime.cpuAgent.pool('kernarg', this.#agent);
    using resources = new DisposableStack();
    const kernarg = pool.allocate(kernargSizeBytes, { label: 'kernel arguments' });
    resources.defer(() => {
      if (!this.#isDisposed) pool.free(kernarg, { isByHost: false });
    });
    const queue = this.#openQueue();
    const output = new CallerOutput(options);
    const services = new KernelServices(this.#runtime, this.#agent, ready.kernel, {
      ...options,
      ...ready,
      heap: this.#heap,
      onPrint: (stream, bytes) => output[stream](bytes),
    });
    resources.defer(() => {
      if (!this.#isDisposed) services[Symbol.dispose]();
    });
    services.reset();
    const segment = this.#runtime.view(kernarg, kernargSizeBytes);
    ready.write(new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes), queue, services);
    const done = resources.use(this.#runtime.createSignal(1n));
    const before = queue.statistics;
    try {
      queue.dispatch(launchPacket(ready, kernarg, done));
      await this.#finish(ready, { queue, done, services }, options);
    } catch (error) {
      // Nothing may run any more when memory is given back; the next launch gets a queue of its own.
      queue[Symbol.dispose]();
      this.#queue = undefined;
      throw error;
    }
    return {
      durationNs: launchDurationNs(ready, done),
      statistics: addStatistics(queue.statistics, before, -1),
      output: output.output,
    };
  }

  async #finish(
    ready: Ready,
    { queue, done, services }: Running,
    { timeoutMs = Number.POSITIVE_INFINITY, signal }: LaunchOptions,
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    try {
      while (done.load() > 0n) {
        if (queue.error !== undefined) throw queue.error.error;
        signal?.throwIfAborted();
        if (performance.now() >= deadline) throw launchTimeout(ready, queue, timeoutMs);
        const state = this.#runtime.progress();
        const isServed = services.poll(Math.min(deadline, performance.now() + SERVICE_SLICE_MS)) > 0;
        const isOver = done.load() <= 0n || queue.error !== undefined;
        assert(isOver || state !== 'idle', () => `kernel ${kernelName(ready.kernel)} is neither running nor complete`);
        await this.#yield(!isOver && !isServed && state === 'waiting');
      }
      if (queue.error !== undefined) throw queue.error.error;
    } finally {
      services.finish();
    }
  }

  /** Gives the event loop its turn when it is due, also between launches that take less than a turn each. */
  async #yield(isWaiting: boolean): Promise<void> {
    if (!isWaiting && performance.now() < this.#nextYield) return;
    await new Promise((resolve) => setTimeout(resolve, 0));
    this.#nextYield = performance.now() + YIELD_INTERVAL_MS;
    this.#expectLive();
  }

  #expectLive(): void {
    if (this.#isDisposed) throw new WavewrightError('USAGE', 'the context was disposed');
  }

  /** Stops what runs. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#runtime[Symbol.dispose]();
  }
}

/** A context on `device`, for its kernels and buffers. */
export const createContext = (device: Device): Context => new Context(device);

const extentOf = (sizes: number | readonly number[]): readonly number[] => [sizes].flat();

function checkOptions(options: LaunchOptions): void {
  if (typeof options !== 'object' || options === null || options instanceof DeviceBuffer) {
    throw new WavewrightError('USAGE', `${valueText(options)}, expected { grid, workgroup } before the arguments`);
  }
  for (const name of ['grid', 'workgroup'] as const) {
    const sizes: unknown = options[name];
    if (typeof sizes === 'number' || (Array.isArray(sizes) && sizes.every((size) => typeof size === 'number')))
      continue;
    throw new WavewrightError('USAGE', `${name} is ${valueText(sizes)}, expected work-items: a number or up to three`);
  }
  const atLeast = (name: keyof LaunchOptions, minimum: number): void => {
    const { [name]: value = minimum } = options;
    if (typeof value === 'number' && value >= minimum && value < 2 ** 32) return;
    throw new WavewrightError('USAGE', `${name} is ${valueText(value)}, expected a number from ${minimum} on`);
  };
  for (const name of ['dynamicLdsSizeBytes', 'stackSizeBytes', 'timeoutMs'] as const) atLeast(name, 0);
}

/** The error with the kernel's name, which some have already. */
function inKernel(name: string, error: unknown): unknown {
  const section = `kernel '${name}'`;
  return error instanceof WavewrightError && !error.what.includes(section) ? error.within({ section }) : error;
}
