/** `profile summary`: what is in a file, and how far its clocks go together. */
import type { RecordLayout } from '../format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  CLOCK_FLAG,
  COMMAND_REGION_EVENTS,
  DEVICE_METRIC_SAMPLES,
  DISPATCH_EVENTS,
  EXECUTABLE_CODE_OBJECTS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLE_TRACES,
  HOST_EXECUTION_EVENTS,
  RECORD_LAYOUTS,
} from '../format/records.ts';
import { isKnownChunk, type Profile } from '../profile.ts';
import { isValidHostTime } from './groups.ts';
import { statusName } from './interchange.ts';
import { type ReportCell, type ReportRow, rounded } from './rows.ts';
import { Totals } from './totals.ts';

/** Layouts whose records are told nowhere but in the rows of devices, or as chunks alone. */
const CHUNKS_ONLY: ReadonlySet<string> = new Set([
  'devices',
  'queues',
  CLOCK_CORRELATIONS.contentType,
  DISPATCH_EVENTS.contentType,
]);

export function summaryRows(profile: Profile): ReportRow[] {
  const { parts } = profile;
  const ofType = (type: string | undefined) => parts.filter((part) => part.type === type);
  const ends = ofType('session-end');
  const failed = ends.filter(({ sessionStatus }) => sessionStatus !== 0);
  const { truncatedChunks, droppedRecords } = profile.losses();
  const summary: ReportRow = {
    type: 'summary',
    file_records: parts.length,
    session_begin_records: ofType('session-begin').length,
    chunk_records: ofType('chunk').length,
    session_end_records: ends.length,
    non_ok_session_end_records: failed.length,
    unknown_records: ofType(undefined).length,
    ...(failed[0] !== undefined && {
      first_non_ok_session_id: failed[0].sessionId,
      first_non_ok_stream_id: failed[0].streamId,
      first_non_ok_event_id: failed[0].eventId,
      first_non_ok_status_code: failed[0].sessionStatus,
      first_non_ok_status: statusName(failed[0].sessionStatus),
    }),
    ...chunkCells(profile),
    unknown_chunks: ofType('chunk').filter((part) => !isKnownChunk(part)).length,
    truncated_chunks: truncatedChunks,
    dropped_records: droppedRecords,
  };
  const ordinals = new Set([
    ...profile.devices.map(({ physicalDeviceOrdinal }) => physicalDeviceOrdinal),
    ...profile.dispatches.map(({ physicalDeviceOrdinal }) => physicalDeviceOrdinal),
  ]);
  return [summary, ...[...ordinals].map((ordinal) => deviceRow(profile, ordinal))];
}

/** Chunks and records of each content type, and what some of them add up to. */
function chunkCells(profile: Profile): Record<string, ReportCell> {
  const cells: Record<string, ReportCell> = {};
  for (const layout of RECORD_LAYOUTS.values()) {
    // Exports come twice, or by the name of today alone.
    if (layout === EXECUTABLE_FUNCTIONS) continue;
    const isRenamed = layout === EXECUTABLE_EXPORTS && profile.count(layout).chunks === 0;
    const { chunks, records } = profile.count(isRenamed ? EXECUTABLE_FUNCTIONS : layout);
    cells[`${layout.rowType}_chunks`] = chunks;
    if (!CHUNKS_ONLY.has(layout.contentType)) cells[`${layout.rowType}_records`] = records;
    Object.assign(cells, moreCells(profile, layout));
  }
  return cells;
}

function moreCells(profile: Profile, layout: RecordLayout): Record<string, ReportCell> {
  const bytes = (of: readonly Uint8Array[]): number => of.reduce((sum, { length }) => sum + length, 0);
  switch (layout) {
    case EXECUTABLE_CODE_OBJECTS:
      return {
        executable_code_object_data_bytes: bytes(profile.all(EXECUTABLE_CODE_OBJECTS).map(({ image }) => image)),
      };
    case EXECUTABLE_TRACES:
      return { executable_trace_data_bytes: bytes(profile.all(EXECUTABLE_TRACES).map(({ data }) => data)) };
    case HOST_EXECUTION_EVENTS:
      return hostTotals('host_execution', profile.all(HOST_EXECUTION_EVENTS));
    case COMMAND_REGION_EVENTS:
      return hostTotals('command_region', profile.all(COMMAND_REGION_EVENTS));
    case DEVICE_METRIC_SAMPLES: {
      const samples = profile.all(DEVICE_METRIC_SAMPLES);
      return {
        device_metric_values: samples.reduce((sum, { values }) => sum + values.length, 0),
        invalid_device_metric_sample_records: invalidSamples(samples),
      };
    }
    default:
      return {};
  }
}

