/**
 * How a record of a profile file lies in bytes: a table of fields, of which types, reader, writer, and names
 * in interchange files derive. Records begin with their own length as u32, so that readers skip what they do
 * not know at the end of one. All numbers are little-endian, and nothing is aligned.
 */
import { WavewrightError } from '../../base/errors.ts';

/** Of an ordinal or index that a record does not have. */
export const NO_ORDINAL = 0xffff_ffff;

/** A value of a device metric: 24 bytes. */
export interface MetricValue {
  readonly metricId: bigint;
  /** As the metric's descriptor says: an integer, or the bits of an f64. */
  readonly bits: bigint;
  readonly flags: number;
}

/** What lies in a record, of a size that the table says. */
interface FixedKinds {
  readonly u32: number;
  readonly i32: number;
  /** As `u32`; `NO_ORDINAL` unless one is given. */
  readonly ordinal: number;
  readonly u64: bigint;
  readonly i64: bigint;
  readonly u32s: readonly number[];
  readonly u64s: readonly bigint[];
  readonly bytes: Uint8Array;
}

/** What lies behind the fields, in the order of the table; the field is its length. */
interface TailKinds {
  readonly text: string;
  readonly data: Uint8Array;
  readonly values: readonly bigint[];
  readonly metrics: readonly MetricValue[];
  /** Behind the record, which is the only one of its chunk, and not counted by the record's own length. */
  readonly following: Uint8Array;
}

type Kinds = FixedKinds & TailKinds;

export interface RecordField<Kind extends keyof Kinds = keyof Kinds> {
  readonly kind: Kind;
  readonly offset: number;
  /** Elements of `u32s`, `u64s` and `bytes`; bytes of the length of what lies behind the fields. */
  readonly count: number;
  /** Names of its values. */
  readonly names?: Readonly<Record<number, string>>;
  /** Its name in interchange files where it is not the field's, or that of the value's name. */
  readonly json?: string;
}

type Names = Readonly<Record<number, string>>;

const field =
  <Kind extends keyof Kinds>(kind: Kind, count = 1) =>
  (offset: number): RecordField<Kind> => ({ kind, offset, count });

export const u32 = field('u32');
export const i32 = field('i32');
export const ordinal = field('ordinal');
export const u64 = field('u64');
export const i64 = field('i64');
export const extent = field('u32s', 3);
export const hash = field('u64s', 2);
export const text = field('text', 4);
export const data = field('data', 8);
export const values = field('values', 4);
export const metrics = field('metrics', 4);
export const following = field('following', 8);
export const u32s = (offset: number, count: number): RecordField<'u32s'> => ({ kind: 'u32s', offset, count });
export const bytes = (offset: number, count: number): RecordField<'bytes'> => ({ kind: 'bytes', offset, count });
/**
 * `json`: what interchange files call the name of the value; the value itself is `json` with `_value` behind.
 */
export const namedNumber = (offset: number, names: Names, json: string): RecordField<'u32'> => ({
  ...u32(offset),
  names,
  json,
});

/** A record of a layout; reserved fields and its own length are left out. */
export type RecordOf<Layout extends { readonly fields: Readonly<Record<string, RecordField>> }> = {
  readonly [Name in keyof Layout['fields']]: Kinds[Layout['fields'][Name]['kind']];
};

interface FixedCodec<Value> {
  readonly none: Value;
  get(view: DataView, at: number, count: number): Value;
  set(view: DataView, at: number, value: Value): void;
}

