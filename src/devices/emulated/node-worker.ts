/** A thread of Node that runs workgroups; between jobs it sleeps in its event loop. */
import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import type { WorkerJob } from '../../emulator/workers/worker.ts';
import type { NodeWorkerData } from './node-threads.ts';
import { isPtxProcessor } from './ptx/processors.ts';

const { setup, compileCacheDirectory, codeFolder } = workerData as NodeWorkerData;
if (compileCacheDirectory !== undefined) enableCompileCache(compileCacheDirectory);
if (codeFolder !== undefined) (await import('./node-code-store.ts')).openCodeFolder(codeFolder);
// After the cache is there: loading takes most of the time until a worker can begin.
const createWorker = isPtxProcessor(setup.processor)
  ? (await import('./ptx/worker.ts')).createPtxWorker
  : (await import('./amdgpu/worker.ts')).createWorker;
const worker = createWorker(setup);
parentPort?.on('message', (job: WorkerJob) => worker.run(job));
