/**
 * Profiling sessions (iree/hal/profile.h): what happens on a device, for a sink. Events are kept until they
 * are flushed, so that no sink is called while the device works; when there is no room they are dropped, and
 * counted.
 */

import { matchesGlob } from '../../base/glob.ts';
import type { WaveTrace } from '../../base/wave-trace.ts';
import type { CounterInfo, DispatchTimes } from '../backend/backend.ts';
import { HalError, invalidArgument, type OperationInfo } from '../core/status.ts';
import type { PlacedCodeObject } from '../executables/executable.ts';
import type { MemoryEvent } from '../memory/allocator.ts';
import type { OperationRequest, QueueEvent } from '../queues/scheduler.ts';
import type { ClockSample, DeviceDescription } from './device-description.ts';
import { type DeviceSample, DeviceSamples, isRangeCounter, type MemoryUse } from './device-samples.ts';
import { type CountedKernel, InstructionTally } from './instruction-tally.ts';

/** What a session is told of; names are IREE's. */
export const PROFILE_DATA = [
  'queue-events',
  'host-execution',
  'device-queue-events',
  'dispatch-events',
  'memory-events',
  'counters',
  'counter-ranges',
  'device-metrics',
  'instruction-counts',
  'executable-traces',
] as const;
export type ProfileData = (typeof PROFILE_DATA)[number];

/** From the begin of an operation's first kernel to the end of its last, by its device's clock. */
export type OperationTimes = Omit<DispatchTimes, 'kernel'> & { readonly kernelCount: number };

/** A dispatch with what was counted of it, in the order of `ProfileSession.counters`. */
export type CountedDispatch = DispatchTimes & { readonly counts: readonly number[] };

/** A dispatch whose waves were traced, and where its code was loaded. */
export type TracedKernel = DispatchTimes & {
  readonly trace: WaveTrace;
  readonly codeObjects: readonly PlacedCodeObject[];
};

/** Undefined where its waves were not traced. */
export function tracedKernel(times: DispatchTimes): TracedKernel | undefined {
  const { trace, deviceOrdinal, kernel } = times;
  const code = trace && kernel.entry.executable.code.kernelCode?.(kernel.entry.ordinal, deviceOrdinal);
  return code && { ...times, trace, codeObjects: code.codeObjects };
}

/** What the host did for an operation: a transfer, a file, a call, a kernel of the host. */
export interface HostExecution {
  readonly operation: OperationInfo;
  readonly request: OperationRequest;
  /** As `QueueEvent.timeMs`. */
  readonly startMs: number;
  readonly endMs: number;
  readonly failure?: HalError | undefined;
}

/**
 * `queue-events`: an operation by times of the host; `host-execution`: one that the host has run;
 * `device-queue-events`: one that ran kernels, when it has ended, and `dispatch-events`: a kernel that has
 * run, both by times of the device's clock; `memory-events`: memory that comes and goes;
 * `counters`: what the device counted of a kernel; `instruction-counts`: what it counted of the instructions
 * of a kernel, in all dispatches since the last flush; `executable-traces`: what the waves of a kernel
 * executed, in order; `counter-ranges` and `device-metrics`: see `DeviceSample`.
 */
export type ProfileEvent =
  | ({ readonly data: 'queue-events' } & QueueEvent)
  | ({ readonly data: 'host-execution' } & HostExecution)
  | ({ readonly data: 'memory-events'; readonly timeMs: number } & MemoryEvent)
  | ({ readonly data: 'device-queue-events' } & OperationTimes)
  | ({ readonly data: 'dispatch-events' } & DispatchTimes)
  | ({ readonly data: 'counters' } & CountedDispatch)
  | DeviceSample
  | ({ readonly data: 'instruction-counts' } & CountedKernel)
  | ({ readonly data: 'executable-traces' } & TracedKernel);

export interface ProfileChunk {
  readonly events: readonly ProfileEvent[];
  /** Events since the last chunk for which there was no room, in all and by what they are. */
  readonly droppedCount: number;
  readonly dropped: Readonly<Partial<Record<ProfileData, number>>>;
  /** Of each physical device, now: two of a device bring its ticks and the host's time together. */
  readonly clocks: readonly ClockSample[];
}

