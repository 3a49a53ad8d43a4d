/**
 * For tools and tests that follow a run: each instruction before it is executed, and each access to memory.
 */
import type { RegisterFile } from '../../ir/effects.ts';
import type { Step } from '../../ir/step.ts';
import { isMaskSlot, type StateSlot } from '../../ir/types.ts';
import type { ObservedAccess, WaveIdentity } from '../code/watch.ts';
import type { Triple } from '../machine/launch.ts';
import { STATE_OFFSETS } from '../machine/layout.ts';
import { registerOffset } from '../machine/operand-places.ts';
import type { SharedState } from '../machine/state-memory.ts';

/** A wave that runs, with its registers. What is written to them, the wave goes on with. */
export class ObservedWave implements WaveIdentity {
  readonly workgroup: Triple;
  readonly index: number;
  readonly waveSize: 32 | 64;
  readonly #state: SharedState;
  readonly #base: number;

  constructor(state: SharedState, base: number, { workgroup, index, waveSize }: WaveIdentity) {
    this.workgroup = workgroup;
    this.index = index;
    this.waveSize = waveSize;
    this.#state = state;
    this.#base = base;
  }

  /** The register itself: a value for each lane, or one of the wave. */
  register(file: RegisterFile, number: number): Uint32Array {
    const operand = { kind: 'register', file, first: number, dwords: 1, isHighHalf: false } as const;
    const at = this.#base + registerOffset(operand, this.waveSize);
    return new Uint32Array(this.#state.view.buffer, at, file === 'scalar' ? 1 : this.waveSize);
  }

  state(slot: StateSlot): bigint {
    const [view, at] = [this.#state.view, this.#base + STATE_OFFSETS[slot]];
    return isMaskSlot(slot) && this.waveSize === 64 ? view.getBigUint64(at, true) : BigInt(view.getUint32(at, true));
  }

  /** Of all but MODE, which code is specialised on. */
  setState(slot: Exclude<StateSlot, 'mode'>, value: bigint): void {
    const [view, at] = [this.#state.view, this.#base + STATE_OFFSETS[slot]];
    if (isMaskSlot(slot) && this.waveSize === 64) view.setBigUint64(at, value, true);
    else view.setUint32(at, Number(BigInt.asUintN(32, value)), true);
  }
}

export interface StepObserver {
  /**
   * Whether a step is no part of the turns in which waves run: code that differs in such steps alone has one
   * schedule.
   */
  isFree?(step: Step): boolean;
  /** A wave begins; all its registers have what it begins with. */
  waveStarts?(wave: ObservedWave): void;
  /** Before a wave executes an instruction; `step.offset` is its offset in device memory. */
  beforeStep?(wave: ObservedWave, step: Step): void;
  /** Before an access of the instruction to memory. */
  access?(wave: ObservedWave, step: Step, access: ObservedAccess): void;
}
