/**
 * How the payload of a record lies in bytes: a table of fields and of what follows behind them, of which
 * types, reader, writer and the rows of dumps derive. All numbers are little-endian.
 */
import { type ErrorContext, WavewrightError } from '../../base/errors.ts';
import { FIXED, type FixedCodec, type FixedKinds, TAILS, type TailCodec, type TailKinds } from './payload-kinds.ts';

type Kinds = FixedKinds & TailKinds;

interface FieldText {
  /** Its name in JSON Lines and in text where it is not the field's; `undefined`: it is not there. */
  readonly json?: string | undefined;
  readonly text?: string | undefined;
  /** Of a number in text: hexadecimal digits. */
  readonly digits?: number;
  /** In text it stands behind the ranges. */
  readonly isLast?: boolean;
}

export interface FixedField<Kind extends keyof FixedKinds = keyof FixedKinds> extends FieldText {
  readonly kind: Kind;
  readonly offset: number;
}

/** What stands behind the fields; `offset` is where its length or count is. */
export interface TailField<Kind extends keyof TailKinds = keyof TailKinds> extends FieldText {
  readonly kind: Kind;
  readonly offset: number;
  /** The length has 4 bytes, in place of 8. */
  readonly isNarrow?: boolean;
  /** Dumps show the elements, too, under this name. */
  readonly elements?: string;
}

export type PayloadField = FixedField | TailField;

/** `PayloadOf<typeof DISPATCH>` is what the layout reads and writes. */
export type PayloadOf<Layout extends { readonly fields: Readonly<Record<string, PayloadField>> }> = {
  readonly [Name in keyof Layout['fields']]: Kinds[Layout['fields'][Name]['kind']];
};

const fixed =
  <Kind extends keyof FixedKinds>(kind: Kind, digits?: number) =>
  (offset: number, how: FieldText = {}): FixedField<Kind> => ({
    kind,
    offset,
    ...(digits !== undefined && { digits }),
    ...how,
  });
const tail =
  <Kind extends keyof TailKinds>(kind: Kind) =>
  (offset: number, how: Omit<TailField, 'kind' | 'offset'> = {}): TailField<Kind> => ({ kind, offset, ...how });

export const u8At = fixed('u8');
export const u16At = fixed('u16');
export const u32At = fixed('u32');
export const u64At = fixed('u64');
export const flags16At = fixed('u16', 4);
export const flags32At = fixed('u32', 8);
export const flags64At = fixed('u64', 16);
/** An id of an object, 0 for none. */
export const idAt = fixed('size');
/** What fits into 2^53. */
export const sizeAt = fixed('size');
export const extentAt = fixed('extent');
export const bufferRefAt = fixed('bufferRef');
export const digestAt = fixed('digest');
export const dataAt = tail('data');
export const textAt = tail('text');
export const wordsAt = tail('words');
export const idsAt = tail('ids');
export const timepointsAt = tail('timepoints');
export const bufferRefsAt = tail('bufferRefs');
export const memoryBarriersAt = tail('memoryBarriers');
export const bufferBarriersAt = tail('bufferBarriers');

const isTail = (kind: keyof Kinds): kind is keyof TailKinds => kind in TAILS;

interface NamedFixed extends FixedCodec<unknown> {
  readonly name: string;
  readonly offset: number;
}
interface NamedTail extends TailCodec<unknown> {
  readonly name: string;
  readonly offset: number;
  readonly isNarrow: boolean;
}

interface TailRange extends NamedTail {
  readonly sizeBytes: number;
}

/** Where a payload is in its file, for errors. */
export interface PayloadPlace extends ErrorContext {
  readonly offset: number;
}

export class PayloadLayout<
  const Of extends Readonly<Record<string, PayloadField>> = Readonly<Record<string, PayloadField>>,