/** Where a session goes. What it throws is thrown by whoever flushes; the chunk is kept, and comes again. */
export interface ProfileSink {
  /**
   * Before anything else. `counters`: what `counts` of events of `counters` are, and without levels those of
   * `counter-ranges`; `data`: what is told of.
   */
  begin?(
    device: DeviceDescription,
    counters: readonly CounterInfo[],
    data: readonly ProfileData[],
  ): void | Promise<void>;
  write(chunk: ProfileChunk): void | Promise<void>;
  /** At once when the first event since the last chunk is dropped; it must not throw, nor submit anything. */
  dropped?(): void;
  /** Behind the last chunk. */
  end?(): void | Promise<void>;
}

/** Which kernels become `dispatch-events`: those to which all that is given applies. */
export interface ProfileFilter {
  /** Their names: `*` stands for any characters. */
  readonly kernel?: string;
  /** Their commands in command buffers. */
  readonly commandIndex?: number;
  readonly deviceOrdinal?: number;
}

export interface ProfileOptions {
  readonly sink: ProfileSink;
  /** Default: all kernels. */
  readonly filter?: ProfileFilter;
  /** Default: all that the device has. */
  readonly data?: readonly ProfileData[];
  /** Names of `counters` and of `counter-ranges`. Default: all. */
  readonly counters?: readonly string[];
  /** Events that are kept between two flushes. Default 65,536. */
  readonly capacity?: number;
}

/** What a session has of its device. */
export interface ProfiledDevice {
  readonly isIdle: boolean;
  readonly isClosed: boolean;
  describe(): DeviceDescription;
  clocks(): readonly ClockSample[];
  /** Host time, as events have it. */
  now(): number;
  /** Whether the host runs operations of this kind, and not the device. */
  isRunByHost(operation: OperationInfo): boolean;
  observe(observer: ((event: QueueEvent) => void) | undefined): void;
  observeMemory(observer: ((event: MemoryEvent) => void) | undefined): void;
  readonly counters: readonly CounterInfo[];
  readonly countsInstructions: boolean;
  readonly tracesWaves: boolean;
  memoryOf(deviceOrdinal: number): MemoryUse;
  /** Absent where nobody measures. */
  readonly measureDispatches: ((tell: ((times: DispatchTimes) => void) | undefined) => void) | undefined;
  /** The session is over. */
  forget(): void;
}

const DEFAULT_CAPACITY = 65_536;
/** What needs times of the device. */
const MEASURED: readonly ProfileData[] = [
  'device-queue-events',
  'dispatch-events',
  'counters',
  'counter-ranges',
  'device-metrics',
  'instruction-counts',
  'executable-traces',
];
const COUNTED: readonly ProfileData[] = ['counters', 'counter-ranges'];

/** Why there is none of some data. */
const LACKS: Readonly<Partial<Record<ProfileData, string>>> = {
  counters: 'counts nothing of kernels',
  'counter-ranges': 'counts nothing of kernels',
  'instruction-counts': 'was not opened to count each instruction',
  'executable-traces': 'was not opened to trace waves',
};

/** Throws INVALID_ARGUMENT for a counter that the device does not have. */
export function chosenCounters(
  { counters }: Pick<ProfiledDevice, 'counters'>,
  names: readonly string[] | undefined,
): readonly number[] {
  if (names === undefined) return counters.map((_, index) => index);
  return names.map((name) => {
    const index = counters.findIndex((each) => each.name === name);
    if (index >= 0) return index;
    throw invalidArgument(`no counter '${name}'`, {
      hint: `there are ${counters.map((each) => each.name).join(', ')}`,
    });
  });
}

