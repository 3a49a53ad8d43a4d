/**
 * ireeperf-jsonl, version 15: every record of a profile as a line of JSON, names of its fields as IREE has
 * them. Fields come from the tables of the records; what is said beside them stands here.
 */
import { HAL_STATUS } from '../../hal/index.ts';
import { BUNDLE_VERSION, type BundleRecord, fullContentType } from '../format/bundle.ts';
import { METRIC_PLOTS, METRIC_SEMANTICS, METRIC_UNITS, METRIC_VALUE_KINDS } from '../format/names.ts';
import type { MetricValue, RecordField, RecordLayout, RecordOf } from '../format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  COMMAND_BUFFER_OPERATIONS,
  COMMAND_OPERATION_FLAG,
  COMMAND_REGION_EVENTS,
  COUNTER_SAMPLE_FLAG,
  COUNTER_SAMPLES,
  DEVICE_METRIC_DESCRIPTORS,
  DEVICE_METRIC_SAMPLES,
  DEVICES,
  DISPATCH_EVENTS,
  EXECUTABLE_CODE_OBJECT_LOADS,
  EXECUTABLE_CODE_OBJECTS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLE_TRACES,
  EXECUTABLES,
  HOST_EXECUTION_EVENTS,
  MEMORY_EVENT_RECORDS,
  MEMORY_FLAG,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
  RECORD_LAYOUTS,
} from '../format/records.ts';
import { areValidTicks, isKnownChunk, type Profile } from '../profile.ts';
import { operationKey } from './command.ts';
import { hashCells } from './executable.ts';
import { isValidHostTime } from './groups.ts';
import type { ReportCell, ReportRow } from './rows.ts';

const SCHEMA_VERSION = 15;
const HOST_TIME = { host_time_domain: 'iree_host_time_ns' } as const;

type Cells = Readonly<Record<string, ReportCell>>;
type AnyRecord = Readonly<Record<string, unknown>>;

/** `physicalDeviceOrdinal` as `physical_device_ordinal`. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The fields of a record; bytes and metrics are left to who knows what they are. */
export function fieldCells(layout: RecordLayout, record: AnyRecord): Record<string, ReportCell> {
  const cells: Record<string, ReportCell> = {};
  for (const [name, { kind, names, json = snakeCase(name) }] of Object.entries<RecordField>(layout.fields)) {
    const value = record[name];
    if (kind === 'bytes' || kind === 'data' || kind === 'following' || kind === 'metrics') continue;
    // reason: what is left are numbers, bigints, texts and lists of these
    if (names === undefined) cells[json] = value as ReportCell;
    else {
      cells[json] = names[value as number] ?? 'unknown'; // reason: named fields are numbers
      cells[`${json}_value`] = value as number;
    }
  }
  return cells;
}

/** What IREE does not call as its record does: the number of the dependency strategy is not told. */
const eventCells = (layout: RecordLayout, record: AnyRecord): Record<string, ReportCell> => {
  const { op, op_value: value, dependency_strategy_value: _, ...cells } = fieldCells(layout, record);
  return { ...(op !== undefined && { op, type_value: value! }), ...cells };
};

/** What times of a device come to on the clock of its driver. */
function deviceTimeCells(profile: Profile, device: number, startTick: bigint, endTick: bigint): Cells {
  const isValid = areValidTicks(startTick, endTick);
  const fit = isValid ? profile.clockFit(device) : undefined;
  return {
    device_tick_domain: 'device_tick',
    duration_ticks: isValid ? endTick - startTick : 0n,
    valid: isValid,
    derived_time_available: fit !== undefined,
    derived_time_domain: 'driver_host_cpu_timestamp_ns',
    derived_time_basis: 'first_last_clock_correlation',
    clock_fit_first_sample_id: fit?.first.sampleId ?? 0n,
    clock_fit_last_sample_id: fit?.last.sampleId ?? 0n,
    start_driver_host_cpu_time_ns: fit?.timeNs(startTick) ?? 0n,
    end_driver_host_cpu_time_ns: fit?.timeNs(endTick) ?? 0n,
    duration_time_domain: 'device_tick_duration_ns',
    duration_ns: fit === undefined ? 0n : fit.timeNs(endTick) - fit.timeNs(startTick),
  };
}

