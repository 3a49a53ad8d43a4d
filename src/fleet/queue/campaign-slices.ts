/**
 * Of which cases a campaign is, and how they are cut into jobs, slice by slice as the first coordinator read
 * them. The others cut the same, and see in time that their cases are other ones.
 */
import { hash } from 'node:crypto';
import { WavewrightError } from '../../base/errors.ts';
import type { KeyedCase } from '../case.ts';
import type { WholeRun } from '../cases-file.ts';
import { isBlobHash } from './blob-store.ts';
import { PREFIX, type QueueConnection } from './connection.ts';
import { type Cuts, isCuts } from './job.ts';

export interface Slice {
  /** Over the keys of this slice and of all before it. */
  readonly digest: string;
  readonly cuts: Cuts;
}

export const recordKey = (campaign: string): string => `${PREFIX}:campaign:${campaign}`;
export const slicesKey = (campaign: string): string => `${PREFIX}:campaign-slices:${campaign}`;

/** The slice with a number that is there, else this one; none where the campaign has no more. */
const ADD_SCRIPT = `
local known = redis.call('HGET', KEYS[2], ARGV[1])
if known then return known end
if redis.call('HEXISTS', KEYS[1], 'whole') == 1 then return '' end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HINCRBY', KEYS[1], 'cases', ARGV[3])
return ARGV[2]`;
/** What the whole is, if it has so many slices. */
const COMPLETE_SCRIPT = `
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[1]) then return '' end
redis.call('HSETNX', KEYS[1], 'whole', ARGV[2])
return redis.call('HGET', KEYS[1], 'whole')`;

/** What this coordinator knows of a campaign's slices. */
export class CampaignSlices {
  readonly #connection: QueueConnection;
  readonly #campaign: string;
  readonly #slices: Slice[] = [];
  #whole: WholeRun | undefined;

  constructor(connection: QueueConnection, campaign: string) {
    [this.#connection, this.#campaign] = [connection, campaign];
  }

  /**
   * How the next cases are cut: as `cuts` say, or as another coordinator has cut them, which may be more of
   * them, or fewer: then nothing else happens. Throws USAGE where the campaign is of other cases.
   */
  async next(cases: readonly KeyedCase[], cuts: Cuts): Promise<Cuts> {
    const before = this.#slices.at(-1)?.digest ?? '';
    const digest = hash('sha256', [before, ...cases.map(({ key }) => key)].join('\n'), 'hex');
    const own = { digest, cuts };
    const known = await this.#add(this.#slices.length, own);
    if (!known) throw this.isOfOthers();
    if (countCases(known.cuts) !== cases.length) return known.cuts;
    if (known.digest !== digest) throw this.isOfOthers();
    this.#slices.push(known);
    return known.cuts;
  }

  /** When all cases are known. Throws USAGE where the campaign is of other cases. */
  async complete(whole: WholeRun): Promise<void> {
    const text = JSON.stringify([whole.digest, whole.total]);
    const known = await this.#eval(COMPLETE_SCRIPT, this.#slices.length, text);
    if (known !== text) throw this.isOfOthers();
    this.#whole = whole;
  }

  /** Writes again what the server has forgotten. */
  async restore(): Promise<void> {
    for (const [i, slice] of this.#slices.entries()) await this.#add(i, slice);
    if (this.#whole) await this.complete(this.#whole);
  }

  async #add(number: number, { digest, cuts }: Slice): Promise<Slice | undefined> {
    const text = JSON.stringify([digest, cuts]);
    const found = await this.#eval(ADD_SCRIPT, number, text, countCases(cuts));
    return found === text ? { digest, cuts } : found === '' ? undefined : this.#parse(String(found));
  }

  #parse(text: string): Slice {
    const [digest, cuts] = partsOf(text);
    if (isBlobHash(digest) && isCuts(cuts)) return { digest, cuts };
    throw damaged(this.#campaign);
  }

  #eval(script: string, ...values: readonly (string | number)[]): Promise<unknown> {
    const keys = [recordKey(this.#campaign), slicesKey(this.#campaign)];
    return this.#connection.ask(this.#connection.redis.eval(script, keys.length, ...keys, ...values));
  }

  /** What is wrong with other cases than those of the campaign. */
  isOfOthers(): WavewrightError {
    return new WavewrightError('USAGE', `campaign ${this.#campaign} is of other cases, or of these in another order`, {
      hint: 'give this run a name of its own',
    });
  }
}

export const countCases = (cuts: Cuts): number => cuts.reduce((sum, [size, count]) => sum + size * count, 0);

/**
 * The digest and the number of cases that a campaign has, once all were read. Throws BAD_INPUT where it says
 * something else.
 */
export function wholeOf(text: string | undefined, campaign: string): WholeRun | undefined {
  if (text === undefined) return undefined;
  const [digest, total] = partsOf(text);
  if (isBlobHash(digest) && Number.isInteger(total)) return { digest, total: Number(total) };
  throw damaged(campaign);
}

/** Of a list; nothing of what is none. */
function partsOf(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

const damaged = (campaign: string): WavewrightError =>
  new WavewrightError('BAD_INPUT', `campaign ${campaign}: what its cases are is damaged on the server`);
