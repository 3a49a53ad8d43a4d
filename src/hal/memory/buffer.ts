/**
 * Buffers (iree/hal/buffer.h): a range of an allocation, with what may be done with it. An allocation lives
 * until its buffers are disposed and no operation needs it any more. That of a queue's `alloca` has states: a
 * program has the buffer at once and its memory later.
 */
import type { FlagInput, FlagSet } from '../core/flag-set.ts';
import {
  type BufferAccess,
  type BufferUsage,
  type BufferUsages,
  MEMORY_ACCESS,
  type MemoryTypes,
  type PlacementFlag,
} from '../core/flags.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { BufferMapping } from './buffer-mapping.ts';
import type { ResolvedParams } from './buffer-params.ts';
import { ExportedMemory } from './external-memory.ts';
import type { BufferStorage } from './storage.ts';

/**
 * `reserved`: there is no memory yet; `committed`: there is; `deallocating`: a queue was told to take it;
 * `released`: it is gone.
 */
export type AllocationState = 'reserved' | 'committed' | 'deallocating' | 'released';

/** Where a buffer belongs: the device, and how it was allocated there. */
export interface BufferPlacement {
  /** The logical device. Buffers of another one are refused by its queues. */
  readonly device: object;
  /** The physical device of it whose memory it is. */
  readonly deviceOrdinal: number;
  /** The queue of an `alloca`. */
  readonly queue?: object;
  readonly flags: FlagSet<PlacementFlag>;
}

/** Bytes of a buffer that the host has in its hands. */
export interface HeldBytes {
  readonly allocation: BufferAllocation;
  /** In the allocation. */
  readonly offsetBytes: number;
  /** Live. */
  readonly bytes: Uint8Array;
  readonly access: FlagSet<BufferAccess>;
}

/** Who is told of what the host does with an allocation. */
export interface AllocationObserver {
  /** What is returned is called when the host lets go of them. */
  held(bytes: HeldBytes): () => void;
  disposed(allocation: BufferAllocation): void;
}

/** What all ranges of one allocation share. */
export class BufferAllocation {
  readonly params: ResolvedParams;
  readonly placement: BufferPlacement;
  readonly sizeBytes: number;
  /** For recorders. */
  observer: AllocationObserver | undefined;
  #state: AllocationState;
  #storage: BufferStorage | undefined;
  /** Operations, command buffers and mappings that need the memory. */
  #users = 0;
  #isDisposed = false;
  /** Operations that have begun, and mappings: what has the memory in its hands. */
  #pins = 0;
  /** Memory that was deallocated, and goes when the last pin does. */
  #leaving: BufferStorage | undefined;

  constructor(params: ResolvedParams, placement: BufferPlacement, sizeBytes: number, storage?: BufferStorage) {
    this.params = params;
    this.placement = placement;
    this.sizeBytes = sizeBytes;
    this.#storage = storage;
    this.#state = storage === undefined ? 'reserved' : 'committed';
  }

  /** Events that name it can be written as JSON. */
  toJSON(): string {
    return this.params.label;
  }

  get state(): AllocationState {
    return this.#state;
  }

