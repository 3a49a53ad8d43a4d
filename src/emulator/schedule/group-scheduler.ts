/**
 * Runs workgroups of one launch on one thread. Workgroups are taken in order; a wave runs until its budget is
 * used, it ends, waits at a barrier or sleeps. More workgroups become resident only while those that are
 * cannot go on though the host had its turn, or run much longer than those that ended, so that workgroups
 * that wait for each other make progress; then a long one that ends is not replaced until they are few again.
 * So few are resident at a time: their memory stays in the caches, and what they share (an allocator's slabs,
 * locks) stays small.
 */
import { WavewrightError } from '../../base/errors.ts';
import type { CodeCache } from '../code/code-cache.ts';
import type { Executor, RecordHolder } from '../code/emulator-core.ts';
import type { TurnCause } from '../code/front-end.ts';
import type { ExecutionCounts } from '../code/pc-counter.ts';
import { pcOf } from '../code/record-pc.ts';
import type { DispatchTrace } from '../code/wave-tracer.ts';
import { FAULT_JUMP, FAULT_MODE, FAULT_TRAP, FAULT_UNTRANSLATED, WaveFault } from '../machine/faults.ts';
import { GROUP, type WaveState } from '../machine/group-layout.ts';
import { type Grid, type Launch, workgroupSizeAt } from '../machine/launch.ts';
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
  WAVE_SERIES,
} from '../machine/layout.ts';
import { DetailedCounts } from './detailed-counts.ts';
import { GlobalSyncTaker } from './global-wave-sync.ts';
import type { ClassInstructions, TierCounts } from './instruction-counts.ts';
import { leaveSlot, type SchedulingCore, takeSlot } from './kept-slots.ts';
import { LaneTurnTaker } from './lane-turns.ts';
import { NamedBarriers } from './named-barriers.ts';
import { startWave } from './start-wave.ts';
import type { Wave, WorkgroupSlot } from './workgroup.ts';
import type { WorkgroupClaims, WorkgroupRange } from './workgroup-claims.ts';

/** Waves that may be resident at once; hardware has a few thousand. */
const MAX_RESIDENT_WAVES = 2048;
/**
 * When a workgroup has used as many turns as this, and no workgroup has ended meanwhile, another one is
 * admitted: the first may wait for one that is not resident.
 */
const TURNS_BEFORE_ADMISSION = 16;
/**
 * Where workgroups are long by themselves, another one is admitted only after this many times what one of
 * them takes on average, but after MAX_LONGER times the turns above at the latest.
 */
const AVERAGES_BEFORE_ADMISSION = 2;
const MAX_LONGER = 8;
/** A long workgroup that ends is replaced only while no more than this many are resident. */
const LONG_RESIDENT = 4;
/**
 * When all waves have slept in so many rounds in a row, with turns of the host in between, as many workgroups
 * as are resident are admitted. An allocator looks 128 times at a word before it goes on without it.
 */
const STALLS_BEFORE_ADMISSION = 256;
/** A wave that sleeps before it ran so many instructions waits; loops that look at a word take 10 to 30. */
const WAITING_INSTRUCTIONS = 64;

/** A slice of an executor takes about so long. */
const SLICE_MS = 5;
/** The first slice is a so manieth of a full one; in shorter ones waves have shorter turns. */
const FIRST_SLICES = 16;

/**
 * `asleep`: every resident wave sleeps, and has done something before that the host may have to answer;
 * `stalled`: every one only looked whether it may go on, and sleeps again, and workgroups are left that
 * become resident if that lasts; `waiting`: the same, but none are left; `done`: no workgroup is left for
 * this thread.
 */
export type TurnResult = 'done' | 'running' | 'asleep' | 'stalled' | 'waiting';

/**
 * What waves did in a turn. `awake`: one did not end it asleep; `asleep`: all did, after some work; `waited`:
 * all did, after they had only looked (WAITING_INSTRUCTIONS).
 */
type RoundResult = 'awake' | 'asleep' | 'waited';

