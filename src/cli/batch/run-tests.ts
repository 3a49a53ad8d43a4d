/** Runs the cases of `test` and `sweep`, and writes the results that both have. */
import { availableParallelism, hostname } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import { junitParts } from '../../fleet/junit.ts';
import { ReportWriter, secondOf } from '../../fleet/report.ts';
import { announceShard, shardOf } from '../../fleet/shard.ts';
import { type TestResult, type Verdict, verdictOf } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';
import { checkOutput, writeOutputParts } from '../process/output-file.ts';
import { packageVersion } from '../process/package-version.ts';
import { warn } from '../text/report.ts';
import { formatTestResult, formatTestSummary, TestCounts } from '../text/test-text.ts';
import { caseProfiles } from './case-profiles.ts';
import type { CaseRunnerOptions } from './case-runner.ts';
import { type CollectedCases, planCases } from './plan.ts';
import { runBatch } from './pool.ts';
import { isolated, wrapperOf } from './process-channel.ts';
import { needsKeys, type OnResult, type TestOptions, type TestPlan } from './test-options.ts';
import { openThread } from './thread-channel.ts';

const FAILURES_FOUND = 1;

/**
 * Runs cases as options say, and writes what came of them; the exit status. `what` names what the cases are
 * from. Throws USAGE, IO, BAD_INPUT.
 */
export async function runTests(
  context: CommandContext,
  options: TestOptions,
  collected: CollectedCases,
  what: string,
): Promise<number> {
  const plan = planOf(context, options, collected, what);
  // A report that cannot be written is known before the tests have run.
  for (const file of [options.junit, options.sqlite]) if (file !== undefined) checkOutput(file);
  const timestamp = secondOf(new Date());
  using report = openReport(options.report, plan, timestamp);
  const results: TestResult[] = [];
  const verdicts: Verdict[] = [];
  const counts = new TestCounts();
  const startMs = performance.now();
  if (options.queue !== undefined) caseProfiles(plan.cases, options);
  const run = options.queue === undefined ? runHere : (await import('./queue-tests.ts')).runOnQueue;
  const isWhole = await run(context, options, plan, (result, index, known) => {
    counts.add(result);
    // What a program printed is kept only where it is asked for again: there may be many programs.
    if (options.format === 'json' || options.junit !== undefined) results[index] = result;
    const key = plan.keys?.[index];
    if (key !== undefined && (report || options.sqlite !== undefined)) {
      const verdict = known ?? verdictOf(key, result);
      report?.add(result.name, verdict);
      if (options.sqlite !== undefined) verdicts[index] = verdict;
    }
    printResult(context, options, result);
  });
  if (isWhole) report?.finish();
  const summary = counts.summary(performance.now() - startMs, plan.cases.length);
  // Cases without a verdict have left gaps.
  const found = results.filter(() => true);
  if (options.format === 'json') {
    context.stdout(
      `${JSON.stringify({ schema: 'wavewright.test', version: 1, summary, tests: found }, undefined, 2)}\n`,
    );
  } else context.stdout(formatTestSummary(summary));
  if (options.junit !== undefined) {
    writeOutputParts(options.junit, junitParts(found, { hostname: hostname(), timestamp }));
  }
  if (options.sqlite !== undefined)
    await writeResults(
      options.sqlite,
      plan,
      verdicts.filter(() => true),
      timestamp,
    );
  return summary.passed === plan.cases.length ? 0 : FAILURES_FOUND;
}

/** Runs cases on this machine. */
async function runHere(
  context: CommandContext,
  options: TestOptions,
  { cases }: TestPlan,
  onResult: OnResult,
): Promise<boolean> {
  const cores = availableParallelism();
  const { jobs = cores } = options;
  if (jobs > cores) {
    warn(context, `--jobs=${jobs} is more than the machine has cores (${cores}): programs wait for each other`);
  }
  const optionsOf = caseProfiles(cases, options);
  const progress = new Progress(context, cases.length);
  let done = 0;
  progress.show(done);
  await runBatch(cases, {
    ...{ jobs, ...runnerOptions(context, options), runOptions: poolOptions(options, jobs) },
    optionsOf,
    onResult: (result, index) => {
      progress.clear();
      onResult(result, index);
      progress.show(++done);
    },
  });
  progress.clear();
  return true;
}

