/**
 * `profile explain`: where time goes, and what to look at. The rows are iree-profile's; where instructions
 * were counted, `explain_top_instruction` and hints about them are ours.
 */
import { matchesGlob } from '../../base/glob.ts';
import { hex } from '../../base/text.ts';
import { type CountedInstruction, countedKernels, type KernelInstructions } from '../counted-kernels.ts';
import { DEPENDENCY_STRATEGIES, numberOf, QUEUE_OPERATIONS } from '../format/names.ts';
import type { RecordOf } from '../format/record-layout.ts';
import { MEMORY_EVENT_RECORDS, QUEUE_EVENTS, type QUEUES } from '../format/records.ts';
import { areValidTicks, type PlacedDispatch, type Profile } from '../profile.ts';
import {
  DEVICE_DISPATCHES,
  type DispatchGroup,
  groupDispatches,
  HOST_DISPATCHES,
  type HostExecutionRecord,
  isValidHostTime,
  kernelKey,
  keyOf,
  type MatchedDispatches,
  matchDispatches,
  type ReportFilter,
} from './groups.ts';
import { memoryRows } from './memory.ts';
import { type Columns, type ReportRow, rounded } from './rows.ts';
import { summaryRows } from './summary.ts';

const TOP_EXPORTS = 10;
const TOP_DISPATCHES = 8;
const TOP_INSTRUCTIONS = 10;
/** A share of lanes, of a cache line, of cycles below which a hint is given. */
const POOR_SHARE = 0.5;

export const EXPLAIN_COLUMNS: Columns = {
  explain_top_export: ['rank', 'key', 'dispatches', 'total_ticks', 'max_ticks', 'total_ns', 'avg_ns', 'max_ns'],
  explain_top_dispatch: ['rank', 'key', 'event_id', 'submission_id', 'queue_ordinal', 'duration_ticks', 'duration_ns'],
  explain_top_instruction: [
    ...['rank', 'key', 'source', 'address', 'instruction', 'waves', 'share', 'lane_share'],
    ...['segments_per_access', 'bank_conflict_cycles'],
  ],
  explain_hint: ['severity', 'category', 'message'],
};

export function explainRows(profile: Profile, filter: ReportFilter): ReportRow[] {
  const onDevice = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'eventId');
  const onHost = matchDispatches(profile, HOST_DISPATCHES, filter, 'eventId');
  const { matched } = onDevice;
  const valid = matched.filter(({ startTick, endTick }) => areValidTicks(startTick, endTick));
  const operations = profile.all(QUEUE_EVENTS);
  const memory = memoryRows(profile, { glob: '*', id: undefined }).filter(({ type }) => type === 'memory_device');
  const summary = summaryOf(profile, onDevice, onHost, operations.length);
  const isHost = isTimedByHost(onDevice, onHost);
  return [
    summary,
    ...profile.devices.map(({ physicalDeviceOrdinal }) => deviceRow(profile, physicalDeviceOrdinal, valid)),
    ...profile.queues.map((queue) => queueRow(profile, queue, matched, operations.length > 0)),
    ...(isHost ? topHostExports(profile, onHost.matched) : topExports(profile, matched)),
    ...(isHost ? topHostDispatches(profile, onHost.matched) : topDispatches(profile, valid)),
    operationsRow(operations),
    ...memory.map(pressureRow),
    ...hints(summary, memory).map(hintRow),
    ...instructionRows(profile, filter),
  ];
}

/** Where no device tells of times of kernels, those of the host stand in their place. */
const isTimedByHost = (
  onDevice: MatchedDispatches<PlacedDispatch>,
  onHost: MatchedDispatches<HostExecutionRecord>,
): boolean => onDevice.valid === 0 && onHost.valid > 0;

/** What the summary of the file says, too. */
const FILE_CELLS = [
  ...['file_records', 'chunk_records', 'unknown_records', 'unknown_chunks', 'truncated_chunks', 'dropped_records'],
  'non_ok_session_end_records',
];