/** `await using` ends it. */
export class ProfileSession implements AsyncDisposable {
  readonly data: readonly ProfileData[];
  /** What `counters` are. */
  readonly counters: readonly CounterInfo[];
  /** Their indices among those of the device. */
  readonly #counterIndices: readonly number[];
  readonly #device: ProfiledDevice;
  readonly #sink: ProfileSink;
  readonly #capacity: number;
  readonly #filter: ProfileFilter;
  /** Of operations that have not ended. */
  readonly #times = new Map<OperationInfo, OperationTimes>();
  /** What the host is to run, and when it began. */
  readonly #hostWork = new Map<OperationInfo, { readonly request: OperationRequest; startMs?: number }>();
  readonly #instructions = new InstructionTally();
  readonly #samples: DeviceSamples;
  #events: ProfileEvent[] = [];
  #dropped: Partial<Record<ProfileData, number>> = {};
  /** What the sink has not taken, oldest first. */
  #chunk: ProfileChunk | undefined;
  #isOver = false;

  /** Use `LogicalDevice.profile`. */
  private constructor(device: ProfiledDevice, options: ProfileOptions) {
    const { sink, data, capacity = DEFAULT_CAPACITY, filter = {} } = options;
    this.#filter = filter;
    this.#device = device;
    this.#sink = sink;
    this.#capacity = capacity;
    const isMeasured = device.measureDispatches !== undefined;
    const counts = (data: ProfileData) => {
      if (data === 'instruction-counts') return device.countsInstructions;
      if (data === 'executable-traces') return device.tracesWaves;
      return !COUNTED.includes(data) || device.counters.length > 0;
    };
    const has = (data: ProfileData) => (isMeasured || !MEASURED.includes(data)) && counts(data);
    this.data = data ?? PROFILE_DATA.filter(has);
    const isCounted = COUNTED.some((each) => this.data.includes(each));
    this.#counterIndices = isCounted ? chosenCounters(device, options.counters) : [];
    this.counters = this.#counterIndices.map((index) => device.counters[index]!);
    this.#samples = new DeviceSamples({
      isRanged: this.data.includes('counter-ranges'),
      isMetered: this.data.includes('device-metrics'),
      counterIndices: this.#counterIndices.filter((index) => isRangeCounter(device.counters[index]!)),
      memoryOf: (deviceOrdinal) => device.memoryOf(deviceOrdinal),
    });
    if (!Number.isSafeInteger(capacity) || capacity < 1) throw invalidArgument(`a session of ${capacity} events`);
    for (const data of this.data) {
      if (!PROFILE_DATA.includes(data)) throw invalidArgument(`there are no '${data}'`);
      if (has(data)) continue;
      throw new HalError(
        'UNIMPLEMENTED',
        `${device.describe().name} ${LACKS[data] ?? 'does not measure when kernels run'}`,
        {
          hint: 'queue-events have the times of operations',
        },
      );
    }
  }

  /** Throws INVALID_ARGUMENT, UNIMPLEMENTED, FAILED_PRECONDITION, and what the sink throws. */
  static async begin(device: ProfiledDevice, options: ProfileOptions): Promise<ProfileSession> {
    const session = new ProfileSession(device, options);
    session.#expectIdle('begins');
    await options.sink.begin?.(device.describe(), session.counters, session.data);
    device.observe((event) => session.#observe(event));
    if (session.#measures) device.measureDispatches!((times) => session.#measured(times));
    if (session.data.includes('memory-events')) {
      device.observeMemory((event) => session.#add({ data: 'memory-events', timeMs: device.now(), ...event }));
    }
    try {
      await session.flush();
    } catch (error) {
      session.#leave();
      throw error;
    }
    return session;
  }

  #leave(): void {
    if (this.#device.isClosed) return;
    this.#device.observe(undefined);
    this.#device.observeMemory(undefined);
    if (this.#measures) this.#device.measureDispatches!(undefined);
  }

  get #measures(): boolean {
    return MEASURED.some((each) => this.data.includes(each));
  }

  #observe(event: QueueEvent): void {
    const { kind, operation } = event;
    const times = this.#times.get(operation);
    if (times !== undefined && (kind === 'complete' || kind === 'failed')) {
      this.#times.delete(operation);
      this.#add({ data: 'device-queue-events', ...times });
    }
    if (this.data.includes('host-execution')) this.#observeHost(event);
    if (this.data.includes('queue-events')) this.#add({ data: 'queue-events', ...event });
  }

  #observeHost({ kind, operation, timeMs, failure, request }: QueueEvent): void {
    if (request !== undefined && this.#device.isRunByHost(operation)) this.#hostWork.set(operation, { request });
    const work = this.#hostWork.get(operation);
    if (work === undefined) return;
    if (kind === 'started') work.startMs = timeMs;
    if (kind !== 'complete' && kind !== 'failed') return;
    this.#hostWork.delete(operation);
    const { startMs } = work;
    if (startMs === undefined) return;
    this.#add({ data: 'host-execution', operation, request: work.request, startMs, endMs: timeMs, failure });
  }

  #measured(times: DispatchTimes): void {
    if (this.data.includes('device-queue-events')) this.#extend(times);
    this.#samples.add(times);
    if (!this.#isChosen(times)) return;
    if (this.data.includes('dispatch-events')) this.#add({ data: 'dispatch-events', ...times });
    if (this.data.includes('instruction-counts')) this.#instructions.add(times);
    const traced = this.data.includes('executable-traces') ? tracedKernel(times) : undefined;
    if (traced !== undefined) this.#add({ data: 'executable-traces', ...traced });
    if (!this.data.includes('counters') || times.counts === undefined) return;
    const counts = this.#counterIndices.map((index) => times.counts![index]!);
    this.#add({ data: 'counters', ...times, counts });
  }

  #extend({ operation, deviceOrdinal, startTicks, endTicks }: DispatchTimes): void {
    const first = this.#times.get(operation);
    this.#times.set(operation, {
      operation,
      deviceOrdinal,
      startTicks: first !== undefined && first.startTicks < startTicks ? first.startTicks : startTicks,
      endTicks: first !== undefined && first.endTicks > endTicks ? first.endTicks : endTicks,
      kernelCount: (first?.kernelCount ?? 0) + 1,
    });
  }

  #isChosen({ kernel: { entry, commandIndex }, deviceOrdinal }: DispatchTimes): boolean {
    const chosen = this.#filter;
    return (
      (chosen.commandIndex ?? commandIndex) === commandIndex &&
      (chosen.deviceOrdinal ?? deviceOrdinal) === deviceOrdinal &&
      (chosen.kernel === undefined || matchesGlob(entry.name, chosen.kernel))
    );
  }

  #expectIdle(what: string): void {
    if (this.#device.isIdle || this.#device.isClosed) return;
    throw new HalError('FAILED_PRECONDITION', `a profiling session ${what} while the device has work`, {
      hint: 'await what was submitted first',
    });
  }

  #add(event: ProfileEvent): void {
    if (this.#events.length < this.#capacity) {
      this.#events.push(event);
      return;
    }
    if (Object.keys(this.#dropped).length === 0) this.#sink.dropped?.();
    this.#dropped[event.data] = (this.#dropped[event.data] ?? 0) + 1;
  }

  /** Gives the sink what has happened. Throws what the sink throws; what it did not take comes again. */
  async flush(): Promise<void> {
    if (this.#chunk !== undefined) await this.#write(this.#chunk);
    const kernels = this.#instructions.take().map((kernel) => ({ data: 'instruction-counts', ...kernel }) as const);
    const clocks = this.#device.isClosed ? [] : this.#device.clocks();
    const [events, dropped] = [[...this.#events, ...kernels, ...this.#samples.take(clocks)], this.#dropped];
    this.#events = [];
    this.#dropped = {};
    const droppedCount = Object.values(dropped).reduce((sum, count) => sum + count, 0);
    await this.#write({ events, droppedCount, dropped, clocks });
  }

  async #write(chunk: ProfileChunk): Promise<void> {
    this.#chunk = chunk;
    await this.#sink.write(chunk);
    this.#chunk = undefined;
    for (const event of chunk.events) if (event.data === 'instruction-counts') event.entry.executable.release();
  }

  /** Throws FAILED_PRECONDITION while the device has work, and what the sink throws; it may come again. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#expectIdle('ends');
    await this.flush();
    await this.#sink.end?.();
    this.#isOver = true;
    this.#device.forget();
    this.#leave();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}
