/** Messages of Protocol Buffers (protobuf.dev, Encoding): fields as they are appended. */

const [VARINT, FIXED64, LENGTH] = [0, 1, 2];
const UTF8 = new TextEncoder();

export class ProtobufMessage {
  #bytes = new Uint8Array(64);
  #length = 0;

  /** A view, which the next field may end. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Of a `uint64`, `int64`, `uint32`, enum or `bool`: negative numbers take ten bytes. */
  varint(field: number, value: bigint | number): this {
    this.#tag(field, VARINT);
    this.#varint(BigInt.asUintN(64, BigInt(value)));
    return this;
  }

  fixed64(field: number, value: bigint): this {
    this.#tag(field, FIXED64);
    const at = this.#grow(8);
    new DataView(this.#bytes.buffer).setBigUint64(at, BigInt.asUintN(64, value), true);
    return this;
  }

  double(field: number, value: number): this {
    this.#tag(field, FIXED64);
    const at = this.#grow(8);
    new DataView(this.#bytes.buffer).setFloat64(at, value, true);
    return this;
  }

  text(field: number, value: string): this {
    return this.#counted(field, UTF8.encode(value));
  }

  message(field: number, value: ProtobufMessage): this {
    return this.#counted(field, value.bytes);
  }

  #counted(field: number, bytes: Uint8Array): this {
    this.#tag(field, LENGTH);
    this.#varint(BigInt(bytes.length));
    const at = this.#grow(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  #tag(field: number, type: number): void {
    this.#varint(BigInt(field * 8 + type));
  }

  #varint(value: bigint): void {
    let rest = value;
    for (; rest > 0x7fn; rest >>= 7n) this.#byte(Number(rest & 0x7fn) | 0x80);
    this.#byte(Number(rest));
  }

  #byte(value: number): void {
    const at = this.#grow(1);
    this.#bytes[at] = value;
  }

  /** Makes room for so many bytes, and returns where they are. */
  #grow(count: number): number {
    const at = this.#length;
    this.#length += count;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
    }
    return at;
  }
}
