/** A thread of a browser that runs workgroups; its first message is its setup, the others are jobs. */
import type { WorkerJob, WorkerSetup } from '../../emulator/workers/worker.ts';
import { createWorker } from './amdgpu/worker.ts';
import { isPtxProcessor } from './ptx/processors.ts';
import { createPtxWorker } from './ptx/worker.ts';

interface WorkerScope {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
}

const scope = globalThis as unknown as WorkerScope; // reason: the types of Node's globals are the only ones that are declared

scope.onmessage = ({ data: setup }) => {
  const isPtx = isPtxProcessor((setup as WorkerSetup).processor);
  const worker = (isPtx ? createPtxWorker : createWorker)(setup as WorkerSetup);
  scope.onmessage = ({ data: job }) => worker.run(job as WorkerJob);
};
