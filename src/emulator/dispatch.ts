/** One running kernel: what came of it, and where its waves are. */
import { WavewrightError } from '../base/errors.ts';
import type { CodeCache } from './code/code-cache.ts';
import { addExecutions, type Executions } from './code/pc-counter.ts';
import type { DispatchTrace } from './code/wave-tracer.ts';
import { type EmulatorFault, WaveFault } from './machine/faults.ts';
import { Grid, type Launch } from './machine/launch.ts';
import { type ReportingCore, reportFault } from './schedule/fault-report.ts';
import { GlobalWaveSync } from './schedule/global-wave-sync.ts';
import { GroupScheduler, type TurnResult } from './schedule/group-scheduler.ts';
import { addCounts, type ClassInstructions, type TierCounts } from './schedule/instruction-counts.ts';
import type { KeptSlots } from './schedule/kept-slots.ts';
import { type PlaceOfLanes, placesOf } from './schedule/wave-places.ts';
import { describeWavePlaces, type WavePlace } from './schedule/wave-report.ts';
import { faultOf, type RemoteFault } from './workers/remote-fault.ts';
import type { WorkerPool, WorkerTeam } from './workers/worker-pool.ts';

export type DispatchState = 'running' | 'complete' | 'faulted' | 'cancelled';
/** `waiting`: every resident wave sleeps. */
export type StepResult = Exclude<TurnResult, 'asleep' | 'stalled'>;

/** What a dispatch asks of the emulator that it runs on. */
interface DispatchHost extends ReportingCore {
  /** None where one thread is enough. */
  readonly workers: WorkerPool | undefined;
  readonly keptSlots: KeptSlots;
  /** The instruction that a record stands for, with its place. */
  describeRecord(cache: CodeCache, record: number): string;
}

export class EmulatorDispatch {
  state: DispatchState = 'running';
  fault: EmulatorFault | undefined;
  /** Why it was cancelled by itself: what it needed was not there. */
  error: WavewrightError | undefined;
  /** Where threads were that wait for each other for ever. */
  #last: readonly WavePlace[] = [];
  readonly startTicks: bigint;
  endTicks = 0n;
  readonly #emulator: DispatchHost;
  readonly #launch: Launch;
  readonly #scheduler: GroupScheduler;
  #team: WorkerTeam | undefined;
  /** Time in `step`. */
  #workedMs = 0;

  constructor(emulator: DispatchHost, launch: Launch) {
    this.#emulator = emulator;
    this.#launch = launch;
    const grid = new Grid(launch);
    this.#scheduler = new GroupScheduler(emulator, launch, grid, { first: 0, end: grid.total });
    this.startTicks = emulator.clock();
  }

  get instructions(): number {
    return this.#sum('instructions');
  }

