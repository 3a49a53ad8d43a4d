/** `profile memory`: memory that came and went, by device, by pool, and by allocation. */
import { matchesGlob } from '../../base/glob.ts';
import { MEMORY_EVENTS, numberOf, QUEUE_OPERATIONS } from '../format/names.ts';
import { NO_ORDINAL, type RecordOf } from '../format/record-layout.ts';
import { MEMORY_EVENT_RECORDS, MEMORY_FLAG, QUEUE_DEVICE_EVENTS } from '../format/records.ts';
import { areValidTicks, type Profile } from '../profile.ts';
import type { ReportFilter } from './groups.ts';
import { memoryEventCells } from './interchange.ts';
import { BALANCES, type Lifecycle, type MemoryRecord, MemoryTotals } from './memory-totals.ts';
import type { Columns, ReportRow } from './rows.ts';

export const MEMORY_COLUMNS: Columns = {
  memory_event: ['event_id', 'event_type', 'allocation_id', 'length', 'host_time_ns', 'submission_id'],
  memory_pool: ['kind', 'pool_id', 'memory_type', 'events', 'lifecycle_high_water_count', 'lifecycle_high_water_bytes'],
  memory_allocation: [
    'kind',
    'allocation_id',
    'events',
    'open_at_end',
    'lifecycle_high_water_bytes',
    'duration_ns',
    'first_submission_id',
    'last_submission_id',
  ],
};

/** The rows of events come first, as they come in the file. */
export function memoryRows(profile: Profile, { glob, id }: ReportFilter): ReportRow[] {
  const located = [...profile.located(MEMORY_EVENT_RECORDS)];
  const isChosen = ({ type, eventId, allocationId }: MemoryRecord): boolean =>
    (id === undefined || id === eventId || id === allocationId) && matchesGlob(MEMORY_EVENTS[type] ?? 'unknown', glob);
  const chosen = located.filter(([event]) => isChosen(event));
  const totals = new MemoryTotals();
  for (const [event] of chosen) totals.add(event);
  const { truncatedChunks, droppedRecords } = profile.losses(MEMORY_EVENT_RECORDS);
  const allocations = [...totals.allocations.values()];
  const deviceEvents = new Map(profile.all(QUEUE_DEVICE_EVENTS).map((event) => [deviceEventKey(event), event]));
  const summary: ReportRow = {
    type: 'memory_summary',
    filter: glob,
    id_filter: id ?? -1,
    total_events: located.length,
    matched_events: chosen.length,
    truncated_chunks: truncatedChunks,
    dropped_records: droppedRecords,
    truncated_matched_events: chosen.filter(([, { isTruncated }]) => isTruncated).length,
    devices: totals.devices.size,
    pools: totals.pools.size,
    allocation_lifecycles: allocations.length,
    open_allocation_lifecycles: allocations.filter(({ isOpen }) => isOpen).length,
    partial_lifecycle_closes: allocations.reduce((sum, { partialCloses }) => sum + partialCloses, 0),
  };
  return [
    ...chosen.map(([event]) => ({ type: 'memory_event', ...memoryEventCells(event) })),
    summary,
    ...[...totals.devices].map(([ordinal, { events, counts, balances }]) => ({
      type: 'memory_device',
      physical_device_ordinal: ordinal,
      events,
      ...counts,
      ...Object.assign({}, ...BALANCES.map((name) => balances[name]!.cells(name))),
    })),
    ...[...totals.pools.values()].map((pool) => poolRow(pool)),
    ...allocations.map((allocation) => allocationRow(allocation, lifetimeCells(profile, deviceEvents, allocation))),
  ];
}

function poolRow(pool: Lifecycle): ReportRow {
  const { kind, first, poolId, statistics } = pool;
  const last = statistics.at(-1);
  const most = <Of extends bigint | number>(of: (event: MemoryRecord) => Of, none: Of): Of =>
    statistics.map(of).reduce((high, each) => (each > high ? each : high), none);
  const least = statistics
    .map(({ poolBytesFree }) => poolBytesFree)
    .reduce((low, each) => (each < low ? each : low), last?.poolBytesFree ?? 0n);
  return {
    type: 'memory_pool',
    kind,
    physical_device_ordinal: first.physicalDeviceOrdinal,
    pool_id: poolId,
    memory_type: first.memoryType,
    buffer_usage: pool.bufferUsage,
    events: pool.events,
    waits: pool.waits,
    materializes: pool.materializes,
    ...pool.balance.cells('lifecycle'),
    ...pool.materialized.cells('materialized'),
    pool_stats_available: last !== undefined,
    pool_stats_samples: statistics.length,
    pool_bytes_reserved: last?.poolBytesReserved ?? 0n,
    pool_bytes_reserved_high_water: most(({ poolBytesReserved }) => poolBytesReserved, 0n),
    pool_bytes_free: last?.poolBytesFree ?? 0n,
    pool_bytes_free_low_water: least,
    pool_bytes_committed: last?.poolBytesCommitted ?? 0n,
    pool_bytes_committed_high_water: most(({ poolBytesCommitted }) => poolBytesCommitted, 0n),
    pool_budget_limit: last?.poolBudgetLimit ?? 0n,
    pool_reservation_count: last?.poolReservationCount ?? 0,
    pool_reservation_high_water_count: most(({ poolReservationCount }) => poolReservationCount, 0),
    pool_slab_count: last?.poolSlabCount ?? 0,
    pool_slab_high_water_count: most(({ poolSlabCount }) => poolSlabCount, 0),
  };
}

