/** Device memory that several runtimes use: it is freed by the last one that lets it go. */
import type { DeviceMemory } from '../../device/memory.ts';

export interface SharedRegion {
  readonly kind: 'memory' | 'signal';
  readonly address: bigint;
  readonly sizeBytes: number;
  /** hsa_amd_ipc_memory_t: 32 random bytes, so that nobody guesses one. */
  readonly handle: Uint8Array;
}

interface Counted extends SharedRegion {
  /** Who made it, and everyone who attached it. */
  users: number;
}

const HANDLE_BYTES = 32;
const keyOf = (handle: Uint8Array): string => handle.toHex();

/** The regions of each memory. Runtimes meet here, because they have nothing else in common. */
const ALL = new WeakMap<DeviceMemory, SharedRegions>();

export class SharedRegions {
  readonly #memory: DeviceMemory;
  readonly #byAddress = new Map<bigint, Counted>();
  readonly #byHandle = new Map<string, Counted>();

  private constructor(memory: DeviceMemory) {
    this.#memory = memory;
  }

  static of(memory: DeviceMemory): SharedRegions {
    const known = ALL.get(memory);
    if (known !== undefined) return known;
    const regions = new SharedRegions(memory);
    ALL.set(memory, regions);
    return regions;
  }

  /** The allocation at `address`, which has one user; the same region when it is shared already. */
  share(kind: SharedRegion['kind'], address: bigint, sizeBytes: number): SharedRegion {
    const known = this.#byAddress.get(address);
    if (known !== undefined) return known;
    const handle = crypto.getRandomValues(new Uint8Array(HANDLE_BYTES));
    const region = { kind, address, sizeBytes, handle, users: 1 };
    this.#byAddress.set(address, region);
    this.#byHandle.set(keyOf(handle), region);
    return region;
  }

  find(handle: Uint8Array): SharedRegion | undefined {
    return this.#byHandle.get(keyOf(handle));
  }

  /** One more user of a region that was found. */
  use({ address }: SharedRegion): void {
    this.#byAddress.get(address)!.users++;
  }

  /** One user less; frees the allocation after the last one, and one that was never shared at once. */
  release(address: bigint): void {
    const region = this.#byAddress.get(address);
    if (region !== undefined) {
      region.users--;
      if (region.users > 0) return;
      this.#byAddress.delete(address);
      this.#byHandle.delete(keyOf(region.handle));
    }
    this.#memory.free(address);
  }
}
