/** A logical device (iree/hal/device.h): one or more physical ones, their memory, code and queues. */

import { matchesGlob } from '../../base/glob.ts';
import type { AdvanceResult } from '../../device/device.ts';
import type { DeviceBackend } from '../backend/backend.ts';
import { type DeviceOperation, ordersOnDevice } from '../backend/order.ts';
import { type PhysicalDeviceInfo, Topology } from '../backend/topology.ts';
import type { CommandBuffer, CommandFinding } from '../commands/command-buffer.ts';
import { CommandRecorder, type RecordOptions } from '../commands/recorder.ts';
import type { FlagInput } from '../core/flag-set.ts';
import { SEMAPHORE_FLAGS, type SemaphoreFlag } from '../core/flags.ts';
import { HalEvent } from '../core/hal-event.ts';
import type { HostLoop } from '../core/host-loop.ts';
import { Semaphore } from '../core/semaphore.ts';
import { explainStall, type StallReport, type UnfinishedOperation } from '../core/stall.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { type CodeLoadOptions, HalExecutable } from '../executables/executable.ts';
import { ExecutableCache, type ExecutableCacheOptions } from '../executables/executable-cache.ts';
import { HalAllocator } from '../memory/allocator.ts';
import type { HalBuffer } from '../memory/buffer.ts';
import type { BufferParams, Compatibility } from '../memory/buffer-params.ts';
import type { ImportParams, ImportSource } from '../memory/external-memory.ts';
import { HalPool } from '../memory/pools/pool.ts';
import type { PoolOptions } from '../memory/pools/pool-shape.ts';
import { HalQueue } from '../queues/queue.ts';
import { Scheduler, type SchedulerOptions } from '../queues/scheduler.ts';
import { StallWatchdog, type WatchedActivity } from '../queues/stall-watchdog.ts';
import type { ClockSample, DeviceDescription } from './device-description.ts';
import { type ProfiledDevice, type ProfileOptions, ProfileSession } from './profile-session.ts';

/** Who is told of standstills. */
export interface StallWatch {
  /** Nothing begins or ends for so long, in milliseconds; above 0. */
  readonly limitMs: number;
  /** Called once for each standstill. */
  readonly tell: (report: StallReport) => void;
}

export interface LogicalDeviceOptions extends Omit<SchedulerOptions, 'watchdog'> {
  /** The URI that opens it: `amdgpu://GPU-...`. */
  readonly name: string;
  /** Of each physical device. */
  readonly queuesPerDevice: number;
  readonly loop: HostLoop;
  /** Default: nobody watches. */
  readonly watch?: StallWatch | undefined;
}

export interface SemaphoreParams {
  /** Default 0. */
  readonly initialValue?: number;
  /** Default `default`: the host may wait for it. */
  readonly flags?: FlagInput<SemaphoreFlag>;
  readonly label?: string;
}

/**
 * What queues can do: `dispatch` runs code, `dispatch-times` tells when it did; `device-waits`: operations
 * wait for others on the device, `device-transfers`: transfers are kernels and do so, too.
 */
export const QUEUE_CAPABILITIES = [
  'transfer',
  'host-call',
  'dispatch',
  'dispatch-times',
  'device-waits',
  'device-transfers',
] as const;
export type QueueCapability = (typeof QUEUE_CAPABILITIES)[number];

/** Kinds of operations by who may run them. */
const HOST_OPERATIONS: ReadonlySet<string> = new Set(['host-call', 'read', 'write']);
const TRANSFERS: ReadonlySet<string> = new Set(['fill', 'copy', 'update']);
const KERNEL_OPERATIONS: ReadonlySet<string> = new Set(['dispatch', 'execute']);

/** Queues that can do the same. */
export interface QueueFamily {
  readonly deviceOrdinal: number;
  readonly queues: readonly HalQueue[];
  readonly capabilities: readonly QueueCapability[];
}

/** `using` stops what runs; `await using` lets what has begun end, and cancels the rest. */
export class LogicalDevice implements Disposable, AsyncDisposable {
  readonly name: string;
  readonly queues: readonly HalQueue[];
  readonly allocator: HalAllocator;
  readonly topology: Topology;
  readonly #backend: DeviceBackend;
  readonly #loop: HostLoop;
  readonly #scheduler: Scheduler;
  readonly #leaveLoop: () => void;
  readonly #pools = new Set<HalPool>();
  readonly #watchdog: StallWatchdog | undefined;
  #isClosed = false;
  #isProfiled = false;

