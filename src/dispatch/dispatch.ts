/**
 * Runs one kernel of some code objects, once or several times, and says what came out and how long it took:
 * what `wavewright dispatch` does. The `Dispatch` of the device contract is something else: one execution.
 */
import { WavewrightError } from '../base/errors.ts';
import { TimeLimit } from '../base/time-limit.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { Device } from '../device/device.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import { functionAddress } from '../hsa/executables/function-address.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import type { Queue } from '../hsa/queues/queue.ts';
import { launchDurationNs, launchPacket, launchTimeout } from '../hsa/queues/queue-launch.ts';
import { createObservedQueue, type LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import { createRuntime, type Runtime } from '../hsa/runtime/runtime.ts';
import type { Signal } from '../hsa/signals/signal.ts';
import type { FileBuffer, ParsedArgument } from '../launch/argument-text.ts';
import { placeArguments, writeArguments } from '../launch/kernel-arguments.ts';
import { type PreparedLaunch, prepareLaunch, writeHidden } from '../launch/prepare.ts';
import type { Print } from '../services/hostcall/server.ts';
import { KernelServices } from '../services/kernel-services.ts';
import { type ExecutedInstruction, executedInstructions } from './executed-instructions.ts';

/** A caller who wants one gets a turn this often, in milliseconds. */
const TURN_MS = 50;
/** The host serves a kernel for so long at a time. */
const SERVICE_SLICE_MS = 20;
const LOADING = 'while the files were loaded';

export interface DispatchRequest {
  readonly device: Device;
  /** One executable is made of all. */
  readonly images: readonly { readonly bytes: Uint8Array; readonly name: string; readonly isModule?: boolean }[];
  /** Needed where the images have several kernels. */
  readonly kernel?: string;
  /** Work-items in 1 to 3 dimensions. */
  readonly grid: readonly number[];
  readonly workgroup: readonly number[];
  readonly args: readonly ParsedArgument[];
  /** Group memory beyond that of the kernel and of `local` arguments. */
  readonly dynamicLdsSizeBytes?: number;
  /**
   * Private memory of a work-item, at least. Default: what the kernel needs, 16,384 where that cannot be
   * seen.
   */
  readonly stackSizeBytes?: number;
  /** The wave size of libraries whose code does not show theirs. */
  readonly waveSize?: 32 | 64;
  /** Whether constructors run before the first kernel, and destructors after the last. Default `run`. */
  readonly constructors?: 'run' | 'none';
  /** Default 1; every run starts with the same memory. */
  readonly repeat?: number;
  /** The time limit of reading and loading the images; it may have begun before. */
  readonly loadLimit?: TimeLimit;
  /** The time limit of each run, and of each kernel that calls constructors or destructors. */
  readonly timeoutMs?: number;
  /** All workgroups run at the same time and may wait for each other. */
  readonly cooperative?: boolean;
  /** Bytes that device malloc gives out together; then it returns null. Default: what the device has. */
  readonly heapBytes?: number;
  /** Takes what the kernel prints. */
  readonly onPrint?: Print;
  /** Processor time of this process, in nanoseconds. */
  readonly cpuTimeNs?: () => number;
  /** A tool that sees the code when it is loaded and each launch of the kernel. */
  readonly observer?: LaunchObserver | undefined;
}

export interface DispatchRun {
  /** The time from start to end of the kernel, by the clock of the device. */
  readonly durationNs: number;
  /** Absent without `cpuTimeNs`. */
  readonly cpuNs?: number;
}

export interface DispatchOutcome {
  readonly kernel: KernelSymbol;
  readonly runs: readonly DispatchRun[];
  /** The sum over all runs. */
  readonly statistics: DispatchStatistics;
  readonly outputs: readonly { readonly file: string; readonly bytes: Uint8Array }[];
  /** Of all runs, where the device counts executions by pc. */
  readonly executed?: readonly ExecutedInstruction[];
  /** Device memory of code, arguments and buffers. */
  readonly memoryBytes: number;
  /** What the kernel would lack on hardware, as linked here. */
  readonly hardwareProblems: readonly string[];
}

/**
 * Throws USAGE for a launch that does not fit the kernel, GPU_FAULT when the kernel faults, TIMEOUT, and what
 * loading and linking throw.
 */
export function dispatchKernel(request: DispatchRequest): DispatchOutcome {
  const steps = dispatchSteps(request);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * As `dispatchKernel`, but awaits `pause` every now and then while the kernel runs; what that throws ends it.
 */
export async function dispatchKernelInTurns(
  request: DispatchRequest,
  pause: (kernel: RunningKernel) => Promise<void>,
): Promise<DispatchOutcome> {
  const steps = dispatchSteps(request);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await pause(step.value);
    }
  } finally {
    // Gives back what the kernel has, when `pause` threw.
    steps.return(undefined as never); // reason: the value of a generator that is left is nobody's
  }
}

