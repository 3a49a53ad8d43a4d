/** Workers as threads of Node. */
import { getCompileCacheDir } from 'node:module';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { WorkerSetup } from '../../emulator/workers/worker.ts';
import type { ThreadHost } from '../../emulator/workers/worker-pool.ts';
import { codeFolder } from './node-code-store.ts';

/** What node-worker.ts is started with. */
export interface NodeWorkerData {
  readonly setup: WorkerSetup;
  /** The process's cache of compiled modules, where it has one. */
  readonly compileCacheDirectory: string | undefined;
  /** Where compiled code of devices is kept, if anywhere. */
  readonly codeFolder: string | undefined;
}

/** `availableParallelism` threads, each a `worker_threads` worker. */
export const nodeThreads: ThreadHost = {
  parallelism: availableParallelism(),
  start(setup, onEnd) {
    // Loaded when it is needed: most programs end before.
    const { Worker } = process.getBuiltinModule('node:worker_threads');
    const url = new URL(`./node-worker${path.extname(import.meta.url)}`, import.meta.url);
    // Node puts a folder of its version below the one that it is told.
    const cache = getCompileCacheDir();
    const workerData: NodeWorkerData = {
      setup,
      compileCacheDirectory: cache && path.dirname(cache),
      codeFolder: codeFolder(),
    };
    const worker = new Worker(url, { workerData, execArgv: [] });
    worker.unref();
    worker.on('error', (error) => onEnd(String(error)));
    worker.on('exit', () => onEnd('it ended'));
    return {
      post: (job) => worker.postMessage(job),
      stop: () => void worker.terminate(),
    };
  },
};
