import { EXECUTORS } from '../../../emulator/executors.ts';
import { EmulatorWorker, type WorkerSetup } from '../../../emulator/workers/worker.ts';
import { AmdgpuFrontEnd } from './front-end.ts';

/** The worker of a thread. */
export const createWorker = (setup: WorkerSetup): EmulatorWorker =>
  new EmulatorWorker(setup, (processor) => ({ frontEnd: new AmdgpuFrontEnd(processor), executors: EXECUTORS }));
