/**
 * The runtime: one CPU agent, one GPU agent per device, and what they own. Everything runs on the calling thread: `progress`,
 * which every wait calls, is what moves packets and kernels forward.
 */
import { Agent } from './agent.ts';
import { CopyEngine, type CopyOptions, type CopyRectOptions } from './copy-engine.ts';
import type { AdvanceResult, Device, DeviceMemory, Fault } from './device.ts';
import { Executable } from './executable.ts';
import { faultReason } from './faults.ts';
import { InterceptQueue } from './intercept-queue.ts';
import { SIGNAL } from './layouts.ts';
import type { SegmentDescriptor } from './loaded-code-object.ts';
import { MemoryPool } from './memory-pool.ts';
import type { QueueError } from './packet-processor.ts';
import { type PointerInfo, pointerInfo } from './pointer-info.ts';
import { Queue, type QueueOptions, type QueueOwner } from './queue.ts';
import { type Progress, Signal, type WaitOptions } from './signal.ts';
import { type SignalHandler, SignalHandlers, type SignalWait, waitAll, waitAny } from './signal-waits.ts';
import { HsaError } from './status.ts';

/** `hsa_amd_event_t` of type memory fault. */
export interface MemoryFaultEvent {
  readonly kind: 'memory-fault';
  readonly agent: Agent;
  readonly address: bigint;
  /** `FAULT_REASON` bits. */
  readonly reason: number;
  readonly fault: Fault;
  /** Name of the kernel whose dispatch faulted, where its executable is still there. */
  readonly kernel: string | undefined;
}

export type SystemEventHandler = (event: MemoryFaultEvent) => void;

export interface RuntimeOptions {
  /** At least one. They stay open when the runtime is disposed. */
  devices: readonly Device[];
}

/** Throws INVALID_ARGUMENT without a device. */
export function createRuntime(options: RuntimeOptions): Runtime {
  if (options.devices.length === 0) throw new HsaError('INVALID_ARGUMENT', 'a runtime needs at least one device');
  return new Runtime(options.devices);
}

const SIGNALS_PER_PAGE = 4096 / SIGNAL.sizeBytes;

/** Signals live 64 to a page. */
class SignalPages {
  readonly #memory: DeviceMemory;
  readonly #free: bigint[] = [];
  readonly #pages: bigint[] = [];

  constructor(memory: DeviceMemory) {
    this.#memory = memory;
  }

