/** Runs the cases of `test` and `sweep` as a campaign of a queue. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { WavewrightError } from '../../base/errors.ts';
import type { CaseKey, KeyedCase } from '../../fleet/case.ts';
import { ON_QUEUE, openBlobStore } from '../../fleet/queue/blob-store.ts';
import { type CampaignRecord, Campaigns, expectCampaignName, type JobCounts } from '../../fleet/queue/campaign.ts';
import { CaseFeed } from '../../fleet/queue/case-feed.ts';
import type { QueueConnection } from '../../fleet/queue/connection.ts';
import { Coordinator, type Ending } from '../../fleet/queue/coordinator.ts';
import { type Cuts, cutsFor, MAX_BATCH } from '../../fleet/queue/job.ts';
import { countWorkers } from '../../fleet/queue/workers.ts';
import { readReport, secondOf } from '../../fleet/report.ts';
import { resultOfVerdict } from '../../fleet/verdict.ts';
import type { CommandContext } from '../arguments/command.ts';
import { packageVersion } from '../process/package-version.ts';
import { FleetProgress } from '../text/fleet-progress.ts';
import { warn } from '../text/report.ts';
import { CaseLogs } from './case-logs.ts';
import type { CollectedResults } from './collected-results.ts';
import { openQueue } from './open-queue.ts';
import type { CaseEntries, RunPlan } from './plan.ts';
import { wrapperOf } from './process-channel.ts';
import { openFleetWorker } from './queue-lanes.ts';
import type { TestOptions } from './test-options.ts';

const MS_PER_S = 1000;
const SHORT_MS = 10_000;
const FIRST_MS = 200;

/** What is run: the cases as they come, and what they become; `what` names what they are from. */
export interface QueuedRun {
  readonly plan: RunPlan;
  readonly entries: CaseEntries;
  readonly what: string;
}

/** Whether all cases have verdicts. Throws USAGE, UNREACHABLE, and what coordinators throw. */
export async function runOnQueue(
  context: CommandContext,
  options: TestOptions,
  run: QueuedRun,
  results: CollectedResults,
): Promise<boolean> {
  using feed = new CaseFeed(keyedCases(run));
  const cut = await cutting(options);
  // What is wrong with the first cases is known before there is a campaign, unless they take long to come.
  await Promise.race([feed.ready, pause(FIRST_MS)]);
  feed.look();
  if (feed.isDone) run.plan.expectCases(run.what);
  await using connection = await openQueue(context, options);
  const campaigns = new Campaigns(connection);
  await campaigns.deleteOld();
  const { record, isNew } = await openCampaign(context, options, campaigns);
  const { name } = record;
  try {
    return await collect(context, options, { ...run, feed, cut, connection, campaigns, record, results });
  } catch (error) {
    if (isNew && feed.hasThrown(error)) {
      await campaigns.delete(name);
      context.stderr(`wavewright: campaign ${name} is deleted: its cases cannot be read\n`);
    }
    throw error;
  }
}

async function* keyedCases({ plan, entries }: QueuedRun): AsyncGenerator<KeyedCase> {
  for await (const entry of entries) {
    const keyed = plan.add(entry);
    if (keyed) yield keyed;
  }
}

/** A campaign that this command collects. */
interface Collected extends QueuedRun {
  readonly feed: CaseFeed;
  readonly cut: (cases: readonly KeyedCase[]) => Cuts;
  readonly connection: QueueConnection;
  readonly campaigns: Campaigns;
  readonly record: CampaignRecord;
  readonly results: CollectedResults;
}

async function collect(context: CommandContext, options: TestOptions, campaign: Collected): Promise<boolean> {
  const { plan, feed, cut, connection, campaigns, record, results } = campaign;
  const { name } = record;
  const store = openBlobStore(record.blobs, connection);
  const logs = options.logs === undefined ? undefined : new CaseLogs(options.logs, record, store);
  const progress = new FleetProgress(context, plan.keyed);
  using interruption = new Interruptions(context, name, () => void campaigns.cancel(name));
  let [failures, workMs] = [0, 0];
  const coordinator = new Coordinator({
    ...{ connection, campaigns, record, store, feed, cut, signal: interruption.signal },
    onRead: () => {
      results.planned();
      progress.isPlanned = true;
      return plan.whole;
    },
    onNews: (text) => progress.around(() => warn(context, text)),
    onVerdict: async ({ key, case: one }, verdict) => {
      progress.around(() => results.add(resultOfVerdict(one.name, verdict), plan.indexOf(key), verdict));
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
  if (options.tool !== undefined)
    warn(context, 'what tools print of programs that pass does not come back with --queue');
  if (ending === 'done') await campaigns.finish(name);
  else sayHowItGoesOn(context, name, ending, coordinator.isSubmitted);
  if (ending === 'done' && workMs < SHORT_MS && !context.isQuiet) {
    context.stderr(
      `wavewright: this was ${(workMs / MS_PER_S).toFixed(1)} s of work: one machine does it faster without --queue\n`,
    );
  }
  return ending === 'done';
}

/** The campaign of the options, new or known; its name is said. Throws USAGE. */
async function openCampaign(
  context: CommandContext,
  options: TestOptions,
  campaigns: Campaigns,
): Promise<{ readonly record: CampaignRecord; readonly isNew: boolean }> {
  const began = secondOf(new Date());
  const { campaign = `${began.replace(/\D/g, '')}-${randomBytes(3).toString('hex')}`, blobs = ON_QUEUE } = options;
  const record = {
    ...{ name: expectCampaignName(campaign), version: packageVersion(), began },
    ...{ blobs, keepS: options.keep, keepsLogs: options.logs !== undefined },
  };
  const isNew = await campaigns.create(record);
  const state = isNew ? undefined : await campaigns.read(campaign);
  context.stderr(`wavewright: campaign ${campaign}\n`);
  const { record: known = record, isCancelled = false } = state ?? {};
  if (known.version !== record.version) {
    const what = `campaign ${campaign} is of wavewright ${known.version}, this is ${record.version}`;
    throw new WavewrightError('USAGE', what);
  }
  if (isCancelled) {
    const hint = `wavewright campaign retry ${campaign} lets it go on`;
    throw new WavewrightError('USAGE', `campaign ${campaign} was cancelled`, { hint });
  }
  return { record: known, isNew };
}

/** How cases are cut into jobs, as the options say. Throws USAGE, and as reports that are read do. */
async function cutting(options: TestOptions): Promise<Collected['cut']> {
  const batch = batchOf(options);
  const times = options.timings === undefined ? new Map<CaseKey, number>() : await timesOf(options.timings);
  return (cases) => cutsFor(cases, batch, times);
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

function sayHowItGoesOn(
  context: CommandContext,
  name: string,
  ending: Exclude<Ending, 'done'>,
  isSubmitted: boolean,
): void {
  const rest = isSubmitted ? '' : ' with the cases that it has got so far';
  const text =
    ending === 'left'
      ? `campaign ${name} goes on${rest}: the same command with --campaign=${name} collects it, \`wavewright campaign cancel ${name}\` ends it`
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