  get tiers(): TierCounts {
    const sum = { ...this.#scheduler.tiers };
    for (const { tiers } of this.#team?.outcomes ?? []) addCounts(sum, tiers);
    return sum;
  }

  /** Where they are counted. */
  get classes(): ClassInstructions | undefined {
    const sum = this.#scheduler.classes && { ...this.#scheduler.classes };
    for (const { classes } of this.#team?.outcomes ?? []) if (sum && classes) addCounts(sum, classes);
    return sum;
  }

  /**
   * Where they are counted: executions of each instruction, by its offset in device memory. An instruction
   * that faulted by an access does not count.
   */
  get pcCounts(): ReadonlyMap<number, Executions> | undefined {
    const own = this.#scheduler.pcCounts;
    if (!own) return undefined;
    const sum = new Map(own);
    for (const counts of this.#team?.pcCounts ?? []) {
      for (const [offset, count] of counts) addExecutions(sum, offset, count);
    }
    return sum;
  }

  /** What its waves executed, where that is traced; complete when it is over. */
  get trace(): DispatchTrace | undefined {
    return this.#scheduler.trace;
  }

  get waves(): number {
    return this.#sum('waves');
  }

  get workgroups(): number {
    return this.#sum('workgroups');
  }

  /** Of all threads; of a worker when it has ended. */
  #sum(counter: 'instructions' | 'waves' | 'workgroups'): number {
    let sum = this.#scheduler[counter];
    if (this.#team) for (const outcome of this.#team.outcomes) sum += outcome[counter];
    return sum;
  }

  cancel(): void {
    if (this.state === 'running') this.#finish('cancelled');
  }

  /**
   * Runs for about `sliceMs` (of the emulator's `now`), to the end, or until every resident wave sleeps or is
   * a worker's: then only time, the host and workers make progress.
   */
  step(sliceMs: number): StepResult {
    const { now } = this.#emulator;
    const beginMs = now();
    const deadline = beginMs + sliceMs;
    // A look at the clock takes as long as a few instructions of a wave.
    let nowMs = beginMs;
    try {
      while (this.state === 'running') {
        if (!this.#help(this.#workedMs + nowMs - beginMs)) break;
        const turn = this.#scheduler.turn(deadline, sliceMs);
        if (turn === 'done' && !this.#team?.size) this.#finish('complete');
        else if (turn === 'waiting') return turn;
        else {
          nowMs = now();
          if (turn !== 'running' || nowMs >= deadline) return 'running';
        }
      }
    } catch (error) {
      if (error instanceof WaveFault) this.#fail(faultOf(this.#emulator, this.#scheduler.faulted(error)));
      else {
        this.#finish('cancelled');
        if (!(error instanceof WavewrightError) || error.code === 'INTERNAL') throw error;
        this.error = error;
      }
    } finally {
      // What workers are worth goes by it.
      const { workers } = this.#emulator;
      if (workers && (this.state === 'running' || this.workgroups > 1)) this.#workedMs += now() - beginMs;
      if (this.state !== 'running' && !this.#team && this.workgroups > 1) workers?.missed(this.#workedMs);
    }
    return 'done';
  }

  /** Lets workers join where the kernel runs long, and looks what came of them; false after a fault. */
  #help(workedMs: number): boolean {
    const { workers } = this.#emulator;
    if (!workers) return true;
    const leftMs = this.#team ? 0 : this.#leftMs(workedMs);
    if (!this.#team && this.#scheduler.left > 0 && workers.areWorth(workedMs, leftMs)) {
      this.#scheduler.share((range) => {
        this.#team = workers.join(this.#launch, range, leftMs);
        return this.#team?.claims;
      });
    }
    const team = this.#team;
    if (!team) return true;
    workers.attend();
    team.recruit();
    team.poll();
    for (const { fault, error } of team.outcomes) {
      if (error) throw new WavewrightError(error.code, error.what);
      if (!fault) continue;
      this.#fail(fault);
      return false;
    }
    return true;
  }

  /** How long the workgroups that have not begun will take one thread, by what the others took. */
  #leftMs(workedMs: number): number {
    const { left, workgroups } = this.#scheduler;
    return workgroups === 0 ? 0 : (workedMs * left) / workgroups;
  }

  #fail({ pc, mode, code, lane, address, workgroup, wave, places }: RemoteFault): void {
    const cache = this.#emulator.codeCache(this.#launch.waveSize, mode);
    const fault = new WaveFault(cache.behindLeader(cache.record(pc)), code, lane, BigInt(address));
    this.fault = reportFault(this.#emulator, fault, cache, { workgroup, wave });
    this.#last = places.map((place) => this.#worded(place));
    this.#finish('faulted');
  }

  #finish(state: DispatchState): void {
    this.state = state;
    // Waves that came to a global barrier and left no other way would be waited with.
    if (state !== 'complete') new GlobalWaveSync(this.#emulator.state).resetAll();
    this.#team?.stop();
    this.endTicks = this.#emulator.clock();
    this.#scheduler.release();
  }

  /** Where the resident waves are, of all threads: a line for each place, and what it looks like. */
  describeWaves(sourceOf?: (pc: bigint) => string | undefined): string[] {
    return describeWavePlaces(this.wavePlaces(), sourceOf);
  }

  /** Where each resident wave is that has not ended; after a deadlock, where those of its workgroup were. */
  wavePlaces(): readonly WavePlace[] {
    if (this.state === 'faulted') return this.#last;
    const groups = [...this.#scheduler.resident.map(({ group }) => group), ...(this.#team?.residents ?? [])];
    return groups.flatMap((group) => this.#placesOf(group));
  }

  #placesOf(group: number): WavePlace[] {
    return placesOf(this.#emulator, group, this.#launch.waveSize).map((place) => this.#worded(place));
  }

  #worded({ offset, lanes, ...place }: PlaceOfLanes): WavePlace {
    const emulator = this.#emulator;
    const cache = emulator.codeCache(this.#launch.waveSize, this.#launch.mode);
    const text = emulator.describeRecord(cache, cache.record(offset));
    return { ...place, place: text, pc: emulator.memory.address(offset), exec: BigInt(lanes) };
  }
}
