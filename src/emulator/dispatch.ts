/**
 * One running kernel. Workgroups are taken in order; a wave runs until its budget is used, it ends, waits at a barrier or sleeps.
 * More workgroups become resident only while those that are cannot go on, so that workgroups that wait for each other make progress.
 */
import { WavewrightError } from '../base/errors.ts';
import { type CodeCache, MODE_REFUSED_BITS } from './code-cache.ts';
import type { Emulator, Executor } from './emulator.ts';
import { reportFault } from './fault-report.ts';
import { type EmulatorFault, FAULT_JUMP, FAULT_MODE, FAULT_TRAP, FAULT_UNTRANSLATED, WaveFault } from './faults.ts';
import type { WaveState } from './group-layout.ts';
import { initializeWave, type Launch, type Triple, workgroupSizeAt } from './launch.ts';
import {
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  EXIT_UNTRANSLATED,
  RECORD_NEXT_PC,
  RECORD_SIZE_BYTES,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_JUMP_PC,
  WAVE_MODE,
  WAVE_RECORD,
} from './layout.ts';
import { type Wave, WorkgroupSlot } from './workgroup.ts';

/** Waves that may be resident at once; hardware has a few thousand. */
const MAX_RESIDENT_WAVES = 2048;
/** Another workgroup is admitted after a workgroup used so many budgets: it may wait for one that is not resident. */
const BUDGETS_BEFORE_ADMISSION = 16;

export type DispatchState = 'running' | 'complete' | 'faulted' | 'cancelled';
/** `waiting`: every resident wave sleeps. */
export type StepResult = 'done' | 'running' | 'waiting';

/**
 * Wave-instructions by what ran them: the reference executor, handlers (T0), compiled regions (T1) and loops compiled as a whole (T2).
 * Compiled code calls no handlers.
 */
export type TierInstructions = Record<'reference' | 'handlers' | 'regions' | 'loops', number>;

export class EmulatorDispatch {
  state: DispatchState = 'running';
  fault: EmulatorFault | undefined;
  instructions = 0;
  readonly tiers: TierInstructions = { reference: 0, handlers: 0, regions: 0, loops: 0 };
  waves = 0;
  workgroups = 0;
  readonly startTicks: bigint;
  endTicks = 0n;
  readonly #emulator: Emulator;
  readonly #launch: Launch;
  readonly #counts: Triple;
  /** Workgroups in each dimension that the edge of the grid does not cut. */
  readonly #full: Triple;
  readonly #total: number;
  #next = 0;
  readonly #resident: WorkgroupSlot[] = [];
  readonly #idle: WorkgroupSlot[] = [];
  readonly #executor: Executor;
  #running: WorkgroupSlot | undefined;