const invalidSamples = (samples: readonly { hostTimeBeginNs: bigint; hostTimeEndNs: bigint }[]): number =>
  samples.filter(({ hostTimeBeginNs, hostTimeEndNs }) => hostTimeEndNs < hostTimeBeginNs).length;

function hostTotals(name: string, events: readonly { startHostTimeNs: bigint; endHostTimeNs: bigint }[]) {
  const totals = new Totals();
  for (const { startHostTimeNs: start, endHostTimeNs: end } of events)
    totals.add(start, end, isValidHostTime(start, end));
  return { [`invalid_${name}_event_records`]: totals.invalid, [`total_${name}_duration_ns`]: totals.total };
}

function deviceRow(profile: Profile, ordinal: number): ReportRow {
  const isIts = ({ physicalDeviceOrdinal }: { readonly physicalDeviceOrdinal: number }) =>
    physicalDeviceOrdinal === ordinal;
  const devices = profile.devices.filter(isIts);
  const clocks = profile.clocks.get(ordinal) ?? [];
  const uncertainties = clocks.map(({ hostTimeBeginNs, hostTimeEndNs }) => hostTimeEndNs - hostTimeBeginNs);
  const fit = profile.clockFit(ordinal);
  const totals = new Totals();
  for (const dispatch of profile.dispatches.filter(isIts)) totals.addTicks(dispatch);
  const hasTimes = fit !== undefined && totals.valid > 0;
  const isCovered = hasTimes && totals.earliest >= fit.first.deviceTick && totals.latest <= fit.last.deviceTick;
  const samples = profile.all(DEVICE_METRIC_SAMPLES).filter(isIts);
  return {
    type: 'device_summary',
    physical_device_ordinal: ordinal,
    device_records: devices.length,
    queue_records: profile.queues.filter(isIts).length,
    queues: devices.at(-1)?.queueCount ?? 0,
    clock_samples: clocks.length,
    invalid_clock_alignment_samples: clocks.filter(({ flags }) => (flags & CLOCK_FLAG.deviceTickUnaligned) !== 0)
      .length,
    clock_fit_available: fit !== undefined,
    ns_per_tick: rounded(fit?.nsPerTick ?? 0, 9),
    tick_frequency_hz: rounded(fit?.ticksPerSecond ?? 0),
    min_clock_uncertainty_ns: uncertainties.reduce((low, each) => (each < low ? each : low), uncertainties[0] ?? 0n),
    max_clock_uncertainty_ns: uncertainties.reduce((high, each) => (each > high ? each : high), 0n),
    dispatches: totals.count,
    valid_dispatches: totals.valid,
    invalid_dispatches: totals.invalid,
    min_dispatch_ticks: totals.min,
    avg_dispatch_ticks: rounded(totals.valid === 0 ? 0 : Number(totals.total) / totals.valid),
    max_dispatch_ticks: totals.max,
    total_dispatch_ticks: totals.total,
    earliest_dispatch_start_tick: totals.earliest,
    latest_dispatch_end_tick: totals.latest,
    dispatch_ticks_covered_by_clock_samples: isCovered,
    dispatch_time_available: hasTimes,
    min_dispatch_ns: hasTimes ? fit.durationNs(totals.min) : 0n,
    avg_dispatch_ns: rounded(hasTimes ? (Number(totals.total) / totals.valid) * fit.nsPerTick : 0),
    max_dispatch_ns: hasTimes ? fit.durationNs(totals.max) : 0n,
    total_dispatch_ns: hasTimes ? fit.durationNs(totals.total) : 0n,
    device_metric_samples: samples.length,
    device_metric_values: samples.reduce((sum, { values }) => sum + values.length, 0),
    invalid_device_metric_samples: invalidSamples(samples),
  };
}