  /** Use `DriverRegistry.open`. */
  constructor(backend: DeviceBackend, options: LogicalDeviceOptions) {
    const { name, queuesPerDevice, loop, watch, ...scheduling } = options;
    this.name = name;
    this.#backend = backend;
    this.#loop = loop;
    this.#watchdog = watch && this.#watchdogOf(watch);
    this.#scheduler = new Scheduler(loop, { ...scheduling, watchdog: this.#watchdog });
    this.allocator = new HalAllocator(this, backend);
    this.topology = new Topology(backend.physicalDevices, backend.links);
    const { topology, allocator } = this;
    const owner = { device: this, scheduler: this.#scheduler, allocator, topology };
    this.queues = backend.physicalDevices.flatMap((_, device) =>
      Array.from({ length: queuesPerDevice }, (_, queue) => {
        const text = `${name}/queue:${device * queuesPerDevice + queue}`;
        return new HalQueue(owner, backend.createQueue(device, queue), text, [device, queue]);
      }),
    );
    this.#leaveLoop = loop.add(this);
  }

  get physicalDevices(): readonly PhysicalDeviceInfo[] {
    return this.topology.devices;
  }

  /** Whether it was disposed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws OUT_OF_RANGE. */
  queue(index = 0): HalQueue {
    const queue = this.queues[index];
    if (queue !== undefined) return queue;
    throw new HalError('OUT_OF_RANGE', `queue ${index} of ${this.name}, which has ${this.queues.length}`);
  }

  /** The queues of one physical device. Throws OUT_OF_RANGE. */
  queuesOf(deviceOrdinal: number): readonly HalQueue[] {
    this.allocator.expectDevice(deviceOrdinal);
    return this.queues.filter((queue) => queue.deviceOrdinal === deviceOrdinal);
  }

  /** The queues of each physical device, which all can do the same, and what that is. */
  get queueFamilies(): readonly QueueFamily[] {
    return this.physicalDevices.map(({ executes }, deviceOrdinal) => {
      const queues = this.queuesOf(deviceOrdinal);
      const { backend } = queues[0]!;
      const orders = (operation: DeviceOperation) => ordersOnDevice(backend) && backend.orders(operation);
      const can: Readonly<Record<QueueCapability, boolean>> = {
        transfer: true,
        'host-call': true,
        dispatch: executes,
        'dispatch-times': this.#backend.measureDispatches !== undefined,
        'device-waits': orders('dispatch'),
        'device-transfers': orders('transfer'),
      };
      return { deviceOrdinal, queues, capabilities: QUEUE_CAPABILITIES.filter((each) => can[each]) };
    });
  }

  /** See `HalAllocator.allocate`. */
  allocate(sizeBytes: number, params: BufferParams = {}): HalBuffer {
    this.#expectOpen();
    return this.allocator.allocate(sizeBytes, params);
  }

  /** See `HalAllocator.importBuffer`. */
  importBuffer(source: ImportSource, params: ImportParams = {}): HalBuffer {
    this.#expectOpen();
    return this.allocator.importBuffer(source, params);
  }

  /**
   * Addresses to which memory is mapped later (iree_hal_allocator_virtual_memory_reserve). No device has
   * them, as with IREE's `amdgpu`: throws UNAVAILABLE.
   */
  reserveVirtualMemory(sizeBytes: number): never {
    const what = `${sizeBytes} bytes of virtual memory: ${this.name} gives every allocation addresses of its own`;
    throw new HalError('UNAVAILABLE', what, { hint: 'a pool gives parts of one allocation to many buffers' });
  }

  /**
   * Memory for the `alloca` of any queue, reused by them. Throws INVALID_ARGUMENT for sizes that are none or
   * do not go together, and for memory that the device does not have. `using` gives it back.
   */
  createPool(options: PoolOptions): HalPool {
    this.#expectOpen();
    const post = (callback: () => void) => this.#scheduler.post(callback);
    const forget = (pool: HalPool) => void this.#pools.delete(pool);
    const pool = new HalPool({ device: this, allocator: this.allocator, post, forget }, options);
    this.#pools.add(pool);
    return pool;
  }

  /** Gives memory back that pools hold and no buffer uses. Returns its bytes. */
  trim(): number {
    let bytes = 0;
    for (const pool of this.#pools) bytes += pool.trim();
    return bytes;
  }

  queryCompatibility(params: BufferParams, sizeBytes: number): Compatibility {
    return this.allocator.queryCompatibility(params, sizeBytes);
  }

  createSemaphore({ flags = 'default', ...options }: SemaphoreParams = {}): Semaphore {
    return new Semaphore(this.#loop, { ...options, flags: SEMAPHORE_FLAGS.set(flags) });
  }

  /** For commands of command buffers, which set it and wait for it. */
  createEvent(label = 'event'): HalEvent {
    return new HalEvent(label);
  }

  /**
   * Records a command buffer. Throws INVALID_ARGUMENT with all errors of its commands; what looks like a
   * mistake stands in its `findings`.
   */
  record(options: RecordOptions, build: (recorder: CommandRecorder) => void): CommandBuffer {
    this.#expectOpen();
    const recorder = new CommandRecorder(this, options);
    build(recorder);
    return recorder.finish();
  }

  /** What is wrong with commands, or looks so: for tools, which get no command buffer from it. */
  validate(options: RecordOptions, build: (recorder: CommandRecorder) => void): readonly CommandFinding[] {
    const recorder = new CommandRecorder(this, options);
    build(recorder);
    const { findings } = recorder;
    recorder.discard();
    return findings;
  }

  /**
   * Prepares code: bytes of a code object, a bundle or a fat binary for GPUs, functions for the host; several
   * pieces are linked. `constants` are values of their variables, for which a code object of several uses was
   * made. Throws INVALID_ARGUMENT for what is no code and for constants that it does not take, INCOMPATIBLE
   * for code for other devices.
   */
  load(code: unknown, { name = 'code', constants = {} }: CodeLoadOptions = {}): HalExecutable {
    this.#expectOpen();
    const pieces = Array.isArray(code) ? code : [code];
    return new HalExecutable(this, this.#backend.load({ pieces, name, constants }));
  }

  /** For programs that load the same code again and again. */
  createExecutableCache(options: ExecutableCacheOptions = {}): ExecutableCache {
    this.#expectOpen();
    return new ExecutableCache((code, how) => this.load(code, how), options);
  }

  /** IREE's queries by category and key. Throws NOT_FOUND for one that there is not. */
  query(category: string, key: string): number {
    const devices = this.physicalDevices;
    switch (`${category}::${key}`) {
      case 'hal.device::concurrency':
        return this.queues.length;
      case 'hal.dispatch::concurrency':
        return devices[0]!.computeUnitCount;
    }
    if (category === 'hal.device.id') return matchesGlob(this.name.split(':')[0]!, key) ? 1 : 0;
    if (category === 'hal.executable.format') return devices.every(({ formats }) => formats.includes(key)) ? 1 : 0;
    throw new HalError('NOT_FOUND', `no query ${category} :: ${key}`);
  }

  /** For whoever brings times of a physical device and of the host together. Throws OUT_OF_RANGE. */
  sampleClock(deviceOrdinal = 0): ClockSample {
    this.#expectOpen();
    this.allocator.expectDevice(deviceOrdinal);
    const hostBeforeMs = this.#loop.now();
    const deviceTicks = this.#backend.clock(deviceOrdinal);
    return { deviceTicks, hostBeforeMs, hostAfterMs: this.#loop.now() };
  }

  /**
   * Begins a profiling session, of which there is one at most. Throws FAILED_PRECONDITION while the device
   * has work or another session, UNIMPLEMENTED for what it cannot tell, and what the sink throws.
   */
  async profile(options: ProfileOptions): Promise<ProfileSession> {
    this.#expectOpen();
    if (this.#isProfiled) throw new HalError('FAILED_PRECONDITION', `${this.name} has a profiling session`);
    this.#isProfiled = true;
    try {
      return await ProfileSession.begin(this.#profiled(), options);
    } catch (error) {
      this.#isProfiled = false;
      throw error;
    }
  }

  #profiled(): ProfiledDevice {
    const device = this;
    return {
      get isIdle() {
        const { waiting, running } = device.pendingCounts;
        return waiting + running === 0;
      },
      get isClosed() {
        return device.isClosed;
      },
      describe: () => this.describe(),
      clocks: () => this.physicalDevices.map((_, ordinal) => this.sampleClock(ordinal)),
      now: () => this.#loop.now(),
      isRunByHost: ({ kind }) => this.#isRunByHost(kind),
      observe: (observer) => this.#scheduler.observe(observer),
      observeMemory: (observer) => this.allocator.observe(observer),
      counters: this.#backend.counters ?? [],
      countsInstructions: this.#backend.countsInstructions ?? false,
      tracesWaves: this.#backend.tracesWaves ?? false,
      memoryOf: (ordinal) => ({
        usedBytes: this.#backend.usedMemoryBytes?.(ordinal),
        sizeBytes: this.physicalDevices[ordinal]!.memorySizeBytes,
      }),
      measureDispatches: this.#backend.measureDispatches?.bind(this.#backend),
      forget: () => {
        this.#isProfiled = false;
      },
    };
  }

  #isRunByHost(kind: string): boolean {
    const { backend } = this.queues[0]!;
    if (HOST_OPERATIONS.has(kind)) return true;
    if (TRANSFERS.has(kind)) return !(ordersOnDevice(backend) && backend.orders('transfer'));
    return KERNEL_OPERATIONS.has(kind) && this.#backend.measureDispatches === undefined;
  }

  describe(): DeviceDescription {
    return {
      name: this.name,
      devices: this.physicalDevices.map((info, i) => ({ ...info, queues: this.queuesOf(i).map(({ name }) => name) })),
      links: this.topology.links,
      heaps: this.allocator.heaps.map(({ memoryType, usage, maxAllocationBytes, minAlignmentBytes }) => ({
        memoryType: [...memoryType],
        usage: [...usage],
        maxAllocationBytes,
        minAlignmentBytes,
      })),
    };
  }

  /** For the loop. */
  unfinished(): readonly UnfinishedOperation[] {
    const memory = [...this.#pools].flatMap((pool) =>
      pool.parked.map((operation) => [operation, `memory of '${pool.label}'`] as const),
    );
    const parked = new Map(memory);
    const queues = new Map(
      this.queues.map((queue) => [queue.name, { queue, standings: queue.backend.standings?.() }] as const),
    );
    return this.#scheduler.unfinished.map((each) => {
      const { operation, state } = each;
      if (state !== 'running') return each;
      const { queue, standings } = queues.get(operation.queue)!;
      const standing = standings?.get(operation);
      if (standing !== undefined) return { ...each, standing };
      return { ...each, hostWait: parked.get(operation) ?? queue.hostWaitOf(operation) };
    });
  }

  /**
   * What each operation that has not ended waits for, who was to end that, and what it all comes from: plain
   * data, of which `formatStall` makes a text. Operations of other devices of the registry count as causes.
   */
  explainStall(): StallReport {
    return explainStall(this.name, this.unfinished(), this.#loop.unfinished());
  }

  #watchdogOf({ limitMs, tell }: StallWatch): StallWatchdog {
    const device = this;
    const watched: WatchedActivity = {
      get activity() {
        const ended = device.queues.reduce((sum, { backend }) => sum + (backend.activity ?? 0), 0);
        return device.#scheduler.activity + ended;
      },
      get unfinishedCount() {
        const { waiting, running } = device.pendingCounts;
        return waiting + running;
      },
    };
    return new StallWatchdog(watched, limitMs, (idleMs) => tell({ ...this.explainStall(), idleMs }));
  }

  get pendingCounts(): Scheduler['counts'] {
    return this.#scheduler.counts;
  }

  /** For the loop: begins what may begin, and lets the devices work. */
  progress(): AdvanceResult {
    if (this.#isClosed) return 'idle';
    this.#watchdog?.look();
    const hasMoved = this.#scheduler.progress();
    const state = this.#backend.progress();
    return hasMoved ? 'running' : state;
  }

  #expectOpen(): void {
    if (this.#isClosed) throw invalidArgument(`${this.name} is closed`);
  }

  /** What waits for memory has not begun. */
  #disposePools(): void {
    for (const pool of [...this.#pools]) pool[Symbol.dispose]();
  }

  /** What has not begun fails with CANCELLED; the rest goes on to its end. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#scheduler.close(`${this.name} is closed`);
    this.#disposePools();
    while (this.#scheduler.counts.running > 0 && !this.#isClosed) {
      this.#loop.kick();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    this[Symbol.dispose]();
  }

  /** Everything that has not ended fails with CANCELLED. Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leaveLoop();
    this.#watchdog?.stop();
    this.#scheduler.close(`${this.name} is closed`);
    this.#disposePools();
    for (const { backend } of this.queues) backend[Symbol.dispose]();
    this.#scheduler.abandonRunning();
    this.#backend[Symbol.dispose]();
  }
}
