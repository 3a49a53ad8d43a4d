/**
 * Ticks of a device as nanoseconds of its driver: a line through the first and the last sample of both
 * clocks, as iree-profile has it. Without two samples there is no line, and no nanoseconds are made up.
 */
import type { RecordOf } from './format/record-layout.ts';
import { type CLOCK_CORRELATIONS, CLOCK_FLAG } from './format/records.ts';

export type ClockSampleRecord = RecordOf<typeof CLOCK_CORRELATIONS>;

export class ClockFit {
  readonly first: ClockSampleRecord;
  readonly last: ClockSampleRecord;
  readonly #tickSpan: bigint;
  readonly #timeSpanNs: bigint;

  private constructor(first: ClockSampleRecord, last: ClockSampleRecord) {
    this.first = first;
    this.last = last;
    this.#tickSpan = last.deviceTick - first.deviceTick;
    this.#timeSpanNs = last.hostCpuTimestampNs - first.hostCpuTimestampNs;
  }

  /** Undefined where samples do not have both clocks, none moved on, or ticks are not those of events. */
  static of(samples: readonly ClockSampleRecord[]): ClockFit | undefined {
    const [first, last] = [samples[0], samples.at(-1)];
    if (first === undefined || last === undefined || samples.length < 2) return undefined;
    const both = CLOCK_FLAG.deviceTick | CLOCK_FLAG.hostCpu;
    if ((first.flags & last.flags & both) !== both) return undefined;
    if (samples.some(({ flags }) => (flags & CLOCK_FLAG.deviceTickUnaligned) !== 0)) return undefined;
    const fit = new ClockFit(first, last);
    return fit.#tickSpan > 0n && fit.#timeSpanNs > 0n ? fit : undefined;
  }

  get nsPerTick(): number {
    return Number(this.#timeSpanNs) / Number(this.#tickSpan);
  }

  get ticksPerSecond(): number {
    return 1e9 / this.nsPerTick;
  }

  /** Rounded to the nearest. */
  durationNs(ticks: bigint): bigint {
    return (ticks * this.#timeSpanNs + this.#tickSpan / 2n) / this.#tickSpan;
  }

  timeNs(tick: bigint): bigint {
    const { deviceTick, hostCpuTimestampNs } = this.first;
    if (tick >= deviceTick) return hostCpuTimestampNs + this.durationNs(tick - deviceTick);
    return hostCpuTimestampNs - this.durationNs(deviceTick - tick);
  }
}
