/** Runs one kernel of some PTX modules: what `wavewright dispatch` does with PTX. */
import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import { guestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import type { FileBuffer, ParsedArgument } from '../launch/argument-text.ts';
import { placeArguments, writeArguments } from '../launch/kernel-arguments.ts';
import { type PreparedLaunch, prepareLaunch } from '../launch/prepare.ts';
import {
  type ArgumentMemory,
  argumentMemory,
  type NvptxCode,
  type NvptxExecutable,
  type PtxKernel,
  type PtxText,
} from './executable.ts';
import { loadExecutable } from './load.ts';

/** A caller who wants one gets a turn this often, in milliseconds. */
const TURN_MS = 50;

export type { PtxText };

export interface PtxRunRequest extends NvptxCode {
  readonly device: Device;
  /** Needed where the modules have several kernels. */
  readonly kernel?: string | undefined;
  /** Threads in 1 to 3 dimensions. */
  readonly grid: readonly number[];
  /** Threads of a block. */
  readonly workgroup: readonly number[];
  readonly args: readonly ParsedArgument[];
  /** Shared memory beyond that of the kernel and of `local` arguments. */
  readonly dynamicSharedSizeBytes?: number;
  /** Private memory of a thread, at least. */
  readonly stackSizeBytes?: number | undefined;
  /** Default 1; every run starts with the same memory. */
  readonly repeat?: number;
  /** Of each run. */
  readonly timeoutMs?: number | undefined;
  /** Processor time of this process, in nanoseconds. */
  readonly cpuTimeNs?: () => number;
}

export interface PtxRunOutcome {
  readonly kernel: PtxKernel;
  readonly runs: readonly { readonly durationNs: number; readonly cpuNs?: number }[];
  /** The sum over all runs. */
  readonly statistics: DispatchStatistics;
  readonly outputs: readonly { readonly file: string; readonly bytes: Uint8Array }[];
  /** Device memory of code, parameters and buffers. */
  readonly memoryBytes: number;
}

/** A kernel that runs. */
export interface RunningPtxKernel {
  readonly name: string;
  /** Lines that say where its waves stand. */
  readonly describeWaves: () => string[];
}

/**
 * Awaits `pause` every now and then while the kernel runs; what that throws ends it. Throws what
 * `loadExecutable` throws, USAGE for a launch that does not fit the kernel, GPU_FAULT, TIMEOUT.
 */
export async function runPtxKernel(
  request: PtxRunRequest,
  pause: (kernel: RunningPtxKernel) => Promise<void> = async () => {},
): Promise<PtxRunOutcome> {
  const wanted = request.args.flatMap((argument) => (argument.kind === 'function' ? [argument.name] : []));
  using executable = await loadExecutable(request.device, request, { wanted });
  using run = new KernelRun(request, executable);
  return await run.run(pause);
}

function chooseKernel({ kernels }: NvptxExecutable, wanted: string | undefined): PtxKernel {
  const names = kernels.map(({ name }) => name).join(', ');
  const found = wanted === undefined ? kernels : kernels.filter(({ name }) => name === wanted);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) {
    throw new WavewrightError('USAGE', 'there are several kernels', { hint: `choose one with --kernel: ${names}` });
  }
  const what = wanted === undefined ? 'there is no kernel' : `there is no kernel '${wanted}'`;
  throw new WavewrightError('BAD_INPUT', what, names === '' ? {} : { hint: `the kernels are ${names}` });
}

class KernelRun implements Disposable {
  readonly #request: PtxRunRequest;
  readonly #executable: NvptxExecutable;
  readonly #kernel: PtxKernel;
  readonly #memory: ArgumentMemory;
  readonly #buffers: { readonly argument: FileBuffer; readonly address: bigint }[] = [];
  readonly #resources = new DisposableStack();
  #memoryBytes: number;

  constructor(request: PtxRunRequest, executable: NvptxExecutable) {
    this.#request = request;
    this.#executable = executable;
    this.#kernel = chooseKernel(executable, request.kernel);
    this.#memory = argumentMemory(request.device);
    this.#memoryBytes = executable.sizeBytes;
  }

