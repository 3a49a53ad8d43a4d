/**
 * The contract between the HSA runtime and whatever executes kernels: the emulator, or a real GPU reached by FFI. One suite
 * runs against every implementation. All addresses are GPU virtual addresses; host code reaches its own through `view`, those that GPU code
 * can have chosen through `guestView`.
 */
import type { WavewrightError } from '../base/errors.ts';
import type { SourceLine } from '../codeobject/line-table.ts';
import type { GuestAddress, HostAddress } from './guest-address.ts';

export interface DeviceProperties {
  /** Processor as LLVM names it, e.g. `gfx90a`. */
  readonly processor: string;
  /** Full target id with the feature settings of this device, e.g. `gfx90a:sramecc+:xnack-`. */
  readonly targetId: string;
  /** Lanes of a wave that the device prefers; kernels state their own. */
  readonly wavefrontSize: 32 | 64;
  readonly computeUnitCount: number;
  readonly ldsSizeBytes: number;
  /** Private memory (scratch) that a work-item can have. */
  readonly maxPrivateSizeBytes: number;
  readonly maxWorkgroupSize: number;
  readonly maxWavesPerComputeUnit: number;
  readonly memorySizeBytes: number;
  /** Ticks per second of `clock` and of s_memrealtime. */
  readonly timestampFrequencyHz: number;
  /** High words of the flat apertures (group_aperture_hi, private_aperture_hi). */
  readonly sharedApertureHi: number;
  readonly privateApertureHi: number;
  /** What a board adds to a processor; all of it may be absent, for the emulator it is. */
  readonly board?: BoardProperties;
}

/** Figures of a real GPU that only reports and tuning ask for. */
export interface BoardProperties {
  readonly productName?: string;
  /** At most 20 characters; `GPU-` and 16 hexadecimal digits. */
  readonly uuid?: string;
  readonly chipId?: number;
  readonly asicRevision?: number;
  /** Bus, device and function, as 16 bits; and the PCI domain. */
  readonly pciLocation?: number;
  readonly pciDomain?: number;
  readonly maxClockMhz?: number;
  readonly memoryClockMhz?: number;
  readonly memoryWidthBits?: number;
  readonly simdsPerComputeUnit?: number;
  readonly shaderEngineCount?: number;
  readonly shaderArraysPerEngine?: number;
  readonly xccCount?: number;
  readonly cachelineSizeBytes?: number;
  /** From the one nearest to the compute units on. */
  readonly caches?: readonly { readonly name: string; readonly level: number; readonly sizeBytes: number }[];
}

export interface Allocation {
  readonly address: bigint;
  readonly sizeBytes: number;
  /** Who asked for it, for fault reports: "kernarg pool", "code object hello.co", "malloc". */
  readonly label: string;
  /** What kernels may do there, if not everything. */
  readonly access?: 'none' | 'read';
}

export interface AllocateOptions {
  /** Power of two, at least 4096 is used. */
  alignmentBytes?: number;
  label?: string;
  /** GPU stores fault. The host may still write. */
  readOnly?: boolean;
}

/** What whoever follows addresses from outside has of a memory. */
export interface GuestMemory {
  /**
   * Live host view of memory that the GPU itself may use so now; undefined where it may not: nothing is allocated there, the range is not inside
   * one allocation, access was taken away, it is read-only, or it is the device's own. Looked up again for each use: what was there may be freed.
   */
  guestView(address: GuestAddress, sizeBytes: number, access: GuestAccess): Uint8Array<SharedArrayBuffer> | undefined;
}

export type GuestAccess = 'read' | 'write';

