/**
 * A profile as a trace of Perfetto (protos/perfetto/trace in its sources): tracks for devices and queues,
 * under them kernels, what the host ran, events of queues and of memory, with arrows from what led to them.
 * Names of tracks are those of IREE's renderer.
 */
import { NO_ORDINAL } from '../format/record-layout.ts';
import { SliceLanes } from '../lanes.ts';
import type { Profile } from '../profile.ts';
import { interchangeRows } from '../reports/interchange.ts';
import { jsonOf, type ReportCell } from '../reports/rows.ts';
import { ProtobufMessage } from './protobuf.ts';

type Row = Readonly<Record<string, ReportCell>>;

/** Fields of TracePacket, TrackDescriptor, TrackEvent and DebugAnnotation. */
const PACKET = { timestamp: 8, sequenceId: 10, trackEvent: 11, trackDescriptor: 60 } as const;
const TRACK = { uuid: 1, name: 2, parent: 5, counter: 8, childOrdering: 11, rank: 12 } as const;
const EVENT = { annotation: 4, type: 9, track: 11, name: 23, counterValue: 30, flow: 47 } as const;
const ANNOTATION = { bool: 2, uint: 3, int: 4, double: 5, text: 6, name: 10 } as const;
const EVENT_TYPES = { begin: 1, end: 2, instant: 3, counter: 4 } as const;
const EXPLICIT_ORDER = 3;
const SEQUENCE_ID = 1;

/** Something with a begin and an end, for one of the lanes of a family. */
interface Slice {
  readonly start: bigint;
  readonly end: bigint;
  readonly name: string;
  readonly row: Row;
  readonly flows: readonly bigint[];
}

/** Slices that may overlap, in lanes in which they do not. */
interface LaneFamily {
  readonly parent: bigint;
  readonly rank: number;
  readonly name: string;
  readonly slices: Slice[];
}

/** Ranks among the tracks of a queue. */
const RANKS = {
  queueEvents: 0,
  dispatch: 1000,
  deviceQueue: 2000,
  hostExecution: 3000,
  memory: 4000,
  bytes: 5000,
  values: 6000,
};

class TraceWriter {
  readonly #trace = new ProtobufMessage();
  readonly #tracks = new Map<string, bigint>();

  get bytes(): Uint8Array {
    return this.#trace.bytes.slice();
  }

  /** The track of a key, which is described the first time. */
  track(key: string, name: string, { parent, rank, isCounter }: TrackPlace = {}): bigint {
    const known = this.#tracks.get(key);
    if (known !== undefined) return known;
    const uuid = BigInt(this.#tracks.size + 1);
    this.#tracks.set(key, uuid);
    const track = new ProtobufMessage().varint(TRACK.uuid, uuid).text(TRACK.name, name);
    if (parent !== undefined) track.varint(TRACK.parent, parent);
    track.varint(TRACK.childOrdering, EXPLICIT_ORDER);
    if (rank !== undefined) track.varint(TRACK.rank, rank);
    if (isCounter) track.message(TRACK.counter, new ProtobufMessage());
    this.#packet((packet) => packet.message(PACKET.trackDescriptor, track));
    return uuid;
  }

  event(timeNs: bigint, track: bigint, type: keyof typeof EVENT_TYPES, fill: (event: ProtobufMessage) => void): void {
    const event = new ProtobufMessage().varint(EVENT.type, EVENT_TYPES[type]).varint(EVENT.track, track);
    fill(event);
    this.#packet((packet) => packet.varint(PACKET.timestamp, timeNs).message(PACKET.trackEvent, event));
  }

  #packet(fill: (packet: ProtobufMessage) => void): void {
    const packet = new ProtobufMessage().varint(PACKET.sequenceId, SEQUENCE_ID);
    fill(packet);
    this.#trace.message(1, packet);
  }
}

interface TrackPlace {
  readonly parent?: bigint;
  readonly rank?: number;
  readonly isCounter?: boolean;
}

/** A trace, and what of the profile has no time in it. */
export interface PerfettoTrace {
  readonly bytes: Uint8Array;
  readonly sliceCount: number;
  /** Kernels and operations whose ticks have no line to nanoseconds, or are not in order. */
  readonly skippedCount: number;
}

/** Throws BAD_INPUT for a damaged profile. */
export function perfettoTrace(profile: Profile): PerfettoTrace {
  const rows = [...interchangeRows(profile)];
  const builder = new TraceBuilder(rows);
  for (const row of rows) builder.add(row);
  return builder.finish();
}

/** A bigint or a number of a row. */
const numberOf = (cell: ReportCell | undefined): bigint =>
  typeof cell === 'bigint' || typeof cell === 'number' ? BigInt(cell) : 0n;

