import { WavewrightError } from './errors.ts';

/**
 * The time limit of a run, from when it is made. It is asked after every slice, so that it looks at the wall
 * clock as long as that is enough.
 */
export class TimeLimit {
  readonly #limitMs: number;
  readonly #clock: () => number;
  readonly #startMs: number;
  /** Whether the clock stands still while the run waits. */
  readonly #isClockOfWork: boolean;
  #waitedMs = 0;
  /** Wall time before which the limit cannot be over. */
  #earliestMs: number;

  /**
   * `clock`: of the work alone, and not faster than wall time, which is the default; `startMs`: when the time
   * began, by the clock.
   */
  constructor(limitMs = Number.POSITIVE_INFINITY, clock?: () => number, startMs?: number) {
    this.#isClockOfWork = clock !== undefined;
    this.#clock = clock ?? (() => performance.now());
    const nowMs = this.#clock();
    this.#limitMs = limitMs;
    this.#startMs = startMs ?? nowMs;
    this.#earliestMs = performance.now() + limitMs - (nowMs - this.#startMs);
  }

  /** Throws TIMEOUT when the limit is over, with `when`: for example `while the files were read`. */
  expect(when: string): void {
    if (this.isOver())
      throw new WavewrightError('TIMEOUT', `the time limit of ${this.#limitMs / 1000} s ran out ${when}`);
  }

  /**
   * The run waits for so long because it wants to. It counts as long as it was meant to be: on a loaded
   * machine a wait takes many times as long, which is not the run's doing.
   */
  wait(waitMs: number): Promise<void> {
    if (this.#isClockOfWork) this.#waitedMs += waitMs;
    return new Promise((resolve) => setTimeout(resolve, waitMs));
  }

  /** `nowMs`: wall time. */
  isOver(nowMs = performance.now()): boolean {
    if (nowMs < this.#earliestMs) return false;
    const restMs = this.#limitMs - (this.#clock() - this.#startMs) - this.#waitedMs;
    this.#earliestMs = nowMs + restMs;
    return restMs <= 0;
  }
}
