/**
 * `profile statistics`: durations and bytes added up by what they are of, which IREE's tools also print at
 * the end of a run.
 */
import { MEMORY_EVENTS, QUEUE_OPERATIONS } from '../format/names.ts';
import { NO_ORDINAL, type RecordLayout, type RecordOf } from '../format/record-layout.ts';
import {
  DISPATCH_EVENTS,
  HOST_EXECUTION_EVENTS,
  MEMORY_EVENT_RECORDS,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
} from '../format/records.ts';
import type { PlacedDispatch, Profile } from '../profile.ts';
import { type HostExecutionRecord, isValidHostTime } from './groups.ts';
import type { ReportRow } from './rows.ts';
import { Totals } from './totals.ts';

/** By their numbers in rows, from 1 on. */
const ROW_TYPES = [
  'dispatch_export',
  'dispatch_command_buffer',
  'dispatch_command_operation',
  'queue_device_operation',
  'queue_host_operation',
  'host_execution_export',
  'host_execution_command_buffer',
  'host_execution_command_operation',
  'host_execution_queue_operation',
  'memory_lifecycle',
] as const;
type RowType = (typeof ROW_TYPES)[number];

/** Of times, by their numbers in rows. */
const DOMAINS = [
  { name: 'none', unit: 'none' },
  { name: 'device_tick', unit: 'device_tick' },
  { name: 'iree_host_time_ns', unit: 'ns' },
] as const;
const [NO_TIME, DEVICE_TIME, HOST_TIME] = [0, 1, 2];

const FLAG = { timing: 1, payloadBytes: 2, operationCount: 4, tileTotals: 8 } as const;

/** What samples of one row have in common. */
interface Key {
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  readonly eventType: number;
  readonly executableId: bigint;
  readonly commandBufferId: bigint;
  readonly exportOrdinal: number;
  readonly commandIndex: number;
}

const NO_KEY: Key = {
  physicalDeviceOrdinal: NO_ORDINAL,
  queueOrdinal: NO_ORDINAL,
  eventType: 0,
  executableId: 0n,
  commandBufferId: 0n,
  exportOrdinal: NO_ORDINAL,
  commandIndex: NO_ORDINAL,
};

/** What one record says; there is no time where begin and end are not in order. */
interface Sample {
  readonly time?: readonly [start: bigint, end: bigint] | undefined;
  readonly operations?: number;
  readonly bytes?: bigint;
  readonly tiles?: bigint;
  readonly tileNs?: bigint;
}

type KeyedSample = readonly [type: RowType, domain: number, key: Partial<Key>, sample: Sample];

interface Aggregate {
  readonly type: RowType;
  readonly domain: number;
  readonly key: Key;
  readonly totals: Totals;
  operations: number;
  bytes: bigint;
  tiles: bigint;
  tileNs: bigint;
}

const ticks = ({ startTick, endTick }: { readonly startTick: bigint; readonly endTick: bigint }): Sample['time'] =>
  startTick !== 0n && endTick >= startTick ? [startTick, endTick] : undefined;
const hostTime = (start: bigint, end: bigint): Sample['time'] =>
  isValidHostTime(start, end) ? [start, end] : undefined;

interface OperationRecord {
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  readonly type: number;
  readonly commandBufferId: bigint;
}
const operationKey = ({ type, physicalDeviceOrdinal, queueOrdinal, commandBufferId }: OperationRecord) => ({
  physicalDeviceOrdinal,
  queueOrdinal,
  commandBufferId,
  eventType: type,
});

/** A run of a kernel counts for the kernel, its command buffer, and its command there. */
function runSamples(
  who: 'dispatch' | 'host_execution',
  { physicalDeviceOrdinal, queueOrdinal, ...of }: PlacedDispatch | HostExecutionRecord,
  sample: Sample,
): KeyedSample[] {
  const domain = who === 'dispatch' ? DEVICE_TIME : HOST_TIME;
  const place = { physicalDeviceOrdinal, queueOrdinal };
  const { executableId, exportOrdinal, commandBufferId, commandIndex } = of;
  const found: KeyedSample[] = [];
  if (executableId !== 0n && exportOrdinal !== NO_ORDINAL) {
    found.push([`${who}_export`, domain, { ...place, executableId, exportOrdinal }, sample]);
  }
  if (commandBufferId === 0n) return found;
  found.push([`${who}_command_buffer`, domain, { ...place, commandBufferId }, sample]);
  if (commandIndex === NO_ORDINAL) return found;
  const command = { ...place, executableId, commandBufferId, exportOrdinal, commandIndex };
  found.push([`${who}_command_operation`, domain, command, sample]);
  return found;
}

type Part = Profile['parts'][number];
type Sampler = (part: Part) => Iterable<readonly KeyedSample[]>;

const sampler = <Layout extends RecordLayout>(
  layout: Layout,
  samples: (record: RecordOf<Layout>, part: Part) => readonly KeyedSample[],
): readonly [string, Sampler] => [
  layout.contentType,
  function* (part) {
    for (const record of layout.decode(part.payload, part.payloadOffset)) yield samples(record, part);
  },
];

