/**
 * Runs the `main` of a GPU program: the kernels of the start-up code, with the RPC server between the slices
 * of the device.
 */
import type { ProgramOutput } from '../base/caller-output.ts';
import { assert, WavewrightError } from '../base/errors.ts';
import { TimeLimit } from '../base/time-limit.ts';
import { explicitArgumentsEnd } from '../codeobject/hidden-arguments.ts';
import { kernelName } from '../codeobject/kernel-name.ts';
import type { AdvanceResult } from '../device/device.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { HeapMemory } from '../hsa/memory/device-heap.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import { LLVM_DIALECT } from '../printf/parse.ts';
import { argumentBlock } from './argument-block.ts';
import { MemoryFileSystem } from './host/memory-file-system.ts';
import { CallerStreams } from './host/standard-streams.ts';
import { defaultPortCount, ONE, type ProgramLaunch, prepareProgramLaunch } from './launch.ts';
import { loadProgram } from './load-program.ts';
import type { LoadedProgram, ProgramKernel, StartedKernel } from './loaded-program.ts';
import { ProgramHost } from './program-host.ts';
import { ProgramImage } from './program-image.ts';
import type { Generation } from './rpc/protocol/generation.ts';
import { clientStruct, rpcLayout } from './rpc/protocol/layout.ts';
import { type OpcodeStatistics, RpcServer } from './rpc/server.ts';
import { checkRunOptions, programName, type RunOptions } from './run-options.ts';

export interface KernelRun {
  readonly kernel: string;
  readonly durationMs: number;
  readonly statistics: DispatchStatistics;
}

export interface ProgramResult {
  /** What a shell would see: 0 to 255; 134 for abort. */
  readonly status: number;
  /** How the program ended: `main` returned, or it called exit or abort. */
  readonly ended: 'return' | 'exit' | 'abort';
  /** The generation of the C library's RPC client; `none` for a program without one. */
  readonly generation: Generation['name'] | 'none';
  readonly output: ProgramOutput;
  readonly statistics: ProgramStatistics;
}

export interface ProgramStatistics {
  /** The time from the start of the run to the first kernel, in milliseconds. */
  readonly loadMs: number;
  /** What the server did, by opcode. */
  readonly rpc: readonly OpcodeStatistics[];
  /** The kernels that ran, in order; the last one ended where the program exited, if it did. */
  readonly kernels: readonly KernelRun[];
}

const ABORT_STATUS = 134;
const LOADING = 'while the program was loaded';
/**
 * A wave that asked for something may look again and again whether it is there, without ever sleeping, until
 * its slice is over: slices are short after a conversation, and double from there. So loops that wait are not
 * compiled as if they had work to do.
 */
const FIRST_SLICE_MS = 0.005;
const MAX_SLICE_MS = 5;
/**
 * How often in a row every wave may wait for nothing that the server can give before the loop sleeps between
 * slices.
 */
const SPIN_TURNS = 64;
/**
 * It sleeps longer the longer nothing happened, so that a program that waits for its user costs no time to
 * speak of.
 */
const TURNS_PER_SLEEP_MS = 32;
const MAX_SLEEP_MS = 10;
/**
 * The event loop gets a turn this often, in milliseconds; and when conversations wait for what it may bring.
 */
const YIELD_INTERVAL_MS = 50;
const HOST_YIELD_INTERVAL_MS = 10;
/** Waves that a report of a hang lists. */
const MAX_LISTED_WAVES = 32;

/**
 * Runs a program to its end. Throws BAD_INPUT when the image is no program, UNSUPPORTED for another target or
 * an instruction that is not implemented, GPU_FAULT, RPC_PROTOCOL, TIMEOUT with the state of the waves,
 * LIMIT_EXCEEDED and USAGE.
 */
export async function runProgram(bytes: Uint8Array, options: RunOptions): Promise<ProgramResult> {
  const name = programName(options);
  const startMs = performance.now();
  try {
    checkRunOptions(options);
    const limit = new TimeLimit(options.timeoutMs, options.clock, options.startedMs);
    options.signal?.throwIfAborted();
    using resources = new DisposableStack();
    const program = resources.use(await loadProgram(bytes, { ...options, name }));
    const image = new ProgramImage(program, name);
    limit.expect(LOADING);
    return await new ProgramRun({ image, options, resources, limit }).main(startMs);
  } catch (error) {
    throw error instanceof WavewrightError ? error.within({ file: name }) : error;
  }
}

interface ProgramParts {
  readonly image: ProgramImage;
  readonly options: RunOptions;
  /** What the run takes is given back by it. */
  readonly resources: DisposableStack;
  readonly limit: TimeLimit;
}