class TraceBuilder {
  readonly #writer = new TraceWriter();
  readonly #root = this.#writer.track('root', 'IREE HAL profile');
  readonly #families = new Map<string, LaneFamily>();
  /** By what they go from and to. */
  readonly #flows = new Map<string, bigint[]>();
  readonly #openBytes = new Map<bigint, bigint>();
  /** Of each counter set: names, and where samples have their values. */
  readonly #counters = new Map<bigint, { readonly name: string; readonly value: number }[]>();
  #skippedCount = 0;

  constructor(rows: readonly Row[]) {
    for (const row of rows) {
      if (row['record_type'] !== 'event_relationship') continue;
      const flow = numberOf(row['relationship_id']);
      for (const end of ['source', 'target']) {
        const key = endpointKey(row, String(row[`${end}_type`]), numberOf(row[`${end}_id`]));
        const flows = this.#flows.get(key) ?? [];
        this.#flows.set(key, flows);
        flows.push(flow);
      }
    }
  }

  add(row: Row): void {
    switch (row['record_type']) {
      case 'device':
        this.#device(row);
        break;
      case 'queue':
        this.#queue(row);
        break;
      case 'dispatch_event':
        this.#deviceSlice(row, 'dispatch', RANKS.dispatch, String(row['key']));
        break;
      case 'queue_device_event':
        this.#deviceSlice(row, 'device queue ops', RANKS.deviceQueue, `queue-device:${String(row['op'])}`);
        break;
      case 'host_execution_event':
        this.#hostSlice(row);
        break;
      case 'queue_event':
        this.#queueEvent(row);
        break;
      case 'memory_event':
        this.#memoryEvent(row);
        break;
      case 'counter':
        this.#counter(row);
        break;
      case 'counter_sample':
        if (row['scope'] === 'device_time_range') this.#counterRange(row);
        break;
      case 'device_metric_sample':
        this.#metrics(row);
        break;
    }
  }

