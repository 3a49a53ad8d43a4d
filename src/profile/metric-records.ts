/**
 * Metrics of devices as records: a source for each physical device, with those of IREE's built-in metrics
 * that an emulated GPU has (iree/hal/profile_schema.h).
 */
import type { DeviceMetrics } from '../hal/index.ts';
import {
  DEVICE_CLASSES,
  METRIC_PLOTS,
  METRIC_SEMANTICS,
  METRIC_UNITS,
  METRIC_VALUE_KINDS,
  numberOf,
} from './format/names.ts';
import type { MetricValue, RecordLayout, RecordOf } from './format/record-layout.ts';
import { DEVICE_METRIC_DESCRIPTORS, type DEVICE_METRIC_SAMPLES, DEVICE_METRIC_SOURCES } from './format/records.ts';
import { nanoseconds } from './nanoseconds.ts';

interface Metric {
  readonly metricId: bigint;
  readonly name: string;
  readonly description: string;
  readonly unit: string;
  readonly semantic: string;
  readonly plot: string;
  readonly value: (metrics: DeviceMetrics) => number | undefined;
}

const MILLIPERCENT = 100_000;

const METRICS: readonly Metric[] = [
  {
    ...{ metricId: 8n, name: 'activity.compute', unit: 'millipercent', semantic: 'average', plot: 'percentage' },
    description: 'share of the time since the last sample in which kernels ran that have ended',
    value: ({ computeActivity }) => computeActivity && Math.round(computeActivity * MILLIPERCENT),
  },
  {
    ...{ metricId: 10n, name: 'memory.local.used', unit: 'bytes', semantic: 'instant', plot: 'memory' },
    description: 'memory of the device that is allocated',
    value: ({ usedMemoryBytes }) => usedMemoryBytes,
  },
  {
    ...{ metricId: 11n, name: 'memory.local.total', unit: 'bytes', semantic: 'instant', plot: 'memory' },
    description: 'memory of the device',
    value: ({ memorySizeBytes }) => memorySizeBytes,
  },
];

const SAMPLE_FLAG = { sourceTimestamp: 1, partial: 2 } as const;
const sourceIdOf = (physicalDeviceOrdinal: number): bigint => BigInt(physicalDeviceOrdinal + 1);

/** What samples of a device mean. */
export function* metricMetadata(
  physicalDeviceOrdinal: number,
  name: string,
): Generator<readonly [RecordLayout, Partial<RecordOf<RecordLayout>>]> {
  const sourceId = sourceIdOf(physicalDeviceOrdinal);
  const source = { sourceId, physicalDeviceOrdinal, metricCount: METRICS.length, name };
  yield [DEVICE_METRIC_SOURCES, { ...source, deviceClass: numberOf(DEVICE_CLASSES, 'gpu') }];
  for (const { metricId, name: metric, description, unit, semantic, plot } of METRICS) {
    yield [
      DEVICE_METRIC_DESCRIPTORS,
      {
        ...{ sourceId, metricId, name: metric, description },
        unit: numberOf(METRIC_UNITS, unit),
        valueKind: numberOf(METRIC_VALUE_KINDS, 'u64'),
        semantic: numberOf(METRIC_SEMANTICS, semantic),
        plotHint: numberOf(METRIC_PLOTS, plot),
      },
    ];
  }
}

export function metricSample(
  metrics: DeviceMetrics,
  sampleId: bigint,
): Partial<RecordOf<typeof DEVICE_METRIC_SAMPLES>> {
  const { deviceOrdinal: physicalDeviceOrdinal, clock } = metrics;
  const values = METRICS.flatMap(({ metricId, value }): MetricValue[] => {
    const found = value(metrics);
    return found === undefined ? [] : [{ metricId, bits: BigInt(found), flags: 0 }];
  });
  return {
    ...{ sampleId, sourceId: sourceIdOf(physicalDeviceOrdinal), physicalDeviceOrdinal, values },
    flags: values.length < METRICS.length ? SAMPLE_FLAG.partial : 0,
    hostTimeBeginNs: nanoseconds(clock.hostBeforeMs),
    hostTimeEndNs: nanoseconds(clock.hostAfterMs),
  };
}
