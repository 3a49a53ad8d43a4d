/** Runs benchmark kernels of AMD GPUs on an emulated device, through the HSA runtime. */

import { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { AmdgpuEmulatorOptions } from '../devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../devices/emulated/index.ts';
import {
  CodeObjectReader,
  createRuntime,
  type Executable,
  type Queue,
  type Runtime,
  type Signal,
} from '../hsa/index.ts';
import { launchPacket } from '../hsa/queues/queue-launch.ts';
import { createObservedQueue, type LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import type { ParsedArgument } from '../launch/argument-text.ts';
import {
  type BufferArgument,
  type LaunchArgument,
  placeArguments,
  writeArguments,
} from '../launch/kernel-arguments.ts';
import { prepareLaunch, writeHidden } from '../launch/prepare.ts';
import {
  contentsBytes,
  contentsSizeBytes,
  type Plan,
  type PlanArgument,
  type PlanLaunch,
  plainArgumentBytes,
  planOf,
} from './applications/application.ts';
import type { Argument, BenchmarkLaunch } from './kernels/kernel-benchmark.ts';
import { timed } from './sampling.ts';

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

/** A plan whose buffers are allocated. */
export interface PreparedPlan {
  readonly run: () => Omit<Measured, 'output'>;
  /** The memory of a buffer, by its name; the next run may change it. */
  readonly buffer: (name: string) => Uint8Array;
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

  prepare(image: KernelImage, kernel: string, launch: BenchmarkLaunch): () => Measured {
    const plan = planOf(kernel, launch);
    const { run, buffer } = this.preparePlan(image, plan);
    const [first] = Object.keys(plan.buffers);
    const output = first === undefined ? new Uint8Array() : buffer(first);
    return () => ({ ...run(), output });
  }

  /**
   * Loads the kernels of a plan and allocates its buffers; `run` runs all launches and can be called again,
   * `buffer` is the memory of one by its name. Throws what loading throws; a run throws GPU_FAULT.
   */
  preparePlan(image: KernelImage, { buffers, restored, launches }: Plan): PreparedPlan {
    const agent = this.#runtime.gpuAgents[0]!;
    const executable = this.#runtime.createExecutable();
    executable.loadCodeObject(agent, new CodeObjectReader(image.bytes, image.name));
    executable.freeze();
    this.#observer?.onLoaded(this.#runtime, agent, executable);
    const pool = agent.pool('coarse-grained');
    const places = new Map(
      Object.entries(buffers).map(([name, contents]) => {
        const [sizeBytes, bytes] = [contentsSizeBytes(contents), contentsBytes(contents)];
        const address = pool.allocate(sizeBytes);
        const view = this.#runtime.view(address, sizeBytes);
        view.set(bytes);
        return [name, { address, view, bytes }] as const;
      }),
    );
    const signal = this.#runtime.createSignal(1n);
    const packets = launches.map((launch) => ({
      ...this.#packet(executable, launch, (name) => places.get(name)!.address, signal),
      barrier: true,
    }));
    const changed = restored.map((name) => places.get(name)!);
    const run = (): Omit<Measured, 'output'> => {
      for (const { view, bytes } of changed) view.set(bytes);
      signal.store(BigInt(packets.length));
      const times = timed(() => {
        for (const packet of packets) this.#queue.dispatch(packet);
        signal.waitSync('lt', 1n);
      });
      if (this.#queue.error !== undefined) throw this.#queue.error.error;
      return times;
    };
    return { run, buffer: (name) => places.get(name)!.view };
  }

  #packet(
    executable: Executable,
    { kernel: kernelName, grid, workgroup, args }: PlanLaunch,
    address: (name: string) => bigint,
    signal: Signal,
  ) {
    const kernel = executable.getSymbol(`${kernelName}.kd`);
    if (kernel.kind !== 'kernel') throw new WavewrightError('BAD_INPUT', `${kernelName} is a ${kernel.kind}`);
    const placed = placeArguments(kernel, args.map(planArgument));
    const { localSizeBytes: dynamicGroupSizeBytes, argumentsSizeBytes } = placed;
    const prepared = prepareLaunch(this.#device, kernel, {
      grid,
      workgroup,
      argumentsSizeBytes,
      dynamicGroupSizeBytes,
    });
    const { kernargSizeBytes } = prepared.sizes;
    const kernarg = this.#runtime.gpuAgents[0]!.pool('coarse-grained').allocate(kernargSizeBytes);
    const segment = this.#runtime.view(kernarg, kernargSizeBytes);
    const data = new DataView(segment.buffer, segment.byteOffset, kernargSizeBytes);
    writeArguments(data, placed, { address: ({ text }) => address(text), functionAddress: () => 0n });
    writeHidden(prepared, data, this.#queue.address);
    return launchPacket(prepared, kernarg, signal);
  }

  [Symbol.dispose](): void {
    this.#runtime[Symbol.dispose]();
    this.#device.close();
  }
}

export function dispatchArgument(argument: Argument, index: number): ParsedArgument {
  const text = `${index + 1}`;
  if (typeof argument === 'number') return { kind: 'value', text, bytes: plainArgumentBytes(argument) };
  const contents = contentsBytes(argument);
  return { kind: 'buffer', text, contents, sizeBytes: contentsSizeBytes(argument), output: undefined };
}

const planArgument = (argument: PlanArgument): LaunchArgument<BufferArgument> =>
  typeof argument === 'string'
    ? { kind: 'buffer', text: argument }
    : { kind: 'value', text: 'a number', bytes: plainArgumentBytes(argument) };
