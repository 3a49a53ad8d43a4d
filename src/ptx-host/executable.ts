/** Code for NVIDIA GPUs on a device: compiled for a virtual one, or loaded by the driver of a real one. */
import type { WavewrightError } from '../base/errors.ts';
import type { Device } from '../device/device.ts';
import type { DriverImage } from '../device/driver.ts';
import type { GuestAddress } from '../device/guest-address.ts';
import type { Dispatch } from '../device/launch.ts';
import type { LaunchableKernel } from '../launch/launchable-kernel.ts';
import type { Print } from '../services/hostcall/server.ts';

/** A kernel that can be launched: its parameters, and where its header is, or what its driver calls it. */
export interface PtxKernel extends LaunchableKernel {
  readonly entry: GuestAddress;
  /** Registers of 32 bits: those that are live at a time, or those that the driver gives a thread. */
  readonly registerCount: number;
}

/** A variable, kernel or function in device memory; `sizeBytes` of what runs is that of its code. */
export interface PtxSymbol {
  readonly address: bigint;
  readonly sizeBytes: number;
}

/** `using` takes it off the device; nothing of it may run any more. */
export interface NvptxExecutable extends Disposable {
  readonly kernels: readonly PtxKernel[];
  /** Device memory of code and variables, as far as it is known. */
  readonly sizeBytes: number;
  /** Names of variables, in the order of the text. */
  readonly names: Iterable<string>;
  symbol(name: string): PtxSymbol | undefined;
  /** The address of a variable, kernel or function. Throws USAGE for a name that nothing defines. */
  addressOf(name: string): bigint;
  /** Bytes of the modules as they are now; undefined where the range is not inside one of them. */
  read(address: bigint, sizeBytes: number): Uint8Array | undefined;
  /** False where the range is not inside a module. */
  write(address: bigint, bytes: Uint8Array): boolean;
  /** Serves what kernels ask their runtime for by now; how many. For between the slices of the device. */
  serve(): number;
  /** Takes back what kernels allocated. */
  resetServices(): void;
  printTo(print: Print): void;
  /** Why a dispatch of a kernel ended before it was complete, if it did. */
  errorOf(dispatch: Dispatch, kernel: Pick<PtxKernel, 'name'>, privateSizeBytes?: number): WavewrightError | undefined;
  /** The line that the instruction at an address comes from, where that is known. */
  sourceText(pc: bigint): string | undefined;
}

/** A PTX text, and what errors call it. */
export interface PtxText {
  readonly text: string;
  readonly name: string;
}

/** What is loaded: all of it is linked with each other. */
export interface NvptxCode {
  readonly texts: readonly PtxText[];
  /** Machine code, which takes a device with a driver. */
  readonly cubins?: readonly Omit<DriverImage, 'kind'>[];
}

export interface NvptxLoadOptions {
  /** What kernels print, where they run on a virtual device; a driver prints it itself. */
  readonly onPrint?: Print | undefined;
  /** Bytes that device malloc gives out together. Default: 8 MiB, as CUDA's. */
  readonly heapBytes?: number | undefined;
  /** Functions that the host wants to know the address of, though no kernel needs them. */
  readonly wanted?: readonly string[];
}

/** Memory that a kernel's arguments point to. */
export interface ArgumentMemory {
  /** The address of zero-filled memory. Throws LIMIT_EXCEEDED when memory is exhausted. */
  allocate(sizeBytes: number, label: string): bigint;
  free(address: bigint): void;
  write(address: bigint, bytes: Uint8Array): void;
  read(address: bigint, sizeBytes: number): Uint8Array;
}

/** The GPU's own where it has some. */
export function argumentMemory({ driver, memory }: Device): ArgumentMemory {
  if (driver) return driver.memory;
  return {
    allocate: (sizeBytes, label) => memory.allocate(sizeBytes, { label }),
    free: (address) => memory.free(address),
    write: (address, bytes) => memory.view(address, bytes.length).set(bytes),
    read: (address, sizeBytes) => memory.view(address, sizeBytes).slice(),
  };
}
