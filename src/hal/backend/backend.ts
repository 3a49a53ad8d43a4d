/**
 * What a driver implements: memory, code, and queues that run commands. Everything that orders commands
 * (semaphores, deferral, failures, command buffers, host calls) is above it and is the same for all drivers.
 * `src/hal/null` is the shortest one, to begin a new driver with.
 */
import type { WaveTrace } from '../../base/wave-trace.ts';
import type { AdvanceResult } from '../../device/device.ts';
import type { PcCounts } from '../../device/statistics.ts';
import type { QueueStanding } from '../core/stall.ts';
import type { OperationInfo } from '../core/status.ts';
import type { ExecutableCode, ExecutableConstants, ExecutableExport } from '../executables/executable.ts';
import type { StorageSource } from '../memory/allocator.ts';
import type { BackendCommand } from './command.ts';
import type { DeviceLink, PhysicalDeviceInfo } from './topology.ts';

export interface LoadRequest {
  /** Code, in whatever form the driver takes; several pieces are linked with each other. */
  readonly pieces: readonly unknown[];
  /** What errors call it. */
  readonly name: string;
  /** Values of variables, by name. */
  readonly constants: ExecutableConstants;
}

/** Called once: with what went wrong, or without. */
export type CommandDone = (error?: unknown) => void;

export interface QueueBackend extends Disposable {
  /**
   * Begins a command; others may be running. `done` is called when it is complete, which may be before
   * `begin` returns. What `begin` throws fails the command, too.
   */
  begin(command: BackendCommand, operation: OperationInfo, done: CommandDone): void;
  /** Grows whenever something ends that it has in a queue. */
  readonly activity?: number;
  /** Where the operations are that it has in a queue: for reports of what stands still. */
  standings?(): ReadonlyMap<OperationInfo, QueueStanding>;
}

/** A kernel that has run, with times of its device's clock. */
export interface DispatchTimes {
  readonly operation: OperationInfo;
  readonly deviceOrdinal: number;
  readonly kernel: DispatchedKernel;
  readonly startTicks: bigint;
  readonly endTicks: bigint;
  /** In the order of `DeviceBackend.counters`. */
  readonly counts?: readonly number[] | undefined;
  /** Of each instruction that it executed, where the device counts that. */
  readonly instructions?: PcTally | undefined;
  /** What its waves executed, where the device traces that. */
  readonly trace?: WaveTrace | undefined;
}

/** What was counted of the instructions of a kernel. */
export interface PcTally {
  readonly waveCount: number;
  readonly byPc: PcCounts;
}

/** What a device counts of each dispatch. */
export interface CounterInfo {
  readonly name: string;
  readonly block: string;
  readonly description: string;
  /** Default `count`. */
  readonly unit?: 'count' | 'cycles' | 'bytes';
  /** What it counts of several dispatches cannot be added up. Default false. */
  readonly isLevel?: boolean;
}

export interface DispatchedKernel {
  readonly entry: ExecutableExport;
  /** Workgroups; undefined where memory had their counts. */
  readonly groups: readonly [number, number, number] | undefined;
  readonly workgroupSize: readonly [number, number, number];
  /** The command buffer that it stands in, and the number of its command there. */
  readonly commands?: object;
  readonly commandIndex?: number;
}

export interface DeviceBackend extends StorageSource, Disposable {
  /** At least one. */
  readonly physicalDevices: readonly PhysicalDeviceInfo[];
  /** One for each ordered pair of different physical devices. */
  readonly links: readonly DeviceLink[];
  /**
   * Code for all physical devices. Throws INVALID_ARGUMENT for what is no code, INCOMPATIBLE for code for
   * other devices.
   */
  load(request: LoadRequest): ExecutableCode;
  createQueue(deviceOrdinal: number, queueOrdinal: number): QueueBackend;
  /** The time of a physical device now, in ticks of `clockFrequencyHz`. */
  clock(deviceOrdinal: number): bigint;
  /**
   * Tells of each dispatch that ends from now on, or of none any more; only while nothing is in its queues.
   * Absent: nobody measures.
   */
  measureDispatches?(tell: ((times: DispatchTimes) => void) | undefined): void;
  /** Of each dispatch that is measured. Absent: it counts nothing. */
  readonly counters?: readonly CounterInfo[];
  /** Whether it counts each instruction of a dispatch that is measured. */
  readonly countsInstructions?: boolean;
  /** Whether it traces the waves of a dispatch that is measured. */
  readonly tracesWaves?: boolean;
  /** Bytes of memory of a physical device that are allocated; absent where it does not tell. */
  usedMemoryBytes?(deviceOrdinal: number): number | undefined;
  /** Lets commands run for a few milliseconds. */
  progress(): AdvanceResult;
}
