/** One running kernel: what came of it, and where its waves are. */
import type { CodeCache } from './code-cache.ts';
import type { Emulator } from './emulator.ts';
import { reportFault } from './fault-report.ts';
import { type EmulatorFault, WaveFault } from './faults.ts';
import { GroupScheduler, type TierInstructions, type TurnResult } from './group-scheduler.ts';
import { Grid, type Launch } from './launch.ts';
import { WAVE_MODE, WAVE_RECORD } from './layout.ts';

export type DispatchState = 'running' | 'complete' | 'faulted' | 'cancelled';
/** `waiting`: every resident wave sleeps. */
export type StepResult = TurnResult;

export class EmulatorDispatch {
  state: DispatchState = 'running';
  fault: EmulatorFault | undefined;
  readonly startTicks: bigint;
  endTicks = 0n;
  readonly #emulator: Emulator;
  readonly #launch: Launch;
  readonly #scheduler: GroupScheduler;

  constructor(emulator: Emulator, launch: Launch) {
    this.#emulator = emulator;
    this.#launch = launch;
    const grid = new Grid(launch);
    this.#scheduler = new GroupScheduler(emulator, launch, grid, { first: 0, end: grid.total });
    this.startTicks = emulator.clock();
  }

  get instructions(): number {
    return this.#scheduler.instructions;
  }

  get tiers(): TierInstructions {
    return this.#scheduler.tiers;
  }

  get waves(): number {
    return this.#scheduler.waves;
  }

  get workgroups(): number {
    return this.#scheduler.workgroups;
  }

  cancel(): void {
    if (this.state === 'running') this.#finish('cancelled');
  }

  /** Runs until `deadline` (milliseconds of performance.now), the end, or until every resident wave sleeps. */
  step(deadline: number): StepResult {
    try {
      while (this.state === 'running') {
        const turn = this.#scheduler.turn();
        if (turn === 'done') this.#finish('complete');
        else if (turn === 'waiting' || performance.now() >= deadline) return turn;
      }
    } catch (error) {
      if (!(error instanceof WaveFault)) {
        this.#finish('cancelled');
        throw error;
      }
      const { fault, slot, wave } = this.#scheduler.faulted(error);
      const cache = this.#cacheOf(slot.waves[wave]!.base);
      this.fault = reportFault(this.#emulator, fault, cache, { workgroup: slot.id, wave });
      this.#finish('faulted');
    }
    return 'done';
  }

  #cacheOf(wave: number): CodeCache {
    return this.#emulator.codeCache(
      this.#launch.waveSize,
      this.#emulator.memory.view.getUint32(wave + WAVE_MODE, true),
    );
  }

  #finish(state: DispatchState): void {
    this.state = state;
    this.endTicks = this.#emulator.clock();
    this.#scheduler.release();
  }

  /** One line for each resident wave: where it is and what it does. */
  describeWaves(): string[] {
    return this.#scheduler.resident.flatMap((slot) =>
      slot.waves.slice(0, slot.waveCount).flatMap((wave, index) => {
        const state = slot.stateOf(index);
        if (state === 'ended') return [];
        const record = this.#emulator.memory.view.getUint32(wave.base + WAVE_RECORD, true);
        const where = this.#emulator.describeRecord(this.#cacheOf(wave.base), record);
        return [`workgroup (${slot.id.join(', ')}) wave ${index}: ${state === 'spent' ? 'ready' : state} at ${where}`];
      }),
    );
  }
}
