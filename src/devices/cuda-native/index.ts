/** A real NVIDIA GPU behind the Device contract: `cuda:N`, through the driver of the machine. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { AdvanceResult, Device } from '../../device/device.ts';
import type { DeviceDriver } from '../../device/driver.ts';
import type { Dispatch, KernelLaunch } from '../../device/launch.ts';
import type { DeviceProperties } from '../../device/properties.ts';
import { Lifetime } from '../../hsa/objects/lifetime.ts';
import { checkLaunchSizes } from '../../launch/launch-sizes.ts';
import { checkWholeBlocks } from '../../launch/whole-blocks.ts';
import { SharedHostMemory } from '../native/host-memory.ts';
import type { LibraryOptions } from '../native/shared-library.ts';
import { CudaContext } from './context.ts';
import { CudaLibrary } from './library.ts';
import { GpuMemory, PinnedMemory, StreamHeap } from './memory.ts';
import { CudaModule, type LoadedKernel } from './module.ts';
import { type CudaGpu, countGpus, findGpu, GpuQueries, type LaunchLimits } from './properties.ts';
import { CudaStream } from './stream.ts';

export { CUDA_LIBRARY_VARIABLE } from './library.ts';
export type { CudaGpu } from './properties.ts';

export interface CudaDeviceOptions extends LibraryOptions {
  /** Which GPU. Default 0. */
  readonly index?: number;
}

class CudaDevice implements Device {
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: SharedHostMemory;
  readonly driver: DeviceDriver;
  readonly #context: CudaContext;
  readonly #limits: LaunchLimits;
  readonly #kernels = new Map<bigint, LoadedKernel>();
  readonly #memory: GpuMemory;
  readonly #heap: StreamHeap;
  /** Streams by the address of the queue that they work for; 0 has launches without a queue. */
  readonly #streams = new Map<bigint, CudaStream>();
  readonly #lifetime: Lifetime;

  constructor(library: CudaLibrary, gpu: GpuQueries) {
    this.name = `cuda:${gpu.index}`;
    if (gpu.attribute('hasUnifiedAddresses') === 0) {
      throw new WavewrightError('UNSUPPORTED', `${this.name} and the host have no common addresses`);
    }
    this.properties = gpu.properties;
    this.#limits = gpu.limits;
    const lifetime = new Lifetime(1, `device ${this.name} was closed`);
    const context = new CudaContext(library, gpu.handle, this.name);
    this.#lifetime = lifetime;
    this.#context = context;
    this.memory = new SharedHostMemory(library.ffi, new PinnedMemory(context), lifetime);
    const memory = new GpuMemory(context);
    const heap = new StreamHeap(context);
    this.#memory = memory;
    this.#heap = heap;
    const kernels = this.#kernels;
    this.driver = {
      memory,
      heap,
      load(images) {
        lifetime.expect();
        return new CudaModule(context, images, kernels);
      },
    };
  }

  clock(): bigint {
    this.#lifetime.expect();
    return process.hrtime.bigint();
  }

  publishCode(): void {
    this.#lifetime.expect();
    throw new WavewrightError('UNSUPPORTED', `code in memory of ${this.name}: its driver loads modules`);
  }

  withdrawCode(): void {}

  dispatch(launch: KernelLaunch): Dispatch {
    this.#lifetime.expect();
    const kernel = this.#kernels.get(launch.entry);
    if (!kernel) throw new WavewrightError('BAD_INPUT', `there is no kernel at ${hex(launch.entry)}`);
    checkWholeBlocks(this, launch);
    this.#checkExtents(launch);
    checkLaunchSizes(this, undefined, {
      groupSegmentSizeBytes: launch.resources.groupSizeBytes,
      privateSegmentSizeBytes: launch.resources.privateSizeBytes,
    });
    const { queueAddress = 0n } = launch.origin ?? {};
    let stream = this.#streams.get(queueAddress);
    if (stream === undefined) {
      stream = new CudaStream(this.#context);
      this.#streams.set(queueAddress, stream);
    }
    return stream.dispatch(kernel, launch);
  }

  #checkExtents({ workgroupSize, gridSize }: KernelLaunch): void {
    const { block, grid } = this.#limits;
    const blocks = gridSize.map((size, d) => size / workgroupSize[d]!);
    const isPlaced = workgroupSize.every((size, d) => size <= block[d]!) && blocks.every((n, d) => n <= grid[d]!);
    if (isPlaced) return;
    const asked = `a grid of ${blocks.join(' x ')} blocks of ${workgroupSize.join(' x ')} threads`;
    const most = `at most ${grid.join(' x ')} blocks of ${block.join(' x ')}`;
    throw new WavewrightError('USAGE', `${asked}; ${this.name} takes ${most}`);
  }

  releaseQueue(queueAddress: bigint): void {
    this.#streams.get(queueAddress)?.close();
    this.#streams.delete(queueAddress);
  }

  /** Kernels run whether the host looks or not: whoever has nothing to do meanwhile may sleep. */
  advance(): AdvanceResult {
    this.#lifetime.expect();
    let isRunning = false;
    for (const stream of this.#streams.values()) isRunning = stream.advance() || isRunning;
    return isRunning ? 'waiting' : 'idle';
  }

  close(): void {
    if (!this.#lifetime.isLive) return;
    for (const stream of this.#streams.values()) stream.close();
    this.memory.freeAll();
    this.#memory.freeAll();
    this.#heap.freeAll();
    this.#lifetime.release();
    this.#context.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Throws NO_DEVICE, with what was tried, where there is no driver, no GPU, or no GPU of that number. */
export async function openCudaDevice({ index = 0, ...options }: CudaDeviceOptions = {}): Promise<Device> {
  return startCudaDevice(await CudaLibrary.open(options), index);
}

/** Throws as `openCudaDevice`; nothing is opened. */
export async function expectCudaGpu({ index = 0, ...options }: CudaDeviceOptions = {}): Promise<void> {
  findGpu(await CudaLibrary.open(options), index);
}

/** Opens a device of a library that is already loaded. Errors as `openCudaDevice`. */
export const startCudaDevice = (library: CudaLibrary, index: number): Device =>
  new CudaDevice(library, findGpu(library, index));

export interface CudaMachine {
  readonly library: string;
  /** The CUDA version that the driver has: `12.8`. */
  readonly driverVersion: string;
  readonly gpus: readonly CudaGpu[];
}

/** The GPUs of the machine; none of them is opened. Throws NO_DEVICE where there is no driver, or no GPU. */
export async function describeCudaMachine(options: LibraryOptions = {}): Promise<CudaMachine> {
  const library = await CudaLibrary.open(options);
  const count = countGpus(library);
  if (count === 0) findGpu(library, 0);
  const version = library.number((out) => library.call.cuDriverGetVersion(out), 'cuDriverGetVersion');
  return {
    library: library.path,
    driverVersion: `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`,
    gpus: Array.from({ length: count }, (_, index) => new GpuQueries(library, index).gpu),
  };
}
