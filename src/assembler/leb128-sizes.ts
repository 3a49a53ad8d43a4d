/** How many bytes numbers in LEB128 take whose values are known late. */

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
