/** `profile counter`: what was counted, by kernel. */

import { WavewrightError } from '../../base/errors.ts';
import { matchesGlob } from '../../base/glob.ts';
import { COUNTER_SCOPES, COUNTER_UNITS } from '../format/names.ts';
import { NO_ORDINAL, type RecordOf } from '../format/record-layout.ts';
import { COUNTER_SAMPLE_FLAG, COUNTER_SAMPLES, COUNTER_SETS, COUNTERS } from '../format/records.ts';
import { areValidTicks, type Profile } from '../profile.ts';
import type { ReportFilter } from './groups.ts';
import { type Columns, type ReportRow, rounded } from './rows.ts';
import { Totals } from './totals.ts';

export const COUNTER_COLUMNS: Columns = {
  counter: ['counter_ordinal', 'name', 'unit', 'description'],
  counter_group: ['key', 'counter', 'samples', 'min', 'avg', 'max', 'sum'],
  counter_sample: ['sample_id', 'dispatch_event_id', 'key', 'counter', 'value'],
};

type Sample = RecordOf<typeof COUNTER_SAMPLES>;
type CounterSet = RecordOf<typeof COUNTER_SETS>;
type Counter = RecordOf<typeof COUNTERS>;

/** A value of a sample: that of one counter, which may have several parts. */
interface CountedValue {
  readonly sample: Sample;
  readonly set: CounterSet;
  readonly counter: Counter;
  readonly key: string;
  readonly parts: readonly bigint[];
  readonly sum: bigint;
}

/** `withSamples`: each value, too. Throws BAD_INPUT for samples of no set. */
export function counterRows(profile: Profile, filter: ReportFilter, withSamples: boolean): ReportRow[] {
  const sets = profile.all(COUNTER_SETS);
  const counters = profile.all(COUNTERS);
  const samples = [...profile.located(COUNTER_SAMPLES)];
  const matched = samples
    .map(([sample, part]) => ({ part, values: valuesOf(profile, [sets, counters], sample, filter) }))
    .filter(({ values }) => values.length > 0);
  const values = matched.flatMap((each) => each.values);
  const groups = Map.groupBy(values, groupKey);
  const summary: ReportRow = {
    type: 'counter_summary',
    filter: filter.glob,
    id_filter: filter.id ?? -1,
    mode: withSamples ? 'samples' : 'aggregate',
    total_samples: samples.length,
    matched_samples: matched.length,
    truncated_matched_samples: matched.filter(({ part }) => part.isTruncated).length,
    counter_sets: sets.length,
    counters: counters.length,
    aggregate_groups: groups.size,
  };
  const metadata = [summary, ...sets.map(setRow), ...counters.map(counterRow)];
  const all = [...metadata, ...[...groups.values()].map(groupRow)];
  return withSamples ? [...values.map(sampleRow), ...all] : all;
}

function valuesOf(
  profile: Profile,
  [sets, counters]: readonly [readonly CounterSet[], readonly Counter[]],
  sample: Sample,
  { glob, id }: ReportFilter,
): CountedValue[] {
  const { sampleId, counterSetId, dispatchEventId, submissionId, commandBufferId, executableId, exportOrdinal } =
    sample;
  const set = sets.find((each) => each.counterSetId === counterSetId);
  if (set === undefined || set.sampleValueCount !== sample.values.length) {
    const what = set === undefined ? 'which is not there' : `which has ${set.sampleValueCount} values`;
    const found = `sample ${sampleId} with ${sample.values.length} values is of counter set ${counterSetId}, ${what}`;
    throw new WavewrightError('BAD_INPUT', found, { file: profile.name, section: COUNTER_SAMPLES.contentType });
  }
  if (id !== undefined && ![sampleId, dispatchEventId, submissionId, commandBufferId].includes(id)) return [];
  const isAttributed = executableId !== 0n && exportOrdinal !== NO_ORDINAL;
  const key = isAttributed ? profile.keyOf(executableId, exportOrdinal, sample.physicalDeviceOrdinal) : 'unattributed';
  return counters
    .filter((each) => each.counterSetId === counterSetId)
    .filter(({ block, name }) => [key, set.name, block, name].some((each) => matchesGlob(each, glob)))
    .map((counter) => {
      const { sampleValueOffset, sampleValueCount } = counter;
      const parts = sample.values.slice(sampleValueOffset, sampleValueOffset + sampleValueCount);
      return { sample, set, counter, key, parts, sum: parts.reduce((sum, each) => sum + each, 0n) };
    });
}

