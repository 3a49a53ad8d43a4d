/** Measurements in the manner of google-benchmark, as text and in its JSON format. */
import os from 'node:os';
import { medianOf } from './median.ts';

export interface BenchmarkRow {
  readonly name: string;
  /** A statistic over repetitions, or a measurement. */
  readonly aggregate?: 'mean' | 'median' | 'stddev';
  readonly repetition: number;
  readonly iterations: number;
  /** Of one iteration, in milliseconds. */
  readonly realMs: number;
  readonly cpuMs: number;
  readonly itemsPerSecond: number;
}

export interface RepetitionSettings {
  readonly repetitions: number;
  /** A measurement takes at least so long. */
  readonly minTimeMs: number;
  /** What an iteration does, for `items_per_second`. */
  readonly itemsPerIteration: number | (() => number);
}

const TIME_COLUMN = 15;
const ITERATIONS_COLUMN = 12;
/** A measurement that was too short is made again with so many times more iterations, at most. */
const MAX_GROWTH = 10;
const US_PER_MS = 1000;

/**
 * Measures `run` after it ran once, so that loading and compiling do not count. What `run` gives is the time
 * that counts of it, in milliseconds; by default all of it does.
 */
export async function measureRepetitions(
  name: string,
  run: () => Promise<unknown>,
  settings: RepetitionSettings,
): Promise<BenchmarkRow[]> {
  const { itemsPerIteration } = settings;
  await run();
  let iterations = 1;
  const measure = async (repetition: number): Promise<BenchmarkRow> => {
    const cpu = process.cpuUsage();
    const start = performance.now();
    let countedMs: number | undefined;
    for (let i = 0; i < iterations; i++) {
      const counted = await run();
      if (typeof counted === 'number') countedMs = (countedMs ?? 0) + counted;
    }
    const realMs = countedMs ?? performance.now() - start;
    const items = typeof itemsPerIteration === 'number' ? itemsPerIteration : itemsPerIteration();
    const { user, system } = process.cpuUsage(cpu);
    const perIteration = { realMs: realMs / iterations, cpuMs: (user + system) / US_PER_MS / iterations };
    const itemsPerSecond = (items * iterations * 1000) / realMs;
    return { name, repetition, iterations, ...perIteration, itemsPerSecond };
  };
  for (;;) {
    const { realMs } = await measure(0);
    const total = realMs * iterations;
    if (total >= settings.minTimeMs) break;
    iterations = Math.ceil(iterations * Math.min((1.2 * settings.minTimeMs) / Math.max(total, 1e-3), MAX_GROWTH));
  }
  const rows: BenchmarkRow[] = [];
  for (let i = 0; i < settings.repetitions; i++) rows.push(await measure(i));
  return rows.length === 1 ? rows : [...rows, ...aggregates(rows)];
}

type Measured = 'realMs' | 'cpuMs' | 'itemsPerSecond';

function aggregates(rows: readonly BenchmarkRow[]): BenchmarkRow[] {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const statistics = {
    mean,
    median: medianOf,
    stddev: (values: readonly number[]) => {
      const middle = mean(values);
      return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
    },
  };
  return (['mean', 'median', 'stddev'] as const).map((aggregate) => {
    const of = (key: Measured): number => statistics[aggregate](rows.map((row) => row[key]));
    const values = { realMs: of('realMs'), cpuMs: of('cpuMs'), itemsPerSecond: of('itemsPerSecond') };
    return { name: rows[0]!.name, aggregate, repetition: 0, iterations: rows.length, ...values };
  });
}

const nameOf = ({ name, aggregate }: BenchmarkRow): string => (aggregate === undefined ? name : `${name}_${aggregate}`);

export function benchmarkText(rows: readonly BenchmarkRow[]): string {
  const width = Math.max(10, ...rows.map((row) => nameOf(row).length));
  const line = (name: string, time: string, cpu: string, iterations: string, counters: string): string =>
    `${name.padEnd(width)}${time.padStart(TIME_COLUMN)}${cpu.padStart(TIME_COLUMN)}${iterations.padStart(ITERATIONS_COLUMN)} ${counters}`;
  const heading = line('Benchmark', 'Time', 'CPU', 'Iterations', 'UserCounters...');
  const rule = '-'.repeat(heading.length);
  const ms = (value: number): string => `${value.toPrecision(3)} ms`;
  const body = rows.map((row) =>
    line(
      nameOf(row),
      ms(row.realMs),
      ms(row.cpuMs),
      String(row.iterations),
      `items_per_second=${row.itemsPerSecond.toPrecision(6)}/s`,
    ),
  );
  return `${[rule, heading, rule, ...body].join('\n')}\n`;
}

/** As `--benchmark_format=json` of google-benchmark. */
export function benchmarkJson(rows: readonly BenchmarkRow[], executable = 'wavewright hal benchmark'): string {
  const report = {
    context: {
      date: new Date().toISOString(),
      host_name: os.hostname(),
      executable,
      num_cpus: os.availableParallelism(),
    },
    benchmarks: rows.map((row) => ({
      name: nameOf(row),
      run_name: row.name,
      run_type: row.aggregate === undefined ? 'iteration' : 'aggregate',
      ...(row.aggregate === undefined ? { repetition_index: row.repetition } : { aggregate_name: row.aggregate }),
      iterations: row.iterations,
      real_time: row.realMs,
      cpu_time: row.cpuMs,
      time_unit: 'ms',
      items_per_second: row.itemsPerSecond,
    })),
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}
