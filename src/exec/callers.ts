/** Whose calls something came from, by address: who allocated memory, or freed it. */

const WORD_BYTES = 8;
const MAX_CALLERS = 32;
/** The first ones are forgotten where there are more. */
const MAX_REMEMBERED = 65_536;

export class Callers {
  readonly #callers = new Map<bigint, Uint8Array>();

  /** `words`: addresses of code, little endian, the innermost call first. */
  set(address: bigint, words: Uint8Array): void {
    this.#callers.delete(address);
    if (words.length === 0) return;
    if (this.#callers.size >= MAX_REMEMBERED)
      for (const [first] of this.#callers.entries().take(1)) this.#callers.delete(first);
    this.#callers.set(address, words.slice(0, MAX_CALLERS * WORD_BYTES));
  }

  /** The last ones of an address; none where that is not known. */
  of(address: bigint): readonly bigint[] {
    const words = this.#callers.get(address) ?? new Uint8Array(0);
    const view = new DataView(words.buffer, words.byteOffset, words.length);
    return Array.from({ length: Math.floor(words.length / WORD_BYTES) }, (_, i) =>
      view.getBigUint64(i * WORD_BYTES, true),
    );
  }
}
