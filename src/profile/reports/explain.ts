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
import { DEVICE_DISPATCHES, groupDispatches, kernelKey, keyOf, matchDispatches, type ReportFilter } from './groups.ts';
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
  const { matched } = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'eventId');
  const valid = matched.filter(({ startTick, endTick }) => areValidTicks(startTick, endTick));
  const operations = profile.all(QUEUE_EVENTS);
  const memory = memoryRows(profile, { glob: '*', id: undefined }).filter(({ type }) => type === 'memory_device');
  const summary = summaryOf(profile, matched, valid.length, operations.length);
  return [
    summary,
    ...profile.devices.map(({ physicalDeviceOrdinal }) => deviceRow(profile, physicalDeviceOrdinal, valid)),
    ...profile.queues.map((queue) => queueRow(profile, queue, matched, operations.length > 0)),
    ...topExports(profile, matched),
    ...topDispatches(profile, valid),
    operationsRow(operations),
    ...memory.map(pressureRow),
    ...hints(summary, memory).map(hintRow),
    ...instructionRows(profile, filter),
  ];
}

function summaryOf(
  profile: Profile,
  matched: readonly PlacedDispatch[],
  validCount: number,
  eventCount: number,
): ReportRow {
  const [file] = summaryRows(profile);
  return {
    type: 'explain_summary',
    ...Object.fromEntries(
      ['file_records', 'chunk_records', 'unknown_records', 'unknown_chunks', 'truncated_chunks'].map((name) => [
        name,
        file![name]!,
      ]),
    ),
    dispatches: matched.length,
    valid_dispatches: validCount,
    invalid_dispatches: matched.length - validCount,
    queues: profile.queues.length,
    queue_events: eventCount,
    command_buffers: profile.commandBuffers.size,
    command_operations: profile.operations.length,
    memory_events: profile.all(MEMORY_EVENT_RECORDS).length,
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
    .map(({ first, totals }, i) => {
      const { physicalDeviceOrdinal, executableId, exportOrdinal } = first;
      const fit = profile.clockFit(physicalDeviceOrdinal);
      return {
        type: 'explain_top_export',
        rank: i + 1,
        ...{ physical_device_ordinal: physicalDeviceOrdinal, executable_id: executableId },
        ...{ export_ordinal: exportOrdinal, key: keyOf(profile, first) },
        ...{ dispatches: totals.count, valid: totals.valid, invalid: totals.invalid },
        ...{ total_ticks: totals.total, max_ticks: totals.max, clock_fit_available: fit !== undefined },
        total_ns: fit?.durationNs(totals.total) ?? 0n,
        avg_ns: rounded(totals.mean * (fit?.nsPerTick ?? 0)),
        max_ns: fit?.durationNs(totals.max) ?? 0n,
      };
    });
}

function topDispatches(profile: Profile, valid: readonly PlacedDispatch[]): ReportRow[] {
  return valid
    .toSorted((a, b) => Number(durationOf(b) - durationOf(a)))
    .slice(0, TOP_DISPATCHES)
    .map((each, i) => {
      const { eventId, submissionId, physicalDeviceOrdinal, queueOrdinal, streamId } = each;
      const fit = profile.clockFit(physicalDeviceOrdinal);
      return {
        ...{ type: 'explain_top_dispatch', rank: i + 1, event_id: eventId, submission_id: submissionId },
        ...{ physical_device_ordinal: physicalDeviceOrdinal, queue_ordinal: queueOrdinal, stream_id: streamId },
        ...{ key: keyOf(profile, each), duration_ticks: durationOf(each), clock_fit_available: fit !== undefined },
        duration_ns: fit?.durationNs(durationOf(each)) ?? 0n,
      };
    });
}

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
    has('invalid_dispatches') && ['warning', 'dispatch', 'dispatches without a begin or an end are in no sum of times'],
    !has('queue_events') && ['info', 'queue', 'there are no queue-events: gaps between dispatches are not explained'],
    memory.some((device) => Number(device['pool_waits']) > 0) && [
      'warning',
      'memory',
      'operations waited for memory of a pool',
    ],
    !has('valid_dispatches') && ['info', 'dispatch', 'there are no times of kernels: record dispatch-events'],
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
