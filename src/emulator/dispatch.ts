/**
 * One running kernel. Workgroups are taken in order; a wave runs until its budget is used, it ends, waits at a barrier or sleeps.
 * More workgroups become resident only while those that are cannot go on, so that workgroups that wait for each other make progress.
 */
import { WavewrightError } from '../base/errors.ts';
import { type CodeCache, MODE_REFUSED_BITS } from './code-cache.ts';
import type { Emulator } from './emulator.ts';
import { reportFault } from './fault-report.ts';
import { type EmulatorFault, FAULT_JUMP, FAULT_MODE, FAULT_TRAP, FAULT_UNTRANSLATED, WaveFault } from './faults.ts';
import { initializeWave, type Launch, type Triple, workgroupSizeAt } from './launch.ts';
import {
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  EXIT_UNTRANSLATED,
  RECORD_NEXT_PC,
  RECORD_SIZE_BYTES,
  WAVE_CLOCK,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_JUMP_PC,
  WAVE_MODE,
  WAVE_RECORD,
} from './layout.ts';
import { type Wave, type WaveState, WorkgroupSlot } from './workgroup.ts';

/** Waves that may be resident at once; hardware has a few thousand. */
const MAX_RESIDENT_WAVES = 2048;
/** Another workgroup is admitted after a workgroup used so many budgets: it may wait for one that is not resident. */
const BUDGETS_BEFORE_ADMISSION = 16;

export type DispatchState = 'running' | 'complete' | 'faulted' | 'cancelled';
/** `waiting`: every resident wave sleeps. */
export type StepResult = 'done' | 'running' | 'waiting';

export class EmulatorDispatch {
  state: DispatchState = 'running';
  fault: EmulatorFault | undefined;
  instructions = 0;
  waves = 0;
  workgroups = 0;
  readonly startTicks: bigint;
  endTicks = 0n;
  readonly #emulator: Emulator;
  readonly #launch: Launch;
  readonly #counts: Triple;
  readonly #total: number;
  #next = 0;
  readonly #resident: WorkgroupSlot[] = [];
  readonly #idle: WorkgroupSlot[] = [];
  #running: { slot: WorkgroupSlot; index: number } | undefined;

  constructor(emulator: Emulator, launch: Launch) {
    this.#emulator = emulator;
    this.#launch = launch;
    this.startTicks = emulator.clock();
    const count = (d: 0 | 1 | 2): number => Math.ceil(launch.gridSize[d] / launch.workgroupSize[d]);
    this.#counts = [count(0), count(1), count(2)];
    this.#total = this.#counts[0] * this.#counts[1] * this.#counts[2];
  }

  cancel(): void {
    if (this.state === 'running') this.#finish('cancelled');
  }

  /** Runs until `deadline` (milliseconds of performance.now), the end, or until every resident wave sleeps. */
  step(deadline: number): StepResult {
    try {
      while (this.state === 'running') {
        if (this.#resident.length === 0 && !this.#admit()) {
          this.#finish('complete');
          break;
        }
        if (!this.#round() && !this.#admit()) return 'waiting';
        if (performance.now() >= deadline) return 'running';
      }
    } catch (error) {
      if (!(error instanceof WaveFault)) {
        this.#finish('cancelled');
        throw error;
      }
      this.fault = this.#describe(error);
      this.#finish('faulted');
    }
    return 'done';
  }

  #describe(fault: WaveFault): EmulatorFault {
    const { slot, index } = this.#running!;
    const place = { workgroup: slot.id, wave: index };
    return reportFault(this.#emulator, fault, this.#cacheOf(slot.waves[index]!), place);
  }

  /** Gives every resident wave a turn; returns whether any of them did more than sleep. */
  #round(): boolean {
    let progress = false;
    for (const slot of [...this.#resident]) {
      for (const [index, wave] of slot.current().entries()) {
        if (wave.state === 'sleeping') wave.state = 'ready';
        if (wave.state !== 'ready') continue;
        this.#running = { slot, index };
        wave.state = this.#runWave(wave, slot);
        if (wave.state !== 'sleeping') progress = true;
      }
      progress = slot.releaseBarrier() || progress;
      if (slot.ended) this.#retire(slot);
      else if (slot.budgetsUsed >= BUDGETS_BEFORE_ADMISSION) {
        slot.budgetsUsed = 0;
        this.#admit();
      }
    }
    return progress;
  }

  /** Runs a wave until it leaves the executor for good or its budget is used; returns its new state. */
  #runWave(wave: Wave, slot: WorkgroupSlot): WaveState {
    const emulator = this.#emulator;
    const { view } = emulator.memory;
    const executor = emulator.executor(this.#launch.waveSize);
    view.setBigUint64(wave.base + WAVE_CLOCK, emulator.clock(), true);
    let record = view.getUint32(wave.base + WAVE_RECORD, true);
    let budget = executor.turnInstructions;
    for (;;) {
      const left = executor.run(record, wave.base, budget);
      this.instructions += budget - left;
      budget = left;
      record = view.getUint32(wave.base + WAVE_RECORD, true);
      switch (view.getUint32(wave.base + WAVE_EXIT, true)) {
        case EXIT_BUDGET:
          slot.budgetsUsed++;
          return 'ready';
        case EXIT_CODES.end:
          return 'ended';
        case EXIT_CODES.barrier:
          return 'barrier';
        case EXIT_CODES.sleep:
          return 'sleeping';
        case EXIT_CODES.interrupt:
          break;
        case EXIT_JUMP:
          record = this.#jump(wave, record);
          break;
        case EXIT_MODE:
          record = this.#switchMode(wave, record);
          break;
        case EXIT_UNTRANSLATED:
          throw new WaveFault(record, FAULT_UNTRANSLATED, -1, 0n);
        default:
          throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_TRAP, -1, 0n);
      }
      if (budget <= 0) budget = 1;
    }
  }

