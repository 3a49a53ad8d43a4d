/** The time limit of a run, from when it is made. It is asked after every slice, so that it looks at the wall clock as long as that is enough. */
export class TimeLimit {
  readonly #limitMs: number;
  readonly #clock: () => number;
  readonly #startMs: number;
  /** Wall time before which the limit cannot be over. */
  #earliestMs: number;

  /** `clock` must not be faster than wall time. */
  constructor(limitMs = Number.POSITIVE_INFINITY, clock = () => performance.now()) {
    this.#limitMs = limitMs;
    this.#clock = clock;
    this.#startMs = clock();
    this.#earliestMs = performance.now() + limitMs;
  }

  /** `nowMs`: wall time. */
  isOver(nowMs = performance.now()): boolean {
    if (nowMs < this.#earliestMs) return false;
    const restMs = this.#limitMs - (this.#clock() - this.#startMs);
    this.#earliestMs = nowMs + restMs;
    return restMs <= 0;
  }
}
