/** Campaigns on a queue: what each is, what became of it, and what is removed with it. */
import type { Queue } from 'bullmq';
import { WavewrightError } from '../../base/errors.ts';
import type { WholeRun } from '../cases-file.ts';
import { isObject, LinePlace, numberMember, required, textMember } from '../json-lines.ts';
import { type BlobHash, deleteQueueBlob, isBlobHash } from './blob-store.ts';
import { recordKey, slicesKey, wholeOf } from './campaign-slices.ts';
import { PREFIX, type QueueConnection } from './connection.ts';

const RECORD_VERSION = 2;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What a campaign is, written once. */
export interface CampaignRecord {
  readonly name: string;
  /** The version of Wavewright: verdicts depend on it. */
  readonly version: string;
  /** When it began, to the second: `2026-01-02T03:04:05`, UTC. */
  readonly began: string;
  /** Where programs and inputs are: `queue`, or the address of a store. */
  readonly blobs: string;
  /** Whether the output of what did not pass is kept. */
  readonly keepsLogs: boolean;
  /** How long it stays when it is finished, in seconds. */
  readonly keepS: number;
}

export interface CampaignState {
  readonly record: CampaignRecord;
  /** Cases, so far. */
  readonly cases: number;
  /** What reports say of all of them, once all were read. */
  readonly whole: WholeRun | undefined;
  readonly isCancelled: boolean;
  /** When its report was written, in milliseconds since 1970. */
  readonly finishedMs: number | undefined;
}

const INDEX = `${PREFIX}:campaigns`;
const blobsKey = (name: string): string => `${PREFIX}:campaign-blobs:${name}`;

/** A name that can be part of a key. Throws USAGE. */
export function expectCampaignName(name: string): string {
  if (NAME.test(name)) return name;
  throw new WavewrightError('USAGE', `--campaign takes up to 64 letters, digits, dots, dashes, not '${name}'`);
}

export class Campaigns {
  readonly #connection: QueueConnection;

  constructor(connection: QueueConnection) {
    this.#connection = connection;
  }

  /** Writes the record unless there is one; whether there was none. */
  async create(record: CampaignRecord): Promise<boolean> {
    const { redis } = this.#connection;
    const text = JSON.stringify({ v: RECORD_VERSION, ...record });
    const isNew = await this.#connection.ask(redis.hsetnx(recordKey(record.name), 'record', text));
    await this.#connection.ask(redis.sadd(INDEX, record.name));
    return isNew === 1;
  }

  /** Undefined where there is none. Throws BAD_INPUT for a record that is none. */
  async read(name: string): Promise<CampaignState | undefined> {
    const fields = await this.#connection.ask(this.#connection.redis.hgetall(recordKey(name)));
    const { record, cancelled, finished, cases, whole } = fields;
    if (record === undefined) return undefined;
    return {
      record: parseRecord(record, name),
      ...{ cases: Number(cases ?? 0), whole: wholeOf(whole, name) },
      isCancelled: cancelled !== undefined,
      finishedMs: finished === undefined ? undefined : Number(finished),
    };
  }

  /** By name. */
  async names(): Promise<string[]> {
    const names = await this.#connection.ask(this.#connection.redis.smembers(INDEX));
    return names.filter((name) => NAME.test(name)).sort();
  }

  async cancel(name: string): Promise<void> {
    await this.#connection.ask(this.#connection.redis.hset(recordKey(name), 'cancelled', '1'));
  }