  create(initial: bigint, runtime: Progress): Signal {
    if (this.#free.length === 0) {
      const page = this.#memory.allocate(4096, { label: 'signals' });
      this.#pages.push(page);
      for (let slot = SIGNALS_PER_PAGE - 1; slot >= 0; slot--) this.#free.push(page + BigInt(slot * SIGNAL.sizeBytes));
    }
    const address = this.#free.pop()!;
    return new Signal(this.#memory, address, initial, runtime, () => this.#free.push(address));
  }

  free(): void {
    for (const page of this.#pages) this.#memory.free(page);
    this.#pages.length = 0;
    this.#free.length = 0;
  }
}

export class Runtime implements Progress, Disposable {
  readonly cpuAgent: Agent;
  readonly gpuAgents: readonly Agent[];
  /** All agents, the CPU agent first. */
  readonly agents: readonly Agent[];
  readonly #devices: readonly Device[];
  readonly #memories: readonly DeviceMemory[];
  readonly #signals: ReadonlyMap<DeviceMemory, SignalPages>;
  readonly #queues = new Set<Queue>();
  readonly #handlers = new Set<SystemEventHandler>();
  readonly #executables = new Set<Executable>();
  readonly #copies: CopyEngine;
  readonly #signalHandlers = new SignalHandlers();
  #queueCount = 0;
  #isDisposed = false;

  /** Use `createRuntime`. */
  constructor(devices: readonly Device[]) {
    this.#devices = devices;
    this.#memories = [...new Set(devices.map((device) => device.memory))];
    this.#signals = new Map(this.#memories.map((memory) => [memory, new SignalPages(memory)]));
    const sizeBytes = Math.max(...devices.map((device) => device.properties.memorySizeBytes));
    this.cpuAgent = new Agent(
      this.#memories.flatMap((memory) => [
        new MemoryPool('fine-grained', sizeBytes, memory),
        new MemoryPool('kernarg', sizeBytes, memory),
        new MemoryPool('coarse-grained', sizeBytes, memory),
      ]),
    );
    this.gpuAgents = devices.map((device) => {
      const { memorySizeBytes, ldsSizeBytes } = device.properties;
      const pools = [
        new MemoryPool('coarse-grained', memorySizeBytes, device.memory),
        new MemoryPool('group', ldsSizeBytes),
      ];
      return new Agent(pools, device);
    });
    this.agents = [this.cpuAgent, ...this.gpuAgents];
    this.#copies = new CopyEngine({
      memoryOf: (address) => this.#memoryOf(address),
      clock: () => devices[0]!.clock(),
    });
  }

  /** `agent`: whose kernels use the signal; needed only where devices do not share their memory. Default: the first GPU agent. */
  createSignal(initial: bigint, agent: Agent = this.gpuAgents[0]!): Signal {
    this.#expectOwn(agent);
    return this.#signals.get(agent.requireDevice().memory)!.create(initial, this);
  }

  /** Throws INVALID_AGENT for the CPU agent and agents of other runtimes, INVALID_ARGUMENT and OUT_OF_RESOURCES for the size. */
  createQueue(agent: Agent, options: QueueOptions = {}): Queue {
    this.#expectOwn(agent);
    const owner = this.#owner(agent, ({ fault, kernel }) => {
      if (fault?.kind === 'memory') this.#emitFault(agent, fault, kernel);
    });
    return this.#add(new Queue(owner, options));
  }

  /** A queue whose packets go through the interceptors that are registered with it. */
  createInterceptQueue(agent: Agent, options: QueueOptions = {}): InterceptQueue {
    this.#expectOwn(agent);
    let inner: Queue | undefined;
    const owner = this.#owner(agent, () => {});
    const onDispose = (queue: Queue) => {
      owner.onDispose(queue);
      inner?.[Symbol.dispose]();
    };
    const { sizePackets } = options;
    const queue = new InterceptQueue({ ...owner, onDispose }, options, (onError) => {
      inner = this.createQueue(agent, { onError, ...(sizePackets !== undefined && { sizePackets }) });
      return inner;
    });
    return this.#add(queue);
  }

  /** Throws NOT_INITIALIZED when the runtime was shut down, INVALID_AGENT for an agent of another runtime. */
  #expectOwn(agent?: Agent): void {
    if (this.#isDisposed) throw new HsaError('NOT_INITIALIZED', 'the runtime was shut down');
    if (agent !== undefined && !this.agents.includes(agent)) {
      throw new HsaError('INVALID_AGENT', `agent ${agent.name} belongs to another runtime`);
    }
  }

  #owner(agent: Agent, onError: (error: QueueError) => void): QueueOwner {
    return {
      agent,
      device: agent.requireDevice(),
      id: this.#queueCount++,
      runtime: this,
      onError: (_, error) => onError(error),
      onDispose: (disposed) => this.#queues.delete(disposed),
    };
  }

  #add<Q extends Queue>(queue: Q): Q {
    this.#queues.add(queue);
    return queue;
  }

  createExecutable(): Executable {
    this.#expectOwn();
    const executable = new Executable((disposed) => this.#executables.delete(disposed));
    this.#executables.add(executable);
    return executable;
  }

  /** Executables that are not disposed (hsa_ven_amd_loader_iterate_executables). */
  get executables(): readonly Executable[] {
    return [...this.#executables];
  }

  /** The executable whose code object is loaded at `address` (hsa_ven_amd_loader_query_executable). */
  executableAt(address: bigint): Executable | undefined {
    return this.executables.find(({ loadedCodeObjects }) =>
      loadedCodeObjects.some((each) => address >= each.address && address < each.address + BigInt(each.sizeBytes)),
    );
  }

  /** Segments of all loaded code objects (hsa_ven_amd_loader_query_segment_descriptors). */
  get segments(): readonly SegmentDescriptor[] {
    return this.executables.flatMap(({ loadedCodeObjects }) => loadedCodeObjects.flatMap((each) => each.segments()));
  }

  /** Writes `count` dwords. Throws INVALID_ARGUMENT for a misaligned address or memory that is not there. */
  fill(address: bigint, value: number, count: number): void {
    this.#copies.fill(address, value, count);
  }

  /** Copies at once; the ranges may overlap and belong to different devices. Throws INVALID_ARGUMENT for memory that is not there. */
  copy(destination: bigint, source: bigint, sizeBytes: number): void {
    this.#copies.copy(destination, source, sizeBytes);
  }

  /** Copies when the dependencies are 0, while the runtime makes progress. Throws INVALID_ARGUMENT and INVALID_SIGNAL now. */
  copyAsync(options: CopyOptions): void {
    this.#copies.submit(options);
  }

  /** As `copyAsync`, for a box of rows and planes. */
  copyRectAsync(options: CopyRectOptions): void {
    this.#copies.submitRect(options);
  }

  /** Index of the first wait that holds, undefined when the time ran out. Throws INVALID_ARGUMENT without waits. */
  waitAny(waits: readonly SignalWait[], options?: WaitOptions): number | undefined {
    return waitAny(this, waits, options);
  }

  /** Whether all hold at once before the time runs out. */
  waitAll(waits: readonly SignalWait[], options?: WaitOptions): boolean {
    return waitAll(this, waits, options);
  }

  /** Calls `handler` when the condition holds, while the runtime makes progress. Returns what removes the handler again. */
  onSignal(wait: SignalWait, handler: SignalHandler): () => void {
    return this.#signalHandlers.add(wait, handler);
  }

  pointerInfo(address: bigint): PointerInfo {
    return pointerInfo(this.gpuAgents, address);
  }

  /** Live host view of device memory. Throws USAGE when the range is not inside one allocation. */
  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    return this.#memoryOf(address).view(address, sizeBytes);
  }

  #memoryOf(address: bigint): DeviceMemory {
    return this.#memories.find((candidate) => candidate.find(address) !== undefined) ?? this.#memories[0]!;
  }

  /** Called for memory faults of every GPU agent. Returns what removes the handler again. */
  onSystemEvent(handler: SystemEventHandler): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /**
   * Lets every queue and device work for about `sliceMs` each. The result is that of the busiest device: `idle` also where packets
   * wait for signals that only the host can change.
   */
  progress(sliceMs?: number): AdvanceResult {
    let handled = this.#processQueues();
    let result: AdvanceResult = 'idle';
    for (const device of this.#devices) {
      const state = device.advance(sliceMs);
      if (state === 'running' || result === 'idle') result = state;
    }
    handled = this.#processQueues() || handled;
    if (handled) return 'running';
    for (const queue of this.#queues) if (result === 'idle' && queue.running) result = 'running';
    return result;
  }

  /** A packet or copy that completes may let others start. Returns whether a handler of a signal ran, which may let even more start. */
  #processQueues(): boolean {
    let moved = true;
    while (moved) {
      moved = this.#copies.process();
      for (const queue of this.#queues) moved = queue.process() || moved;
    }
    return this.#signalHandlers.process();
  }

  get failure(): Error | undefined {
    for (const queue of this.#queues) if (queue.error !== undefined) return queue.error.error;
    return undefined;
  }

  /** Ends all queues, unloads all code, frees all signals (hsa_shut_down). Idempotent. */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    for (const executable of this.executables) executable[Symbol.dispose]();
    for (const queue of [...this.#queues]) queue[Symbol.dispose]();
    for (const pages of this.#signals.values()) pages.free();
  }

  #emitFault(agent: Agent, fault: Fault, kernel: string | undefined): void {
    const event = {
      kind: 'memory-fault',
      agent,
      address: fault.address ?? 0n,
      reason: faultReason(fault),
      fault,
      kernel,
    } as const;
    for (const handler of this.#handlers) handler(event);
  }
}
