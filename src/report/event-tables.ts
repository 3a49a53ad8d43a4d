/**
 * Events of a profile as tables for a timeline: their times on one axis, in lanes in which they do not
 * overlap.
 */
import { WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { MEMORY_EVENTS, numberOf, QUEUE_OPERATIONS } from '../profile/format/names.ts';
import { NO_ORDINAL, type RecordField, type RecordLayout } from '../profile/format/record-layout.ts';
import {
  DISPATCH_EVENTS,
  HOST_EXECUTION_EVENTS,
  MEMORY_EVENT_RECORDS,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
} from '../profile/format/records.ts';
import { SliceLanes } from '../profile/lanes.ts';
import { areValidTicks, type Profile } from '../profile/profile.ts';
import { RecordColumns } from '../profile/record-columns.ts';
import { isValidHostTime } from '../profile/reports/groups.ts';
import { snakeCase } from '../profile/reports/interchange.ts';
import type { ColumnWriter, Integers } from './columns.ts';
import { EVENT_FAMILIES, type EventFamily, type EventField, type EventTable, type Track } from './report-data.ts';

/** SliceLanes of one family on one queue; what finds none goes into one more. */
const MAX_LANES = 12;
const DISPATCH = numberOf(QUEUE_OPERATIONS, 'dispatch');

/** When an event began and ended, in ns of the host; undefined without a valid time. */
type Times = (row: number) => readonly [start: bigint, end: bigint] | undefined;

interface Family {
  readonly layout: RecordLayout;
  times(profile: Profile, columns: RecordColumns, devices: Uint32Array): Times;
  name(profile: Profile, columns: RecordColumns, devices: Uint32Array): (row: number) => string;
}

const FAMILIES: Readonly<Record<EventFamily, Family>> = {
  // From its submission until it can begin.
  queue: {
    layout: QUEUE_EVENTS,
    times: (_, columns) => {
      const [submitted, ready] = [columns.times('hostTimeNs'), columns.times('readyHostTimeNs')];
      return (row) => [submitted[row]!, ready[row]! > submitted[row]! ? ready[row]! : submitted[row]!];
    },
    name: (_, columns) => named(columns.column('type'), QUEUE_OPERATIONS),
  },
  dispatch: {
    layout: DISPATCH_EVENTS,
    times: tickTimes,
    name: kernelNames,
  },
  device: {
    layout: QUEUE_DEVICE_EVENTS,
    times: tickTimes,
    name: (_, columns) => named(columns.column('type'), QUEUE_OPERATIONS),
  },
  host: {
    layout: HOST_EXECUTION_EVENTS,
    times: (_, columns) => {
      const [start, end] = [columns.times('startHostTimeNs'), columns.times('endHostTimeNs')];
      return (row) => (isValidHostTime(start[row]!, end[row]!) ? [start[row]!, end[row]!] : undefined);
    },
    name: (profile, columns, devices) => {
      const types = columns.column('type');
      const [operation, kernel] = [named(types, QUEUE_OPERATIONS), kernelNames(profile, columns, devices)];
      return (row) => (types[row] === DISPATCH ? kernel(row) : operation(row));
    },
  },
  memory: {
    layout: MEMORY_EVENT_RECORDS,
    times: (_, columns) => {
      const at = columns.times('hostTimeNs');
      return (row) => [at[row]!, at[row]!];
    },
    name: (_, columns) => named(columns.column('type'), MEMORY_EVENTS),
  },
};

function tickTimes(profile: Profile, columns: RecordColumns, devices: Uint32Array): Times {
  const [start, end] = [columns.times('startTick'), columns.times('endTick')];
  return (row) => {
    const fit = areValidTicks(start[row]!, end[row]!) ? profile.clockFit(devices[row]!) : undefined;
    return fit && [fit.timeNs(start[row]!), fit.timeNs(end[row]!)];
  };
}

function kernelNames(profile: Profile, columns: RecordColumns, devices: Uint32Array): (row: number) => string {
  const [executables, exports] = [columns.times('executableId'), columns.ordinals('exportOrdinal')];
  return (row) => profile.keyOf(executables[row]!, exports[row]!, devices[row]!);
}

const named =
  (values: Integers, names: Readonly<Record<number, string>>) =>
  (row: number): string =>
    names[Number(values[row]!)] ?? `${values[row]}`;

/** Names, each once. */
class NameTable {
  readonly names: string[] = [];
  readonly #indices = new Map<string, number>();

  indexOf(name: string): number {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    this.#indices.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

/** What is read of one family before the times of all families are known. */
interface LoadedFamily {
  readonly family: EventFamily;
  readonly columns: RecordColumns;
  readonly starts: BigInt64Array;
  readonly ends: BigInt64Array;
  readonly names: Uint32Array;
  readonly devices: Uint32Array;
  readonly queues: Uint32Array;
  /** The rows that have a time. */
  readonly rows: Uint32Array;
}

export interface Timeline {
  readonly events: Readonly<Record<EventFamily, EventTable>>;
  readonly tracks: readonly Track[];
  readonly names: readonly string[];
  readonly baseTimeNs: bigint;
  readonly spanNs: number;
  /** Events without a valid time. */
  readonly skippedCount: number;
}

/** Throws BAD_INPUT for a damaged profile, LIMIT_EXCEEDED for one with too many events. */
export function writeTimeline(profile: Profile, writer: ColumnWriter): Timeline {
  const names = new NameTable();
  const loaded = EVENT_FAMILIES.map((family) => load(profile, family, names));
  const [first, last] = extremes(loaded);
  const tracks: Track[] = [];
  const entries = loaded.map((each) => [each.family, writeTable(each, first, writer, tracks)] as const);
  const skippedCount = loaded.reduce((sum, { columns, rows }) => sum + columns.count - rows.length, 0);
  return {
    // reason: there is one entry for each family
    events: Object.fromEntries(entries) as Record<EventFamily, EventTable>,
    ...{ tracks, names: names.names, baseTimeNs: first, spanNs: Number(last - first), skippedCount },
  };
}

function load(profile: Profile, family: EventFamily, names: NameTable): LoadedFamily {
  const { layout, times, name } = FAMILIES[family];
  const columns = new RecordColumns(profile, layout);
  const { count } = columns;
  if (count > LIMITS.reportEvents) {
    const what = `${count} records of ${layout.contentType}: above the limit reportEvents = ${LIMITS.reportEvents}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what, { file: profile.name });
  }
  // Chunks of dispatches say what other records say themselves.
  const ordinals = (column: 'physicalDeviceOrdinal' | 'queueOrdinal'): Uint32Array =>
    columns.names.includes(column) ? columns.ordinals(column) : columns.ofChunks(column);
  const [devices, queues] = [ordinals('physicalDeviceOrdinal'), ordinals('queueOrdinal')];
  const [timesOf, nameOf] = [times(profile, columns, devices), name(profile, columns, devices)];
  const [starts, ends] = [new BigInt64Array(count), new BigInt64Array(count)];
  const [nameIndices, rows] = [new Uint32Array(count), new Uint32Array(count)];
  let rowCount = 0;
  for (let row = 0; row < count; row++) {
    const found = timesOf(row);
    if (found === undefined) continue;
    [starts[row], ends[row]] = found;
    nameIndices[row] = names.indexOf(nameOf(row));
    rows[rowCount++] = row;
  }
  return { ...{ family, columns, starts, ends, devices, queues }, names: nameIndices, rows: rows.slice(0, rowCount) };
}

function extremes(loaded: readonly LoadedFamily[]): readonly [first: bigint, last: bigint] {
  let [first, last]: (bigint | undefined)[] = [];
  for (const { starts, ends, rows } of loaded) {
    for (const row of rows) {
      if (first === undefined || starts[row]! < first) first = starts[row]!;
      if (last === undefined || ends[row]! > last) last = ends[row]!;
    }
  }
  return [first ?? 0n, last ?? 0n];
}

/** Adds the tracks of a family, and writes its rows track by track. */
function writeTable(loaded: LoadedFamily, base: bigint, writer: ColumnWriter, tracks: Track[]): EventTable {
  const { family, columns, starts, ends, names } = loaded;
  const { layout } = FAMILIES[family];
  const { order, found } = inTracks(loaded);
  tracks.push(...found);
  const fields: Record<string, EventField> = {};
  const places: EventTable['columns'] = {};
  const written: Record<string, EventTable['columns'][string]> = places;
  const add = (column: string, values: Integers): void => {
    written[column] = writer.add(values, order);
  };
  add(
    'start',
    Float64Array.from(starts, (start) => Number(start - base)),
  );
  add(
    'duration',
    Float64Array.from(starts, (start, row) => Number(ends[row]! - start)),
  );
  add('name', names);
  for (const column of columns.names) {
    fields[column] = fieldOf(layout, column);
    add(column, columns.column(column));
  }
  const ofChunks = { physicalDeviceOrdinal: loaded.devices, queueOrdinal: loaded.queues };
  for (const [column, values] of Object.entries({ ...ofChunks, streamId: columns.streamsOfChunks() })) {
    if (column in fields) continue;
    fields[column] = { label: snakeCase(column) };
    add(column, values);
  }
  return { rowCount: order.length, columns: places, fields };
}

function fieldOf(layout: RecordLayout, column: string): EventField {
  const [name, element] = column.split('.');
  const { kind, names, json = snakeCase(name!) }: RecordField = layout.fields[name!]!;
  const label = element === undefined ? json : `${json}.${'xyz'[Number(element)] ?? element}`;
  return { label, ...(names && { names }), ...(kind === 'ordinal' && { none: NO_ORDINAL }) };
}

/** The rows by queue, lane and start. */
function inTracks({ family, devices, queues, starts, ends, rows }: LoadedFamily) {
  const byQueue = Map.groupBy(rows, (row) => `${devices[row]} ${queues[row]}`);
  const order = new Uint32Array(rows.length);
  const found: Track[] = [];
  let first = 0;
  for (const [, members] of [...byQueue].sort(([, [one]], [, [other]]) => {
    return devices[one!]! - devices[other!]! || queues[one!]! - queues[other!]!;
  })) {
    members.sort((one, other) => (starts[one]! < starts[other]! ? -1 : starts[one]! > starts[other]! ? 1 : 0));
    const lanes = new SliceLanes();
    const byLane: number[][] = [];
    for (const row of members) {
      const lane = Math.min(lanes.place(starts[row]!, ends[row]!), MAX_LANES);
      byLane[lane] ??= [];
      byLane[lane].push(row);
    }
    const place = { family, device: devices[members[0]!]!, queue: queues[members[0]!]! };
    for (const [lane, laneRows] of byLane.entries()) {
      order.set(laneRows, first);
      found.push({ ...place, lane, isRest: lane === MAX_LANES, first, count: laneRows.length });
      first += laneRows.length;
    }
  }
  return { order, found };
}
