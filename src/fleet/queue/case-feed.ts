/** Cases that are read ahead while others are submitted and run. */
import type { KeyedCase } from '../case.ts';

/** So many are read ahead, and are a slice of a campaign. */
export const SLICE_CASES = 1024;

export class CaseFeed implements Disposable {
  readonly #cases: KeyedCase[] = [];
  #state: 'open' | 'ended' | 'closed' = 'open';
  #failure: { readonly error: unknown } | undefined;
  /** What was there at the last look: a source that pauses has a slice of what it gave. */
  #lastLength = 0;
  #room = Promise.withResolvers<void>();
  #ready = Promise.withResolvers<void>();

  constructor(source: AsyncIterable<KeyedCase>) {
    this.#read(source).catch((error: unknown) => {
      this.#failure = { error };
      this.#ready.resolve();
    });
  }

  /** Whether all was read and taken. */
  get isDone(): boolean {
    return this.#state === 'ended' && this.#cases.length === 0;
  }

  /** Fulfilled when a whole slice is there, or the end. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /** Whether it is the source that has failed with this error. */
  hasThrown(error: unknown): boolean {
    return this.#failure !== undefined && this.#failure.error === error;
  }

  /**
   * How many cases the next slice may have: a whole slice, or what is there when no more come just now; 0
   * when it is better to wait. Throws what the source has thrown.
   */
  look(): number {
    if (this.#failure) throw this.#failure.error;
    const { length } = this.#cases;
    const isQuiet = this.#state === 'ended' || length === this.#lastLength;
    this.#lastLength = length;
    return length >= SLICE_CASES || isQuiet ? length : 0;
  }

  /** The first `count` cases, or those of them that are there; all stay. */
  peek(count: number): readonly KeyedCase[] {
    return this.#cases.slice(0, count);
  }

  /** Whether there will never be so many at once. */
  lacks(count: number): boolean {
    return count > SLICE_CASES || (this.#state !== 'open' && this.#cases.length < count);
  }

  drop(count: number): void {
    this.#cases.splice(0, count);
    this.#lastLength = 0;
    if (this.#state !== 'open') return;
    this.#ready = Promise.withResolvers();
    this.#room.resolve();
    this.#room = Promise.withResolvers();
  }

  /** Reads no more. */
  [Symbol.dispose](): void {
    if (this.#state === 'open') this.#state = 'closed';
    this.#room.resolve();
  }

  async #read(source: AsyncIterable<KeyedCase>): Promise<void> {
    for await (const keyed of source) {
      this.#cases.push(keyed);
      if (this.#cases.length < SLICE_CASES) continue;
      this.#ready.resolve();
      await this.#room.promise;
      if (this.#state === 'closed') return;
    }
    this.#state = 'ended';
    this.#ready.resolve();
  }
}