/** What is to be run, with keys where a report wants them. */
function planOf(context: CommandContext, options: TestOptions, collected: CollectedCases, what: string): TestPlan {
  const { filter = '' } = options;
  if (options.shard !== undefined && options.queue !== undefined) {
    throw new WavewrightError('USAGE', '--shard and --queue are two ways to divide a run: give one of them');
  }
  const shard = options.shard === undefined ? undefined : shardOf(options.shard, context.env);
  if (options.shard === 'auto') announceShard(context.env);
  const wanted = { ...collected, cases: collected.cases.filter(({ name }) => name.includes(filter)) };
  if (wanted.cases.length === 0 && !wanted.rest) {
    throw new WavewrightError('USAGE', `there is no program in ${what}`);
  }
  if (!needsKeys(options)) return { cases: wanted.cases };
  const { cases, whole } = planCases(wanted, shard);
  return {
    ...{ cases: cases.map((keyed) => keyed.case), keys: cases.map(({ key }) => key) },
    whole: { ...whole, ...(shard && { shard }) },
  };
}

function openReport(file: string | undefined, plan: TestPlan, began: string): ReportWriter | undefined {
  const { cases, keys, whole } = plan;
  if (file === undefined || !keys || !whole) return undefined;
  const report = new ReportWriter(file, { ...whole, wavewright: packageVersion(), began });
  for (const [index, key] of keys.entries()) report.plan({ key, case: cases[index]! });
  return report;
}

/** Writes the database, which replaces an old one. */
async function writeResults(file: string, plan: TestPlan, verdicts: readonly Verdict[], began: string): Promise<void> {
  const { writeResultsDatabase } = await import('../../fleet/results-database.ts');
  const { cases, keys = [], whole } = plan;
  const keyed = new Map(keys.map((key, index) => [key, { key, case: cases[index]! }]));
  const header = { ...whole!, wavewright: packageVersion(), began };
  writeResultsDatabase(file, { header, cases: keyed, verdicts });
}

/** Options of `run` that depend on the machine, and no verdict on them. */
const poolOptions = ({ workers }: TestOptions, jobs: number): string[] => [
  `--workers=${workers ?? Math.max(1, Math.floor(availableParallelism() / jobs))}`,
];

/** Threads, or processes that see what this one sees. */
function runnerOptions(
  { env }: CommandContext,
  { isolation, 'child-wrapper': wrapper }: TestOptions,
): Pick<CaseRunnerOptions, 'open' | 'maxCases' | 'crashRetries'> {
  if (isolation === 'process') {
    return isolated({ env, ...(wrapper !== undefined && { wrapper: wrapperOf(wrapper, env['PATH']) }) });
  }
  if (wrapper === undefined) return { open: openThread };
  throw new WavewrightError('USAGE', '--child-wrapper is for processes: it goes with --isolation=process');
}

function printResult(context: CommandContext, { format, tool, hook }: TestOptions, result: TestResult): void {
  if (format !== 'text') return;
  const hasPassed = result.outcome === 'passed';
  if (!hasPassed || !context.isQuiet) context.stdout(formatTestResult(result, context.colour?.stdout));
  const hasTools = tool !== undefined || hook !== undefined;
  if (hasTools && hasPassed) context.stdout(result.stderr);
}

/** A line on a terminal that says how far the batch is. */
class Progress {
  readonly #context: CommandContext;
  readonly #total: number;
  readonly #active: boolean;

  constructor(context: CommandContext, total: number) {
    this.#context = context;
    this.#total = total;
    this.#active = context.isProcess === true && process.stderr.isTTY && !context.isQuiet;
  }

  show(done: number): void {
    const WIDTH = 30;
    const filled = Math.round((WIDTH * done) / this.#total);
    if (this.#active) this.#context.stderr(`[${'#'.repeat(filled).padEnd(WIDTH)}] ${done}/${this.#total}`);
  }

  clear(): void {
    if (this.#active) this.#context.stderr('\r\x1b[K');
  }
}
