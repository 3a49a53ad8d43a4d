/**
 * Whether a runtime is there for its objects: hsa_init counts up, hsa_shut_down counts down (HSA runtime 1.2,
 * section 2.1). A device has one, too, of one reference: `close` releases it, and what is called later throws
 * `HsaError`, on whatever way the device was reached.
 */
import { HsaError } from './status.ts';

const MAX_REFERENCES = 2 ** 31 - 1;

export class Lifetime {
  #references: number;
  readonly #end: string;

  /**
   * `references`: how often it was retained already; for tests of the limit. `end`: what errors say of what
   * is over.
   */
  constructor(references = 1, end = 'the runtime was shut down') {
    this.#references = references;
    this.#end = end;
  }

  get isLive(): boolean {
    return this.#references > 0;
  }

  /** Throws NOT_INITIALIZED after the last release, REFCOUNT_OVERFLOW after 2^31 - 1 times. */
  retain(): void {
    this.expect();
    if (this.#references >= MAX_REFERENCES) {
      throw new HsaError('REFCOUNT_OVERFLOW', `the runtime was initialized ${MAX_REFERENCES} times`);
    }
    this.#references++;
  }

  /** Returns whether this was the last one. */
  release(): boolean {
    if (this.#references === 0) return false;
    this.#references--;
    return this.#references === 0;
  }

  /** Throws NOT_INITIALIZED after the last release. */
  expect(): void {
    if (!this.isLive) throw new HsaError('NOT_INITIALIZED', this.#end);
  }
}
