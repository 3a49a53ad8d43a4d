/** Runs the cases of `test` and `sweep`, and writes the results that both have. */
import { availableParallelism } from 'node:os';
import { WavewrightError } from '../../base/errors.ts';
import { announceShard, shardOf } from '../../fleet/shard.ts';
import type { CommandContext } from '../arguments/command.ts';
import { warn } from '../text/report.ts';
import { caseProfiles } from './case-profiles.ts';
import type { CaseRunnerOptions } from './case-runner.ts';
import { CollectedResults } from './collected-results.ts';
import { type CaseEntries, filterCases, RunPlan } from './plan.ts';
import { runBatch } from './pool.ts';
import { isolated, wrapperOf } from './process-channel.ts';
import { needsKeys, type TestOptions } from './test-options.ts';
import { openThread } from './thread-channel.ts';

/**
 * Runs cases as options say, and writes what came of them; the exit status. `what` names what the cases are
 * from. Throws USAGE, IO, BAD_INPUT.
 */
export async function runTests(
  context: CommandContext,
  options: TestOptions,
  entries: CaseEntries,
  what: string,
): Promise<number> {
  if (options.shard !== undefined && options.queue !== undefined) {
    throw new WavewrightError('USAGE', '--shard and --queue are two ways to divide a run: give one of them');
  }
  const plan = new RunPlan(needsKeys(options));
  const wanted = filterCases(entries, options.filter ?? '');
  if (options.queue !== undefined) {
    caseProfiles([], options);
    const { runOnQueue } = await import('./queue-tests.ts');
    using results = new CollectedResults(context, options, plan);
    return await results.finish(await runOnQueue(context, options, { plan, entries: wanted, what }, results));
  }
  const shard = options.shard === undefined ? undefined : shardOf(options.shard, context.env);
  if (options.shard === 'auto') announceShard(context.env);
  for await (const entry of wanted) plan.add(entry);
  plan.expectCases(what);
  if (shard) plan.take(shard);
  using results = new CollectedResults(context, options, plan);
  results.planned();
  await runHere(context, options, plan, results);
  return await results.finish(true);
}

/** Runs cases on this machine. */
async function runHere(
  context: CommandContext,
  options: TestOptions,
  { keyed }: RunPlan,
  results: CollectedResults,
): Promise<void> {
  const cores = availableParallelism();
  const { jobs = cores } = options;
  if (jobs > cores) {
    warn(context, `--jobs=${jobs} is more than the machine has cores (${cores}): programs wait for each other`);
  }
  const cases = keyed.map((each) => each.case);
  const optionsOf = caseProfiles(cases, options);
  const progress = new Progress(context, cases.length);
  let done = 0;
  progress.show(done);
  await runBatch(cases, {
    ...{ jobs, ...runnerOptions(context, options), runOptions: poolOptions(options, jobs), optionsOf },
    onResult: (result, index) => {
      progress.clear();
      results.add(result, index);
      progress.show(++done);
    },
  });
  progress.clear();
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