  constructor(emulator: Emulator, launch: Launch) {
    this.#emulator = emulator;
    this.#launch = launch;
    this.#executor = emulator.executor(launch.waveSize);
    this.startTicks = emulator.clock();
    const count = (d: 0 | 1 | 2): number => Math.ceil(launch.gridSize[d] / launch.workgroupSize[d]);
    this.#counts = [count(0), count(1), count(2)];
    const full = (d: 0 | 1 | 2): number => Math.floor(launch.gridSize[d] / launch.workgroupSize[d]);
    this.#full = [full(0), full(1), full(2)];
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
    const slot = this.#running!;
    const index = slot.get('current');
    const wave = slot.waves[index]!;
    const first = this.#executor.firstFault?.(fault, wave.base) ?? fault;
    return reportFault(this.#emulator, first, this.#cacheOf(wave), { workgroup: slot.id, wave: index });
  }

  /** Gives every resident workgroup a turn; returns whether any of its waves did more than sleep. */
  #round(): boolean {
    let progress = false;
    for (const slot of [...this.#resident]) {
      for (let index = 0; index < slot.waveCount; index++) {
        const state = slot.stateOf(index);
        if (state === 'sleeping' || state === 'spent') slot.setState(index, 'ready');
      }
      progress = this.#runSlot(slot) || progress;
      if (slot.ended) this.#retire(slot);
      else if (slot.budgetsUsed >= BUDGETS_BEFORE_ADMISSION) {
        slot.budgetsUsed = 0;
        this.#admit();
      }
    }
    return progress;
  }

  /** Runs the waves of a slot until none is ready or its turn is over. */
  #runSlot(slot: WorkgroupSlot): boolean {
    const executor = this.#executor;
    this.#running = slot;
    let progress = false;
    slot.set('turn', executor.turnInstructions);
    slot.set('limit', executor.sliceInstructions);
    slot.set('used', 0);
    slot.set('events', 0);
    slot.set('compiled', 0);
    slot.set('looped', 0);
    slot.set('started', 0);
    slot.set('remaining', slot.hasTemplates ? this.#total - this.#next : 0);
    if (slot.hasTemplates) slot.setTriple('next', this.#idOf(this.#next));
    try {
      for (;;) {
        const index = executor.runGroup(slot.group, this.#emulator.clock());
        if (index < 0) break;
        const state = this.#afterExit(slot, slot.waves[index]!);
        slot.setState(index, state);
        if (state !== 'sleeping') progress = true;
        if (slot.get('used') >= slot.get('limit')) break;
      }
    } finally {
      const started = slot.get('started');
      this.#count(slot);
      this.#next += started;
      this.workgroups += started;
      this.waves += started * slot.get('fullCount');
    }
    return progress || slot.get('events') > 0;
  }

  #count(slot: WorkgroupSlot): void {
    const [used, compiled, looped] = [slot.get('used'), slot.get('compiled'), slot.get('looped')];
    this.instructions += used;
    this.tiers[this.#executor.tier] += used - compiled;
    this.tiers.regions += compiled - looped;
    this.tiers.loops += looped;
  }

  /** Looks at why a wave left the executor; returns its new state. */
  #afterExit(slot: WorkgroupSlot, wave: Wave): WaveState {
    const { view } = this.#emulator.memory;
    const record = view.getUint32(wave.base + WAVE_RECORD, true);
    const goOn = (next: number): WaveState => {
      view.setUint32(wave.base + WAVE_RECORD, next, true);
      return 'ready';
    };
    switch (view.getUint32(wave.base + WAVE_EXIT, true)) {
      case EXIT_BUDGET:
        slot.budgetsUsed++;
        return 'spent';
      case EXIT_CODES.sleep:
        return 'sleeping';
      case EXIT_CODES.interrupt:
        return 'ready';
      case EXIT_JUMP:
        return goOn(this.#jump(wave, record));
      case EXIT_MODE:
        return goOn(this.#switchMode(wave, record));
      case EXIT_UNTRANSLATED:
        throw new WaveFault(record, FAULT_UNTRANSLATED, -1, 0n);
      default:
        if (this.#executor.resume?.(wave.base)) return 'ready';
        throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_TRAP, -1, 0n);
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

  #idOf(index: number): Triple {
    const [nx, ny] = this.#counts;
    return [index % nx, Math.floor(index / nx) % ny, Math.floor(index / (nx * ny))];
  }

  #start(slot: WorkgroupSlot): void {
    const launch = this.#launch;
    const { memory, target } = this.#emulator;
    const id = this.#idOf(this.#next++);
    const size = workgroupSizeAt(launch, id);
    const cache = this.#emulator.codeCache(launch.waveSize, launch.mode);
    const start = { record: cache.record(launch.entry), jumpCache: cache.jumpCache };
    const count = Math.ceil((size[0] * size[1] * size[2]) / launch.waveSize);
    slot.setTriple('id', id);
    slot.setTriple('count', this.#counts);
    slot.setTriple('full', this.#full);
    slot.set('count', count);
    slot.set('live', count);
    slot.budgetsUsed = 0;
    slot.clearLds();
    for (let i = 0; i < count; i++) {
      const wave = slot.waves[i]!;
      const place = { wave: wave.base, ldsBase: slot.ldsBase, privateBase: wave.privateBase };
      initializeWave(memory, target, launch, place, id, size, i, start);
      slot.setState(i, 'ready');
    }
    const isFull = id.every((position, d) => position < this.#full[d]!);
    if (isFull && !slot.hasTemplates && this.#next < this.#total) slot.saveTemplates();
    this.workgroups++;
    this.waves += count;
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
      slot.waves.slice(0, slot.waveCount).flatMap((wave, index) => {
        const state = slot.stateOf(index);
        if (state === 'ended') return [];
        const record = this.#emulator.memory.view.getUint32(wave.base + WAVE_RECORD, true);
        const where = this.#emulator.describeRecord(this.#cacheOf(wave), record);
        return [`workgroup (${slot.id.join(', ')}) wave ${index}: ${state === 'spent' ? 'ready' : state} at ${where}`];
      }),
    );
  }
}
