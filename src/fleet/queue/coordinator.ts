/**
 * Submits the cases of a campaign and collects its verdicts. The queue alone knows what is done: any number
 * of coordinators may work on a campaign, end, and begin again.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Job as QueuedJob } from 'bullmq';
import { WavewrightError } from '../../base/errors.ts';
import { type CaseHashes, FileHashes, type KeyedCase } from '../case.ts';
import type { WholeRun } from '../cases-file.ts';
import { isObject, LinePlace } from '../json-lines.ts';
import { parseVerdict } from '../report.ts';
import { TAIL_BYTES, type Verdict } from '../verdict.ts';
import { type BlobHash, type BlobStore, hashOfBytes, ON_QUEUE, readBlobFile } from './blob-store.ts';
import { type CampaignRecord, type Campaigns, countJobs, type JobCounts } from './campaign.ts';
import { CampaignSlices, countCases } from './campaign-slices.ts';
import type { CaseFeed } from './case-feed.ts';
import { isOutOfMemory, type QueueConnection } from './connection.ts';
import { type Cuts, cutJobs, type Job, jobData, jobOf, packJobData, type SentCase } from './job.ts';

export interface CoordinatorOptions {
  readonly connection: QueueConnection;
  readonly campaigns: Campaigns;
  readonly record: CampaignRecord;
  /** All cases of the campaign, in order. */
  readonly feed: CaseFeed;
  readonly cut: (cases: readonly KeyedCase[]) => Cuts;
  /** What the cases are together; called when the feed has ended. */
  readonly onRead: () => WholeRun;
  readonly store: BlobStore;
  /** Once for each case. */
  readonly onVerdict: (keyed: KeyedCase, verdict: Verdict) => void | Promise<void>;
  /** After each look at the queue. */
  readonly onLook: (counts: JobCounts) => void | Promise<void>;
  readonly onNews: (text: string) => void;
  /** Aborted, the campaign goes on without this coordinator. */
  readonly signal: AbortSignal;
}

/** How a coordinator ended. */
export type Ending = 'done' | 'cancelled' | 'left';

const LOOK_MS = 100;
const PAGE = 200;
const CHUNK = 100;
/** Cases that wait in the queue; what is beyond comes when these are done. */
const MAX_WAITING_CASES = 50_000;
/** Looks in a row at a queue that knows fewer jobs than it was given. */
const LOOKS_BEFORE_LOST = 3;
const ATTEMPTS = 3;
const BACKOFF_MS = 1000;
const RETRY_MS = 1000;
const STALLED = /stalled more than allowable limit/;
const FINISHED = ['completed', 'failed'] as const;

