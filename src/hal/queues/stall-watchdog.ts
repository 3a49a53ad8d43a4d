/**
 * Watches whether operations begin and end. There is a timer only while something has not ended; who waits on
 * the spot, where no timer is called, has it looked at.
 */

export interface WatchedActivity {
  /** Grows whenever an operation begins or ends. */
  readonly activity: number;
  /** Operations that have not ended. */
  readonly unfinishedCount: number;
}

export class StallWatchdog {
  readonly #watched: WatchedActivity;
  readonly #limitMs: number;
  readonly #report: (idleMs: number) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seen = -1;
  /** When `#seen` was first seen, and when somebody looked last. */
  #since = 0;
  #lookedAt = 0;
  /** Of the time between them what counts: a process that is held up itself does not see what moves. */
  #idleMs = 0;
  #isReported = false;

  /** `report` is called once for each standstill of at least `limitMs`, a quarter of that later at most. */
  constructor(watched: WatchedActivity, limitMs: number, report: (idleMs: number) => void) {
    this.#watched = watched;
    this.#limitMs = limitMs;
    this.#report = report;
  }

  /** Something was submitted: the process lives on until it has ended, or was reported. */
  wake(): void {
    if (this.#timer === undefined) {
      this.#timer = this.#schedule();
      this.look();
    } else if (!this.#isReported) this.#timer.ref?.();
  }

  /** Everything has ended: time counts from the next submission on. */
  rest(): void {
    this.#seen = -1;
    this.#timer?.unref?.();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#timer = undefined;
    if (this.#watched.unfinishedCount === 0) return;
    this.look();
    this.#timer = this.#schedule();
    if (this.#isReported) this.#timer.unref?.();
  }

  #schedule(): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#tick(), this.#stepMs);
  }

  /** Time between two looks that counts at most. */
  get #stepMs(): number {
    return this.#limitMs / 4;
  }

  /** Reports a standstill if there is one. */
  look(): void {
    const { activity, unfinishedCount } = this.#watched;
    const now = performance.now();
    if (activity !== this.#seen) {
      this.#seen = activity;
      this.#since = now;
      this.#idleMs = 0;
      this.#isReported = false;
    } else if (unfinishedCount > 0) this.#idleMs += Math.min(now - this.#lookedAt, this.#stepMs);
    this.#lookedAt = now;
    if (this.#isReported || this.#idleMs < this.#limitMs) return;
    this.#isReported = true;
    this.#report(now - this.#since);
  }
}
