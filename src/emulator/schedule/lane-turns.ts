/** Waves whose lanes part, and go on in turns: how long these are, and who is next. */
import type { EmulatorCore, Executor } from '../code/emulator-core.ts';
import type { TurnCause } from '../code/front-end.ts';
import { FAULT_DEADLOCK, WaveFault } from '../machine/faults.ts';
import type { Launch } from '../machine/launch.ts';
import { RECORD_SIZE_BYTES } from '../machine/layout.ts';
import type { WorkgroupSlot } from './workgroup.ts';

/**
 * Where lanes of a wave may wait for each other in a loop, a turn is a so manieth of a full one; once some of
 * a workgroup gave way, a smaller part.
 */
const SHORT_TURNS = 16;
const SHORTER_TURNS = 64;
const LEAST_INSTRUCTIONS = 64;

export class LaneTurnTaker {
  readonly #core: EmulatorCore;
  readonly #areShort: boolean;

  constructor(core: EmulatorCore, launch: Launch) {
    this.#core = core;
    this.#areShort = core.frontEnd.turns?.areShort(launch) ?? false;
  }

  /** Instructions of a wave's turn. */
  turnInstructions({ turnInstructions }: Executor, { takesTurns }: WorkgroupSlot): number {
    const share = turnInstructions / (takesTurns ? SHORTER_TURNS : this.#areShort ? SHORT_TURNS : 1);
    return Math.max(share, LEAST_INSTRUCTIONS);
  }

  /**
   * Makes the lanes active that are next; where they go on, as an address, or undefined where the wave goes
   * on as it is. `record`: the one behind where it left. Throws WaveFault where all wait for each other.
   */
  next(wave: number, record: number, cause: TurnCause): bigint | undefined {
    const next = this.#core.frontEnd.turns?.next(this.#core, wave, cause) ?? 'same';
    if (next === 'same') return undefined;
    if (next === 'deadlock') throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_DEADLOCK, -1, 0n);
    return this.#core.memory.address(next);
  }
}
