/**
 * The report of a run or of one part of it, as JSON Lines: a header, a line for each case before anything
 * runs, a line for each verdict as it comes, a footer. A file without footer is of a run that did not end;
 * what it lacks is known all the same.
 */
import { WavewrightError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { isCaseKey, type KeyedCase } from './case.ts';
import { caseObject, caseOf, type WholeRun } from './cases-file.ts';
import {
  expectNames,
  isObject,
  type JsonObject,
  type LinePlace,
  numberMember,
  readJsonLines,
  required,
  textMember,
} from './json-lines.ts';
import type { ReportedCase } from './reported-cases.ts';
import { parseShard, type Shard, shardText } from './shard.ts';
import { MAX_REPORTED, OUTCOMES, TAIL_BYTES, type Verdict } from './verdict.ts';

const REPORT_SCHEMA = 'wavewright.report';
const REPORT_VERSION = 1;

export interface RunHeader extends WholeRun {
  /** Absent where the report is of all cases, or of a rest. */
  readonly shard?: Shard;
  /** The version of Wavewright: verdicts depend on it. */
  readonly wavewright: string;
  /** When the run began, to the second: `2026-01-02T03:04:05`, UTC. */
  readonly began: string;
}

export type ReportEntry =
  | { readonly kind: 'header'; readonly header: RunHeader }
  | ({ readonly kind: 'case' } & KeyedCase)
  | { readonly kind: 'verdict'; readonly verdict: Verdict; readonly name: string }
  | { readonly kind: 'footer'; readonly count: number };

/** The line of an entry, with its end. */
export function reportLine(entry: ReportEntry): string {
  return `${JSON.stringify(entryObject(entry))}\n`;
}

function entryObject(entry: ReportEntry): JsonObject {
  switch (entry.kind) {
    case 'header': {
      const { digest, total, shard, wavewright, began } = entry.header;
      const head = { schema: REPORT_SCHEMA, version: REPORT_VERSION, wavewright, digest, total };
      return { ...head, shard: shard ? shardText(shard) : null, began };
    }
    case 'case':
      return { k: entry.key, case: caseObject(entry.case) };
    case 'verdict': {
      const { k, o, s, ms, n, tail, cases, log, nolog } = entry.verdict;
      return { k, name: entry.name, o, s, ms, n, tail, cases, log, nolog };
    }
    case 'footer':
      return { count: entry.count };
  }
}

/** `2026-01-02T03:04:05`. */
export const secondOf = (date: Date): string => date.toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length);

/** Writes a report line by line, so that what was found is there when the process is killed. */
export class ReportWriter implements Disposable {
  readonly #file: string;
  readonly #descriptor: number;
  #verdicts = 0;

  /** Replaces the file. Throws IO. */
  constructor(file: string, header: RunHeader) {
    const { openSync } = process.getBuiltinModule('node:fs');
    this.#file = file;
    this.#descriptor = this.#attempt(() => openSync(file, 'w'));
    this.#write({ kind: 'header', header });
  }

  /** All cases are written before the first verdict. */
  plan(cases: readonly KeyedCase[]): void {
    const AT_ONCE = 1000;
    for (let i = 0; i < cases.length; i += AT_ONCE) {
      const lines = cases.slice(i, i + AT_ONCE).map((keyed) => reportLine({ kind: 'case', ...keyed }));
      this.#writeText(lines.join(''));
    }
  }

  add(name: string, verdict: Verdict): void {
    this.#verdicts++;
    this.#write({ kind: 'verdict', name, verdict });
  }

  /** The run is over, and the report is on the disk. Throws IO. */
  finish(): void {
    const { fsyncSync } = process.getBuiltinModule('node:fs');
    this.#write({ kind: 'footer', count: this.#verdicts });
    this.#attempt(() => {
      try {
        fsyncSync(this.#descriptor);
      } catch (error) {
        // Pipes and devices have no disk behind them.
        if (!(error instanceof Error && 'code' in error && error.code === 'EINVAL')) throw error;
      }
    });
  }

  [Symbol.dispose](): void {
    process.getBuiltinModule('node:fs').closeSync(this.#descriptor);
  }

  #write(entry: ReportEntry): void {
    this.#writeText(reportLine(entry));
  }

  #writeText(text: string): void {
    const { writeFileSync } = process.getBuiltinModule('node:fs');
    this.#attempt(() => writeFileSync(this.#descriptor, text));
  }

  #attempt<T>(call: () => T): T {
    try {
      return call();
    } catch (cause) {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
      throw new WavewrightError('IO', `cannot be written (${code})`, { file: this.#file, cause });
    }
  }
}

/**
 * The entries of a report, in the order of the file, of which the first is a header. A last line that was cut
 * off is left out, as there is no footer then. Throws IO, BAD_INPUT with the line, LIMIT_EXCEEDED.
 */
export async function* readReport(file: string): AsyncGenerator<ReportEntry> {
  let verdicts = 0;
  let last: ReportEntry['kind'] | undefined;
  for await (const { object, place } of readJsonLines(file, () => undefined)) {
    if (last === 'footer') throw place.wrong('stands behind the footer');
    const entry = last === undefined ? headerOf(object, place) : entryOf(object, place);
    if (entry.kind === 'verdict') verdicts++;
    if (entry.kind === 'footer' && entry.count !== verdicts) {
      throw place.wrong(`counts ${entry.count} verdicts, but there are ${verdicts}`, 'lines of the report are lost');
    }
    last = entry.kind;
    yield entry;
  }
  if (last === undefined) throw new WavewrightError('BAD_INPUT', `is empty, expected ${REPORT_SCHEMA}`, { file });
}