class ProgramRun {
  readonly #program: LoadedProgram;
  readonly #image: ProgramImage;
  readonly #options: RunOptions;
  readonly #streams: CallerStreams;
  readonly #host: ProgramHost;
  /** None for a program without an RPC client. */
  readonly #server: RpcServer | undefined;
  readonly #kernels: KernelRun[] = [];
  readonly #resources: DisposableStack;
  readonly #limit: TimeLimit;
  #nextYield = performance.now() + YIELD_INTERVAL_MS;

  constructor({ image, options, resources, limit }: ProgramParts) {
    const { program } = image;
    this.#program = program;
    this.#image = image;
    this.#options = options;
    this.#resources = resources;
    this.#limit = limit;
    this.#streams = new CallerStreams(options);
    const host = { ...options, streams: this.#streams, fileSystem: options.filesystem ?? new MemoryFileSystem() };
    this.#host = new ProgramHost(host, image.generation?.printf ?? LLVM_DIALECT, program.heap);
    resources.defer(() => this.#host.close());
    program.printTo?.((stream, text) => this.#host.streams[stream].write(text));
    this.#server = image.generation && this.#connect(image.generation);
    image.writeClockFrequency(program.device.properties.timestampFrequencyHz);
  }

  /** The server on a buffer of its own that the program's client knows of. */
  #connect(generation: Generation): RpcServer {
    const { opcodes, onConversation } = this.#options;
    const portCount = this.#options.portCount ?? defaultPortCount(generation, this.#image.start, this.#options);
    if (!Number.isInteger(portCount) || portCount < 1 || portCount > generation.maxPorts) {
      throw new WavewrightError('USAGE', `${portCount} RPC ports, expected 1 to ${generation.maxPorts}`);
    }
    const layout = rpcLayout(generation, portCount, this.#image.laneCount);
    const buffer = this.#allocate(this.#program.shared, layout.sizeBytes, 'RPC buffer');
    this.#image.writeClient(generation, clientStruct(generation, layout, buffer));
    return new RpcServer(generation, layout, this.#program.view(buffer, layout.sizeBytes), this.#host, {
      ...(opcodes && { opcodes }),
      ...(onConversation && { onConversation }),
    });
  }

  async main(startMs: number): Promise<ProgramResult> {
    const result = this.#allocate(this.#program.shared, 4, "main's result");
    const status = () => this.#data(result, 4).getInt32(0, true);
    const { stackSizeBytes } = this.#options;
    const launches = this.#launches(result, status);
    const prepared = launches.map((launch) => prepareProgramLaunch(this.#program.device, launch, stackSizeBytes));
    const loadMs = performance.now() - startMs;
    try {
      for (const [i, launch] of launches.entries()) {
        await this.#launch(launch, prepared[i]!);
        if (this.#host.terminated) break;
      }
    } finally {
      // Nothing may run any more when memory is given back.
      this.#program.stop();
    }
    this.#options.observer?.onFinished();
    const { termination } = this.#host;
    this.#host.streams.flush();
    const rest = {
      generation: this.#image.generation?.name ?? 'none',
      output: this.#streams.output,
      statistics: { loadMs, rpc: this.#server?.statistics ?? [], kernels: this.#kernels },
    } as const;
    if (termination?.kind === 'abort') return { status: ABORT_STATUS, ended: 'abort', ...rest };
    if (termination?.kind === 'exit') return { status: termination.status & 0xff, ended: 'exit', ...rest };
    return { status: status() & 0xff, ended: 'return', ...rest };
  }

  /** The kernels of a program in order; `result` is where main's value goes, `status` reads it. */
  #launches(result: bigint, status: () => number): ProgramLaunch[] {
    const { init, begin, start, end, fini } = this.#image;
    const { blocks = ONE, threads = ONE } = this.#options;
    const { writeArguments } = this.#placeArguments();
    const single = { blocks: ONE, threads: ONE };
    const plain = { ...single, argumentsSizeBytes: 0, writeArguments: () => undefined };
    // Up to LLVM 21 `_end` takes main's result and exits with it; later it takes nothing.
    const endTakesStatus = end.metadata !== undefined && explicitArgumentsEnd(end.metadata) > 0;
    const endArguments = {
      argumentsSizeBytes: 4,
      writeArguments: (data: DataView) => data.setInt32(0, status(), true),
    };
    const startArguments = (data: DataView) => {
      writeArguments(data);
      data.setBigUint64(24, result, true);
    };
    return [
      ...(init === undefined ? [] : [{ kernel: init, ...plain }]),
      { kernel: begin, ...single, argumentsSizeBytes: 24, writeArguments },
      { kernel: start, blocks, threads, argumentsSizeBytes: 32, writeArguments: startArguments },
      { kernel: end, ...plain, ...(endTakesStatus ? endArguments : {}) },
      ...(fini === undefined ? [] : [{ kernel: fini, ...plain }]),
    ];
  }

  #allocate(memory: HeapMemory, sizeBytes: number, label: string): bigint {
    const address = memory.allocate(sizeBytes, { label });
    this.#resources.defer(() => memory.free(address));
    return address;
  }

  #data(address: bigint, sizeBytes: number): DataView {
    const bytes = this.#program.view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  /** Places argv and envp; the function writes argc and both pointers. */
  #placeArguments(): { writeArguments: (data: DataView) => void } {
    const { args, env = {} } = this.#options;
    const variables = Object.entries(env).filter(([, value]) => value !== undefined);
    const environment = variables.map(([name, value]) => `${name}=${value}`);
    const { length } = argumentBlock(args, environment, 0n).bytes;
    const argv = this.#allocate(this.#program.shared, length, 'argv and envp');
    const { bytes, environmentOffset } = argumentBlock(args, environment, argv);
    this.#program.view(argv, length).set(bytes);
    return {
      writeArguments: (data) => {
        data.setInt32(0, args.length, true);
        data.setBigUint64(8, argv, true);
        data.setBigUint64(16, argv + BigInt(environmentOffset), true);
      },
    };
  }

  async #launch(
    { kernel, threads, writeArguments }: ProgramLaunch,
    prepared: PreparedLaunch<ProgramKernel>,
  ): Promise<void> {
    const name = kernelName(kernel);
    const { kernargSizeBytes } = prepared.sizes;
    const kernarg = this.#allocate(this.#program.arguments, kernargSizeBytes, `kernarg of ${name}`);
    const data = this.#data(kernarg, kernargSizeBytes);
    writeArguments(data);
    this.#options.onKernel?.(this.#image.resources(kernel, threads, this.#options.stackSizeBytes));
    if (this.#server) this.#server.laneStride = kernel.wavefrontSize;
    const startMs = performance.now();
    using running = this.#program.start(prepared, kernarg);
    await this.#finish(name, running);
    this.#kernels.push({
      kernel: name,
      durationMs: performance.now() - startMs,
      statistics: running.statistics,
    });
  }

  /**
   * Slices of the device and of the server in turns, until the kernel is complete and what it left in ports
   * is served.
   */
  async #finish(name: string, running: StartedKernel): Promise<void> {
    let sliceMs = FIRST_SLICE_MS;
    for (let waits = 0; ; ) {
      const state = running.advance(sliceMs);
      const complete = running.isComplete;
      const served = this.#server?.poll(complete) ?? 0;
      if (this.#host.terminated) {
        this.#program.stop();
        return;
      }
      if (running.error !== undefined) throw running.error;
      if (complete && served === 0) break;
      assert(complete || state !== 'idle', () => `kernel ${name} is neither running nor complete`);
      sliceMs = served === 0 ? Math.min(2 * sliceMs, MAX_SLICE_MS) : FIRST_SLICE_MS;
      waits = served === 0 && state === 'waiting' ? waits + 1 : 0;
      await this.#pause(name, state, waits);
    }
    this.#server?.expectIdle(name);
  }