  async run(pause: (kernel: RunningPtxKernel) => Promise<void>): Promise<PtxRunOutcome> {
    const { device, repeat = 1, cpuTimeNs } = this.#request;
    const { launch, parameters } = this.#prepare();
    const runs: { durationNs: number; cpuNs?: number }[] = [];
    let statistics: DispatchStatistics = NO_STATISTICS;
    for (let i = 0; i < repeat; i++) {
      this.#fillBuffers(i === 0);
      const before = cpuTimeNs?.();
      const dispatch = device.dispatch({
        ...{ entry: this.#kernel.entry, argumentsAddress: guestAddress(parameters) },
        ...{ gridSize: triple(launch.grid), workgroupSize: triple(launch.workgroup) },
        resources: {
          privateSizeBytes: launch.sizes.privateSegmentSizeBytes,
          groupSizeBytes: launch.sizes.groupSegmentSizeBytes,
        },
      });
      await this.#finish(dispatch, pause);
      const ticks = dispatch.endTicks - dispatch.startTicks;
      const durationNs = Number((ticks * 1_000_000_000n) / BigInt(device.properties.timestampFrequencyHz));
      runs.push({ durationNs, ...(cpuTimeNs && { cpuNs: cpuTimeNs() - before! }) });
      statistics = addStatistics(statistics, dispatch.statistics);
    }
    const outputs = this.#buffers.flatMap(({ argument: { output, sizeBytes }, address }) =>
      output === undefined ? [] : [{ file: output, bytes: this.#memory.read(address, sizeBytes) }],
    );
    return { kernel: this.#kernel, runs, statistics, outputs, memoryBytes: this.#memoryBytes };
  }

  #prepare(): { readonly launch: PreparedLaunch; readonly parameters: bigint } {
    const { device, args, dynamicSharedSizeBytes = 0, ...request } = this.#request;
    const placed = placeArguments(this.#kernel, args);
    const dynamicGroupSizeBytes = placed.localSizeBytes + dynamicSharedSizeBytes;
    const launch = prepareLaunch(device, this.#kernel, { ...request, ...placed, dynamicGroupSizeBytes });
    const { kernargSizeBytes } = launch.sizes;
    // Arguments are handed over by the host.
    const parameters = device.memory.allocate(kernargSizeBytes, { label: 'kernel parameters' });
    this.#resources.defer(() => device.memory.free(parameters));
    this.#memoryBytes += kernargSizeBytes;
    const segment = device.memory.view(parameters, kernargSizeBytes);
    writeArguments(new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes), placed, {
      address: (argument) => {
        const address = this.#allocate(argument.sizeBytes, `argument ${argument.text}`);
        this.#buffers.push({ argument, address });
        return address;
      },
      functionAddress: (name) => this.#executable.addressOf(name),
    });
    return { launch, parameters };
  }

  async #finish(dispatch: Dispatch, pause: (kernel: RunningPtxKernel) => Promise<void>): Promise<void> {
    const { device, timeoutMs = Number.POSITIVE_INFINITY } = this.#request;
    const { name } = this.#kernel;
    const describeWaves = (): string[] => dispatch.describeWaves((pc) => this.#executable.sourceText(pc));
    const begin = performance.now();
    let nextTurn = begin + TURN_MS;
    try {
      while (dispatch.state === 'running') {
        device.advance();
        if (performance.now() - begin > timeoutMs) {
          const what = `kernel '${name}' did not end within ${timeoutMs / 1000} s`;
          throw new WavewrightError('TIMEOUT', [what, ...describeWaves()].join('\n  '));
        }
        if (performance.now() < nextTurn) continue;
        await pause({ name, describeWaves });
        nextTurn = performance.now() + TURN_MS;
      }
    } finally {
      dispatch.cancel();
    }
    const error = this.#executable.errorOf(dispatch, this.#kernel, this.#request.stackSizeBytes);
    if (error) throw error;
  }

  #fillBuffers(isNew: boolean): void {
    for (const { argument, address } of this.#buffers) {
      const { contents, sizeBytes } = argument;
      const isWhole = isNew || contents.length === sizeBytes;
      const bytes = isWhole ? contents : new Uint8Array(sizeBytes);
      if (!isWhole) bytes.set(contents);
      this.#memory.write(address, bytes);
    }
  }

  #allocate(sizeBytes: number, label: string): bigint {
    const address = this.#memory.allocate(sizeBytes, label);
    this.#resources.defer(() => this.#memory.free(address));
    this.#memoryBytes += sizeBytes;
    return address;
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}

const triple = (sizes: readonly number[]): readonly [number, number, number] => [
  ...([sizes[0] ?? 1, sizes[1] ?? 1, sizes[2] ?? 1] as const),
];