  #counter(row: Row): void {
    const set = numberOf(row['counter_set_id']);
    const places = this.#counters.get(set) ?? [];
    this.#counters.set(set, places);
    places.push({ name: String(row['name']), value: Number(numberOf(row['sample_value_offset'])) });
  }

  /** What was counted in a range of time stands from its begin on, until the next one begins. */
  #counterRange(row: Row): void {
    if (row['derived_time_available'] !== true || !Array.isArray(row['values'])) {
      this.#skippedCount++;
      return;
    }
    const values: readonly ReportCell[] = row['values'];
    for (const { name, value } of this.#counters.get(numberOf(row['counter_set_id'])) ?? []) {
      this.#value(row, name, numberOf(row['start_driver_host_cpu_time_ns']), numberOf(values[value]));
    }
  }

  #metrics(row: Row): void {
    if (!Array.isArray(row['values'])) return;
    const values: readonly Row[] = row['values'];
    for (const { name, value } of values) {
      this.#value(row, String(name), numberOf(row['host_time_begin_ns']), numberOf(value));
    }
  }

  /** A value of a device from a time on. */
  #value(row: Row, name: string, timeNs: bigint, value: bigint): void {
    const parent = this.#device(row);
    const track = this.#writer.track(`${name} ${parent}`, name, { parent, rank: RANKS.values, isCounter: true });
    this.#writer.event(timeNs, track, 'counter', (event) => event.varint(EVENT.counterValue, value));
  }

  finish(): PerfettoTrace {
    let sliceCount = 0;
    for (const [key, family] of this.#families) {
      sliceCount += family.slices.length;
      this.#writeFamily(key, family);
    }
    return { bytes: this.#writer.bytes, sliceCount, skippedCount: this.#skippedCount };
  }

  /** Each slice goes into the first lane that is free then. */
  #writeFamily(key: string, { parent, rank, name, slices }: LaneFamily): void {
    const lanes = new SliceLanes();
    slices.sort((one, other) => (one.start < other.start ? -1 : one.start > other.start ? 1 : 0));
    for (const { start, end, name: text, row, flows } of slices) {
      const lane = lanes.place(start, end);
      const laneName = lane === 0 ? name : `${name} lane ${lane}`;
      const track = this.#writer.track(`${key} ${lane}`, laneName, { parent, rank: rank + lane });
      this.#writer.event(start, track, 'begin', (event) => {
        event.text(EVENT.name, text);
        for (const flow of flows) event.fixed64(EVENT.flow, flow);
        annotate(event, row);
      });
      this.#writer.event(end, track, 'end', () => {});
    }
  }

  #device(row: Row): bigint {
    const ordinal = Number(numberOf(row['physical_device_ordinal']));
    const uuid = row['physical_device_uuid'];
    const name = ordinal === NO_ORDINAL ? 'device[unknown]' : `device[${ordinal}]`;
    const whole = typeof uuid === 'string' ? `${name} ${uuid}` : name;
    return this.#writer.track(`device ${ordinal}`, whole, { parent: this.#root, rank: ordinal % NO_ORDINAL });
  }

  #queue(row: Row): bigint {
    const device = numberOf(row['physical_device_ordinal']);
    const ordinal = Number(numberOf(row['queue_ordinal']));
    const isNone = ordinal === NO_ORDINAL;
    const name = isNone ? 'device-scope events' : `queue[${ordinal}] stream=${numberOf(row['stream_id'])}`;
    const rank = isNone ? 999_999 : ordinal;
    return this.#writer.track(`queue ${device} ${ordinal}`, name, { parent: this.#device(row), rank });
  }

  #slice(row: Row, family: string, rank: number, slice: Slice): void {
    const parent = this.#queue(row);
    const key = `${family} ${parent}`;
    const lanes = this.#families.get(key) ?? { parent, rank, name: family, slices: [] };
    this.#families.set(key, lanes);
    lanes.slices.push(slice);
  }

  #deviceSlice(row: Row, family: string, rank: number, name: string): void {
    if (row['derived_time_available'] !== true) {
      this.#skippedCount++;
      return;
    }
    const start = numberOf(row['start_driver_host_cpu_time_ns']);
    const end = numberOf(row['end_driver_host_cpu_time_ns']);
    this.#slice(row, family, rank, { start, end, name, row, flows: this.#flowsOf(row) });
  }

  #hostSlice(row: Row): void {
    if (row['valid'] !== true) {
      this.#skippedCount++;
      return;
    }
    const [start, end] = [numberOf(row['start_host_time_ns']), numberOf(row['end_host_time_ns'])];
    const name = typeof row['key'] === 'string' ? row['key'] : `host:${String(row['op'])}`;
    this.#slice(row, 'host execution', RANKS.hostExecution, { start, end, name, row, flows: this.#flowsOf(row) });
  }

  /** When it was submitted, and when it could begin. */
  #queueEvent(row: Row): void {
    const place = { parent: this.#queue(row), rank: RANKS.queueEvents };
    const track = this.#writer.track(`queue-events ${place.parent}`, 'host queue events', place);
    const submission = endpointKey(row, 'queue_submission', numberOf(row['submission_id']));
    const flows = [...this.#flowsOf(row), ...(this.#flows.get(submission) ?? [])];
    this.#instant(numberOf(row['host_time_ns']), track, `queue:${String(row['op'])}`, [row, flows]);
    const ready = numberOf(row['ready_host_time_ns']);
    if (ready > 0n) this.#instant(ready, track, `queue_ready:${String(row['op'])}`, [row, []]);
  }

  #memoryEvent(row: Row): void {
    const parent = this.#queue(row);
    const time = numberOf(row['host_time_ns']);
    const type = String(row['event_type']);
    const track = this.#writer.track(`memory ${parent}`, 'host memory events', { parent, rank: RANKS.memory });
    this.#instant(time, track, type, [row, []]);
    const sign = type === 'queue_alloca' ? 1n : type === 'queue_dealloca' ? -1n : 0n;
    if (sign === 0n) return;
    const bytes = (this.#openBytes.get(parent) ?? 0n) + sign * numberOf(row['length']);
    this.#openBytes.set(parent, bytes);
    const place = { parent, rank: RANKS.bytes, isCounter: true };
    const counter = this.#writer.track(`bytes ${parent}`, 'queue allocation bytes', place);
    this.#writer.event(time, counter, 'counter', (event) => event.varint(EVENT.counterValue, bytes));
  }

  #instant(timeNs: bigint, track: bigint, name: string, [row, flows]: readonly [Row, readonly bigint[]]): void {
    this.#writer.event(timeNs, track, 'instant', (event) => {
      event.text(EVENT.name, name);
      for (const flow of flows) event.fixed64(EVENT.flow, flow);
      annotate(event, row);
    });
  }

  #flowsOf(row: Row): readonly bigint[] {
    return this.#flows.get(endpointKey(row, String(row['record_type']), numberOf(row['event_id']))) ?? [];
  }
}

/** Submissions are counted for each stream, events for each profile. */
const endpointKey = (row: Row, type: string, id: bigint): string =>
  type === 'queue_submission' ? `${type} ${numberOf(row['stream_id'])} ${id}` : `${type} ${id}`;

/** What the row says, as arguments of the event. */
function annotate(event: ProtobufMessage, row: Row): void {
  for (const [name, cell] of Object.entries(row)) {
    if (cell === null || name === 'schema_version') continue;
    const annotation = new ProtobufMessage().text(ANNOTATION.name, name);
    if (typeof cell === 'boolean') annotation.varint(ANNOTATION.bool, cell ? 1 : 0);
    else if (typeof cell === 'string') annotation.text(ANNOTATION.text, cell);
    else if (typeof cell === 'object') annotation.text(ANNOTATION.text, jsonOf(cell));
    else if (typeof cell === 'number' && !Number.isInteger(cell)) annotation.double(ANNOTATION.double, cell);
    else annotation.varint(cell < 0 ? ANNOTATION.int : ANNOTATION.uint, cell);
    event.message(EVENT.annotation, annotation);
  }
}
