/** The main thread's side of workers: starts their threads, gives them jobs, answers their questions. */
import { WavewrightError } from '../../base/errors.ts';
import type { CoreOptions } from '../code/emulator-core.ts';
import { type ExecutionCounts, takeCountTable } from '../code/pc-counter.ts';
import type { Launch } from '../machine/launch.ts';
import { THREADS_RUN } from '../machine/layout.ts';
import type { EmulatorMemory, Grace } from '../machine/memory.ts';
import type { StateMemory } from '../machine/state-memory.ts';
import type { WorkgroupClaims, WorkgroupRange } from '../schedule/workgroup-claims.ts';
import { type Claims, ControlBlock, WORKER_STATES, type WorkerWords } from './control.ts';
import { NOTHING_DONE, type WorkerOutcome } from './outcome.ts';
import { answerMemory, type MemoryQuestion } from './remote-memory.ts';
import type { WorkerJob, WorkerSetup } from './worker.ts';

/** A thread with an EmulatorWorker. */
export interface Thread {
  /** Lets the worker run a job when it has no other. */
  post(job: WorkerJob): void;
  stop(): void;
}

/** Threads as the platform has them. */
export interface ThreadHost {
  /** How many run at once on this machine. */
  readonly parallelism: number;
  /** Why the calling thread can have no others, where it cannot. */
  readonly obstacle?: string | undefined;
  /** The thread does not keep the process alive. `onEnd`: why it ended, unless it was stopped. */
  start(setup: WorkerSetup, onEnd: (reason: string) => void): Thread;
}

export interface WorkerOptions {
  /**
   * Threads that run workgroups, the calling one among them. Default: as many as the machine runs at once; 1
   * without `threads`.
   */
  readonly workers?: number;
  readonly threads?: ThreadHost;
  /** Workers join each dispatch as soon as it begins, which waits for them. For tests; not in browsers,
   * where no worker starts while its creator waits. */
  readonly workersAtOnce?: boolean;
}

/**
 * A dispatch that ran so long, and has about so much to go, gets the workers that are there: they begin half
 * a millisecond later.
 */
const JOIN_MS = 1;
const JOIN_LEFT_MS = 3;
/**
 * Threads are started when what they could have helped with, or can, is about so long: they take a few
 * hundred milliseconds to begin.
 */
const START_MS = 400;
/** Between looks at workers that are to stop, or to begin. */
const WAIT_MS = 1;

const isFree = ({ team, end }: Member): boolean => !team && end === undefined;

/** A worker. */
class Member {
  readonly words: WorkerWords;
  readonly thread: Thread;
  team: WorkerTeam | undefined;
  job = 0;
  /** Why its thread is no more. */
  end: string | undefined;

  constructor(words: WorkerWords, start: (onEnd: (reason: string) => void) => Thread) {
    this.words = words;
    this.thread = start((reason) => {
      this.end ??= reason;
    });
  }
}

export class WorkerPool implements Grace {
  readonly control: ControlBlock;
  readonly atOnce: boolean;
  readonly #memories: { readonly state: StateMemory; readonly memory: EmulatorMemory };
  readonly #count: number;
  readonly #start: (index: number, onEnd: (reason: string) => void) => Thread;
  readonly #members: Member[] = [];
  readonly #teams: (WorkerTeam | undefined)[];
  #jobs = 0;
  #seenBell = 0;
  #missedMs = 0;

