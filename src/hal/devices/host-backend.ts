/** What drivers share whose memory is the host's: heaps, storage, and transfers that are complete at once. */
import { BUFFER_USAGE, MEMORY_TYPES } from '../core/flags.ts';
import { HalError } from '../core/status.ts';
import type { StorageRequest } from '../memory/allocator.ts';
import type { Heap } from '../memory/buffer-params.ts';
import type { ExternalMemory } from '../memory/external-memory.ts';
import { type BufferStorage, HostStorage } from '../memory/storage.ts';

/** One heap, which is everything: near the host, and near the device that is the host. */
export const hostHeap = (maxAllocationBytes: number): Heap => ({
  memoryType: MEMORY_TYPES.set(['optimal', 'host-local', 'host-cached', 'device-local']),
  usage: BUFFER_USAGE.set([
    'default',
    'dispatch-indirect-parameters',
    'uniform-read',
    'mapping',
    'mapping-persistent',
    'mapping-optional',
    'mapping-access-sequential-write',
    'sharing-export',
    'concurrent',
    'immutable',
    'replicate',
  ]),
  maxAllocationBytes,
  minAlignmentBytes: 64,
  isSlow: false,
});

/** The host's clock has nanoseconds, as far as milliseconds have them. */
export const HOST_CLOCK_HZ = 1e9;
export const hostTicks = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1e6));

/** Memory up to a number of bytes, given out and taken back. */
export class HostMemory {
  readonly heaps: readonly Heap[];
  /** The host is one device. */
  readonly links = [];
  readonly imports = ['host'] as const;
  readonly #sizeBytes: number;
  #liveBytes = 0;

  constructor(sizeBytes: number) {
    this.heaps = [hostHeap(sizeBytes)];
    this.#sizeBytes = sizeBytes;
  }

  importMemory(memory: ExternalMemory): Omit<BufferStorage, 'free'> {
    if (memory.kind !== 'host') throw new HalError('INTERNAL', 'memory of the host has no addresses');
    return { sizeBytes: memory.bytes.length, address: undefined, bytes: () => memory.bytes };
  }

  /** Throws RESOURCE_EXHAUSTED. */
  allocate({ sizeBytes, label }: StorageRequest): BufferStorage {
    const left = this.#sizeBytes - this.#liveBytes;
    if (sizeBytes > left) {
      throw new HalError(
        'RESOURCE_EXHAUSTED',
        `'${label}' of ${sizeBytes} bytes, ${left} of ${this.#sizeBytes} are left`,
      );
    }
    this.#liveBytes += sizeBytes;
    return new HostStorage(sizeBytes, () => {
      this.#liveBytes -= sizeBytes;
    });
  }
}
