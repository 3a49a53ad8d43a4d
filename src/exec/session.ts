/**
 * One application at the device process: its own device, runtime and memory. What it asks for comes as
 * requests; everything in them and in the memory may be anything, and harms nobody else.
 */
import { WavewrightError } from '../base/errors.ts';
import { hex } from '../base/text.ts';
import type { AdvanceResult, Device } from '../device/device.ts';
import type { Fault } from '../device/fault.ts';
import { addStatistics, type DispatchStatistics, NO_STATISTICS } from '../device/statistics.ts';
import {
  agentInfo,
  CodeObjectReader,
  createRuntime,
  type Executable,
  FAULT_REASON,
  HSA_STATUS,
  HsaError,
  type MemoryFaultEvent,
  type Queue,
  type QueueError,
  type QueueType,
  type Runtime,
} from '../hsa/index.ts';
import { SharedRegions } from '../hsa/objects/shared-regions.ts';
import { statusError } from '../hsa/objects/status.ts';
import type { FinishedPacket } from '../hsa/queues/packet-processor.ts';
import { QUEUE_PRIORITIES, QUEUE_TYPES } from '../hsa/queues/queue.ts';
import { createObservedQueue } from '../hsa/runtime/launch-observer.ts';
import type { SharedAllocation } from './attached-memory.ts';
import { Callers } from './callers.ts';
import { describeCallers } from './host-code.ts';
import { Handles, knownRecords, symbolRecords } from './known-records.ts';
import type { LinuxCalls } from './libc.ts';
import {
  asNumber,
  encodeFailure,
  encodeReply,
  type IncomingRequest,
  NO_REPLY,
  type OutgoingReply,
  type RequestHandlers,
} from './messages.ts';
import type { ApplicationObserver, LoadedImage } from './observer.ts';
import {
  CONTROL_WORDS,
  concernOf,
  OPERATIONS,
  type OperationName,
  type OperationShape,
  PROTOCOL_VERSION,
  type Request,
} from './protocol.ts';
import { ATTRIBUTE_LAYOUTS, encodeValue } from './records.ts';
import { SharedArena } from './shared-arena.ts';
import { SharingRequests } from './sharing-requests.ts';
import { SiblingDevice } from './sibling-device.ts';
import { TraceRing } from './trace-ring.ts';

const PROFILE_NAMES = ['base', 'full'] as const;
const ROUNDING_NAMES = ['default', 'zero', 'near'] as const;
const MAX_NAME_BYTES = 65_536;
const PAGE_BYTES = 4096;
/** Waiters look at what kernels may have changed at least so often. */
const MAX_QUIET_MS = 0.5;
const ALL_CONCERNS = -1;
const NS_PER_S = 1_000_000_000n;
/**
 * ROCm's driver aligns what has such a page to its size, and malloc of kernels relies on it: it finds the
 * headers of its slabs by masking pointers.
 */
const LARGE_BYTES = 2 ** 21;

type Handler = (request: IncomingRequest['words'], tail: Uint8Array) => OutgoingReply;

/** Who runs applications. */
export interface SessionHost {
  readonly linux: LinuxCalls;
  /** A device of its own for each application; `index` chooses the addresses of its memory. */
  openDevice(index: number): Device;
  /** Is told what is wrong with an application or with this process; nothing is thrown. */
  report(error: unknown): void;
  /** GPUs that an application finds, which share the memory of one. Default 1. */
  readonly gpuCount?: number;
  /** Who looks at an application that begins. */
  observe?(processId: number): ApplicationObserver;
  /** What an application shares by this handle; by default none does. */
  findShared?(handle: Uint8Array): SharedAllocation | undefined;
}

/** What an application says that it copied. */
export interface CopySums {
  readonly count: bigint;
  readonly bytes: bigint;
}

interface Stopped {
  readonly error: QueueError;
  readonly fault: MemoryFaultEvent | undefined;
}

