import { alignUp } from './align.ts';
import { WavewrightError } from './errors.ts';
import { hex } from './text.ts';

/** Where a region of input comes from; it becomes the context of every error. */
export interface ByteSource {
  /** Path as the user wrote it, or a name for an in-memory image. */
  file?: string;
  /** Section, segment, note or record that the region is; offsets in errors are relative to it. */
  section?: string;
}

/**
 * A region of input bytes with a cursor: little-endian, every access checked. A read past the end throws
 * `BAD_INPUT` that names the field, the section and the offset.
 */
export class ByteReader {
  readonly bytes: Uint8Array;
  readonly source: ByteSource;
  /** Cursor, in bytes from the start of the region. */
  offset = 0;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, source: ByteSource = {}) {
    this.bytes = bytes;
    this.source = source;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length(): number {
    return this.bytes.byteLength;
  }

  get remaining(): number {
    return this.length - this.offset;
  }

  /** Throws `BAD_INPUT` at `offset` (default: the cursor). */
  fail(what: string, offset: number = this.offset): never {
    throw new WavewrightError('BAD_INPUT', what, { ...this.source, offset });
  }

  u8(what: string): number {
    return this.#view.getUint8(this.#advance(1, what));
  }

  u16(what: string): number {
    return this.#view.getUint16(this.#advance(2, what), true);
  }

  u32(what: string): number {
    return this.#view.getUint32(this.#advance(4, what), true);
  }

  u64(what: string): bigint {
    return this.#view.getBigUint64(this.#advance(8, what), true);
  }

  i64(what: string): bigint {
    return this.#view.getBigInt64(this.#advance(8, what), true);
  }

  /** A u64 that counts or measures something in the file: at most 2^53 - 1. */
  size(what: string): number {
    const at = this.#advance(8, what);
    const high = this.#view.getUint32(at + 4, true);
    if (high > 0x1f_ffff) {
      this.fail(`${what} is ${hex(this.#view.getBigUint64(at, true))}, more than any file holds`, at);
    }
    return high * 0x1_0000_0000 + this.#view.getUint32(at, true);
  }

  /** An unsigned LEB128 number, at most 2^53 - 1. */
  uleb128(what: string): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.u8(what);
      value += (byte & 0x7f) * scale;
      if (value > Number.MAX_SAFE_INTEGER) this.fail(`${what} that is too large`);
      if (byte < 0x80) return value;
      scale *= 0x80;
      if (scale > 2 ** 63) this.fail(`${what} without an end`);
    }
  }

  /** The next `sizeBytes` bytes, shared with the input. */
  take(sizeBytes: number, what: string): Uint8Array {
    const at = this.#advance(sizeBytes, what);
    return this.bytes.subarray(at, at + sizeBytes);
  }

  /** Moves the cursor to a multiple of `alignmentBytes`; the end of the region counts as aligned. */
  align(alignmentBytes: number): void {
    this.offset = Math.min(alignUp(this.offset, alignmentBytes), this.length);
  }

  /** The sub-region [offset, offset + sizeBytes) as a reader of its own; `section` names it in errors. */
  region(offset: number, sizeBytes: number, section: string): ByteReader {
    this.check(offset, sizeBytes, section);
    return new ByteReader(this.bytes.subarray(offset, offset + sizeBytes), { ...this.source, section });
  }

  /** Throws unless [offset, offset + sizeBytes) lies in the region. */
  check(offset: number, sizeBytes: number, what: string): void {
    if (offset > this.length || sizeBytes > this.length - offset) {
      const left = Math.max(0, this.length - offset);
      this.fail(`${what} is cut off: ${count(sizeBytes)} expected, ${count(left)} left`, offset);
    }
  }

  #advance(sizeBytes: number, what: string): number {
    const at = this.offset;
    if (sizeBytes > this.length - at) this.check(at, sizeBytes, what);
    this.offset = at + sizeBytes;
    return at;
  }
}

function count(sizeBytes: number): string {
  return sizeBytes === 1 ? '1 byte' : `${sizeBytes} bytes`;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; `undefined` when the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Lower-case hexadecimal, two digits a byte, without prefix. */
export function toHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** The bytes of a C string. */
export function beforeNul(bytes: Uint8Array): Uint8Array {
  const nul = bytes.indexOf(0);
  return nul < 0 ? bytes : bytes.subarray(0, nul);
}
