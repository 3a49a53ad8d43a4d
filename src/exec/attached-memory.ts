/**
 * Memory that another application shared by handle (hsa_amd_ipc_memory_*): its pages, at addresses of this
 * application's own. They live until the last one lets them go.
 */
import { alignUp } from '../base/align.ts';
import { hex } from '../base/text.ts';
import type { DeviceMemory } from '../device/memory.ts';
import { HsaError } from '../hsa/index.ts';
import { type SharedRegion, SharedRegions } from '../hsa/objects/shared-regions.ts';
import { withStatus } from '../hsa/objects/status.ts';
import type { SharedArena } from './shared-arena.ts';

const PAGE_BYTES = 4096;
const WINDOW_BYTES = 2n ** 32n;

/** An allocation that an application shares. */
export interface SharedAllocation {
  readonly region: SharedRegion;
  readonly memory: DeviceMemory;
  /** The file of all of that application's memory. */
  readonly file: number;
  /** The handle of the pool that it is of, the same for all applications. */
  readonly pool: bigint;
}

export interface AttachedMemory {
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly offset: number;
  readonly source: SharedAllocation;
}

export class AttachedMemories implements Disposable {
  readonly #memory: DeviceMemory;
  readonly #arena: SharedArena;
  readonly #attached = new Map<bigint, AttachedMemory>();

  constructor(memory: DeviceMemory, arena: SharedArena) {
    this.#memory = memory;
    this.#arena = arena;
  }

  /** `sizeBytes`: of the allocation, or of its pages. Throws INVALID_ARGUMENT and OUT_OF_RESOURCES. */
  attach(source: SharedAllocation, sizeBytes: number): AttachedMemory {
    const { region } = source;
    const wholeBytes = alignUp(region.sizeBytes, PAGE_BYTES);
    if (sizeBytes !== region.sizeBytes && sizeBytes !== wholeBytes) {
      throw new HsaError('INVALID_ARGUMENT', `the handle is for ${region.sizeBytes} bytes, not for ${sizeBytes}`);
    }
    const offset = Number(region.address % WINDOW_BYTES);
    const options = { label: 'memory of another application' };
    const address = withStatus('OUT_OF_RESOURCES', () => this.#memory.allocate(wholeBytes, options));
    try {
      withStatus('OUT_OF_RESOURCES', () => this.#arena.map(address, wholeBytes, source.file, offset));
    } catch (error) {
      this.#memory.free(address);
      throw error;
    }
    SharedRegions.of(source.memory).use(region);
    const attached = { address, sizeBytes: wholeBytes, offset, source };
    this.#attached.set(address, attached);
    return attached;
  }

  /** Throws INVALID_ARGUMENT for what is not attached. */
  detach(address: bigint): void {
    const attached = this.#attached.get(address);
    if (!attached) throw new HsaError('INVALID_ARGUMENT', `no memory is attached at ${hex(address)}`);
    withStatus('OUT_OF_RESOURCES', () => this.#arena.unmap(address, attached.sizeBytes));
    this.#memory.free(address);
    this.#letGo(attached);
  }

  #letGo({ address, source }: AttachedMemory): void {
    this.#attached.delete(address);
    SharedRegions.of(source.memory).release(source.region.address);
  }

  /** Addresses go with the device. */
  [Symbol.dispose](): void {
    for (const attached of this.#attached.values()) this.#letGo(attached);
  }
}