  async isCancelled(name: string): Promise<boolean> {
    return (await this.#connection.ask(this.#connection.redis.hexists(recordKey(name), 'cancelled'))) === 1;
  }

  async finish(name: string): Promise<void> {
    await this.#connection.ask(this.#connection.redis.hset(recordKey(name), 'finished', String(Date.now())));
  }

  /** Notes that a campaign needs a blob of the queue. */
  async useBlob(name: string, blob: BlobHash): Promise<void> {
    await this.#connection.ask(this.#connection.redis.sadd(blobsKey(name), blob));
  }

  /** Lets a campaign go on, its lost cases and those with errors once more; how many these are. */
  async retry(name: string): Promise<number> {
    const queue = this.#connection.queue(name);
    const jobs = await this.#connection.ask(queue.getJobs(['failed'], 0, -1, true));
    // Of the others, each case has a job of its own by now.
    const single = jobs.filter(
      ({ data }) => !isObject(data) || !Array.isArray(data['cases']) || data['cases'].length === 1,
    );
    for (const job of single) {
      const { id = '', name: kind, data, opts } = job;
      const { attempts = 1, backoff = 0 } = opts;
      // As a job with counts of its own: one that was taken back would have its old ones.
      await this.#connection.ask(job.remove());
      await this.#connection.ask(queue.add(kind, data, { jobId: id, attempts, backoff }));
    }
    await this.#connection.ask(this.#connection.redis.hdel(recordKey(name), 'cancelled', 'finished'));
    return single.length;
  }

  /** Removes all of a campaign, with the blobs that no other one uses. */
  async delete(name: string): Promise<void> {
    const { redis } = this.#connection;
    await this.cancel(name);
    await this.#connection.ask(this.#connection.queue(name).obliterate({ force: true }));
    const blobs = await this.#connection.ask(redis.smembers(blobsKey(name)));
    await this.#connection.ask(redis.srem(INDEX, name));
    const others = (await this.names()).map(blobsKey);
    for (const blob of blobs.filter(isBlobHash)) {
      let isUsed = false;
      for (const key of others) isUsed ||= (await this.#connection.ask(redis.sismember(key, blob))) === 1;
      if (!isUsed) await this.#connection.ask(deleteQueueBlob(this.#connection, blob));
    }
    await this.#connection.ask(redis.del(recordKey(name), slicesKey(name), blobsKey(name)));
  }

  /** Removes what was finished long ago; the names. */
  async deleteOld(): Promise<string[]> {
    const MS_PER_S = 1000;
    const gone: string[] = [];
    for (const name of await this.names()) {
      const state = await this.read(name).catch(() => undefined);
      if (state?.finishedMs === undefined) continue;
      if (Date.now() < state.finishedMs + state.record.keepS * MS_PER_S) continue;
      await this.delete(name);
      gone.push(name);
    }
    return gone;
  }
}

/** Jobs by state. */
export interface JobCounts {
  readonly waiting: number;
  readonly active: number;
  readonly completed: number;
  readonly failed: number;
  readonly all: number;
}

export async function countJobs(queue: Queue): Promise<JobCounts> {
  const counts = await queue.getJobCounts();
  const of = (...names: readonly string[]) => names.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  return {
    waiting: of('waiting', 'wait', 'delayed', 'prioritized', 'paused', 'waiting-children'),
    active: of('active'),
    completed: of('completed'),
    failed: of('failed'),
    all: of(...Object.keys(counts)),
  };
}

/** The record that a text is, which anybody may have written. Throws BAD_INPUT. */
function parseRecord(text: string, campaign: string): CampaignRecord {
  const place = new LinePlace(`campaign ${campaign}`);
  let object: unknown;
  try {
    object = JSON.parse(text);
  } catch {
    throw place.wrong('its record is no JSON');
  }
  if (!isObject(object) || object['v'] !== RECORD_VERSION) throw place.wrong('its record is of another version');
  if (object['name'] !== campaign) throw place.wrong('its record is damaged');
  const word = (name: string) => required(textMember(object, name, place), name, place);
  const keepS = numberMember(object, 'keepS', { min: 0, max: Number.MAX_SAFE_INTEGER }, place);
  const began = word('began');
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(began)) throw place.wrong("'began' is no time");
  return {
    ...{ name: campaign, began, version: word('version'), blobs: word('blobs') },
    ...{ keepS: required(keepS, 'keepS', place), keepsLogs: object['keepsLogs'] === true },
  };
}
