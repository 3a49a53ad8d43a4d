/** Where the waves of a workgroup are, as any thread can tell another. */
import type { EmulatorCore } from '../code/emulator-core.ts';
import { pcOf } from '../code/record-pc.ts';
import { GROUP, GROUP_STATES, type GroupField, WAVE_STATES, type WaveState } from '../machine/group-layout.ts';
import type { Triple } from '../machine/launch.ts';
import { EXIT_CODES, STATE_OFFSETS, WAVE_EXIT, WAVE_JUMP_PC, WAVE_RECORD } from '../machine/layout.ts';

/** Lanes of a wave that are at one place. */
export interface PlaceOfLanes {
  readonly workgroup: Triple;
  readonly wave: number;
  readonly state: Exclude<WaveState, 'ended'>;
  /** Of the next instruction; of lanes that wait, the one that they wait in: an offset of device memory. */
  readonly offset: number;
  /** A mask, decimal. */
  readonly lanes: string;
  /** What they wait for, where that is not other waves; else empty. */
  readonly note: string;
}

/** `group`: address of the state of a resident workgroup. */
export function placesOf(core: EmulatorCore, group: number, waveSize: 32 | 64): PlaceOfLanes[] {
  const { state: own, frontEnd } = core;
  const get = (field: GroupField): number => own.view.getInt32(group + GROUP[field], true);
  const workgroup = [get('idX'), get('idY'), get('idZ')] as const;
  return Array.from({ length: get('count') }, (_, index) => index).flatMap((index): PlaceOfLanes[] => {
    const state = WAVE_STATES[own.view.getInt32(group + GROUP_STATES + index * 4, true)]!;
    if (state === 'ended') return [];
    const wave = get('waves') + index * get('waveStride');
    // At a barrier with a number it says itself where it is.
    const next =
      state === 'named'
        ? Number(own.view.getBigUint64(wave + WAVE_JUMP_PC, true))
        : pcOf(own, own.view.getUint32(wave + WAVE_RECORD, true));
    // A wave that waits has gone past what it waits in. To a barrier of the grid it comes back.
    const comesBack = own.view.getUint32(wave + WAVE_EXIT, true) === EXIT_CODES['gws-barrier'];
    const hasPassed = state === 'barrier' || (state === 'sleeping' && !comesBack);
    const offset = hasPassed ? next - frontEnd.waitSizeBytes : next;
    const place = { workgroup, wave: index, state };
    const groups = frontEnd.turns?.places(core, wave, offset);
    if (groups) return groups.map(({ lanes, ...each }) => ({ ...place, ...each, lanes: String(lanes) }));
    const exec = BigInt.asUintN(waveSize, own.view.getBigUint64(wave + STATE_OFFSETS.exec, true));
    return [{ ...place, offset, lanes: String(exec), note: '' }];
  });
}
