/** Memory of a logical device: which heap a buffer comes from, and its bytes (iree/hal/allocator.h). */
import { alignUp } from '../../base/align.ts';
import { BUFFER_COMPATIBILITY, MEMORY_TYPES, PLACEMENT_FLAGS } from '../core/flags.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { BufferAllocation, HalBuffer } from './buffer.ts';
import {
  type BufferParams,
  type Compatibility,
  type Heap,
  type ResolvedParams,
  resolveParams,
} from './buffer-params.ts';
import { type ExternalMemory, externalMemory, type ImportParams, type ImportSource } from './external-memory.ts';
import type { BufferStorage } from './storage.ts';

/** Memory from one of the heaps, zeroed. */
export interface StorageRequest {
  readonly heapIndex: number;
  /** At least 1. */
  readonly sizeBytes: number;
  readonly alignmentBytes: number;
  readonly label: string;
  /** The physical device that it is for. */
  readonly deviceOrdinal: number;
}

/** What an allocator has of its driver. */
export interface StorageSource {
  /** What has memories. */
  readonly physicalDevices: readonly unknown[];
  /** In the order of preference. */
  readonly heaps: readonly Heap[];
  /** Throws RESOURCE_EXHAUSTED. */
  allocate(request: StorageRequest): BufferStorage;
  /** What may come from outside. */
  readonly imports: readonly ExternalMemory['kind'][];
  /** Only for those kinds. Throws INVALID_ARGUMENT for memory that a physical device does not have. */
  importMemory(memory: ExternalMemory, deviceOrdinal: number): Omit<BufferStorage, 'free'>;
}

/** Why memory is refused that a device cannot use where it is. */
const REFUSALS = {
  host: 'its memory is apart from that of the host; copy it there, or export memory of type host-local and work on its bytes',
  device: 'its memory has no addresses; give it the bytes',
} as const;

/** Memory that was decided on, but not allocated. */
export interface AllocationPlan {
  readonly params: ResolvedParams;
  readonly heapIndex: number;
  readonly sizeBytes: number;
}

const OPTIMAL = MEMORY_TYPES.set('optimal');
const MAPPING = ['mapping-scoped', 'mapping-persistent'] as const;

/** Whether a heap has all that is asked for. Mapping that is optional need not be there. */
function fits({ memoryType, usage }: Heap, params: ResolvedParams): boolean {
  const wanted = params.usage.has('mapping-optional')
    ? params.usage.without([...MAPPING, 'mapping-optional'])
    : params.usage;
  const onlyWished = wanted.without(['mapping-access-random', 'mapping-access-sequential-write']);
  return memoryType.has(params.memoryType.without('optimal')) && usage.has(onlyWished);
}

/**
 * Which of some heaps a buffer comes from. Throws INVALID_ARGUMENT where none has such memory,
 * RESOURCE_EXHAUSTED for more than it may have. `owner`: whose heaps they are, for the errors.
 */
export function planFrom(
  heaps: readonly Heap[],
  params: ResolvedParams,
  sizeBytes: number,
  owner = 'the device',
): AllocationPlan {
  const heapIndex = heaps.findIndex((heap) => fits(heap, params));
  const heap = heaps[heapIndex];
  if (heap === undefined) {
    const kinds = heaps.map(({ memoryType, usage }) => `${memoryType} for ${usage}`).join('; ');
    throw invalidArgument(`${owner} has no memory of type ${params.memoryType} for ${params.usage}`, {
      hint: `there is ${kinds}`,
    });
  }
  if (sizeBytes > heap.maxAllocationBytes) {
    const most = `${heap.memoryType} memory of ${owner} gives ${heap.maxAllocationBytes} at most`;
    throw new HalError('RESOURCE_EXHAUSTED', `'${params.label}' of ${sizeBytes} bytes, ${most}`);
  }
  const minAlignmentBytes = Math.max(params.minAlignmentBytes, heap.minAlignmentBytes);
  const isWished = params.usage.has('mapping-optional') && !heap.usage.hasAny(MAPPING);
  const usage = isWished ? params.usage.without(MAPPING) : params.usage;
  const memoryType = heap.memoryType.with(params.memoryType.without(OPTIMAL));
  return { params: { ...params, usage, memoryType, minAlignmentBytes }, heapIndex, sizeBytes };
}

export interface AllocatorStatistics {
  /** Of all heaps together, what `allocate`, `alloca` and pools hold now, and held at most. */
  readonly liveBytes: number;
  readonly peakBytes: number;
  readonly liveCount: number;
}

/** Whom memory is for: an `allocate`, an `alloca`, or slabs of a pool. */
export type AllocationUser = 'buffer' | 'pool' | BufferAllocation;

/** Memory that came or went. */
export interface MemoryEvent {
  readonly kind: 'allocate' | 'free';
  readonly user: AllocationUser;
  /** Of its coming and going the same, and of no other memory of the logical device; from 1 on. */
  readonly id: number;
  readonly params: ResolvedParams;
  readonly sizeBytes: number;
}

export class HalAllocator {
  readonly #device: object;
  readonly #source: StorageSource;
  #liveBytes = 0;
  #peakBytes = 0;
  #liveCount = 0;
  #lastId = 0;
  #observer: ((event: MemoryEvent) => void) | undefined;

  /** Use `LogicalDevice.allocator`. */
  constructor(device: object, source: StorageSource) {
    this.#device = device;
    this.#source = source;
  }

  get heaps(): readonly Heap[] {
    return this.#source.heaps;
  }

