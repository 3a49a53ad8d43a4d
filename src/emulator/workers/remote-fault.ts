/**
 * A fault as one thread tells another: without what only the main thread knows, and without records, which
 * each thread has its own of.
 */

import { pcOf } from '../code/record-pc.ts';
import type { WaveFault } from '../machine/faults.ts';
import type { Triple } from '../machine/launch.ts';
import { WAVE_MODE } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';
import type { GroupScheduler } from '../schedule/group-scheduler.ts';

export interface RemoteFault {
  /** Offset of the instruction. */
  readonly pc: number;
  readonly mode: number;
  /** As in WaveFault. */
  readonly code: number;
  readonly lane: number;
  /** Decimal. */
  readonly address: string;
  readonly workgroup: Triple;
  readonly wave: number;
}

export function faultOf(state: SharedState, faulted: ReturnType<GroupScheduler['faulted']>): RemoteFault {
  const { slot, wave } = faulted;
  const { record, code, lane, address } = faulted.fault satisfies WaveFault;
  return {
    pc: pcOf(state, record),
    mode: state.view.getUint32(slot.waves[wave]!.base + WAVE_MODE, true),
    code,
    lane,
    address: String(address),
    workgroup: slot.id,
    wave,
  };
}
