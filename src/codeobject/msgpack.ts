/** MessagePack, the part that metadata has: everything but extension types, and maps only with text as keys (msgpack.org, "Formats"). */
import { WavewrightError } from '../base/errors.ts';

/** What is decoded: 64-bit integers are bigint, whatever their value. */
export type MsgpackValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | MsgpackValue[]
  | { [key: string]: MsgpackValue };

/** What can be encoded: numbers are integers. */
export type MsgpackInput =
  | boolean
  | number
  | bigint
  | string
  | readonly MsgpackInput[]
  | { readonly [key: string]: MsgpackInput };

/**
 * Decodes the one value that `bytes` hold. A level of nesting costs stack, so `enter` is told how deep each map or array that
 * holds something is, from 1, before it is read, and throws where that is too deep. Throws BAD_INPUT.
 */
export function decodeMsgpack(bytes: Uint8Array, enter: (depth: number) => void): MsgpackValue {
  const decoder = new Decoder(bytes, enter);
  const value = decoder.value(0);
  decoder.end();
  return value;
}

/** As llvm-mc: keys of maps in order, every integer in the fewest bytes. Throws BAD_INPUT for an integer of more than 64 bits. */
export function encodeMsgpack(value: MsgpackInput): Uint8Array {
  const bytes: number[] = [];
  write(bytes, value);
  return Uint8Array.from(bytes);
}

function fail(what: string): never {
  throw new WavewrightError('BAD_INPUT', what);
}

const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true });
const textEncoder = new TextEncoder();

class Decoder {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #enter: (depth: number) => void;
  #at = 0;

  constructor(bytes: Uint8Array, enter: (depth: number) => void) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#enter = enter;
  }

  end(): void {
    if (this.#at < this.#bytes.length) fail(`${this.#bytes.length - this.#at} bytes follow the value`);
  }

  value(depth: number): MsgpackValue {
    const head = this.#unsigned(1);
    if (head < 0x80) return head;
    if (head < 0x90) return this.#map(head & 0xf, depth);
    if (head < 0xa0) return this.#array(head & 0xf, depth);
    if (head < 0xc0) return this.#text(head & 0x1f);
    if (head >= 0xe0) return head - 0x100;
    switch (head) {
      case 0xc0:
        return null;
      case 0xc2:
      case 0xc3:
        return head === 0xc3;
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#take(this.#unsigned(1 << (head - 0xc4))).slice();
      case 0xca:
        return this.#view.getFloat32(this.#advance(4));
      case 0xcb:
        return this.#view.getFloat64(this.#advance(8));
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (head - 0xcc));
      case 0xcf:
        return this.#view.getBigUint64(this.#advance(8));
      case 0xd0:
        return this.#view.getInt8(this.#advance(1));
      case 0xd1:
        return this.#view.getInt16(this.#advance(2));
      case 0xd2:
        return this.#view.getInt32(this.#advance(4));
      case 0xd3:
        return this.#view.getBigInt64(this.#advance(8));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(1 << (head - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#unsigned(2 << (head - 0xdc)), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(2 << (head - 0xde)), depth);
      default:
        return fail(`type 0x${head.toString(16)} at ${this.#at - 1}, which metadata does not have`);
    }
  }

  #advance(sizeBytes: number): number {
    const at = this.#at;
    if (sizeBytes > this.#bytes.length - at) fail(`a value of ${sizeBytes} bytes is cut off at ${at}`);
    this.#at = at + sizeBytes;
    return at;
  }

  #take(sizeBytes: number): Uint8Array {
    const at = this.#advance(sizeBytes);
    return this.#bytes.subarray(at, at + sizeBytes);
  }

  #unsigned(sizeBytes: number): number {
    return this.#take(sizeBytes).reduce((value, byte) => value * 256 + byte, 0);
  }

  #text(sizeBytes: number): string {
    return textDecoder.decode(this.#take(sizeBytes));
  }

  #array(count: number, depth: number): MsgpackValue[] {
    if (count > 0) this.#enter(depth + 1);
    const items: MsgpackValue[] = [];
    for (let i = 0; i < count; i++) items.push(this.value(depth + 1));
    return items;
  }

  #map(count: number, depth: number): Record<string, MsgpackValue> {
    if (count > 0) this.#enter(depth + 1);
    const map: Record<string, MsgpackValue> = {};
    for (let i = 0; i < count; i++) {
      const key = this.value(depth + 1);
      // Assigning to that name would change the prototype.
      if (typeof key !== 'string' || key === '__proto__') fail(`a map with the key ${String(key)}`);
      map[key] = this.value(depth + 1);
    }
    return map;
  }
}

function write(bytes: number[], value: MsgpackInput): void {
  if (typeof value === 'boolean') bytes.push(value ? 0xc3 : 0xc2);
  else if (typeof value === 'number' || typeof value === 'bigint') writeInteger(bytes, BigInt(value));
  else if (typeof value === 'string') {
    const text = textEncoder.encode(value);
    if (text.length < 0x20) bytes.push(0xa0 | text.length);
    else writeSized(bytes, [0xd9, 0xda, 0xdb], 1, text.length);
    for (const byte of text) bytes.push(byte);
  } else if (isArray(value)) {
    if (value.length < 0x10) bytes.push(0x90 | value.length);
    else writeSized(bytes, [0xdc, 0xdd], 2, value.length);
    for (const item of value) write(bytes, item);
  } else {
    const keys = Object.keys(value).sort();
    if (keys.length < 0x10) bytes.push(0x80 | keys.length);
    else writeSized(bytes, [0xde, 0xdf], 2, keys.length);
    for (const key of keys) {
      write(bytes, key);
      write(bytes, value[key]!);
    }
  }
}

/** `Array.isArray` does not know read-only ones. */
const isArray = (value: MsgpackInput): value is readonly MsgpackInput[] => Array.isArray(value);

function writeInteger(bytes: number[], value: bigint): void {
  if (value >= -0x20n && value < 0x80n) {
    bytes.push(Number(value) & 0xff);
    return;
  }
  const [head, fits] =
    value >= 0n
      ? [0xcc, (bits: number) => value < 1n << BigInt(bits)]
      : [0xd0, (bits: number) => value >= -(1n << BigInt(bits - 1))];
  const power = [8, 16, 32, 64].findIndex(fits);
  if (power < 0) fail(`${value} does not fit into 64 bits`);
  bytes.push(head + power);
  writeBigEndian(bytes, value, 1 << power);
}

/** `heads`: for sizes of `firstBytes`, twice that, and so on. */
function writeSized(bytes: number[], heads: readonly number[], firstBytes: number, size: number): void {
  const power = heads.findIndex((_, i) => size < 2 ** (8 * (firstBytes << i)));
  bytes.push(heads[power]!);
  writeBigEndian(bytes, BigInt(size), firstBytes << power);
}

function writeBigEndian(bytes: number[], value: bigint, sizeBytes: number): void {
  for (let at = sizeBytes - 1; at >= 0; at--) bytes.push(Number((value >> BigInt(8 * at)) & 0xffn));
}
