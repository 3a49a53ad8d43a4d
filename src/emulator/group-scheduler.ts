/**
 * Runs workgroups of one launch on one thread. Workgroups are taken in order; a wave runs until its budget is used, it ends, waits at a
 * barrier or sleeps. More workgroups become resident only while those that are cannot go on, so that workgroups that wait for each other make
 * progress.
 */
import { WavewrightError } from '../base/errors.ts';
import { type CodeCache, MODE_REFUSED_BITS } from './code-cache.ts';
import type { EmulatorCore, Executor } from './emulator-core.ts';
import { FAULT_JUMP, FAULT_MODE, FAULT_TRAP, FAULT_UNTRANSLATED, WaveFault } from './faults.ts';
import type { WaveState } from './group-layout.ts';
import { type Grid, initializeWave, type Launch, workgroupSizeAt } from './launch.ts';
import {
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_JUMP,
  EXIT_MODE,
  EXIT_UNTRANSLATED,
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

/** The first slice is a so manieth of a full one. */
const FIRST_SLICES = 16;

/** Workgroups from `first` on and before `end`, in the order of the grid. */
export interface WorkgroupRange {
  readonly first: number;
  readonly end: number;
}

/** Where a thread finds further workgroups that no other thread begins. */
export interface WorkgroupClaims {
  /** How many no thread has taken yet. */
  readonly left: number;
  /** Takes up to `count`; the range is empty when none are left. */
  take(count: number): WorkgroupRange;
}

/** `waiting`: every resident wave sleeps; `done`: no workgroup is left for this thread. */
export type TurnResult = 'done' | 'running' | 'waiting';

/**
 * Wave-instructions by what ran them: the reference executor, handlers (T0), compiled regions (T1) and loops compiled as a whole (T2).
 * Compiled code calls no handlers.
 */
export type TierInstructions = Record<'reference' | 'handlers' | 'regions' | 'loops', number>;

export class GroupScheduler {
  instructions = 0;
  readonly tiers: TierInstructions = { reference: 0, handlers: 0, regions: 0, loops: 0 };
  waves = 0;
  workgroups = 0;
  readonly #core: EmulatorCore;
  readonly #launch: Launch;
  readonly #grid: Grid;
  readonly #executor: Executor;
  #next: number;
  #end: number;
  #claims: WorkgroupClaims | undefined;
  readonly #resident: WorkgroupSlot[] = [];
  readonly #idle: WorkgroupSlot[] = [];
  #running: WorkgroupSlot | undefined;
  /** Instructions after which the host has its turn: few at first, so that workers join soon. */
  #slice: number;

  /** Runs a range of workgroups, and those that it can claim. */
  constructor(
    core: EmulatorCore,
    launch: Launch,
    grid: Grid,
    { first, end }: WorkgroupRange,
    claims?: WorkgroupClaims,
  ) {
    this.#core = core;
    this.#launch = launch;
    this.#grid = grid;
    this.#executor = core.executor(launch.waveSize);
    this.#slice = Math.floor(this.#executor.sliceInstructions / FIRST_SLICES);
    this.#next = first;
    this.#end = end;
    this.#claims = claims;
  }

  get resident(): readonly WorkgroupSlot[] {
    return this.#resident;
  }

  /** Workgroups of its range that it has not begun. */
  get left(): number {
    return this.#end - this.#next;
  }

  /** Gives the workgroups that it has not begun away, to take them from `claims` as others do. */
  share(open: (range: WorkgroupRange) => WorkgroupClaims | undefined): void {
    const claims = open({ first: this.#next, end: this.#end });
    if (!claims) return;
    this.#claims = claims;
    this.#end = this.#next;
  }

  /** Gives every resident workgroup a turn. Throws WaveFault; `faulted` says where. */
  turn(): TurnResult {
    if (this.#resident.length === 0 && !this.#admit()) return 'done';
    return this.#round() || this.#admit() ? 'running' : 'waiting';
  }

  /** The wave that threw, and what it threw; or an earlier instruction's fault. */
  faulted(thrown: WaveFault): { readonly fault: WaveFault; readonly slot: WorkgroupSlot; readonly wave: number } {
    const slot = this.#running!;
    const wave = slot.get('current');
    return { fault: this.#executor.firstFault?.(thrown, slot.waves[wave]!.base) ?? thrown, slot, wave };
  }

  /** Gives back the memory of all workgroups. */
  release(): void {
    for (const slot of [...this.#resident.splice(0), ...this.#idle.splice(0)]) slot.release();
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
    slot.set('limit', this.#slice);
    this.#slice = Math.min(2 * this.#slice, executor.sliceInstructions);
    slot.set('used', 0);
    slot.set('events', 0);
    slot.set('compiled', 0);
    slot.set('looped', 0);
    slot.set('started', 0);
    slot.set('remaining', slot.hasTemplates ? this.#end - this.#next : 0);
    if (slot.hasTemplates) slot.setTriple('next', this.#grid.idOf(this.#next));
    try {
      for (;;) {
        const index = executor.runGroup(slot.group, this.#core.clock());
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
    const { view } = this.#core.memory;
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
    const { memory } = this.#core;
    const pc = memory.view.getBigUint64(wave.base + WAVE_JUMP_PC, true);
    const offset = memory.offset(pc);
    if (offset === undefined || !memory.find(offset))
      throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_JUMP, -1, pc);
    return this.#cacheOf(wave).jumpTarget(offset);
  }

  #switchMode(wave: Wave, record: number): number {
    const { view } = this.#core.memory;
    const mode = view.getUint32(wave.base + WAVE_MODE, true);
    if (mode & MODE_REFUSED_BITS) throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_MODE, -1, BigInt(mode));
    const cache = this.#cacheOf(wave);
    this.#core.memory.view.setUint32(wave.base + WAVE_JUMP_CACHE, cache.jumpCache, true);
    return cache.afterModeChange(record - RECORD_SIZE_BYTES, mode);
  }

  #cacheOf(wave: Wave): CodeCache {
    return this.#core.codeCache(this.#launch.waveSize, this.#core.memory.view.getUint32(wave.base + WAVE_MODE, true));
  }

  /** Makes the next workgroup resident; false when there is none or no room. */
  #admit(): boolean {
    if (this.#next >= this.#end && !this.#claims?.left) return false;
    const slot = this.#idle.pop() ?? this.#newSlot();
    if (!slot) return false;
    if (!this.#hasNext()) {
      this.#idle.push(slot);
      return false;
    }
    this.#start(slot);
    this.#resident.push(slot);
    return true;
  }

  /** Whether there is a next workgroup for this thread; takes some when it has none. */
  #hasNext(): boolean {
    if (this.#next < this.#end) return true;
    if (!this.#claims) return false;
    // About as many as run before the host has its turn.
    const average = this.instructions / this.workgroups;
    const { first, end } = this.#claims.take(Math.max(1, Math.floor(this.#executor.sliceInstructions / average) || 1));
    this.#next = first;
    this.#end = end;
    return first < end;
  }

  /** Undefined when there is no room; the first workgroup of a launch must fit. */
  #newSlot(): WorkgroupSlot | undefined {
    const resident = this.#resident.reduce((sum, slot) => sum + slot.waves.length, 0);
    if (resident >= MAX_RESIDENT_WAVES) return undefined;
    try {
      return new WorkgroupSlot(this.#core.memory, this.#launch);
    } catch (error) {
      if (resident > 0 && error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return undefined;
      throw error;
    }
  }

  #start(slot: WorkgroupSlot): void {
    const launch = this.#launch;
    const { memory, target } = this.#core;
    const id = this.#grid.idOf(this.#next++);
    const size = workgroupSizeAt(launch, id);
    const cache = this.#core.codeCache(launch.waveSize, launch.mode);
    const start = { record: cache.record(launch.entry), jumpCache: cache.jumpCache };
    const count = Math.ceil((size[0] * size[1] * size[2]) / launch.waveSize);
    slot.setTriple('id', id);
    slot.setTriple('count', this.#grid.counts);
    slot.setTriple('full', this.#grid.full);
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
    const isFull = id.every((position, d) => position < this.#grid.full[d]!);
    if (isFull && !slot.hasTemplates && (this.#next < this.#end || this.#claims)) slot.saveTemplates();
    this.workgroups++;
    this.waves += count;
  }

  /** The workgroup ended: its slot takes the next one, or is kept for later. */
  #retire(slot: WorkgroupSlot): void {
    if (this.#hasNext()) this.#start(slot);
    else {
      this.#resident.splice(this.#resident.indexOf(slot), 1);
      this.#idle.push(slot);
    }
  }
}