export class GroupScheduler implements RecordHolder {
  instructions = 0;
  readonly tiers: TierCounts = { reference: 0, handlers: 0, regions: 0, loops: 0 };
  waves = 0;
  workgroups = 0;
  readonly #core: SchedulingCore;
  readonly #launch: Launch;
  readonly #grid: Grid;
  readonly #executor: Executor;
  readonly #detailed: DetailedCounts;
  readonly #turns: LaneTurnTaker;
  #next: number;
  #end: number;
  #claims: WorkgroupClaims | undefined;
  readonly #resident: WorkgroupSlot[] = [];
  readonly #idle: WorkgroupSlot[] = [];
  #running: WorkgroupSlot | undefined;
  /**
   * Workgroups that ended, without those that the runner began and ended by itself, and their instructions.
   */
  #ended = 0;
  #endedInstructions = 0;
  /** Of the current round: those that have not had their turn, the next one last, and what the others did. */
  #waiting: WorkgroupSlot[] = [];
  #round: RoundResult = 'waited';
  /** Rounds in a row in which all waves slept. */
  #stalls = 0;
  /** Made for the first wave that asks for it, as few do. */
  #sync: GlobalSyncTaker | undefined;
  #barriers: NamedBarriers | undefined;
  /** Instructions after which the host has its turn: few at first, so that workers join soon. */
  #slice: number;

  /** Runs a range of workgroups, and those that it can claim. */
  constructor(
    core: SchedulingCore,
    launch: Launch,
    grid: Grid,
    { first, end }: WorkgroupRange,
    claims?: WorkgroupClaims,
  ) {
    this.#core = core;
    this.#launch = launch;
    this.#grid = grid;
    this.#executor = core.executor(launch.waveSize);
    this.#detailed = new DetailedCounts(core, launch.waveSize);
    this.#slice = Math.floor(this.#executor.sliceInstructions / FIRST_SLICES);
    this.#turns = new LaneTurnTaker(core, launch);
    this.#next = first;
    this.#end = end;
    this.#claims = claims;
    core.addHolder(this);
  }

