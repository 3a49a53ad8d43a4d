import { availableParallelism, hostname } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import type { Case, CaseKey } from '../../fleet/case.ts';
import { MAX_RETRIES, MAX_TIMEOUT_SECONDS, type WholeRun } from '../../fleet/cases-file.ts';
import { junitParts } from '../../fleet/junit.ts';
import { ReportWriter, secondOf } from '../../fleet/report.ts';
import { announceShard, type Shard, shardOf } from '../../fleet/shard.ts';
import { type TestResult, verdictOf } from '../../fleet/verdict.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import type { OptionTable, OptionValues } from '../arguments/options.ts';
import type { CaseRunnerOptions } from '../batch/case-runner.ts';
import { collectCases, planCases } from '../batch/plan.ts';
import { runBatch } from '../batch/pool.ts';
import { CHILD_WRAPPER_OPTION, isolated, wrapperOf } from '../batch/process-channel.ts';
import { openThread } from '../batch/thread-channel.ts';
import { checkOutput, writeOutputParts } from '../process/output-file.ts';
import { packageVersion } from '../process/package-version.ts';
import { HOOK_OPTION, TOOL_OPTION } from '../program/tool-options.ts';
import { warn } from '../text/report.ts';
import { formatTestResult, formatTestSummary, TestCounts } from '../text/test-text.ts';

const MAX_JOBS = 256;
const DEFAULT_TIMEOUT_SECONDS = 300;
const FAILURES_FOUND = 1;

const OPTIONS = {
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
  run: {
    kind: 'list',
    placeholder: 'OPTION',
    description: 'an option of `wavewright run` for every program, for example --run=--sandbox; may be repeated',
  },
  tool: TOOL_OPTION,
  hook: HOOK_OPTION,
  format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the results are printed' },
} as const satisfies OptionTable;

type TestOptions = OptionValues<typeof OPTIONS>;

export const test = defineCommand({
  operands: { usage: 'DIR|LIST|IMAGE|CASES.jsonl...', min: 1, max: Number.POSITIVE_INFINITY },
  options: OPTIONS,
  formats: { text: 'a line for each program, the end of the output of those that failed', json: 'one object' },
  notes: [
    'DIR: all programs below a directory; LIST: a text file with the path of one on each line, relative to the list.',
    'CASES.jsonl: a case on each line, as {"image":"a.co","name":"a[seed=7]","args":["7"],"run":["--threads=2"],"env":{}}; - is standard input.',
    'A program passes when its exit status is 0 and it reports no failed case in the form of GoogleTest or of LLVM libc.',
    'What tools find goes to the standard error of each program, which is printed also for those that pass.',
    'IMAGE.params beside IMAGE holds its arguments as in LLVM: a line for each option of the loader, ---, a line for each argument,',
    '---, a line NAME=VALUE for each variable. The exit status is 1 when a program failed.',
  ],
  async run(context, options, operands) {
    const plan = await planOf(context, options, operands);
    // A report that cannot be written is known before the tests have run.
    if (options.junit !== undefined) checkOutput(options.junit);
    const cores = availableParallelism();
    if (options.jobs > cores) {
      const what = `--jobs=${options.jobs} is more than the machine has cores (${cores}): programs wait for each other`;
      warn(context, what);
    }
    const timestamp = secondOf(new Date());
    using report = openReport(options.report, plan, timestamp);
    const results: TestResult[] = [];
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
        if (key !== undefined) report?.add(result.name, verdictOf(key, result));
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
    return summary.passed === summary.tests ? 0 : FAILURES_FOUND;
  },
});

/** What is to be run, with keys where a report wants them. */
async function planOf(context: CommandContext, options: TestOptions, operands: readonly string[]): Promise<TestPlan> {
  const { timeout, retries, filter = '' } = options;
  const shard = options.shard === undefined ? undefined : shardOf(options.shard, context.env);
  if (options.shard === 'auto') announceShard(context.env);
  // Machines that share a run know its cases by what does not depend on the machine.
  const isPortable = shard !== undefined || options.report !== undefined;
  const found = await collectCases(operands, { options: caseOptions(options), timeout, retries }, isPortable);
  const wanted = { ...found, cases: found.cases.filter(({ name }) => name.includes(filter)) };
  if (wanted.cases.length === 0 && !wanted.rest) {
    throw new WavewrightError('USAGE', `there is no program in ${operands.join(', ')}`);
  }
  if (!isPortable) return { cases: wanted.cases };
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