function hostTimeCells(startNs: bigint, endNs: bigint): Cells {
  const isValid = isValidHostTime(startNs, endNs);
  return { ...HOST_TIME, duration_ns: isValid ? endNs - startNs : 0n, valid: isValid };
}

export const memoryEventCells = (record: RecordOf<typeof MEMORY_EVENT_RECORDS>): Record<string, ReportCell> => ({
  ...fieldCells(MEMORY_EVENT_RECORDS, record),
  ...HOST_TIME,
  externally_owned: (record.flags & MEMORY_FLAG.externallyOwned) !== 0,
  pool_stats_available: (record.flags & MEMORY_FLAG.poolStats) !== 0,
});

type RowMaker = (profile: Profile, part: BundleRecord) => Iterable<Cells>;

/** Rows of one layout. */
const rowsOf = <Layout extends RecordLayout>(
  layout: Layout,
  cells: (record: RecordOf<Layout>, profile: Profile, part: BundleRecord) => Cells,
): readonly [RecordLayout, RowMaker] => [
  layout,
  function* (profile, part) {
    for (const record of layout.decode(part.payload, part.payloadOffset)) yield cells(record, profile, part);
  },
];

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Layouts whose rows say more than the fields, or something else. Code objects have no rows. */
const MAKERS: ReadonlyMap<RecordLayout, RowMaker | undefined> = new Map<RecordLayout, RowMaker | undefined>([
  rowsOf(DEVICES, (record) => ({
    ...fieldCells(DEVICES, record),
    physical_device_uuid_present: (record.flags & 1) !== 0,
    physical_device_uuid: (record.flags & 1) === 0 ? null : hex(record.physicalDeviceUuid),
  })),
  rowsOf(EXECUTABLES, (record) => ({
    ...fieldCells(EXECUTABLES, record),
    ...hashCells('code_object_hash', record.flags, record.codeObjectHash),
  })),
  [EXECUTABLE_CODE_OBJECTS, undefined],
  [EXECUTABLE_CODE_OBJECT_LOADS, undefined],
  ...[EXECUTABLE_EXPORTS, EXECUTABLE_FUNCTIONS].map((layout) =>
    rowsOf(layout, (record) => ({
      ...fieldCells(layout, record),
      ...hashCells('pipeline_hash', record.flags, record.pipelineHash),
    })),
  ),
  rowsOf(COMMAND_BUFFER_OPERATIONS, (record, profile) => {
    const { op_value: _, ...cells } = fieldCells(COMMAND_BUFFER_OPERATIONS, record);
    const block_structure = (record.flags & COMMAND_OPERATION_FLAG.blockStructure) !== 0;
    return { ...cells, key: operationKey(profile, record), block_structure };
  }),
  rowsOf(CLOCK_CORRELATIONS, (record) => ({
    ...fieldCells(CLOCK_CORRELATIONS, record),
    device_tick_domain: 'device_tick',
    host_cpu_timestamp_domain: 'driver_host_cpu_timestamp_ns',
    host_system_timestamp_domain: 'driver_host_system_timestamp',
    ...HOST_TIME,
    host_time_uncertainty_ns: uncertainty(record.hostTimeBeginNs, record.hostTimeEndNs),
  })),
  rowsOf(DISPATCH_EVENTS, (record, profile, { physicalDeviceOrdinal, queueOrdinal, streamId }) => ({
    physical_device_ordinal: physicalDeviceOrdinal,
    queue_ordinal: queueOrdinal,
    stream_id: streamId,
    ...fieldCells(DISPATCH_EVENTS, record),
    key: profile.keyOf(record.executableId, record.exportOrdinal, physicalDeviceOrdinal),
    ...deviceTimeCells(profile, physicalDeviceOrdinal, record.startTick, record.endTick),
  })),
  rowsOf(QUEUE_EVENTS, (record) => ({ ...eventCells(QUEUE_EVENTS, record), ...HOST_TIME })),
  rowsOf(QUEUE_DEVICE_EVENTS, (record, profile) => ({
    ...eventCells(QUEUE_DEVICE_EVENTS, record),
    ...deviceTimeCells(profile, record.physicalDeviceOrdinal, record.startTick, record.endTick),
  })),
  rowsOf(HOST_EXECUTION_EVENTS, (record, profile) => ({
    ...eventCells(HOST_EXECUTION_EVENTS, record),
    key:
      record.executableId === 0n
        ? null
        : profile.keyOf(record.executableId, record.exportOrdinal, record.physicalDeviceOrdinal),
    ...hostTimeCells(record.startHostTimeNs, record.endHostTimeNs),
  })),
  rowsOf(COMMAND_REGION_EVENTS, regionCells),
  rowsOf(MEMORY_EVENT_RECORDS, memoryEventCells),
  rowsOf(COUNTER_SAMPLES, (record, profile) => {
    const hasTicks = (record.flags & COUNTER_SAMPLE_FLAG.deviceTicks) !== 0;
    const [start, end] = hasTicks ? [record.startTick, record.endTick] : [0n, 0n];
    const { valid, ...time } = deviceTimeCells(profile, record.physicalDeviceOrdinal, start, end);
    const cells = { ...fieldCells(COUNTER_SAMPLES, record), ...time };
    return { ...cells, device_tick_range_present: hasTicks, device_tick_range_valid: valid! };
  }),
  rowsOf(DEVICE_METRIC_DESCRIPTORS, (record) => ({
    ...fieldCells(DEVICE_METRIC_DESCRIPTORS, record),
    builtin: record.metricId < PRODUCER_METRICS,
    producer_specific: record.metricId >= PRODUCER_METRICS,
  })),
  rowsOf(DEVICE_METRIC_SAMPLES, (record, profile) => ({
    ...fieldCells(DEVICE_METRIC_SAMPLES, record),
    ...HOST_TIME,
    host_time_uncertainty_ns: uncertainty(record.hostTimeBeginNs, record.hostTimeEndNs),
    source_timestamp_present: (record.flags & 1) !== 0,
    values: record.values.map((value) => metricCells(profile, record.sourceId, value)),
  })),
  rowsOf(EXECUTABLE_TRACES, (record) => ({
    ...fieldCells(EXECUTABLE_TRACES, record),
    record_length: EXECUTABLE_TRACES.sizeBytes,
    data_length: record.data.length,
  })),
]);

