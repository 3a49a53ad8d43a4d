/** Runs the cases of `test` and `sweep`, with the options and results that both have. */
import { availableParallelism, hostname } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import type { Case, CaseKey } from '../../fleet/case.ts';
import { type CaseDefaults, MAX_RETRIES, MAX_TIMEOUT_SECONDS, type WholeRun } from '../../fleet/cases-file.ts';
import { junitParts } from '../../fleet/junit.ts';
import { ReportWriter, secondOf } from '../../fleet/report.ts';
import { announceShard, type Shard, shardOf } from '../../fleet/shard.ts';
import { type TestResult, type Verdict, verdictOf } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import { checkOutput, writeOutputParts } from '../process/output-file.ts';
import { packageVersion } from '../process/package-version.ts';
import { HOOK_OPTION, TOOL_OPTION } from '../program/tool-options.ts';
import { warn } from '../text/report.ts';
import { formatTestResult, formatTestSummary, TestCounts } from '../text/test-text.ts';
import type { CaseRunnerOptions } from './case-runner.ts';
import { type CollectedCases, planCases } from './plan.ts';
import { runBatch } from './pool.ts';
import { CHILD_WRAPPER_OPTION, isolated, wrapperOf } from './process-channel.ts';
import { openThread } from './thread-channel.ts';

const MAX_JOBS = 256;
const DEFAULT_TIMEOUT_SECONDS = 300;
const FAILURES_FOUND = 1;

/** Options of commands that run cases. */
export const TEST_OPTIONS = {
  jobs: {
    kind: 'integer',
    placeholder: 'N',
    min: 1,
    max: MAX_JOBS,
    default: availableParallelism(),
    description: 'programs that run at once',
  },
  workers: {
    ...WORKERS_OPTION,
    description: 'threads that run the workgroups of each program; by default the cores that --jobs leaves',
  },
  memory: { ...MEMORY_OPTION, description: 'memory of the emulated device of each program' },
  timeout: {
    kind: 'seconds',
    placeholder: 'SECONDS',
    max: MAX_TIMEOUT_SECONDS,
    default: DEFAULT_TIMEOUT_SECONDS,
    description:
      'time limit of each program: what its thread takes, and at most ten times that by the clock on the wall',
  },
  retries: {
    kind: 'integer',
    placeholder: 'N',
    min: 0,
    max: MAX_RETRIES,
    default: 0,
    description: 'run a program that failed again up to N times',
  },
  filter: { kind: 'text', placeholder: 'TEXT', description: 'only programs whose path contains TEXT' },
  junit: { kind: 'text', placeholder: 'FILE', description: 'write the results to FILE as JUnit XML' },
  isolation: {
    kind: 'choice',
    choices: ['thread', 'process'],
    default: 'thread',
    description: 'where programs run: processes cost more, and survive programs that end them or take all memory',
  },
  'child-wrapper': CHILD_WRAPPER_OPTION,
  shard: {
    kind: 'text',
    placeholder: 'I/N',
    description: 'run part I of N, from 1 on, dealt out by name; auto asks Bazel, Slurm, GitLab CI or Kubernetes',
  },
  report: {
    kind: 'text',
    placeholder: 'FILE',
    description: 'write cases and verdicts to FILE as JSON Lines, for `wavewright merge`',
  },
  sqlite: {
    kind: 'text',
    placeholder: 'FILE',
    description: 'write cases and verdicts to FILE as a database of SQLite',
  },
  run: {
    kind: 'list',
    placeholder: 'OPTION',
    description: 'an option of `wavewright run` for every program, for example --run=--sandbox; may be repeated',
  },
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the results are printed' },
} as const satisfies OptionTable;

export type TestOptions = OptionValues<typeof TEST_OPTIONS>;

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
  const cores = availableParallelism();
  if (options.jobs > cores) {
    const crowd = `--jobs=${options.jobs} is more than the machine has cores (${cores}): programs wait for each other`;
    warn(context, crowd);
  }
  const timestamp = secondOf(new Date());
  using report = openReport(options.report, plan, timestamp);
  const results: TestResult[] = [];
  const verdicts: Verdict[] = [];
  const counts = new TestCounts();
  const progress = new Progress(context, plan.cases.length);
  progress.show(0);
  const startMs = performance.now();
  await runBatch(plan.cases, {
    jobs: options.jobs,
    ...runnerOptions(context, options),
    runOptions: poolOptions(options, cores),
    onResult: (result, index) => {
      counts.add(result);
      // What a program printed is kept only where it is asked for again: there may be many programs.
      if (options.format === 'json' || options.junit !== undefined) results[index] = result;
      const key = plan.keys?.[index];
      if (key !== undefined && (report || options.sqlite !== undefined)) {
        const verdict = verdictOf(key, result);
        report?.add(result.name, verdict);
        if (options.sqlite !== undefined) verdicts[index] = verdict;
      }
      progress.clear();
      printResult(context, options, result);
      progress.show(counts.tests);
    },
  });
  progress.clear();
  report?.finish();
  const summary = counts.summary(performance.now() - startMs);
  if (options.format === 'json') {
    context.stdout(
      `${JSON.stringify({ schema: 'wavewright.test', version: 1, summary, tests: results }, undefined, 2)}\n`,
    );
  } else context.stdout(formatTestSummary(summary));
  if (options.junit !== undefined) {
    writeOutputParts(options.junit, junitParts(results, { hostname: hostname(), timestamp }));
  }
  if (options.sqlite !== undefined) await writeResults(options.sqlite, plan, verdicts, timestamp);
  return summary.passed === summary.tests ? 0 : FAILURES_FOUND;
}

/** What is to be run, with keys where a report wants them. */
function planOf(context: CommandContext, options: TestOptions, collected: CollectedCases, what: string): TestPlan {
  const { filter = '' } = options;
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

interface TestPlan {
  readonly cases: readonly Case[];
  /** Where they are wanted: one for each case, and what the cases are a part of. */
  readonly keys?: readonly CaseKey[];
  readonly whole?: WholeRun & { readonly shard?: Shard };
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

/**
 * Whether cases need keys and names that are the same on every machine: those that share a run know its cases
 * by what does not depend on the machine.
 */
export const needsKeys = ({ shard, report, sqlite }: TestOptions): boolean =>
  shard !== undefined || report !== undefined || sqlite !== undefined;

/** What cases have where they say nothing else. */
export const defaultsOf = (options: TestOptions): CaseDefaults => ({
  options: caseOptions(options),
  timeout: options.timeout,
  retries: options.retries,
});

/** Options of `run` that belong to each case. */
function caseOptions({ memory, run = [], tool = [], hook = [] }: TestOptions): string[] {
  return [
    ...(memory === MEMORY_OPTION.default ? [] : [`--memory=${memory}`]),
    ...run,
    ...tool.map((text) => `--tool=${text}`),
    ...hook.map((text) => `--hook=${text}`),
  ];
}

/** Options of `run` that depend on the machine, and no verdict on them. */
const poolOptions = ({ workers, jobs }: TestOptions, cores: number): string[] => [
  `--workers=${workers ?? Math.max(1, Math.floor(cores / jobs))}`,
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