/** A kernel that runs, or is about to. */
export interface RunningKernel {
  readonly name: string;
  /** Lines that say where its waves stand. */
  readonly describeWaves: () => string[];
}

/** Gives its caller a turn now and then. */
type Steps<T> = Generator<RunningKernel, T>;

function* dispatchSteps(request: DispatchRequest): Steps<DispatchOutcome> {
  using runtime = createRuntime({ devices: [request.device] });
  using executable = runtime.createExecutable();
  const agent = runtime.gpuAgents[0]!;
  const { loadLimit = new TimeLimit() } = request;
  for (const { bytes, name, isModule = false } of request.images) {
    loadLimit.expect(LOADING);
    executable.loadCodeObject(agent, new CodeObjectReader(bytes, name), { isModule });
  }
  const { constructors = 'run', waveSize, stackSizeBytes, timeoutMs } = request;
  const how = {
    ...(stackSizeBytes !== undefined && { stackSizeBytes }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  executable.freeze({ constructors, ...(waveSize && { waveSize }), ...how });
  loadLimit.expect(LOADING);
  const kernel = chooseKernel(executable, request.kernel);
  using session = new Session(runtime, agent, executable, kernel, request);
  request.observer?.onLoaded(runtime, agent, executable);
  yield* session.run();
  request.observer?.onFinished();
  executable.runDestructors(how);
  return session.outcome();
}

/** A kernel that calls constructors or destructors is not counted among those that may be meant. */
const isPlain = ({ name }: KernelSymbol): boolean => !/^amdgcn\.device\.(init|fini)\.kd$/.test(name);

function chooseKernel(executable: Executable, wanted: string | undefined): KernelSymbol {
  const kernels = executable.symbols.filter((symbol) => symbol.kind === 'kernel');
  const names = kernels.map(kernelName).join(', ');
  const shared = wanted === undefined ? undefined : executable.findSymbol(`${wanted.replace(/\.kd$/, '')}.kd`);
  if (shared?.kind === 'kernel') return shared;
  const found =
    wanted === undefined
      ? kernels.filter(isPlain)
      : kernels.filter((each) => kernelName(each) === wanted || each.name === wanted);
  if (found[0] !== undefined && (found.length === 1 || wanted !== undefined)) return found[0];
  const what =
    found.length > 1 ? 'there are several kernels' : `there is no kernel${wanted === undefined ? '' : ` '${wanted}'`}`;
  throw new WavewrightError(found.length > 1 ? 'USAGE' : 'BAD_INPUT', what, {
    ...(names !== '' && { hint: found.length > 1 ? `choose one with --kernel: ${names}` : `the kernels are ${names}` }),
  });
}

class Session implements Disposable {
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #executable: Executable;
  readonly #kernel: KernelSymbol;
  readonly #request: DispatchRequest;
  readonly #queue: Queue;
  readonly #done: Signal;
  readonly #services: KernelServices;
  readonly #buffers: { readonly argument: FileBuffer; readonly address: bigint }[] = [];
  readonly #allocated: bigint[] = [];
  readonly #runs: DispatchRun[] = [];
  #memoryBytes = 0;
  #nextTurnMs = performance.now() + TURN_MS;

  constructor(runtime: Runtime, agent: Agent, executable: Executable, kernel: KernelSymbol, request: DispatchRequest) {
    this.#runtime = runtime;
    this.#agent = agent;
    this.#executable = executable;
    this.#kernel = kernel;
    this.#request = request;
    this.#queue = createObservedQueue(runtime, agent, request.observer);
    this.#done = runtime.createSignal(0n);
    this.#services = new KernelServices(runtime, agent, kernel, request);
    this.#memoryBytes = this.#services.memoryBytes;
    for (const { sizeBytes } of executable.loadedCodeObjects) this.#memoryBytes += sizeBytes;
  }

  *run(): Steps<void> {
    const kernel = this.#kernel;
    const { args, repeat = 1, cpuTimeNs, dynamicLdsSizeBytes = 0, ...request } = this.#request;
    const placed = placeArguments(kernel, args);
    const dynamicGroupSizeBytes = placed.localSizeBytes + dynamicLdsSizeBytes;
    const launch = prepareLaunch(this.#agent.requireDevice(), kernel, { ...request, ...placed, dynamicGroupSizeBytes });
    const { kernargSizeBytes } = launch.sizes;
    const kernarg = this.#allocate(kernargSizeBytes, 'kernel arguments');
    const context = {
      address: (argument: FileBuffer) => {
        const address = this.#allocate(argument.sizeBytes, `argument ${argument.text}`);
        this.#buffers.push({ argument, address });
        return address;
      },
      functionAddress: (name: string) => functionAddress(this.#executable, name),
    };
    const segment = this.#runtime.view(kernarg, kernargSizeBytes);
    const data = new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes);
    writeArguments(data, placed, context);
    writeHidden(launch, data, this.#queue.address, this.#services.hidden);
    const initial = segment.slice();
    for (let i = 0; i < repeat; i++) {
      segment.set(initial);
      this.#fillBuffers(i === 0);
      this.#services.reset();
      yield* this.#turn();
      const before = cpuTimeNs?.();
      const durationNs = yield* this.#runOnce(kernarg, launch);
      this.#runs.push({ durationNs, ...(cpuTimeNs && { cpuNs: cpuTimeNs() - before! }) });
    }
  }

  outcome(): DispatchOutcome {
    const kernel = this.#kernel;
    const { statistics } = this.#queue;
    const { loadedCodeObjects } = this.#executable;
    const { pcCounts } = statistics;
    return {
      kernel,
      runs: this.#runs,
      statistics,
      ...(pcCounts && { executed: executedInstructions(loadedCodeObjects, pcCounts, kernel.wavefrontSize) }),
      outputs: this.#buffers.flatMap(({ argument: { output, sizeBytes }, address }) =>
        output === undefined ? [] : [{ file: output, bytes: this.#runtime.view(address, sizeBytes).slice() }],
      ),
      memoryBytes: this.#memoryBytes,
      hardwareProblems: loadedCodeObjects.length > 1 ? kernel.hardwareProblems : [],
    };
  }

  *#runOnce(kernarg: bigint, launch: PreparedLaunch<KernelSymbol>): Steps<number> {
    const { timeoutMs } = this.#request;
    this.#done.store(1n);
    try {
      this.#queue.dispatch(launchPacket(launch, kernarg, this.#done));
      yield* this.#wait(timeoutMs);
      if (this.#queue.error !== undefined) throw this.#queue.error.error;
    } catch (error) {
      if (!(error instanceof WavewrightError)) throw error;
      throw error.within({ section: `kernel '${kernelName(this.#kernel)}'` });
    }
    if (this.#done.load() > 0n) throw launchTimeout(launch, this.#queue, timeoutMs!);
    return launchDurationNs(launch, this.#done);
  }

  /**
   * Slices of the device and of what the kernel asks this host for in turns, until it ended, its queue failed
   * or the time is over.
   */
  *#wait(timeoutMs = Number.POSITIVE_INFINITY): Steps<void> {
    const deadline = performance.now() + timeoutMs;
    const services = this.#services;
    try {
      while (this.#done.load() > 0n && this.#queue.error === undefined && performance.now() < deadline) {
        if (this.#runtime.progress() === 'idle') {
          // The wait says why a kernel never ends when the device has no work.
          this.#done.waitSync('lt', 1n, timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs });
          return;
        }
        services.poll(Math.min(deadline, performance.now() + SERVICE_SLICE_MS));
        yield* this.#turn();
      }
    } finally {
      services.finish();
    }
  }

  *#turn(): Steps<void> {
    if (performance.now() < this.#nextTurnMs) return;
    yield { name: kernelName(this.#kernel), describeWaves: () => this.#queue.describeWaves() };
    this.#nextTurnMs = performance.now() + TURN_MS;
  }

  /** New memory is zero already; writing that would make it take the host's. */
  #fillBuffers(isNew: boolean): void {
    for (const { argument, address } of this.#buffers) {
      const view = this.#runtime.view(address, argument.sizeBytes);
      view.set(argument.contents);
      if (!isNew) view.fill(0, argument.contents.length);
    }
  }

  #allocate(sizeBytes: number, label: string): bigint {
    const address = this.#runtime.cpuAgent.pool('fine-grained', this.#agent).allocate(sizeBytes, { label });
    this.#allocated.push(address);
    this.#memoryBytes += sizeBytes;
    return address;
  }

  [Symbol.dispose](): void {
    this.#queue[Symbol.dispose]();
    this.#done[Symbol.dispose]();
    this.#services[Symbol.dispose]();
    for (const address of this.#allocated) this.#runtime.cpuAgent.pool('fine-grained', this.#agent).free(address);
  }
}
