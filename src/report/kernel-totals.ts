/** Kernels of a profile with how long they took and what they counted, for tables. */

import { COUNTER_UNITS } from '../profile/format/names.ts';
import { NO_ORDINAL } from '../profile/format/record-layout.ts';
import {
  COUNTER_FLAG,
  COUNTER_SAMPLES,
  COUNTER_SETS,
  COUNTERS,
  DISPATCH_EVENTS,
  HOST_EXECUTION_EVENTS,
} from '../profile/format/records.ts';
import { areValidTicks, type Profile } from '../profile/profile.ts';
import { RecordColumns } from '../profile/record-columns.ts';
import { isValidHostTime } from '../profile/reports/groups.ts';
import { Totals } from '../profile/reports/totals.ts';
import type { CounterColumn, KernelRow } from './report-data.ts';

/** Runs of one kernel at one place. */
interface Runs {
  /** `device 0`, or `host`. */
  readonly where: string;
  readonly device: number;
  readonly executableId: bigint;
  readonly exportOrdinal: number;
  readonly totals: Totals;
  workgroups: number;
  readonly counters: Record<number, number>;
}

const HOST = 'host';

export interface Kernels {
  readonly kernels: readonly KernelRow[];
  readonly counters: readonly CounterColumn[];
}

/** By total time, the longest first. */
export function kernelTotals(profile: Profile): Kernels {
  const runs = new Map<string, Runs>();
  addRuns(profile, runs, HOST_EXECUTION_EVENTS, ['startHostTimeNs', 'endHostTimeNs', isValidHostTime]);
  addRuns(profile, runs, DISPATCH_EVENTS, ['startTick', 'endTick', areValidTicks]);
  const counters = addCounters(profile, runs);
  const kernels = [...runs.values()].map((each) => kernelRow(profile, each));
  return { kernels: kernels.sort((one, other) => other.total - one.total), counters };
}

type RunTimes = readonly [start: string, end: string, isValid: (start: bigint, end: bigint) => boolean];

function addRuns(
  profile: Profile,
  runs: Map<string, Runs>,
  layout: typeof DISPATCH_EVENTS | typeof HOST_EXECUTION_EVENTS,
  [startName, endName, isValid]: RunTimes,
): void {
  const columns = new RecordColumns(profile, layout);
  const [starts, ends] = [columns.times(startName), columns.times(endName)];
  const [executables, exports] = [columns.times('executableId'), columns.ordinals('exportOrdinal')];
  const groups = [0, 1, 2].map((axis) => columns.ordinals(`workgroupCount.${axis}`));
  const devices = layout === DISPATCH_EVENTS ? columns.ofChunks('physicalDeviceOrdinal') : undefined;
  for (let row = 0; row < columns.count; row++) {
    if (executables[row] === 0n || exports[row] === NO_ORDINAL) continue;
    const run = runsOf(runs, devices?.[row], executables[row]!, exports[row]!);
    run.totals.add(starts[row]!, ends[row]!, isValid(starts[row]!, ends[row]!));
    run.workgroups += groups.reduce((product, axis) => product * axis[row]!, 1);
  }
}

function runsOf(
  runs: Map<string, Runs>,
  device: number | undefined,
  executableId: bigint,
  exportOrdinal: number,
): Runs {
  const where = device === undefined ? HOST : `device ${device}`;
  const key = `${where} ${executableId} ${exportOrdinal}`;
  const known = runs.get(key);
  if (known !== undefined) return known;
  const place = { where, device: device ?? 0, executableId, exportOrdinal };
  const made: Runs = { ...place, totals: new Totals(), workgroups: 0, counters: {} };
  runs.set(key, made);
  return made;
}

/**
 * Adds up what samples say, or keeps the most of what cannot be added up; counters of several devices with
 * one name are one column.
 */
function addCounters(profile: Profile, runs: Map<string, Runs>): CounterColumn[] {
  const columns: CounterColumn[] = [];
  const places = new Map<bigint, { column: number; first: number; end: number; isRaw: boolean }[]>();
  const setIds = new Set(profile.all(COUNTER_SETS).map(({ counterSetId }) => counterSetId));
  for (const counter of profile.all(COUNTERS)) {
    const { counterSetId, flags, name, unit, description, sampleValueOffset: first, sampleValueCount } = counter;
    if (!setIds.has(counterSetId)) continue;
    const known = columns.findIndex((each) => each.name === name);
    const column = known < 0 ? columns.push({ name, unit: COUNTER_UNITS[unit] ?? 'unknown', description }) - 1 : known;
    const ofSet = places.get(counterSetId) ?? [];
    places.set(counterSetId, ofSet);
    ofSet.push({ column, first, end: first + sampleValueCount, isRaw: (flags & COUNTER_FLAG.raw) !== 0 });
  }
  for (const [sample] of profile.located(COUNTER_SAMPLES)) {
    const { executableId, exportOrdinal, physicalDeviceOrdinal, counterSetId, values } = sample;
    if (executableId === 0n || exportOrdinal === NO_ORDINAL) continue;
    const { counters } = runsOf(runs, physicalDeviceOrdinal, executableId, exportOrdinal);
    for (const { column, first, end, isRaw } of places.get(counterSetId) ?? []) {
      const sum = Number(values.slice(first, end).reduce((total, each) => total + each, 0n));
      const known = counters[column] ?? 0;
      counters[column] = isRaw ? known + sum : Math.max(known, sum);
    }
  }
  return columns;
}

function kernelRow(profile: Profile, { where, device, executableId, exportOrdinal, ...of }: Runs): KernelRow {
  const { totals, workgroups, counters } = of;
  const fit = where === HOST ? undefined : profile.clockFit(device);
  const scale = fit?.nsPerTick ?? 1;
  return {
    name: profile.keyOf(executableId, exportOrdinal, device),
    ...{ where, exportOrdinal, workgroups, counters },
    executable: executableId.toString(),
    unit: where === HOST || fit !== undefined ? 'ns' : 'ticks',
    launches: totals.count,
    total: Number(totals.total) * scale,
    mean: totals.mean * scale,
    min: Number(totals.min) * scale,
    max: Number(totals.max) * scale,
    deviation: totals.deviation * scale,
  };
}
