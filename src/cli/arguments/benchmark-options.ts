/** How `hal benchmark` and `replay benchmark` measure, with the flags that IREE's benchmark tools have. */
export const BENCHMARK_OPTIONS = {
  repetitions: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: 1000,
    aliases: ['benchmark_repetitions', 'benchmark-repetitions'],
    default: 1,
    description: 'benchmark: measurements, of which mean, median and deviation are printed when there are several',
  },
  'min-time': {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: 3600,
    aliases: ['benchmark_min_time', 'benchmark-min-time'],
    default: 0.5,
    description: 'benchmark: how long a measurement takes at least',
  },
} as const;