const uncertainty = (begin: bigint, end: bigint): bigint => (end >= begin ? end - begin : 0n);

/** Ids from here on are a producer's own. */
const PRODUCER_METRICS = 1n << 63n;

function metricCells(profile: Profile, sourceId: bigint, { metricId, bits, flags }: MetricValue): Cells {
  const descriptors = profile.all(DEVICE_METRIC_DESCRIPTORS);
  const found = descriptors.find((each) => each.sourceId === sourceId && each.metricId === metricId);
  const kind = METRIC_VALUE_KINDS[found?.valueKind ?? 0];
  const f64 = () => new Float64Array(BigUint64Array.of(bits).buffer)[0]!;
  const value = kind === 'f64' ? f64() : kind === 'i64' ? BigInt.asIntN(64, bits) : kind === 'u64' ? bits : null;
  return {
    metric_id: metricId,
    name: found?.name ?? '',
    unit: METRIC_UNITS[found?.unit ?? 0] ?? 'unknown',
    value_kind: kind ?? 'unknown',
    semantic: METRIC_SEMANTICS[found?.semantic ?? 0] ?? 'unknown',
    plot_hint: METRIC_PLOTS[found?.plotHint ?? 0] ?? 'unknown',
    flags,
    value,
    value_bits: bits,
  };
}

/** Regions of CPU drivers: the tail's numbers are nested. */
function regionCells(record: RecordOf<typeof COMMAND_REGION_EVENTS>): Cells {
  const cells = fieldCells(COMMAND_REGION_EVENTS, record);
  const flat = Object.fromEntries(Object.entries(cells).filter(([key]) => !key.startsWith('tail_')));
  return {
    ...flat,
    ...hostTimeCells(record.startHostTimeNs, record.endHostTimeNs),
    tail_no_work: {
      count: record.tailCount,
      remaining_tiles: {
        min: record.tailRemainingMin,
        max: record.tailRemainingMax,
        bucket_counts: record.tailRemainingBuckets,
      },
      first_start_host_time_ns: record.tailFirstStartHostTimeNs,
      last_end_host_time_ns: record.tailLastEndHostTimeNs,
      time_sums: { start_offset_ns: record.tailStartOffsetSumNs, drain_duration_ns: record.tailDrainDurationSumNs },
    },
  };
}

