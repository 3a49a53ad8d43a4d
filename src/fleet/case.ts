/** A case: one program to run with all that its verdict depends on, and the key that stands for it. */
import { createHash, hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.ts';

/** One program to run. */
export interface Case {
  /** As the reports call it. */
  readonly name: string;
  /** The path of the program. */
  readonly image: string;
  /** As --device takes it; by default the emulator of the image's own target. */
  readonly device?: string;
  /** Options of `run`, and arguments of the program. */
  readonly options: readonly string[];
  readonly args: readonly string[];
  /** Added to the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The path of its standard input; by default there is none. */
  readonly stdin?: string;
  /** Seconds. */
  readonly timeout: number;
  /** How often it is run again when it did not pass. */
  readonly retries: number;
  /** What sets it apart from the other cases of a sweep, for results; its name says it, too. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Why it cannot run, where that is seen before. */
  readonly problem?: string;
}

/** SHA-256 of the files of a case: 64 hex digits, or `null` where there is none that can be read. */
export interface CaseHashes {
  readonly image: string | null;
  readonly stdin: string | null;
}

/** 32 hex digits, equal for cases that cannot differ in their verdict. */
export type CaseKey = string;

const KEY_VERSION = 1;
const KEY_DIGITS = 32;
const KEY = /^[0-9a-f]{32}$/;

export const isCaseKey = (text: unknown): text is CaseKey => typeof text === 'string' && KEY.test(text);

/** The first half of the SHA-256 of what the verdict depends on; paths, times and hosts are no part of it. */
export function caseKey(one: Case, hashes: CaseHashes): CaseKey {
  const { name, device = null, options, args, env, timeout, retries, problem } = one;
  const content = { v: KEY_VERSION, name, ...hashes, device, options, args, env, timeout, retries, problem };
  return hash('sha256', canonicalJson(content), 'hex').slice(0, KEY_DIGITS);
}

/** What all cases of a run have in common, so that reports of its parts know each other: 64 hex digits. */
export function digestOf(keys: Iterable<CaseKey>): string {
  const sum = createHash('sha256').update(`wavewright.cases ${KEY_VERSION}\n`);
  for (const key of [...keys].sort()) sum.update(`${key}\n`);
  return sum.digest('hex');
}

/** A case with its key. */
export interface KeyedCase {
  readonly key: CaseKey;
  readonly case: Case;
}

/** Hashes files once for all cases that name them. */
export class FileHashes {
  readonly #known = new Map<string, string | null>();

  of(one: Case): CaseHashes {
    return { image: this.#hash(one.image), stdin: one.stdin === undefined ? null : this.#hash(one.stdin) };
  }

  key(one: Case): CaseKey {
    return caseKey(one, this.of(one));
  }

  #hash(file: string): string | null {
    const known = this.#known.get(file);
    if (known !== undefined) return known;
    const found = hashOfFile(file);
    this.#known.set(file, found);
    return found;
  }
}

/** `null` where it cannot be read: running the case says why. */
function hashOfFile(file: string): string | null {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  try {
    return hash('sha256', readFileSync(file), 'hex');
  } catch (error) {
    if (error instanceof Error && 'code' in error) return null;
    throw error;
  }
}
