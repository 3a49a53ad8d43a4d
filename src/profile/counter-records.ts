/** Counters as records: sets for dispatches and for ranges of time, by physical device, and their samples. */
import { type CounterInfo, type CounterRange, isRangeCounter, type ProfileData } from '../hal/index.ts';
import { COUNTER_SCOPES, COUNTER_UNITS, numberOf } from './format/names.ts';
import type { RecordLayout, RecordOf } from './format/record-layout.ts';
import { COUNTER_FLAG, COUNTER_SAMPLE_FLAG, type COUNTER_SAMPLES, COUNTER_SETS, COUNTERS } from './format/records.ts';

type CounterSample = Partial<RecordOf<typeof COUNTER_SAMPLES>>;
type SetKind = 'dispatch' | 'range';

/** What each kind of set is for, in the order of their numbers. */
const KINDS: Readonly<Record<SetKind, ProfileData>> = { dispatch: 'counters', range: 'counter-ranges' };

export class CounterSets {
  readonly #deviceCount: number;
  #lastSampleId = 0n;

  constructor(deviceCount: number) {
    this.#deviceCount = deviceCount;
  }

  /** The sets of a device; a sample has one value of each counter. */
  *metadata(
    physicalDeviceOrdinal: number,
    counters: readonly CounterInfo[],
    data: readonly ProfileData[],
  ): Generator<readonly [RecordLayout, Partial<RecordOf<RecordLayout>>]> {
    for (const kind of ['dispatch', 'range'] as const) {
      const own = kind === 'range' ? counters.filter(isRangeCounter) : counters;
      if (own.length === 0 || !data.includes(KINDS[kind])) continue;
      const set = { counterSetId: this.#idOf(kind, physicalDeviceOrdinal), physicalDeviceOrdinal };
      yield [COUNTER_SETS, { ...set, name: kind, counterCount: own.length, sampleValueCount: own.length }];
      for (const [counterOrdinal, { name, block, description, unit = 'count', isLevel = false }] of own.entries()) {
        const value = { sampleValueOffset: counterOrdinal, sampleValueCount: 1 };
        const units = { flags: isLevel ? 0 : COUNTER_FLAG.raw, unit: COUNTER_UNITS.indexOf(unit) };
        yield [COUNTERS, { ...set, ...units, counterOrdinal, ...value, name, block, description }];
      }
    }
  }

  /** `flags`: besides what all samples have. */
  ofDispatch(deviceOrdinal: number, counts: readonly number[], { flags = 0, ...rest }: CounterSample): CounterSample {
    return {
      ...this.#sample('dispatch', deviceOrdinal, counts),
      ...rest,
      flags: COUNTER_SAMPLE_FLAG.deviceTicks | flags,
    };
  }

  ofRange({ deviceOrdinal, counts, startTicks, endTicks }: CounterRange): CounterSample {
    return {
      ...this.#sample('range', deviceOrdinal, counts),
      ...{ flags: COUNTER_SAMPLE_FLAG.deviceTicks, physicalDeviceOrdinal: deviceOrdinal },
      ...{ startTick: startTicks, endTick: endTicks },
    };
  }

  #sample(kind: SetKind, deviceOrdinal: number, counts: readonly number[]): CounterSample {
    return {
      scope: numberOf(COUNTER_SCOPES, kind === 'range' ? 'device_time_range' : kind),
      sampleId: ++this.#lastSampleId,
      counterSetId: this.#idOf(kind, deviceOrdinal),
      values: counts.map(BigInt),
    };
  }

  /** Sets of dispatches, then those of ranges, by device. */
  #idOf(kind: SetKind, deviceOrdinal: number): bigint {
    return BigInt(1 + deviceOrdinal + (kind === 'range' ? this.#deviceCount : 0));
  }
}
