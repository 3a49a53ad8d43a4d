/** One GPU as the device of the `amdgpu` driver: an agent of an HSA runtime of its own. */
import type { ContainerOptions } from '../../codeobject/container.ts';
import type { AdvanceResult, Device } from '../../device/device.ts';
import type { Agent } from '../../hsa/objects/agent.ts';
import type { MemoryPool } from '../../hsa/objects/memory-pool.ts';
import { createRuntime, type Runtime } from '../../hsa/runtime/runtime.ts';
import type { DeviceBackend, LoadRequest, PhysicalDeviceInfo, QueueBackend } from '../backend/backend.ts';
import { BUFFER_USAGE, type BufferUsage, MEMORY_TYPES, type MemoryType } from '../core/flags.ts';
import { withHalStatus } from '../core/status.ts';
import type { StorageRequest } from '../memory/allocator.ts';
import type { Heap } from '../memory/buffer-params.ts';
import type { BufferStorage } from '../memory/storage.ts';
import type { AgentSource } from './agents.ts';
import { type AmdgpuCode, loadCode } from './code.ts';
import { HostQueue } from './host-queue.ts';

export interface GpuBackendOptions {
  readonly ringPackets: number;
  readonly container: ContainerOptions;
}

/** What buffers of all heaps may be used for; those that the host sees may be mapped besides. */
const USAGE: readonly BufferUsage[] = [
  'default',
  'dispatch-indirect-parameters',
  'uniform-read',
  'concurrent',
  'immutable',
  'replicate',
  'mapping-optional',
];
const MAPPED: readonly BufferUsage[] = [...USAGE, 'mapping', 'mapping-persistent', 'mapping-access-sequential-write'];

/** IREE's heaps: device memory; device memory that the host sees; memory of the host. */
function heapsOf(pools: readonly MemoryPool[]): Heap[] {
  const kinds: readonly (readonly [readonly MemoryType[], readonly BufferUsage[], boolean])[] = [
    [['optimal', 'device-local'], USAGE, false],
    [['device-local', 'host-visible', 'host-coherent'], MAPPED, true],
    [['host-local', 'device-visible'], MAPPED, false],
  ];
  return kinds.map(([types, usage, isSlow], i) => ({
    memoryType: MEMORY_TYPES.set(types),
    usage: BUFFER_USAGE.set(usage),
    maxAllocationBytes: pools[i]!.sizeBytes,
    minAlignmentBytes: 256,
    isSlow,
  }));
}

export class GpuBackend implements DeviceBackend {
  readonly physicalDevices: readonly [PhysicalDeviceInfo];
  readonly heaps: readonly Heap[];
  readonly #device: Device;
  readonly #runtime: Runtime;
  readonly #agent: Agent;
  readonly #pools: readonly MemoryPool[];
  readonly #options: GpuBackendOptions;
  readonly #queues: HostQueue[] = [];

  /** The backend closes the device. */
  constructor(device: Device, { uuid, name }: Pick<AgentSource, 'uuid' | 'name'>, options: GpuBackendOptions) {
    const { properties } = device;
    this.#device = device;
    this.#options = options;
    this.#runtime = createRuntime({ devices: [device] });
    const agent = this.#runtime.gpuAgents[0]!;
    const local = agent.pool('coarse-grained');
    this.#agent = agent;
    this.#pools = [local, local, this.#runtime.cpuAgent.pool('fine-grained', agent)];
    this.heaps = heapsOf(this.#pools);
    this.physicalDevices = [
      {
        uuid,
        name,
        formats: [properties.targetId, properties.processor],
        computeUnitCount: properties.computeUnitCount,
        maxWorkgroupSize: properties.maxWorkgroupSize,
        memorySizeBytes: properties.memorySizeBytes,
        executes: properties.capabilities.includes('execution'),
      },
    ];
  }

  allocate({ heapIndex, sizeBytes, alignmentBytes, label }: StorageRequest): BufferStorage {
    const pool = this.#pools[heapIndex]!;
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

  load(request: LoadRequest): AmdgpuCode {
    return loadCode(this.#runtime, this.#agent, request, this.#options.container);
  }

  createQueue(): QueueBackend {
    const { ringPackets } = this.#options;
    const queue = new HostQueue({ runtime: this.#runtime, agent: this.#agent, ringPackets });
    this.#queues.push(queue);
    return queue;
  }

  progress(): AdvanceResult {
    if (this.#queues.every(({ counts }) => counts.inFlight + counts.parked === 0)) return 'idle';
    const state = this.#runtime.progress();
    const hasMoved = this.#queues.map((queue) => queue.drain()).includes(true);
    return hasMoved ? 'running' : state;
  }

  [Symbol.dispose](): void {
    this.#runtime[Symbol.dispose]();
    this.#device.close();
  }
}
