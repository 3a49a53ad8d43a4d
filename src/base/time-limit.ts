import { WavewrightError } from './errors.ts';

/**
 * The time limit of a run, from when it is made. It is asked after every slice, so that it looks at the wall
 * clock as long as that is enough.
 */
export class TimeLimit {
  readonly #limitMs: number;
  readonly #clock: () => number;
  readonly #startMs: number;
  /** Wall time before which the limit cannot be over. */
  #earliestMs: number;

  /** `clock` must not be faster than wall time; `startMs`: when the time began, by the clock. */
  constructor(limitMs = Number.POSITIVE_INFINITY, clock = () => performance.now(), startMs?: number) {
    const nowMs = clock();
    this.#limitMs = limitMs;
    this.#clock = clock;
    this.#startMs = startMs ?? nowMs;
    this.#earliestMs = performance.now() + limitMs - (nowMs - this.#startMs);
  }

  /** Throws TIMEOUT when the limit is over, with `when`: for example `while the files were read`. */
  expect(when: string): void {
    if (this.isOver())
      throw new WavewrightError('TIMEOUT', `the time limit of ${this.#limitMs / 1000} s ran out ${when}`);
  }

  /** `nowMs`: wall time. */
  isOver(nowMs = performance.now()): boolean {
    if (nowMs < this.#earliestMs) return false;
    const restMs = this.#limitMs - (this.#clock() - this.#startMs);
    this.#earliestMs = nowMs + restMs;
    return restMs <= 0;
  }
}