export class Session implements Disposable {
  readonly #host: SessionHost;
  readonly #sendFile: (file: number) => void;
  #device: Device | undefined;
  #arena: SharedArena | undefined;
  #runtime: Runtime | undefined;
  #handles: Handles | undefined;
  #sharing: SharingRequests | undefined;
  readonly #queues = new Map<bigint, Queue>();
  readonly #stopped = new Map<bigint, Stopped>();
  readonly #allocated = new Callers();
  readonly #freed = new Callers();
  readonly #executables = new Map<bigint, Executable>();
  #nextExecutable = 1n;
  #codeObjectCount = 0;
  /** Since waiters were woken last: whom completion signals concern, and whether a queue stopped. */
  #completed = 0;
  #hasStopped = false;
  #wokenMs = 0;
  #clocks = { ticks: 0n, systemNs: 0n };
  #ring: TraceRing | undefined;
  readonly #processId: number;
  readonly #observer: ApplicationObserver;
  #statistics = NO_STATISTICS;
  #copies: CopySums = { count: 0n, bytes: 0n };

  /** `sendFile` sends a byte that brings a file. */
  constructor(host: SessionHost, sendFile: (file: number) => void, processId = 0) {
    this.#host = host;
    this.#sendFile = sendFile;
    this.#processId = processId;
    this.#observer = host.observe?.(processId) ?? {};
  }

  /** The bytes of the reply; undefined where there is none. Throws what is a defect of ours. */
  answer({ operation, words, tail }: IncomingRequest): Uint8Array | undefined {
    if (operation === 'wake') return undefined;
    const beginNs = process.hrtime.bigint();
    const { file: bringsFile }: OperationShape = OPERATIONS[operation];
    try {
      const reply = this.#handler(operation)(words, tail);
      const bytes = encodeReply(reply);
      if (bringsFile) this.#sendFile(reply.file!);
      this.#observer.trace?.addRequest(operation, beginNs, process.hrtime.bigint());
      return bytes;
    } catch (error) {
      if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
      const failure = encodeFailure(statusOf(error), error.message);
      // In place of the byte that brings the file there is one without.
      return bringsFile ? Buffer.concat([new Uint8Array(1), failure]) : failure;
    }
  }

  /** Throws NOT_INITIALIZED. */
  #handler(operation: OperationName): Handler {
    const own: RequestHandlers = this.#handlers;
    const found = own[operation] ?? (this.#live && (this.#sharing!.handlers as RequestHandlers))[operation];
    return found as Handler;
  }