const FIXED: { readonly [Kind in keyof FixedKinds]: FixedCodec<FixedKinds[Kind]> } = {
  u32: {
    none: 0,
    get: (view, at) => view.getUint32(at, true),
    set: (view, at, value) => view.setUint32(at, value, true),
  },
  i32: {
    none: 0,
    get: (view, at) => view.getInt32(at, true),
    set: (view, at, value) => view.setInt32(at, value, true),
  },
  ordinal: {
    none: NO_ORDINAL,
    get: (view, at) => view.getUint32(at, true),
    set: (view, at, value) => view.setUint32(at, value, true),
  },
  u64: {
    none: 0n,
    get: (view, at) => view.getBigUint64(at, true),
    set: (view, at, value) => view.setBigUint64(at, value, true),
  },
  i64: {
    none: 0n,
    get: (view, at) => view.getBigInt64(at, true),
    set: (view, at, value) => view.setBigInt64(at, value, true),
  },
  u32s: {
    none: [],
    get: (view, at, count) => Array.from({ length: count }, (_, i) => view.getUint32(at + 4 * i, true)),
    set: (view, at, value) => {
      for (const [i, each] of value.entries()) view.setUint32(at + 4 * i, each, true);
    },
  },
  u64s: {
    none: [],
    get: (view, at, count) => Array.from({ length: count }, (_, i) => view.getBigUint64(at + 8 * i, true)),
    set: (view, at, value) => {
      for (const [i, each] of value.entries()) view.setBigUint64(at + 8 * i, each, true);
    },
  },
  bytes: {
    none: new Uint8Array(),
    get: (view, at, count) => new Uint8Array(view.buffer, view.byteOffset + at, count),
    set: (view, at, value) => new Uint8Array(view.buffer, view.byteOffset).set(value, at),
  },
};

interface TailCodec<Value> {
  readonly none: Value;
  /** Of an element, in bytes: the length counts elements. */
  readonly width: number;
  get(tail: Uint8Array): Value;
  bytes(value: Value): Uint8Array;
}

const viewOf = (of: Uint8Array): DataView => new DataView(of.buffer, of.byteOffset, of.byteLength);
const RAW: TailCodec<Uint8Array> = { none: new Uint8Array(), width: 1, get: (tail) => tail, bytes: (value) => value };
const UTF8 = new TextDecoder();
const TO_UTF8 = new TextEncoder();

const TAILS: { readonly [Kind in keyof TailKinds]: TailCodec<TailKinds[Kind]> } = {
  text: { none: '', width: 1, get: (tail) => UTF8.decode(tail), bytes: (value) => TO_UTF8.encode(value) },
  data: RAW,
  following: RAW,
  values: {
    none: [],
    width: 8,
    get: (tail) => FIXED.u64s.get(viewOf(tail), 0, tail.length / 8),
    bytes: (value) => new Uint8Array(BigUint64Array.from(value).buffer),
  },
  metrics: {
    none: [],
    width: 24,
    get: (tail) => {
      const view = viewOf(tail);
      return Array.from({ length: tail.length / 24 }, (_, i) => ({
        metricId: view.getBigUint64(24 * i, true),
        bits: view.getBigUint64(24 * i + 8, true),
        flags: view.getUint32(24 * i + 16, true),
      }));
    },
    bytes: (value) => {
      const out = new DataView(new ArrayBuffer(24 * value.length));
      for (const [i, { metricId, bits, flags }] of value.entries()) {
        out.setBigUint64(24 * i, metricId, true);
        out.setBigUint64(24 * i + 8, bits, true);
        out.setUint32(24 * i + 16, flags, true);
      }
      return new Uint8Array(out.buffer);
    },
  },
};

const isTail = (kind: keyof Kinds): kind is keyof TailKinds => kind in TAILS;

/** A field with its codec; values are of the kind that the table says. */
interface FixedField extends FixedCodec<unknown> {
  readonly name: string;
  readonly offset: number;
  readonly count: number;
}
interface TailField extends TailCodec<unknown> {
  readonly name: string;
  readonly offset: number;
  readonly isFollowing: boolean;
  readonly isWide: boolean;
}

export class RecordLayout<
  const Of extends Readonly<Record<string, RecordField>> = Readonly<Record<string, RecordField>>,
