/** Runs cases one after the other where they harm nobody, and says what came of each. */
import { ERROR_CODES, WavewrightError } from '../../base/errors.ts';
import type { Case } from '../../fleet/case.ts';
import { reportedCases } from '../../fleet/reported-cases.ts';
import { didPass, type TestResult } from '../../fleet/verdict.ts';
import type { Channel, OpenChannel } from './channel.ts';
import type { CaseMessage, CaseReply } from './run-case.ts';

export interface CaseRunnerOptions {
  /** A thread or a process, opened when it is needed. */
  readonly open: OpenChannel;
  /** Options of `run` that no verdict depends on, before those of each case. */
  readonly runOptions: readonly string[];
  /** More of them, of one case. */
  readonly optionsOf?: (one: Case) => readonly string[];
  /**
   * How long a case may take by the clock on the wall, in milliseconds, before what runs it is ended; by
   * default far longer than its time limit, which the program's own time counts for.
   */
  readonly wallLimitMs?: (one: Case) => number;
  /** After so many cases what runs them is renewed. */
  readonly maxCases?: number;
  /** How often a case that ends what runs it is run again, besides its retries. */
  readonly crashRetries?: number;
}

/**
 * The loader stops a program by itself when it took its time. What shares the machine with others takes
 * longer by the clock on the wall: only what needs so many times as long, and so much more, is ended.
 */
const WALL_FACTOR = 10;
const GRACE_MS = 30_000;
const MS_PER_S = 1000;
/** What runs cases has to be ready after this time. */
const START_LIMIT_MS = 120_000;

/** Why there is no reply. */
interface NoReply {
  readonly outcome: 'timed-out' | 'crashed' | 'not-started';
  readonly reason: string;
}

export class CaseRunner implements Disposable {
  readonly #options: CaseRunnerOptions;
  #channel: Channel | undefined;
  #isReady = false;
  #casesRun = 0;
  /** What takes the messages of the channel while a case runs. */
  #onMessage: (message: CaseMessage) => void = () => undefined;
  #onEnd: (reason: string) => void = () => undefined;

  constructor(options: CaseRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs a case, again when it does not pass and has retries. One at a time. Throws what `signal` was aborted
   * for, when what runs the case has been ended; IO when nothing can be started that runs it, which says
   * nothing of the case.
   */
  async run(one: Case, signal?: AbortSignal): Promise<TestResult> {
    const { crashRetries = 0 } = this.#options;
    for (let attempts = 1, crashes = 0; ; attempts++) {
      const result = await this.#runOnce(one, signal);
      if (result.outcome === 'passed') return { ...result, attempts };
      if (result.outcome === 'crashed' && crashes++ < crashRetries) continue;
      if (attempts - Math.min(crashes, crashRetries) > one.retries) return { ...result, attempts };
    }
  }

  /** Ends what runs cases; the next case has another. */
  [Symbol.dispose](): void {
    this.#channel?.kill();
    this.#channel = undefined;
    this.#isReady = false;
    this.#casesRun = 0;
  }

  async #runOnce(one: Case, signal: AbortSignal | undefined): Promise<TestResult> {
    const { maxCases = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#casesRun++ >= maxCases) this[Symbol.dispose]();
    const startMs = performance.now();
    let answer = await this.#ask(one, signal);
    if ('reason' in answer && answer.outcome === 'not-started') answer = await this.#ask(one, signal);
    if ('status' in answer) return resultOf(one, answer);
    const { outcome, reason } = answer;
    if (outcome === 'not-started') throw new WavewrightError('IO', `programs cannot be run: ${reason}`);
    return {
      ...{ name: one.name, outcome, status: undefined, durationMs: performance.now() - startMs },
      ...{ attempts: 1, cases: [], stdout: '', stderr: reason },
    };
  }

  #ask(one: Case, signal: AbortSignal | undefined): Promise<CaseReply | NoReply> {
    const { runOptions, optionsOf, wallLimitMs = generousLimitMs } = this.#options;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<CaseReply | NoReply>();
    // Whatever runs there must not go on.
    const end = (outcome: NoReply['outcome'], reason: string) => {
      this[Symbol.dispose]();
      resolve({ outcome, reason });
    };
    const onAbort = () => {
      this[Symbol.dispose]();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort);
    let timer = setTimeout(() => end('not-started', 'it does not answer'), START_LIMIT_MS);
    this.#onMessage = (message) => {
      if (message === 'ready') this.#isReady = true;
      else if (message !== 'started') resolve(message);
      else {
        clearTimeout(timer);
        timer = setTimeout(() => end('timed-out', 'the test did not stop at its time limit'), wallLimitMs(one));
      }
    };
    this.#onEnd = (reason) => end(this.#isReady ? 'crashed' : 'not-started', reason);
    this.#channel ??= this.#options.open({
      onMessage: (message) => this.#onMessage(message),
      onEnd: (reason) => this.#onEnd(reason),
    });
    this.#channel.send({ test: one, options: [...runOptions, ...(optionsOf?.(one) ?? [])] });
    return promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      this.#onMessage = () => undefined;
      // One that ends between two cases is replaced.
      this.#onEnd = () => this[Symbol.dispose]();
    });
  }
}

const generousLimitMs = ({ timeout }: Case): number => timeout * MS_PER_S * WALL_FACTOR + GRACE_MS;

/** A test passes when its status is 0 and it reports no case that did not pass. */
function resultOf({ name }: Case, reply: CaseReply): TestResult {
  // GoogleTest reports on standard output, LLVM's libc on standard error.
  const cases = [...reportedCases(reply.stdout), ...reportedCases(reply.stderr)];
  const good = reply.status === 0 && cases.every(didPass);
  const outcome = good ? 'passed' : isTimeout(reply) ? 'timed-out' : 'failed';
  return { name, outcome, attempts: 1, cases, ...reply };
}

const isTimeout = ({ status, stderr }: CaseReply): boolean =>
  status === ERROR_CODES.TIMEOUT.exit && stderr.includes('[TIMEOUT]');