export interface DeviceMemory extends GuestMemory {
  /** Zero-filled. Throws LIMIT_EXCEEDED when memory is exhausted, USAGE on a bad size or alignment. */
  allocate(sizeBytes: number, options?: AllocateOptions): bigint;
  /** Throws USAGE when `address` is not the start of a live allocation. */
  free(address: bigint): void;
  /**
   * Live host view of what the host allocated (backed by a SharedArrayBuffer), whatever kernels may do there. Throws USAGE when the range is not
   * inside one allocation.
   */
  view(address: HostAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer>;
  /** The live allocation of the host's that contains `address`: for reports, and to tell memories apart. */
  find(address: bigint): Allocation | undefined;
  /**
   * Lets kernels use the allocation that starts at `address`, or not; the host uses it in any case. Absent where the device cannot take access away.
   * Throws USAGE.
   */
  setAccess?(address: bigint, isAllowed: boolean): void;
}

/** A kernel dispatch packet after the queue has parsed it. Sizes in work-items. */
export interface KernelDispatch {
  readonly workgroupSize: readonly [number, number, number];
  readonly gridSize: readonly [number, number, number];
  readonly privateSegmentSizeBytes: number;
  readonly groupSegmentSizeBytes: number;
  /** Address of the 64-byte kernel descriptor. */
  readonly kernelObject: GuestAddress;
  readonly kernargAddress: GuestAddress;
  /** Addresses that the kernel may ask for in its initial SGPRs. */
  readonly dispatchPacketAddress: bigint;
  readonly queueAddress: bigint;
  readonly dispatchId: bigint;
}

export type FaultKind = 'memory' | 'aperture' | 'illegal-instruction' | 'unsupported' | 'exception' | 'lds';

/** Why a dispatch stopped. `message` is complete and readable; the parts are there for programs. */
export interface Fault {
  readonly kind: FaultKind;
  readonly message: string;
  /** The part of the message that says what was attempted, and the one that says what memory is there, where the device tells them apart. */
  readonly what?: string;
  readonly near?: string;
  readonly pc: bigint;
  /** Instruction text as LLVM prints it. */
  readonly instruction: string;
  /** Kernel or function symbol and offset, e.g. `_start+0x40`; empty when unknown. */
  readonly location: string;
  readonly workgroup: readonly [number, number, number];
  readonly wave: number;
  readonly lane?: number;
  readonly address?: bigint;
  readonly access?: 'read' | 'write' | 'atomic' | 'execute';
  readonly nearestAllocation?: Allocation;
  /** The allocation that the address was in before it was freed. */
  readonly freedAllocation?: Allocation;
  /** Filled in by the runtime: the line that the instruction comes from, where the code object has line tables. */
  readonly source?: SourceLine;
  /** Filled in by the runtime: where the host freed that allocation, as a line of a stack trace. */
  readonly freedBy?: string;
}

/** Wave-instructions by what ran them: reference executor, handlers (T0), compiled regions (T1), loops compiled as a whole (T2). */
export type TierInstructions = Readonly<Record<'reference' | 'handlers' | 'regions' | 'loops', number>>;

/**
 * Wave-instructions by class, as the counters SQ_INSTS_* of rocprof tell them apart. `vmem`: global, buffer and image accesses; `valu`:
 * without `matrix`; `other`: waits, barriers, s_nop, s_endpgm and the like.
 */
export type ClassInstructions = Readonly<
  Record<
    | 'valu'
    | 'matrix'
    | 'salu'
    | 'smem'
    | 'vmem'
    | 'flat'
    | 'scratch'
    | 'lds'
    | 'branch'
    | 'message'
    | 'export'
    | 'other',
    number
  >
>;

export interface DispatchStatistics {
  /** Wave-instructions executed. */
  readonly instructions: number;
  readonly tiers: TierInstructions;
  /** Absent where the device does not count them. */
  readonly classes?: ClassInstructions;
  readonly workgroups: number;
  readonly waves: number;
}

export interface Dispatch {
  readonly state: 'running' | 'complete' | 'faulted' | 'cancelled';
  readonly fault?: Fault | undefined;
  /** Why the device cancelled it, where it was not asked to: what it needed was not there. */
  readonly error?: WavewrightError | undefined;
  /** Device clock ticks. */
  readonly startTicks: bigint;
  readonly endTicks: bigint;
  readonly statistics: DispatchStatistics;
  /** Stops all waves; used by time limits and by a program's exit. Idempotent. */
  cancel(): void;
  /** Where the resident waves stand, for a kernel that does not end: a bounded number of lines, and what it looks like. */
  describeWaves(sourceOf?: (pc: bigint) => string | undefined): string[];
}

/**
 * What one call of `advance` achieved: `idle`: nothing is left to run; `running`: there is more to do; `waiting`: every resident
 * wave sleeps or spins (s_sleep, barrier), so that only the host, or time, can make progress.
 */
export type AdvanceResult = 'idle' | 'running' | 'waiting';

/** `using` closes it. */
export interface Device extends Disposable {
  /** As the user names it: `emulated:gfx90a`. */
  readonly name: string;
  readonly properties: DeviceProperties;
  readonly memory: DeviceMemory;
  /** Device clock, ticks of `timestampFrequencyHz`. */
  clock(): bigint;
  /** Tells the device that code was written, and names its functions for reports. Must be called before the code runs. */
  publishCode(code: PublishedCode): void;
  /** Withdraws published code before its memory is freed. */
  withdrawCode(address: bigint): void;
  /** Starts a kernel. Several may run at once. Throws WavewrightError for what the packet can be refused for. */
  dispatch(packet: KernelDispatch): Dispatch;
  /** The queue is gone whose `queueAddress` dispatches had. Nothing of it runs any more. */
  releaseQueue?(queueAddress: bigint): void;
  /** Runs resident waves for about `sliceMs` (default 5) on the calling thread. A device with threads of its own returns at once. */
  advance(sliceMs?: number): AdvanceResult;
  /**
   * Cancels what runs. Then everything is refused with NOT_INITIALIZED but giving back: `free`, `withdrawCode`, `releaseQueue` and another `close`,
   * which do nothing.
   */
  close(): void;
}

export interface PublishedCode {
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly name: string;
  /** Function and kernel symbols, in device addresses. */
  readonly symbols: readonly { readonly name: string; readonly address: bigint; readonly sizeBytes: number }[];
}
