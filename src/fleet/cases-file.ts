/**
 * `CASES.jsonl`: a case on each line, as sweeps and fuzzers print them. A first line may say of which run
 * these cases are the rest, so that their report goes with the reports of the others.
 */
import path from 'node:path';
import { LIMITS } from '../base/limits.ts';
import type { Case } from './case.ts';
import {
  expectNames,
  isObject,
  type JsonObject,
  type LinePlace,
  numberMember,
  readJsonLines,
  required,
  textMember,
  textsMember,
} from './json-lines.ts';

/** What a line need not say. */
export interface CaseDefaults {
  /** Options of `run` before those of the case. */
  readonly options: readonly string[];
  /** Seconds. */
  readonly timeout: number;
  readonly retries: number;
}

/** The run that cases are the rest of. */
export interface WholeRun {
  readonly digest: string;
  /** Cases of the whole. */
  readonly total: number;
}

/** What a file of cases holds: lines of cases, and before them perhaps the run that they are the rest of. */
export type CasesEntry =
  | { readonly kind: 'case'; readonly case: Case; readonly place: LinePlace }
  | { readonly kind: 'whole'; readonly whole: WholeRun };

export const MAX_TIMEOUT_SECONDS = 1_000_000;
export const MAX_RETRIES = 100;
const MAX_NAME = 4096;
const DIGEST = /^[0-9a-f]{64}$/;
const CASES_SCHEMA = 'wavewright.cases';
const NAMES = ['image', 'name', 'device', 'run', 'args', 'env', 'stdin', 'timeout', 'retries', 'labels', 'problem'];

/** Whether an operand names a file of cases; `-` is standard input. */
export const isCasesFile = (file: string): boolean => file === '-' || file.endsWith('.jsonl');

/**
 * The cases of a file, one after the other; paths in it are relative to its folder, from standard input (`-`)
 * and pipes to the working directory. Throws IO, BAD_INPUT with the line, LIMIT_EXCEEDED.
 */
export async function* readCases(file: string, defaults: CaseDefaults): AsyncGenerator<CasesEntry> {
  const folder = isRegularFile(file) ? path.dirname(file) : '.';
  let count = 0;
  for await (const { object, place } of readJsonLines(file)) {
    if (object['schema'] !== undefined) {
      if (count > 0) throw place.wrong('is a header, which can only stand before all cases');
      yield { kind: 'whole', whole: wholeOf(object, place) };
      continue;
    }
    if (++count > LIMITS.cases)
      throw place.error('LIMIT_EXCEEDED', `there are more cases than cases = ${LIMITS.cases}`);
    yield { kind: 'case', case: caseOf(object, defaults, { folder, place }), place };
  }
}

function isRegularFile(file: string): boolean {
  if (file === '-') return false;
  const { statSync } = process.getBuiltinModule('node:fs');
  return statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

function wholeOf(object: JsonObject, place: LinePlace): WholeRun {
  if (object['schema'] !== CASES_SCHEMA || object['version'] !== 1) {
    throw place.wrong(`has another schema than ${CASES_SCHEMA} version 1`);
  }
  expectNames(object, ['schema', 'version', 'digest', 'total'], place);
  const digest = textMember(object, 'digest', place) ?? '';
  if (!DIGEST.test(digest)) throw place.wrong("'digest' is not 64 hex digits");
  return {
    digest,
    total: required(numberMember(object, 'total', { min: 0, max: LIMITS.cases }, place), 'total', place),
  };
}

/**
 * The case that an object describes; paths are relative to `folder`. Throws BAD_INPUT for an unknown or wrong
 * member.
 */
export function caseOf(
  object: JsonObject,
  defaults: CaseDefaults,
  { folder, place }: { readonly folder: string; readonly place: LinePlace },
): Case {
  expectNames(object, NAMES, place);
  const written = required(textMember(object, 'image', place), 'image', place);
  const name = textMember(object, 'name', place) ?? written;
  if (written === '' || written.includes('\0')) throw place.wrong("'image' is no path");
  if (name === '' || name.length > MAX_NAME) throw place.wrong(`'name' has not 1 to ${MAX_NAME} characters`);
  const [device, stdin, problem] = ['device', 'stdin', 'problem'].map((each) => textMember(object, each, place));
  const seconds = { min: 0.001, max: MAX_TIMEOUT_SECONDS, isFraction: true };
  return {
    ...{ name, image: placed(folder, written) },
    ...(device !== undefined && { device }),
    options: [...defaults.options, ...textsMember(object, 'run', place)],
    args: textsMember(object, 'args', place),
    env: environmentOf(object['env'] ?? {}, place),
    ...(stdin !== undefined && { stdin: placed(folder, stdin) }),
    timeout: numberMember(object, 'timeout', seconds, place) ?? defaults.timeout,
    retries: numberMember(object, 'retries', { min: 0, max: MAX_RETRIES }, place) ?? defaults.retries,
    ...(object['labels'] !== undefined && { labels: stringsOf(object['labels'], 'labels', place) }),
    ...(problem !== undefined && { problem }),
  };
}

const placed = (folder: string, file: string): string => (path.isAbsolute(file) ? file : path.join(folder, file));

function stringsOf(value: unknown, name: string, place: LinePlace): Record<string, string> {
  const entries = isObject(value) ? Object.entries(value) : undefined;
  if (!entries?.every((entry): entry is [string, string] => typeof entry[1] === 'string')) {
    throw place.wrong(`'${name}' is no object of strings`);
  }
  return Object.fromEntries(entries);
}

/** Variables by name. Throws BAD_INPUT for what no environment holds. */
export function environmentOf(value: unknown, place: LinePlace): Record<string, string> {
  const env = stringsOf(value, 'env', place);
  const wrong = Object.entries(env).find(([name, text]) => !/^[^=\0]+$/.test(name) || text.includes('\0'));
  if (wrong) throw place.wrong(`'env' has '${wrong[0]}', which is no variable`);
  return env;
}

/** The object of a line that `caseOf` reads again, all said; paths are relative to `folder`. */
export function caseObject(one: Case, folder = '.'): JsonObject {
  const { name, image, device, options, args, env, stdin, timeout, retries, labels, problem } = one;
  const from = (file: string) => (path.isAbsolute(file) || folder === '.' ? file : path.relative(folder, file));
  return {
    ...{ name, image: from(image) },
    ...(device !== undefined && { device }),
    ...(options.length > 0 && { run: options }),
    ...(args.length > 0 && { args }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(stdin !== undefined && { stdin: from(stdin) }),
    ...{ timeout, retries, ...(labels !== undefined && { labels }) },
    ...(problem !== undefined && { problem }),
  };
}

/** The text of a file of cases in `folder`. */
export function formatCases(cases: readonly Case[], whole: WholeRun | undefined, folder: string): string {
  const header = whole ? [{ schema: CASES_SCHEMA, version: 1, ...whole }] : [];
  const lines = [...header, ...cases.map((one) => caseObject(one, folder))];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