  async #pause(name: string, state: AdvanceResult, waits: number): Promise<void> {
    const { signal, onAbort } = this.#options;
    if (signal?.aborted) {
      onAbort?.(name, this.#waveLines());
      throw signal.reason;
    }
    const nowMs = performance.now();
    if (this.#limit.isOver(nowMs)) throw this.#timeout(name);
    const sleeps = state === 'waiting' && waits > SPIN_TURNS;
    if (!sleeps && nowMs < this.#nextYield) return;
    const sleepMs = sleeps ? Math.min(1 + (waits - SPIN_TURNS) / TURNS_PER_SLEEP_MS, MAX_SLEEP_MS) : 0;
    await this.#limit.wait(sleepMs);
    const intervalMs = this.#server?.waitingForHost ? HOST_YIELD_INTERVAL_MS : YIELD_INTERVAL_MS;
    this.#nextYield = performance.now() + intervalMs;
  }

  #timeout(name: string): WavewrightError {
    const what = `the time limit of ${this.#options.timeoutMs! / 1000} s ran out in kernel '${name}'`;
    return new WavewrightError('TIMEOUT', [what, ...this.#waveLines()].join('\n  '));
  }

  #waveLines(): string[] {
    const waves = this.#program.describeWaves();
    const lines = waves.slice(0, MAX_LISTED_WAVES);
    if (waves.length > lines.length) lines.push(`and ${waves.length - lines.length} more waves`);
    return lines;
  }
}
