/** The part of the emulator that runs in a worker: workgroups of one dispatch after the other. */
import { type ErrorCode, WavewrightError } from '../../base/errors.ts';
import { type CoreOptions, type CoreParts, EmulatorCore } from '../code/emulator-core.ts';
import { writeCountTable } from '../code/pc-counter.ts';
import { WaveFault } from '../machine/faults.ts';
import { Grid, type Launch } from '../machine/launch.ts';
import { GroupScheduler } from '../schedule/group-scheduler.ts';
import { type Claims, ControlBlock, WORKER_STATES, type WorkerWords } from './control.ts';
import { NOTHING_DONE, type WorkerOutcome } from './outcome.ts';
import { faultOf, type RemoteFault } from './remote-fault.ts';
import { RemoteMemory, RemoteState } from './remote-memory.ts';

/** What a worker's thread is started with; it can be cloned. */
export interface WorkerSetup {
  /** Names the front end. */
  readonly processor: string;
  readonly options: CoreOptions;
  readonly state: WebAssembly.Memory;
  readonly memory: WebAssembly.Memory;
  readonly windowHi: number;
  /** The words that the threads share (control.ts). */
  readonly control: SharedArrayBuffer;
  readonly workers: number;
  /** Number of this worker, from 0. */
  readonly index: number;
  /** When the device's clock was 0, in milliseconds since the epoch. */
  readonly originMs: number;
}

/** Workgroups to run; it can be cloned. */
export interface WorkerJob {
  readonly number: number;
  readonly launch: Launch;
  /** Which claims say what is left to do. */
  readonly team: number;
}

/** How long a worker waits for the host when all its waves sleep, at first and at most. */
const FIRST_SLEEP_MS = 0.02;
const LAST_SLEEP_MS = 1;
/** Between looks at what the main thread says. */
const SLICE_MS = 5;

export class EmulatorWorker {
  readonly #control: ControlBlock;
  readonly #words: WorkerWords;
  readonly #state: RemoteState;
  readonly #memory: RemoteMemory;
  readonly #core: EmulatorCore;
  #generation = 0;

  constructor(setup: WorkerSetup, partsOf: (processor: string) => CoreParts) {
    const { processor, options, state, memory, windowHi, control, workers, index, originMs } = setup;
    this.#control = new ControlBlock(workers, control);
    this.#words = this.#control.worker(index);
    const ask = (question: unknown): unknown => this.#words.ask(question, () => this.#control.ring());
    this.#state = new RemoteState(state, workers, ask);
    this.#memory = new RemoteMemory(memory, windowHi, workers, ask);
    this.#core = new EmulatorCore(partsOf(processor), options, this.#state, this.#memory, {
      origin: originMs - performance.timeOrigin,
    });
  }

  /**
   * Runs workgroups until none is left to begin and those that it began have ended, or it is told to stop.
   */
  run({ number, launch, team }: WorkerJob): void {
    if (!this.#words.take(number, WORKER_STATES.running)) return;
    const claims = this.#control.claims(team);
    let outcome: WorkerOutcome = NOTHING_DONE;
    try {
      this.#renew();
      const none = { first: 0, end: 0 };
      const scheduler = new GroupScheduler(this.#core, launch, new Grid(launch), none, claims);
      outcome = this.#runScheduler(scheduler, claims);
    } catch (error) {
      claims.stop();
      outcome = { ...outcome, error: describeError(error) };
    }
    this.#words.residents = [];
    this.#words.finish(outcome);
    this.#control.ring();
  }

  #renew(): void {
    this.#memory.forget();
    const { generation } = this.#control;
    if (generation !== this.#generation) {
      this.#state.forgetOwners();
      this.#core.clearCode();
    }
    this.#generation = generation;
  }

  #runScheduler(scheduler: GroupScheduler, claims: Claims): WorkerOutcome {
    let fault: RemoteFault | undefined;
    try {
      this.#turns(scheduler, claims);
    } catch (error) {
      if (error instanceof WaveFault) {
        fault = faultOf(this.#core, scheduler.faulted(error));
        claims.stop();
      } else if (!(isExhausted(error) && scheduler.left === 0 && scheduler.resident.length === 0)) throw error;
    } finally {
      scheduler.release();
    }
    const { instructions, tiers, classes, waves, workgroups, pcCounts } = scheduler;
    const pcs = pcCounts && writeCountTable(this.#state, pcCounts);
    return { instructions, tiers, classes, waves, workgroups, ...(pcs && { pcs }), ...(fault && { fault }) };
  }

  #turns(scheduler: GroupScheduler, claims: Claims): void {
    let sleepMs = FIRST_SLEEP_MS;
    while (!claims.stopped) {
      // No code runs on this thread here: what was freed before can be used again as far as this one is
      // concerned.
      this.#words.pass(this.#control.epoch);
      if (this.#control.generation !== this.#generation) this.#renew();
      const { wakes } = this.#control;
      const turn = scheduler.turn(performance.now() + SLICE_MS, SLICE_MS);
      this.#words.residents = scheduler.resident.map(({ group }) => group);
      if (turn === 'done') return;
      if (turn === 'running' || turn === 'asleep') {
        sleepMs = FIRST_SLEEP_MS;
        continue;
      }
      this.#words.state = WORKER_STATES.asleep;
      if (sleepMs === FIRST_SLEEP_MS) this.#control.ring();
      this.#control.waitForWake(wakes, sleepMs);
      this.#words.state = WORKER_STATES.running;
      sleepMs = Math.min(LAST_SLEEP_MS, sleepMs * 2);
    }
  }
}

const isExhausted = (error: unknown): boolean => error instanceof WavewrightError && error.code === 'LIMIT_EXCEEDED';

function describeError(error: unknown): { code: ErrorCode; what: string } {
  if (error instanceof WavewrightError) return { code: error.code, what: error.what };
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { code: 'INTERNAL', what: `in a worker: ${what}` };
}
