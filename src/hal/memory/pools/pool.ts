/**
 * Pools (iree/hal/pool.h): memory of a device that is taken in slabs and given out in ranges by the `alloca`
 * of any queue. A range is given out again when the operation that gave it back was run, thus after all that
 * this one waited for, and after operations that have begun with the memory; queues need not know each other.
 */
import { HalError, invalidArgument, type OperationInfo } from '../../core/status.ts';
import { type AllocationPlan, type HalAllocator, planFrom } from '../allocator.ts';
import { type Heap, type ResolvedParams, resolveParams } from '../buffer-params.ts';
import type { BufferStorage } from '../storage.ts';
import { checkSize, type PoolOptions, type PoolShape, poolShape } from './pool-shape.ts';
import type { RangeAllocator } from './range-allocator.ts';

const DEFAULT_ALIGNMENT_BYTES = 256;

export interface PoolStatistics {
  /** In use: what buffers take, alignment included. */
  readonly reservedBytes: number;
  /** Taken of the device, and not in use. */
  readonly freeBytes: number;
  /** Taken of the device. */
  readonly committedBytes: number;
  readonly peakReservedBytes: number;
  /** Infinity where there is no limit. */
  readonly budgetBytes: number;
  readonly reservationCount: number;
  readonly slabCount: number;
  /** Operations that wait for memory now. */
  readonly parkedCount: number;
  /** Since the beginning: buffers that got memory, and gave it back. */
  readonly reserveCount: number;
  readonly releaseCount: number;
  /** Of `reserveCount`: memory that others had before, and memory that nobody had. */
  readonly reuseCount: number;
  readonly freshCount: number;
  /** Requests that found no memory at first: the pool was full, or a slab more would be above its budget. */
  readonly exhaustedCount: number;
  readonly overBudgetCount: number;
  /** Of these: requests that waited for memory whose dealloca was submitted already. */
  readonly waitCount: number;
}

/** What an `alloca` asks for. */
export interface PoolRequest {
  readonly sizeBytes: number;
  readonly operation: OperationInfo;
  /** Whether memory may be waited for whose dealloca was submitted. */
  readonly mayWait: boolean;
  readonly abort: AbortSignal | undefined;
}

export type PoolCallback = (result: BufferStorage | HalError) => void;

/** What a pool has of its device. */
export interface PoolOwner {
  readonly device: object;
  readonly allocator: HalAllocator;
  /** Calls back at the next turn. */
  post(callback: () => void): void;
  /** It is not a pool of the device any more. */
  forget(pool: HalPool): void;
}

interface Slab {
  readonly storage: BufferStorage;
  readonly ranges: RangeAllocator;
  reservationCount: number;
  /** Bytes behind it were never given out. */
  usedBytes: number;
}

interface Parked {
  readonly request: PoolRequest;
  readonly settle: PoolCallback;
}

export class HalPool implements Disposable {
  readonly kind: PoolOptions['kind'];
  readonly label: string;
  /** What its buffers can be. */
  readonly heap: Heap;
  readonly budgetBytes: number;
  readonly #owner: PoolOwner;
  readonly #plan: AllocationPlan;
  readonly #shape: PoolShape;
  /** For recorders. */
  onDispose: (() => void) | undefined;
  readonly #slabs = new Set<Slab>();
  readonly #parked = new Set<Parked>();
  readonly #counts = { reserve: 0, release: 0, reuse: 0, fresh: 0, exhausted: 0, overBudget: 0, wait: 0 };
  #reservedBytes = 0;
  #peakReservedBytes = 0;
  #committedBytes = 0;
  /** Reservations whose dealloca was submitted and has not been run. */
  #expectedCount = 0;
  #isRetryPosted = false;
  #isDisposed = false;

  /** Use `LogicalDevice.createPool`. */
  constructor(owner: PoolOwner, options: PoolOptions) {
    const { kind, maxBytes = Number.POSITIVE_INFINITY, label = `${options.kind} pool` } = options;
    if (maxBytes !== Number.POSITIVE_INFINITY) checkSize('maxBytes', maxBytes);
    this.#owner = owner;
    this.kind = kind;
    this.label = label;
    this.budgetBytes = maxBytes;
    const params = resolveParams({ minAlignmentBytes: DEFAULT_ALIGNMENT_BYTES, ...options, label });
    const plan = owner.allocator.plan(params, 0);
    const heap = owner.allocator.heaps[plan.heapIndex]!;
    this.#plan = plan;
    const { usage, memoryType, minAlignmentBytes } = plan.params;
    this.#shape = poolShape(options, minAlignmentBytes, Math.min(heap.maxAllocationBytes, maxBytes));
    const { maxRequestBytes } = this.#shape;
    const slabBytes = this.#shape.slabBytes(maxRequestBytes);
    if (slabBytes < 1 || slabBytes > Math.min(maxBytes, heap.maxAllocationBytes)) {
      const limits = `a budget of ${maxBytes} and a device that gives ${heap.maxAllocationBytes} at most`;
      throw invalidArgument(`'${label}' takes ${slabBytes} bytes at once, with ${limits}`);
    }
    this.heap = { usage, memoryType, minAlignmentBytes, maxAllocationBytes: maxRequestBytes, isSlow: heap.isSlow };
  }

