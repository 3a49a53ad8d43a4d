/** A program for an NVIDIA GPU: PTX on a virtual one, PTX or a cubin on a real one. */
import type { AdvanceResult, Device } from '../device/device.ts';
import { guestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import type { DeviceMemory } from '../device/memory.ts';
import type { HeapMemory } from '../hsa/memory/device-heap.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { NvptxExecutable, PtxKernel } from '../ptx-host/executable.ts';
import { placeFunctionArrays } from '../ptx-host/function-arrays.ts';
import type { Print } from '../services/hostcall/server.ts';
import type { LoadedProgram, StartedKernel } from './loaded-program.ts';
import type { DispatchShape, KernelResources } from './resource-usage.ts';
import type { Generation } from './rpc/protocol/generation.ts';

/** PTX ISA, section 3.1: a warp. */
const WARP_SIZE = 32;

type PtxProgramKernel = PtxKernel & { readonly wavefrontSize: typeof WARP_SIZE };

export class PtxProgram implements LoadedProgram {
  readonly device: Device;
  readonly kernels: readonly PtxProgramKernel[];
  readonly heap: HeapMemory;
  readonly shared: DeviceMemory;
  readonly arguments: DeviceMemory;
  readonly #executable: NvptxExecutable;
  readonly #resources: DisposableStack;
  #running: Dispatch | undefined;

  /** Disposes of the executable. Throws BAD_INPUT for constructors that cannot be called. */
  constructor(device: Device, executable: NvptxExecutable) {
    const { memory, driver } = device;
    this.device = device;
    this.shared = this.arguments = memory;
    this.heap = driver?.heap ?? memory;
    using resources = new DisposableStack();
    this.#executable = resources.use(executable);
    this.kernels = executable.kernels.map((kernel) => ({ ...kernel, wavefrontSize: WARP_SIZE }));
    for (const address of placeFunctionArrays(executable, memory)) {
      resources.defer(() => memory.free(address));
    }
    this.#resources = resources.move();
  }

  /** Start-up code before P23 calls constructors itself, though LLVM writes these kernels beside it. */
  constructorKernels(generation: Generation | undefined) {
    return generation?.name === 'P23' ? { init: 'nvptx$device$init', fini: 'nvptx$device$fini' } : undefined;
  }

  findKernel(name: string): PtxProgramKernel | undefined {
    return this.kernels.find((kernel) => kernel.name === name);
  }

  findSymbol(name: string): { readonly address: bigint; readonly sizeBytes: number } | undefined {
    return this.#executable.symbol(name);
  }

  readImage(address: bigint, sizeBytes: number): Uint8Array | undefined {
    return this.#executable.read(address, sizeBytes);
  }

  writeImage(address: bigint, bytes: Uint8Array): boolean {
    return this.#executable.write(address, bytes);
  }

  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return this.device.memory.view(address, sizeBytes);
  }

  resources(kernel: PtxProgramKernel, { scratchSizeBytes }: DispatchShape): KernelResources {
    return {
      ...{ kernel: kernel.name, isPtx: true, vgprs: kernel.registerCount, agprs: 0, sgprs: 0, scratchSizeBytes },
      ...{ ldsSizeBytes: kernel.groupSegmentSizeBytes, hasDynamicStack: kernel.dynamicCallstack },
      ...{ kernargSizeBytes: kernel.kernargSegmentSizeBytes, wavefrontSize: WARP_SIZE, wavesPerSimd: undefined },
    };
  }

  start(launch: PreparedLaunch<PtxProgramKernel>, argumentsAddress: bigint): StartedKernel {
    const { kernel, grid, workgroup, sizes } = launch;
    const extent = (each: readonly number[]) => [each[0] ?? 1, each[1] ?? 1, each[2] ?? 1] as const;
    const privateSizeBytes = sizes.privateSegmentSizeBytes;
    const dispatch = this.device.dispatch({
      ...{ entry: kernel.entry, argumentsAddress: guestAddress(argumentsAddress) },
      ...{ gridSize: extent(grid), workgroupSize: extent(workgroup) },
      resources: { privateSizeBytes, groupSizeBytes: sizes.groupSegmentSizeBytes },
    });
    this.#running = dispatch;
    const errorOf = () => this.#executable.errorOf(dispatch, kernel, privateSizeBytes);
    return new DispatchedKernel(this.device, dispatch, { errorOf, serve: () => this.#executable.serve() });
  }

  printTo(print: Print): void {
    this.#executable.printTo(print);
  }

  stop(): void {
    this.#running?.cancel();
  }

  describeWaves(): string[] {
    return this.#running?.describeWaves((pc) => this.#executable.sourceText(pc)) ?? [];
  }

  [Symbol.dispose](): void {
    this.stop();
    this.#resources.dispose();
  }
}

interface KernelHost {
  readonly errorOf: () => StartedKernel['error'];
  readonly serve: () => number;
}

class DispatchedKernel implements StartedKernel {
  readonly #device: Device;
  readonly #dispatch: Dispatch;
  readonly #errorOf: () => StartedKernel['error'];
  readonly #serve: () => number;

  constructor(device: Device, dispatch: Dispatch, { errorOf, serve }: KernelHost) {
    this.#device = device;
    this.#dispatch = dispatch;
    this.#errorOf = errorOf;
    this.#serve = serve;
  }

  advance(sliceMs: number): AdvanceResult {
    const state = this.#device.advance(sliceMs);
    const served = this.#serve();
    // What was answered can go on.
    return served > 0 && state === 'waiting' ? 'running' : state;
  }

  get isComplete(): boolean {
    return this.#dispatch.state === 'complete';
  }

  get error() {
    return this.#errorOf();
  }

  get statistics() {
    return this.#dispatch.statistics;
  }

  [Symbol.dispose](): void {
    this.#dispatch.cancel();
  }
}