  readonly #handlers = {
    hello: ({ version, window }) => this.#hello(version, window),
    allocate: ({ pool, sizeBytes, flags }, tail) => {
      const bytes = asNumber(sizeBytes);
      const alignmentBytes = bytes >= LARGE_BYTES ? LARGE_BYTES : PAGE_BYTES;
      const address = this.#known.pool(pool).allocate(bytes, { flags: asNumber(flags), alignmentBytes });
      this.#allocated.set(address, tail);
      return { words: [address] };
    },
    free: ({ address }, tail) => {
      // Not by this process, whose own stack would say nothing.
      this.#live.cpuAgent.pool('fine-grained').free(address, { isByHost: false });
      this.#freed.set(address, tail);
      return NO_REPLY;
    },
    agentInfo: ({ agent, attribute }) => {
      const id = asNumber(attribute);
      const layout = ATTRIBUTE_LAYOUTS.agent.get(id);
      if (layout === undefined) throw new HsaError('INVALID_ARGUMENT', `agents have no information ${hex(id)}`);
      return { words: [], tail: encodeValue(layout, agentInfo(this.#known.agent(agent), id), this.#known.of) };
    },
    createQueue: (request) => this.#createQueue(request),
    destroyQueue: ({ address }) => {
      const queue = this.#queue(address);
      queue[Symbol.dispose]();
      this.#statistics = addStatistics(this.#statistics, queue.statistics);
      this.#queues.delete(address);
      this.#stopped.delete(address);
      return NO_REPLY;
    },
    inactivateQueue: ({ address }) => {
      this.#queue(address).inactivate();
      return NO_REPLY;
    },
    setPriority: ({ address, priority }) => {
      this.#queue(address).priority = choice(QUEUE_PRIORITIES, priority + 1n, 'queue priority');
      return NO_REPLY;
    },
    queueError: ({ address }) => this.#queueError(address),
    createExecutable: ({ profile, rounding }) => {
      const options = {
        profile: choice(PROFILE_NAMES, profile, 'profile'),
        rounding: choice(ROUNDING_NAMES, rounding, 'rounding mode'),
      };
      const handle = this.#nextExecutable++;
      this.#executables.set(handle, this.#live.createExecutable(options));
      return { words: [handle] };
    },
    destroyExecutable: ({ executable }) => {
      const found = this.#executable(executable);
      this.#observer.tools?.onUnloading(found);
      found[Symbol.dispose]();
      this.#executables.delete(executable);
      return NO_REPLY;
    },
    loadCodeObject: ({ executable, agent }, tail) => {
      // The reader keeps the bytes, which are the message's.
      const { bytes, name } = this.#instrumented({
        bytes: tail.slice(),
        name: `code object ${this.#codeObjectCount++}`,
      });
      using reader = new CodeObjectReader(bytes, name);
      const { loadDelta, address, sizeBytes } = this.#executable(executable).loadCodeObject(
        this.#known.agent(agent),
        reader,
      );
      return { words: [loadDelta, address, BigInt(sizeBytes)] };
    },
    defineVariable: ({ executable, agent, address }, tail) => {
      if (tail.length > MAX_NAME_BYTES) throw new HsaError('INVALID_ARGUMENT', `a name of ${tail.length} bytes`);
      const name = new TextDecoder().decode(tail);
      if (agent === 0n) this.#executable(executable).defineProgramVariable(name, address);
      else this.#executable(executable).defineVariable(this.#known.agent(agent), name, address);
      return NO_REPLY;
    },
    freeze: ({ executable }) => {
      const found = this.#executable(executable);
      found.freeze({ constructors: 'none' });
      const agents = new Set(found.loadedCodeObjects.map(({ agent }) => agent));
      for (const agent of agents) this.#observer.tools?.onLoaded(this.#live, agent, found);
      return NO_REPLY;
    },
    validate: ({ executable }) => ({
      words: [this.#executable(executable).validate().length === 0 ? 1n : 0n],
    }),
    symbols: ({ executable }) => {
      const { tools } = this.#observer;
      const symbols = this.#executable(executable).symbols.filter(({ name }) => tools?.adds(name) !== true);
      return { words: [BigInt(symbols.length)], tail: symbolRecords(symbols, this.#known) };
    },
  } satisfies RequestHandlers;

  /** What this application shares by a handle. */
  shared(handle: Uint8Array): SharedAllocation | undefined {
    if (!this.#device || !this.#arena || !this.#runtime) return undefined;
    const { memory } = this.#device;
    const region = SharedRegions.of(memory).find(handle);
    if (!region) return undefined;
    const { owner, globalFlags } = this.#runtime.memory.pointerInfo(region.address);
    // Its owner may have freed it.
    const pool = owner?.pools.find(({ flags }) => flags === globalFlags) ?? this.#runtime.gpuAgents[0]!.pools[0]!;
    return { region, memory, file: this.#arena.file, pool: this.#known.of(pool) };
  }

  #hello(version: bigint, window: bigint): OutgoingReply {
    if (this.#device !== undefined)
      throw new HsaError('INVALID_RUNTIME_STATE', 'an application began twice', {}, 'USAGE');
    if (version !== BigInt(PROTOCOL_VERSION)) {
      const what = `the application's libhsa-runtime64.so.1 speaks version ${version} of the protocol`;
      throw new HsaError('INVALID_ARGUMENT', `${what}, expected ${PROTOCOL_VERSION}`);
    }
    const device = this.#host.openDevice(asNumber(window) - SharedArena.firstWindow);
    this.#device = device;
    this.#observer.onDevice?.(device);
    const arena = new SharedArena(this.#host.linux, device);
    this.#arena = arena;
    const siblings = Array.from({ length: (this.#host.gpuCount ?? 1) - 1 }, () => new SiblingDevice(device));
    const runtime = createRuntime({ devices: [device, ...siblings] });
    this.#runtime = runtime;
    runtime.onSystemEvent((event) => this.#faults.push(event));
    this.#handles = new Handles(runtime);
    this.#clocks = { ticks: device.clock(), systemNs: process.hrtime.bigint() };
    const { ticks, systemNs } = this.#clocks;
    const words = [ticks, systemNs, BigInt(device.properties.timestampFrequencyHz)];
    if (this.#observer.trace || this.#observer.onCall) this.#ring = new TraceRing(device, arena);
    const tail = knownRecords(runtime, this.#handles);
    this.#sharing = new SharingRequests({
      ...{ arena, runtime, handles: this.#handles, linux: this.#host.linux, processId: this.#processId },
      memory: device.memory,
      findShared: (handle) => this.#host.findShared?.(handle),
    });
    return { words, tail, file: arena.file };
  }

  /** Memory faults whose queues have not said so yet. */
  readonly #faults: MemoryFaultEvent[] = [];

  /** The user of tools is told why code cannot have them; the application learns that it is not loaded. */
  #instrumented(image: LoadedImage): LoadedImage {
    const { tools } = this.#observer;
    if (!tools) return image;
    try {
      return tools.instrument(image);
    } catch (error) {
      this.#host.report(error);
      throw error instanceof WavewrightError ? statusError('INVALID_CODE_OBJECT', error) : error;
    }
  }

  #createQueue(request: Request<'createQueue'>) {
    const { sizePackets, type, privateSegmentBytes, groupSegmentBytes } = request;
    const agent = this.#known.agent(request.agent);
    const { tools } = this.#observer;
    const queue: Queue = createObservedQueue(this.#live, agent, tools, {
      type: choice<QueueType>(QUEUE_TYPES, type, 'queue type'),
      sizePackets: asNumber(sizePackets),
      privateSegmentSizeBytes: asNumber(privateSegmentBytes),
      groupSegmentSizeBytes: asNumber(groupSegmentBytes),
      onError: (error, { address }) => {
        this.#hasStopped = true;
        this.#stopped.set(address, { error, fault: this.#faults.shift() });
      },
      // With tools another queue runs the packets, of which the application knows nothing.
      onPacket: (packet) => this.#tell(packet, queue),
    });
    this.#queues.set(queue.address, queue);
    return { words: [queue.address] };
  }

  #tell(packet: FinishedPacket, { address: queue }: Queue): void {
    if (packet.completionSignal !== 0n) this.#completed |= concernOf(packet.completionSignal);
    const { onPacket, trace } = this.#observer;
    if (!onPacket && !trace) return;
    const { dispatch } = packet;
    const now = process.hrtime.bigint();
    const times = dispatch
      ? { beginNs: this.#systemTime(dispatch.startTicks), endNs: this.#systemTime(dispatch.endTicks) }
      : { beginNs: now, endNs: now };
    const timed = { ...packet, ...times, queue };
    onPacket?.(timed);
    trace?.addPacket(timed);
  }

  /** CLOCK_MONOTONIC when the device's clock stands at `ticks`. */
  #systemTime(ticks: bigint): bigint {
    const { ticks: first, systemNs } = this.#clocks;
    return systemNs + ((ticks - first) * NS_PER_S) / BigInt(this.#device!.properties.timestampFrequencyHz);
  }

  #queueError(address: bigint): OutgoingReply {
    const stopped = this.#stopped.get(address);
    if (stopped === undefined) throw new HsaError('INVALID_QUEUE', `no queue at ${hex(address)} has an error`);
    const { fault } = stopped.error;
    const isMemoryFault = fault?.kind === 'memory';
    const words = [
      isMemoryFault ? 1n : 0n,
      fault?.address ?? 0n,
      BigInt(stopped.fault?.reason ?? FAULT_REASON.pageNotPresent),
    ];
    const lines = [stopped.error.error.message, ...this.#historyOf(fault)];
    return { words, tail: new TextEncoder().encode(lines.map((line) => `wavewright: ${line}`).join('\n')) };
  }

  /** Who made and freed the memory that a fault was in, or next to. */
  #historyOf({ freedAllocation: freed, nearestAllocation: near }: Partial<Fault> = {}): string[] {
    const allocation = freed ?? near;
    if (!allocation) return [];
    const by = (what: string, callers: Callers): string[] => {
      const text = describeCallers(this.#processId, callers.of(allocation.address));
      return text === undefined ? [] : [`that memory was ${what} by ${text}`];
    };
    return [...by('allocated', this.#allocated), ...(freed ? by('freed', this.#freed) : [])];
  }

  get #live(): Runtime {
    if (this.#runtime !== undefined) return this.#runtime;
    throw new HsaError('NOT_INITIALIZED', 'an application asked before it said hello');
  }

  get #known(): Handles {
    if (this.#handles !== undefined) return this.#handles;
    throw new HsaError('NOT_INITIALIZED', 'an application asked before it said hello');
  }

  #queue(address: bigint): Queue {
    const found = this.#queues.get(address);
    if (found !== undefined) return found;
    throw new HsaError('INVALID_QUEUE', `no queue at ${hex(address)}`);
  }

  #executable(handle: bigint): Executable {
    const found = this.#executables.get(handle);
    if (found !== undefined) return found;
    throw new HsaError('INVALID_EXECUTABLE', `no executable ${handle}`);
  }

  /** Lets queues and device work for about `sliceMs`, and wakes the application's threads that wait. */
  advance(sliceMs: number): AdvanceResult {
    if (this.#runtime === undefined) return 'idle';
    const result = this.#runtime.progress(sliceMs);
    this.#wakeWaiters(result);
    this.#takeTrace();
    return result;
  }

  #takeTrace(): void {
    if (!this.#ring) return;
    for (const call of this.#ring.take()) {
      this.#observer.trace?.addCall(call);
      this.#observer.onCall?.(call);
    }
  }

  /**
   * Waking costs as much as a small kernel: it is done for signals that were completed, at once for kernels
   * that wait for the host, and now and then while kernels run, which may change signals themselves.
   */
  #wakeWaiters(result: AdvanceResult): void {
    const { control, address } = this.#arena!;
    const completed = this.#completed;
    this.#completed = 0;
    if (!this.#hasStopped && Atomics.load(control, CONTROL_WORDS.waiters) === 0) return;
    const now = performance.now();
    const isDue = result === 'waiting' || this.#hasStopped || now - this.#wokenMs >= MAX_QUIET_MS;
    if (completed === 0 && !isDue) return;
    if (isDue) this.#wokenMs = now;
    this.#hasStopped = false;
    Atomics.add(control, CONTROL_WORDS.epoch, 1);
    this.#host.linux.wake(address + BigInt(4 * CONTROL_WORDS.epoch), isDue ? ALL_CONCERNS : completed);
  }

  /** Says whether the device process sleeps: an application that has something to do then sends `wake`. */
  set isSleeping(isSleeping: boolean) {
    if (this.#arena) Atomics.exchange(this.#arena.control, CONTROL_WORDS.sleeping, isSleeping ? 1 : 0);
  }

  /** What all queues have done. */
  get statistics(): DispatchStatistics {
    return [...this.#queues.values()].reduce((sum, queue) => addStatistics(sum, queue.statistics), this.#statistics);
  }

  /** Copies are the application's own work, and so is counting them. */
  get copies(): CopySums {
    if (!this.#arena || !this.#runtime) return this.#copies;
    const { count, bytes } = this.#arena.copies;
    return { count, bytes };
  }

  /** One line for each resident wave. */
  describeWaves(): string[] {
    return [...this.#queues.values()].flatMap((queue) => queue.describeWaves());
  }

  [Symbol.dispose](): void {
    for (const queue of this.#queues.values()) queue.inactivate();
    this.#takeTrace();
    if (this.#ring && this.#observer.trace) this.#observer.trace.lostCount += this.#ring.lostCount;
    if (this.#ring) this.#observer.onLostCalls?.(this.#ring.lostCount);
    this.#statistics = this.statistics;
    this.#copies = this.copies;
    this.#queues.clear();
    if (this.#runtime) this.#observer.tools?.onFinished();
    this.#sharing?.[Symbol.dispose]();
    this.#runtime?.[Symbol.dispose]();
    this.#runtime = undefined;
    this.#device?.close();
    this.#arena?.[Symbol.dispose]();
  }
}

function statusOf(error: WavewrightError): number {
  const withStatus = statusError('ERROR', error);
  return withStatus instanceof HsaError ? withStatus.hsaStatus : HSA_STATUS.ERROR.value;
}

function choice<T>(values: readonly T[], index: bigint, what: string): T {
  const found = index >= 0n && index < values.length ? values[Number(index)] : undefined;
  if (found !== undefined) return found;
  throw new HsaError('INVALID_ARGUMENT', `${what} ${index}`);
}
