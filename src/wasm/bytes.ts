/**
 * A growable byte buffer with the integer encodings of the WebAssembly binary format (core specification 2.0,
 * section 5.2).
 */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  constructor(initialBytes = 256) {
    this.#bytes = new Uint8Array(initialBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.#length);
    this.#length += values.length;
  }

  /** Unsigned LEB128 of an integer in 0..2^32-1. */
  u32(value: number): void {
    let rest = value >>> 0;
    while (rest >= 0x80) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    this.byte(rest);
  }

  /** Signed LEB128 of the low 32 bits of `value`. */
  s32(value: number): void {
    let rest = value | 0;
    while (rest < -0x40 || rest > 0x3f) {
      this.byte((rest & 0x7f) | 0x80);
      rest >>= 7;
    }
    this.byte(rest & 0x7f);
  }

  /** Signed LEB128 of the low 64 bits of `value`. */
  s64(value: bigint): void {
    let rest = BigInt.asIntN(64, value);
    while (rest < -0x40n || rest > 0x3fn) {
      this.byte(Number(rest & 0x7fn) | 0x80);
      rest >>= 7n;
    }
    this.byte(Number(rest & 0x7fn));
  }

  /** The low 32 bits of `value`, little endian. */
  fixed32(value: number): void {
    this.byte(value & 0xff);
    this.byte((value >>> 8) & 0xff);
    this.byte((value >>> 16) & 0xff);
    this.byte(value >>> 24);
  }

  /** A UTF-8 name with its length in front. */
  name(text: string): void {
    this.sized(new TextEncoder().encode(text));
  }

  /** Bytes with their length in front. */
  sized(values: Uint8Array): void {
    this.u32(values.length);
    this.bytes(values);
  }

  /** What was written: a view that is valid until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.view());
    this.#bytes = grown;
  }
}