function summaryOf(
  profile: Profile,
  onDevice: MatchedDispatches<PlacedDispatch>,
  onHost: MatchedDispatches<HostExecutionRecord>,
  eventCount: number,
): ReportRow {
  const [file] = summaryRows(profile);
  const failure = Object.entries(file!).filter(([name]) => /^first_non_ok_/.test(name));
  return {
    type: 'explain_summary',
    ...Object.fromEntries(FILE_CELLS.map((name) => [name, file![name]!])),
    dispatches: onDevice.matched.length,
    valid_dispatches: onDevice.valid,
    invalid_dispatches: onDevice.invalid,
    host_dispatches: onHost.matched.length,
    valid_host_dispatches: onHost.valid,
    invalid_host_dispatches: onHost.invalid,
    queues: profile.queues.length,
    queue_events: eventCount,
    command_buffers: profile.commandBuffers.size,
    command_operations: profile.operations.length,
    memory_events: profile.all(MEMORY_EVENT_RECORDS).length,
    ...Object.fromEntries(failure),
  };
}

const durationOf = ({ startTick, endTick }: PlacedDispatch): bigint => endTick - startTick;
const sumOf = (values: readonly bigint[]): bigint => values.reduce((sum, each) => sum + each, 0n);

function deviceRow(profile: Profile, ordinal: number, valid: readonly PlacedDispatch[]): ReportRow {
  const own = valid.filter(({ physicalDeviceOrdinal }) => physicalDeviceOrdinal === ordinal);
  const fit = profile.clockFit(ordinal);
  const span = spanOf(own);
  const active = sumOf(own.map(durationOf));
  const hasTimes = fit !== undefined && active > 0n;
  return {
    type: 'explain_device',
    physical_device_ordinal: ordinal,
    clock_fit_available: fit !== undefined,
    clock_samples: profile.clocks.get(ordinal)?.length ?? 0,
    visible_span_ticks: span,
    active_dispatch_ticks: active,
    active_over_visible: rounded(span > 0n ? Number(active) / Number(span) : 0, 6),
    tick_frequency_hz: rounded(fit?.ticksPerSecond ?? 0),
    visible_span_ns: rounded(Number(span) * (fit?.nsPerTick ?? 0)),
    active_dispatch_time_ns_available: hasTimes,
    active_dispatch_ns: hasTimes ? fit.durationNs(active) : 0n,
  };
}

/** From the first begin to the last end. */
function spanOf(dispatches: readonly PlacedDispatch[]): bigint {
  const [first] = dispatches;
  if (first === undefined) return 0n;
  let { startTick, endTick } = first;
  for (const each of dispatches) {
    if (each.startTick < startTick) startTick = each.startTick;
    if (each.endTick > endTick) endTick = each.endTick;
  }
  return endTick - startTick;
}

function queueRow(
  profile: Profile,
  queue: RecordOf<typeof QUEUES>,
  matched: readonly PlacedDispatch[],
  hasEvents: boolean,
): ReportRow {
  const { physicalDeviceOrdinal, queueOrdinal, streamId } = queue;
  const own = matched.filter(
    (each) => each.physicalDeviceOrdinal === physicalDeviceOrdinal && each.streamId === streamId,
  );
  const groups = groupDispatches(DEVICE_DISPATCHES, own, ({ submissionId }) => `${submissionId}`);
  const valid = groups.filter(({ totals }) => totals.valid > 0);
  const { busy, gaps } = intervalsOf(valid.map(({ totals: { earliest, latest } }) => [earliest, latest]));
  const total = sumOf(groups.map(({ totals }) => totals.total));
  const fit = profile.clockFit(physicalDeviceOrdinal);
  const ns = (ticks: bigint): number => rounded(Number(ticks) * (fit?.nsPerTick ?? 0));
  const told = hasEvents ? gaps : [];
  const longest = told.reduce((most, gap) => (gap > most ? gap : most), 0n);
  const hasTimes = fit !== undefined && valid.length > 0;
  return {
    ...{ type: 'explain_queue', physical_device_ordinal: physicalDeviceOrdinal },
    ...{ queue_ordinal: queueOrdinal, stream_id: streamId },
    submissions: groups.length,
    valid_submissions: valid.length,
    invalid_submissions: groups.filter(({ totals }) => totals.invalid > 0).length,
    ...{ busy_ticks: busy, total_dispatch_ticks: total },
    clock_fit_available: fit !== undefined,
    busy_ns: ns(busy),
    total_dispatch_time_ns_available: hasTimes,
    total_dispatch_ns: hasTimes ? fit.durationNs(total) : 0n,
    gap_analysis_available: hasEvents,
    ...{ gaps: told.length, total_gap_ticks: sumOf(told), max_gap_ticks: longest },
    ...{ total_gap_ns: ns(sumOf(told)), max_gap_ns: ns(longest) },
  };
}