const SAMPLERS: ReadonlyMap<string, Sampler> = new Map([
  sampler(DISPATCH_EVENTS, (event, { physicalDeviceOrdinal, queueOrdinal, streamId }) =>
    runSamples('dispatch', { ...event, physicalDeviceOrdinal, queueOrdinal, streamId }, { time: ticks(event) }),
  ),
  sampler(QUEUE_DEVICE_EVENTS, (event) => {
    const sample = { time: ticks(event), operations: event.operationCount, bytes: event.payloadLength };
    return [['queue_device_operation', DEVICE_TIME, operationKey(event), sample]];
  }),
  sampler(QUEUE_EVENTS, (event) => {
    const time = hostTime(event.hostTimeNs, event.readyHostTimeNs);
    const sample = { time, operations: event.operationCount, bytes: event.payloadLength };
    return [['queue_host_operation', HOST_TIME, operationKey(event), sample]];
  }),
  sampler(HOST_EXECUTION_EVENTS, (event) => {
    const sample = {
      time: hostTime(event.startHostTimeNs, event.endHostTimeNs),
      operations: event.operationCount,
      bytes: event.payloadLength,
      tiles: event.tileCount,
      tileNs: event.tileDurationSumNs > 0n ? event.tileDurationSumNs : 0n,
    };
    return [
      ['host_execution_queue_operation', HOST_TIME, operationKey(event), sample],
      ...runSamples('host_execution', event, sample),
    ];
  }),
  sampler(MEMORY_EVENT_RECORDS, ({ physicalDeviceOrdinal, queueOrdinal, type: eventType, length }) => [
    ['memory_lifecycle', NO_TIME, { physicalDeviceOrdinal, queueOrdinal, eventType }, { bytes: length }],
  ]),
]);

/** In the order in which the file tells of them first. */
function aggregate(profile: Profile): Aggregate[] {
  const found = new Map<string, Aggregate>();
  for (const part of profile.parts) {
    if (part.type !== 'chunk') continue;
    for (const samples of SAMPLERS.get(part.contentType)?.(part) ?? []) {
      for (const [type, domain, of, sample] of samples) {
        const key = { ...NO_KEY, ...of };
        const name = `${type} ${Object.values(key).join(' ')}`;
        const row = found.get(name) ?? { type, domain, key, totals: new Totals(), ...NOTHING };
        found.set(name, row);
        const [start, end] = sample.time ?? [0n, 0n];
        row.totals.add(start, end, sample.time !== undefined);
        row.operations += sample.operations ?? 0;
        row.bytes += sample.bytes ?? 0n;
        row.tiles += sample.tiles ?? 0n;
        row.tileNs += sample.tileNs ?? 0n;
      }
    }
  }
  return [...found.values()];
}

const NOTHING = { operations: 0, bytes: 0n, tiles: 0n, tileNs: 0n };

/** Undefined where nothing says how long a tick is. */
function nsOf(profile: Profile, { domain, key }: Aggregate, duration: bigint): bigint | undefined {
  if (domain === HOST_TIME) return duration;
  return domain === DEVICE_TIME ? profile.clockFit(key.physicalDeviceOrdinal)?.durationNs(duration) : undefined;
}

const hasTiming = ({ totals }: Aggregate): boolean => totals.valid > 0;

/** The name of an operation, or of an event of memory. */
const eventNameOf = ({ type, key }: Aggregate): string | undefined => {
  if (type === 'memory_lifecycle') return MEMORY_EVENTS[key.eventType] ?? 'unknown';
  return type.includes('queue') ? (QUEUE_OPERATIONS[key.eventType] ?? 'unknown') : undefined;
};

export function statisticsRows(profile: Profile): ReportRow[] {
  const rows = aggregate(profile);
  const { droppedRecords } = profile.losses();
  return [
    { type: 'statistics_summary', row_count: rows.length, dropped_record_count: droppedRecords },
    ...rows.map((row) => statisticsRow(profile, row)),
  ];
}

function statisticsRow(profile: Profile, row: Aggregate): ReportRow {
  const { type, domain, key, totals, operations, bytes, tiles, tileNs } = row;
  const isTimed = hasTiming(row);
  const flags =
    (isTimed ? FLAG.timing : 0) |
    (bytes > 0n ? FLAG.payloadBytes : 0) |
    (operations > 0 ? FLAG.operationCount : 0) |
    (tiles > 0n || tileNs > 0n ? FLAG.tileTotals : 0);
  const ns = (duration: bigint) => (isTimed ? (nsOf(profile, row, duration) ?? null) : null);
  return {
    type: 'statistics_row',
    row_type: type,
    row_type_value: ROW_TYPES.indexOf(type) + 1,
    time_domain: DOMAINS[domain]!.name,
    time_domain_value: domain,
    duration_unit: DOMAINS[domain]!.unit,
    flags,
    has_timing: isTimed,
    has_payload_bytes: bytes > 0n,
    has_operation_count: operations > 0,
    has_tile_totals: (flags & FLAG.tileTotals) !== 0,
    physical_device_ordinal: key.physicalDeviceOrdinal,
    queue_ordinal: key.queueOrdinal,
    event_type: key.eventType,
    event_name: eventNameOf(row) ?? null,
    executable_id: key.executableId,
    command_buffer_id: key.commandBufferId,
    export_ordinal: key.exportOrdinal,
    command_index: key.commandIndex,
    export_name: profile.exports.get(`${key.executableId}/${key.exportOrdinal}`)?.name ?? null,
    sample_count: totals.count,
    invalid_sample_count: totals.invalid,
    operation_count: operations,
    payload_bytes: bytes,
    tile_count: tiles,
    tile_duration_sum_ns: tileNs,
    first_start_time: totals.earliest,
    last_end_time: totals.latest,
    total_duration: totals.total,
    minimum_duration: totals.min,
    maximum_duration: totals.max,
    total_duration_ns: ns(totals.total),
    minimum_duration_ns: ns(totals.min),
    maximum_duration_ns: ns(totals.max),
  };
}

