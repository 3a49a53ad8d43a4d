/**
 * The runtime: one CPU agent, one GPU agent per device, and what they own. Everything runs on the calling thread: `progress`,
 * which every wait calls, is what moves packets and kernels forward.
 */
import { Agent } from './agent.ts';
import type { AdvanceResult, Device, DeviceMemory, Fault } from './device.ts';
import { Executable } from './executable.ts';
import { faultReason } from './faults.ts';
import { SIGNAL } from './layouts.ts';
import { MemoryPool } from './memory-pool.ts';
import { Queue, type QueueOptions } from './queue.ts';
import { type Progress, Signal } from './signal.ts';
import { HsaError } from './status.ts';

/** `hsa_amd_event_t` of type memory fault. */
export interface MemoryFaultEvent {
  readonly kind: 'memory-fault';
  readonly agent: Agent;
  readonly address: bigint;
  /** `FAULT_REASON` bits. */
  readonly reason: number;
  readonly fault: Fault;
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
  #queueCount = 0;

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
  }

  /** `agent`: whose kernels use the signal; needed only where devices do not share their memory. Default: the first GPU agent. */
  createSignal(initial: bigint, agent: Agent = this.gpuAgents[0]!): Signal {
    return this.#signals.get(agent.requireDevice().memory)!.create(initial, this);
  }

  createQueue(agent: Agent, options: QueueOptions = {}): Queue {
    const queue = new Queue(
      {
        agent,
        device: agent.requireDevice(),
        id: this.#queueCount,
        runtime: this,
        onError: (_, { fault }) => {
          if (fault?.kind === 'memory') this.#emitFault(agent, fault);
        },
        onDispose: (disposed) => this.#queues.delete(disposed),
      },
      options,
    );
    this.#queueCount++;
    this.#queues.add(queue);
    return queue;
  }

  createExecutable(): Executable {
    return new Executable();
  }

  /** Live host view of device memory. Throws USAGE when the range is not inside one allocation. */
  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    const memory = this.#memories.find((candidate) => candidate.find(address) !== undefined) ?? this.#memories[0]!;
    return memory.view(address, sizeBytes);
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
    this.#processQueues();
    let result: AdvanceResult = 'idle';
    for (const device of this.#devices) {
      const state = device.advance(sliceMs);
      if (state === 'running' || result === 'idle') result = state;
    }
    this.#processQueues();
    for (const queue of this.#queues) if (result === 'idle' && queue.running) result = 'running';
    return result;
  }

  /** A packet that completes may let packets of other queues start. */
  #processQueues(): void {
    let moved = true;
    while (moved) {
      moved = false;
      for (const queue of this.#queues) moved = queue.process() || moved;
    }
  }

  get failure(): Error | undefined {
    for (const queue of this.#queues) if (queue.error !== undefined) return queue.error.error;
    return undefined;
  }

  [Symbol.dispose](): void {
    for (const queue of [...this.#queues]) queue[Symbol.dispose]();
    for (const pages of this.#signals.values()) pages.free();
  }

  #emitFault(agent: Agent, fault: Fault): void {
    const event = {
      kind: 'memory-fault',
      agent,
      address: fault.address ?? 0n,
      reason: faultReason(fault),
      fault,
    } as const;
    for (const handler of this.#handlers) handler(event);
  }
}
