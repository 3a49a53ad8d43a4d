/** Memory that a GPU and this process share: fine-grained system memory that code may be put into. */
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { GuestAddress, HostAddress } from '../../device/guest-address.ts';
import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/memory.ts';
import type { Lifetime } from '../../hsa/objects/lifetime.ts';
import type { HsaLibrary } from './library.ts';

const PAGE_BYTES = 4096;
const EXECUTABLE = 4;

interface Owned extends Allocation {
  /** What the library returned. */
  readonly base: bigint;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

export class NativeMemory implements DeviceMemory {
  readonly #library: HsaLibrary;
  readonly #pool: bigint;
  readonly #agent: bigint;
  /** Allocations by each page that they cover, because host code looks addresses up all the time. */
  readonly #pages = new Map<bigint, Owned>();
  readonly #live = new Map<bigint, Owned>();
  readonly #kept = new Set<bigint>();
  readonly #outOfUse: bigint[] = [];
  readonly #lifetime: Lifetime;

  constructor(library: HsaLibrary, pool: bigint, agent: bigint, lifetime: Lifetime) {
    this.#library = library;
    this.#pool = pool;
    this.#agent = agent;
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
    const base = this.#allocate(sizeBytes + spare);
    const address = spare === 0 ? base : (base + BigInt(spare - 1)) & -BigInt(alignmentBytes);
    const buffer = this.#library.ffi.toArrayBuffer(address, sizeBytes, false);
    const bytes = new Uint8Array(buffer as unknown as SharedArrayBuffer).fill(0); // reason: atomic operations work on both, and no thread of ours gets it
    const owned = { address, sizeBytes, label, base, bytes };
    this.#live.set(address, owned);
    for (const page of pagesOf(owned)) this.#pages.set(page, owned);
    return address;
  }

  #allocate(sizeBytes: number): bigint {
    const { call } = this.#library;
    const out = new Uint8Array(8);
    const status = call.hsa_amd_memory_pool_allocate(this.#pool, BigInt(sizeBytes), EXECUTABLE, out);
    if (status !== 0) throw new WavewrightError('LIMIT_EXCEEDED', `out of memory for the GPU: ${sizeBytes} bytes`);
    const address = new DataView(out.buffer).getBigUint64(0, true);
    const agents = new Uint8Array(BigUint64Array.of(this.#agent).buffer);
    this.#library.check(call.hsa_amd_agents_allow_access(1, agents, 0n, address), 'hsa_amd_agents_allow_access');
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
    else this.#release(owned.base);
  }

  #release(base: bigint): void {
    this.#library.check(this.#library.call.hsa_amd_memory_pool_free(base), 'hsa_amd_memory_pool_free');
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
    for (const base of this.#outOfUse.splice(0)) this.#release(base);
  }
}

function* pagesOf({ address, sizeBytes }: Allocation): Generator<bigint> {
  const page = BigInt(PAGE_BYTES);
  for (let at = address / page; at <= (address + BigInt(sizeBytes - 1)) / page; at++) yield at;
}
