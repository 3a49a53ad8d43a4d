/** Campaigns on a queue: what each is, what became of it, and what is removed with it. */
import type { Queue } from 'bullmq';
import { WavewrightError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { isObject, LinePlace, numberMember, required, textMember } from '../json-lines.ts';
import { type BlobHash, deleteQueueBlob, isBlobHash } from './blob-store.ts';
import { PREFIX, type QueueConnection } from './connection.ts';
import { type Cuts, MAX_BATCH } from './job.ts';

const RECORD_VERSION = 1;
const MAX_CUTS = 1_000_000;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** What a campaign is, written once. */
export interface CampaignRecord {
  readonly name: string;
  /** The version of Wavewright: verdicts depend on it. */
  readonly version: string;
  /** Over the keys of all cases, as reports have it. */
  readonly digest: string;
  /** Cases. */
  readonly total: number;
  /** When it began, to the second: `2026-01-02T03:04:05`, UTC. */
  readonly began: string;
  readonly cuts: Cuts;
  /** Where programs and inputs are: `queue`, or the address of a store. */
  readonly blobs: string;
  /** Whether the output of what did not pass is kept. */
  readonly keepsLogs: boolean;
  /** How long it stays when it is finished, in seconds. */
  readonly keepS: number;
}

export interface CampaignState {
  readonly record: CampaignRecord;
  readonly isCancelled: boolean;
  /** When its report was written, in milliseconds since 1970. */
  readonly finishedMs: number | undefined;
}

const INDEX = `${PREFIX}:campaigns`;
const keyOf = (name: string): string => `${PREFIX}:campaign:${name}`;
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

  /** Writes the record unless there is one; the one that is there then. */
  async create(record: CampaignRecord): Promise<CampaignState> {
    const { redis } = this.#connection;
    const text = JSON.stringify({ v: RECORD_VERSION, ...record });
    await this.#connection.ask(redis.hsetnx(keyOf(record.name), 'record', text));
    await this.#connection.ask(redis.sadd(INDEX, record.name));
    return (await this.read(record.name)) ?? { record, isCancelled: false, finishedMs: undefined };
  }

  /** Undefined where there is none. Throws BAD_INPUT for a record that is none. */
  async read(name: string): Promise<CampaignState | undefined> {
    const fields = await this.#connection.ask(this.#connection.redis.hgetall(keyOf(name)));
    const { record, cancelled, finished } = fields;
    if (record === undefined) return undefined;
    return {
      record: parseRecord(record, name),
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
    await this.#connection.ask(this.#connection.redis.hset(keyOf(name), 'cancelled', '1'));
  }

  async isCancelled(name: string): Promise<boolean> {
    return (await this.#connection.ask(this.#connection.redis.hexists(keyOf(name), 'cancelled'))) === 1;
  }

  async finish(name: string): Promise<void> {
    await this.#connection.ask(this.#connection.redis.hset(keyOf(name), 'finished', String(Date.now())));
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
    await this.#connection.ask(this.#connection.redis.hdel(keyOf(name), 'cancelled', 'finished'));
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
    await this.#connection.ask(redis.del(keyOf(name), blobsKey(name)));
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
  const { digest, cuts, keepsLogs } = object;
  if (object['name'] !== campaign || !isBlobHash(digest)) throw place.wrong('its record is damaged');
  const word = (name: string) => required(textMember(object, name, place), name, place);
  const amount = (name: string, max: number) =>
    required(numberMember(object, name, { min: 0, max }, place), name, place);
  if (!Array.isArray(cuts) || cuts.length > MAX_CUTS || !cuts.every(isCut)) throw place.wrong("'cuts' are no sizes");
  const began = word('began');
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(began)) throw place.wrong("'began' is no time");
  return {
    ...{ name: campaign, digest, cuts, began, version: word('version'), blobs: word('blobs') },
    ...{ total: amount('total', LIMITS.cases), keepS: amount('keepS', Number.MAX_SAFE_INTEGER) },
    keepsLogs: keepsLogs === true,
  };
}

function isCut(value: unknown): value is readonly [number, number] {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [size, count]: readonly unknown[] = value;
  const isFine = (each: unknown, max: number) => Number.isInteger(each) && Number(each) > 0 && Number(each) <= max;
  return isFine(size, MAX_BATCH) && isFine(count, LIMITS.cases);
}
