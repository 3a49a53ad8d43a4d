/**
 * Barriers by a number, to which some waves of a workgroup come: as many as their count of threads says, or
 * all that have not ended. Some only arrive, and do not wait. What a wave asks for stands in WAVE_REQUEST
 * (PTX's rows write it, ptx/rows/control.ts): the number in the high byte, in the low half the count, 0 for
 * all, and between them whether it only arrives.
 */
import type { EmulatorCore } from '../code/emulator-core.ts';
import { pcOf } from '../code/record-pc.ts';
import { FAULT_BARRIER, FAULT_DEADLOCK, WaveFault } from '../machine/faults.ts';
import { GROUP, type WaveState } from '../machine/group-layout.ts';
import { RECORD_SIZE_BYTES, WAVE_JUMP_PC, WAVE_MODE, WAVE_REQUEST } from '../machine/layout.ts';
import type { WorkgroupSlot } from './workgroup.ts';

const NUMBER_SHIFT = 24;
const MAX_NUMBER = 15;
const ARRIVES = 0x1_0000;
const COUNT_MASK = 0xffff;

export const barrierRequest = (
  request: number,
): { readonly number: number; readonly count: number; readonly arrives: boolean } => ({
  number: request >>> NUMBER_SHIFT,
  count: request & COUNT_MASK,
  arrives: (request & ARRIVES) !== 0,
});

/** Waves that came to a barrier since it was passed last. */
interface Round {
  /** Threads; 0 while nobody said how many. */
  count: number;
  readonly arrived: number[];
  readonly waiting: number[];
}

/** Of the workgroups that one thread runs. */
export class NamedBarriers {
  readonly #core: EmulatorCore;
  /** By slot: the runner begins further workgroups there, which `workgroup` tells. */
  readonly #slots = new Map<WorkgroupSlot, { readonly workgroup: string; readonly rounds: Map<number, Round> }>();

  constructor(core: EmulatorCore) {
    this.#core = core;
  }

  /** A wave comes to a barrier; `record`: the one behind its instruction. Throws WaveFault. */
  arrive(slot: WorkgroupSlot, wave: number, record: number): WaveState {
    const { state } = this.#core;
    const { base } = slot.waves[wave]!;
    const request = state.view.getUint32(base + WAVE_REQUEST, true);
    const { number, count, arrives } = barrierRequest(request);
    const rounds = this.#rounds(slot);
    const round = rounds.get(number) ?? { count, arrived: [], waiting: [] };
    const isOther = count !== 0 && round.count !== 0 && count !== round.count;
    if (number > MAX_NUMBER || count % slot.waveSize !== 0 || (arrives && count === 0) || isOther) {
      throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_BARRIER, -1, BigInt(request));
    }
    round.count ||= count;
    round.arrived.push(wave);
    rounds.set(number, round);
    if (this.#passes(slot, number, round) || arrives) return 'ready';
    round.waiting.push(wave);
    state.view.setBigUint64(base + WAVE_JUMP_PC, BigInt(pcOf(state, record - RECORD_SIZE_BYTES)), true);
    return 'named';
  }

  /**
   * No wave is ready: whether some are now, since all came that have not ended. Throws WaveFault where none
   * ever will be.
   */
  goesOn(slot: WorkgroupSlot): boolean {
    if (!this.#slots.has(slot)) return false;
    const { states } = slot;
    const wave = states.indexOf('named');
    if (wave < 0) return false;
    for (const [number, round] of this.#rounds(slot)) if (this.#passes(slot, number, round)) return true;
    if (states.some((each) => each === 'ready' || each === 'spent' || each === 'sleeping')) return false;
    slot.set(GROUP.current, wave);
    const { view } = this.#core.state;
    const { base } = slot.waves[wave]!;
    const cache = this.#core.codeCache(slot.waveSize, view.getUint32(base + WAVE_MODE, true));
    const record = cache.record(Number(view.getBigUint64(base + WAVE_JUMP_PC, true)));
    throw new WaveFault(record, FAULT_DEADLOCK, -1, 0n);
  }

  #rounds(slot: WorkgroupSlot): Map<number, Round> {
    const workgroup = slot.id.join(' ');
    const known = this.#slots.get(slot);
    if (known?.workgroup === workgroup) return known.rounds;
    const rounds = new Map<number, Round>();
    this.#slots.set(slot, { workgroup, rounds });
    return rounds;
  }

  /** Lets those go on that wait, once all have come. */
  #passes(slot: WorkgroupSlot, number: number, { count, arrived, waiting }: Round): boolean {
    const isComplete =
      count === 0
        ? slot.states.every((state, wave) => state === 'ended' || arrived.includes(wave))
        : arrived.length * slot.waveSize >= count;
    if (!isComplete) return false;
    for (const wave of waiting) slot.setState(wave, 'ready');
    this.#rounds(slot).delete(number);
    return true;
  }
}
