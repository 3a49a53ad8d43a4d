/** What came of the cases of a run: lines as they come, files and a summary at the end. */
import { hostname } from 'node:os';
import { junitParts } from '../../fleet/junit.ts';
import { ReportWriter, secondOf } from '../../fleet/report.ts';
import { type TestResult, type Verdict, verdictOf } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';
import { checkOutput, writeOutputParts } from '../process/output-file.ts';
import { packageVersion } from '../process/package-version.ts';
import { warn } from '../text/report.ts';
import { formatTestResult, formatTestSummary, TestCounts } from '../text/test-text.ts';
import type { RunPlan } from './plan.ts';
import type { TestOptions } from './test-options.ts';

const FAILURES_FOUND = 1;

export class CollectedResults implements Disposable {
  readonly #context: CommandContext;
  readonly #options: TestOptions;
  readonly #plan: RunPlan;
  readonly #began = secondOf(new Date());
  readonly #startMs = performance.now();
  readonly #counts = new TestCounts();
  /** By the number of the case, with gaps where there is none. */
  readonly #results: TestResult[] = [];
  readonly #verdicts: Verdict[] = [];
  /** What came before all cases were known, for the report. */
  readonly #early: (readonly [name: string, verdict: Verdict])[] = [];
  #report: ReportWriter | undefined;
  #isPlanned = false;

  /** Throws IO for a file that cannot be written: it is known before anything runs. */
  constructor(context: CommandContext, options: TestOptions, plan: RunPlan) {
    [this.#context, this.#options, this.#plan] = [context, options, plan];
    const late = options.queue === undefined ? [] : [options.report];
    for (const file of [options.junit, options.sqlite, ...late]) if (file !== undefined) checkOutput(file);
  }

  /** All cases are known. Throws IO. */
  planned(): void {
    this.#isPlanned = true;
    const { report } = this.#options;
    if (report === undefined) return;
    const { whole, keyed } = this.#plan;
    this.#report = new ReportWriter(report, { ...whole, wavewright: packageVersion(), began: this.#began });
    this.#report.plan(keyed);
    for (const [name, verdict] of this.#early.splice(0)) this.#report.add(name, verdict);
  }

  /** Once for each case, as results come; `index` is that of the case. Throws IO. */
  add(result: TestResult, index: number, known?: Verdict): void {
    const { format, junit, report, sqlite } = this.#options;
    this.#counts.add(result);
    // What a program printed is kept only where it is asked for again: there may be many programs.
    if (format === 'json' || junit !== undefined) this.#results[index] = result;
    const key = this.#plan.keyOf(index);
    if (key !== undefined && (report ?? sqlite) !== undefined) {
      const verdict = known ?? verdictOf(key, result);
      if (this.#report) this.#report.add(result.name, verdict);
      else if (report !== undefined) this.#early.push([result.name, verdict]);
      if (sqlite !== undefined) this.#verdicts[index] = verdict;
    }
    printResult(this.#context, this.#options, result);
  }

  /** Writes all that is written at the end; the exit status. Throws IO. */
  async finish(isWhole: boolean): Promise<number> {
    const { format, junit, report, sqlite } = this.#options;
    if (isWhole) this.#report?.finish();
    const total = this.#plan.keyed.length;
    const summary = this.#counts.summary(performance.now() - this.#startMs, total);
    const results = this.#results.filter(() => true);
    if (format === 'json') {
      const object = { schema: 'wavewright.test', version: 1, summary, tests: results };
      this.#context.stdout(`${JSON.stringify(object, undefined, 2)}\n`);
    } else this.#context.stdout(formatTestSummary(summary));
    if (junit !== undefined) {
      writeOutputParts(junit, junitParts(results, { hostname: hostname(), timestamp: this.#began }));
    }
    if (this.#isPlanned && sqlite !== undefined) await this.#writeDatabase(sqlite);
    for (const file of this.#isPlanned ? [] : [report, sqlite]) {
      if (file !== undefined) warn(this.#context, `${file} is not written: not all cases were read`);
    }
    return isWhole && summary.passed === total ? 0 : FAILURES_FOUND;
  }

  [Symbol.dispose](): void {
    this.#report?.[Symbol.dispose]();
  }

  /** It replaces an old one. */
  async #writeDatabase(file: string): Promise<void> {
    const { writeResultsDatabase } = await import('../../fleet/results-database.ts');
    const { whole, keyed } = this.#plan;
    const header = { ...whole, wavewright: packageVersion(), began: this.#began };
    writeResultsDatabase(file, { header, cases: keyed, verdicts: this.#verdicts.filter(() => true) });
  }
}

function printResult(context: CommandContext, { format, tool, hook }: TestOptions, result: TestResult): void {
  if (format !== 'text') return;
  const hasPassed = result.outcome === 'passed';
  if (!hasPassed || !context.isQuiet) context.stdout(formatTestResult(result, context.colour?.stdout));
  const hasTools = tool !== undefined || hook !== undefined;
  if (hasTools && hasPassed) context.stdout(result.stderr);
}
