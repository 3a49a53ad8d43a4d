/**
 * Memory without addresses, addresses without memory, and both put together (hsa_amd_vmem_*). Each such
 * memory is a file of its own, of which the device process and the application map pages; a descriptor of it
 * is what another application imports.
 */
import { alignUp } from '../base/align.ts';
import { hex } from '../base/text.ts';
import type { DeviceMemory, PartAccess } from '../device/memory.ts';
import { type Agent, HsaError, type MemoryPool } from '../hsa/index.ts';
import { withStatus } from '../hsa/objects/status.ts';
import type { LinuxCalls } from './libc.ts';
import type { SharedArena } from './shared-arena.ts';

const { closeSync, constants, fstatSync, openSync, statfsSync, statSync } = process.getBuiltinModule('node:fs');

const PAGE_BYTES = 4096;
const MAX_RESERVED_BYTES = 2 ** 32;
/**
 * TMPFS_MAGIC, of which memfd is; that of large pages is another one, and has none where none are set aside.
 */
const TMPFS = 0x0102_1994;
/** MEMORY_TYPE_NONE and MEMORY_TYPE_PINNED, which are the same here. */
const TYPE_COUNT = 2;
/** hsa_access_permission_t: bits for reading and writing. */
const ACCESSES: readonly PartAccess[] = ['none', 'read', 'write', 'all'];

interface Reservation {
  readonly address: bigint;
  readonly sizeBytes: number;
  mappings: number;
}

interface Memory {
  readonly handle: bigint;
  readonly file: number;
  /** What tells files apart, whatever their descriptors are. */
  readonly identity: string;
  readonly sizeBytes: number;
  readonly pool: MemoryPool;
  readonly type: number;
  references: number;
  mappings: number;
}

interface Mapping {
  readonly address: bigint;
  readonly sizeBytes: number;
  readonly memory: Memory;
  readonly reservation: Reservation;
  /** What agents may do, by `ACCESSES`. */
  readonly access: Map<Agent, number>;
}

/** What virtual memory has of the application that it belongs to. */
export interface VirtualMemoryOwner {
  readonly linux: LinuxCalls;
  readonly memory: DeviceMemory;
  readonly arena: SharedArena;
  readonly processId: number;
  /** Of which imported memory is. */
  readonly gpuPool: MemoryPool;
}

const identityOf = (file: number): string => {
  const { dev, ino } = fstatSync(file, { bigint: true });
  return `${dev}:${ino}`;
};

export class VirtualMemory implements Disposable {
  readonly #owner: VirtualMemoryOwner;
  readonly #reservations = new Map<bigint, Reservation>();
  /** No longer reserved, and not free yet. */
  readonly #leaving = new Set<bigint>();
  readonly #memories = new Map<bigint, Memory>();
  readonly #mappings = new Map<bigint, Mapping>();
  #lastHandle = 0n;
  /** Of all memories, mapped or not: no more than the device has. */
  #bytes = 0;

  constructor(owner: VirtualMemoryOwner) {
    this.#owner = owner;
  }

  /** `alignmentBytes`: a power of two, or 0 for pages. Throws INVALID_ARGUMENT and OUT_OF_RESOURCES. */
  reserve(sizeBytes: number, alignmentBytes: number): bigint {
    if (sizeBytes < 1 || (alignmentBytes !== 0 && !Number.isInteger(Math.log2(alignmentBytes)))) {
      throw new HsaError('INVALID_ARGUMENT', `addresses for ${sizeBytes} bytes, aligned to ${alignmentBytes}`);
    }
    const alignment = Math.max(alignmentBytes, PAGE_BYTES);
    const { memory } = this.#owner;
    const wholeBytes = alignUp(sizeBytes, PAGE_BYTES);
    if (Math.max(wholeBytes, alignment) > MAX_RESERVED_BYTES) {
      throw new HsaError('OUT_OF_RESOURCES', `a device has no ${wholeBytes} bytes of addresses`);
    }
    const options = { alignmentBytes: alignment, label: 'reserved addresses' };
    const address = withStatus('OUT_OF_RESOURCES', () => memory.allocate(wholeBytes, options));
    memory.setAccess!(address, false);
    this.#reservations.set(address, { address, sizeBytes, mappings: 0 });
    return address;
  }

  /**
   * Throws INVALID_ALLOCATION, INVALID_ARGUMENT for another size, RESOURCE_FREE while memory is mapped there.
   */
  unreserve(address: bigint, sizeBytes: number): void {
    const found = this.#reservations.get(address);
    if (!found) throw new HsaError('INVALID_ALLOCATION', `no addresses are reserved from ${hex(address)} on`);
    if (sizeBytes !== found.sizeBytes) {
      throw new HsaError('INVALID_ARGUMENT', `${found.sizeBytes} bytes are reserved, not ${sizeBytes}`);
    }
    if (found.mappings > 0) throw new HsaError('RESOURCE_FREE', `memory is mapped at ${hex(address)}`, {}, 'USAGE');
    this.#reservations.delete(address);
    this.#leaving.add(address);
  }

