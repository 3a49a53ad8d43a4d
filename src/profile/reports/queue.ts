/** `profile queue`: operations of queues, what they waited for, and how long they took. */
import { matchesGlob } from '../../base/glob.ts';
import type { ClockFit } from '../clock-fit.ts';
import { DEPENDENCY_STRATEGIES, QUEUE_OPERATIONS } from '../format/names.ts';
import type { RecordOf } from '../format/record-layout.ts';
import { HOST_EXECUTION_EVENTS, QUEUE_DEVICE_EVENTS, QUEUE_EVENTS } from '../format/records.ts';
import { areValidTicks, type Profile } from '../profile.ts';
import {
  DEVICE_DISPATCHES,
  groupDispatches,
  HOST_DISPATCHES,
  type HostExecutionRecord,
  isValidHostTime,
  matchDispatches,
  type ReportFilter,
} from './groups.ts';
import { type Columns, type ReportRow, rounded } from './rows.ts';
import type { Totals } from './totals.ts';

export const QUEUE_COLUMNS: Columns = {
  queue: ['physical_device_ordinal', 'queue_ordinal', 'stream_id'],
  queue_submission: ['submission_id', 'queue_ordinal', 'dispatches', 'span_ns', 'total_dispatch_ns'],
  queue_device_event: ['event_id', 'submission_id', 'op', 'queue_ordinal', 'operation_count', 'duration_ns'],
  host_execution_event: ['event_id', 'submission_id', 'op', 'queue_ordinal', 'payload_length', 'duration_ns'],
  queue_event: [
    'event_id',
    'submission_id',
    'op',
    'queue_ordinal',
    'dependency_strategy',
    'wait_count',
    'signal_count',
    'payload_length',
    'host_time_ns',
    'ready_host_time_ns',
  ],
};

/** From the first kernel's begin to the last one's end. */
export const spanCells = (totals: Totals, fit: ClockFit | undefined) => ({
  dispatches: totals.count,
  valid: totals.valid,
  invalid: totals.invalid,
  span_ticks: Number(totals.span),
  total_dispatch_ticks: totals.total,
  clock_fit_available: fit !== undefined,
  total_dispatch_time_ns_available: fit !== undefined,
  span_ns: rounded(Number(totals.span) * (fit?.nsPerTick ?? 0)),
  total_dispatch_ns: fit?.durationNs(totals.total) ?? 0n,
});

/** An event of a queue, whoever it is of. */
interface QueuedEvent {
  readonly type: number;
  readonly submissionId: bigint;
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  readonly streamId: bigint;
}

const opOf = ({ type }: QueuedEvent): string => QUEUE_OPERATIONS[type] ?? 'unknown';

const placeCells = ({ physicalDeviceOrdinal, queueOrdinal, streamId }: Omit<QueuedEvent, 'type'>) => ({
  physical_device_ordinal: physicalDeviceOrdinal,
  queue_ordinal: queueOrdinal,
  stream_id: streamId,
});