  get #globalSync(): GlobalSyncTaker {
    this.#sync ??= new GlobalSyncTaker(this.#core, this.#detailed);
    return this.#sync;
  }

  /** From here on a workgroup is long. */
  get #longInstructions(): number {
    return TURNS_BEFORE_ADMISSION * this.#executor.turnInstructions;
  }

  /** What a workgroup runs for until another is admitted. */
  get #patience(): number {
    const average = this.#ended && this.#endedInstructions / this.#ended;
    const long = this.#longInstructions;
    return Math.min(Math.max(long, AVERAGES_BEFORE_ADMISSION * average), MAX_LONGER * long);
  }

  /** Where they are counted. */
  get classes(): ClassInstructions | undefined {
    return this.#detailed.classes;
  }

  get pcCounts(): ExecutionCounts | undefined {
    return this.#detailed.pcs;
  }

  /** Where waves are traced; complete when the dispatch is over. */
  get trace(): DispatchTrace | undefined {
    return this.#detailed.trace;
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

  /**
   * Gives every resident workgroup a turn of about `sliceMs`; behind `deadline` (milliseconds of the core's
   * `now`) the next call goes on with the others. Throws WaveFault; `faulted` says where.
   */
  turn(deadline: number, sliceMs: number): TurnResult {
    if (this.#resident.length === 0 && !this.#admit()) return 'done';
    // Without time there is one turn of the usual length; a wave that runs nothing in it comes to no end.
    const most = sliceMs > 0 ? (this.#executor.sliceInstructions * sliceMs) / SLICE_MS : this.#slice;
    this.#slice = Math.min(this.#slice, Math.max(most, 1));
    if (!this.#runRound(deadline)) return 'running';
    const round = this.#round;
    this.#stalls = round === 'waited' ? this.#stalls + 1 : 0;
    if (round !== 'waited') return round === 'awake' ? 'running' : 'asleep';
    if (this.#stalls % STALLS_BEFORE_ADMISSION === 0) {
      const wanted = this.#resident.length;
      for (let i = 0; i < wanted && this.#admit(); i++);
    }
    return this.#left > 0 ? 'stalled' : 'waiting';
  }

  /** The wave that threw, and what it threw; or an earlier instruction's fault. */
  faulted(thrown: WaveFault): { readonly fault: WaveFault; readonly slot: WorkgroupSlot; readonly wave: number } {
    const slot = this.#running!;
    const wave = slot.get(GROUP.current);
    const { base } = slot.waves[wave]!;
    const { tracer } = this.#core;
    if (tracer) tracer.isPaused = true;
    const fault = this.#executor.firstFault(thrown, base);
    if (tracer) tracer.isPaused = false;
    this.#countFaulted(slot, fault, base);
    return { fault, slot, wave };
  }

  leaveRecords(): () => void {
    const { state } = this.#core;
    const { view } = state;
    for (const slot of [...this.#resident, ...this.#idle]) slot.hasTemplates = false;
    const places = this.#resident.flatMap((slot) =>
      slot.liveWaves.map((wave) => ({ wave, pc: pcOf(state, view.getUint32(wave.base + WAVE_RECORD, true)) })),
    );
    return () => {
      for (const { wave, pc } of places) {
        const cache = this.#cacheOf(wave);
        view.setUint32(wave.base + WAVE_RECORD, cache.destination(pc), true);
        view.setUint32(wave.base + WAVE_JUMP_CACHE, cache.jumpCache, true);
      }
    };
  }

  /** Gives back the memory of all workgroups. */
  release(): void {
    this.#detailed.end();
    this.#core.removeHolder(this);
    this.#waiting = [];
    for (let slot = this.#resident.pop(); slot; slot = this.#resident.pop()) slot.release();
    for (let slot = this.#idle.pop(); slot; slot = this.#idle.pop()) leaveSlot(this.#core, slot);
  }

  /** Gives every resident workgroup a turn, at least one before `deadline`; whether all have had it. */
  #runRound(deadline: number): boolean {
    if (this.#waiting.length === 0) {
      this.#waiting = this.#resident.toReversed();
      this.#round = 'waited';
    }
    for (let slot = this.#waiting.pop(); slot; slot = this.#waiting.pop()) {
      this.#core.boundCode();
      slot.wake();
      const turn = this.#runSlot(slot);
      if (turn === 'awake' || this.#round === 'waited') this.#round = turn;
      if (slot.ended) this.#retire(slot);
      else if (slot.instructions - slot.instructionsSeen >= this.#patience) {
        slot.instructionsSeen = slot.instructions;
        this.#admit();
      }
      if (this.#waiting.length > 0 && this.#core.now() >= deadline) return false;
    }
    return true;
  }

  /** Runs the waves of a slot until none is ready or its turn is over. */
  #runSlot(slot: WorkgroupSlot): RoundResult {
    const executor = this.#executor;
    this.#running = slot;
    this.#detailed.begin();
    let isAwake = false;
    const share = this.#core.work.turnShare;
    slot.set(GROUP.turn, Math.ceil(Math.min(this.#turns.turnInstructions(executor, slot), this.#slice) * share));
    slot.set(GROUP.limit, Math.ceil(Math.max(this.#slice, executor.sliceInstructions / FIRST_SLICES) * share));
    this.#slice = Math.min(2 * this.#slice, executor.sliceInstructions);
    slot.set(GROUP.used, 0);
    slot.set(GROUP.events, 0);
    slot.set(GROUP.compiled, 0);
    slot.set(GROUP.looped, 0);
    slot.set(GROUP.started, 0);
    // What the first wave was granted may be others' by now.
    this.#core.state.view.setUint32(slot.waves[0]!.base + WAVE_SERIES, 0, true);
    slot.set(GROUP.remaining, slot.hasTemplates && this.#resident.length === 1 ? this.#end - this.#next : 0);
    if (slot.hasTemplates) slot.setTriple(GROUP.nextX, this.#grid.idOf(this.#next));
    try {
      for (;;) {
        const index = slot.run(executor, this.#core.clock());
        if (index < 0 && this.#barriers?.goesOn(slot)) continue;
        if (index < 0) break;
        const state = this.#afterExit(slot.waves[index]!);
        slot.setState(index, state);
        if (state !== 'sleeping') isAwake = true;
        this.#chargeHost(slot);
        // Heavier code than before has shorter turns from now on.
        if (slot.get(GROUP.used) >= slot.get(GROUP.limit) || this.#core.work.turnShare < share) break;
      }
    } finally {
      const started = slot.get(GROUP.started);
      this.#count(slot, started > 0);
      this.#next += started;
      this.workgroups += started;
      this.waves += started * slot.get(GROUP.fullCount);
    }
    if (isAwake || slot.get(GROUP.events) > 0) return 'awake';
    return slot.get(GROUP.used) > slot.get(GROUP.live) * WAITING_INSTRUCTIONS ? 'asleep' : 'waited';
  }

  /** What the host did for waves counts as the instructions that would have taken as long. */
  #chargeHost(slot: WorkgroupSlot): void {
    const instructions = Math.ceil((this.#core.work.takeUs() * this.#executor.sliceInstructions) / (SLICE_MS * 1000));
    slot.set(GROUP.limit, Math.max(0, slot.get(GROUP.limit) - instructions));
  }

  #count(slot: WorkgroupSlot, isNew: boolean): void {
    const [used, compiled, looped] = [slot.get(GROUP.used), slot.get(GROUP.compiled), slot.get(GROUP.looped)];
    if (isNew) slot.begin();
    else slot.instructions += used;
    this.instructions += used;
    this.tiers[this.#executor.fallbackTier] += used - compiled;
    this.tiers.regions += compiled - looped;
    this.tiers.loops += looped;
    this.#detailed.take(slot);
  }

  /**
   * A fault throws away what the executor knew of its turn, so `used` misses it. Where classes are counted,
   * their sum says how many instructions ran: all before the one that faulted.
   */
  #countFaulted(slot: WorkgroupSlot, fault: WaveFault, wave: number): void {
    const counts = this.#detailed;
    counts.take(slot);
    counts.faulted(fault, wave, (thrown, base) => this.#executor.uncounted(thrown, base));
    const { total } = counts;
    if (total === undefined) return;
    this.tiers[this.#executor.fallbackTier] += total - this.instructions;
    this.instructions = total;
  }

  /** Looks at why a wave left the executor; returns its new state. */
  #afterExit(wave: Wave): WaveState {
    const { state } = this.#core;
    const { view } = state;
    const record = view.getUint32(wave.base + WAVE_RECORD, true);
    const goOn = (next: number): WaveState => {
      this.#core.work.answerExit();
      view.setUint32(wave.base + WAVE_RECORD, next, true);
      return 'ready';
    };
    const reason = view.getUint32(wave.base + WAVE_EXIT, true);
    switch (reason) {
      case EXIT_BUDGET:
        return this.#takeTurn(wave, record, { offset: pcOf(state, record) });
      case EXIT_CODES.interrupt:
        return 'ready';
      case EXIT_JUMP:
        return goOn(this.#jump(wave, record, view.getBigUint64(wave.base + WAVE_JUMP_PC, true)));
      case EXIT_MODE:
        return goOn(this.#switchMode(wave, record));
      case EXIT_CODES.turn:
        return this.#takeTurn(wave, record, 'left');
      case EXIT_CODES.end:
        return this.#takeTurn(wave, record, 'ended');
      case EXIT_CODES['gws-init']:
        return this.#globalSync.init(wave.base);
      case EXIT_CODES['gws-barrier']:
        return this.#globalSync.arrive(wave.base, record);
      case EXIT_CODES['named-barrier']:
        this.#barriers ??= new NamedBarriers(this.#core);
        return this.#barriers.arrive(this.#running!, this.#running!.get(GROUP.current), record);
      case EXIT_UNTRANSLATED:
        throw new WaveFault(record, FAULT_UNTRANSLATED, -1, 0n);
      default:
        if (this.#executor.handleExit(reason, wave.base)) return 'ready';
        throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_TRAP, -1, 0n);
    }
  }

  /** Lanes that parted go on in turns. */
  #takeTurn(wave: Wave, record: number, cause: TurnCause): WaveState {
    const next = this.#turns.next(wave.base, record, cause);
    if (next !== undefined) {
      this.#core.work.answerExit();
      this.#core.state.view.setUint32(wave.base + WAVE_RECORD, this.#jump(wave, record, next), true);
    }
    // None is left: the wave ends with the same instruction.
    else if (cause === 'ended')
      this.#core.state.view.setUint32(wave.base + WAVE_RECORD, record - RECORD_SIZE_BYTES, true);
    if (typeof cause === 'string') return 'ready';
    if (next !== undefined) this.#running!.takesTurns = true;
    return 'spent';
  }

  #jump(wave: Wave, record: number, pc: bigint): number {
    const { memory } = this.#core;
    const offset = memory.offset(pc);
    if (offset === undefined || !memory.code(offset))
      throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_JUMP, -1, pc);
    return this.#cacheOf(wave).jumpTarget(offset);
  }

  #switchMode(wave: Wave, record: number): number {
    const { view } = this.#core.state;
    const mode = view.getUint32(wave.base + WAVE_MODE, true);
    const { modeRefusedBits } = this.#core.frontEnd;
    if (mode & modeRefusedBits) throw new WaveFault(record - RECORD_SIZE_BYTES, FAULT_MODE, -1, BigInt(mode));
    const cache = this.#cacheOf(wave);
    this.#core.state.view.setUint32(wave.base + WAVE_JUMP_CACHE, cache.jumpCache, true);
    return cache.afterModeChange(record - RECORD_SIZE_BYTES, mode);
  }

  #cacheOf(wave: Wave): CodeCache {
    return this.#core.codeCache(this.#launch.waveSize, this.#core.state.view.getUint32(wave.base + WAVE_MODE, true));
  }

  /** Workgroups that this thread may still begin. */
  get #left(): number {
    return this.left + (this.#claims?.left ?? 0);
  }

  /** Makes the next workgroup resident; false when there is none or no room. */
  #admit(): boolean {
    if (this.#left === 0) return false;
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
      return takeSlot(this.#core, this.#launch);
    } catch (error) {
      if (resident > 0 && error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED') return undefined;
      throw error;
    }
  }

  #start(slot: WorkgroupSlot): void {
    const launch = this.#launch;
    const id = this.#grid.idOf(this.#next++);
    const size = workgroupSizeAt(launch, id);
    const cache = this.#core.codeCache(launch.waveSize, launch.mode);
    const start = { record: cache.record(launch.entry), jumpCache: cache.jumpCache };
    const count = Math.ceil((size[0] * size[1] * size[2]) / launch.waveSize);
    slot.setTriple(GROUP.idX, id);
    slot.setTriple(GROUP.countX, this.#grid.counts);
    slot.setTriple(GROUP.fullX, this.#grid.full);
    slot.set(GROUP.count, count);
    slot.set(GROUP.live, count);
    slot.begin();
    slot.clearLds();
    for (let i = 0; i < count; i++) {
      const wave = slot.waves[i]!;
      const place = { ...wave, ldsBase: slot.ldsBase, workgroup: id, workgroupSize: size, index: i };
      startWave(this.#core, launch, place, start);
      this.#core.watch?.waveStarts(wave.base, { workgroup: id, index: i, waveSize: launch.waveSize });
      this.#detailed.waveStarts(wave.base, id, i);
      slot.setState(i, 'ready');
    }
    const isFull = id.every((position, d) => position < this.#grid.full[d]!);
    // Waves that begin by themselves would not be told of.
    const mayCopy = isFull && this.#core.tracer === undefined;
    if (mayCopy && !slot.hasTemplates && (this.#next < this.#end || this.#claims)) slot.saveTemplates();
    this.workgroups++;
    this.waves += count;
  }

  /** The workgroup ended: its slot takes the next one, or is kept for later. */
  #retire(slot: WorkgroupSlot): void {
    for (const other of this.#resident) other.instructionsSeen = other.instructions;
    this.#ended++;
    this.#endedInstructions += slot.instructions;
    const isReplaced = this.#resident.length <= LONG_RESIDENT || slot.instructions < this.#longInstructions;
    if (isReplaced && this.#hasNext()) this.#start(slot);
    else {
      this.#resident.splice(this.#resident.indexOf(slot), 1);
      this.#idle.push(slot);
    }
  }
}