  /** Lets others have addresses that are no longer reserved. Throws INVALID_ALLOCATION. */
  freeAddresses(address: bigint): void {
    if (!this.#leaving.delete(address)) {
      throw new HsaError('INVALID_ALLOCATION', `no addresses from ${hex(address)} on were given up`);
    }
    this.#owner.memory.free(address);
  }

  /** Throws INVALID_ARGUMENT, INVALID_ALLOCATION for a pool without memory, and OUT_OF_RESOURCES. */
  create(pool: MemoryPool, sizeBytes: number, type: number): bigint {
    if (sizeBytes < 1 || sizeBytes % PAGE_BYTES !== 0 || type >= TYPE_COUNT) {
      throw new HsaError('INVALID_ARGUMENT', `memory of ${sizeBytes} bytes, of type ${type}`);
    }
    if (pool.memory === undefined) throw new HsaError('INVALID_ALLOCATION', `the ${pool.kind} pool has no memory`);
    this.#expectRoom(pool, sizeBytes);
    const { linux } = this.#owner;
    const file = withStatus('OUT_OF_RESOURCES', () => linux.createMemoryFile('wavewright', sizeBytes));
    return this.#add(file, sizeBytes, pool, type).handle;
  }

  #expectRoom(pool: MemoryPool, sizeBytes: number): void {
    if (this.#bytes + sizeBytes <= pool.sizeBytes) return;
    throw new HsaError('OUT_OF_RESOURCES', `${sizeBytes} bytes besides ${this.#bytes} are more than a device has`);
  }

