/** Jobs of a campaign: some cases each, cut the same way whoever cuts, as data that workers check. */
import { hash } from 'node:crypto';
import { WavewrightError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Case, type CaseKey, caseKey, type KeyedCase } from '../case.ts';
import { caseObject, caseOf } from '../cases-file.ts';
import { expectNames, isObject, type JsonObject, type LinePlace, textMember } from '../json-lines.ts';
import { type BlobHash, hashOfBytes, isBlobHash } from './blob-store.ts';

const JOB_VERSION = 1;
export const MAX_BATCH = 256;
/** Larger data is a blob. */
const MAX_DATA_BYTES = 2 ** 16;
/** Of a blob with the data of a job. */
export const MAX_DATA_BLOB_BYTES = 2 ** 26;
/** With `auto`, where nothing is known of the times of cases: few cases are dealt out one by one. */
const AUTO_BATCH = 16;
const AUTO_JOBS = 64;
/** With `auto`, what a job takes. */
const BATCH_MS = 2000;

export interface Job {
  readonly id: string;
  readonly cases: readonly KeyedCase[];
}

/** How many cases jobs have, in order: pairs of a size and of how many jobs have it. */
export type Cuts = readonly (readonly [size: number, count: number])[];

/** Whether a value, which anybody may have written, is how cases are cut. */
export const isCuts = (value: unknown): value is Cuts => Array.isArray(value) && value.every(isCut);

function isCut(value: unknown): boolean {
  if (!Array.isArray(value) || value.length !== 2) return false;
  const [size, count]: readonly unknown[] = value;
  const isFine = (each: unknown, max: number) => Number.isInteger(each) && Number(each) > 0 && Number(each) <= max;
  return isFine(size, MAX_BATCH) && isFine(count, LIMITS.cases);
}

/**
 * Sizes of jobs for cases in order: `batch` of them, or for `auto` as many as take 2 s by the times of an
 * earlier run.
 */
export function cutsFor(
  cases: readonly KeyedCase[],
  batch: number | 'auto',
  timesMs: ReadonlyMap<CaseKey, number>,
): Cuts {
  const fixed = batch === 'auto' ? Math.min(AUTO_BATCH, Math.max(1, Math.floor(cases.length / AUTO_JOBS))) : batch;
  const cuts: [number, number][] = [];
  const cut = (size: number) => {
    const last = cuts.at(-1);
    if (last?.[0] === size) last[1]++;
    else if (size > 0) cuts.push([size, 1]);
  };
  let [size, sumMs] = [0, 0];
  for (const { key } of cases) {
    size++;
    sumMs += timesMs.get(key) ?? BATCH_MS / fixed;
    const isFull = batch === 'auto' && timesMs.size > 0 ? sumMs >= BATCH_MS || size === MAX_BATCH : size === fixed;
    if (!isFull) continue;
    cut(size);
    [size, sumMs] = [0, 0];
  }
  cut(size);
  return cuts;
}

/** The jobs of cases in order. Throws BAD_INPUT when the sizes are of other cases. */
export function cutJobs(cases: readonly KeyedCase[], cuts: Cuts): Job[] {
  const jobs: Job[] = [];
  let start = 0;
  for (const [size, count] of cuts) {
    for (let i = 0; i < count; i++, start += size) jobs.push(jobOf(cases.slice(start, start + size)));
  }
  if (start === cases.length && jobs.every((job) => job.cases.length > 0)) return jobs;
  throw new WavewrightError('BAD_INPUT', 'the campaign is cut into jobs that do not fit its cases');
}

export const jobOf = (cases: readonly KeyedCase[]): Job => ({
  id: hash('sha256', cases.map(({ key }) => key).join('\n'), 'hex'),
  cases,
});

/**
 * What a worker is sent: cases whose files are named by their hashes; what all have in common stands once.
 */
export interface JobData {
  readonly v: number;
  readonly all: JsonObject;
  readonly cases: readonly JsonObject[];
}

/** In place of data that is large. */
export interface BlobData {
  readonly v: number;
  readonly blob: BlobHash;
}

/** A case as it is sent, with hashes in place of paths. */
export type SentCase = Case & { readonly image: BlobHash; readonly stdin?: BlobHash };

export function jobData(cases: readonly SentCase[]): JobData {
  const objects = cases.map(({ labels: _, ...one }) => caseObject(one));
  const [first = {}, ...rest] = objects;
  const shared = rest.length === 0 ? [] : Object.entries(first).filter(([name, value]) => isSame(name, value, rest));
  const names = new Set(shared.map(([name]) => name));
  return {
    ...{ v: JOB_VERSION, all: Object.fromEntries(shared) },
    cases: objects.map((one) => Object.fromEntries(Object.entries(one).filter(([name]) => !names.has(name)))),
  };
}

function isSame(name: string, value: unknown, others: readonly JsonObject[]): boolean {
  if (typeof value !== 'object') return others.every((one) => one[name] === value);
  const text = JSON.stringify(value);
  return others.every((one) => one[name] === value || JSON.stringify(one[name]) === text);
}

/** The data, and where it is large what stands for it, with the blob that it is then. */
export function packJobData(data: JobData): { readonly data: JobData | BlobData; readonly blob?: Uint8Array } {
  const bytes = Buffer.from(JSON.stringify(data));
  if (bytes.length <= MAX_DATA_BYTES) return { data };
  return { data: { v: JOB_VERSION, blob: hashOfBytes(bytes) }, blob: bytes };
}

/** The blob that has the data, if it is one. Throws BAD_INPUT. */
export function blobOfData(data: unknown, place: LinePlace): BlobHash | undefined {
  if (!isObject(data)) throw place.wrong('is no object');
  if (data['v'] !== JOB_VERSION) throw place.wrong(`is of version ${data['v']}, expected ${JOB_VERSION}`);
  if (data['blob'] === undefined) return undefined;
  expectNames(data, ['v', 'blob'], place);
  if (!isBlobHash(data['blob'])) throw place.wrong("'blob' is not 64 hex digits");
  return data['blob'];
}

export interface ReceivedCase {
  readonly key: CaseKey;
  readonly case: SentCase;
}

const NO_DEFAULTS = { options: [], timeout: 0, retries: 0 } as const;

/** The cases of data that anybody may have written. Throws BAD_INPUT. */
export function parseJobData(data: unknown, place: LinePlace): ReceivedCase[] {
  if (!isObject(data)) throw place.wrong('is no object');
  expectNames(data, ['v', 'all', 'cases'], place);
  if (data['v'] !== JOB_VERSION) throw place.wrong(`is of version ${data['v']}, expected ${JOB_VERSION}`);
  const { all, cases } = data;
  if (!isObject(all) || !Array.isArray(cases) || cases.length === 0 || cases.length > MAX_BATCH) {
    throw place.wrong(`has not 1 to ${MAX_BATCH} cases`);
  }
  return cases.map((each: unknown) => {
    if (!isObject(each)) throw place.wrong('has a case that is no object');
    const object = { ...all, ...each };
    // Looked at before anything makes a path of them.
    for (const name of ['image', 'stdin']) {
      if ((name === 'image' || object[name] !== undefined) && !isBlobHash(object[name])) {
        throw place.wrong(`'${name}' is not 64 hex digits`);
      }
    }
    if (textMember(object, 'device', place) === '') throw place.wrong("'device' is empty");
    const one: SentCase = caseOf(object, NO_DEFAULTS, { folder: '.', place });
    return { key: caseKey(one, { image: one.image, stdin: one.stdin ?? null }), case: one };
  });
}