  get device(): object {
    return this.#owner.device;
  }

  /** The physical device that its memory is of. */
  get deviceOrdinal(): number {
    return this.#plan.params.deviceOrdinal;
  }

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  get statistics(): PoolStatistics {
    const { reserve, release, reuse, fresh, exhausted, overBudget, wait } = this.#counts;
    return {
      reservedBytes: this.#reservedBytes,
      freeBytes: this.#committedBytes - this.#reservedBytes,
      committedBytes: this.#committedBytes,
      peakReservedBytes: this.#peakReservedBytes,
      budgetBytes: this.budgetBytes,
      reservationCount: reserve - release,
      slabCount: this.#slabs.size,
      parkedCount: this.#parked.size,
      reserveCount: reserve,
      releaseCount: release,
      reuseCount: reuse,
      freshCount: fresh,
      exhaustedCount: exhausted,
      overBudgetCount: overBudget,
      waitCount: wait,
    };
  }

  /** Operations that wait for its memory, in the order in which they get it where it is enough. */
  get parked(): readonly OperationInfo[] {
    return [...this.#parked].map(({ request }) => request.operation);
  }

  /**
   * What would be reserved. Throws INVALID_ARGUMENT for memory that is not the pool's kind and for alignment
   * above the pool's, RESOURCE_EXHAUSTED for more than the pool ever gives.
   */
  plan(params: ResolvedParams, sizeBytes: number): AllocationPlan {
    if (this.#isDisposed) throw invalidArgument(`'${this.label}' is disposed`);
    const { minAlignmentBytes } = this.heap;
    if (params.deviceOrdinal !== this.deviceOrdinal) {
      const where = `memory of physical device ${params.deviceOrdinal}`;
      throw invalidArgument(`${where} from '${this.label}', which has that of ${this.deviceOrdinal}`);
    }
    if (params.minAlignmentBytes > minAlignmentBytes) {
      const what = `'${params.label}' aligned to ${params.minAlignmentBytes} bytes in '${this.label}', which has ${minAlignmentBytes}`;
      throw invalidArgument(what, { hint: 'create the pool with this minAlignmentBytes' });
    }
    return planFrom([this.heap], params, sizeBytes, `'${this.label}'`);
  }

  /**
   * Gives memory, at once or when others give theirs back. RESOURCE_EXHAUSTED where the device has none, and
   * where memory is about to be given back, but the request may not wait for it.
   */
  reserve(request: PoolRequest, settle: PoolCallback): void {
    const found = this.#isDisposed ? this.#gone() : this.#attempt(request.sizeBytes);
    if (found !== undefined) {
      settle(found);
      return;
    }
    if (this.#isFull) this.#counts.exhausted++;
    else this.#counts.overBudget++;
    if (this.#expectedCount > 0 && !request.mayWait) {
      settle(this.#refusal(request.sizeBytes));
      return;
    }
    if (this.#expectedCount > 0) this.#counts.wait++;
    this.#park(request, settle);
  }

  #park(request: PoolRequest, settle: PoolCallback): void {
    const { abort } = request;
    const cancel = () => {
      this.#parked.delete(parked);
      const { reason } = abort!;
      settle(new HalError('CANCELLED', reason instanceof Error ? reason.message : String(reason), { cause: reason }));
    };
    const parked = {
      request,
      settle: (result: BufferStorage | HalError) => {
        this.#parked.delete(parked);
        abort?.removeEventListener('abort', cancel);
        settle(result);
      },
    };
    this.#parked.add(parked);
    abort?.addEventListener('abort', cancel, { once: true });
  }

  get #isFull(): boolean {
    return this.#slabs.size >= this.#shape.maxSlabs;
  }

  /** Undefined where memory has to be given back first. */
  #attempt(sizeBytes: number): BufferStorage | HalError | undefined {
    if (this.#shape.isShared) {
      for (const slab of this.#slabs) {
        const found = this.#take(slab, sizeBytes);
        if (found !== undefined) return found;
      }
    }
    const slabBytes = this.#shape.slabBytes(sizeBytes);
    if (this.#isFull || this.#committedBytes + slabBytes > this.budgetBytes) return undefined;
    try {
      return this.#take(this.#grow(slabBytes), sizeBytes);
    } catch (error) {
      if (error instanceof HalError) return error;
      throw error;
    }
  }

  #grow(slabBytes: number): Slab {
    const storage = this.#owner.allocator.storage({ ...this.#plan, sizeBytes: slabBytes }, 'pool');
    const slab = { storage, ranges: this.#shape.ranges(slabBytes), reservationCount: 0, usedBytes: 0 };
    this.#slabs.add(slab);
    this.#committedBytes += storage.sizeBytes;
    return slab;
  }

  #take(slab: Slab, sizeBytes: number): BufferStorage | undefined {
    const offset = slab.ranges.allocate(sizeBytes);
    if (offset === undefined) return undefined;
    const takenBytes = slab.ranges.takenBytes(sizeBytes);
    slab.reservationCount++;
    this.#counts.reserve++;
    if (offset < slab.usedBytes) this.#counts.reuse++;
    else this.#counts.fresh++;
    slab.usedBytes = Math.max(slab.usedBytes, offset + takenBytes);
    this.#reservedBytes += takenBytes;
    this.#peakReservedBytes = Math.max(this.#peakReservedBytes, this.#reservedBytes);
    let isExpected = false;
    const expectFree = (isNow: boolean): void => {
      if (isNow !== isExpected) this.#expectedCount += isNow ? 1 : -1;
      isExpected = isNow;
    };
    const { storage } = slab;
    return {
      sizeBytes,
      address: storage.address === undefined ? undefined : storage.address + BigInt(offset),
      bytes: () => storage.bytes().subarray(offset, offset + sizeBytes),
      expectFree,
      free: () => {
        expectFree(false);
        this.#give(slab, offset, takenBytes);
      },
    };
  }

  #give(slab: Slab, offset: number, takenBytes: number): void {
    slab.ranges.free(offset);
    slab.reservationCount--;
    this.#reservedBytes -= takenBytes;
    this.#counts.release++;
    if (slab.reservationCount === 0 && (!this.#shape.isShared || this.#isDisposed)) this.#drop(slab);
    if (this.#parked.size === 0 || this.#isRetryPosted) return;
    this.#isRetryPosted = true;
    this.#owner.post(() => this.#retry());
  }

  #drop(slab: Slab): number {
    const { sizeBytes } = slab.storage;
    this.#slabs.delete(slab);
    this.#committedBytes -= sizeBytes;
    slab.storage.free();
    return sizeBytes;
  }

  /**
   * Memory came back. Who waits longest is asked first, but who can be served is served: what waits longer
   * may wait for what these do.
   */
  #retry(): void {
    this.#isRetryPosted = false;
    // Where so many bytes were not there, more are not either.
    let missingBytes = Number.POSITIVE_INFINITY;
    for (const parked of [...this.#parked]) {
      const { request, settle } = parked;
      if (request.sizeBytes >= missingBytes || !this.#parked.has(parked)) continue;
      const found = this.#attempt(request.sizeBytes);
      if (found === undefined) missingBytes = request.sizeBytes;
      else settle(found);
    }
  }

  /** Gives slabs back of which nothing is in use. Returns their bytes. */
  trim(): number {
    let bytes = 0;
    for (const slab of [...this.#slabs]) if (slab.reservationCount === 0) bytes += this.#drop(slab);
    return bytes;
  }

  /**
   * Nothing more is given: what waits fails with CANCELLED. Memory that is in use stays with its buffers, and
   * goes to the device when it comes back. Idempotent.
   */
  [Symbol.dispose](): void {
    if (this.#isDisposed) return;
    this.onDispose?.();
    this.#isDisposed = true;
    for (const { settle } of [...this.#parked]) settle(this.#gone());
    this.trim();
    this.#owner.forget(this);
  }

  #gone(): HalError {
    return new HalError('CANCELLED', `'${this.label}' is disposed`);
  }

  #refusal(sizeBytes: number): HalError {
    const { reservedBytes, committedBytes } = this.statistics;
    const what = `${sizeBytes} bytes of '${this.label}', which has given ${reservedBytes} of ${committedBytes}`;
    return new HalError('RESOURCE_EXHAUSTED', `${what}; ${this.#expectedCount} buffers are about to be given back`, {
      hint: "the alloca waits for them with the flag 'allow-pool-wait-frontier'",
    });
  }
}