  #add(file: number, sizeBytes: number, pool: MemoryPool, type: number): Memory {
    const handle = ++this.#lastHandle;
    const identity = identityOf(file);
    const memory = { handle, file, identity, sizeBytes, pool, type, references: 1, mappings: 0 };
    this.#memories.set(handle, memory);
    this.#bytes += sizeBytes;
    return memory;
  }

  /** It lives on while it is mapped. Throws INVALID_ALLOCATION. */
  release(handle: bigint): void {
    const memory = this.#memory(handle, 'INVALID_ALLOCATION');
    memory.references--;
    this.#forgetUnused(memory);
  }

  #forgetUnused(memory: Memory): void {
    if (memory.references > 0 || memory.mappings > 0) return;
    this.#memories.delete(memory.handle);
    this.#bytes -= memory.sizeBytes;
    closeSync(memory.file);
  }

  /** One that was released as often as it was made and imported is nobody's any more. */
  #memory(handle: bigint, status: 'INVALID_ALLOCATION' | 'INVALID_ARGUMENT'): Memory {
    const found = this.#memories.get(handle);
    if (found && found.references > 0) return found;
    throw new HsaError(status, `no memory has the handle ${handle}`);
  }

  /**
   * Returns the file, which the application maps, too; no kernel has access yet. Throws INVALID_ARGUMENT for
   * addresses that are not reserved or are in use, and for what is no part of the memory, and
   * OUT_OF_RESOURCES.
   */
  map(address: bigint, sizeBytes: number, offset: number, handle: bigint): number {
    const reservation = this.#reservationOf(address, sizeBytes);
    const memory = this.#memory(handle, 'INVALID_ARGUMENT');
    const isWhole = [Number(address % BigInt(PAGE_BYTES)), sizeBytes, offset].every((each) => each % PAGE_BYTES === 0);
    if (!isWhole || sizeBytes === 0 || offset + sizeBytes > memory.sizeBytes) {
      const what = `${sizeBytes} bytes from ${offset} on of memory of ${memory.sizeBytes}`;
      throw new HsaError('INVALID_ARGUMENT', `${what} at ${hex(address)}`);
    }
    const end = address + BigInt(sizeBytes);
    for (const mapping of this.#mappings.values()) {
      if (mapping.address >= end || mapping.address + BigInt(mapping.sizeBytes) <= address) continue;
      throw new HsaError('INVALID_ARGUMENT', `memory is mapped at ${hex(mapping.address)} already`);
    }
    withStatus('OUT_OF_RESOURCES', () => this.#owner.arena.map(address, sizeBytes, memory.file, offset));
    this.#mappings.set(address, { address, sizeBytes, memory, reservation, access: new Map() });
    reservation.mappings++;
    memory.mappings++;
    return memory.file;
  }

  #reservationOf(address: bigint, sizeBytes: number): Reservation {
    const end = address + BigInt(sizeBytes);
    for (const each of this.#reservations.values()) {
      if (address >= each.address && end <= each.address + BigInt(alignUp(each.sizeBytes, PAGE_BYTES))) return each;
    }
    throw new HsaError('INVALID_ARGUMENT', `${sizeBytes} bytes at ${hex(address)} are not reserved`);
  }

  /** Mappings that lie side by side and are these bytes. Throws INVALID_ALLOCATION. */
  #mapped(address: bigint, sizeBytes: number): Mapping[] {
    const found: Mapping[] = [];
    let at = address;
    for (const end = address + BigInt(sizeBytes); at < end; at += BigInt(found.at(-1)!.sizeBytes)) {
      const mapping = this.#mappings.get(at);
      if (!mapping || at + BigInt(mapping.sizeBytes) > end) {
        throw new HsaError('INVALID_ALLOCATION', `${sizeBytes} bytes at ${hex(address)} are no whole mappings`);
      }
      found.push(mapping);
    }
    return found;
  }

  /** Throws INVALID_ALLOCATION for what are no whole mappings. */
  unmap(address: bigint, sizeBytes: number): void {
    const { arena, memory } = this.#owner;
    for (const mapping of this.#mapped(address, sizeBytes)) {
      memory.setPartAccess!(mapping.address, mapping.sizeBytes, 'none');
      withStatus('OUT_OF_RESOURCES', () => arena.unmap(mapping.address, mapping.sizeBytes));
      this.#mappings.delete(mapping.address);
      mapping.reservation.mappings--;
      mapping.memory.mappings--;
      this.#forgetUnused(mapping.memory);
    }
  }

  /**
   * Kernels of all GPUs may do what one of them may: they are one device. Throws INVALID_ARGUMENT for
   * addresses that are not reserved, INVALID_ALLOCATION for what are no whole mappings.
   */
  setAccess(address: bigint, sizeBytes: number, access: ReadonlyMap<Agent, number>): void {
    this.#reservationOf(address, sizeBytes);
    for (const mapping of this.#mapped(address, sizeBytes)) this.#allow(mapping, access);
  }

  #allow(mapping: Mapping, access: ReadonlyMap<Agent, number>): void {
    for (const [agent, permissions] of access) {
      if (ACCESSES[permissions] === undefined) throw new HsaError('INVALID_ARGUMENT', `permissions ${permissions}`);
      mapping.access.set(agent, permissions);
    }
    const ofGpus = [...mapping.access].filter(([agent]) => agent.device !== undefined);
    const all = ofGpus.reduce((sum, [, permissions]) => sum | permissions, 0);
    this.#owner.memory.setPartAccess!(mapping.address, mapping.sizeBytes, ACCESSES[all]!);
  }

  /** Throws INVALID_ALLOCATION where nothing is mapped, INVALID_AGENT for the CPU. */
  accessOf(address: bigint, agent: Agent | undefined): number {
    const mapping = this.#mappingAt(address);
    if (agent?.device === undefined) throw new HsaError('INVALID_AGENT', 'only GPUs have access to virtual memory');
    return mapping.access.get(agent) ?? 0;
  }

  #mappingAt(address: bigint): Mapping {
    for (const mapping of this.#mappings.values()) {
      if (address >= mapping.address && address < mapping.address + BigInt(mapping.sizeBytes)) return mapping;
    }
    throw new HsaError('INVALID_ALLOCATION', `no memory is mapped at ${hex(address)}`);
  }

  /** The file of a memory. Throws INVALID_ALLOCATION. */
  fileOf(handle: bigint): number {
    return this.#memory(handle, 'INVALID_ALLOCATION').file;
  }

  /**
   * The memory of a descriptor that the application has, of which another application may be the origin.
   * Throws INCOMPATIBLE_ARGUMENTS for other files, and OUT_OF_RESOURCES.
   */
  import(descriptor: number): bigint {
    const { gpuPool } = this.#owner;
    const file = this.#open(`/proc/${this.#owner.processId}/fd/${descriptor}`);
    try {
      const identity = identityOf(file);
      const known = [...this.#memories.values()].find((each) => each.identity === identity);
      if (known) {
        known.references++;
        closeSync(file);
        return known.handle;
      }
      const { size: sizeBytes } = fstatSync(file);
      this.#expectRoom(gpuPool, sizeBytes);
      return this.#add(file, sizeBytes, gpuPool, 0).handle;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** A file of ordinary memory whose size stays: no access to it fails. */
  #open(path: string): number {
    const isMemory = (): boolean => statSync(path).isFile() && statfsSync(path).type === TMPFS;
    const isFixed = (file: number): boolean => {
      const { size } = fstatSync(file);
      return this.#owner.linux.hasFixedSize(file) && size > 0 && size % PAGE_BYTES === 0;
    };
    let file: number | undefined;
    let cause: unknown;
    try {
      if (isMemory()) file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
      if (file !== undefined && isFixed(file)) return file;
    } catch (error) {
      cause = error;
    }
    if (file !== undefined) closeSync(file);
    throw new HsaError('INCOMPATIBLE_ARGUMENTS', `${path} is no memory that was exported`, { cause });
  }

  /** One more reference to the memory whose mapping begins at an address. Throws INVALID_ALLOCATION. */
  retain(address: bigint): bigint {
    const mapping = this.#mappings.get(address);
    if (!mapping) throw new HsaError('INVALID_ALLOCATION', `no mapping begins at ${hex(address)}`);
    mapping.memory.references++;
    return mapping.memory.handle;
  }

  /** Throws INVALID_ALLOCATION. */
  info(handle: bigint): { readonly pool: MemoryPool; readonly type: number } {
    return this.#memory(handle, 'INVALID_ALLOCATION');
  }

  /** Lets the files go; addresses go with the device. */
  [Symbol.dispose](): void {
    for (const { file } of this.#memories.values()) closeSync(file);
    this.#memories.clear();
  }
}
