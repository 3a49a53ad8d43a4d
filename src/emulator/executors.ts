import type { ExecutorKinds } from './code/emulator-core.ts';
import { DEFAULT_THRESHOLD, JitExecutor } from './jit/jit-executor.ts';
import { ReferenceExecutor } from './reference/reference-executor.ts';

/** All executors that there are. */
export const EXECUTORS: ExecutorKinds = {
  handlers: { compileThreshold: undefined, create: (_core, handlers) => handlers },
  jit: { compileThreshold: DEFAULT_THRESHOLD, create: (core, handlers) => new JitExecutor(core, handlers) },
  reference: {
    compileThreshold: undefined,
    create: (core, { waveSize }) => new ReferenceExecutor(core, waveSize),
  },
};
