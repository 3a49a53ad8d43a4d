/** Results of tests as lines, and what they add up to. */
import { printable } from '../../base/text.ts';
import { didPass, type Outcome, type TestResult } from '../../fleet/verdict.ts';
import { paint } from '../process/colour.ts';

/** Lines of a failed test's output that are shown. */
const MAX_LINES_SHOWN = 30;

const LABELS: Readonly<Record<Outcome, string>> = {
  passed: 'PASS',
  failed: 'FAIL',
  'timed-out': 'TIMEOUT',
  crashed: 'CRASH',
  quarantined: 'LOST',
  error: 'ERROR',
};

export function formatTestResult(result: TestResult, hasColour: boolean | undefined): string {
  const { name, outcome, status, durationMs, attempts, cases } = result;
  const bad = cases.filter((one) => !didPass(one));
  const notes = [
    `${(durationMs / 1000).toFixed(2)} s`,
    ...(cases.length > 0 ? [`${cases.length} cases`] : []),
    ...(attempts > 1 ? [`${attempts} attempts`] : []),
    ...(outcome === 'failed' ? [`status ${status}`] : []),
  ];
  const label = paint(LABELS[outcome].padEnd(7), outcome === 'passed' ? 'green' : 'red', hasColour);
  const head = `${label} ${printable(name)} (${notes.join(', ')})\n`;
  if (outcome === 'passed') return head;
  const lines = `${result.stdout}${result.stderr}`.trimEnd().split('\n').slice(-MAX_LINES_SHOWN);
  const shown = [...bad.map((one) => `${one.outcome}: ${one.name}`), ...lines].filter((line) => line !== '');
  return head + shown.map((line) => `        ${printable(line)}\n`).join('');
}

/** What results add up to, for JSON. */
export interface TestSummary {
  readonly tests: number;
  readonly passed: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly crashed: number;
  /** Only where a queue dealt out the tests. */
  readonly quarantined?: number;
  readonly errors?: number;
  /** Only where a run ended before its end: cases that are counted in `tests` alone. */
  readonly withoutVerdict?: number;
  /** Cases that programs report. */
  readonly cases: number;
  readonly durationMs: number;
}

/** Counts results as they come. */
export class TestCounts {
  readonly #byOutcome = new Map<Outcome, number>();
  #tests = 0;
  #cases = 0;

  add({ outcome, cases }: Pick<TestResult, 'outcome' | 'cases'>): void {
    this.#byOutcome.set(outcome, this.#of(outcome) + 1);
    this.#tests++;
    this.#cases += cases.length;
  }

  /** Of so many cases; by default of those that were added. */
  summary(durationMs: number, tests = this.#tests): TestSummary {
    const [quarantined, errors, withoutVerdict] = [this.#of('quarantined'), this.#of('error'), tests - this.#tests];
    return {
      tests,
      passed: this.#of('passed'),
      failed: this.#of('failed'),
      timedOut: this.#of('timed-out'),
      crashed: this.#of('crashed'),
      ...(quarantined > 0 && { quarantined }),
      ...(errors > 0 && { errors }),
      ...(withoutVerdict > 0 && { withoutVerdict }),
      cases: this.#cases,
      durationMs,
    };
  }

  #of(outcome: Outcome): number {
    return this.#byOutcome.get(outcome) ?? 0;
  }
}

export function formatTestSummary(summary: TestSummary): string {
  const { tests, passed, failed, cases, durationMs } = summary;
  const rare: readonly (readonly [number | undefined, string])[] = [
    [summary.timedOut, 'timed out'],
    [summary.crashed, 'crashed'],
    [summary.quarantined, 'quarantined'],
    [summary.errors, 'not run'],
    [summary.withoutVerdict, 'without a verdict'],
  ];
  const parts = [`${passed} passed`, `${failed} failed`];
  for (const [count = 0, what] of rare) if (count > 0) parts.push(`${count} ${what}`);
  const reported = cases > 0 ? `, which report ${cases} cases` : '';
  return `${parts.join(', ')} of ${tests} programs${reported}, in ${(durationMs / 1000).toFixed(1)} s\n`;
}
