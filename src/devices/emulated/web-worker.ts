/** A thread of a browser that runs workgroups; its first message is its setup, the others are jobs. */
import { EmulatorWorker, type WorkerJob, type WorkerSetup } from '../../emulator/workers/worker.ts';

interface WorkerScope {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
}

const scope = globalThis as unknown as WorkerScope; // reason: the types of Node's globals are the only ones that are declared

scope.onmessage = ({ data: setup }) => {
  const worker = new EmulatorWorker(setup as WorkerSetup);
  scope.onmessage = ({ data: job }) => worker.run(job as WorkerJob);
};
