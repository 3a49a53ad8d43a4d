/** A program for an AMD GPU: a code object in an executable of the HSA runtime, its kernels in a queue. */
import type { AdvanceResult, Device } from '../device/device.ts';
import { addStatistics, type DispatchStatistics } from '../device/statistics.ts';
import type { Executable } from '../hsa/executables/executable.ts';
import type { KernelSymbol } from '../hsa/executables/kernel-symbol.ts';
import { CodeObjectReader } from '../hsa/executables/loaded-code-object.ts';
import type { Agent } from '../hsa/objects/agent.ts';
import type { MemoryPool } from '../hsa/objects/memory-pool.ts';
import type { Queue } from '../hsa/queues/queue.ts';
import { launchPacket } from '../hsa/queues/queue-launch.ts';
import { createObservedQueue, type LaunchObserver } from '../hsa/runtime/launch-observer.ts';
import { createRuntime, type Runtime } from '../hsa/runtime/runtime.ts';
import type { Signal } from '../hsa/signals/signal.ts';
import { type PreparedLaunch, writeHidden } from '../launch/prepare.ts';
import type { LoadedProgram, StartedKernel } from './loaded-program.ts';
import { type DispatchShape, type KernelResources, kernelResources } from './resource-usage.ts';

export class AmdgpuProgram implements LoadedProgram {
  readonly device: Device;
  readonly kernels: readonly KernelSymbol[];
  readonly heap: MemoryPool;
  readonly shared: MemoryPool;
  readonly arguments: MemoryPool;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #executable: Executable;
  readonly #resources: DisposableStack;
  readonly #queue: Queue;

  /** Loads and links the image; `observer` sees it, and what is launched. Throws what loading throws. */
  constructor(device: Device, bytes: Uint8Array, name: string, observer?: LaunchObserver) {
    this.device = device;
    using resources = new DisposableStack();
    this.#runtime = resources.use(createRuntime({ devices: [device] }));
    this.#agent = this.#runtime.gpuAgents[0]!;
    this.#executable = resources.use(this.#runtime.createExecutable());
    this.#executable.loadCodeObject(this.#agent, new CodeObjectReader(bytes, name));
    // The program's own start-up code calls them, or the loader starts their kernels in the order that it
    // wants.
    this.#executable.freeze({ constructors: 'none' });
    this.kernels = this.#executable.symbols.filter((symbol) => symbol.kind === 'kernel');
    this.heap = this.#agent.pool('coarse-grained');
    this.shared = this.#runtime.cpuAgent.pool('fine-grained', this.#agent);
    this.arguments = this.#runtime.cpuAgent.pool('kernarg', this.#agent);
    this.#queue = resources.use(createObservedQueue(this.#runtime, this.#agent, observer));
    observer?.onLoaded(this.#runtime, this.#agent, this.#executable);
    this.#resources = resources.move();
  }

  /** Only images of generation P23 have them. */
  constructorKernels(): { readonly init: string; readonly fini: string } {
    return { init: 'amdgcn.device.init', fini: 'amdgcn.device.fini' };
  }

  findKernel(name: string): KernelSymbol | undefined {
    const symbol = this.#executable.findSymbol(`${name}.kd`);
    return symbol?.kind === 'kernel' ? symbol : undefined;
  }

  findSymbol(name: string): { readonly address: bigint; readonly sizeBytes: number } | undefined {
    return this.#executable.findSymbol(name);
  }

  readImage(address: bigint, sizeBytes: number): Uint8Array | undefined {
    return this.#imageView(address, sizeBytes)?.slice();
  }

  writeImage(address: bigint, bytes: Uint8Array): boolean {
    const view = this.#imageView(address, bytes.length);
    view?.set(bytes);
    return view !== undefined;
  }

  #imageView(address: bigint, sizeBytes: number): Uint8Array | undefined {
    const { address: start, sizeBytes: imageSizeBytes } = this.#executable.loadedCodeObjects[0]!;
    if (address < start || address + BigInt(sizeBytes) > start + BigInt(imageSizeBytes)) return undefined;
    return this.#runtime.view(address, sizeBytes);
  }

  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return this.#runtime.view(address, sizeBytes);
  }

  resources(kernel: KernelSymbol, shape: DispatchShape): KernelResources {
    return kernelResources(kernel, shape);
  }

  start(launch: PreparedLaunch<KernelSymbol>, argumentsAddress: bigint): StartedKernel {
    const queue = this.#queue;
    const segment = this.view(argumentsAddress, launch.sizes.kernargSizeBytes);
    writeHidden(launch, new DataView(segment.buffer, segment.byteOffset, segment.length), queue.address);
    const completion = this.#runtime.createSignal(1n, this.#agent);
    const running = new QueuedKernel(this.#runtime, queue, completion);
    queue.dispatch(launchPacket(launch, argumentsAddress, completion));
    return running;
  }

  stop(): void {
    this.#queue.inactivate();
  }

  describeWaves(): string[] {
    return this.#queue.describeWaves();
  }

  [Symbol.dispose](): void {
    this.#resources.dispose();
  }
}

class QueuedKernel implements StartedKernel {
  readonly #runtime: Runtime;
  readonly #queue: Queue;
  readonly #completion: Signal;
  readonly #before: DispatchStatistics;

  constructor(runtime: Runtime, queue: Queue, completion: Signal) {
    this.#runtime = runtime;
    this.#queue = queue;
    this.#completion = completion;
    this.#before = queue.statistics;
  }

  advance(sliceMs: number): AdvanceResult {
    return this.#runtime.progress(sliceMs);
  }

  get isComplete(): boolean {
    return this.#completion.load() <= 0n;
  }

  get error() {
    return this.#queue.error?.error;
  }

  get statistics(): DispatchStatistics {
    return addStatistics(this.#queue.statistics, this.#before, -1);
  }

  [Symbol.dispose](): void {
    this.#completion[Symbol.dispose]();
  }
}
