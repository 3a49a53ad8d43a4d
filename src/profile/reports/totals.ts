/** Durations that are added up: of ticks of a device, or of nanoseconds of the host. */
import type { ClockFit } from '../clock-fit.ts';
import { areValidTicks } from '../profile.ts';
import { rounded } from './rows.ts';

/** Count, extremes, mean and deviation of durations, in one pass (Welford). */
export class Totals {
  count = 0;
  valid = 0;
  invalid = 0;
  min = 0n;
  max = 0n;
  total = 0n;
  /** Of the begins and the ends. */
  earliest = 0n;
  latest = 0n;
  #mean = 0;
  #squares = 0;

  /** `isValid`: whether the end is behind the begin; what is not valid is only counted. */
  add(start: bigint, end: bigint, isValid: boolean): void {
    this.count++;
    if (!isValid) {
      this.invalid++;
      return;
    }
    const duration = end - start;
    const isFirst = this.valid++ === 0;
    if (isFirst || duration < this.min) this.min = duration;
    if (isFirst || duration > this.max) this.max = duration;
    if (isFirst || start < this.earliest) this.earliest = start;
    if (isFirst || end > this.latest) this.latest = end;
    this.total += duration;
    const delta = Number(duration) - this.#mean;
    this.#mean += delta / this.valid;
    this.#squares += delta * (Number(duration) - this.#mean);
  }

  addTicks({ startTick, endTick }: { readonly startTick: bigint; readonly endTick: bigint }): void {
    this.add(startTick, endTick, areValidTicks(startTick, endTick));
  }

  get mean(): number {
    return this.#mean;
  }

  get deviation(): number {
    return this.valid > 1 ? Math.sqrt(this.#squares / (this.valid - 1)) : 0;
  }

  /** From the first begin to the last end. */
  get span(): bigint {
    return this.latest - this.earliest;
  }
}

/** Of ticks: them, and nanoseconds where there is a fit. `withDeviation`: as rows of dispatches have it. */
export function tickCells(totals: Totals, fit: ClockFit | undefined, withDeviation: boolean) {
  const { min, max, mean, total, deviation } = totals;
  const has = fit !== undefined && totals.valid > 0;
  const scale = has ? fit.nsPerTick : 0;
  const nsOf = (ticks: bigint): bigint => (has ? fit.durationNs(ticks) : 0n);
  return {
    min_ticks: min,
    avg_ticks: rounded(mean),
    ...(withDeviation && { stddev_ticks: rounded(deviation) }),
    max_ticks: max,
    total_ticks: total,
    clock_fit_available: fit !== undefined,
    time_ns_available: has,
    min_ns: nsOf(min),
    avg_ns: rounded(mean * scale),
    ...(withDeviation && { stddev_ns: rounded(deviation * scale) }),
    max_ns: nsOf(max),
    total_ns: nsOf(total),
  };
}

/** Of nanoseconds of the host. */
export const hostCells = ({ min, max, mean, total, deviation }: Totals) => ({
  min_ns: min,
  avg_ns: rounded(mean),
  stddev_ns: rounded(deviation),
  max_ns: max,
  total_ns: total,
});
