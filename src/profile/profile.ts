/** A profile as a whole: what its records say, by what they are about. */
import { ClockFit } from './clock-fit.ts';
import { type Bundle, type BundleRecord, readProfileBundle } from './format/bundle.ts';
import { INSTRUCTION_LAYOUTS } from './format/instruction-records.ts';
import type { RecordLayout, RecordOf } from './format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  COMMAND_BUFFER_OPERATIONS,
  COMMAND_BUFFERS,
  DEVICES,
  DISPATCH_EVENTS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLES,
  QUEUES,
  RECORD_LAYOUTS,
} from './format/records.ts';

export type DispatchRecord = RecordOf<typeof DISPATCH_EVENTS>;
export type ExportRecord = RecordOf<typeof EXECUTABLE_EXPORTS>;

/** A dispatch, and the queue that its chunk names. */
export interface PlacedDispatch extends DispatchRecord {
  readonly physicalDeviceOrdinal: number;
  readonly queueOrdinal: number;
  readonly streamId: bigint;
}

/** A record, and the part of the file that it is in. */
type Located<Layout extends RecordLayout> = readonly [RecordOf<Layout>, BundleRecord];

/** Of one content type, or of types of records. */
export interface ChunkCounts {
  chunks: number;
  records: number;
}

export class Profile {
  readonly name: string;
  readonly bundle: Bundle;
  /** Of each record, without the records of its chunk. */
  readonly parts: readonly BundleRecord[];

  private constructor(name: string, bundle: Bundle, parts: readonly BundleRecord[]) {
    this.name = name;
    this.bundle = bundle;
    this.parts = parts;
  }

  /**
   * Reads the frame of a file. Throws BAD_INPUT for what is no profile, or a damaged one, UNSUPPORTED for
   * another version.
   */
  static read(file: Uint8Array, name = 'profile'): Profile {
    const bundle = readProfileBundle(file, name);
    return new Profile(name, bundle, [...bundle.records()]);
  }

  /** All records of a layout, with the part of the file that each is in. Throws BAD_INPUT. */
  *located<Layout extends RecordLayout>(layout: Layout): Generator<Located<Layout>> {
    for (const part of this.parts) {
      if (part.type !== 'chunk' || part.contentType !== layout.contentType) continue;
      for (const record of layout.decode(part.payload, part.payloadOffset)) yield [record, part];
    }
  }

  /** As `located`, the records alone. */
  all<Layout extends RecordLayout>(layout: Layout): RecordOf<Layout>[] {
    return [...this.located(layout)].map(([record]) => record);
  }

  /** Chunks and records of a layout. */
  count(layout: RecordLayout): ChunkCounts {
    const counts = { chunks: 0, records: 0 };
    for (const part of this.parts) {
      if (part.type !== 'chunk' || part.contentType !== layout.contentType) continue;
      counts.chunks++;
      for (const _ of layout.places(part.payload, part.payloadOffset)) counts.records++;
    }
    return counts;
  }

  readonly #devices = once(() => this.all(DEVICES));
  readonly #queues = once(() => this.all(QUEUES));
  readonly #executables = once(() => byId(this.all(EXECUTABLES), ({ executableId }) => executableId));
  readonly #exports = once(() => {
    // Of two names of the same, the first one counts.
    const records = [...this.all(EXECUTABLE_FUNCTIONS), ...this.all(EXECUTABLE_EXPORTS)];
    return byId(records, ({ executableId, exportOrdinal }) => `${executableId}/${exportOrdinal}`);
  });
  readonly #commandBuffers = once(() => byId(this.all(COMMAND_BUFFERS), ({ commandBufferId }) => commandBufferId));
  readonly #operations = once(() => this.all(COMMAND_BUFFER_OPERATIONS));
  readonly #clocks = once(() =>
    Map.groupBy(this.all(CLOCK_CORRELATIONS), ({ physicalDeviceOrdinal }) => physicalDeviceOrdinal),
  );
  readonly #fits = once(() => new Map([...this.clocks].map(([device, samples]) => [device, ClockFit.of(samples)])));
  readonly #dispatches = once(() =>
    Array.from(this.located(DISPATCH_EVENTS), ([record, { physicalDeviceOrdinal, queueOrdinal, streamId }]) => ({
      ...record,
      ...{ physicalDeviceOrdinal, queueOrdinal, streamId },
    })),
  );

  get devices(): readonly RecordOf<typeof DEVICES>[] {
    return this.#devices();
  }

  get queues(): readonly RecordOf<typeof QUEUES>[] {
    return this.#queues();
  }

  get executables(): ReadonlyMap<bigint, RecordOf<typeof EXECUTABLES>> {
    return this.#executables();
  }

  /** By `EXECUTABLE/ORDINAL`, in the order of the file. */
  get exports(): ReadonlyMap<string, ExportRecord> {
    return this.#exports();
  }

  get commandBuffers(): ReadonlyMap<bigint, RecordOf<typeof COMMAND_BUFFERS>> {
    return this.#commandBuffers();
  }

  get operations(): readonly RecordOf<typeof COMMAND_BUFFER_OPERATIONS>[] {
    return this.#operations();
  }

  get dispatches(): readonly PlacedDispatch[] {
    return this.#dispatches();
  }

  /** Samples by physical device. */
  get clocks(): ReadonlyMap<number, readonly RecordOf<typeof CLOCK_CORRELATIONS>[]> {
    return this.#clocks();
  }

  /** Of a physical device, where its samples have one. */
  clockFit(physicalDeviceOrdinal: number): ClockFit | undefined {
    return this.#fits().get(physicalDeviceOrdinal);
  }

  /** What a dispatch runs: the name of the export, else numbers. */
  keyOf(executableId: bigint, exportOrdinal: number, device?: number): string {
    const name = this.exports.get(`${executableId}/${exportOrdinal}`)?.name ?? '';
    if (name !== '') return name;
    return `${device === undefined ? '' : `device${device}/`}executable${executableId}#${exportOrdinal}`;
  }

  /** Chunks that lost records, and how many these are: of some layouts, or of all. */
  losses(...layouts: readonly RecordLayout[]): { readonly truncatedChunks: number; readonly droppedRecords: bigint } {
    const names = new Set(layouts.map(({ contentType }) => contentType));
    const chunks = this.parts.filter(
      ({ type, contentType, isTruncated }) =>
        type === 'chunk' && isTruncated && (names.size === 0 || names.has(contentType)),
    );
    return {
      truncatedChunks: chunks.length,
      droppedRecords: chunks.reduce((sum, { droppedCount }) => sum + droppedCount, 0n),
    };
  }
}

/** Whether a chunk holds what this version knows. */
export const isKnownChunk = ({ contentType }: BundleRecord): boolean =>
  contentType === 'session' || RECORD_LAYOUTS.has(contentType) || INSTRUCTION_LAYOUTS.has(contentType);

/** Ticks are valid when both are there, in order. */
export const areValidTicks = (startTick: bigint, endTick: bigint): boolean =>
  startTick !== 0n && endTick !== 0n && endTick >= startTick;

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

const byId = <Id, Each>(records: readonly Each[], idOf: (record: Each) => Id): Map<Id, Each> =>
  new Map(records.map((record) => [idOf(record), record]));
