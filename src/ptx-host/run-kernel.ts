/** Runs one kernel of some PTX modules: what `wavewright dispatch` does with PTX. */
import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { Dispatch } from '../device/launch.ts';
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import type { Print } from '../services/hostcall/server.ts';
import type { NvptxCode, NvptxExecutable, PtxKernel, PtxText } from './executable.ts';
import { loadExecutable } from './load.ts';
import { PreparedKernel, type PtxKernelUse } from './prepared-kernel.ts';

/** A caller who wants one gets a turn this often, in milliseconds. */
const TURN_MS = 50;

export type { PtxText };

export interface PtxRunRequest extends NvptxCode, PtxKernelUse {
  readonly device: Device;
  /** Needed where the modules have several kernels. */
  readonly kernel?: string | undefined;
  /** Default 1; every run starts with the same memory. */
  readonly repeat?: number;
  /** Of each run. */
  readonly timeoutMs?: number | undefined;
  /** Of code on a virtual device. Default: nobody sees what kernels print. */
  readonly onPrint?: Print | undefined;
  /** Bytes that device malloc gives out together. Default: 8 MiB, as CUDA's. */
  readonly heapBytes?: number | undefined;
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
  const { onPrint, heapBytes } = request;
  using executable = await loadExecutable(request.device, request, { wanted, onPrint, heapBytes });
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
  readonly #prepared: PreparedKernel;

  constructor(request: PtxRunRequest, executable: NvptxExecutable) {
    this.#request = request;
    this.#executable = executable;
    this.#kernel = chooseKernel(executable, request.kernel);
    this.#prepared = new PreparedKernel(request.device, executable, this.#kernel, request);
  }

  async run(pause: (kernel: RunningPtxKernel) => Promise<void>): Promise<PtxRunOutcome> {
    const { device, repeat = 1, cpuTimeNs } = this.#request;
    const { buffers, memory, memoryBytes } = this.#prepared;
    const runs: { durationNs: number; cpuNs?: number }[] = [];
    let statistics: DispatchStatistics = NO_STATISTICS;
    for (let i = 0; i < repeat; i++) {
      if (i > 0) {
        this.#refillBuffers();
        this.#executable.resetServices();
      }
      const before = cpuTimeNs?.();
      const dispatch = this.#prepared.start();
      await this.#finish(dispatch, pause);
      const ticks = dispatch.endTicks - dispatch.startTicks;
      const durationNs = Number((ticks * 1_000_000_000n) / BigInt(device.properties.timestampFrequencyHz));
      runs.push({ durationNs, ...(cpuTimeNs && { cpuNs: cpuTimeNs() - before! }) });
      statistics = addStatistics(statistics, dispatch.statistics);
    }
    const outputs = buffers.flatMap(({ argument: { output, sizeBytes }, address }) =>
      output === undefined ? [] : [{ file: output, bytes: memory.read(address, sizeBytes) }],
    );
    return { kernel: this.#kernel, runs, statistics, outputs, memoryBytes: this.#executable.sizeBytes + memoryBytes };
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
        this.#executable.serve();
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

  /** As they were before the first run. */
  #refillBuffers(): void {
    const { buffers, memory } = this.#prepared;
    for (const { argument, address } of buffers) {
      const bytes = new Uint8Array(argument.sizeBytes);
      bytes.set(argument.contents);
      memory.write(address, bytes);
    }
  }

  [Symbol.dispose](): void {
    this.#prepared[Symbol.dispose]();
  }
}
