/** Runs the cases of `test` and `sweep` as a campaign of a queue. */
import { randomBytes } from 'node:crypto';
import { WavewrightError } from '../../base/errors.ts';
import type { CaseKey, KeyedCase } from '../../fleet/case.ts';
import { ON_QUEUE, openBlobStore } from '../../fleet/queue/blob-store.ts';
import { type CampaignState, Campaigns, expectCampaignName, type JobCounts } from '../../fleet/queue/campaign.ts';
import type { QueueConnection } from '../../fleet/queue/connection.ts';
import { Coordinator, type Ending } from '../../fleet/queue/coordinator.ts';
import { cutJobs, cutsFor, MAX_BATCH, sortCases } from '../../fleet/queue/job.ts';
import { countWorkers } from '../../fleet/queue/workers.ts';
import { readReport, secondOf } from '../../fleet/report.ts';
import { resultOfVerdict } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';
import { packageVersion } from '../process/package-version.ts';
import { FleetProgress } from '../text/fleet-progress.ts';
import { warn } from '../text/report.ts';
import { CaseLogs } from './case-logs.ts';
import { openQueue } from './open-queue.ts';
import { wrapperOf } from './process-channel.ts';
import { openFleetWorker } from './queue-lanes.ts';
import type { OnResult, TestOptions, TestPlan } from './test-options.ts';

const MS_PER_S = 1000;
const SHORT_MS = 10_000;

/** Whether all cases have verdicts. Throws USAGE, UNREACHABLE, and what coordinators throw. */
export async function runOnQueue(
  context: CommandContext,
  options: TestOptions,
  plan: TestPlan,
  onResult: OnResult,
): Promise<boolean> {
  await using connection = await openQueue(context, options);
  const campaigns = new Campaigns(connection);
  await campaigns.deleteOld();
  const { state, cases } = await openCampaign(options, plan, campaigns);
  const { record } = state;
  const { name } = record;
  context.stderr(`wavewright: campaign ${name}\n`);
  if (state.isCancelled) {
    const hint = `wavewright campaign retry ${name} lets it go on`;
    throw new WavewrightError('USAGE', `campaign ${name} was cancelled`, { hint });
  }
  const store = openBlobStore(record.blobs, connection);
  const logs = options.logs === undefined ? undefined : new CaseLogs(options.logs, record, store);
  const indexes = new Map(plan.keys?.map((key, index) => [key, index]));
  const progress = new FleetProgress(context, cases.length);
  using interruption = new Interruptions(context, name, () => void campaigns.cancel(name));
  let [failures, workMs] = [0, 0];
  const coordinator = new Coordinator({
    ...{ connection, campaigns, record, store, jobs: cutJobs(cases, record.cuts), signal: interruption.signal },
    onNews: (text) => progress.around(() => warn(context, text)),
    onVerdict: async ({ key, case: one }, verdict) => {
      progress.around(() => onResult(resultOfVerdict(one.name, verdict), indexes.get(key)!, verdict));
      progress.add(verdict.o);
      workMs += verdict.ms;
      await logs?.write(one.name, verdict);
      if (verdict.o !== 'passed' && ++failures === options['max-failures']) await campaigns.cancel(name);
    },
    onLook: (counts) => look(context, connection, progress, counts),
  });
  const ending = await withLanes(context, options, { connection, campaigns }, name, () => coordinator.run());
  progress.end();
  for (const problem of logs?.problems() ?? []) warn(context, problem);
  if (ending === 'done') await campaigns.finish(name);
  else sayHowItGoesOn(context, name, ending);
  if (ending === 'done' && workMs < SHORT_MS && !context.isQuiet) {
    context.stderr(
      `wavewright: this was ${(workMs / MS_PER_S).toFixed(1)} s of work: one machine does it faster without --queue\n`,
    );
  }
  return ending === 'done';
}

