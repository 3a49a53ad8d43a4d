/** Memory that came and went, added up: what is open, by device, by pool, and by allocation. */
import { MEMORY_EVENTS } from '../format/names.ts';
import type { RecordOf } from '../format/record-layout.ts';
import { type MEMORY_EVENT_RECORDS, MEMORY_FLAG } from '../format/records.ts';

export type MemoryRecord = RecordOf<typeof MEMORY_EVENT_RECORDS>;

/** What an event does to what it is about. */
interface MemoryEffect {
  /** Of allocations and pools. */
  readonly kind: string;
  /** What rows of devices call it, and its balance. */
  readonly counted: string;
  readonly balance: string;
  readonly change: 'open' | 'close' | 'materialize' | 'none';
}

const effect = (kind: string, counted: string, balance: string, change: MemoryEffect['change']): MemoryEffect => ({
  kind,
  counted,
  balance,
  change,
});

const EFFECTS: Readonly<Record<string, MemoryEffect>> = {
  slab_acquire: effect('slab', 'slab_acquires', 'slab', 'open'),
  slab_release: effect('slab', 'slab_releases', 'slab', 'close'),
  pool_reserve: effect('pool_reservation', 'pool_reserves', 'pool_reserved', 'open'),
  pool_materialize: effect('pool_reservation', 'pool_materializes', 'pool_materialized', 'materialize'),
  pool_release: effect('pool_reservation', 'pool_releases', 'pool_reserved', 'close'),
  pool_wait: effect('pool_reservation', 'pool_waits', 'pool_reserved', 'none'),
  queue_alloca: effect('queue_allocation', 'queue_allocas', 'queue_inflight', 'open'),
  queue_dealloca: effect('queue_allocation', 'queue_deallocas', 'queue_inflight', 'close'),
  buffer_allocate: effect('buffer_allocation', 'buffer_allocates', 'buffer', 'open'),
  buffer_free: effect('buffer_allocation', 'buffer_frees', 'buffer', 'close'),
  buffer_import: effect('imported_buffer', 'buffer_imports', 'imported_buffer', 'open'),
  buffer_unimport: effect('imported_buffer', 'buffer_unimports', 'imported_buffer', 'close'),
};
const COUNTED = Object.values(EFFECTS).map(({ counted }) => counted);
export const BALANCES = ['slab', 'pool_reserved', 'pool_materialized', 'queue_inflight', 'buffer', 'imported_buffer'];

/** What is open, and was at most. A close of what was opened before the profile is a partial one. */
export class Balance {
  #count = 0;
  #bytes = 0n;
  #highCount = 0;
  #highBytes = 0n;
  #opened = 0;
  #openedBytes = 0n;
  #closed = 0;
  #closedBytes = 0n;
  #partialBytes = 0n;
  partialCloses = 0;

  get isOpen(): boolean {
    return this.#bytes !== 0n;
  }

  /** That are open now. */
  get bytes(): bigint {
    return this.#bytes;
  }

  /** That were open at most. */
  get highBytes(): bigint {
    return this.#highBytes;
  }