/** How long any of the intervals lasts, and the gaps between them. */
function intervalsOf(intervals: readonly (readonly [bigint, bigint])[]): { busy: bigint; gaps: bigint[] } {
  const sorted = intervals.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const gaps: bigint[] = [];
  let [busy, end] = [0n, sorted[0]?.[0] ?? 0n];
  for (const [start, own] of sorted) {
    if (start > end) gaps.push(start - end);
    const from = start > end ? start : end;
    if (own <= from && start <= end) continue;
    busy += own - from;
    end = own;
  }
  return { busy, gaps };
}

function topExports(profile: Profile, matched: readonly PlacedDispatch[]): ReportRow[] {
  return groupDispatches(DEVICE_DISPATCHES, matched, kernelKey)
    .filter(({ totals }) => totals.valid > 0)
    .toSorted((a, b) => Number(b.totals.total - a.totals.total))
    .slice(0, TOP_EXPORTS)
    .map((group, i) => {
      const { first, totals } = group;
      const fit = profile.clockFit(first.physicalDeviceOrdinal);
      return {
        ...exportCells(profile, group, i),
        ...{ total_ticks: totals.total, max_ticks: totals.max },
        ...{ timing_source: 'device_dispatch_event', duration_ns_available: fit !== undefined },
        total_ns: fit?.durationNs(totals.total) ?? 0n,
        avg_ns: rounded(totals.mean * (fit?.nsPerTick ?? 0)),
        max_ns: fit?.durationNs(totals.max) ?? 0n,
        ...{ total_tile_count: 0n, total_tile_duration_sum_ns: 0n },
      };
    });
}

function topHostExports(profile: Profile, matched: readonly HostExecutionRecord[]): ReportRow[] {
  return groupDispatches(HOST_DISPATCHES, matched, kernelKey)
    .filter(({ totals }) => totals.valid > 0)
    .toSorted((a, b) => Number(b.totals.total - a.totals.total))
    .slice(0, TOP_EXPORTS)
    .map((group, i) => {
      const { totals, tileCount, tileDurationNs } = group;
      return {
        ...exportCells(profile, group, i),
        ...{ total_ticks: 0n, max_ticks: 0n },
        ...{ timing_source: 'host_execution_event', duration_ns_available: true },
        ...{ total_ns: totals.total, avg_ns: rounded(totals.mean), max_ns: totals.max },
        ...{ total_tile_count: tileCount, total_tile_duration_sum_ns: tileDurationNs },
      };
    });
}

function exportCells(
  profile: Profile,
  { first, totals }: DispatchGroup<PlacedDispatch | HostExecutionRecord>,
  place: number,
) {
  const { physicalDeviceOrdinal, executableId, exportOrdinal } = first;
  return {
    type: 'explain_top_export',
    rank: place + 1,
    ...{ physical_device_ordinal: physicalDeviceOrdinal, executable_id: executableId },
    ...{ export_ordinal: exportOrdinal, key: keyOf(profile, first) },
    ...{ dispatches: totals.count, valid: totals.valid, invalid: totals.invalid },
  };
}

function topDispatches(profile: Profile, valid: readonly PlacedDispatch[]): ReportRow[] {
  return valid
    .toSorted((a, b) => Number(durationOf(b) - durationOf(a)))
    .slice(0, TOP_DISPATCHES)
    .map((each, i) => {
      const fit = profile.clockFit(each.physicalDeviceOrdinal);
      return {
        ...dispatchCells(each, i),
        ...{ key: keyOf(profile, each), timing_source: 'device_dispatch_event', duration_ticks: durationOf(each) },
        ...{ duration_ns_available: fit !== undefined, duration_ns: fit?.durationNs(durationOf(each)) ?? 0n },
        ...{ tile_count: 0n, tile_duration_sum_ns: 0n },
      };
    });
}