  /**
   * `processor`: names the front end. `count`: workers beside the main thread, at least 1. `originMs`: of the
   * device's clock, since the epoch. Throws UNSUPPORTED where there can be none.
   */
  constructor(
    memories: { readonly state: StateMemory; readonly memory: EmulatorMemory },
    processor: string,
    options: CoreOptions & WorkerOptions,
    count: number,
    originMs: number,
  ) {
    const obstacle = options.threads?.obstacle;
    if (obstacle !== undefined) throw new WavewrightError('UNSUPPORTED', `${count + 1} workers: ${obstacle}`);
    this.#memories = memories;
    this.#count = count;
    this.#teams = new Array<WorkerTeam | undefined>(count).fill(undefined);
    this.atOnce = options.workersAtOnce ?? false;
    this.control = new ControlBlock(count);
    const { executor, compileThreshold, checksAccesses, vertical, countsClasses, countsPcs, countsAccesses } = options;
    const own = {
      ...(executor && { executor }),
      ...(compileThreshold !== undefined && { compileThreshold }),
      ...(checksAccesses !== undefined && { checksAccesses }),
      ...(vertical !== undefined && { vertical }),
      ...(countsClasses !== undefined && { countsClasses }),
      ...(countsPcs !== undefined && { countsPcs }),
      ...(countsAccesses !== undefined && { countsAccesses }),
    };
    const shared = {
      processor,
      state: memories.state.memory,
      memory: memories.memory.memory,
      windowHi: memories.memory.windowHi,
      control: this.control.buffer,
      workers: count,
      originMs,
    };
    this.#start = (index, onEnd) => options.threads!.start({ options: own, ...shared, index }, onEnd);
  }

  get state(): StateMemory {
    return this.#memories.state;
  }

  /** Whether a dispatch that ran for `workedMs` and has about `leftMs` to go gets workers. */
  areWorth(workedMs: number, leftMs: number): boolean {
    if (this.atOnce) return true;
    if (workedMs < JOIN_MS || leftMs < JOIN_LEFT_MS) return false;
    return this.#members.length > 0 || this.#missedMs + leftMs >= START_MS;
  }

  /** A dispatch of several workgroups took so long without workers. */
  missed(workedMs: number): void {
    if (workedMs >= JOIN_MS) this.#missedMs += workedMs;
  }

