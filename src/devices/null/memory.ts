/** The memory of the null device: one block of the host's, which is given out from the front, never twice. */
import { alignUp } from '../../base/align.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { GuestAddress } from '../../device/guest-address.ts';
import type { AllocateOptions, Allocation, DeviceMemory } from '../../device/memory.ts';
import type { Lifetime } from '../../hsa/objects/lifetime.ts';

const BASE = 0x7_0000_0000n;
const PAGE_BYTES = 4096;

function* pagesOf({ address, sizeBytes }: Allocation): Generator<bigint> {
  const size = BigInt(PAGE_BYTES);
  for (let page = address / size; page * size < address + BigInt(sizeBytes); page++) yield page;
}

export class NullMemory implements DeviceMemory {
  readonly allocations = new Map<bigint, Allocation>();
  /** The whole block. */
  readonly buffer: SharedArrayBuffer;
  readonly #lifetime: Lifetime;
  /** The allocation that a page belongs to, for `find`. */
  readonly #pages = new Map<bigint, Allocation>();
  #next = PAGE_BYTES;

  constructor(sizeBytes: number, lifetime: Lifetime) {
    this.buffer = new SharedArrayBuffer(sizeBytes);
    this.#lifetime = lifetime;
  }

  allocate(sizeBytes: number, { alignmentBytes = PAGE_BYTES, label = '' }: AllocateOptions = {}): bigint {
    this.#lifetime.expect();
    if (sizeBytes <= 0 || (alignmentBytes & (alignmentBytes - 1)) !== 0) {
      throw new WavewrightError('USAGE', `allocation of ${sizeBytes} bytes aligned to ${alignmentBytes}`);
    }
    const granule = Math.max(alignmentBytes, PAGE_BYTES);
    const offset = alignUp(this.#next, granule);
    if (offset + sizeBytes > this.buffer.byteLength) {
      throw new WavewrightError('LIMIT_EXCEEDED', `device memory is exhausted: ${sizeBytes} bytes asked for`);
    }
    this.#next = offset + sizeBytes;
    const address = BASE + BigInt(offset);
    const allocation = { address, sizeBytes, label };
    this.allocations.set(address, allocation);
    for (const page of pagesOf(allocation)) this.#pages.set(page, allocation);
    return address;
  }

  free(address: bigint): void {
    if (!this.#lifetime.isLive) return;
    const allocation = this.allocations.get(address);
    if (allocation === undefined) {
      throw new WavewrightError('USAGE', `${hex(address)} is not the start of a live allocation`);
    }
    this.allocations.delete(address);
    for (const page of pagesOf(allocation)) this.#pages.delete(page);
  }

  find(address: bigint): Allocation | undefined {
    const allocation = this.#pages.get(address / BigInt(PAGE_BYTES));
    return allocation && address < allocation.address + BigInt(allocation.sizeBytes) ? allocation : undefined;
  }

  view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> {
    this.#lifetime.expect();
    const bytes = this.#view(address, sizeBytes);
    if (bytes !== undefined) return bytes;
    throw new WavewrightError('USAGE', `${hex(address)} is not inside one allocation`);
  }

  /** A `view` to read and write numbers in. */
  data(address: bigint, sizeBytes: number): DataView<SharedArrayBuffer> {
    const bytes = this.view(address, sizeBytes);
    return new DataView(bytes.buffer, bytes.byteOffset, sizeBytes);
  }

  /** All allocations are permitted: no kernel runs that could misuse them. */
  guestView(address: GuestAddress, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    return this.#view(address, sizeBytes);
  }

  #view(address: bigint, sizeBytes: number): Uint8Array<SharedArrayBuffer> | undefined {
    const owner = this.find(address);
    if (owner === undefined || address + BigInt(sizeBytes) > owner.address + BigInt(owner.sizeBytes)) return undefined;
    return new Uint8Array(this.buffer, Number(address - BASE), sizeBytes);
  }
}