const groupKey = ({ sample, counter }: CountedValue): string =>
  [
    ...[sample.physicalDeviceOrdinal, sample.queueOrdinal, sample.streamId, sample.scope],
    ...[sample.counterSetId, counter.counterOrdinal],
    ...[sample.executableId, sample.exportOrdinal, sample.commandBufferId],
  ].join(' ');

const setRow = (set: CounterSet): ReportRow => ({
  type: 'counter_set',
  counter_set_id: set.counterSetId,
  physical_device_ordinal: set.physicalDeviceOrdinal,
  flags: set.flags,
  counter_count: set.counterCount,
  sample_value_count: set.sampleValueCount,
  name: set.name,
});

const counterRow = (counter: Counter): ReportRow => ({
  type: 'counter',
  counter_set_id: counter.counterSetId,
  counter_ordinal: counter.counterOrdinal,
  physical_device_ordinal: counter.physicalDeviceOrdinal,
  flags: counter.flags,
  unit: COUNTER_UNITS[counter.unit] ?? 'unknown',
  unit_value: counter.unit,
  sample_value_offset: counter.sampleValueOffset,
  sample_value_count: counter.sampleValueCount,
  block: counter.block,
  name: counter.name,
  description: counter.description,
});

const counterCells = ({ set, counter }: CountedValue) => ({
  counter_set_id: set.counterSetId,
  counter_set: set.name,
  counter_ordinal: counter.counterOrdinal,
  counter: counter.name,
  block: counter.block,
  unit: COUNTER_UNITS[counter.unit] ?? 'unknown',
});

const scopeCells = ({ scope }: Sample) => ({ scope: COUNTER_SCOPES[scope] ?? 'unknown', scope_value: scope });

const placeCells = ({ physicalDeviceOrdinal, queueOrdinal, streamId }: Sample) => ({
  physical_device_ordinal: physicalDeviceOrdinal,
  queue_ordinal: queueOrdinal,
  stream_id: streamId,
});

function groupRow(values: readonly CountedValue[]): ReportRow {
  const [first] = values as [CountedValue]; // reason: a group has at least one
  const { sample, key, counter } = first;
  const totals = new Totals();
  for (const { sum } of values) totals.add(0n, sum, true);
  return {
    type: 'counter_group',
    ...placeCells(sample),
    ...scopeCells(sample),
    ...counterCells(first),
    command_buffer_id: sample.commandBufferId,
    executable_id: sample.executableId,
    export_ordinal: sample.exportOrdinal,
    key,
    samples: values.length,
    raw_values: values.length * counter.sampleValueCount,
    min: totals.min,
    avg: rounded(totals.mean),
    stddev: rounded(totals.deviation),
    max: totals.max,
    sum: totals.total,
    first_sample_id: sample.sampleId,
    last_sample_id: values.at(-1)!.sample.sampleId,
  };
}

function sampleRow(value: CountedValue): ReportRow {
  const { sample, key, parts, sum } = value;
  const { flags, startTick, endTick } = sample;
  const hasTicks = (flags & COUNTER_SAMPLE_FLAG.deviceTicks) !== 0;
  const isValid = hasTicks && areValidTicks(startTick, endTick);
  return {
    type: 'counter_sample',
    sample_id: sample.sampleId,
    ...counterCells(value),
    ...scopeCells(sample),
    dispatch_event_id: sample.dispatchEventId,
    submission_id: sample.submissionId,
    command_buffer_id: sample.commandBufferId,
    command_index: sample.commandIndex,
    executable_id: sample.executableId,
    export_ordinal: sample.exportOrdinal,
    key,
    ...placeCells(sample),
    flags,
    device_tick_range_present: hasTicks,
    device_tick_domain: 'device_tick',
    start_tick: startTick,
    end_tick: endTick,
    duration_ticks: isValid ? endTick - startTick : 0n,
    device_tick_range_valid: isValid,
    value: sum,
    values: parts,
  };
}
