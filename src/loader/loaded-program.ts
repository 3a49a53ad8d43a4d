/**
 * What running a program asks of the GPU that it is built for. There is one implementation for each kind:
 * `amdgpu-program.ts` and `ptx-program.ts`.
 */
import type { WavewrightError } from '../base/errors.ts';
import type { AdvanceResult, Device } from '../device/device.ts';
import type { DispatchStatistics } from '../device/statistics.ts';
import type { HeapMemory } from '../hsa/memory/device-heap.ts';
import type { LaunchableKernel } from '../launch/launchable-kernel.ts';
import type { PreparedLaunch } from '../launch/prepare.ts';
import type { DispatchShape, KernelResources } from './resource-usage.ts';
import type { Generation } from './rpc/protocol/generation.ts';

export interface ProgramKernel extends LaunchableKernel {
  readonly wavefrontSize: 32 | 64;
}

/** A kernel that was started; `using` gives back what its launch took. */
export interface StartedKernel extends Disposable {
  /** Lets the device go on for about so long. */
  advance(sliceMs: number): AdvanceResult;
  readonly isComplete: boolean;
  /** Why it was stopped, where it was. */
  readonly error: WavewrightError | undefined;
  /** What it has executed. */
  readonly statistics: DispatchStatistics;
}

/** `using` stops its kernels and frees its memory. */
export interface LoadedProgram extends Disposable {
  readonly device: Device;
  readonly kernels: readonly ProgramKernel[];
  /** What `malloc` takes its memory from. */
  readonly heap: HeapMemory;
  /** Memory that the host uses while kernels run, and memory of their arguments. */
  readonly shared: HeapMemory;
  readonly arguments: HeapMemory;
  /**
   * Names of the kernels that run constructors and destructors, where the start-up code of the generation
   * leaves that to them.
   */
  constructorKernels(generation: Generation | undefined): { readonly init: string; readonly fini: string } | undefined;
  /** A kernel that others can name: a local one is not to be found. */
  findKernel(name: string): ProgramKernel | undefined;
  /** A variable of the program by its name. */
  findSymbol(name: string): { readonly address: bigint; readonly sizeBytes: number } | undefined;
  /** A copy of bytes of the loaded image; undefined where the range is not inside it. */
  readImage(address: bigint, sizeBytes: number): Uint8Array | undefined;
  /** False where the range is not inside the image. */
  writeImage(address: bigint, bytes: Uint8Array): boolean;
  /** Bytes of what `shared` or `arguments` gave. */
  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer>;
  resources(kernel: ProgramKernel, shape: DispatchShape): KernelResources;
  /** Starts a kernel whose explicit arguments stand at the address. */
  start(launch: PreparedLaunch<ProgramKernel>, argumentsAddress: bigint): StartedKernel;
  /** Where the output goes that kernels leave to their runtime, beside what they ask the RPC server for. */
  printTo?(print: (stream: 'stdout' | 'stderr', text: Uint8Array) => void): void;
  /** Cancels what runs; nothing starts any more. Idempotent. */
  stop(): void;
  /** A line for each resident wave, for reports of hangs. */
  describeWaves(): string[];
}
