/**
 * Threads that run the tests of a batch. A thread that does not answer in time, or dies, costs its own test
 * only.
 */

import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { ERROR_CODES } from '../../base/errors.ts';
import type { Case } from '../../fleet/case.ts';
import { reportedCases } from '../../fleet/reported-cases.ts';
import { didPass, type TestResult } from '../../fleet/verdict.ts';
import type { WorkerMessage, WorkerReply, WorkerRequest } from './worker.ts';

export interface BatchOptions {
  readonly jobs: number;
  /** Options of `run` that no verdict depends on, before those of each case. */
  readonly runOptions: readonly string[];
  /** Called in the order in which results come; `index` is that of the case. */
  readonly onResult: (result: TestResult, index: number) => void;
}

/**
 * The loader stops a program by itself when it took its time. A thread that shares the machine with others
 * takes longer by the clock on the wall: only one that needs so many times as long, and so much more, is
 * ended.
 */
const WALL_FACTOR = 10;
const GRACE_MS = 30_000;
const MS_PER_S = 1000;

/** Runs all cases. */
export async function runBatch(tests: readonly Case[], options: BatchOptions): Promise<void> {
  let next = 0;
  const lane = async () => {
    using thread = new TestThread(options);
    while (next < tests.length) {
      const index = next++;
      options.onResult(await attempts(thread, tests[index]!), index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.jobs, tests.length) }, lane));
}

async function attempts(thread: TestThread, test: Case): Promise<TestResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await thread.run(test);
    if (result.outcome === 'passed' || attempt > test.retries) return { ...result, attempts: attempt };
  }
}

class TestThread implements Disposable {
  readonly #options: BatchOptions;
  #worker: Worker | undefined;

  constructor(options: BatchOptions) {
    this.#options = options;
  }

  async run(test: Case): Promise<TestResult> {
    const startMs = performance.now();
    const limitMs = test.timeout * MS_PER_S * WALL_FACTOR + GRACE_MS;
    const answer = await this.#ask({ test, options: this.#options.runOptions }, limitMs);
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
function resultOf(test: Case, reply: WorkerReply): TestResult {
  // GoogleTest reports on standard output, LLVM's libc on standard error.
  const cases = [...reportedCases(reply.stdout), ...reportedCases(reply.stderr)];
  const good = reply.status === 0 && cases.every(didPass);
  const outcome = good ? 'passed' : isTimeout(reply) ? 'timed-out' : 'failed';
  return { name: test.name, outcome, attempts: 1, cases, ...reply };
}

const isTimeout = ({ status, stderr }: WorkerReply) =>
  status === ERROR_CODES.TIMEOUT.exit && stderr.includes('[TIMEOUT]');
