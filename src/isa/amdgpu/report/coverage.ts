/** Which instructions of a target the executors have, and how faithfully. All of it stands in the rows. */

import { encodingsOf } from '../encoding/encodings.ts';
import type { FormatName } from '../encoding/formats.ts';
import type { Row } from '../encoding/row.ts';
import { TARGET_PROCESSORS, type Target, targetFor } from '../encoding/targets.ts';
import { allRows } from '../rows/index.ts';

/** `missing`: decoded and printed, but not executed. */
export type Exactness = 'exact' | 'approximate' | 'missing';

export interface ApproximateInstruction {
  readonly name: string;
  /** How its results can differ from the hardware's. */
  readonly reason: string;
}

export interface FormatCoverage {
  readonly format: FormatName;
  /** Names as the target has them, sorted. */
  readonly exact: readonly string[];
  readonly approximate: readonly ApproximateInstruction[];
  readonly missing: readonly string[];
}

export interface TargetCoverage {
  readonly processor: string;
  readonly formats: readonly FormatCoverage[];
}

/** An operation in two halves is as good as the worse of them. */
export function exactnessOf(row: Row): Exactness {
  if (!row.semantics) return 'missing';
  return row.flags.approximate !== undefined || row.halves?.some((half) => exactnessOf(half) !== 'exact')
    ? 'approximate'
    : 'exact';
}

const reasonOf = ({ flags, halves }: Row): string =>
  flags.approximate ?? halves?.find((half) => half.flags.approximate !== undefined)?.flags.approximate ?? '';

/** The name of a row on a target that has it. */
const nameOn = (row: Row, target: Target): string | undefined => encodingsOf(row, target)[0]?.name;

function targetCoverage(target: Target): TargetCoverage {
  const formats = new Map<FormatName, { row: Row; name: string }[]>();
  for (const row of allRows()) {
    const name = nameOn(row, target);
    if (name === undefined) continue;
    formats.set(row.format, [...(formats.get(row.format) ?? []), { row, name }]);
  }
  return {
    processor: target.processor,
    formats: [...formats].map(([format, entries]) => {
      entries.sort((a, b) => (a.name < b.name ? -1 : 1));
      const of = (exactness: Exactness) => entries.filter(({ row }) => exactnessOf(row) === exactness);
      return {
        format,
        exact: of('exact').map(({ name }) => name),
        approximate: of('approximate').map(({ row, name }) => ({ name, reason: reasonOf(row) })),
        missing: of('missing').map(({ name }) => name),
      };
    }),
  };
}

/** The coverage of each processor, all of them by default. Throws UNSUPPORTED for an unknown one. */
export function coverage(processors: readonly string[] = TARGET_PROCESSORS): TargetCoverage[] {
  return processors.map((processor) => targetCoverage(targetFor(processor)));
}

export interface Counts {
  readonly exact: number;
  readonly approximate: number;
  readonly missing: number;
}

export const countsOf = (formats: readonly FormatCoverage[]): Counts => ({
  exact: formats.reduce((sum, { exact }) => sum + exact.length, 0),
  approximate: formats.reduce((sum, { approximate }) => sum + approximate.length, 0),
  missing: formats.reduce((sum, { missing }) => sum + missing.length, 0),
});