export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #hashes = new FileHashes();
  /** Without a verdict. */
  readonly #open = new Map<string, Job>();
  readonly #toSubmit: Job[] = [];
  /** Of the open ones, those that were submitted, and the cases in them. */
  readonly #waiting = new Set<string>();
  #waitingCases = 0;
  /** Jobs of this campaign that the queue is known to have. */
  readonly #inQueue = new Set<string>();
  readonly #seen = { completed: new Set<string>(), failed: new Set<string>() };
  readonly #cursor = { completed: 0, failed: 0 };
  readonly #uploaded = new Set<BlobHash>();
  readonly #slices: CampaignSlices;
  #isRead = false;
  #shortLooks = 0;
  #fullSinceMs: number | undefined;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#slices = new CampaignSlices(options.connection, options.record.name);
  }

  /** Whether the queue has got all. */
  get isSubmitted(): boolean {
    return this.#isRead && this.#toSubmit.length === 0;
  }

  /**
   * Until all cases have verdicts. Throws what ends it: IO, UNREACHABLE, LIMIT_EXCEEDED; USAGE where the
   * campaign is of other cases; what the feed throws.
   */
  async run(): Promise<Ending> {
    const { connection, campaigns, record, signal, onLook } = this.#options;
    const queue = connection.queue(record.name);
    await this.#collect(await connection.ask(countJobs(queue)));
    while (!this.#isRead || this.#open.size > 0) {
      if (signal.aborted) return 'left';
      if (await campaigns.isCancelled(record.name)) return 'cancelled';
      await this.#read();
      await this.#submit();
      const counts = await connection.ask(countJobs(queue));
      await this.#collect(counts);
      await this.#checkLoss(counts);
      await onLook(counts);
      await this.#pause();
    }
    return 'done';
  }

  /** Until there may be something new, if there is nothing to do. */
  async #pause(): Promise<void> {
    const { feed, signal } = this.#options;
    if (this.#canSubmit || (this.#isRead && this.#open.size === 0)) return;
    const time = pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
    await (this.#isRead ? time : Promise.race([time, feed.ready]));
  }

  /** Takes a slice of the cases, as soon as there is one. */
  async #read(): Promise<void> {
    if (this.#isRead) return;
    const { feed, cut, onRead } = this.#options;
    for (let count = feed.look(); count > 0; ) {
      const cases = feed.peek(count);
      const cuts = await this.#slices.next(cases, cut(cases));
      count = countCases(cuts);
      if (count === cases.length) {
        feed.drop(count);
        for (const job of cutJobs(cases, cuts)) await this.#expect(job);
        break;
      }
      if (feed.lacks(count)) throw this.#slices.isOfOthers();
      if (feed.peek(count).length < count) break;
    }
    if (!feed.isDone) return;
    this.#isRead = true;
    await this.#slices.complete(onRead());
  }

  /** Wants the verdicts of a job, which may be there already. */
  async #expect(job: Job): Promise<void> {
    const { connection, record } = this.#options;
    this.#open.set(job.id, job);
    const state = FINISHED.find((each) => this.#seen[each].has(job.id));
    if (!state) this.#toSubmit.push(job);
    else {
      const found = await connection.ask(connection.queue(record.name).getJob(job.id));
      if (found) await this.#settle(job, found, state);
    }
  }

  get #canSubmit(): boolean {
    return this.#toSubmit.length > 0 && this.#waitingCases < MAX_WAITING_CASES;
  }

  /** Some jobs; what is there already gives its verdicts while the rest is still submitted. */
  async #submit(): Promise<void> {
    const { connection, record } = this.#options;
    if (!this.#canSubmit) return;
    const chunk = this.#toSubmit.slice(0, CHUNK).filter(({ id }) => this.#open.has(id));
    try {
      const entries = [];
      for (const job of chunk) entries.push(await this.#entryOf(job));
      await connection.ask(connection.queue(record.name).addBulk(entries));
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      await this.#waitForMemory();
      return;
    }
    this.#fullSinceMs = undefined;
    this.#toSubmit.splice(0, CHUNK);
    for (const { id, cases } of chunk) {
      this.#inQueue.add(id);
      this.#waiting.add(id);
      this.#waitingCases += cases.length;
    }
  }

  async #entryOf(job: Job) {
    const { record } = this.#options;
    const sent: SentCase[] = [];
    for (const { case: one } of job.cases) sent.push(await this.#sentCase(one));
    const { data, blob } = packJobData(jobData(sent));
    if (blob) await this.#upload(hashOfBytes(blob), () => blob);
    const backoff = { type: 'exponential', delay: BACKOFF_MS };
    const keep = { removeOnComplete: false, removeOnFail: false };
    return { name: record.version, data, opts: { jobId: job.id, attempts: ATTEMPTS, backoff, ...keep } };
  }

  async #sentCase(one: KeyedCase['case']): Promise<SentCase> {
    const { image, stdin } = this.#hashes.of(one) satisfies CaseHashes;
    const { stdin: _, ...rest } = one;
    const files = [[one.image, image] as const, ...(one.stdin === undefined ? [] : [[one.stdin, stdin] as const])];
    for (const [file, blob] of files) {
      if (blob === null) throw new WavewrightError('IO', 'cannot be read, so it cannot be sent to workers', { file });
      await this.#upload(blob, () => readFor(file, blob));
    }
    return { ...rest, image: image!, ...(stdin !== null && { stdin }) };
  }

  async #upload(blob: BlobHash, read: () => Uint8Array): Promise<void> {
    if (this.#uploaded.has(blob)) return;
    const { connection, campaigns, record, store } = this.#options;
    if (record.blobs === ON_QUEUE) await campaigns.useBlob(record.name, blob);
    if (!(await connection.ask(store.has(blob)))) await connection.ask(store.put(blob, read()));
    this.#uploaded.add(blob);
  }

  /** Takes what is finished, page by page. */
  async #collect(counts: JobCounts): Promise<void> {
    for (const state of FINISHED) {
      const seen = this.#seen[state];
      if (counts[state] === seen.size) continue;
      await this.#collectFrom(state);
      // Workers say when a job was finished: where their clocks differ, one may stand before others.
      if (counts[state] !== seen.size) {
        this.#cursor[state] = 0;
        await this.#collectFrom(state);
      }
    }
  }

  async #collectFrom(state: (typeof FINISHED)[number]): Promise<void> {
    const { connection, record } = this.#options;
    const queue = connection.queue(record.name);
    const seen = this.#seen[state];
    for (;;) {
      const start = this.#cursor[state];
      const ids = await connection.ask(queue.getRanges([state], start, start + PAGE - 1, true));
      const fresh = ids.filter((id) => !seen.has(id));
      const jobs = await connection.ask(
        Promise.all(fresh.map((id) => (this.#open.has(id) ? queue.getJob(id) : undefined))),
      );
      for (const id of fresh) {
        seen.add(id);
        this.#inQueue.add(id);
      }
      for (const [i, id] of fresh.entries()) {
        const job = this.#open.get(id);
        const found = jobs[i];
        if (job && found) await this.#settle(job, found, state);
      }
      this.#cursor[state] += ids.length;
      if (ids.length < PAGE) return;
    }
  }

  async #settle(job: Job, found: QueuedJob, state: (typeof FINISHED)[number]): Promise<void> {
    this.#open.delete(job.id);
    if (this.#waiting.delete(job.id)) this.#waitingCases -= job.cases.length;
    const verdicts = state === 'completed' ? verdictsOf(job, found.returnvalue) : undefined;
    if (verdicts) {
      for (const [i, keyed] of job.cases.entries()) await this.#options.onVerdict(keyed, verdicts[i]!);
      return;
    }
    if (job.cases.length > 1) {
      // One of them is to blame: alone, each has its own verdict.
      for (const keyed of job.cases) {
        await this.#expect(jobOf([keyed]));
      }
      return;
    }
    const reason = state === 'completed' ? 'a worker wrote an answer that is none' : found.failedReason || 'no reason';
    const isLost = STALLED.test(reason);
    const tail = isLost ? 'the workers that ran it were lost, again and again' : reason.slice(0, TAIL_BYTES / 4);
    const n = isLost ? found.stalledCounter : found.attemptsMade;
    await this.#options.onVerdict(job.cases[0]!, {
      ...{ k: job.cases[0]!.key, o: isLost ? 'quarantined' : 'error', ms: 0, n, tail },
    });
  }

  /** Submits again what a server forgot that ended without having it on its disk. */
  async #checkLoss(counts: JobCounts): Promise<void> {
    const { campaigns, record, onNews } = this.#options;
    this.#shortLooks = counts.all < this.#inQueue.size ? this.#shortLooks + 1 : 0;
    if (this.#shortLooks < LOOKS_BEFORE_LOST) return;
    onNews(`the queue knows ${counts.all} of ${this.#inQueue.size} jobs: those without a verdict are submitted again`);
    await campaigns.create(record);
    await this.#slices.restore();
    for (const set of [this.#inQueue, this.#waiting, this.#seen.completed, this.#seen.failed, this.#uploaded])
      set.clear();
    [this.#waitingCases, this.#shortLooks, this.#cursor.completed, this.#cursor.failed] = [0, 0, 0, 0];
    this.#toSubmit.splice(0, this.#toSubmit.length, ...this.#open.values());
  }

  /** Throws LIMIT_EXCEEDED when the server has had no memory for too long. */
  async #waitForMemory(): Promise<void> {
    const { connection, onNews, signal } = this.#options;
    const text = `the queue's server is at its memory limit (${await connection.ask(connection.memoryText())})`;
    if (this.#fullSinceMs === undefined) onNews(`${text}: no more is submitted until there is room`);
    this.#fullSinceMs ??= performance.now();
    if (performance.now() - this.#fullSinceMs > connection.timeoutMs) {
      throw new WavewrightError('LIMIT_EXCEEDED', text, { hint: 'raise its maxmemory, or delete old campaigns' });
    }
    await pause(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
}

function readFor(file: string, blob: BlobHash): Uint8Array {
  const bytes = readBlobFile(file);
  if (bytes && hashOfBytes(bytes) === blob) return bytes;
  throw new WavewrightError('IO', 'has changed since the run began', { file });
}

/** The verdicts of a job, in the order of its cases; undefined where it is no answer to this job. */
function verdictsOf(job: Job, value: unknown): Verdict[] | undefined {
  if (!isObject(value) || value['v'] !== 1 || !Array.isArray(value['results'])) return undefined;
  const results: readonly unknown[] = value['results'];
  if (results.length !== job.cases.length) return undefined;
  const place = new LinePlace('a result');
  try {
    const verdicts = results.map((each) => parseVerdict(isObject(each) ? each : {}, place));
    return verdicts.every(({ k }, i) => k === job.cases[i]!.key) ? verdicts : undefined;
  } catch (error) {
    if (error instanceof WavewrightError) return undefined;
    throw error;
  }
}
