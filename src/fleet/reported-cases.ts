/** The cases that a test program reports in its output: GoogleTest's form, which LLVM's libc prints too. */

export interface ReportedCase {
  readonly name: string;
  /** `unfinished`: it started, and the program ended before it did. */
  readonly outcome: 'passed' | 'failed' | 'skipped' | 'unfinished';
  /** As the program says it, for example `3 ms`. */
  readonly took?: string;
}

const OUTCOMES = { OK: 'passed', FAILED: 'failed', SKIPPED: 'skipped' } as const;
/** What the program prints without an end of line stands before a mark. */
const LINE = /\[\s*(RUN|OK|FAILED|SKIPPED)\s*\] (\S.*?)(?:, where .*?)?(?: \((?:took )?([^()]*)\))?\s*$/;

/** LLVM's libc colours its marks; colours are no part of a line. */
const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, 'g');

/**
 * Cases in the order in which they started. GoogleTest lists failed ones again in the end; these lines start
 * nothing.
 */
export function reportedCases(output: string): ReportedCase[] {
  const cases: ReportedCase[] = [];
  let running: string | undefined;
  const finish = (outcome: ReportedCase['outcome'], took?: string) => {
    if (running !== undefined) cases.push({ name: running, outcome, ...(took !== undefined && { took }) });
    running = undefined;
  };
  for (const line of output.replace(COLOUR, '').split('\n')) {
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, word, name, took] = match;
    if (word === 'RUN') {
      finish('unfinished');
      running = name;
    } else if (name === running) {
      finish(OUTCOMES[word as keyof typeof OUTCOMES], took);
    }
  }
  finish('unfinished');
  return cases;
}
