/** Runs benchmark kernels of AMD GPUs on an emulated device, through the HSA runtime. */

import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { AmdgpuEmulatorOptions } from '../devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import { CodeObjectReader, createRuntime, type Queue, type Runtime } from '../hsa/index.ts';
import { launchPacket } from '../hsa/queues/queue-launch.ts';
import { createObservedQueue, type LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { FileBuffer, ParsedArgument } from '../launch/argument-text.ts';
import { placeArguments, writeArguments } from '../launch/kernel-arguments.ts';
import { prepareLaunch, writeHidden } from '../launch/prepare.ts';
import type { Argument, BenchmarkLaunch } from './kernels/kernel-benchmark.ts';

/** A code object and what to call it in errors. */
export interface KernelImage {
  readonly bytes: Uint8Array;
  readonly name: string;
}

export interface Measured {
  /** Thread CPU time of the dispatch, milliseconds. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Contents of the first buffer argument; the next run may change them. */
  readonly output: Uint8Array;
}

/** A device of some language that runs benchmark kernels. */
export interface BenchmarkRunner extends Disposable {
  /** Of all runs so far. */
  readonly statistics: DispatchStatistics;
  /**
   * Loads a kernel and allocates its arguments; the result runs it and can be called again. What a run leaves
   * in the buffers is there in the next one. Throws what loading throws; a run throws GPU_FAULT.
   */
  prepare(image: KernelImage, kernelName: string, launch: BenchmarkLaunch): () => Measured;
}

/** What a run gives that ends before it returns. */
export function measured(output: Uint8Array, run: () => void): Measured {
  const cpu = process.threadCpuUsage();
  const start = performance.now();
  run();
  const wallMs = performance.now() - start;
  const { user, system } = process.threadCpuUsage(cpu);
  return { cpuMs: (user + system) / 1000, wallMs, output };
}

export class KernelRunner implements BenchmarkRunner {
  readonly #device: Device;
  readonly #runtime: Runtime;
  readonly #queue: Queue;
  readonly #observer: LaunchObserver | undefined;

  /** On a new device with these options; or on one that is there, which is closed with this. */
  constructor(device: AmdgpuEmulatorOptions | Device, observer?: LaunchObserver) {
    this.#device = 'publishCode' in device ? device : createEmulatedDevice(device);
    this.#runtime = createRuntime({ devices: [this.#device] });
    this.#queue = createObservedQueue(this.#runtime, this.#runtime.gpuAgents[0]!, observer);
    this.#observer = observer;
  }

  get statistics(): DispatchStatistics {
    return this.#queue.statistics;
  }

  prepare(image: KernelImage, kernelName: string, { grid, workgroup, args }: BenchmarkLaunch): () => Measured {
    const agent = this.#runtime.gpuAgents[0]!;
    const executable = this.#runtime.createExecutable();
    executable.loadCodeObject(agent, new CodeObjectReader(image.bytes, image.name));
    executable.freeze();
    this.#observer?.onLoaded(this.#runtime, agent, executable);
    const kernel = executable.getSymbol(`${kernelName}.kd`);
    if (kernel.kind !== 'kernel') throw new WavewrightError('BAD_INPUT', `${kernelName} is a ${kernel.kind}`);
    const pool = agent.pool('coarse-grained');
    const buffers: Uint8Array[] = [];
    const address = ({ contents, sizeBytes }: FileBuffer): bigint => {
      const start = pool.allocate(sizeBytes);
      const buffer = this.#runtime.view(start, sizeBytes);
      buffer.set(contents);
      buffers.push(buffer);
      return start;
    };
    const placed = placeArguments(kernel, args.map(dispatchArgument));
    const { localSizeBytes: dynamicGroupSizeBytes, argumentsSizeBytes } = placed;
    const prepared = prepareLaunch(this.#device, kernel, {
      grid,
      workgroup,
      argumentsSizeBytes,
      dynamicGroupSizeBytes,
    });
    const { kernargSizeBytes } = prepared.sizes;
    const kernarg = pool.allocate(kernargSizeBytes);
    const segment = this.#runtime.view(kernarg, kernargSizeBytes);
    const data = new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes);
    writeArguments(data, placed, { address, functionAddress: () => 0n });
    writeHidden(prepared, data, this.#queue.address);
    const signal = this.#runtime.createSignal(1n);
    const packet = launchPacket(prepared, kernarg, signal);
    return () => {
      signal.store(1n);
      const result = measured(buffers[0]!, () => {
        this.#queue.dispatch(packet);
        signal.waitSync('lt', 1n);
      });
      if (this.#queue.error !== undefined) throw this.#queue.error.error;
      return result;
    };
  }

  [Symbol.dispose](): void {
    this.#runtime[Symbol.dispose]();
    this.#device.close();
  }
}

export function dispatchArgument(argument: Argument, index: number): ParsedArgument {
  const text = `${index + 1}`;
  if (typeof argument === 'number') {
    return { kind: 'value', text, bytes: new Uint8Array(Int32Array.of(argument).buffer) };
  }
  const sizeBytes = 'sizeBytes' in argument ? argument.sizeBytes : argument.byteLength;
  const contents =
    'sizeBytes' in argument ? new Uint8Array() : new Uint8Array(argument.buffer, argument.byteOffset, sizeBytes);
  return { kind: 'buffer', text, contents, sizeBytes, output: undefined };
}
