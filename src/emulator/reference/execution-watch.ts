/** What the emulator's user asked to be looked at: his own observer, and the check of waits. */
import type { Machine } from '../../ir/evaluate.ts';
import type { Step } from '../../ir/step.ts';
import type { ObservedAccess, Watch, WatchedMachine, WaveIdentity } from '../code/watch.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { ObservedWave, type StepObserver } from './step-observer.ts';
import { type MissedWait, WaitCheck, type WaitCheckOptions } from './wait-check.ts';

/** Of an emulator whose executor is the reference. */
export interface WatchOptions {
  /** Is told of each instruction before it is executed, and of each access to memory. */
  readonly observer?: StepObserver;
  /** Whether waits are checked that code needs, and how. */
  readonly checkWaits?: WaitCheckOptions;
  /** Is told of each wait that is missing; once, however often it is missed. */
  readonly onMissedWait?: (missing: MissedWait) => void;
}

export class ExecutionWatch implements Watch {
  readonly #state: SharedState;
  readonly #observer: StepObserver;
  readonly #waits: WaitCheck | undefined;
  readonly #waves = new Map<number, ObservedWave>();
  #step: Step | undefined;

  constructor(state: SharedState, { observer = {}, checkWaits, onMissedWait = () => undefined }: WatchOptions) {
    this.#state = state;
    this.#observer = observer;
    this.#waits = checkWaits && new WaitCheck(state, checkWaits, onMissedWait);
  }

  waveStarts(base: number, identity: WaveIdentity): void {
    const wave = new ObservedWave(this.#state, base, identity);
    this.#waves.set(base, wave);
    this.#waits?.waveStarts(base, identity);
    this.#observer.waveStarts?.(wave);
  }

  execute(base: number, step: Step, machine: WatchedMachine, evaluate: (machine: Machine) => void): void {
    this.#step = step;
    if (this.#waits) this.#waits.execute(base, step, machine, evaluate);
    else evaluate(machine);
  }

  isFree(step: Step): boolean {
    return this.#observer.isFree?.(step) ?? false;
  }

  beforeStep(base: number, step: Step): void {
    this.#observer.beforeStep?.(this.#waves.get(base)!, step);
  }

  accessed(base: number, access: ObservedAccess): void {
    this.#waits?.accessed(base, access);
    this.#observer.access?.(this.#waves.get(base)!, this.#step!, access);
  }
}