function headerOf(object: JsonObject, place: LinePlace): ReportEntry {
  if (object['schema'] !== REPORT_SCHEMA) throw place.wrong(`is no header of a ${REPORT_SCHEMA}`);
  if (object['version'] !== REPORT_VERSION) {
    throw place.wrong(`is of version ${object['version']}, expected ${REPORT_VERSION}`);
  }
  const { digest, shard: part } = object;
  if (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)) throw place.wrong("'digest' is not 64 hex digits");
  const total = required(numberMember(object, 'total', { min: 0, max: LIMITS.cases }, place), 'total', place);
  const shard = typeof part === 'string' ? parseShard(part) : undefined;
  if (part !== null && shard === undefined) throw place.wrong("'shard' is not I/N and not null");
  const wavewright = required(textMember(object, 'wavewright', place), 'wavewright', place);
  const began = required(textMember(object, 'began', place), 'began', place);
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/.test(began))
    throw place.wrong("'began' is no time, expected YYYY-MM-DDThh:mm:ss");
  return { kind: 'header', header: { digest, total, ...(shard && { shard }), wavewright, began } };
}

/** A case as it was run: nothing is added. */
const NO_DEFAULTS = { options: [], timeout: 0, retries: 0 } as const;

function entryOf(object: JsonObject, place: LinePlace): ReportEntry {
  if ('count' in object) {
    const count = required(numberMember(object, 'count', { min: 0, max: LIMITS.cases }, place), 'count', place);
    return { kind: 'footer', count };
  }
  const key = object['k'];
  if (!isCaseKey(key)) throw place.wrong("'k' is not 32 hex digits", 'expected a case, a verdict or the footer');
  if (!('case' in object)) {
    const name = required(textMember(object, 'name', place), 'name', place);
    const { name: _, ...record } = object;
    return { kind: 'verdict', name, verdict: parseVerdict(record, place) };
  }
  if (!isObject(object['case'])) throw place.wrong("'case' is no object");
  return { kind: 'case', key, case: caseOf(object['case'], NO_DEFAULTS, { folder: '.', place }) };
}

const VERDICT_NAMES = ['k', 'o', 's', 'ms', 'n', 'tail', 'cases', 'log', 'nolog'];
const MAX_MS = 1e12;
const MAX_REASON = 200;
const SHA256 = /^[0-9a-f]{64}$/;

/** The verdict that an object is. Throws BAD_INPUT for an unknown or wrong member. */
export function parseVerdict(object: JsonObject, place: LinePlace): Verdict {
  expectNames(object, VERDICT_NAMES, place);
  const key = object['k'];
  if (!isCaseKey(key)) throw place.wrong("'k' is not 32 hex digits");
  const outcome = OUTCOMES.find((each) => each === object['o']);
  if (outcome === undefined) throw place.wrong(`'o' is none of ${OUTCOMES.join(', ')}`);
  const status = numberMember(object, 's', { min: 0, max: 255 }, place);
  const tail = textMember(object, 'tail', place);
  if (tail !== undefined && Buffer.byteLength(tail) > TAIL_BYTES)
    throw place.wrong(`'tail' is above ${TAIL_BYTES} bytes`);
  const log = textMember(object, 'log', place);
  if (log !== undefined && !SHA256.test(log)) throw place.wrong("'log' is not 64 hex digits");
  const nolog = textMember(object, 'nolog', place);
  if (nolog !== undefined && nolog.length > MAX_REASON) throw place.wrong(`'nolog' is above ${MAX_REASON} characters`);
  return {
    ...{ k: key, o: outcome },
    ...(status !== undefined && { s: status }),
    ms: required(numberMember(object, 'ms', { min: 0, max: MAX_MS }, place), 'ms', place),
    n: required(numberMember(object, 'n', { min: 0, max: 1_000_000 }, place), 'n', place),
    ...(tail !== undefined && { tail }),
    ...(object['cases'] !== undefined && { cases: reportedMember(object['cases'], place) }),
    ...(log !== undefined && { log }),
    ...(nolog !== undefined && { nolog }),
  };
}

const REPORTED_OUTCOMES = ['passed', 'failed', 'skipped', 'unfinished'] as const;

function reportedMember(value: unknown, place: LinePlace): readonly ReportedCase[] {
  if (!Array.isArray(value) || value.length > MAX_REPORTED)
    throw place.wrong(`'cases' is no list of at most ${MAX_REPORTED}`);
  return value.map((each: unknown) => {
    if (!isObject(each)) throw place.wrong("'cases' has an entry that is no object");
    const name = required(textMember(each, 'name', place), 'name', place);
    const took = textMember(each, 'took', place);
    const outcome = REPORTED_OUTCOMES.find((one) => one === each['outcome']);
    if (outcome === undefined) throw place.wrong("'cases' has an entry without an outcome");
    return { name, outcome, ...(took !== undefined && { took }) };
  });
}
