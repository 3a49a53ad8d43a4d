/** Workers as threads of Node. */
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { ThreadHost } from '../../emulator/workers/worker-pool.ts';

/** `availableParallelism` threads, each a `worker_threads` worker. */
export const nodeThreads: ThreadHost = {
  parallelism: availableParallelism(),
  start(setup, onEnd) {
    const url = new URL(`./node-worker${path.extname(import.meta.url)}`, import.meta.url);
    const worker = new Worker(url, { workerData: setup, execArgv: [] });
    worker.unref();
    worker.on('error', (error) => onEnd(String(error)));
    worker.on('exit', () => onEnd('it ended'));
    return {
      post: (job) => worker.postMessage(job),
      stop: () => void worker.terminate(),
    };
  },
};
