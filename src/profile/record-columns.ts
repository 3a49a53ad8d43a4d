/**
 * The records of a profile by their fields: an array of numbers for each field, in the order of the file.
 * Where there are a million records, an object for each of them would take most of the time and the memory.
 */

import type { RecordField, RecordLayout } from './format/record-layout.ts';
import type { Profile } from './profile.ts';

/** Of fields with 32 bits, and of those with 64. */
export type NumberColumn = Uint32Array | Int32Array | BigUint64Array | BigInt64Array;

type Read = (view: DataView, at: number) => number | bigint;

const KINDS: Readonly<Record<string, readonly [make: (count: number) => NumberColumn, read: Read]>> = {
  u32: [(count) => new Uint32Array(count), (view, at) => view.getUint32(at, true)],
  ordinal: [(count) => new Uint32Array(count), (view, at) => view.getUint32(at, true)],
  i32: [(count) => new Int32Array(count), (view, at) => view.getInt32(at, true)],
  u64: [(count) => new BigUint64Array(count), (view, at) => view.getBigUint64(at, true)],
  i64: [(count) => new BigInt64Array(count), (view, at) => view.getBigInt64(at, true)],
};

/** A part of the file, and where in it a record begins. */
interface Chunk {
  readonly view: DataView;
  readonly places: Uint32Array;
  /** What the chunk says of all its records. */
  readonly of: Profile['parts'][number];
}

/** Fields of 32 or 64 bits; an element of a field with several is `NAME.INDEX`. */
export class RecordColumns {
  readonly count: number;
  readonly #chunks: readonly Chunk[];
  readonly #layout: RecordLayout;

  /** Throws BAD_INPUT for a damaged chunk. */
  constructor(profile: Profile, layout: RecordLayout) {
    this.#layout = layout;
    this.#chunks = profile.parts
      .filter(({ type, contentType }) => type === 'chunk' && contentType === layout.contentType)
      .map((of) => {
        const { payload, payloadOffset } = of;
        const places = Uint32Array.from(layout.places(payload, payloadOffset));
        return { of, places, view: new DataView(payload.buffer, payload.byteOffset, payload.byteLength) };
      });
    this.count = this.#chunks.reduce((sum, { places }) => sum + places.length, 0);
  }

  /** Names of the columns, in the order of the layout's table. */
  get names(): string[] {
    return Object.entries<RecordField>(this.#layout.fields).flatMap(([name, { kind, count }]) => {
      if (kind in KINDS) return [name];
      return kind === 'u32s' ? Array.from({ length: count }, (_, i) => `${name}.${i}`) : [];
    });
  }

  /** A column by its name. */
  column(name: string): NumberColumn {
    const [fieldName, element = '0'] = name.split('.');
    const { kind, offset } = this.#layout.fields[fieldName!]!;
    const [make, read] = KINDS[kind === 'u32s' ? 'u32' : kind]!;
    const values = make(this.count);
    const shift = offset + 4 * Number(element);
    let next = 0;
    for (const { view, places } of this.#chunks) {
      for (const at of places) values[next++] = read(view, at + shift);
    }
    return values;
  }

  /** As `column`, of a field with 64 bits. */
  times(name: string): BigInt64Array | BigUint64Array {
    const values = this.column(name);
    return values instanceof BigUint64Array || values instanceof BigInt64Array
      ? values
      : BigInt64Array.from(values, (value) => BigInt(value));
  }

  /** As `column`, of a field with 32 bits. */
  ordinals(name: string): Uint32Array {
    const values = this.column(name);
    return values instanceof Uint32Array ? values : Uint32Array.from(values, Number);
  }

  /** What the chunk of each record says, where its records do not. */
  ofChunks(name: 'physicalDeviceOrdinal' | 'queueOrdinal'): Uint32Array {
    return this.#fill(new Uint32Array(this.count), (chunk) => chunk[name]);
  }

  /** As `ofChunks`. */
  streamsOfChunks(): BigUint64Array {
    return this.#fill(new BigUint64Array(this.count), ({ streamId }) => streamId);
  }

  #fill<Values extends { fill(value: Of, start: number, end: number): Values }, Of>(
    values: Values,
    say: (chunk: Profile['parts'][number]) => Of,
  ): Values {
    let next = 0;
    for (const { of, places } of this.#chunks) {
      values.fill(say(of), next, next + places.length);
      next += places.length;
    }
    return values;
  }
}
