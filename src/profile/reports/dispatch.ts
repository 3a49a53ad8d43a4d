/** `profile dispatch`: durations of kernels. */
import type { PlacedDispatch, Profile } from '../profile.ts';
import { areValidTicks } from '../profile.ts';
import {
  DEVICE_DISPATCHES,
  groupDispatches,
  HOST_DISPATCHES,
  type HostExecutionRecord,
  isValidHostTime,
  kernelKey,
  keyOf,
  matchDispatches,
  type ReportFilter,
} from './groups.ts';
import type { Columns, ReportRow } from './rows.ts';
import { hostCells, tickCells } from './totals.ts';

export const DISPATCH_COLUMNS: Columns = {
  dispatch_group: ['key', 'physical_device_ordinal', 'count', 'min_ns', 'avg_ns', 'stddev_ns', 'max_ns', 'total_ns'],
  host_dispatch_group: ['key', 'physical_device_ordinal', 'count', 'min_ns', 'avg_ns', 'max_ns', 'total_ns'],
  dispatch_event: ['event_id', 'submission_id', 'key', 'queue_ordinal', 'workgroup_count', 'start_tick', 'duration_ns'],
  host_dispatch_event: ['event_id', 'submission_id', 'key', 'queue_ordinal', 'start_host_time_ns', 'duration_ns'],
};

/** `withEvents`: each dispatch in place of groups of the same kernel. */
export function dispatchRows(profile: Profile, filter: ReportFilter, withEvents: boolean): ReportRow[] {
  const onDevice = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'eventId');
  const onHost = matchDispatches(profile, HOST_DISPATCHES, filter, 'eventId');
  const groups = withEvents ? [] : groupDispatches(DEVICE_DISPATCHES, onDevice.matched, kernelKey);
  const hostGroups = withEvents ? [] : groupDispatches(HOST_DISPATCHES, onHost.matched, kernelKey);
  const summary: ReportRow = {
    type: 'dispatch_summary',
    mode: withEvents ? 'events' : 'aggregate',
    filter: filter.glob,
    total_dispatches: onDevice.count,
    matched_dispatches: onDevice.matched.length,
    valid_dispatches: onDevice.valid,
    invalid_dispatches: onDevice.invalid,
    aggregate_groups: groups.length,
    total_host_dispatches: onHost.count,
    matched_host_dispatches: onHost.matched.length,
    valid_host_dispatches: onHost.valid,
    invalid_host_dispatches: onHost.invalid,
    host_aggregate_groups: hostGroups.length,
  };
  if (withEvents) {
    const events = onDevice.matched.map((each) => eventRow(profile, each));
    return [...events, ...onHost.matched.map((each) => hostEventRow(profile, each)), summary];
  }
  const last = ({ workgroupCount, workgroupSize }: PlacedDispatch | HostExecutionRecord) => ({
    last_workgroup_count: workgroupCount,
    last_workgroup_size: workgroupSize,
  });
  return [
    summary,
    ...groups.map((group) => ({
      type: 'dispatch_group',
      ...kernelCells(profile, group.first),
      ...countCells(group.totals),
      ...tickCells(group.totals, profile.clockFit(group.first.physicalDeviceOrdinal), true),
      ...last(group.last),
    })),
    ...hostGroups.map((group) => ({
      type: 'host_dispatch_group',
      ...HOST_TIMING,
      ...kernelCells(profile, group.first),
      ...countCells(group.totals),
      ...hostCells(group.totals),
      total_tile_count: group.tileCount,
      total_tile_duration_sum_ns: group.tileDurationNs,
      ...last(group.last),
    })),
  ];
}

/** What rows with times of the host's execution say of them. */
export const HOST_TIMING = {
  timing_source: 'host_execution_event',
  time_domain: 'iree_host_time_ns',
  duration_time_domain: 'iree_host_duration_ns',
} as const;

const countCells = ({
  count,
  valid,
  invalid,
}: {
  readonly count: number;
  readonly valid: number;
  readonly invalid: number;
}) => ({
  count,
  valid,
  invalid,
});

export const kernelCells = (profile: Profile, of: PlacedDispatch | HostExecutionRecord) => ({
  physical_device_ordinal: of.physicalDeviceOrdinal,
  executable_id: of.executableId,
  export_ordinal: of.exportOrdinal,
  key: keyOf(profile, of),
});

const placeCells = (of: PlacedDispatch | HostExecutionRecord) => ({
  physical_device_ordinal: of.physicalDeviceOrdinal,
  queue_ordinal: of.queueOrdinal,
  stream_id: of.streamId,
  event_id: of.eventId,
  submission_id: of.submissionId,
  command_buffer_id: of.commandBufferId,
  command_index: of.commandIndex,
  executable_id: of.executableId,
  export_ordinal: of.exportOrdinal,
});

function eventRow(profile: Profile, event: PlacedDispatch): ReportRow {
  const { startTick, endTick, flags, workgroupCount, workgroupSize, physicalDeviceOrdinal } = event;
  const isValid = areValidTicks(startTick, endTick);
  const fit = profile.clockFit(physicalDeviceOrdinal);
  const ticks = isValid ? endTick - startTick : 0n;
  return {
    type: 'dispatch_event',
    ...placeCells(event),
    key: keyOf(profile, event),
    flags,
    workgroup_count: workgroupCount,
    workgroup_size: workgroupSize,
    start_tick: startTick,
    end_tick: endTick,
    duration_ticks: ticks,
    valid: isValid,
    clock_fit_available: fit !== undefined,
    device_tick_domain: 'device_tick',
    duration_time_domain: 'device_tick_duration_ns',
    duration_ns: fit?.durationNs(ticks) ?? 0n,
  };
}

function hostEventRow(profile: Profile, event: HostExecutionRecord): ReportRow {
  const { startHostTimeNs, endHostTimeNs, flags, statusCode, workgroupCount, workgroupSize } = event;
  const isValid = isValidHostTime(startHostTimeNs, endHostTimeNs);
  return {
    type: 'host_dispatch_event',
    ...HOST_TIMING,
    ...placeCells(event),
    key: keyOf(profile, event),
    flags,
    status_code: statusCode,
    workgroup_count: workgroupCount,
    workgroup_size: workgroupSize,
    start_host_time_ns: startHostTimeNs,
    end_host_time_ns: endHostTimeNs,
    duration_ns: isValid ? endHostTimeNs - startHostTimeNs : 0n,
    valid: isValid,
    tile_count: event.tileCount,
    tile_duration_sum_ns: event.tileDurationSumNs,
  };
}
