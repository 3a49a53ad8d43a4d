/**
 * What the page of a report knows: a header as JSON, and tables of numbers behind it. Whoever writes the page
 * and the page itself share these types.
 */
import type { TablePlace } from './columns.ts';

export const EVENT_FAMILIES = ['queue', 'dispatch', 'device', 'host', 'memory'] as const;
export type EventFamily = (typeof EVENT_FAMILIES)[number];

/** How a column of events is called and shown. */
export interface EventField {
  readonly label: string;
  /** Of its values. */
  readonly names?: Readonly<Record<number, string>>;
  /** This value means that there is none. */
  readonly none?: number;
}

/**
 * Events of one family: `start` and `duration` in nanoseconds from the base time on, `name` as an index of
 * the header's names, and the fields of the record. Rows are sorted by track, then by start.
 */
export interface EventTable extends TablePlace {
  /** By column. */
  readonly fields: Readonly<Record<string, EventField>>;
}

/** Rows of a table that are drawn in one line: they do not overlap, but in a track for the rest. */
export interface Track {
  readonly family: EventFamily;
  readonly device: number;
  readonly queue: number;
  /** From 0 on. */
  readonly lane: number;
  /** Whether it has all that found no lane. */
  readonly isRest: boolean;
  readonly first: number;
  readonly count: number;
}

export interface QueuePlace {
  readonly device: number;
  readonly queue: number;
  readonly title: string;
}

/** Runs of one kernel on one device, or by the host. Durations are in ns, or in ticks without a clock. */
export interface KernelRow {
  readonly name: string;
  readonly where: string;
  readonly executable: string;
  readonly exportOrdinal: number;
  readonly unit: 'ns' | 'ticks';
  readonly launches: number;
  readonly total: number;
  readonly mean: number;
  readonly min: number;
  readonly max: number;
  readonly deviation: number;
  readonly workgroups: number;
  /** By the index of the header's counters; sums over all launches. */
  readonly counters: Readonly<Record<number, number>>;
}

export interface CounterColumn {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
}

/** Memory that is open on a device: `time`, and a column of bytes for each kind. */
export interface OpenMemory {
  readonly device: number;
  readonly kinds: readonly string[];
  readonly table: TablePlace;
}

export interface AllocationRow {
  readonly kind: string;
  readonly device: number;
  readonly id: string;
  readonly pool: string;
  readonly bytes: number;
  readonly startNs: number;
  /** Undefined: still there at the end. */
  readonly endNs?: number;
  readonly events: number;
}

/** Where control goes on behind a block. */
export interface BlockWay {
  /** Index of a block of the same function. */
  readonly to: number;
  readonly isBranch: boolean;
}

/** Instructions of a listing that run one after the other. */
export interface ListedBlock {
  /** Rows of the listing. */
  readonly first: number;
  readonly count: number;
  readonly ways: readonly BlockWay[];
  /** Whether control may leave the function here: by a call, a return, the end of the program. */
  readonly leaves: boolean;
  readonly loopDepth: number;
}

export interface ListedFunction {
  readonly name: string;
  readonly blocks: readonly ListedBlock[];
}

export interface ListedFile {
  /** As the compiler wrote it. */
  readonly name: string;
  /** Of lines that instructions name, where their text is known. */
  readonly lines: Readonly<Record<number, string>>;
}

/**
 * What was counted of each row of a listing, in all launches; null where it does not apply to the
 * instruction.
 */
export interface ListingCounts {
  readonly waves: readonly number[];
  /** Lanes that were active, summed over the waves. */
  readonly lanes: readonly number[];
  readonly taken: readonly (number | null)[];
  /** Of accesses to memory: bytes that lanes asked for, and those of the cache lines that they touched. */
  readonly bytes: readonly (number | null)[];
  readonly touched: readonly (number | null)[];
  /** Of accesses to LDS: cycles that they took, and those of them that bank conflicts cost. */
  readonly cycles: readonly (number | null)[];
  readonly conflicts: readonly (number | null)[];
}

/** The functions of a kernel whose instructions were counted, in the order of addresses. */
export interface KernelListing {
  readonly name: string;
  readonly executable: string;
  readonly exportOrdinal: number;
  readonly waveSize: number;
  /** On all devices. */
  readonly dispatches: number;
  readonly functions: readonly ListedFunction[];
  readonly addresses: readonly number[];
  readonly texts: readonly string[];
  /** Indices of `files`, -1 for none. */
  readonly fileOf: readonly number[];
  /** From 1 on; 0 for none. */
  readonly lineOf: readonly number[];
  readonly files: readonly ListedFile[];
  readonly counts: ListingCounts;
}

export type PlainCell = string | number | boolean | null;

/** A table as other reports print it. */
export interface PlainTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly PlainCell[])[];
}

export interface ReportHeader {
  /** Of the profile. */
  readonly name: string;
  readonly madeBy: string;
  /** Nanoseconds of the host's clock at which the report's time begins; an integer in decimal. */
  readonly baseTimeNs: string;
  readonly spanNs: number;
  readonly names: readonly string[];
  readonly queues: readonly QueuePlace[];
  readonly events: Readonly<Record<EventFamily, EventTable>>;
  readonly tracks: readonly Track[];
  readonly counters: readonly CounterColumn[];
  readonly kernels: readonly KernelRow[];
  readonly openMemory: readonly OpenMemory[];
  readonly allocations: readonly AllocationRow[];
  /** Of how many these are the largest. */
  readonly allocationCount: number;
  readonly code: readonly KernelListing[];
  readonly statistics: readonly PlainTable[];
  /** What a reader must know: records that are missing, events without a time. */
  readonly notices: readonly string[];
}

/** The header's length as u32, the header, the columns. */
export function packReport(header: ReportHeader, columns: Uint8Array): Uint8Array<ArrayBuffer> {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const packed = new Uint8Array(4 + json.length + columns.length);
  new DataView(packed.buffer).setUint32(0, json.length, true);
  packed.set(json, 4);
  packed.set(columns, 4 + json.length);
  return packed;
}

export interface UnpackedReport {
  readonly header: ReportHeader;
  readonly columns: Uint8Array;
}

export function unpackReport(packed: Uint8Array): UnpackedReport {
  const jsonBytes = new DataView(packed.buffer, packed.byteOffset).getUint32(0, true);
  // reason: nothing but `packReport` writes it
  const header = JSON.parse(new TextDecoder().decode(packed.subarray(4, 4 + jsonBytes))) as ReportHeader;
  return { header, columns: packed.subarray(4 + jsonBytes) };
}
