/**
 * Columns of integers in few bytes: differences of neighbours, signs in the lowest bit, seven bits to a byte
 * (LEB128). What is sorted or repeats itself shrinks to little before it is compressed. The page of a report
 * reads with the same code as the report is written with.
 */

/** Where a column lies among the bytes. */
export interface ColumnPlace {
  readonly offset: number;
  readonly sizeBytes: number;
  /** Behind it lie as many bytes as this for its upper 32 bits: it holds numbers above 2^50. */
  readonly upperBytes?: number;
}

/** A table: each column has a number for each row. */
export interface TablePlace {
  readonly rowCount: number;
  readonly columns: Readonly<Record<string, ColumnPlace>>;
}

/** What columns are made of. Numbers are integers below 2^50. */
export type Integers = Float64Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array;

/** Differences of two numbers below this are exact, with a sign bit too. */
const NARROW_LIMIT = 2 ** 50;
/** Of a difference: 52 bits. */
const MAX_BYTES_PER_VALUE = 8;

/** A decoded column; integers are numbers where all of them are below 2^50. */
export type DecodedColumn = Float64Array | readonly bigint[];

export class ColumnWriter {
  readonly #parts: Uint8Array[] = [];
  #sizeBytes = 0;

  /** Adds a column with the values that `order` names, in its order. */
  add(values: Integers, order: Uint32Array): ColumnPlace {
    const offset = this.#sizeBytes;
    if (!(values instanceof BigInt64Array || values instanceof BigUint64Array)) {
      return { offset, sizeBytes: this.#append(values, order) };
    }
    const dwords = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
    const lower = new Float64Array(values.length);
    const upper = new Float64Array(values.length);
    let isNarrow = true;
    for (let i = 0; i < values.length; i++) {
      lower[i] = dwords[2 * i]! >>> 0;
      upper[i] = values instanceof BigInt64Array ? dwords[2 * i + 1]! : dwords[2 * i + 1]! >>> 0;
      isNarrow &&= Math.abs(upper[i]!) < NARROW_LIMIT / 2 ** 32;
    }
    if (!isNarrow) {
      const sizeBytes = this.#append(lower, order);
      return { offset, sizeBytes, upperBytes: this.#append(upper, order) };
    }
    for (let i = 0; i < values.length; i++) lower[i]! += upper[i]! * 2 ** 32;
    return { offset, sizeBytes: this.#append(lower, order) };
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    const all = new Uint8Array(this.#sizeBytes);
    let at = 0;
    for (const part of this.#parts) {
      all.set(part, at);
      at += part.length;
    }
    return all;
  }

  #append(values: Float64Array | Uint32Array | Int32Array, order: Uint32Array): number {
    const out = new Uint8Array(MAX_BYTES_PER_VALUE * order.length);
    let [at, before] = [0, 0];
    for (const row of order) {
      const value = values[row]!;
      const difference = value - before;
      before = value;
      let rest = difference < 0 ? -2 * difference - 1 : 2 * difference;
      for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) out[at++] = (rest % 0x80) | 0x80;
      out[at++] = rest;
    }
    this.#parts.push(out.slice(0, at));
    this.#sizeBytes += at;
    return at;
  }
}

/**
 * The values of a column. Bytes that no writer made give numbers of no meaning, and nothing is read beyond
 * them.
 */
export function readColumn(bytes: Uint8Array, place: ColumnPlace, rowCount: number): DecodedColumn {
  const { offset, sizeBytes, upperBytes } = place;
  const lower = decode(bytes.subarray(offset, offset + sizeBytes), rowCount);
  if (upperBytes === undefined) return lower;
  const upper = decode(bytes.subarray(offset + sizeBytes, offset + sizeBytes + upperBytes), rowCount);
  return Array.from(lower, (low, i) => (BigInt(upper[i]!) << 32n) | BigInt(low));
}

function decode(bytes: Uint8Array, count: number): Float64Array {
  const values = new Float64Array(count);
  let [at, before] = [0, 0];
  for (let row = 0; row < count; row++) {
    let [rest, unit] = [0, 1];
    let byte = bytes[at++]!;
    for (; byte >= 0x80; byte = bytes[at++]!) {
      rest += (byte - 0x80) * unit;
      unit *= 0x80;
    }
    rest += byte * unit;
    before += rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
    values[row] = before;
  }
  return values;
}