  /** `host`: memory of the host can be imported; `device`: memory by its address. */
  get imports(): readonly ExternalMemory['kind'][] {
    return this.#source.imports;
  }

  get statistics(): AllocatorStatistics {
    return { liveBytes: this.#liveBytes, peakBytes: this.#peakBytes, liveCount: this.#liveCount };
  }

  /** What would come of parameters; no flags where the device has no such memory. Throws INVALID_ARGUMENT. */
  queryCompatibility(params: BufferParams, sizeBytes: number): Compatibility {
    const wanted = resolveParams(params);
    const heapIndex = this.heaps.findIndex((each) => fits(each, wanted));
    const heap = this.heaps[heapIndex];
    if (heap === undefined || sizeBytes > heap.maxAllocationBytes) {
      return { flags: BUFFER_COMPATIBILITY.set([]), params: wanted, sizeBytes, heapIndex: undefined };
    }
    const found = this.plan(wanted, sizeBytes);
    const flags = BUFFER_COMPATIBILITY.set([
      'allocatable',
      ...(heap.usage.hasAny('transfer') ? (['queue-transfer'] as const) : []),
      ...(heap.usage.hasAny('storage') ? (['queue-dispatch'] as const) : []),
      ...(heap.isSlow ? (['low-performance'] as const) : []),
      ...(heap.usage.has('sharing-export') ? (['exportable'] as const) : []),
      ...(this.imports.length > 0 ? (['importable'] as const) : []),
    ]);
    return { flags, params: found.params, sizeBytes: found.sizeBytes, heapIndex };
  }

  /** Throws OUT_OF_RANGE for a physical device that there is not. */
  expectDevice(ordinal: number): void {
    const { length } = this.#source.physicalDevices;
    if (Number.isInteger(ordinal) && ordinal >= 0 && ordinal < length) return;
    throw new HalError('OUT_OF_RANGE', `physical device ${ordinal}, the logical device has ${length}`);
  }

  /** See `planFrom`; throws OUT_OF_RANGE for a physical device that there is not. */
  plan(params: ResolvedParams, sizeBytes: number): AllocationPlan {
    this.expectDevice(params.deviceOrdinal);
    return planFrom(this.heaps, params, sizeBytes);
  }

  /** Who is told of memory that comes and goes, or nobody. */
  observe(observer: ((event: MemoryEvent) => void) | undefined): void {
    this.#observer = observer;
  }

  /** The memory of a plan. Throws RESOURCE_EXHAUSTED. */
  storage({ params, heapIndex, sizeBytes }: AllocationPlan, user: AllocationUser = 'buffer'): BufferStorage {
    const { minAlignmentBytes: alignmentBytes, label, deviceOrdinal } = params;
    const size = alignUp(Math.max(sizeBytes, 1), Math.min(alignmentBytes, 64));
    const storage = this.#source.allocate({ heapIndex, sizeBytes: size, alignmentBytes, label, deviceOrdinal });
    this.#liveBytes += size;
    this.#liveCount++;
    this.#peakBytes = Math.max(this.#peakBytes, this.#liveBytes);
    const about = { user, id: ++this.#lastId, params, sizeBytes: size };
    this.#observer?.({ kind: 'allocate', ...about });
    const free = () => {
      this.#observer?.({ kind: 'free', ...about });
      this.#liveBytes -= size;
      this.#liveCount--;
      storage.free();
    };
    return { sizeBytes: size, address: storage.address, bytes: () => storage.bytes(), free };
  }

  /**
   * A buffer with its memory. Throws INVALID_ARGUMENT for a size that is none, and where the device has no
   * such memory; RESOURCE_EXHAUSTED. A buffer may have no bytes.
   */
  allocate(sizeBytes: number, params: BufferParams = {}): HalBuffer {
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
      throw invalidArgument(`a buffer of ${sizeBytes} bytes, expected an integer from 0`);
    }
    const plan = this.plan(resolveParams(params), sizeBytes);
    return this.#buffer(plan, this.storage(plan));
  }

  /**
   * Memory that is there already, as a buffer without a copy. Throws UNIMPLEMENTED where the device cannot
   * use it where it is, INVALID_ARGUMENT for an address that the device does not have.
   */
  importBuffer(source: ImportSource, { onRelease, ...params }: ImportParams = {}): HalBuffer {
    const memory = externalMemory(source);
    const sizeBytes = memory.kind === 'host' ? memory.bytes.length : memory.sizeBytes;
    // It is not allocated, so that its size has no limit but itself.
    const plan = { ...this.plan(resolveParams({ label: 'imported memory', ...params }), 0), sizeBytes };
    if (!this.imports.includes(memory.kind)) {
      throw new HalError('UNIMPLEMENTED', `the device imports no ${memory.kind} memory`, {
        hint: REFUSALS[memory.kind],
      });
    }
    const storage = this.#source.importMemory(memory, plan.params.deviceOrdinal);
    const { address } = storage;
    return this.#buffer(plan, { sizeBytes, address, bytes: () => storage.bytes(), free: () => onRelease?.() });
  }

  #buffer({ params, sizeBytes }: AllocationPlan, storage: BufferStorage): HalBuffer {
    const { deviceOrdinal } = params;
    const placement = { device: this.#device, deviceOrdinal, flags: PLACEMENT_FLAGS.set([]) };
    return new HalBuffer(new BufferAllocation(params, placement, sizeBytes, storage), 0, sizeBytes);
  }
}
