/**
 * Fills registers that are said to be dead with random values while code runs: whatever it computes does not
 * change, or they were not dead.
 */

import type { ObservedWave, StepObserver } from '../src/emulator/reference/step-observer.ts';
import { registerNumber, stateNumber } from '../src/flow/steps.ts';
import type { RegisterFile } from '../src/ir/effects.ts';
import type { Step } from '../src/ir/step.ts';
import type { LiveLanes } from '../src/isa.ts';
import { Random } from './fuzz/random.ts';

/** SGPRs, VCC and M0; trap registers belong to nobody here, and EXEC is always needed. */
const SCALARS = [...Array.from({ length: 108 }, (_, i) => i), 124];
const ROWS = 256;

/** What may be overwritten before a step. */
interface Dead {
  readonly scalars: readonly number[];
  readonly isSccDead: boolean;
  /** Rows that are dead in the active lanes alone, and those that are dead in all. */
  readonly active: readonly Row[];
  readonly all: readonly Row[];
}
type Row = readonly [file: RegisterFile, number: number];

export interface PoisonOptions {
  readonly seed: number;
  /** Registers of a kind that are filled before each instruction. */
  readonly perStep?: number;
}

export class RegisterPoison implements StepObserver {
  /** Registers that were filled. */
  filled = 0;
  readonly #liveAt: (offset: number) => LiveLanes | undefined;
  readonly #random: Random;
  readonly #perStep: number;
  readonly #dead = new Map<number, Dead | undefined>();

  /** `liveAt`: what is live before the step at an offset; undefined where that is not known. */
  constructor(liveAt: (offset: number) => LiveLanes | undefined, { seed, perStep = 4 }: PoisonOptions) {
    this.#liveAt = liveAt;
    this.#random = new Random(seed);
    this.#perStep = perStep;
  }

  beforeStep(wave: ObservedWave, { offset }: Step): void {
    if (!this.#dead.has(offset)) {
      const live = this.#liveAt(offset);
      this.#dead.set(offset, live && deadOf(live));
    }
    const dead = this.#dead.get(offset);
    if (!dead) return;
    for (const number of this.#some(dead.scalars)) wave.register('scalar', number)[0] = this.#random.next();
    if (dead.isSccDead) wave.setState('scc', BigInt(this.#random.next() & 1));
    for (const row of this.#some(dead.all)) this.#fill(wave, row, -1n);
    for (const row of this.#some(dead.active)) this.#fill(wave, row, wave.state('exec'));
  }

  #fill(wave: ObservedWave, [file, number]: Row, lanes: bigint): void {
    const register = wave.register(file, number);
    for (let lane = 0; lane < wave.waveSize; lane++) {
      if ((lanes >> BigInt(lane)) & 1n) register[lane] = this.#random.next();
    }
  }

  *#some<T>(dead: readonly T[]): Iterable<T> {
    for (let i = 0; i < this.#perStep && dead.length > 0; i++) {
      this.filled++;
      yield this.#random.pick(dead);
    }
  }
}

function deadOf({ active, inactive }: LiveLanes): Dead {
  const isLive = (live: bigint, number: number): boolean => ((live >> BigInt(number)) & 1n) === 1n;
  const rows = (['vector', 'accumulator'] as const)
    .flatMap((file) => Array.from({ length: ROWS }, (_, number): Row => [file, number]))
    .filter(([file, number]) => !isLive(active, registerNumber(file, number)));
  const isDeadElsewhere = ([file, number]: Row): boolean => !isLive(inactive, registerNumber(file, number));
  return {
    scalars: SCALARS.filter((number) => !isLive(active, registerNumber('scalar', number))),
    isSccDead: !isLive(active, stateNumber('scc')),
    active: rows.filter((row) => !isDeadElsewhere(row)),
    all: rows.filter(isDeadElsewhere),
  };
}