  open(bytes: bigint): void {
    this.#count++;
    this.#bytes += bytes;
    this.#opened++;
    this.#openedBytes += bytes;
    this.#highCount = Math.max(this.#highCount, this.#count);
    if (this.#bytes > this.#highBytes) this.#highBytes = this.#bytes;
  }

  close(bytes: bigint): void {
    this.#closed++;
    this.#closedBytes += bytes;
    const missing = bytes > this.#bytes ? bytes - this.#bytes : 0n;
    if (this.#count === 0 || missing > 0n) this.partialCloses++;
    this.#partialBytes += missing;
    this.#count = Math.max(this.#count - 1, 0);
    this.#bytes -= bytes - missing;
  }

  cells(prefix: string) {
    return {
      [`${prefix}_current_count`]: this.#count,
      [`${prefix}_high_water_count`]: this.#highCount,
      [`${prefix}_total_open_count`]: this.#opened,
      [`${prefix}_total_close_count`]: this.#closed,
      [`${prefix}_partial_close_count`]: this.partialCloses,
      [`${prefix}_current_bytes`]: this.#bytes,
      [`${prefix}_high_water_bytes`]: this.#highBytes,
      [`${prefix}_total_open_bytes`]: this.#openedBytes,
      [`${prefix}_total_close_bytes`]: this.#closedBytes,
      [`${prefix}_partial_close_bytes`]: this.#partialBytes,
    };
  }
}

/** A pool or an allocation: what happened to it. */
export class Lifecycle {
  readonly kind: string;
  readonly first: MemoryRecord;
  readonly poolId: bigint;
  last: MemoryRecord;
  readonly balance = new Balance();
  readonly materialized = new Balance();
  events = 0;
  waits = 0;
  materializes = 0;
  flags = 0;
  memoryType = 0n;
  bufferUsage = 0n;
  backingId = 0n;
  /** Events that tell of the whole pool. */
  readonly statistics: MemoryRecord[] = [];
  /** Events that name a submission. */
  firstSubmitted: MemoryRecord | undefined;
  lastSubmitted: MemoryRecord | undefined;

  constructor(kind: string, first: MemoryRecord, poolId: bigint) {
    this.kind = kind;
    this.first = first;
    this.last = first;
    this.poolId = poolId;
  }

  add(event: MemoryRecord, { change }: MemoryEffect, closesMaterialized: boolean): void {
    this.last = event;
    this.events++;
    if (change === 'none') this.waits++;
    if (change === 'open') this.balance.open(event.length);
    if (change === 'close') this.balance.close(event.length);
    if (change === 'materialize') {
      this.materializes++;
      this.materialized.open(event.length);
    }
    if (closesMaterialized) this.materialized.close(event.length);
    this.flags |= event.flags;
    this.memoryType |= event.memoryType;
    this.bufferUsage |= event.bufferUsage;
    if (this.backingId === 0n) this.backingId = event.backingId;
    if (event.submissionId === 0n) return;
    this.firstSubmitted ??= event;
    this.lastSubmitted = event;
  }

  get isOpen(): boolean {
    return this.balance.isOpen || this.materialized.isOpen;
  }

  get partialCloses(): number {
    return this.balance.partialCloses + this.materialized.partialCloses;
  }
}

interface DeviceMemory {
  events: number;
  readonly counts: Record<string, number>;
  readonly balances: Record<string, Balance>;
}

/** What events added up to. */
export class MemoryTotals {
  readonly devices = new Map<number, DeviceMemory>();
  readonly pools = new Map<string, Lifecycle>();
  readonly allocations = new Map<string, Lifecycle>();
  /** The pool that queue allocations named when they began: their ends may not. */
  readonly #poolOf = new Map<string, bigint>();

  add(event: MemoryRecord): void {
    const type = MEMORY_EVENTS[event.type];
    const does = type === undefined ? undefined : EFFECTS[type];
    const device = this.#device(event.physicalDeviceOrdinal);
    device.events++;
    if (does === undefined) return;
    const place = `${does.kind} ${event.physicalDeviceOrdinal}`;
    const allocationKey = `${place} ${event.allocationId}`;
    const isReservation = does.kind !== 'pool_reservation' || (event.flags & MEMORY_FLAG.poolReservation) !== 0;
    const known = does.kind === 'queue_allocation' ? this.#poolOf.get(allocationKey) : undefined;
    const poolId = event.poolId === 0n ? (known ?? 0n) : event.poolId;
    this.#poolOf.set(allocationKey, poolId);
    const allocation = this.allocations.get(`${allocationKey} ${poolId}`);
    const closesMaterialized = type === 'pool_release' && isReservation && allocation?.materialized.isOpen === true;
    device.counts[does.counted]!++;
    const change = does.change === 'open' && !isReservation ? 'none' : does.change;
    if (change === 'open') device.balances[does.balance]!.open(event.length);
    if (change === 'close') device.balances[does.balance]!.close(event.length);
    if (change === 'materialize') device.balances[does.balance]!.open(event.length);
    if (closesMaterialized) device.balances['pool_materialized']!.close(event.length);
    this.#add(
      this.pools,
      `${place} ${poolId} ${event.memoryType}`,
      [event, poolId],
      { ...does, change },
      closesMaterialized,
    );
    if ((event.flags & MEMORY_FLAG.poolStats) !== 0 && event.poolId !== 0n)
      this.#reservations(event).statistics.push(event);
    if (!isReservation) return;
    this.#add(this.allocations, `${allocationKey} ${poolId}`, [event, poolId], does, closesMaterialized);
  }

  #add(
    to: Map<string, Lifecycle>,
    key: string,
    [event, poolId]: readonly [MemoryRecord, bigint],
    does: MemoryEffect,
    closesMaterialized: boolean,
  ): void {
    const lifecycle = to.get(key) ?? new Lifecycle(does.kind, event, poolId);
    to.set(key, lifecycle);
    lifecycle.add(event, does, closesMaterialized);
  }

  /** The pool whose reservations an event tells of. */
  #reservations(event: MemoryRecord): Lifecycle {
    const kind = EFFECTS['pool_reserve']!.kind;
    const key = `${kind} ${event.physicalDeviceOrdinal} ${event.poolId} ${event.memoryType}`;
    const pool = this.pools.get(key) ?? new Lifecycle(kind, event, event.poolId);
    this.pools.set(key, pool);
    pool.bufferUsage |= event.bufferUsage;
    return pool;
  }

  #device(ordinal: number): DeviceMemory {
    const device = this.devices.get(ordinal) ?? {
      events: 0,
      counts: Object.fromEntries(COUNTED.map((name) => [name, 0])),
      balances: Object.fromEntries(BALANCES.map((name) => [name, new Balance()])),
    };
    this.devices.set(ordinal, device);
    return device;
  }
}