  /**
   * Workers for the workgroups that a dispatch has not begun, of about `leftMs`; undefined when all help
   * other dispatches.
   */
  join(launch: Launch, range: WorkgroupRange, leftMs: number): WorkerTeam | undefined {
    const useful = this.atOnce ? this.#count : Math.ceil((this.#missedMs + leftMs) / START_MS);
    while (this.#members.length < Math.min(this.#count, useful, range.end - range.first)) {
      const index = this.#members.length;
      this.#members.push(new Member(this.control.worker(index), (onEnd) => this.#start(index, onEnd)));
    }
    const index = this.#teams.indexOf(undefined);
    if (index < 0 || !this.#members.some(isFree)) return undefined;
    const team = new WorkerTeam(this, index, launch, range);
    this.#teams[index] = team;
    team.recruit();
    if (this.atOnce) team.waitUntilBegun();
    return team;
  }

  /** Gives a job to every worker that has none. */
  assign(team: WorkerTeam): Member[] {
    const free = this.#members.filter(isFree);
    for (const member of free) {
      member.team = team;
      member.job = ++this.#jobs;
      // From here on atomics lock.
      Atomics.store(this.#memories.state.words, THREADS_RUN >> 2, 1);
      member.words.assign(member.job);
      member.thread.post({ number: member.job, launch: team.launch, team: team.index });
    }
    return free;
  }

  /** The worker has nothing to do any more. */
  release(member: Member): void {
    member.team = undefined;
    member.words.state = WORKER_STATES.idle;
    if (this.#members.every(({ team }) => !team)) Atomics.store(this.#memories.state.words, THREADS_RUN >> 2, 0);
  }

  /**
   * Whether any worker has, or may begin, something to do; and whether those that do have only waves that
   * sleep.
   */
  get busy(): boolean {
    return this.#members.some(({ team }) => team);
  }

  get sleeps(): boolean {
    return this.#members.every(({ team, words }) => !team || words.state === WORKER_STATES.asleep);
  }

  begin(): number {
    return this.busy ? this.control.beginEpoch() : 0;
  }

  isPast(epoch: number): boolean {
    return epoch === 0 || this.#members.every(({ team, words }) => !team || words.hasPassed(epoch));
  }

  wait(epoch: number): void {
    while (!this.isPast(epoch)) this.control.waitForBell(this.control.bell, WAIT_MS);
  }

  disband(team: WorkerTeam): void {
    this.#teams[team.index] = undefined;
  }

  /** Answers questions, and lets waves that sleep look again. */
  attend(): void {
    this.#seenBell = this.control.bell;
    if (this.#members.some(({ words }) => words.state === WORKER_STATES.asleep)) this.control.wake();
    for (const { team, words } of this.#members) {
      if (team) words.answer((question) => answerMemory(this.#memories, question as MemoryQuestion));
    }
  }

  /** Waits until a worker has something to say, since this was looked for, at most `timeoutMs`. */
  listen(timeoutMs: number): void {
    this.control.waitForBell(this.#seenBell, timeoutMs);
    this.attend();
  }

  /** Ends all threads. */
  close(): void {
    for (const team of [...this.#teams]) team?.stop();
    for (const { thread } of this.#members.splice(0)) thread.stop();
  }
}

/** What comes of a job whose thread ended. */
const lost = (reason: string): WorkerOutcome => ({
  ...NOTHING_DONE,
  error: { code: 'INTERNAL', what: `a worker: ${reason}` },
});

/** The workers that help with one dispatch. */
export class WorkerTeam {
  readonly launch: Launch;
  readonly index: number;
  /** What is left to begin, for all threads. */
  readonly claims: WorkgroupClaims;
  readonly #claims: Claims;
  readonly #pool: WorkerPool;
  readonly #members: Member[] = [];
  readonly #outcomes: WorkerOutcome[] = [];
  readonly #pcCounts: ExecutionCounts[] = [];

  constructor(pool: WorkerPool, index: number, launch: Launch, range: WorkgroupRange) {
    this.#pool = pool;
    this.index = index;
    this.launch = launch;
    this.#claims = pool.control.claims(index);
    this.claims = this.#claims;
    this.#claims.open(range);
  }

  /** What the workers that ended have done. */
  get outcomes(): readonly WorkerOutcome[] {
    return this.#outcomes;
  }

  /** Executions by pc of the workers that ended, where they are counted. */
  get pcCounts(): readonly ExecutionCounts[] {
    return this.#pcCounts;
  }

  /** Workers that run workgroups, or may still begin to. */
  get size(): number {
    return this.#members.length;
  }

  recruit(): void {
    if (this.#claims.left > 0) this.#members.push(...this.#pool.assign(this));
  }

  waitUntilBegun(): void {
    while (this.#members.some(({ words }) => words.state < 0)) this.#pool.listen(WAIT_MS);
  }

  /** Looks who has ended. When nothing is left to begin, those that have not begun need not. */
  poll(): void {
    const isOver = this.#claims.left === 0 || this.#claims.stopped;
    for (const member of [...this.#members]) {
      const { words, job, end } = member;
      const isEnded = words.state === WORKER_STATES.finished;
      if (isEnded) this.#take(words.outcome() as WorkerOutcome);
      else if (end !== undefined) this.#outcomes.push(lost(end));
      else if (!isOver || !words.take(job, WORKER_STATES.idle)) continue;
      this.#members.splice(this.#members.indexOf(member), 1);
      this.#pool.release(member);
    }
  }

  #take(outcome: WorkerOutcome): void {
    this.#outcomes.push(outcome);
    if (outcome.pcs) this.#pcCounts.push(takeCountTable(this.#pool.state, outcome.pcs));
  }

  /** Lets no worker go on, and waits until none does: a few milliseconds. Idempotent. */
  stop(): void {
    this.#claims.stop();
    for (;;) {
      this.poll();
      if (this.#members.length === 0) break;
      this.#pool.listen(WAIT_MS);
    }
    this.#pool.disband(this);
  }

  /** Where the runner's parts of the workers' resident workgroups are (group-layout.ts). */
  get residents(): number[] {
    return this.#members.flatMap(({ words }) => (words.state > 0 ? words.residents : []));
  }
}
