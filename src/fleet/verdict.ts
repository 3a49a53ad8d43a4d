/** What came of a case: in full, as the pool that ran it knows it, and in short, as reports hold it. */
import type { CaseKey } from './case.ts';
import type { ReportedCase } from './reported-cases.ts';

/** What a run can come to. */
export const RUN_OUTCOMES = ['passed', 'failed', 'timed-out', 'crashed'] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/**
 * What a case can come to: `quarantined` where the machines that ran it were lost again and again, `error`
 * where it could not be run.
 */
export const OUTCOMES = [...RUN_OUTCOMES, 'quarantined', 'error'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** What came of a case, with all that it printed (up to a limit). */
export interface TestResult {
  readonly name: string;
  readonly outcome: Outcome;
  /** Exit status; `undefined` when what ran it was ended. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Runs of the case, at least 1 where it was run. */
  readonly attempts: number;
  /** What the program reports, in the form of GoogleTest or of LLVM's libc. */
  readonly cases: readonly ReportedCase[];
  readonly stdout: string;
  readonly stderr: string;
}

/** The record of a verdict. Its names are short because there are millions of them. */
export interface Verdict {
  readonly k: CaseKey;
  readonly o: Outcome;
  /** Exit status, where the program had one. */
  readonly s?: number;
  /** Milliseconds that the last run took. */
  readonly ms: number;
  /** Runs. */
  readonly n: number;
  /** Of what did not pass: the end of its output, at most `TAIL_BYTES` of UTF-8. */
  readonly tail?: string;
  /** Of what did not pass: the reported cases that did not pass, at most `MAX_REPORTED`. */
  readonly cases?: readonly ReportedCase[];
  /** Of what did not pass: SHA-256 of the blob with its gzipped output. */
  readonly log?: string;
  /** Where that blob was wanted and could not be kept: why. */
  readonly nolog?: string;
}

export const TAIL_BYTES = 4096;
export const MAX_REPORTED = 256;

/** Passed, but not at once. */
export const isFlaky = ({ o, n }: Verdict): boolean => o === 'passed' && n > 1;

export const didPass = ({ outcome }: Pick<ReportedCase, 'outcome'>): boolean =>
  outcome === 'passed' || outcome === 'skipped';

export function verdictOf(key: CaseKey, result: TestResult): Verdict {
  const { outcome, status, durationMs, attempts, cases, stdout, stderr } = result;
  const bad = cases.filter((one) => !didPass(one)).slice(0, MAX_REPORTED);
  const tail = endOf(`${stdout}${stderr}`.trimEnd(), TAIL_BYTES);
  return {
    ...{ k: key, o: outcome, ...(status !== undefined && { s: status }), ms: Math.round(durationMs), n: attempts },
    ...(outcome !== 'passed' && tail !== '' && { tail }),
    ...(outcome !== 'passed' && bad.length > 0 && { cases: bad }),
  };
}

/** What is known of a result from its verdict. */
export const resultOfVerdict = (name: string, { o, s, ms, n, cases = [], tail = '' }: Verdict): TestResult => ({
  ...{ name, outcome: o, status: s, durationMs: ms, attempts: n, cases, stdout: tail, stderr: '' },
});

/** At most so many bytes of the end, from a whole character on. */
function endOf(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  let start = bytes.length - maxBytes;
  while ((bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.toString('utf8', start);
}
