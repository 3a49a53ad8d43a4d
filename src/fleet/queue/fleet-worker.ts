/**
 * Takes jobs of all open campaigns and runs their cases, never in this process: it holds the leases. Who
 * holds a lease, and what comes of lost ones, is BullMQ's business.
 */

import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job as QueuedJob, Worker } from 'bullmq';
import { WavewrightError } from '../../base/errors.ts';
import type { Case } from '../case.ts';
import { LinePlace } from '../json-lines.ts';
import { type TestResult, type Verdict, verdictOf } from '../verdict.ts';
import type { BlobCache } from './blob-cache.ts';
import { type BlobHash, type BlobStore, hashOfBytes, ON_QUEUE, openBlobStore, readBlobFile } from './blob-store.ts';
import { type CampaignRecord, type Campaigns, countJobs } from './campaign.ts';
import { isOutOfMemory, PREFIX, type QueueConnection, queueName } from './connection.ts';
import { blobOfData, MAX_DATA_BLOB_BYTES, parseJobData, type ReceivedCase } from './job.ts';
import { announceWorker, dismissWorker } from './workers.ts';

/** What runs one case at a time. */
export interface CaseLane extends Disposable {
  /** Throws IO when it cannot run anything, which says nothing of the case. */
  run(one: Case, signal: AbortSignal): Promise<TestResult>;
}

export interface FleetWorkerOptions {
  readonly connection: QueueConnection;
  readonly campaigns: Campaigns;
  readonly cache: BlobCache;
  /** Where the worker lets blobs come from: `queue`, or the address of a store. */
  readonly blobs: string;
  /** Of Wavewright: campaigns of other versions are left alone. */
  readonly version: string;
  readonly jobs: number;
  /** How long a worker may be silent before its jobs go to others. */
  readonly leaseMs: number;
  /** The only campaign that is served; by default all are. */
  readonly only?: string;
  readonly openLane: () => CaseLane;
  /** Whether a case may run on this worker. Throws what is wrong with it. */
  readonly check: (one: Case) => void;
  readonly onNews: (text: string) => void;
}

const LOOK_MS = 500;
/** Beyond the time for its cases, what a worker that ends waits for the server. */
const END_MS = 2000;
const MAX_STALLED = 2;
const STALLED_PART = 3;
const MAX_SAID = 20;
const EXPECTED = /lock|not in the active state|Missing key|Connection is closed|OOM/;
const MAX_LOG_BYTES = 2 ** 20;

/** A campaign that is served. */
interface Served {
  readonly record: CampaignRecord;
  readonly worker: Worker;
  readonly cancelled: AbortController;
}

export class FleetWorker {
  readonly #options: FleetWorkerOptions;
  readonly #id = `${hostname()}:${process.pid}`;
  readonly #store: BlobStore;
  readonly #served = new Map<string, Served>();
  readonly #lanes: CaseLane[] = [];
  readonly #skipped = new Set<string>();
  /** Aborted when running cases are given back. */
  readonly #givingBack = new AbortController();
  /** Aborted by what keeps this worker from running anything, which is the reason then. */
  readonly #broken = new AbortController();
  readonly #said = new Set<string>();
  #lastWorkMs = performance.now();
  #running = 0;

  constructor(options: FleetWorkerOptions) {
    this.#options = options;
    this.#store = openBlobStore(options.blobs, options.connection);
  }