const UNITS = [
  [1_000_000n, 'ms'],
  [1_000n, 'us'],
] as const;

function durationText(ns: bigint): string {
  const [unit, name] = UNITS.find(([each]) => ns >= each) ?? [];
  if (unit === undefined) return `${ns} ns`;
  return `${ns / unit}.${(((ns % unit) * 1000n) / unit).toString().padStart(3, '0')} ${name}`;
}

const placeText = ({ key }: Aggregate): string => `p=${key.physicalDeviceOrdinal} q=${key.queueOrdinal}`;

/** What a line of the text begins with; rows of command buffers have none. */
function lineHead(profile: Profile, row: Aggregate): string | undefined {
  const { type, key } = row;
  const place = `${placeText(row)} ${eventNameOf(row)}`;
  const name = profile.exports.get(`${key.executableId}/${key.exportOrdinal}`)?.name;
  const kernel = name ?? `executable=${key.executableId} export=${key.exportOrdinal}`;
  switch (type) {
    case 'dispatch_export':
      return `dispatch ${kernel}`;
    case 'host_execution_export':
      return `host_execute ${kernel}`;
    case 'host_execution_queue_operation':
      return `host_execute_queue ${place}`;
    case 'queue_device_operation':
      return `device_queue ${place}`;
    case 'queue_host_operation':
      return `host_queue ${place}`;
    default:
      return undefined;
  }
}

/** As IREE prints it (iree_hal_profile_statistics_sink_fprint). */
export function statisticsText(profile: Profile): string {
  const rows = aggregate(profile);
  const { droppedRecords } = profile.losses();
  const lines = ['', 'IREE HAL device statistics:'];
  if (rows.length === 0 && droppedRecords === 0n) lines.push('  no profiling records captured');
  else lines.push(`  aggregate_rows=${rows.length}`);
  if (droppedRecords !== 0n) lines.push(`  dropped_records=${droppedRecords}`);
  if (rows.length > 0) {
    const total = (type: RowType): string => {
      const of = rows.filter((row) => row.type === type && hasTiming(row));
      return durationText(of.reduce((sum, row) => sum + (nsOf(profile, row, row.totals.total) ?? 0n), 0n));
    };
    lines.push(`  dispatch_export_total=${total('dispatch_export')}`);
    lines.push(`  host_execution_export_total=${total('host_execution_export')}`);
    lines.push(`  host_execution_queue_total=${total('host_execution_queue_operation')}`);
    lines.push(`  device_queue_total=${total('queue_device_operation')}`);
    lines.push(`  host_queue_ready_total=${total('queue_host_operation')}`);
    const unscaled = rows.filter((row) => hasTiming(row) && nsOf(profile, row, row.totals.total) === undefined);
    if (unscaled.length > 0) lines.push(`  unscaled_timing_rows=${unscaled.length}`);
  }
  for (const row of rows) {
    const line = statisticsLine(profile, row);
    if (line !== undefined) lines.push(`  ${line}`);
  }
  return `${lines.join('\n')}\n`;
}

function statisticsLine(profile: Profile, row: Aggregate): string | undefined {
  const { type, totals, operations, bytes, tiles, tileNs } = row;
  if (type === 'memory_lifecycle')
    return `memory ${placeText(row)} ${eventNameOf(row)} count=${totals.count} bytes=${bytes}`;
  const head = lineHead(profile, row);
  if (head === undefined) return undefined;
  const duration = (of: bigint): string => {
    if (!hasTiming(row)) return '-';
    const ns = nsOf(profile, row, of);
    return ns === undefined ? `${of} ticks` : durationText(ns);
  };
  const tail = [`count=${totals.count}`, `total=${duration(totals.total)}`];
  tail.push(`avg=${duration(totals.total / BigInt(totals.count))}`);
  if (totals.invalid > 0) tail.push(`invalid=${totals.invalid}`);
  const isOfQueue = type.includes('queue');
  if (isOfQueue && operations > 0) tail.push(`operations=${operations}`);
  if (type !== 'dispatch_export' && tiles > 0n) tail.push(`tiles=${tiles} tile_sum=${durationText(tileNs)}`);
  if (isOfQueue && bytes > 0n) tail.push(`payload=${bytes}B`);
  return `${head}  ${tail.join(' ')}`;
}