export function queueRows(profile: Profile, filter: ReportFilter): ReportRow[] {
  const { id, glob } = filter;
  const onDevice = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'submissionId');
  const onHost = matchDispatches(profile, HOST_DISPATCHES, filter, 'submissionId');
  const submissions = groupDispatches(
    DEVICE_DISPATCHES,
    onDevice.matched,
    (each) => `${each.submissionId} ${each.streamId}`,
  );
  const hostExecutions = groupDispatches(
    HOST_DISPATCHES,
    onHost.matched.filter(({ commandBufferId }) => commandBufferId !== 0n),
    (each) => `${each.commandBufferId} ${each.submissionId} ${each.streamId}`,
  );
  const isChosen = (event: QueuedEvent): boolean =>
    (id === undefined || event.submissionId === id) && matchesGlob(opOf(event), glob);
  const events = profile.all(QUEUE_EVENTS).filter(isChosen);
  const deviceEvents = profile.all(QUEUE_DEVICE_EVENTS).filter(isChosen);
  const hostEvents = profile.all(HOST_EXECUTION_EVENTS).filter(isChosen);
  const { truncatedChunks, droppedRecords } = profile.losses(QUEUE_EVENTS, QUEUE_DEVICE_EVENTS, HOST_EXECUTION_EVENTS);
  const summary: ReportRow = {
    type: 'queue_summary',
    filter: glob,
    queues: profile.queues.length,
    queue_events: events.length,
    queue_device_events: deviceEvents.length,
    host_execution_events: hostEvents.length,
    truncated_chunks: truncatedChunks,
    dropped_records: droppedRecords,
    submissions: submissions.length,
    matched_dispatches: onDevice.matched.length,
    valid_dispatches: onDevice.valid,
    invalid_dispatches: onDevice.invalid,
    matched_host_dispatches: onHost.matched.length,
    valid_host_dispatches: onHost.valid,
    invalid_host_dispatches: onHost.invalid,
    host_command_executions: hostExecutions.length,
  };
  return [
    summary,
    ...profile.queues.map((queue) => ({ type: 'queue', ...placeCells({ ...queue, submissionId: 0n }) })),
    ...submissions.map(({ first, totals }) => ({
      type: 'queue_submission',
      submission_id: first.submissionId,
      ...placeCells(first),
      ...spanCells(totals, profile.clockFit(first.physicalDeviceOrdinal)),
    })),
    ...deviceEvents.map((event) => deviceEventRow(profile, event)),
    ...hostEvents.map(hostEventRow),
    ...events.map(eventRow),
  ];
}

type DeviceEvent = RecordOf<typeof QUEUE_DEVICE_EVENTS>;
type HostEvent = HostExecutionRecord;
type Event = RecordOf<typeof QUEUE_EVENTS>;

function deviceEventRow(profile: Profile, event: DeviceEvent): ReportRow {
  const isValid = areValidTicks(event.startTick, event.endTick);
  const ticks = isValid ? event.endTick - event.startTick : 0n;
  const fit = profile.clockFit(event.physicalDeviceOrdinal);
  return {
    type: 'queue_device_event',
    event_id: event.eventId,
    op: opOf(event),
    flags: event.flags,
    submission_id: event.submissionId,
    command_buffer_id: event.commandBufferId,
    allocation_id: event.allocationId,
    ...placeCells(event),
    operation_count: event.operationCount,
    payload_length: event.payloadLength,
    start_tick: event.startTick,
    end_tick: event.endTick,
    duration_ticks: ticks,
    valid: isValid,
    clock_fit_available: fit !== undefined,
    duration_ns: fit?.durationNs(ticks) ?? 0n,
  };
}

function hostEventRow(event: HostEvent): ReportRow {
  const { startHostTimeNs, endHostTimeNs } = event;
  const isValid = isValidHostTime(startHostTimeNs, endHostTimeNs);
  return {
    type: 'host_execution_event',
    event_id: event.eventId,
    op: opOf(event),
    flags: event.flags,
    status_code: event.statusCode,
    submission_id: event.submissionId,
    command_buffer_id: event.commandBufferId,
    command_index: event.commandIndex,
    executable_id: event.executableId,
    export_ordinal: event.exportOrdinal,
    allocation_id: event.allocationId,
    ...placeCells(event),
    operation_count: event.operationCount,
    payload_length: event.payloadLength,
    tile_count: event.tileCount,
    tile_duration_sum_ns: event.tileDurationSumNs,
    host_time_domain: 'iree_host_time_ns',
    start_host_time_ns: startHostTimeNs,
    end_host_time_ns: endHostTimeNs,
    duration_ns: isValid ? endHostTimeNs - startHostTimeNs : 0n,
    valid: isValid,
  };
}

const eventRow = (event: Event): ReportRow => ({
  type: 'queue_event',
  event_id: event.eventId,
  op: opOf(event),
  flags: event.flags,
  dependency_strategy: DEPENDENCY_STRATEGIES[event.dependencyStrategy] ?? 'unknown',
  submission_id: event.submissionId,
  command_buffer_id: event.commandBufferId,
  allocation_id: event.allocationId,
  ...placeCells(event),
  host_time_ns: event.hostTimeNs,
  ready_host_time_ns: event.readyHostTimeNs,
  host_time_domain: 'iree_host_time_ns',
  wait_count: event.waitCount,
  signal_count: event.signalCount,
  barrier_count: event.barrierCount,
  operation_count: event.operationCount,
  payload_length: event.payloadLength,
});
