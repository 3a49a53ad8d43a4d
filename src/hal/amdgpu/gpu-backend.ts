/** GPUs as the device of the `amdgpu` driver: agents of one HSA runtime that nobody else has. */
import type { HostClock } from '../../base/host-clock.ts';
import { hex } from '../../base/text.ts';
import type { ContainerOptions } from '../../codeobject/container.ts';
import type { AdvanceResult, Device } from '../../device/device.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { MemoryPool } from '../../hsa/objects/memory-pool.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from '../../hsa/runtime/runtime.ts';
import type { DeviceBackend, DispatchTimes, LoadRequest, QueueBackend } from '../backend/backend.ts';
import type { DeviceLink, PhysicalDeviceInfo } from '../backend/topology.ts';
import { BUFFER_USAGE, type BufferUsage, MEMORY_TYPES, type MemoryType } from '../core/flags.ts';
import { HalError, invalidArgument, withHalStatus } from '../core/status.ts';
import type { StorageRequest } from '../memory/allocator.ts';
import type { Heap } from '../memory/buffer-params.ts';
import type { ExternalMemory } from '../memory/external-memory.ts';
import type { BufferStorage } from '../memory/storage.ts';
import type { AgentSource, DispatchCounter, InstructionReader } from './agents.ts';
import { type AmdgpuCode, loadCode } from './code.ts';
import { HostQueue, type RingSizes } from './host-queue.ts';
import { type DeviceLibrary, loadLibrary } from './library/device-library.ts';
import { type CrossQueueStrategy, crossQueueStrategy, type WaitParameter } from './order/wait-strategy.ts';
import { ProgramCache } from './programs.ts';

export interface GpuBackendOptions {
  readonly now: HostClock;
  readonly rings: RingSizes;
  readonly container: ContainerOptions;
  /** The code object of the device library, for transfers by kernels; without one the host does them. */
  readonly library?: Uint8Array | undefined;
  /** Of a block of a command buffer. */
  readonly blockBytes: number;
  /** How queues wait for each other. */
  readonly waits: WaitParameter;
  /** Makes the HSA runtime of the GPUs. Default: that of `src/hsa`. */
  readonly createRuntime?: ((options: RuntimeOptions) => Runtime) | undefined;
}

/** What buffers of all heaps may be used for; those that the host sees may be mapped besides. */
const USAGE: readonly BufferUsage[] = [
  'default',
  'dispatch-indirect-parameters',
  'uniform-read',
  'concurrent',
  'immutable',
  'replicate',
  'sharing-export',
  'mapping-optional',
];
const MAPPED: readonly BufferUsage[] = [...USAGE, 'mapping', 'mapping-persistent', 'mapping-access-sequential-write'];

/**
 * Packets complete one by one; queues look at what is complete, which lets others begin, after that many, or
 * when the time is over.
 */
const MAX_ROUNDS = 16;
const MAX_SLICE_MS = 1;

/** A GPU that was opened. */
export interface OpenGpu extends Pick<AgentSource, 'uuid' | 'name' | 'counters' | 'instructions' | 'tracesWaves'> {
  readonly device: Device;
}

/** The memory of each heap for a GPU. */
function poolsOf({ cpuAgent }: Runtime, agent: Agent): readonly MemoryPool[] {
  const local = agent.pool('coarse-grained');
  return [local, local, cpuAgent.pool('fine-grained', agent)];
}

/**
 * IREE's heaps: device memory; device memory that the host sees; memory of the host. An allocation is as
 * large at most as each GPU can have it.
 */
function heapsOf(pools: readonly (readonly MemoryPool[])[]): Heap[] {
  const kinds: readonly (readonly [readonly MemoryType[], readonly BufferUsage[], boolean])[] = [
    [['optimal', 'device-local'], USAGE, false],
    [['device-local', 'host-visible', 'host-coherent'], MAPPED, true],
    [['host-local', 'device-visible'], MAPPED, false],
  ];
  return kinds.map(([types, usage, isSlow], i) => ({
    memoryType: MEMORY_TYPES.set(types),
    usage: BUFFER_USAGE.set(usage),
    maxAllocationBytes: Math.min(...pools.map((each) => each[i]!.sizeBytes)),
    minAlignmentBytes: 256,
    isSlow,
  }));
}

/** GPUs that share their memory reach each other; copies between others go through the host. */
function linksOf(gpus: readonly OpenGpu[]): DeviceLink[] {
  return gpus.flatMap((gpu, from) =>
    gpus.flatMap((other, to): DeviceLink[] => {
      if (from === to) return [];
      const isPeerAddressable = gpu.device.memory === other.device.memory;
      return [{ from, to, linkClass: isPeerAddressable ? 'same-die' : 'host-staged', isPeerAddressable }];
    }),
  );
}

const infoOf = ({ uuid, name, device: { properties } }: OpenGpu): PhysicalDeviceInfo => ({
  uuid,
  name,
  formats: [properties.targetId, properties.processor],
  computeUnitCount: properties.computeUnitCount,
  maxWorkgroupSize: properties.maxWorkgroupSize,
  memorySizeBytes: properties.memorySizeBytes,
  clockFrequencyHz: properties.timestampFrequencyHz,
  executes: properties.capabilities.includes('execution'),
});

