/** A thread of Node that runs workgroups; between jobs it sleeps in its event loop. */
import { parentPort, workerData } from 'node:worker_threads';
import { EmulatorWorker, type WorkerJob, type WorkerSetup } from '../../emulator/workers/worker.ts';

const worker = new EmulatorWorker(workerData as WorkerSetup);
parentPort?.on('message', (job: WorkerJob) => worker.run(job));
