/**
 * A fault as one thread tells another: without what only the main thread knows, and without records, which
 * each thread has its own of.
 */

import type { EmulatorCore } from '../code/emulator-core.ts';
import { pcOf } from '../code/record-pc.ts';
import { FAULT_DEADLOCK, type WaveFault } from '../machine/faults.ts';
import type { Triple } from '../machine/launch.ts';
import { WAVE_MODE } from '../machine/layout.ts';
import type { GroupScheduler } from '../schedule/group-scheduler.ts';
import { type PlaceOfLanes, placesOf } from '../schedule/wave-places.ts';

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
  /** Of a deadlock: where all threads of the workgroup are. */
  readonly places: readonly PlaceOfLanes[];
}

export function faultOf(core: EmulatorCore, faulted: ReturnType<GroupScheduler['faulted']>): RemoteFault {
  const { state } = core;
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
    places: code === FAULT_DEADLOCK ? placesOf(core, slot.group, slot.waveSize) : [],
  };
}