export class GpuBackend implements DeviceBackend {
  readonly physicalDevices: readonly PhysicalDeviceInfo[];
  readonly links: readonly DeviceLink[];
  readonly heaps: readonly Heap[];
  readonly imports = ['device'] as const;
  readonly counters?: readonly DispatchCounter[];
  readonly countsInstructions: boolean;
  readonly tracesWaves: boolean;
  readonly #gpus: readonly OpenGpu[];
  readonly #runtime: Runtime;
  readonly #instructions: InstructionReader | undefined;
  /** By GPU, then by heap. */
  readonly #pools: readonly (readonly MemoryPool[])[];
  readonly #options: GpuBackendOptions;
  readonly #library: ReadonlyMap<Agent, DeviceLibrary> | undefined;
  /** By GPU. */
  readonly #programs: readonly ProgramCache[];
  readonly #waits: CrossQueueStrategy;
  readonly #queues: HostQueue[] = [];
  /** By queue: the GPU that it is of. */
  readonly #ordinals: number[] = [];

  /** `gpus`: at least one, of one ISA; the backend closes them. Throws INCOMPATIBLE for `waits` they lack. */
  constructor(gpus: readonly OpenGpu[], options: GpuBackendOptions) {
    this.#gpus = gpus;
    const [{ counters, instructions, tracesWaves = false }] = gpus as [OpenGpu]; // reason: there is at least one, and all are alike
    this.#instructions = instructions;
    this.countsInstructions = instructions !== undefined;
    this.tracesWaves = tracesWaves;
    if (counters !== undefined) this.counters = counters;
    this.#options = options;
    this.#waits = crossQueueStrategy(options.waits, gpus[0]!.device.properties.processor);
    this.#runtime = (options.createRuntime ?? createRuntime)({ devices: gpus.map(({ device }) => device) });
    this.#pools = this.#runtime.gpuAgents.map((agent) => poolsOf(this.#runtime, agent));
    try {
      this.#library = options.library && loadLibrary(this.#runtime, options.library);
    } catch (error) {
      this.#runtime[Symbol.dispose]();
      throw error;
    }
    this.#programs = this.#runtime.gpuAgents.map(
      (agent) => new ProgramCache({ runtime: this.#runtime, agent, blockBytes: options.blockBytes }),
    );
    this.heaps = heapsOf(this.#pools);
    this.physicalDevices = gpus.map(infoOf);
    this.links = linksOf(gpus);
  }

  allocate({ heapIndex, sizeBytes, alignmentBytes, label, deviceOrdinal }: StorageRequest): BufferStorage {
    const pool = this.#pools[deviceOrdinal]![heapIndex]!;
    const address = withHalStatus(() => pool.allocate(sizeBytes, { alignmentBytes, label }), 'RESOURCE_EXHAUSTED');
    return {
      sizeBytes,
      address,
      bytes: () => this.#runtime.view(address, sizeBytes),
      free: () => {
        if (this.#runtime.lifetime.isLive) pool.free(address);
      },
    };
  }

  importMemory(memory: ExternalMemory, deviceOrdinal: number): Omit<BufferStorage, 'free'> {
    if (memory.kind !== 'device') throw new HalError('INTERNAL', 'GPUs do not see memory of the host');
    const { address, sizeBytes } = memory;
    const found = this.#gpus[deviceOrdinal]!.device.memory.find(address);
    if (found === undefined || address + BigInt(sizeBytes) > found.address + BigInt(found.sizeBytes)) {
      const { uuid } = this.#gpus[deviceOrdinal]!;
      const what = `${sizeBytes} bytes at ${hex(address)} cannot be imported`;
      throw invalidArgument(`${what}: they are not inside one allocation of ${uuid}`);
    }
    return { sizeBytes, address, bytes: () => this.#runtime.view(address, sizeBytes) };
  }

  load(request: LoadRequest): AmdgpuCode {
    const options = { ...this.#options.container, instructions: this.#instructions };
    return loadCode(this.#runtime, this.#runtime.gpuAgents, request, options);
  }

  createQueue(deviceOrdinal: number): QueueBackend {
    const { rings } = this.#options;
    const agent = this.#runtime.gpuAgents[deviceOrdinal]!;
    const queue = new HostQueue({
      runtime: this.#runtime,
      agent,
      rings,
      library: this.#library?.get(agent),
      programs: this.#programs[deviceOrdinal]!,
      waits: this.#waits,
      counters: this.counters,
    });
    this.#queues.push(queue);
    this.#ordinals.push(deviceOrdinal);
    return queue;
  }

  measureDispatches(tell: ((times: DispatchTimes) => void) | undefined): void {
    for (const [i, queue] of this.#queues.entries()) {
      const deviceOrdinal = this.#ordinals[i]!;
      queue.measure(tell && ((times) => tell({ ...times, deviceOrdinal })));
    }
  }

  clock(deviceOrdinal: number): bigint {
    return this.#gpus[deviceOrdinal]!.device.clock();
  }

  usedMemoryBytes(deviceOrdinal: number): number | undefined {
    return this.#gpus[deviceOrdinal]!.device.memory.usedBytes;
  }

  progress(): AdvanceResult {
    if (!this.#queues.some(({ isBusy }) => isBusy)) return 'idle';
    const { now } = this.#options;
    const end = now() + MAX_SLICE_MS;
    let state = this.#runtime.progress();
    for (let round = 1; round < MAX_ROUNDS && state === 'running' && now() < end; round++) {
      state = this.#runtime.progress();
    }
    let hasMoved = false;
    for (const queue of this.#queues) hasMoved = queue.drain() || hasMoved;
    return hasMoved ? 'running' : state;
  }

  [Symbol.dispose](): void {
    for (const queue of this.#queues) queue[Symbol.dispose]();
    this.#runtime[Symbol.dispose]();
    for (const { device } of this.#gpus) device.close();
  }
}
