/**
 * Threads that run the tests of a batch. A thread that does not answer in time, or dies, costs its own test
 * only.
 */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { ERROR_CODES } from '../../base/errors.ts';
import type { TestCase } from './collect.ts';
import { type ReportedCase, reportedCases } from './reported-cases.ts';
import type { WorkerMessage, WorkerReply, WorkerRequest } from './worker.ts';

export interface BatchOptions {
  readonly jobs: number;
  /** Of each test. */
  readonly timeoutMs: number;
  /** How often a test that failed is run again. */
  readonly retries: number;
  /** Options of `run` for every test. */
  readonly runOptions: readonly string[];
  readonly onResult: (result: TestResult, done: number) => void;
}

export interface TestResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'timed-out' | 'crashed';
  /** `undefined` when the thread was ended. */
  readonly status: number | undefined;
  readonly durationMs: number;
  /** Runs of the test, at least 1. */
  readonly attempts: number;
  readonly cases: readonly ReportedCase[];
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The loader stops a program by itself when it took its time. A thread that shares the machine with others
 * takes longer by the clock on the wall: only one that needs so many times as long, and so much more, is
 * ended.
 */
const WALL_FACTOR = 10;
const GRACE_MS = 30_000;

/** Results in the order of `tests`. */
export async function runBatch(tests: readonly TestCase[], options: BatchOptions): Promise<TestResult[]> {
  const results: TestResult[] = [];
  let next = 0;
  let done = 0;
  const lane = async () => {
    using thread = new TestThread(options);
    while (next < tests.length) {
      const index = next++;
      const result = await attempts(thread, tests[index]!, options.retries);
      results[index] = result;
      options.onResult(result, ++done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.jobs, tests.length) }, lane));
  return results;
}

async function attempts(thread: TestThread, test: TestCase, retries: number): Promise<TestResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await thread.run(test);
    if (result.outcome === 'passed' || attempt > retries) return { ...result, attempts: attempt };
  }
}

class TestThread implements Disposable {
  readonly #options: BatchOptions;
  #worker: Worker | undefined;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  async run(test: TestCase): Promise<TestResult> {
    const { timeoutMs, runOptions } = this.#options;
    const options = [...runOptions, `--timeout=${timeoutMs / 1000}`];
    const startMs = performance.now();
    const answer = await this.#ask({ test, options }, timeoutMs * WALL_FACTOR + GRACE_MS);
    if (typeof answer !== 'string') return resultOf(test, answer);
    // Whatever the thread still does must not go on.
    this[Symbol.dispose]();
    return {
      name: test.name,
      outcome: answer === 'silent' ? 'timed-out' : 'crashed',
      status: undefined,
      durationMs: performance.now() - startMs,
      attempts: 1,
      cases: [],
      stdout: '',
      stderr: answer === 'silent' ? 'the test did not stop at its time limit' : answer,
    };
  }

  /** The reply; `silent` when none came in time after the program started, or why the thread ended. */
  #ask(request: WorkerRequest, limitMs: number): Promise<WorkerReply | string> {
    const url = new URL(`./worker${path.extname(import.meta.url)}`, import.meta.url);
    this.#worker ??= new Worker(url, { stdin: true });
    const worker = this.#worker;
    return new Promise((resolve) => {
      const answers = {
        message: (reply: WorkerMessage) => {
          if (reply === 'started') timer = setTimeout(() => settle('silent'), limitMs);
          else settle(reply);
        },
        error: (error: unknown) => settle(String(error)),
        exit: (code: number) => settle(`the thread ended with ${code}`),
      };
      let timer: NodeJS.Timeout | undefined;
      const settle = (answer: WorkerReply | string) => {
        clearTimeout(timer);
        for (const [event, listener] of Object.entries(answers)) worker.off(event, listener);
        resolve(answer);
      };
      for (const [event, listener] of Object.entries(answers)) worker.on(event, listener);
      worker.postMessage(request);
    });
  }

  [Symbol.dispose](): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }
}

/** A test passes when its status is 0 and it reports no case that did not pass. */
function resultOf(test: TestCase, reply: WorkerReply): TestResult {
  // GoogleTest reports on standard output, LLVM's libc on standard error.
  const cases = [...reportedCases(reply.stdout), ...reportedCases(reply.stderr)];
  const good = reply.status === 0 && cases.every(({ outcome }) => outcome === 'passed' || outcome === 'skipped');
  const outcome = good ? 'passed' : isTimeout(reply) ? 'timed-out' : 'failed';
  return { name: test.name, outcome, attempts: 1, cases, ...reply };
}

const isTimeout = ({ status, stderr }: WorkerReply) =>
  status === ERROR_CODES.TIMEOUT.exit && stderr.includes('[TIMEOUT]');