  #jump(wave: Wave, record: number): number {
    const { memory } = this.#emulator;
    const pc = memory.view.getBigUint64(wave.base + WAVE_JUMP_PC, true);
    const offset = memory.offset(pc);
    if (offset === undefined || !memory.find(offset))
      throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_JUMP, -1, pc);
    return this.#cacheOf(wave).jumpTarget(offset);
  }

  #switchMode(wave: Wave, record: number): number {
    const { view } = this.#emulator.memory;
    const mode = view.getUint32(wave.base + WAVE_MODE, true);
    if (mode & MODE_REFUSED_BITS) throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_MODE, -1, BigInt(mode));
    const offset = view.getUint32(record - RECORD_SIZE_BYTES + RECORD_NEXT_PC, true);
    const cache = this.#cacheOf(wave);
    this.#emulator.memory.view.setUint32(wave.base + WAVE_JUMP_CACHE, cache.jumpCache, true);
    return cache.record(offset);
  }

  #cacheOf(wave: Wave): CodeCache {
    return this.#emulator.codeCache(
      this.#launch.waveSize,
      this.#emulator.memory.view.getUint32(wave.base + WAVE_MODE, true),
    );
  }

  /** Makes the next workgroup resident; false when there is none or no room. */
  #admit(): boolean {
    if (this.#next >= this.#total) return false;
    const slot = this.#idle.pop() ?? this.#newSlot();
    if (!slot) return false;
    this.#start(slot);
    this.#resident.push(slot);
    return true;
  }

  /** Undefined when there is no room; the first workgroup of a launch must fit. */
  #newSlot(): WorkgroupSlot | undefined {
    const resident = this.#resident.reduce((sum, slot) => sum + slot.waves.length, 0);
    if (resident >= MAX_RESIDENT_WAVES) return undefined;
    try {
      return new WorkgroupSlot(this.#emulator.memory, this.#launch);
    } catch (error) {
      if (resident > 0 && error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return undefined;
      throw error;
    }
  }

  #start(slot: WorkgroupSlot): void {
    const launch = this.#launch;
    const { memory, target } = this.#emulator;
    const index = this.#next++;
    const [nx, ny] = this.#counts;
    const id: Triple = [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
    const size = workgroupSizeAt(launch, id);
    const cache = this.#emulator.codeCache(launch.waveSize, launch.mode);
    const start = { record: cache.record(launch.entry), jumpCache: cache.jumpCache };
    slot.id = id;
    slot.budgetsUsed = 0;
    slot.waveCount = Math.ceil((size[0] * size[1] * size[2]) / launch.waveSize);
    slot.clearLds();
    for (const [i, wave] of slot.current().entries()) {
      const place = { wave: wave.base, ldsBase: slot.ldsBase, privateBase: wave.privateBase };
      initializeWave(memory, target, launch, place, id, size, i, start);
      wave.state = 'ready';
    }
    this.workgroups++;
    this.waves += slot.waveCount;
  }

  /** The workgroup ended: its slot takes the next one, or is kept for later. */
  #retire(slot: WorkgroupSlot): void {
    if (this.#next < this.#total) this.#start(slot);
    else {
      this.#resident.splice(this.#resident.indexOf(slot), 1);
      this.#idle.push(slot);
    }
  }

  #finish(state: DispatchState): void {
    this.state = state;
    this.endTicks = this.#emulator.clock();
    for (const slot of [...this.#resident.splice(0), ...this.#idle.splice(0)]) slot.release();
  }

  /** One line for each resident wave: where it is and what it does. */
  describeWaves(): string[] {
    return this.#resident.flatMap((slot) =>
      slot.current().flatMap((wave, index) => {
        if (wave.state === 'ended') return [];
        const record = this.#emulator.memory.view.getUint32(wave.base + WAVE_RECORD, true);
        const where = this.#emulator.describeRecord(this.#cacheOf(wave), record);
        return [`workgroup (${slot.id.join(', ')}) wave ${index}: ${wave.state} at ${where}`];
      }),
    );
  }
}