  /** Throws FAILED_PRECONDITION while there is no memory, and when there is none any more. */
  get storage(): BufferStorage {
    if (this.#storage !== undefined) return this.#storage;
    const why = this.#state === 'reserved' ? 'has no memory yet: its alloca is not complete' : 'was deallocated';
    throw new HalError('FAILED_PRECONDITION', `'${this.params.label}' ${why}`);
  }

  /** The memory of an `alloca` is there. Throws FAILED_PRECONDITION where a dealloca was sooner. */
  commit(storage: BufferStorage): void {
    if (this.#state === 'released') {
      storage.free();
      throw new HalError('FAILED_PRECONDITION', `'${this.params.label}' was deallocated before it was allocated`);
    }
    this.#storage = storage;
    if (this.#state === 'reserved') this.#state = 'committed';
    else storage.expectFree?.(true);
    if (this.#isDisposed) this.#collect();
  }

  /** A queue is told to deallocate. Throws FAILED_PRECONDITION the second time. */
  beginDealloca(): void {
    if (this.#state === 'deallocating' || this.#state === 'released') {
      throw new HalError('FAILED_PRECONDITION', `'${this.params.label}' is deallocated twice`);
    }
    this.#state = 'deallocating';
    this.#storage?.expectFree?.(true);
  }

  /** The dealloca did not happen: the buffer is as it was. */
  cancelDealloca(): void {
    if (this.#state !== 'deallocating') return;
    this.#state = this.#storage === undefined ? 'reserved' : 'committed';
    this.#storage?.expectFree?.(false);
  }

  /** The dealloca happened. What has the memory in its hands keeps it until it is over. */
  decommit(): void {
    this.#state = 'released';
    const storage = this.#storage;
    this.#storage = undefined;
    if (this.#pins === 0) {
      storage?.free();
      return;
    }
    this.#leaving = storage;
    storage?.expectFree?.(false);
  }

  pin(): void {
    this.#pins++;
  }

  unpin(): void {
    this.#pins--;
    if (this.#pins > 0) return;
    const storage = this.#leaving;
    this.#leaving = undefined;
    storage?.free();
  }

  retain(): void {
    this.#users++;
  }

  release(): void {
    this.#users--;
    if (this.#isDisposed) this.#collect();
  }

  dispose(): void {
    if (!this.#isDisposed) this.observer?.disposed(this);
    this.#isDisposed = true;
    this.#collect();
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  #collect(): void {
    if (this.#users === 0 && this.#storage !== undefined && this.#state !== 'deallocating') this.decommit();
  }
}

export interface MapOptions {
  readonly offsetBytes?: number;
  /** Default: up to the end. */
  readonly sizeBytes?: number;
}

/** A range of an allocation. `using` releases the allocation when it is the first one of it. */
export class HalBuffer implements Disposable {
  readonly allocation: BufferAllocation;
  /** In the allocation. */
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** All of it as operations name ranges: made once, most of them name nothing else. */
  readonly whole: { readonly buffer: HalBuffer; readonly offsetBytes: number; readonly sizeBytes: number };
  #wholeStorage:
    | { readonly storage: BufferStorage; readonly offsetBytes: number; readonly sizeBytes: number }
    | undefined;

  /** Use `LogicalDevice.allocate` and `HalQueue.alloca`. */
  constructor(allocation: BufferAllocation, offsetBytes: number, sizeBytes: number) {
    this.allocation = allocation;
    this.offsetBytes = offsetBytes;
    this.sizeBytes = sizeBytes;
    this.whole = { buffer: this, offsetBytes: 0, sizeBytes };
  }

  /** The memory of all of it. Throws FAILED_PRECONDITION where it is not there now. */
  get wholeStorage(): { readonly storage: BufferStorage; readonly offsetBytes: number; readonly sizeBytes: number } {
    const { storage } = this.allocation;
    if (this.#wholeStorage?.storage === storage) return this.#wholeStorage;
    const { offsetBytes, sizeBytes } = this;
    this.#wholeStorage = { storage, offsetBytes, sizeBytes };
    return this.#wholeStorage;
  }

  get label(): string {
    return this.allocation.params.label;
  }

  get memoryType(): MemoryTypes {
    return this.allocation.params.memoryType;
  }

  get usage(): BufferUsages {
    return this.allocation.params.usage;
  }

  get access(): FlagSet<BufferAccess> {
    return this.allocation.params.access;
  }

  get placement(): BufferPlacement {
    return this.allocation.placement;
  }

  get state(): AllocationState {
    return this.allocation.state;
  }

  /**
   * Where kernels have it, for arguments that are given as they are; undefined where kernels are functions of
   * the host. Throws FAILED_PRECONDITION while there is no memory.
   */
  get deviceAddress(): bigint | undefined {
    const { address } = this.allocation.storage;
    return address === undefined ? undefined : address + BigInt(this.offsetBytes);
  }

  /** A part of the buffer; the buffer itself where it is all of it. Throws OUT_OF_RANGE. */
  subspan(offsetBytes: number, sizeBytes = this.sizeBytes - offsetBytes): HalBuffer {
    this.checkRange(offsetBytes, sizeBytes);
    if (offsetBytes === 0 && sizeBytes === this.sizeBytes) return this;
    return new HalBuffer(this.allocation, this.offsetBytes + offsetBytes, sizeBytes);
  }

  /**
   * The bytes, for the host. What runs at the same time and uses them gives undefined results. Throws
   * PERMISSION_DENIED for memory that the host does not see, for a usage without mapping and for access that
   * the buffer does not allow; FAILED_PRECONDITION where there is no memory now, OUT_OF_RANGE.
   */
  map(access: FlagInput<BufferAccess>, options: MapOptions = {}): BufferMapping {
    const { offsetBytes = 0, sizeBytes = this.sizeBytes - offsetBytes } = options;
    const wanted = MEMORY_ACCESS.set(access);
    this.checkRange(offsetBytes, sizeBytes);
    if (!this.memoryType.has('host-visible')) {
      throw this.#denied(`${this.memoryType} memory, which the host does not see`);
    }
    if (!this.usage.hasAny(['mapping-scoped', 'mapping-persistent'])) {
      throw this.#denied(`usage ${this.usage}, without mapping`);
    }
    this.checkAccess(wanted);
    this.#expectUsable();
    const start = this.offsetBytes + offsetBytes;
    const bytes = this.allocation.storage.bytes().subarray(start, start + sizeBytes);
    return new BufferMapping(bytes, wanted, this.#hold({ bytes, access: wanted, offsetBytes: start }));
  }

  /**
   * Its memory for others, without a copy: where kernels have it, and its bytes where the host sees them.
   * Throws PERMISSION_DENIED without the usage `sharing-export`, FAILED_PRECONDITION where there is no memory
   * now.
   */
  export(): ExportedMemory {
    this.checkUsage('sharing-export');
    const { allocation, offsetBytes, sizeBytes } = this;
    this.#expectUsable();
    const { storage } = allocation;
    const isVisible = this.memoryType.has('host-visible');
    const bytes = isVisible ? storage.bytes().subarray(offsetBytes, offsetBytes + sizeBytes) : undefined;
    const address = storage.address === undefined ? undefined : storage.address + BigInt(offsetBytes);
    const held = bytes && { bytes, access: MEMORY_ACCESS.set('all'), offsetBytes };
    return new ExportedMemory(bytes, address, sizeBytes, this.#hold(held));
  }

  /** Throws FAILED_PRECONDITION. */
  #expectUsable(): void {
    const { state, isDisposed } = this.allocation;
    if (!isDisposed && state !== 'deallocating') return;
    throw new HalError('FAILED_PRECONDITION', `'${this.label}' is ${isDisposed ? 'disposed' : 'being deallocated'}`);
  }

  /** Keeps the memory where it is. Returns what lets it go. */
  #hold(held: Omit<HeldBytes, 'allocation'> | undefined): () => void {
    const { allocation } = this;
    allocation.retain();
    allocation.pin();
    const letGo = held && allocation.observer?.held({ ...held, allocation });
    return () => {
      letGo?.();
      allocation.unpin();
      allocation.release();
    };
  }

  /** A copy of its bytes; see `map`. */
  read(options: MapOptions = {}): Uint8Array {
    using mapping = this.map('read', options);
    return Uint8Array.from(mapping.bytes);
  }

  /** Writes the bytes of an array; see `map`. */
  write(contents: ArrayBufferView, offsetBytes = 0): void {
    const { buffer, byteOffset, byteLength } = contents;
    using mapping = this.map('discard-write', { offsetBytes, sizeBytes: byteLength });
    mapping.bytes.set(new Uint8Array(buffer, byteOffset, byteLength));
  }

  /** Repeats a pattern of 1, 2 or 4 bytes; see `map`. Throws INVALID_ARGUMENT for other sizes. */
  fill(pattern: Uint8Array, options: MapOptions = {}): void {
    const { offsetBytes = 0, sizeBytes = this.sizeBytes - offsetBytes } = options;
    checkPattern(pattern, [1, 2, 4], offsetBytes, sizeBytes);
    using mapping = this.map('discard-write', { offsetBytes, sizeBytes });
    repeatPattern(mapping.bytes, pattern);
  }

  zero(options: MapOptions = {}): void {
    this.fill(Uint8Array.of(0), options);
  }

  /** Throws OUT_OF_RANGE for a range that is not in the buffer. */
  checkRange(offsetBytes: number, sizeBytes: number): void {
    const isRange = [offsetBytes, sizeBytes].every((each) => Number.isSafeInteger(each) && each >= 0);
    if (isRange && offsetBytes + sizeBytes <= this.sizeBytes) return;
    const range = `${sizeBytes} bytes at ${offsetBytes}`;
    throw new HalError('OUT_OF_RANGE', `${range} of '${this.label}', which has ${this.sizeBytes} bytes`);
  }

  /** Throws PERMISSION_DENIED where the buffer was not allocated for such use. */
  checkUsage(usage: BufferUsage): void {
    if (!this.usage.has(usage)) throw this.#denied(`usage ${this.usage}, expected ${usage}`);
  }

  /** Throws PERMISSION_DENIED. */
  checkAccess(access: FlagInput<BufferAccess>): void {
    if (this.access.has(access) || this.access.has('any')) return;
    const needed = MEMORY_ACCESS.set(access).without('discard');
    if (this.access.has(needed)) return;
    throw this.#denied(`access ${this.access}, expected ${needed}`);
  }

  #denied(what: string): HalError {
    return new HalError('PERMISSION_DENIED', `'${this.label}' has ${what}`);
  }

  /** Gives the allocation back as soon as nothing uses it. Idempotent; parts of the buffer go with it. */
  [Symbol.dispose](): void {
    this.allocation.dispose();
  }
}

/** Throws INVALID_ARGUMENT for a pattern of no size of `sizes`, and for a range that it does not fit. */
export function checkPattern(
  pattern: Uint8Array,
  sizes: readonly number[],
  offsetBytes: number,
  sizeBytes: number,
): void {
  const size = pattern.length;
  if (!sizes.includes(size)) throw invalidArgument(`a pattern of ${size} bytes, expected ${sizes.join(', ')}`);
  if (offsetBytes % size !== 0 || sizeBytes % size !== 0) {
    throw invalidArgument(
      `a pattern of ${size} bytes for ${sizeBytes} bytes at ${offsetBytes}, expected multiples of ${size}`,
    );
  }
}

export function repeatPattern(bytes: Uint8Array, pattern: Uint8Array): void {
  if (bytes.length === 0) return;
  bytes.set(pattern);
  for (let filled = pattern.length; filled < bytes.length; filled *= 2) bytes.copyWithin(filled, 0, filled);
}