function topHostDispatches(profile: Profile, matched: readonly HostExecutionRecord[]): ReportRow[] {
  const durationNsOf = ({ startHostTimeNs, endHostTimeNs }: HostExecutionRecord) => endHostTimeNs - startHostTimeNs;
  return matched
    .filter(({ startHostTimeNs, endHostTimeNs }) => isValidHostTime(startHostTimeNs, endHostTimeNs))
    .toSorted((a, b) => Number(durationNsOf(b) - durationNsOf(a)))
    .slice(0, TOP_DISPATCHES)
    .map((each, i) => ({
      ...dispatchCells(each, i),
      ...{ command_buffer_id: each.commandBufferId, command_index: each.commandIndex },
      ...{ key: keyOf(profile, each), timing_source: 'host_execution_event', duration_ticks: 0n },
      ...{ duration_ns_available: true, duration_ns: durationNsOf(each) },
      ...{ tile_count: each.tileCount, tile_duration_sum_ns: each.tileDurationSumNs },
    }));
}

const dispatchCells = (each: PlacedDispatch | HostExecutionRecord, place: number) => ({
  ...{ type: 'explain_top_dispatch', rank: place + 1, event_id: each.eventId, submission_id: each.submissionId },
  physical_device_ordinal: each.physicalDeviceOrdinal,
  ...{ queue_ordinal: each.queueOrdinal, stream_id: each.streamId },
});

type Operation = RecordOf<typeof QUEUE_EVENTS>;

function operationsRow(operations: readonly Operation[]): ReportRow {
  const of = (name: string): Operation[] => operations.filter(({ type }) => type === numberOf(QUEUE_OPERATIONS, name));
  const strategy = (name: string): number =>
    operations.filter(({ dependencyStrategy: own }) => own === numberOf(DEPENDENCY_STRATEGIES, name)).length;
  const bytes = (name: string): bigint => sumOf(of(name).map(({ payloadLength }) => payloadLength));
  return {
    type: 'explain_queue_operations',
    events: operations.length,
    ...Object.fromEntries(Object.values(DEPENDENCY_STRATEGIES).map((name) => [`strategy_${name}`, strategy(name)])),
    ...Object.fromEntries(['copy', 'fill', 'update', 'read', 'write'].map((name) => [`${name}_bytes`, bytes(name)])),
    dispatches: of('dispatch').length,
    executes: of('execute').length,
    allocas: of('alloca').length,
    deallocas: of('dealloca').length,
    host_calls: of('host_call').length,
  };
}

const HIGH_WATER = ['slab', 'pool_reserved', 'pool_materialized', 'queue_inflight', 'buffer'] as const;

const pressureRow = (device: ReportRow): ReportRow => ({
  type: 'explain_memory_pressure',
  physical_device_ordinal: device['physical_device_ordinal']!,
  ...Object.fromEntries(
    HIGH_WATER.map((name) => [`${name}_high_water_bytes`, device[`${name}_high_water_bytes`] ?? 0]),
  ),
  pool_waits: device['pool_waits'] ?? 0,
});

type Hint = readonly [severity: 'error' | 'warning' | 'info', category: string, message: string];

const hintRow = ([severity, category, message]: Hint): ReportRow => ({
  type: 'explain_hint',
  ...{ severity, category, message },
});

function hints(summary: ReportRow, memory: readonly ReportRow[]): Hint[] {
  const has = (name: string): boolean => Number(summary[name]) !== 0;
  const found: (Hint | false)[] = [
    (has('unknown_records') || has('unknown_chunks')) && [
      'warning',
      'format',
      'the file has records of a newer version, which are not among these rows',
    ],
    has('truncated_chunks') && ['error', 'format', 'records were dropped: sums are too small'],
    has('non_ok_session_end_records') && [
      'error',
      'session',
      `${summary['non_ok_session_end_records']} sessions failed, the first one with ${summary['first_non_ok_status']}`,
    ],
    has('invalid_dispatches') && ['warning', 'dispatch', 'dispatches without a begin or an end are in no sum of times'],
    has('invalid_host_dispatches') && [
      'warning',
      'dispatch',
      'kernels of the host without a begin or an end are in no sum of times',
    ],
    !has('queue_events') && ['info', 'queue', 'there are no queue-events: gaps between dispatches are not explained'],
    memory.some((device) => Number(device['pool_waits']) > 0) && [
      'warning',
      'memory',
      'operations waited for memory of a pool',
    ],
    !has('valid_dispatches') && [
      'info',
      'dispatch',
      has('valid_host_dispatches')
        ? 'there are no times of kernels of a device: the longest ones are those that the host ran'
        : 'there are no times of kernels: record dispatch-events',
    ],
  ];
  return found.filter((hint) => hint !== false);
}