/** The campaign of these cases, new or known. Throws USAGE when it is of others. */
async function openCampaign(
  options: TestOptions,
  { cases, keys, whole }: TestPlan,
  campaigns: Campaigns,
): Promise<{ readonly state: CampaignState; readonly cases: readonly KeyedCase[] }> {
  const now = new Date();
  const { campaign = `${secondOf(now).replace(/\D/g, '')}-${randomBytes(3).toString('hex')}`, blobs = ON_QUEUE } =
    options;
  const sorted = sortCases(cases.map((one, index) => ({ key: keys![index]!, case: one })));
  const times = options.timings === undefined ? new Map<CaseKey, number>() : await timesOf(options.timings);
  const { digest, total } = whole!;
  const record = {
    ...{
      name: expectCampaignName(campaign),
      version: packageVersion(),
      digest,
      total: sorted.length,
      began: secondOf(now),
    },
    ...{
      cuts: cutsFor(sorted, batchOf(options), times),
      blobs,
      keepS: options.keep,
      keepsLogs: options.logs !== undefined,
    },
  };
  const state = await campaigns.create(record);
  const { record: known } = state;
  if (known.version !== record.version) {
    throw new WavewrightError(
      'USAGE',
      `campaign ${campaign} is of wavewright ${known.version}, this is ${record.version}`,
    );
  }
  if (known.digest !== digest || known.total !== record.total || total < known.total) {
    throw new WavewrightError('USAGE', `campaign ${campaign} is of other cases`, {
      hint: 'give this run a name of its own',
    });
  }
  return { state, cases: sorted };
}

function batchOf({ batch = 'auto' }: TestOptions): number | 'auto' {
  if (batch === 'auto') return batch;
  const size = /^\d{1,3}$/.test(batch) ? Number(batch) : 0;
  if (size >= 1 && size <= MAX_BATCH) return size;
  throw new WavewrightError('USAGE', `--batch takes auto or 1 to ${MAX_BATCH}, not '${batch}'`);
}

async function timesOf(report: string): Promise<Map<CaseKey, number>> {
  const times = new Map<CaseKey, number>();
  for await (const entry of readReport(report))
    if (entry.kind === 'verdict') times.set(entry.verdict.k, entry.verdict.ms);
  return times;
}

/** Does something while this process, too, runs cases of the campaign, if it is to. */
async function withLanes(
  context: CommandContext,
  options: TestOptions,
  queue: { readonly connection: QueueConnection; readonly campaigns: Campaigns },
  only: string,
  call: () => Promise<Ending>,
): Promise<Ending> {
  if (options.jobs === undefined) return await call();
  const wrapper = options['child-wrapper'];
  const worker = openFleetWorker(queue, {
    ...{ jobs: options.jobs, leaseMs: options.lease * MS_PER_S, blobs: options.blobs ?? ON_QUEUE, only },
    ...(wrapper !== undefined && { wrapper: wrapperOf(wrapper, context.env['PATH']) }),
    onNews: (text) => warn(context, text),
  });
  const stop = new AbortController();
  const running = worker.run(stop.signal);
  try {
    return await Promise.race([call(), running.then(() => 'left' as const)]);
  } finally {
    stop.abort();
    await running.catch(() => undefined);
  }
}

async function look(
  context: CommandContext,
  connection: QueueConnection,
  progress: FleetProgress,
  counts: JobCounts,
): Promise<void> {
  if (!progress.isDue()) return;
  progress.show(await countWorkers(connection), counts);
  if (progress.lacksWorkers())
    progress.around(() => warn(context, 'no worker has joined: start `wavewright worker --queue=URL`'));
}

function sayHowItGoesOn(context: CommandContext, name: string, ending: Exclude<Ending, 'done'>): void {
  const text =
    ending === 'left'
      ? `campaign ${name} goes on: the same command with --campaign=${name} collects it, \`wavewright campaign cancel ${name}\` ends it`
      : `campaign ${name} was cancelled: \`wavewright campaign retry ${name}\` lets it go on, \`delete\` removes it`;
  context.stderr(`wavewright: ${text}\n`);
}

/** Ctrl-C leaves the campaign alone, a second one cancels it. */
class Interruptions implements Disposable {
  readonly #controller = new AbortController();
  readonly #onInterrupt: () => void;

  constructor(context: CommandContext, name: string, cancel: () => void) {
    this.#onInterrupt = () => {
      if (this.signal.aborted) {
        context.stderr(`wavewright: campaign ${name} is cancelled\n`);
        cancel();
      }
      this.#controller.abort();
    };
    process.on('SIGINT', this.#onInterrupt);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    process.off('SIGINT', this.#onInterrupt);
  }
}
