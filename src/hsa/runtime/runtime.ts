/**
 * The runtime: one CPU agent, one GPU agent per device, and what they own. Everything runs on the calling
 * thread: `progress`, which every wait calls, is what moves packets and kernels forward. Disposing the
 * runtime gives back all that was made with it; the devices stay open, for whoever opened them.
 */

import type { AdvanceResult, Device } from '../../device/device.ts';
import type { Fault } from '../../device/fault.ts';
import type { DeviceMemory } from '../../device/memory.ts';
import type { ConstructorCall, ConstructorOptions } from '../executables/constructors.ts';
import { Executable, type ExecutableOptions } from '../executables/executable.ts';
import { LoaderExtension } from '../executables/loader-extension.ts';
import { COPY_ENGINE, CopyEngine, type CopyOptions, type CopyRectOptions } from '../memory/copy-engine.ts';
import { IpcSharing } from '../memory/ipc.ts';
import { RuntimeMemory } from '../memory/runtime-memory.ts';
import { Agent } from '../objects/agent.ts';
import { EXTENSION_VERSIONS } from '../objects/extensions.ts';
import { expectCallback, expectHandle } from '../objects/handles.ts';
import { Lifetime } from '../objects/lifetime.ts';
import { Allocations, MemoryPool } from '../objects/memory-pool.ts';
import { HsaError } from '../objects/status.ts';
import { SYSTEM_FREQUENCY_HZ, type SystemInfoValue, systemInfo, systemTimestamp } from '../objects/system-info.ts';
import { faultReason } from '../queues/faults.ts';
import { InterceptQueue } from '../queues/intercept-queue.ts';
import type { QueueError } from '../queues/packet-processor.ts';
import { QUEUE_PRIORITIES, Queue, type QueueOptions, type QueueOwner } from '../queues/queue.ts';
import { expectSignals, type Progress, type Signal, type WaitOptions } from '../signals/signal.ts';
import { SignalGroup } from '../signals/signal-group.ts';
import { SignalPages } from '../signals/signal-pages.ts';
import {
  type SignalHandler,
  SignalHandlers,
  type SignalWait,
  waitAll,
  waitAllAsync,
  waitAny,
  waitAnyAsync,
} from '../signals/signal-waits.ts';
import { runConstructors } from './run-constructors.ts';
import { type UnsupportedFunction, unsupported } from './unsupported.ts';

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
  /**
   * Whether kernels fault on memory of the CPU agent's pools that `memory.allowAccess` did not give their
   * agent, as on a discrete GPU. Default false: agents have all memory that they reach.
   */
  enforcesAccess?: boolean;
}

/** Throws INVALID_ARGUMENT without a device, NOT_SUPPORTED for a device that cannot enforce access. */
export function createRuntime({ devices, enforcesAccess = false }: RuntimeOptions): Runtime {
  if (devices.length === 0) throw new HsaError('INVALID_ARGUMENT', 'a runtime needs at least one device');
  for (const device of devices) {
    if (typeof device?.dispatch === 'function') continue;
    throw new HsaError('INVALID_ARGUMENT', `a device is ${String(device)}, expected what createEmulatedDevice gives`);
  }
  const unable = enforcesAccess && devices.find(({ memory }) => memory.setAccess === undefined);
  if (unable) throw new HsaError('NOT_SUPPORTED', `${unable.name} cannot take access to memory away`);
  return new Runtime(devices, enforcesAccess);
}

const nanoseconds = (agent: Agent, ticks: bigint): bigint =>
  (ticks * BigInt(SYSTEM_FREQUENCY_HZ)) / BigInt(agent.info.timestampFrequencyHz);

export class Runtime implements Progress, Disposable {
  readonly cpuAgent: Agent;
  readonly gpuAgents: readonly Agent[];
  /** All agents, the CPU agent first. */
  readonly agents: readonly Agent[];
  readonly #devices: readonly Device[];
  readonly #memories: readonly DeviceMemory[];
  /** Access, pointers, locks. */
  readonly memory: RuntimeMemory;
  /** Memory and signals shared with other runtimes that have the same device. */
  readonly ipc: IpcSharing;
  readonly #signals: ReadonlyMap<DeviceMemory, SignalPages>;
  readonly lifetime = new Lifetime();
  /** What is loaded where (the AMD loader extension). */
  readonly loader = new LoaderExtension(() => this.executables);
  readonly #allocations: Allocations;
  /** System time, in nanoseconds, when the clock of an agent's device stood at 0. */
  readonly #clockStarts = new Map<Agent, bigint>();
  /**
   * The queues in the order in which the runtime looks at them; sorted when a priority changes. Replaced by
   * another list, as handlers make and destroy queues while it is gone through.
   */
  #queues: readonly Queue[] = [];
  readonly #handlers = new Set<SystemEventHandler>();
  readonly #executables = new Set<Executable>();
  readonly #copies: CopyEngine;
  readonly #signalHandlers = new SignalHandlers();
  #queueCount = 0;