> {
  /** In dumps: `device_queue_fill`. */
  readonly name: string;
  readonly type: number;
  /** Of the fields. */
  readonly sizeBytes: number;
  readonly fields: Of;
  readonly #fixed: readonly NamedFixed[];
  readonly #tails: readonly NamedTail[];

  constructor(name: string, type: number, sizeBytes: number, fields: Of) {
    this.name = name;
    this.type = type;
    this.sizeBytes = sizeBytes;
    this.fields = fields;
    const all = Object.entries<PayloadField>(fields);
    // reason: a codec gets values of its own kind, as `PayloadOf` says
    this.#fixed = all.flatMap(([field, { kind, offset }]) =>
      isTail(kind) ? [] : [{ name: field, offset, ...(FIXED[kind] as FixedCodec<unknown>) }],
    );
    this.#tails = all
      .flatMap(([field, each]) =>
        isTail(each.kind)
          ? [
              {
                name: field,
                offset: each.offset,
                isNarrow: 'isNarrow' in each && each.isNarrow === true,
                ...(TAILS[each.kind] as TailCodec<unknown>),
              },
            ]
          : [],
      )
      .toSorted((a, b) => tailRank(fields, a.name) - tailRank(fields, b.name));
  }

  /** A payload in parts; what `given` leaves out is 0 or empty. */
  encode(given: Partial<PayloadOf<this>>): Uint8Array[] {
    const values: Readonly<Record<string, unknown>> = given;
    const head = new Uint8Array(this.sizeBytes);
    const view = new DataView(head.buffer);
    for (const { name, offset, none, set } of this.#fixed) set(view, offset, values[name] ?? none);
    const parts: Uint8Array[] = [head];
    for (const { name, offset, isNarrow, width, none, bytes } of this.#tails) {
      const part = bytes(values[name] ?? none);
      const count = part.length / width;
      if (isNarrow) view.setUint32(offset, count, true);
      else view.setBigUint64(offset, BigInt(count), true);
      if (part.length > 0) parts.push(part);
    }
    return parts;
  }

  /**
   * Throws BAD_INPUT for lengths that do not fit together. `mayBeLonger`: a later version may have added
   * something at the end.
   */
  decode(payload: Uint8Array, place: PayloadPlace, mayBeLonger = false): PayloadOf<this> {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const fail = this.#failAt(place);
    if (payload.length < this.sizeBytes) fail(`${payload.length} bytes, expected at least ${this.sizeBytes}`, 0);
    const record: Record<string, unknown> = {};
    for (const { name, offset, get } of this.#fixed) {
      record[name] = get(view, offset) ?? fail(`${name} is ${view.getBigUint64(offset, true)}, more than 2^53`, offset);
    }
    let next = this.sizeBytes;
    for (const { name, sizeBytes, get } of this.tailRanges(payload, place)) {
      const part = get(payload.subarray(next, next + sizeBytes));
      record[name] = part ?? fail(`${name} holds a number of more than 2^53, or no UTF-8`, next);
      next += sizeBytes;
    }
    if (next !== payload.length && !mayBeLonger) fail(`${payload.length} bytes, its parts have ${next}`, next);
    // reason: each field of the table was read as the kind that the table says
    return record as PayloadOf<this>;
  }

  #failAt(place: PayloadPlace): (what: string, at: number) => never {
    return (what, at) => {
      throw new WavewrightError('BAD_INPUT', what, { ...place, section: this.name, offset: place.offset + at });
    };
  }

  /** What stands behind the fields, one behind the other. Throws BAD_INPUT. */
  tailRanges(payload: Uint8Array, place: PayloadPlace): readonly TailRange[] {
    const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
    const fail = this.#failAt(place);
    let left = payload.length - this.sizeBytes;
    return this.#tails.map((each) => {
      const { name, offset, isNarrow, width } = each;
      const count = isNarrow ? view.getUint32(offset, true) : Number(view.getBigUint64(offset, true));
      const sizeBytes = count * width;
      if (sizeBytes > left) fail(`${sizeBytes} bytes of ${name}, ${left} are left`, payload.length - left);
      left -= sizeBytes;
      return { ...each, sizeBytes };
    });
  }
}

/** Waits come before signals, and both before all else. */
function tailRank(fields: Readonly<Record<string, PayloadField>>, name: string): number {
  const order = Object.keys(fields).indexOf(name);
  return fields[name]!.kind === 'timepoints' ? order - 1000 : order;
}
