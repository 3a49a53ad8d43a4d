import { availableParallelism } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import { printable } from '../../base/text.ts';
import { type CommandContext, defineCommand } from '../arguments/command.ts';
import { MEMORY_OPTION, WORKERS_OPTION } from '../arguments/device-name.ts';
import { collectTests } from '../batch/collect.ts';
import { formatJunit } from '../batch/junit.ts';
import { runBatch, type TestResult } from '../batch/pool.ts';
import { paint } from '../process/colour.ts';
import { checkOutput, writeOutput } from '../process/output-file.ts';
import { HOOK_OPTION, TOOL_OPTION } from '../program/tool-options.ts';
import { warn } from '../text/report.ts';

const MAX_JOBS = 256;
const MAX_RETRIES = 100;
const DEFAULT_TIMEOUT_SECONDS = 300;
/** Lines of a failed test's output that are shown. */
const MAX_LINES_SHOWN = 30;
const FAILURES_FOUND = 1;

export const test = defineCommand({
  operands: { usage: 'DIR|LIST|IMAGE...', min: 1, max: Number.POSITIVE_INFINITY },
  options: {
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
      max: 1_000_000,
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
    run: {
      kind: 'list',
      placeholder: 'OPTION',
      description: 'an option of `wavewright run` for every program, for example --run=--sandbox; may be repeated',
    },
    tool: TOOL_OPTION,
    hook: HOOK_OPTION,
    format: { kind: 'choice', choices: ['text', 'json'], default: 'text', description: 'how the results are printed' },
  },
  formats: { text: 'a line for each program, the end of the output of those that failed', json: 'one object' },
  notes: [
    'DIR: all programs below a directory; LIST: a text file with the path of one on each line, relative to the list.',
    'A program passes when its exit status is 0 and it reports no failed case in the form of GoogleTest or of LLVM libc.',
    'What tools find goes to the standard error of each program, which is printed also for those that pass.',
    'IMAGE.params beside IMAGE holds its arguments as in LLVM: a line for each option of the loader, ---, a line for each argument,',
    '---, a line NAME=VALUE for each variable. The exit status is 1 when a program failed.',
  ],
  async run(context, options, operands) {
    const tests = operands.flatMap(collectTests).filter(({ name }) => name.includes(options.filter ?? ''));
    if (tests.length === 0) throw new WavewrightError('USAGE', `there is no program in ${operands.join(', ')}`);
    // A report that cannot be written is known before the tests have run.
    if (options.junit !== undefined) checkOutput(options.junit);
    const cores = availableParallelism();
    if (options.jobs > cores) {
      const what = `--jobs=${options.jobs} is more than the machine has cores (${cores}): programs wait for each other`;
      warn(context, what);
    }
    const hasTools = options.tool !== undefined || options.hook !== undefined;
    const beganAt = new Date();
    const workers = options.workers ?? Math.max(1, Math.floor(cores / options.jobs));
    const progress = new Progress(context, tests.length);
    progress.show(0);
    const startMs = performance.now();
    const results = await runBatch(tests, {
      jobs: options.jobs,
      timeoutMs: options.timeout * 1000,
      retries: options.retries,
      runOptions: [
        ...[`--workers=${workers}`, `--memory=${options.memory}`, ...(options.run ?? [])],
        ...(options.tool ?? []).map((text) => `--tool=${text}`),
        ...(options.hook ?? []).map((text) => `--hook=${text}`),
      ],
      onResult: (result, done) => {
        progress.clear();
        const isNews = result.outcome !== 'passed' || !context.isQuiet;
        if (options.format === 'text' && isNews) context.stdout(formatResult(result, context.colour?.stdout));
        if (options.format === 'text' && hasTools && result.outcome === 'passed') context.stdout(result.stderr);
        progress.show(done);
      },
    });
    progress.clear();
    const summary = summaryOf(results, performance.now() - startMs);
    if (options.format === 'json') {
      context.stdout(
        `${JSON.stringify({ schema: 'wavewright.test', version: 1, summary, tests: results }, undefined, 2)}\n`,
      );
    } else context.stdout(formatSummary(summary));
    if (options.junit !== undefined)
      writeOutput(options.junit, new TextEncoder().encode(formatJunit(results, beganAt)));
    return summary.passed === summary.tests ? 0 : FAILURES_FOUND;
  },
});

function summaryOf(results: readonly TestResult[], durationMs: number) {
  const count = (outcome: TestResult['outcome']) => results.filter((result) => result.outcome === outcome).length;
  return {
    tests: results.length,
    passed: count('passed'),
    failed: count('failed'),
    timedOut: count('timed-out'),
    crashed: count('crashed'),
    cases: results.reduce((sum, { cases }) => sum + cases.length, 0),
    durationMs,
  };
}

function formatSummary({ tests, passed, failed, timedOut, crashed, cases, durationMs }: ReturnType<typeof summaryOf>) {
  const parts = [`${passed} passed`, `${failed} failed`];
  if (timedOut > 0) parts.push(`${timedOut} timed out`);
  if (crashed > 0) parts.push(`${crashed} crashed`);
  const reported = cases > 0 ? `, which report ${cases} cases` : '';
  return `${parts.join(', ')} of ${tests} programs${reported}, in ${(durationMs / 1000).toFixed(1)} s\n`;
}

const LABELS = { passed: 'PASS', failed: 'FAIL', 'timed-out': 'TIMEOUT', crashed: 'CRASH' } as const;

function formatResult(result: TestResult, hasColour: boolean | undefined): string {
  const { name, outcome, status, durationMs, attempts, cases } = result;
  const bad = cases.filter((one) => one.outcome === 'failed' || one.outcome === 'unfinished');
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
