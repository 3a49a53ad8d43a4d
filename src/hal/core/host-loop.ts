/**
 * What makes devices work while the host does other things: one loop for all devices of a registry, which
 * runs where somebody waits, and else in slices between the events of the host. Nothing blocks.
 */
import { type HostClock, hostClock } from '../../base/host-clock.ts';
import type { AdvanceResult } from '../../device/device.ts';
import type { UnfinishedOperation } from './stall.ts';

/** Something that makes progress when it is asked to: a logical device. */
export interface ProgressSource {
  progress(): AdvanceResult;
  /** Operations that have not ended. */
  unfinished?(): readonly UnfinishedOperation[];
}

/** The event loop gets a turn at least this often, in milliseconds. */
const YIELD_INTERVAL_MS = 20;
const SLICE_MS = 5;

export class HostLoop {
  readonly #sources = new Set<ProgressSource>();
  #isScheduled = false;
  #isRunning = false;
  #nextYield = 0;
  /** Of all devices. */
  readonly now: HostClock;

  constructor(now = hostClock) {
    this.now = now;
  }

  /** Returns what takes the source away again. */
  add(source: ProgressSource): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  /** Operations of all sources that have not ended. */
  unfinished(): readonly UnfinishedOperation[] {
    return [...this.#sources].flatMap((source) => source.unfinished?.() ?? []);
  }

  /** Lets all sources work once; the result is that of the busiest. */
  progress(): AdvanceResult {
    let result: AdvanceResult = 'idle';
    for (const source of this.#sources) {
      const state = source.progress();
      if (state === 'running' || result === 'idle') result = state;
    }
    return result;
  }

  /** There is work: the loop goes on as soon as the running code of the host has ended. */
  kick(): void {
    if (this.#isScheduled || this.#isRunning) return;
    this.#isScheduled = true;
    // A microtask is soonest, but many in a row would keep timers and streams of the host waiting.
    if (this.now() < this.#nextYield) queueMicrotask(() => this.#run());
    else this.#later(0);
  }

  #later(delayMs: number): void {
    setTimeout(() => {
      this.#nextYield = this.now() + YIELD_INTERVAL_MS;
      this.#run();
    }, delayMs);
  }

  #run(): void {
    this.#isRunning = true;
    let result: AdvanceResult;
    try {
      const end = this.now() + SLICE_MS;
      do result = this.progress();
      while (result === 'running' && this.now() < end);
    } finally {
      this.#isRunning = false;
      this.#isScheduled = false;
    }
    if (result === 'idle') return;
    this.#isScheduled = true;
    this.#later(result === 'running' ? 0 : 1);
  }
}