  /**
   * Until `stop` is aborted, or nothing came for so long. Running cases then have `drainMs` to end, and are
   * given back. Throws UNREACHABLE, and IO when this machine can run nothing.
   */
  async run(stop: AbortSignal, { idleMs = Number.POSITIVE_INFINITY, drainMs = 0 } = {}): Promise<void> {
    const { connection } = this.#options;
    const end = AbortSignal.any([stop, this.#broken.signal, connection.lost]);
    try {
      while (!end.aborted) {
        await unlessAborted(this.#look(), end);
        if (performance.now() - this.#lastWorkMs > idleMs) break;
        await pause(LOOK_MS, undefined, { signal: end }).catch(() => undefined);
      }
    } catch (error) {
      if (!connection.lost.aborted) throw error;
    } finally {
      await this.#end(this.#broken.signal.aborted ? 0 : drainMs);
    }
    if (!stop.aborted) AbortSignal.any([connection.lost, this.#broken.signal]).throwIfAborted();
  }

  async #look(): Promise<void> {
    const { connection, campaigns, only, jobs } = this.#options;
    await connection.ask(announceWorker(connection, this.#id)).catch((error: unknown) => {
      if (!isOutOfMemory(error)) throw error;
    });
    const names = only === undefined ? await campaigns.names() : [only];
    const wanted: CampaignRecord[] = [];
    for (const name of names) {
      const record = await this.#wanted(name);
      if (record) wanted.push(record);
    }
    wanted.sort((a, b) => (a.began < b.began ? -1 : 1));
    const chosen = wanted.slice(0, jobs);
    for (const name of this.#served.keys()) {
      if (!chosen.some((record) => record.name === name)) this.#leave(name);
    }
    for (const [i, record] of chosen.entries()) {
      const share = Math.floor(jobs / chosen.length) + (i < jobs % chosen.length ? 1 : 0);
      const served = this.#served.get(record.name);
      if (served) served.worker.concurrency = share;
      else this.#serve(record, share);
    }
    if (chosen.length > 0 || this.#running > 0) this.#lastWorkMs = performance.now();
  }

  /** The record of a campaign that has work for this worker. */
  async #wanted(name: string): Promise<CampaignRecord | undefined> {
    const { connection, campaigns, version, blobs } = this.#options;
    const state = await campaigns.read(name).catch((error: unknown) => {
      if (!(error instanceof WavewrightError) || error.code !== 'BAD_INPUT') throw error;
      this.#skip(name, error.message);
      return undefined;
    });
    if (!state) return this.#drop(name);
    if (state.isCancelled) return this.#drop(name);
    const { record } = state;
    if (record.version !== version)
      return this.#skip(name, `it is of wavewright ${record.version}, this is ${version}`);
    if (record.blobs !== blobs) return this.#skip(name, `its programs are at ${record.blobs}: start with --blobs`);
    const { waiting, active } = await connection.ask(countJobs(connection.queue(name)));
    return waiting + active > 0 ? record : undefined;
  }

  #skip(name: string, why: string): undefined {
    if (!this.#skipped.has(name)) this.#options.onNews(`campaign ${name} is left alone: ${why}`);
    this.#skipped.add(name);
  }

  /** What runs of a campaign that is over, is ended. */
  #drop(name: string): undefined {
    this.#served.get(name)?.cancelled.abort(new Error('the campaign was cancelled'));
  }

  #serve(record: CampaignRecord, concurrency: number): void {
    const { connection, leaseMs } = this.#options;
    const cancelled = new AbortController();
    const worker: Worker = new connection.bullmq.Worker(
      queueName(record.name),
      (job, token, signal) => this.#process(job, token ?? '', served, signal ?? cancelled.signal),
      {
        ...{ connection: connection.redis, prefix: PREFIX, concurrency, lockDuration: leaseMs },
        ...{ stalledInterval: Math.ceil(leaseMs / STALLED_PART), maxStalledCount: MAX_STALLED, runRetryDelay: LOOK_MS },
        drainDelay: 1,
      },
    );
    const served: Served = { record, worker, cancelled };
    worker.on('error', (error) => this.#sayError(error));
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'the lease was lost');
    });
    this.#served.set(record.name, served);
  }

  /** What is not known already: a lease that was lost, and a server that is away, show by themselves. */
  #sayError(error: Error): void {
    if ('code' in error || EXPECTED.test(error.message) || this.#said.has(error.message)) return;
    this.#said.add(error.message);
    if (this.#said.size <= MAX_SAID) this.#options.onNews(`queue: ${error.message}`);
  }

  #leave(name: string): void {
    const served = this.#served.get(name);
    this.#served.delete(name);
    void served?.worker.close().catch(() => undefined);
  }

  async #end(drainMs: number): Promise<void> {
    const { connection } = this.#options;
    const timer = setTimeout(() => this.#givingBack.abort(new Error('the worker ends')), drainMs);
    if (!connection.lost.aborted) {
      const closing = [...this.#served.values()].map(({ worker }) => worker.close());
      const dismissed = Promise.allSettled(closing).then(() => dismissWorker(connection, this.#id));
      // Where the server is away, others take over when the leases end.
      const limit = AbortSignal.timeout((this.#running > 0 ? drainMs : 0) + END_MS);
      await unlessAborted(connection.ask(dismissed), limit).catch(() => undefined);
    }
    clearTimeout(timer);
    this.#givingBack.abort(new Error('the worker ends'));
    for (const lane of this.#lanes) lane[Symbol.dispose]();
  }

  async #process(job: QueuedJob, token: string, served: Served, signal: AbortSignal) {
    const end = AbortSignal.any([signal, served.cancelled.signal, this.#givingBack.signal, this.#broken.signal]);
    const { WaitingError, UnrecoverableError } = this.#options.connection.bullmq;
    const lane = this.#lanes.pop() ?? this.#options.openLane();
    this.#running++;
    try {
      const results: Verdict[] = [];
      for (const received of await this.#casesOf(job)) {
        end.throwIfAborted();
        results.push(await this.#runCase(received, lane, { end, record: served.record }));
      }
      await this.#waitForMemory(end);
      return { v: 1, worker: this.#id, results };
    } catch (error) {
      if (this.#options.cache.failure) this.#broken.abort(this.#options.cache.failure);
      if (end.aborted && !signal.aborted) {
        // Given back at once, it does not count as lost.
        await job.moveToWait(token);
        throw new WaitingError();
      }
      if (isFinal(error)) throw new UnrecoverableError(error.message);
      throw error;
    } finally {
      this.#running--;
      this.#lanes.push(lane);
    }
  }

  /** What a job holds. Throws what is wrong with it, IO where its blob is missing. */
  async #casesOf(job: QueuedJob): Promise<ReceivedCase[]> {
    const place = new LinePlace(`job ${job.id}`);
    const blob = blobOfData(job.data, place);
    const data = blob === undefined ? job.data : await this.#dataOf(blob, place);
    const cases = parseJobData(data, place);
    for (const { case: one } of cases) this.#options.check(one);
    return cases;
  }

  async #dataOf(blob: BlobHash, place: LinePlace): Promise<unknown> {
    const bytes = readBlobFile(await this.#options.cache.file(blob, this.#store)) ?? new Uint8Array();
    if (bytes.length > MAX_DATA_BLOB_BYTES) throw place.error('LIMIT_EXCEEDED', 'is too large');
    try {
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      throw place.wrong('is no JSON');
    }
  }

  async #runCase(
    { key, case: one }: ReceivedCase,
    lane: CaseLane,
    { end, record }: { readonly end: AbortSignal; readonly record: CampaignRecord },
  ): Promise<Verdict> {
    const { cache } = this.#options;
    const image = await cache.file(one.image, this.#store);
    const stdin = one.stdin === undefined ? undefined : await cache.file(one.stdin, this.#store);
    let result: TestResult;
    try {
      const found = await lane.run({ ...one, image, ...(stdin !== undefined && { stdin }) }, end);
      // Where this worker keeps the program is nobody's business.
      const named = (text: string) => text.replaceAll(image, one.name);
      result = { ...found, stdout: named(found.stdout), stderr: named(found.stderr) };
    } catch (error) {
      // Nothing can be started here that runs cases.
      if (error instanceof WavewrightError && error.code === 'IO') this.#broken.abort(error);
      throw error;
    }
    const verdict = verdictOf(key, result);
    if (!record.keepsLogs || result.outcome === 'passed') return verdict;
    return { ...verdict, ...(await this.#keepLog(record, result)) };
  }

  /** The blob with all output, or why there is none. */
  async #keepLog(
    { name, blobs }: CampaignRecord,
    { stdout, stderr }: TestResult,
  ): Promise<Pick<Verdict, 'log' | 'nolog'>> {
    const bytes = process.getBuiltinModule('node:zlib').gzipSync(`${stdout}${stderr}`);
    if (bytes.length > MAX_LOG_BYTES) return { nolog: `more than ${MAX_LOG_BYTES / 2 ** 20} MiB packed` };
    const blob = hashOfBytes(bytes);
    try {
      // It goes when the campaign goes.
      if (blobs === ON_QUEUE) await this.#options.campaigns.useBlob(name, blob);
      await this.#store.put(blob, bytes);
      return { log: blob };
    } catch (error) {
      const isFull = isOutOfMemory(error) || (error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED');
      return { nolog: isFull ? 'no room in the store' : 'the store does not take it' };
    }
  }

  /** Holds what is done until the server can take it. */
  async #waitForMemory(end: AbortSignal): Promise<void> {
    const { connection } = this.#options;
    const startMs = performance.now();
    for (;;) {
      try {
        return await announceWorker(connection, this.#id);
      } catch (error) {
        if (!isOutOfMemory(error) || performance.now() - startMs > connection.timeoutMs) throw error;
        await pause(LOOK_MS, undefined, { signal: end });
      }
    }
  }
}

/** Waits, but not for a server that is away when the worker is to end. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', onAbort);
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Whether trying again helps nothing, here or elsewhere. */
const isFinal = (error: unknown): error is WavewrightError =>
  error instanceof WavewrightError && error.code !== 'IO' && error.code !== 'UNREACHABLE';