> {
  /** What stands behind `application/vnd.iree.hal.profile.`, or one with a dot that is not IREE's, whole. */
  readonly contentType: string;
  /** `record_type` in interchange files. */
  readonly rowType: string;
  /** Of the fields. */
  readonly sizeBytes: number;
  readonly fields: Of;
  readonly #fixed: readonly FixedField[];
  readonly #tails: readonly TailField[];

  constructor(contentType: string, rowType: string, sizeBytes: number, fields: Of) {
    this.contentType = contentType;
    this.rowType = rowType;
    this.sizeBytes = sizeBytes;
    this.fields = fields;
    const all = Object.entries<RecordField>(fields);
    // reason: a codec gets values of its own kind, as `RecordOf` says
    this.#fixed = all.flatMap(([name, { kind, offset, count }]) =>
      isTail(kind) ? [] : [{ name, offset, count, ...(FIXED[kind] as FixedCodec<unknown>) }],
    );
    this.#tails = all.flatMap(([name, { kind, offset, count }]) =>
      isTail(kind)
        ? [
            {
              name,
              offset,
              isFollowing: kind === 'following',
              isWide: count === 8,
              ...(TAILS[kind] as TailCodec<unknown>),
            },
          ]
        : [],
    );
  }

  /** A record; what `given` leaves out is 0, empty, or no ordinal. */
  encode(given: Partial<RecordOf<this>>): Uint8Array<ArrayBuffer> {
    const record: Readonly<Record<string, unknown>> = given;
    const tails = this.#tails.map((each) => ({ ...each, tail: each.bytes(record[each.name] ?? each.none) }));
    const bytesOf = (of: typeof tails): number => of.reduce((sum, { tail }) => sum + tail.length, this.sizeBytes);
    const out = new Uint8Array(bytesOf(tails));
    const view = viewOf(out);
    view.setUint32(0, bytesOf(tails.filter(({ isFollowing }) => !isFollowing)), true);
    for (const { name, offset, none, set } of this.#fixed) set(view, offset, record[name] ?? none);
    let at = this.sizeBytes;
    for (const { offset, isWide, width, tail } of tails) {
      if (isWide) view.setBigUint64(offset, BigInt(tail.length / width), true);
      else view.setUint32(offset, tail.length / width, true);
      out.set(tail, at);
      at += tail.length;
    }
    return out;
  }

  /**
   * The records of a chunk's payload, which begins at `fileOffset`. Throws BAD_INPUT for lengths that do not
   * fit.
   */
  *decode(payload: Uint8Array, fileOffset = 0): Generator<RecordOf<this>> {
    const view = viewOf(payload);
    for (const at of this.places(payload, fileOffset)) {
      const record: Record<string, unknown> = {};
      for (const { name, offset, count, get } of this.#fixed) record[name] = get(view, at + offset, count);
      let [next, end] = [at + this.sizeBytes, at + view.getUint32(at, true)];
      for (const { name, offset, isFollowing, isWide, width, get } of this.#tails) {
        if (isFollowing) [next, end] = [end, payload.length];
        const count = isWide ? Number(view.getBigUint64(at + offset, true)) : view.getUint32(at + offset, true);
        if (count * width > end - next) {
          this.#fail(`a ${name} of ${count * width} bytes, ${end - next} are left`, fileOffset + next);
        }
        record[name] = get(payload.subarray(next, next + count * width));
        next += count * width;
      }
      // reason: each field of the table was read as the kind that the table says
      yield record as RecordOf<this>;
    }
  }

  /** Where the records of a chunk's payload begin in it. Throws BAD_INPUT as `decode` does. */
  *places(payload: Uint8Array, fileOffset = 0): Generator<number> {
    const view = viewOf(payload);
    const hasFollowing = this.#tails.some(({ isFollowing }) => isFollowing);
    for (let at = 0; at < payload.length; ) {
      const left = payload.length - at;
      if (left < this.sizeBytes) {
        this.#fail(`a record of ${left} bytes, expected at least ${this.sizeBytes}`, fileOffset + at);
      }
      const lengthBytes = view.getUint32(at, true);
      if (lengthBytes < this.sizeBytes || lengthBytes > left) {
        this.#fail(`a record of ${lengthBytes} bytes, expected ${this.sizeBytes} to ${left}`, fileOffset + at);
      }
      yield at;
      at = hasFollowing ? payload.length : at + lengthBytes;
    }
  }

  #fail(what: string, offset: number): never {
    throw new WavewrightError('BAD_INPUT', what, { section: this.contentType, offset });
  }
}
