const CAPACITY_BYTES = 2 ** 16;
/** Longer text goes around the buffer. */
const LONG_TEXT = 2 ** 10;
const UPPER_DIGITS = new TextEncoder().encode('0123456789ABCDEF');
const LOWER_DIGITS = new TextEncoder().encode('0123456789abcdef');
const SPACE = 0x20;
const NEWLINE = 0x0a;

const encoder = new TextEncoder();

/** Text on its way out, as bytes in one buffer: a listing of a large file is never in memory as a whole. */
export class Output {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #bytes = new Uint8Array(CAPACITY_BYTES);
  #length = 0;

  /** `write` gets a view of a buffer that is used again afterwards. */
  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  text(text: string): this {
    if (text.length > LONG_TEXT) return this.#long(text);
    this.#reserve(text.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) return this.#long(text);
      bytes[at++] = code;
    }
    this.#length = at;
    return this;
  }

  /** `text`, and spaces up to `width` characters. */
  padded(text: string, width: number): this {
    return this.text(text).spaces(width - text.length);
  }

  /** None when `count` is negative. */
  spaces(count: number): this {
    if (count <= 0) return this;
    this.#reserve(count);
    this.#bytes.fill(SPACE, this.#length, this.#length + count);
    this.#length += count;
    return this;
  }

  line(text: string): this {
    return this.text(text).newline();
  }

  newline(): this {
    this.#reserve(1);
    this.#bytes[this.#length++] = NEWLINE;
    return this;
  }

  /** A uint32 as eight digits in upper case. */
  word(value: number): this {
    this.#reserve(8);
    for (let shift = 28; shift >= 0; shift -= 4) this.#bytes[this.#length++] = UPPER_DIGITS[(value >>> shift) & 15]!;
    return this;
  }

  /** At least `digits` of them, at most 16, zeros in front; `value` is below 2^53. */
  hex(value: number, digits: number, upper = false): this {
    let count = digits;
    for (let rest = Math.floor(value / 16 ** digits); rest > 0; rest = Math.floor(rest / 16)) count++;
    this.#reserve(count);
    const table = upper ? UPPER_DIGITS : LOWER_DIGITS;
    let low = value >>> 0;
    let high = Math.floor(value / 2 ** 32);
    for (let at = this.#length + count - 1; at >= this.#length; at--) {
      this.#bytes[at] = table[low & 15]!;
      low = (low >>> 4) | ((high & 15) << 28);
      high = Math.floor(high / 16);
    }
    this.#length += count;
    return this;
  }

  flush(): void {
    if (this.#length > 0) this.#write(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
  }

  #long(text: string): this {
    this.flush();
    this.#write(encoder.encode(text));
    return this;
  }

  #reserve(count: number): void {
    if (this.#length + count > CAPACITY_BYTES) this.flush();
  }
}
