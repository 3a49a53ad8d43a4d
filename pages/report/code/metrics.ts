/** What was counted of a kernel's instructions, by row, and for what is made of several rows. */
import type { KernelListing } from '../../../src/report/report-data.ts';
import { countText, shareText } from '../format.ts';

/** Counts of one row or of several. What no row of them has is undefined. */
export interface Measured {
  readonly waves: number;
  /** Of all executed instructions of the kernel. */
  readonly share: number;
  /** Active lanes of a wave, on average. */
  readonly lanes: number | undefined;
  readonly taken: number | undefined;
  /** Of accesses to memory: bytes that lanes asked for by those of the cache lines that they touched. */
  readonly efficiency: number | undefined;
  /** Of cycles that accesses to LDS took, the share that bank conflicts cost. */
  readonly conflicts: number | undefined;
}

const sumOf = (values: readonly (number | null)[], rows: readonly number[]): number | undefined => {
  let sum: number | undefined;
  for (const row of rows) {
    const value = values[row];
    if (typeof value === 'number') sum = (sum ?? 0) + value;
  }
  return sum;
};

export class CodeMetrics {
  readonly code: KernelListing;
  /** Executed instructions of waves. */
  readonly total: number;
  /** The smallest and the largest count of a row that was executed. */
  readonly #least: number;
  readonly #most: number;

  constructor(code: KernelListing) {
    this.code = code;
    const { waves } = code.counts;
    this.total = waves.reduce((sum, each) => sum + each, 0);
    const executed = waves.filter((each) => each > 0);
    this.#least = executed.reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
    this.#most = executed.reduce((most, each) => Math.max(most, each), 0);
  }

  /** How hot a row is, from 0 to 1; nothing is where all rows are executed alike. */
  heatOf(waves: number): number {
    return this.#most > this.#least ? Math.max(0, waves - this.#least) / (this.#most - this.#least) : 0;
  }

  of(rows: readonly number[]): Measured {
    const { counts } = this.code;
    const waves = sumOf(counts.waves, rows) ?? 0;
    const lanes = sumOf(counts.lanes, rows) ?? 0;
    const cycles = sumOf(counts.cycles, rows);
    const touched = sumOf(counts.touched, rows);
    const bytes = sumOf(counts.bytes, rows) ?? 0;
    return {
      waves,
      share: waves / (this.total || 1),
      lanes: waves > 0 ? lanes / waves : undefined,
      taken: sumOf(counts.taken, rows),
      // Lanes that ask for the same bytes ask for more than there are.
      efficiency: touched ? Math.min(1, bytes / touched) : undefined,
      conflicts: cycles ? (sumOf(counts.conflicts, rows) ?? 0) / cycles : undefined,
    };
  }

  /** Those that have something to say of this code. */
  get columns(): readonly MetricColumn[] {
    const rows = [...this.code.addresses.keys()].map((row) => this.of([row]));
    return METRIC_COLUMNS.filter(({ text }) => rows.some((measured) => text(measured) !== ''));
  }

  /** Rows that were executed, the hottest first. */
  get hottest(): number[] {
    const { waves } = this.code.counts;
    return [...waves.keys()].filter((row) => waves[row]! > 0).sort((one, other) => waves[other]! - waves[one]!);
  }

  /** Rows whose accesses touch more cache lines than they need, those that waste most first. */
  get mostWasteful(): number[] {
    const { touched, bytes } = this.code.counts;
    const waste = (row: number): number => (touched[row] ?? 0) - (bytes[row] ?? 0);
    return [...touched.keys()].filter((row) => waste(row) > 0).sort((one, other) => waste(other) - waste(one));
  }
}

/** A column of a listing and of the table of lines. */
export interface MetricColumn {
  readonly title: string;
  /** Of a listing, in pixels. */
  readonly width: number;
  readonly hint: string;
  value(of: Measured): number | undefined;
  text(of: Measured): string;
  /** How hot a cell is, from 0 to 1. */
  heat(of: Measured, metrics: CodeMetrics): number;
}

const textOf = (value: number | undefined, text: (value: number) => string): string =>
  value === undefined ? '' : text(value);

const METRIC_COLUMNS: readonly MetricColumn[] = [
  {
    title: 'executed',
    width: 84,
    hint: 'Times that a wave executed it, in all launches',
    value: ({ waves }) => waves,
    text: ({ waves }) => (waves === 0 ? '' : countText(waves)),
    heat: ({ waves }, metrics) => Math.min(1, metrics.heatOf(waves)),
  },
  {
    title: 'lanes',
    width: 52,
    hint: 'Active lanes of a wave, on average',
    value: ({ lanes }) => lanes,
    text: ({ lanes }) => textOf(lanes, (value) => value.toFixed(1).replace(/\.0$/, '')),
    heat: ({ lanes }, { code }) => (lanes === undefined ? 0 : 1 - lanes / code.waveSize),
  },
  {
    title: 'taken',
    width: 62,
    hint: 'How many of the executed branches were taken',
    value: ({ taken, waves }) => (taken === undefined || waves === 0 ? undefined : taken / waves),
    text: ({ taken, waves }) => (waves === 0 ? '' : textOf(taken, (value) => shareText(value / waves))),
    heat: () => 0,
  },
  {
    title: 'memory',
    width: 68,
    hint: 'Efficiency of accesses: bytes that lanes asked for, by those of the cache lines that they touched',
    value: ({ efficiency }) => efficiency,
    text: ({ efficiency }) => textOf(efficiency, shareText),
    heat: ({ efficiency }) => (efficiency === undefined ? 0 : 1 - Math.min(1, efficiency)),
  },
  {
    title: 'conflicts',
    width: 78,
    hint: 'Of the cycles of accesses to LDS, those lost to bank conflicts',
    value: ({ conflicts }) => conflicts,
    text: ({ conflicts }) => textOf(conflicts, shareText),
    heat: ({ conflicts = 0 }) => conflicts,
  },
];

/** The opacity of a cell's background. */
export const heatOpacity = (heat: number): string => (0.6 * heat).toFixed(3);