/** The instructions that waves executed most often, and what is wrong with those. */
function instructionRows(profile: Profile, { glob }: ReportFilter): ReportRow[] {
  const kernels = countedKernels(profile).filter(({ key }) => matchesGlob(key, glob));
  const total = sumOf(kernels.map(({ executedCount }) => executedCount));
  const top = kernels
    .flatMap((kernel) => kernel.instructions.map((instruction) => ({ kernel, instruction })))
    .filter(({ instruction }) => instruction.waves > 0n)
    .toSorted((a, b) => Number(b.instruction.waves - a.instruction.waves))
    .slice(0, TOP_INSTRUCTIONS);
  const rows = top.map(({ kernel, instruction }, i) => {
    const { waves, memory } = instruction;
    return {
      ...{ type: 'explain_top_instruction', rank: i + 1, key: kernel.key, source: sourceOf(instruction) },
      ...{ address: hex(instruction.address), instruction: instruction.text, waves },
      share: rounded(share(waves, total), 4),
      lane_share: rounded(laneShare(kernel, instruction), 4),
      segments_per_access: rounded(share(memory?.segments ?? 0n, memory?.accesses ?? 0n)),
      bank_conflict_cycles: memory?.conflicts ?? 0n,
    };
  });
  const found = kernels.flatMap((kernel) => instructionHints(kernel).map(hintRow));
  return [...found, ...rows];
}

const share = (part: bigint, whole: bigint): number => (whole === 0n ? 0 : Number(part) / Number(whole));
const laneShare = ({ waveSize }: KernelInstructions, { waves, lanes }: CountedInstruction): number =>
  share(lanes, waves * BigInt(waveSize));
const sourceOf = ({ source }: CountedInstruction): string =>
  source === undefined ? '' : `${source.file}:${source.line}`;

/** One of each kind for a kernel: the instruction that it costs most at. */
function instructionHints(kernel: KernelInstructions): Hint[] {
  const { key, segmentBytes, instructions } = kernel;
  const placeOf = (each: CountedInstruction): string =>
    `${key}: ${[sourceOf(each), hex(each.address), each.text].filter((part) => part !== '').join(' ')}`;
  const worst = (costOf: (each: CountedInstruction) => bigint): CountedInstruction | undefined =>
    instructions.reduce<CountedInstruction | undefined>(
      (most, each) => (costOf(each) > (most === undefined ? 0n : costOf(most)) ? each : most),
      undefined,
    );
  const scattered = worst(({ memory }) => {
    const { segments, bytes } = memory ?? { segments: 0n, bytes: 0n };
    return Number(bytes) < POOR_SHARE * Number(segments) * segmentBytes ? segments : 0n;
  });
  const conflicting = worst(({ memory }) => {
    const { conflicts, cycles } = memory ?? { conflicts: 0n, cycles: 0n };
    return Number(conflicts) > POOR_SHARE * Number(cycles) ? conflicts : 0n;
  });
  const divergent = worst((each) => (laneShare(kernel, each) < POOR_SHARE && isVector(each) ? each.waves : 0n));
  const found: (Hint | false)[] = [
    scattered !== undefined && [
      'warning',
      'memory',
      `${placeOf(scattered)} touches ${rounded(share(scattered.memory!.segments, scattered.memory!.accesses), 1)} cache lines for an access, of which its lanes use ${percent(Number(scattered.memory!.bytes) / (Number(scattered.memory!.segments) * segmentBytes))}`,
    ],
    conflicting !== undefined && [
      'warning',
      'memory',
      `${placeOf(conflicting)} spends ${percent(share(conflicting.memory!.conflicts, conflicting.memory!.cycles))} of its cycles on bank conflicts`,
    ],
    divergent !== undefined && [
      'info',
      'divergence',
      `${placeOf(divergent)} runs with ${percent(laneShare(kernel, divergent))} of the lanes`,
    ],
  ];
  return found.filter((hint) => hint !== false);
}

/** What scalar instructions and branches do, they do once for all lanes. */
const SCALAR = new Set(['salu', 'smem', 'branch', 'message', 'wait', 'barrier', 'other']);
const isVector = ({ className }: CountedInstruction): boolean => !SCALAR.has(className);
const percent = (part: number): string => `${rounded(100 * part, 1)} %`;
