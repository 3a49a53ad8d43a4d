/** Measurements as tables in Markdown. */
import { median } from '../../src/bench/sampling.ts';
import type { Coverage } from '../../src/instrument/index.ts';
import { UNITS } from './execution.ts';
import type { Measurement, VariantMeasurement } from './measure.ts';

type Row = readonly (string | number)[];

const table = (columns: readonly string[], rows: readonly Row[]): string =>
  [columns, columns.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`).join('');

const short = (value: number, digits = 2): string => (Number.isInteger(value) ? `${value}` : value.toFixed(digits));

/** What the measurements say of each variant, target by target and kernel by kernel. */
export function report(measurements: readonly Measurement[]): string {
  const processors = [...new Set(measurements.map(({ processor }) => processor))];
  const variants = [...new Set(measurements.flatMap((each) => each.variants.map(({ variant }) => variant)))];
  const of = (processor: string, variant: string): VariantMeasurement[] =>
    measurements
      .filter((each) => each.processor === processor)
      .flatMap((each) => each.variants.filter((one) => one.variant === variant && one.missing === undefined));
  const pairs = variants.flatMap((variant) => processors.map((processor) => ({ variant, processor })));
  const existing = pairs.filter(({ processor, variant }) => of(processor, variant).length > 0);
  const costs = existing.map(({ processor, variant }) => costRow(variant, processor, of(processor, variant)));
  const added = existing.map(({ processor, variant }) => addedRow(variant, processor, of(processor, variant)));
  const points = existing.flatMap(({ processor, variant }) => pointRow(variant, processor, of(processor, variant)));
  return [
    table(COST_COLUMNS, costs),
    table(['variant', 'target', ...UNITS.map((unit) => `+${unit}`)], added),
    table(POINT_COLUMNS, points),
    kernelTable(measurements, variants),
  ].join('\n');
}

const COST_COLUMNS = [
  ...['variant', 'target', 'kernels', 'ratio: least', 'median', 'most'],
  ...['instructions a point: median of medians', 'most of p95', 'code bytes, median', 'host ms, median'],
];

function costRow(variant: string, processor: string, all: readonly VariantMeasurement[]): Row {
  const ratios = all.map(({ ratio }) => ratio);
  return [
    ...[variant, processor, all.length, short(Math.min(...ratios)), short(median(ratios)), short(Math.max(...ratios))],
    short(median(all.map(({ perPoint }) => perPoint.median))),
    short(Math.max(...all.map(({ perPoint }) => perPoint.p95))),
    `x ${short(median(all.map(({ codeRatio }) => codeRatio)))}`,
    short(median(all.map(({ hostMs }) => hostMs)), 0),
  ];
}

/** In percent of all that is executed more than natively, all kernels together. */
function addedRow(variant: string, processor: string, all: readonly VariantMeasurement[]): Row {
  const sums = UNITS.map((unit) => all.reduce((sum, { added }) => sum + added[unit], 0));
  const total = sums.reduce((sum, each) => sum + each, 0);
  return [variant, processor, ...sums.map((each) => (total === 0 ? '0' : `${((each / total) * 100).toFixed(1)} %`))];
}

const POINT_COLUMNS = [
  ...['variant', 'target', 'points', 'resident', 'dead', 'granule', 'grown', 'borrowed'],
  ...['accumulator', 'memory', 'envelope', 'refused'],
  ...['body', 'save', 'wait', 'SGPRs', 'VGPRs', 'kernels with fewer waves'],
];

/** Payload instructions as they stand in the code; registers that all kernels together have more. */
function pointRow(variant: string, processor: string, all: readonly VariantMeasurement[]): Row[] {
  const coverages = all.flatMap(({ coverage }) => (coverage ? [coverage] : []));
  if (coverages.length === 0) return [];
  const sum = (of: (coverage: Coverage) => number): number => coverages.reduce((total, each) => total + of(each), 0);
  const refused = sum((each) => Object.values(each.refused).reduce((total, count) => total + count, 0));
  const kernels = coverages.flatMap((each) => each.kernels);
  const more = (of: (kernel: Coverage['kernels'][number]) => readonly [number, number]): string =>
    `+${kernels.reduce((total, kernel) => total + of(kernel)[1] - of(kernel)[0], 0)}`;
  const slower = kernels.filter(({ wavesPerSimd: [before = 0, after = 0] }) => after < before);
  return [
    [
      ...[variant, processor, sum(({ requested }) => requested)],
      ...[sum(({ served }) => served.resident), sum(({ served }) => served.dead)],
      ...[sum(({ served }) => served.granule), sum(({ served }) => served.grown)],
      ...[sum(({ served }) => served.borrowed), sum(({ served }) => served.accumulator)],
      ...[sum(({ served }) => served.memory), sum(({ served }) => served.envelope), refused],
      ...[sum(({ payload }) => payload.body), sum(({ payload }) => payload.save), sum(({ payload }) => payload.wait)],
      ...[more(({ sgprs }) => sgprs), more(({ vgprs }) => vgprs), slower.length],
    ],
  ];
}

/** Ratios of executed instructions. */
function kernelTable(measurements: readonly Measurement[], variants: readonly string[]): string {
  const rows = measurements.map(({ kernel, processor, native, variants: own }): Row => {
    const ratios = variants.map((variant) => {
      const found = own.find((each) => each.variant === variant);
      return found && found.missing === undefined ? short(found.ratio) : '-';
    });
    return [kernel, processor, native.instructions, ...ratios];
  });
  return table(['kernel', 'target', 'instructions', ...variants], rows);
}
