/**
 * What is sampled of physical devices whenever a session is flushed: counters over the time since the flush
 * before, and metrics (iree/hal/profile_schema.h, counter samples of a device time range, device metrics).
 */
import type { CounterInfo, DispatchTimes } from '../backend/backend.ts';
import type { ClockSample } from './device-description.ts';

/** What kernels that ended between two flushes were counted by, without what cannot be added up. */
export interface CounterRange {
  readonly deviceOrdinal: number;
  readonly startTicks: bigint;
  readonly endTicks: bigint;
  /** In the order of the session's counters without levels. */
  readonly counts: readonly number[];
}

/** State of a device at a flush. */
export interface DeviceMetrics {
  readonly deviceOrdinal: number;
  readonly clock: ClockSample;
  /** Share of the time since the flush before in which kernels ran that have ended; absent at the first. */
  readonly computeActivity: number | undefined;
  /** Memory that is allocated, whoever it is for; absent where the device does not tell. */
  readonly usedMemoryBytes: number | undefined;
  readonly memorySizeBytes: number;
}

export type DeviceSample =
  | ({ readonly data: 'counter-ranges' } & CounterRange)
  | ({ readonly data: 'device-metrics' } & DeviceMetrics);

/** What a device tells of its memory. */
export interface MemoryUse {
  readonly usedBytes: number | undefined;
  readonly sizeBytes: number;
}

export interface DeviceSamplesOptions {
  readonly isRanged: boolean;
  readonly isMetered: boolean;
  /** Indices among the counters of the device. */
  readonly counterIndices: readonly number[];
  readonly memoryOf: (deviceOrdinal: number) => MemoryUse;
}

/** Counters that ranges have. */
export const isRangeCounter = ({ isLevel = false }: CounterInfo): boolean => !isLevel;

export class DeviceSamples {
  readonly #options: DeviceSamplesOptions;
  /** By physical device. */
  readonly #counts = new Map<number, number[]>();
  readonly #busy = new Map<number, BusyTime>();
  #last: readonly ClockSample[] = [];

  constructor(options: DeviceSamplesOptions) {
    this.#options = options;
  }

  /** A kernel has ended. */
  add({ deviceOrdinal, startTicks, endTicks, counts }: DispatchTimes): void {
    const { isRanged, isMetered, counterIndices } = this.#options;
    if (isRanged && counts !== undefined) {
      const sums = this.#counts.get(deviceOrdinal) ?? counterIndices.map(() => 0);
      this.#counts.set(deviceOrdinal, sums);
      for (const [i, index] of counterIndices.entries()) sums[i]! += counts[index]!;
    }
    if (!isMetered) return;
    const busy = this.#busy.get(deviceOrdinal) ?? new BusyTime();
    this.#busy.set(deviceOrdinal, busy);
    busy.add(startTicks, endTicks);
  }

  /** `clocks`: of each physical device, now. */
  take(clocks: readonly ClockSample[]): DeviceSample[] {
    const { isRanged, isMetered, counterIndices, memoryOf } = this.#options;
    const samples = clocks.flatMap((clock, deviceOrdinal): DeviceSample[] => {
      const startTicks = this.#last[deviceOrdinal]?.deviceTicks;
      const endTicks = clock.deviceTicks;
      const found: DeviceSample[] = [];
      if (isRanged && startTicks !== undefined) {
        const counts = this.#counts.get(deviceOrdinal) ?? counterIndices.map(() => 0);
        found.push({ data: 'counter-ranges', deviceOrdinal, startTicks, endTicks, counts });
      }
      if (isMetered) {
        const busyTicks = startTicks && (this.#busy.get(deviceOrdinal)?.take(startTicks, endTicks) ?? 0n);
        const computeActivity =
          busyTicks === undefined || startTicks === endTicks
            ? undefined
            : Number(busyTicks) / Number(endTicks - startTicks!);
        const { usedBytes: usedMemoryBytes, sizeBytes: memorySizeBytes } = memoryOf(deviceOrdinal);
        found.push({ data: 'device-metrics', deviceOrdinal, clock, computeActivity, usedMemoryBytes, memorySizeBytes });
      }
      return found;
    });
    this.#counts.clear();
    this.#last = clocks;
    return samples;
  }
}

type Span = readonly [start: bigint, end: bigint];
const MAX_SPANS = 1024;

/** How long at least one of several spans went on. */
class BusyTime {
  #spans: Span[] = [];
  #limit = MAX_SPANS;

  add(start: bigint, end: bigint): void {
    this.#spans.push([start, end]);
    if (this.#spans.length > this.#limit) {
      this.#spans = merged(this.#spans);
      this.#limit = 2 * this.#spans.length + MAX_SPANS;
    }
  }

  /** Ticks between two times; all spans are forgotten. */
  take(from: bigint, to: bigint): bigint {
    const within = merged(this.#spans).map(([start, end]) => (end < to ? end : to) - (start > from ? start : from));
    this.#spans = [];
    return within.reduce((sum, ticks) => (ticks > 0n ? sum + ticks : sum), 0n);
  }
}

function merged(spans: readonly Span[]): Span[] {
  const result: [bigint, bigint][] = [];
  for (const [start, end] of spans.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const last = result.at(-1);
    if (last === undefined || start > last[1]) result.push([start, end]);
    else if (end > last[1]) last[1] = end;
  }
  return result;
}
