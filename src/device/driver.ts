/**
 * What the driver of a GPU does that only it can: it loads code whose format, or whose compiler, is its own,
 * and keeps memory that the host does not see.
 */
import type { GuestAddress } from './guest-address.ts';

/** Code for a driver: PTX, which it compiles, or machine code (a cubin). */
export interface DriverImage {
  /** What errors call it. */
  readonly name: string;
  readonly kind: 'ptx' | 'cubin';
  readonly bytes: Uint8Array;
}

/** What the driver says of a kernel. */
export interface DriverKernel {
  /** What a launch names. */
  readonly entry: GuestAddress;
  /** Registers of a thread. */
  readonly registerCount: number;
  /** Of a block, without dynamic memory. */
  readonly sharedSizeBytes: number;
  /** Private memory of a thread, without its stack. */
  readonly privateSizeBytes: number;
  readonly maxWorkgroupSize: number;
}

/** Code that was loaded; `using` unloads it: nothing of it may run any more. */
export interface DriverModule extends Disposable {
  /**
   * `parametersSizeBytes`: of its block of arguments, which launches hand over whole. Throws BAD_INPUT where
   * there is no such kernel.
   */
  kernel(name: string, parametersSizeBytes: number): DriverKernel;
  /** A variable that other modules can name; undefined where there is none. */
  variable(name: string): { readonly address: bigint; readonly sizeBytes: number } | undefined;
}

/** Memory that the host reaches by copies alone. */
export interface CopiedMemory {
  /** The address of zero-filled memory. Throws LIMIT_EXCEEDED when memory is exhausted. */
  allocate(sizeBytes: number): bigint;
  free(address: bigint): void;
  /** Addresses of variables of modules are taken, too. */
  write(address: bigint, bytes: Uint8Array): void;
  read(address: bigint, sizeBytes: number): Uint8Array;
}

/** Memory of the GPU that is given out while kernels run, with whatever was in it before. */
export interface RunningHeap {
  /** Throws LIMIT_EXCEEDED when memory is exhausted, UNSUPPORTED where the driver cannot do this. */
  allocate(sizeBytes: number): bigint;
  free(address: bigint): void;
}

export interface DeviceDriver {
  /** Several images are linked with each other. Throws BAD_INPUT with what the driver says, UNSUPPORTED. */
  load(images: readonly DriverImage[]): DriverModule;
  readonly memory: CopiedMemory;
  readonly heap: RunningHeap;
}
