/** Memory that a GPU and this process share, at the same addresses. */
import type * as Ffi from 'node:ffi';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { GuestAddress, HostAddress } from '../../device/guest-address.ts';
import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/memory.ts';
import type { Lifetime } from '../../hsa/objects/lifetime.ts';

const PAGE_BYTES = 4096;
/** The driver's side of it. */
export interface MemorySource {
  /** The address of whole pages. Throws LIMIT_EXCEEDED where there are no more. */
  allocate(sizeBytes: number): bigint;
  /** Takes back what `allocate` gave. */
  free(base: bigint): void;
}

interface Owned extends Allocation {
  /** What the library returned. */
  readonly base: bigint;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

export class SharedHostMemory implements DeviceMemory {
  readonly #ffi: typeof Ffi;
  readonly #source: MemorySource;
  /** Allocations by each page that they cover, because host code looks addresses up all the time. */
  readonly #pages = new Map<bigint, Owned>();
  readonly #live = new Map<bigint, Owned>();
  readonly #kept = new Set<bigint>();
  readonly #outOfUse: bigint[] = [];
  readonly #lifetime: Lifetime;

  constructor(ffi: typeof Ffi, source: MemorySource, lifetime: Lifetime) {
    this.#ffi = ffi;
    this.#source = source;
    this.#lifetime = lifetime;
  }

  /** `readOnly` is refused: a real GPU cannot be kept from writing. */
  allocate(
    sizeBytes: number,
    { alignmentBytes = PAGE_BYTES, label = '', readOnly = false }: AllocateOptions = {},
  ): bigint {
    this.#lifetime.expect();
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 1 || (alignmentBytes & (alignmentBytes - 1)) !== 0) {
      throw new WavewrightError('USAGE', `allocation of ${sizeBytes} bytes aligned to ${alignmentBytes}`);
    }
    if (readOnly) throw new WavewrightError('UNSUPPORTED', 'memory that the GPU cannot write');
    // Pages come aligned; for more than that, room to move the start.
    const spare = alignmentBytes > PAGE_BYTES ? alignmentBytes : 0;
    const base = this.#source.allocate(sizeBytes + spare);
    const address = spare === 0 ? base : (base + BigInt(spare - 1)) & -BigInt(alignmentBytes);
    const buffer = this.#ffi.toArrayBuffer(address, sizeBytes, false);
    const bytes = new Uint8Array(buffer as unknown as SharedArrayBuffer).fill(0); // reason: atomic operations work on both, and no thread of ours gets it
    const owned = { address, sizeBytes, label, base, bytes };
    this.#live.set(address, owned);
    for (const page of pagesOf(owned)) this.#pages.set(page, owned);
    return address;
  }

  /** Keeps the place of code until the device is closed: instruction caches may still hold what was there. */
  keep(address: bigint): void {
    this.#kept.add(address);
  }

  free(address: bigint): void {
    if (!this.#lifetime.isLive) return;
    const owned = this.#live.get(address);
    if (owned === undefined) {
      throw new WavewrightError('USAGE', `${hex(address)} is not the start of a live allocation`);
    }
    this.#live.delete(address);
    for (const page of pagesOf(owned)) this.#pages.delete(page);
    if (this.#kept.delete(address)) this.#outOfUse.push(owned.base);
    else this.#source.free(owned.base);
  }

  find(address: bigint): Allocation | undefined {
    const owned = this.#owner(address);
    return owned && { address: owned.address, sizeBytes: owned.sizeBytes, label: owned.label };
  }

  view(address: HostAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    const bytes = this.#view(address, sizeBytes);
    if (bytes !== undefined) return bytes;
    throw new WavewrightError('USAGE', `${sizeBytes} bytes at ${hex(address)} are not inside one allocation`);
  }

  /**
   * The GPU may do everything with all that it was given; what else it reaches is not this process's to look
   * at.
   */
  guestView(address: GuestAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    return this.#view(address, sizeBytes);
  }

  #view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    const owned = this.#owner(address);
    if (owned === undefined) return undefined;
    const start = Number(address - owned.address);
    return sizeBytes >= 0 && start + sizeBytes <= owned.sizeBytes
      ? owned.bytes.subarray(start, start + sizeBytes)
      : undefined;
  }

  #owner(address: bigint): Owned | undefined {
    this.#lifetime.expect();
    const owned = this.#pages.get(address / BigInt(PAGE_BYTES));
    return owned && address >= owned.address && address < owned.address + BigInt(owned.sizeBytes) ? owned : undefined;
  }

  freeAll(): void {
    for (const address of this.#live.keys()) this.free(address);
    for (const base of this.#outOfUse.splice(0)) this.#source.free(base);
  }
}

function* pagesOf({ address, sizeBytes }: Allocation): Generator<bigint> {
  const page = BigInt(PAGE_BYTES);
  for (let at = address / page; at <= (address + BigInt(sizeBytes - 1)) / page; at++) yield at;
}
