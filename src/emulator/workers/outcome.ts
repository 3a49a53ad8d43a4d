/** What a worker tells of a job. */
import type { ErrorCode } from '../../base/errors.ts';
import type { CountTable } from '../code/pc-counter.ts';
import type { GroupScheduler } from '../schedule/group-scheduler.ts';
import type { RemoteFault } from './remote-fault.ts';

type Counters = Pick<GroupScheduler, 'instructions' | 'tiers' | 'classes' | 'waves' | 'workgroups'>;

/** What came of a job, as text. */
export interface WorkerOutcome extends Readonly<Counters> {
  /** Executions by pc, where there are any. */
  readonly pcs?: CountTable;
  readonly fault?: RemoteFault;
  readonly error?: { readonly code: ErrorCode; readonly what: string };
}

export const NOTHING_DONE: WorkerOutcome = {
  instructions: 0,
  tiers: { reference: 0, handlers: 0, regions: 0, loops: 0 },
  classes: undefined,
  waves: 0,
  workgroups: 0,
};