function allocationRow(allocation: Lifecycle, lifetime: ReturnType<typeof lifetimeCells>): ReportRow {
  const { kind, first, last, poolId, firstSubmitted, lastSubmitted } = allocation;
  return {
    type: 'memory_allocation',
    kind,
    physical_device_ordinal: first.physicalDeviceOrdinal,
    allocation_id: first.allocationId,
    pool_id: poolId,
    backing_id: allocation.backingId,
    externally_owned: (allocation.flags & MEMORY_FLAG.externallyOwned) !== 0,
    memory_type: allocation.memoryType,
    buffer_usage: allocation.bufferUsage,
    events: allocation.events,
    waits: allocation.waits,
    materializes: allocation.materializes,
    open_at_end: allocation.isOpen,
    first_event_id: first.eventId,
    last_event_id: last.eventId,
    first_host_time_ns: first.hostTimeNs,
    last_host_time_ns: last.hostTimeNs,
    host_time_domain: 'iree_host_time_ns',
    duration_ns: last.hostTimeNs > first.hostTimeNs ? last.hostTimeNs - first.hostTimeNs : 0n,
    first_submission_id: firstSubmitted?.submissionId ?? 0n,
    last_submission_id: lastSubmitted?.submissionId ?? 0n,
    first_queue_ordinal: firstSubmitted?.queueOrdinal ?? NO_ORDINAL,
    last_queue_ordinal: lastSubmitted?.queueOrdinal ?? NO_ORDINAL,
    ...lifetime,
    ...allocation.balance.cells('lifecycle'),
    ...allocation.materialized.cells('materialized'),
  };
}

type DeviceEvent = RecordOf<typeof QUEUE_DEVICE_EVENTS>;
type DeviceEventKey = Pick<
  DeviceEvent,
  'physicalDeviceOrdinal' | 'queueOrdinal' | 'type' | 'submissionId' | 'allocationId'
>;

const deviceEventKey = (of: DeviceEventKey): string =>
  `${of.physicalDeviceOrdinal} ${of.queueOrdinal} ${of.type} ${of.submissionId} ${of.allocationId}`;

/** From the begin of the alloca on its device to the end of the dealloca, where the device told of both. */
function lifetimeCells(profile: Profile, events: ReadonlyMap<string, DeviceEvent>, allocation: Lifecycle) {
  const find = (event: MemoryRecord | undefined, operation: string): DeviceEvent | undefined => {
    if (event === undefined || allocation.kind !== 'queue_allocation') return undefined;
    return events.get(deviceEventKey({ ...event, type: numberOf(QUEUE_OPERATIONS, operation) }));
  };
  const begin = find(allocation.firstSubmitted, 'alloca');
  const end = find(allocation.lastSubmitted, 'dealloca');
  const isValid =
    begin !== undefined &&
    end !== undefined &&
    areValidTicks(begin.startTick, begin.endTick) &&
    areValidTicks(end.startTick, end.endTick) &&
    end.endTick >= begin.startTick;
  const ticks = isValid ? end.endTick - begin.startTick : 0n;
  const fit = isValid ? profile.clockFit(begin.physicalDeviceOrdinal) : undefined;
  return {
    alloca_device_event_id: begin?.eventId ?? 0n,
    dealloca_device_event_id: end?.eventId ?? 0n,
    device_lifetime_available: isValid,
    device_lifetime_start_tick: isValid ? begin.startTick : 0n,
    device_lifetime_end_tick: isValid ? end.endTick : 0n,
    device_lifetime_duration_ticks: ticks,
    device_lifetime_time_ns_available: fit !== undefined,
    device_lifetime_duration_ns: fit?.durationNs(ticks) ?? 0n,
  };
}
