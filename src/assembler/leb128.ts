/** Numbers in LEB128 (DWARF 5, 7.6), and how many bytes those take whose values are known late. */

/** The low 64 bits of `value` in at least `sizeBytes` bytes. */
export function leb128(value: bigint, isSigned: boolean, sizeBytes = 1): Uint8Array {
  const bytes: number[] = [];
  let rest = isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value);
  for (let isLast = false; !isLast; ) {
    const bits = Number(rest & 0x7fn);
    rest >>= 7n;
    const isComplete = isSigned ? rest === (bits & 0x40 ? -1n : 0n) : rest === 0n;
    isLast = isComplete && bytes.length + 1 >= sizeBytes;
    bytes.push(isLast ? bits : bits | 0x80);
  }
  return Uint8Array.from(bytes);
}

export const unsigned = (value: number): Uint8Array => leb128(BigInt(value), false);

/**
 * The sizes of numbers that are not known where they stand. A file is assembled again with larger ones until
 * all fit: sizes only grow, so this ends.
 */
export class Leb128Sizes {
  readonly #sizes: number[] = [];
  #count = 0;
  hasGrown = false;

  /** Begins at the first number again. */
  restart(): void {
    this.#count = 0;
    this.hasGrown = false;
  }

  /** The next number, and its size so far. */
  next(): { readonly ordinal: number; readonly sizeBytes: number } {
    const ordinal = this.#count++;
    return { ordinal, sizeBytes: this.#sizes[ordinal] ?? 1 };
  }

  /** Number `ordinal` takes `sizeBytes`. */
  grow(ordinal: number, sizeBytes: number): void {
    this.#sizes[ordinal] = sizeBytes;
    this.hasGrown = true;
  }
}
