import { EXECUTORS } from '../../../emulator/executors.ts';
import { EmulatorWorker, type WorkerSetup } from '../../../emulator/workers/worker.ts';
import { PtxFrontEnd } from './front-end.ts';

/** The worker of a thread. */
export const createPtxWorker = (setup: WorkerSetup): EmulatorWorker =>
  new EmulatorWorker(setup, (processor) => ({ frontEnd: new PtxFrontEnd(processor), executors: EXECUTORS }));