  /** Use `createRuntime`. */
  constructor(devices: readonly Device[], enforcesAccess: boolean) {
    this.#devices = devices;
    this.#memories = [...new Set(devices.map((device) => device.memory))];
    this.#signals = new Map(this.#memories.map((memory) => [memory, new SignalPages(memory)]));
    const sizeBytes = Math.max(...devices.map((device) => device.properties.memorySizeBytes));
    const { lifetime } = this;
    const allocations = new Allocations(lifetime, enforcesAccess);
    this.#allocations = allocations;
    const systemPools = this.#memories.flatMap((memory) =>
      (['fine-grained', 'kernarg', 'coarse-grained'] as const).map(
        (kind) => new MemoryPool(allocations, 'cpu', kind, sizeBytes, memory),
      ),
    );
    this.cpuAgent = new Agent({ lifetime, node: 0, pools: systemPools });
    this.gpuAgents = devices.map((device, i) => {
      const { memorySizeBytes, ldsSizeBytes } = device.properties;
      const pools = [
        new MemoryPool(allocations, 'gpu', 'coarse-grained', memorySizeBytes, device.memory),
        new MemoryPool(allocations, 'gpu', 'group', ldsSizeBytes),
      ];
      const reached = systemPools.filter(({ memory }) => memory === device.memory);
      const nearestCpu = this.cpuAgent;
      return new Agent({ lifetime, node: i + 1, pools, systemPools: reached, device, nearestCpu });
    });
    for (const agent of this.gpuAgents) {
      this.#clockStarts.set(agent, systemTimestamp() - nanoseconds(agent, agent.requireDevice().clock()));
    }
    this.agents = [this.cpuAgent, ...this.gpuAgents];
    const memoryOf = (address: bigint) => this.#memoryOf(address);
    const expectAgent = (agent: Agent) => this.#expectAgent(agent);
    const signalMemory = (consumers: readonly Agent[]) => this.#signalMemory(consumers);
    const common = {
      runtime: this,
      agents: this.agents,
      memories: this.#memories,
      lifetime,
      allocations,
      memoryOf,
      expectAgent,
    };
    this.#copies = new CopyEngine({ ...common, clock: () => devices[0]!.clock() });
    this.ipc = new IpcSharing({ ...common, signalMemory });
    this.memory = new RuntimeMemory({ ...common, isAttached: (address) => this.ipc.isAttached(address) });
  }

  /**
   * Another user of the same runtime (hsa_init): it ends when it was disposed once more. Throws
   * REFCOUNT_OVERFLOW.
   */
  retain(): this {
    this.lifetime.retain();
    return this;
  }

  /** hsa_system_get_info. Throws INVALID_ARGUMENT for a number that is not in `SYSTEM_INFO`. */
  systemInfo(id: number): SystemInfoValue {
    this.lifetime.expect();
    return systemInfo(id);
  }

  /**
   * The highest minor version of an extension, undefined when it is not there
   * (hsa_system_major_extension_supported).
   */
  extensionMinor(extension: number, major: number): number | undefined {
    this.lifetime.expect();
    const version = EXTENSION_VERSIONS.get(extension);
    return version?.major === major ? version.minor : undefined;
  }

  /**
   * What calling this function of the specification comes to: throws NOT_SUPPORTED with the reason, or
   * NOT_INITIALIZED.
   */
  refuse(name: UnsupportedFunction): never {
    this.lifetime.expect();
    throw unsupported(name);
  }

  /**
   * `consumers`: whose kernels use the signal; needed only where devices do not share their memory. Default:
   * all that share it with the first GPU agent. Throws INVALID_ARGUMENT for an agent that is named twice and
   * for GPU agents that do not share their memory.
   */
  createSignal(initial: bigint, ...consumers: readonly Agent[]): Signal {
    return this.#signals.get(this.#signalMemory(consumers))!.create(initial, this, consumers);
  }

  #signalMemory(consumers: readonly Agent[]): DeviceMemory {
    this.lifetime.expect();
    for (const agent of consumers) this.#expectAgent(agent);
    if (new Set(consumers).size < consumers.length) throw new HsaError('INVALID_ARGUMENT', 'a consumer is named twice');
    const memories = new Set(consumers.flatMap(({ device }) => (device === undefined ? [] : [device.memory])));
    if (memories.size > 1) throw new HsaError('INVALID_ARGUMENT', 'the consumers do not share their memory');
    const [memory = this.#memories[0]!] = memories;
    return memory;
  }

  /** Signals to be waited for together. Throws INVALID_ARGUMENT without signals or consumers. */
  createSignalGroup(signals: readonly Signal[], consumers: readonly Agent[]): SignalGroup {
    this.lifetime.expect();
    for (const agent of consumers) this.#expectAgent(agent);
    return new SignalGroup(this, signals, consumers);
  }

  /**
   * Throws INVALID_AGENT for the CPU agent and agents of other runtimes, INVALID_ARGUMENT and
   * OUT_OF_RESOURCES for the size.
   */
  createQueue(agent: Agent, options: QueueOptions = {}): Queue {
    this.#expectAgent(agent);
    const owner = this.#owner(agent, ({ fault, kernel }) => {
      if (fault?.kind === 'memory') this.#emitFault(agent, fault, kernel);
    });
    return this.#add(new Queue(owner, options));
  }

  /** A queue whose packets go through the interceptors that are registered with it. */
  createInterceptQueue(agent: Agent, options: QueueOptions = {}): InterceptQueue {
    this.#expectAgent(agent);
    let inner: Queue | undefined;
    const owner = this.#owner(agent, () => {});
    const onDispose = (queue: Queue) => {
      owner.onDispose(queue);
      inner?.[Symbol.dispose]();
    };
    const queue = new InterceptQueue({ ...owner, onDispose }, options, (onError) => {
      inner = this.createQueue(agent, { ...options, onError });
      return inner;
    });
    return this.#add(queue);
  }

  /** Throws NOT_INITIALIZED when the runtime was shut down, INVALID_AGENT for an agent of another runtime. */
  #expectAgent(agent: Agent): void {
    this.lifetime.expect();
    expectHandle(agent, Agent, 'INVALID_AGENT');
    if (this.agents.includes(agent)) return;
    throw new HsaError('INVALID_AGENT', `agent ${agent.name} belongs to another runtime`);
  }

  #owner(agent: Agent, onError: (error: QueueError) => void): QueueOwner {
    return {
      agent,
      device: agent.requireDevice(),
      id: this.#queueCount++,
      runtime: this,
      onError: (_, error) => onError(error),
      onDispose: (disposed) => {
        this.#queues = this.#queues.filter((each) => each !== disposed);
      },
      onPriority: () => {
        const rank = ({ priority }: Queue) => QUEUE_PRIORITIES.indexOf(priority);
        this.#queues = this.#queues.toSorted((a, b) => rank(b) - rank(a));
      },
    };
  }

  #add<Q extends Queue>(queue: Q): Q {
    this.#queues = [...this.#queues, queue];
    return queue;
  }

  /** Throws INVALID_ARGUMENT for an unknown profile or rounding mode. */
  createExecutable(options?: ExecutableOptions): Executable {
    this.lifetime.expect();
    const owner = {
      lifetime: this.lifetime,
      expectAgent: (agent: Agent) => this.#expectAgent(agent),
      onDispose: (disposed: Executable) => this.#executables.delete(disposed),
      runConstructors: (calls: readonly ConstructorCall[], how: ConstructorOptions) =>
        runConstructors(this, calls, how),
    };
    const executable = new Executable(owner, options);
    this.#executables.add(executable);
    return executable;
  }

  /** Executables that are not disposed. */
  get executables(): readonly Executable[] {
    this.lifetime.expect();
    return [...this.#executables];
  }

  /** Writes `count` dwords. Throws INVALID_ARGUMENT for a misaligned address or memory that is not there. */
  fill(address: bigint, value: number, count: number): void {
    this.lifetime.expect();
    this.#copies.fill(address, value, count);
  }

  /**
   * Copies at once; the ranges may overlap and belong to different devices. Throws INVALID_ARGUMENT for
   * memory that is not there.
   */
  copy(destination: bigint, source: bigint, sizeBytes: number): void {
    this.lifetime.expect();
    this.#copies.copy(destination, source, sizeBytes);
  }

  /**
   * Copies when the dependencies are 0, while the runtime makes progress. Throws INVALID_ARGUMENT and
   * INVALID_SIGNAL now.
   */
  copyAsync(options: CopyOptions): void {
    this.lifetime.expect();
    this.#copies.submit(options);
  }

  /**
   * Engines that could start a copy between two agents now, a bit set (hsa_amd_memory_copy_engine_status).
   * Throws OUT_OF_RESOURCES when all are busy, INVALID_AGENT for copies within one agent.
   */
  copyEngineStatus(destination: Agent, source: Agent): number {
    this.#expectAgent(destination);
    this.#expectAgent(source);
    if (destination === source) throw new HsaError('INVALID_AGENT', 'a copy within one agent needs no engine');
    if (!this.#copies.isIdle) throw new HsaError('OUT_OF_RESOURCES', 'the copy engine is busy');
    return COPY_ENGINE;
  }

  /**
   * Whether completion signals of copies get their times (hsa_amd_profiling_async_copy_enable). Default true.
   */
  set copiesAreTimed(isEnabled: boolean) {
    this.lifetime.expect();
    this.#copies.isTimed = isEnabled;
  }

  /** As `copyAsync`, for a box of rows and planes. */
  copyRectAsync(options: CopyRectOptions): void {
    this.lifetime.expect();
    this.#copies.submitRect(options);
  }

  /**
   * Index of the first wait that holds, undefined when the time ran out. Throws INVALID_ARGUMENT without
   * waits.
   */
  waitAny(waits: readonly SignalWait[], options?: WaitOptions): number | undefined {
    return waitAny(this, waits, options);
  }

  /** Whether all hold at once before the time runs out. */
  waitAll(waits: readonly SignalWait[], options?: WaitOptions): boolean {
    return waitAll(this, waits, options);
  }

  /** As `waitAny`, while the event loop has its turns. */
  waitAnyAsync(waits: readonly SignalWait[], options?: WaitOptions): Promise<number | undefined> {
    return waitAnyAsync(this, waits, options);
  }

  /** As `waitAll`, while the event loop has its turns. */
  waitAllAsync(waits: readonly SignalWait[], options?: WaitOptions): Promise<boolean> {
    return waitAllAsync(this, waits, options);
  }

  /**
   * Calls `handler` when the condition holds, while the runtime makes progress. Returns what removes the
   * handler again.
   */
  onSignal(wait: SignalWait, handler: SignalHandler): () => void {
    this.lifetime.expect();
    return this.#signalHandlers.add(this, wait, handler);
  }

  /**
   * When the packet that completed the signal last ran on `agent`, by the system's clock
   * (hsa_amd_profiling_get_dispatch_time); copies have the first GPU agent's clock
   * (hsa_amd_profiling_get_async_copy_time).
   */
  dispatchTime(
    signal: Signal,
    agent: Agent = this.gpuAgents[0]!,
  ): { readonly startNs: bigint; readonly endNs: bigint } {
    expectSignals(this, [signal]);
    const { startTicks, endTicks } = signal;
    return { startNs: this.convertTick(agent, startTicks), endNs: this.convertTick(agent, endTicks) };
  }

  /**
   * A tick of an agent's clock by the system's (hsa_amd_profiling_convert_tick_to_system_domain). Throws
   * INVALID_AGENT for the CPU agent.
   */
  convertTick(agent: Agent, tick: bigint): bigint {
    this.#expectAgent(agent);
    agent.requireDevice();
    return this.#clockStarts.get(agent)! + nanoseconds(agent, tick);
  }

  /**
   * Live host view of device memory. Throws USAGE when the range is not inside one allocation,
   * NOT_INITIALIZED.
   */
  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    this.lifetime.expect();
    return this.#memoryOf(address).view(address, sizeBytes);
  }

  #memoryOf(address: bigint): DeviceMemory {
    return this.#memories.find((candidate) => candidate.find(address) !== undefined) ?? this.#memories[0]!;
  }

  /** Called for memory faults of every GPU agent. Returns what removes the handler again. */
  onSystemEvent(handler: SystemEventHandler): () => void {
    this.lifetime.expect();
    expectCallback(handler);
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  /**
   * Lets every queue and device work for about `sliceMs` each. The result is that of the busiest device:
   * `idle` also where packets wait for signals that only the host can change.
   */
  progress(sliceMs?: number): AdvanceResult {
    this.lifetime.expect();
    this.memory.synchronize();
    let handled = this.#processQueues();
    let result: AdvanceResult = 'idle';
    for (const device of this.#devices) {
      const state = device.advance(sliceMs);
      if (state === 'running' || result === 'idle') result = state;
    }
    handled = this.#processQueues() || handled;
    this.memory.synchronize();
    if (handled) return 'running';
    for (const queue of this.#queues) if (result === 'idle' && queue.running) result = 'running';
    return result;
  }

  /**
   * A packet or copy that completes may let others start. Returns whether a handler of a signal ran, which
   * may let even more start.
   */
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
    return this.#copies.failure;
  }

  /**
   * Ends all queues, unloads all code, frees all signals and allocations when nobody retained the runtime
   * besides (hsa_shut_down). Later calls do nothing.
   */
  [Symbol.dispose](): void {
    if (!this.lifetime.release()) return;
    // What runs ends before its code goes.
    for (const queue of this.#queues) queue[Symbol.dispose]();
    for (const executable of [...this.#executables]) executable[Symbol.dispose]();
    for (const pages of this.#signals.values()) pages.free();
    this.ipc.releaseAll();
    this.#allocations.freeAll();
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