/** The name of a status that a file has as a number. */
export const statusName = (value: number): string =>
  value === 0 ? 'OK' : (Object.entries(HAL_STATUS).find(([, status]) => status.value === value)?.[0] ?? 'UNKNOWN');

/** One row for each record, and one before them that says what they are; `type` is `record_type` there. */
export function* interchangeRows(profile: Profile): Generator<Cells> {
  yield {
    schema_version: SCHEMA_VERSION,
    record_type: 'schema',
    format: 'ireeperf-jsonl',
    contract: 'schema_versioned_interchange',
    row_key: 'record_type',
    source_format: 'ireeprof',
    source_version_major: BUNDLE_VERSION.major,
    source_version_minor: profile.bundle.versionMinor,
    time_domains: {
      iree_host_time_ns: 'iree_time_now monotonic nanoseconds',
      device_tick: 'raw physical-device timestamp ticks',
      driver_host_cpu_timestamp_ns: 'driver-sampled CPU timestamp nanoseconds',
      driver_host_system_timestamp: 'driver-sampled system timestamp units scaled by host_system_frequency_hz',
      device_tick_duration_ns: 'duration nanoseconds derived from device_tick clock fit',
    },
    clock_fit: { basis: 'first_last_clock_correlation', rounding: 'nearest_integer_nanosecond' },
  };
  for (const part of profile.parts) {
    for (const { type, ...cells } of partRows(profile, part)) {
      yield { schema_version: SCHEMA_VERSION, record_type: type, source_record_index: part.index, ...cells };
    }
  }
}

/** Keys of exports by what IREE calls them since May 2026. */
const FUNCTION_KEYS: Readonly<Record<string, string>> = {
  export_ordinal: 'function_ordinal',
  export_count: 'function_count',
  pipeline_hash_present: 'function_hash_present',
  pipeline_hash: 'function_hash',
};

/**
 * Rows for renderers of before and after May 2026, when exports became functions while the schema kept its
 * number: numbers of exports stand there by both names, and exports are rows of two types.
 */
export function* withFunctionNames(rows: Iterable<Cells>): Generator<Cells> {
  for (const row of rows) {
    const renamed = Object.entries(row).map<readonly [string, ReportCell]>(([key, cell]) => [
      FUNCTION_KEYS[key] ?? key,
      cell,
    ]);
    if (row['record_type'] === 'executable_export') {
      yield row;
      yield { ...Object.fromEntries(renamed), record_type: 'executable_function' };
    } else yield { ...row, ...Object.fromEntries(renamed.filter(([key]) => !(key in row))) };
  }
}

function* partRows(profile: Profile, part: BundleRecord): Generator<ReportRow> {
  const { type, contentType, isTruncated, droppedCount, sessionStatus } = part;
  const diagnostic = (severity: string, category: string, message: string): ReportRow => ({
    type: 'diagnostic',
    severity,
    category,
    content_type: fullContentType(contentType),
    message,
  });
  if (type === undefined) {
    yield diagnostic('warning', 'unknown_record', 'unknown profile file record type');
    return;
  }
  if (type !== 'chunk') {
    yield {
      type: 'session',
      event: type === 'session-begin' ? 'begin' : 'end',
      session_id: part.sessionId,
      stream_id: part.streamId,
      event_id: part.eventId,
      session_status_code: sessionStatus,
      session_status: statusName(sessionStatus),
    };
    return;
  }
  if (isTruncated) {
    const lost = diagnostic('error', 'truncated_chunk', 'chunk was marked truncated by the producer');
    yield { ...lost, dropped_records: droppedCount };
  }
  const layout = RECORD_LAYOUTS.get(contentType);
  // Files that call exports functions, too, tell of them twice.
  if (layout === EXECUTABLE_FUNCTIONS && profile.count(EXECUTABLE_EXPORTS).chunks > 0) return;
  if (layout === undefined) {
    if (!isKnownChunk(part)) yield diagnostic('warning', 'unknown_chunk', 'unknown profile chunk content type');
    return;
  }
  const make = MAKERS.has(layout) ? MAKERS.get(layout) : plainRows(layout);
  for (const cells of make?.(profile, part) ?? []) yield { type: layout.rowType, ...cells };
}

const plainRows = (layout: RecordLayout): RowMaker => rowsOf(layout, (record) => fieldCells(layout, record))[1];
