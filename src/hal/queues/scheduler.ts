/**
 * Operations between their submission and their end: those that wait for semaphores, those that may begin,
 * and those that run. It is the one place where waits are counted, signals are given and failures go on.
 */

import type { DeviceOrder, WaitStrategy } from '../backend/order.ts';
import type { HostLoop } from '../core/host-loop.ts';
import type { SignalSource } from '../core/pending-signals.ts';
import { seededIntegers } from '../core/random.ts';
import type { Timepoint } from '../core/semaphore.ts';
import type { UnfinishedOperation } from '../core/stall.ts';
import { HalError, type OperationInfo, operationError } from '../core/status.ts';
import type { StallWatchdog } from './stall-watchdog.ts';
import { notRun, type OperationSubject, Submission, type Work } from './submission.ts';

/** What happened to an operation, for who follows them. */
export interface QueueEvent {
  readonly kind: 'submitted' | 'ready' | 'started' | 'complete' | 'failed';
  readonly operation: OperationInfo;
  /** Host time in milliseconds, as `performance.now` has it, or the clock of the registry. */
  readonly timeMs: number;
  readonly failure?: HalError;
  /** Of `started`: how the waits were resolved. */
  readonly strategy?: WaitStrategy;
  /** Of `submitted`. */
  readonly request?: OperationRequest;
}

/** What was submitted. */
export interface OperationRequest extends OperationSubject {
  readonly waitCount: number;
  readonly signalCount: number;
}

export interface SchedulerOptions {
  /** Of operations that may begin, a seed chooses which does; without one the first submitted begins. */
  readonly seed?: number | undefined;
  readonly onEvent?: ((event: QueueEvent) => void) | undefined;
  readonly watchdog?: StallWatchdog | undefined;
}

/** An operation in the hands of the scheduler. */
class Task implements DeviceOrder {
  readonly work: Work;
  readonly submission: Submission<unknown>;
  /** Waits that are not reached, and waits that were neither reached nor pending so far. */
  openWaits: number;
  blockingWaits: number;
  /** How it would begin now. */
  strategy: WaitStrategy;
  sources: readonly SignalSource[] = [];
  /** Of a wait that was open when the operation went to its device. */
  failure: HalError | undefined;
  /** What takes back waits for semaphores and for the abort signal. */
  #undo: (() => void)[] | undefined;
  #isOverWaits = false;

  constructor(work: Work, submission: Submission<unknown>) {
    this.work = work;
    this.submission = submission;
    this.openWaits = work.waits.length;
    this.blockingWaits = work.waits.length;
    this.strategy = work.waits.length === 0 ? 'none' : 'inline';
  }

  /** Keeps what takes a wait back until the task waits no more. */
  waitsUntil(undo: () => void): void {
    if (this.#isOverWaits) {
      undo();
      return;
    }
    this.#undo ??= [];
    this.#undo.push(undo);
  }

  /** Nothing that it waits for matters any more. */
  endWaits(): void {
    this.#isOverWaits = true;
    const undo = this.#undo;
    this.#undo = undefined;
    if (undo !== undefined) for (const each of undo) each();
  }

  /** Whether its device holds it back until the open waits are reached; `sources` are those of them then. */
  isHeldByDevice(): boolean {
    const { orderedBy, waits } = this.work;
    const sources = new Set<SignalSource>();
    for (const { isReached, semaphore, value } of waits) {
      if (isReached) continue;
      const source = semaphore.pendingSource(value);
      if (source === undefined) return false;
      sources.add(source);
    }
    const strategy = orderedBy!.resolveWaits([...sources]);
    if (strategy === undefined) return false;
    this.strategy = strategy;
    this.sources = [...sources];
    return true;
  }

  issued(source: SignalSource): void {
    if (this.submission.state !== 'running') return;
    this.submission.issued(source);
    for (const { semaphore, value } of this.work.signals) semaphore.addPending(value, source);
  }
}

/** Operations that begin in one turn at most, so that the host gets its own. */
const MAX_STARTS = 1024;

export class Scheduler {
  readonly #loop: HostLoop;
  readonly #pick: ((limit: number) => number) | undefined;
  readonly #onEvent: ((event: QueueEvent) => void) | undefined;
  readonly #watchdog: StallWatchdog | undefined;
  #observer: ((event: QueueEvent) => void) | undefined;
  readonly #waiting = new Set<Task>();
  readonly #running = new Set<Task>();
  #ready: Task[] = [];
  /** Without a seed the first of `#ready` that has not begun. */
  #head = 0;
  #nextId = 1;
  /** Called at the next turn. */
  #posted: (() => void)[] = [];
  /** Operations that ended, and whose semaphores do not know yet. */
  readonly #ended: Task[] = [];
  #isTelling = false;
  /** Whether something ended since the last turn. */
  #hasMoved = false;
  #activity = 0;
  #closed: HalError | undefined;

  constructor(loop: HostLoop, { seed, onEvent, watchdog }: SchedulerOptions = {}) {
    this.#loop = loop;
    this.#pick = seed === undefined ? undefined : seededIntegers(seed);
    this.#onEvent = onEvent;
    this.#watchdog = watchdog;
  }

  /** The number of the next operation. */
  takeId(): number {
    return this.#nextId++;
  }

  /** Operations that have not begun, and those that run. */
  get counts(): { readonly waiting: number; readonly running: number } {
    return { waiting: this.#waiting.size + this.#ready.length - this.#head, running: this.#running.size };
  }

  /** Operations that have not ended, in the order of submission, as far as the scheduler knows of them. */
  get unfinished(): readonly UnfinishedOperation[] {
    const of = (state: UnfinishedOperation['state']) => (task: Task) => {
      const { info, waits, signals } = task.work;
      const open = task.openWaits === 0 ? [] : waits.filter(({ isReached }) => !isReached);
      return { operation: info, state, waits: open, signals: [...signals, ...task.submission.askedTimepoints] };
    };
    const ready = this.#ready.slice(this.#head).filter(({ submission }) => submission.state === 'ready');
    return [
      ...[...this.#waiting].map(of('waiting')),
      ...ready.map(of('ready')),
      ...[...this.#running].map(of('running')),
    ].sort((one, other) => one.operation.id - other.operation.id);
  }

  /** Grows whenever an operation begins or ends. */
  get activity(): number {
    return this.#activity;
  }

  submit<Result>(work: Work, result: Result): Submission<Result> {
    if (this.#closed !== undefined) throw this.#closed;
    const submission = new Submission(work.info, result, this.#loop);
    const task = new Task(work, submission);
    for (const resource of work.resources) resource.retain();
    this.#tell('submitted', task);
    if (work.waits.length === 0 && work.abort === undefined) this.#makeReady(task);
    else {
      this.#waiting.add(task);
      this.#arm(task);
    }
    this.#watchdog?.wake();
    return submission;
  }

  #arm(task: Task): void {
    const { abort, waits, info } = task.work;
    if (abort !== undefined) {
      const cancel = () => this.#skip(task, cancelled(info, abort.reason));
      if (abort.aborted) cancel();
      else {
        abort.addEventListener('abort', cancel);
        task.waitsUntil(() => abort.removeEventListener('abort', cancel));
      }
    }
    for (const wait of waits) {
      if (task.submission.state === 'failed') return;
      this.#armWait(task, wait);
    }
    if (task.submission.state !== 'waiting') return;
    if (waits.length === 0) this.#makeReady(task);
    else task.strategy = 'defer';
  }

  #armWait(task: Task, wait: Timepoint): void {
    const { semaphore, value } = wait;
    let isBlocking = true;
    const unblock = (): void => {
      const isLast = isBlocking && --task.blockingWaits === 0;
      isBlocking = false;
      if (task.submission.state !== 'waiting') return;
      if (task.openWaits === 0 || (isLast && task.isHeldByDevice())) this.#makeReady(task);
    };
    const cancel = semaphore.onReached(value, (failure) => {
      if (failure !== undefined) return this.#waitFailed(task, notRun(task.work.info, wait, failure));
      task.openWaits--;
      unblock();
    });
    task.waitsUntil(cancel);
    // What a device has may be waited for by the device.
    if (isBlocking && task.work.orderedBy !== undefined) task.waitsUntil(semaphore.onPending(value, unblock));
  }

  #waitFailed(task: Task, failure: HalError): void {
    // Its device has it: it is that which keeps it from running.
    if (task.submission.state === 'running') task.failure ??= failure;
    else this.#skip(task, failure);
  }

  #makeReady(task: Task): void {
    this.#waiting.delete(task);
    task.submission.enter('ready');
    this.#tell('ready', task);
    this.#ready.push(task);
    this.#loop.kick();
  }

  /** Calls back at the next turn: for what must not go on inside the call that it comes from. */
  post(callback: () => void): void {
    this.#posted.push(callback);
    this.#loop.kick();
  }

  /** Begins what may begin. Returns whether anything began or ended since the last call. */
  progress(): boolean {
    const posted = this.#posted;
    this.#posted = [];
    for (const callback of posted) callback();
    for (let started = 0; started < MAX_STARTS; started++) {
      const task = this.#takeReady();
      if (task === undefined) break;
      if (task.submission.state === 'ready') this.#start(task);
    }
    const hasMoved = posted.length > 0 || this.#hasMoved || this.#ready.length > this.#head;
    this.#hasMoved = false;
    return hasMoved;
  }

  /** Begins all that may begin now; what it has done counts as done in the next turn. */
  flush(): void {
    let hasMoved = false;
    while (this.#ready.length > this.#head) hasMoved = this.progress() || hasMoved;
    this.#hasMoved ||= hasMoved;
  }

  #takeReady(): Task | undefined {
    const count = this.#ready.length - this.#head;
    if (count === 0) return undefined;
    if (this.#pick !== undefined) {
      const index = this.#pick(count);
      const task = this.#ready[index]!;
      this.#ready[index] = this.#ready.at(-1)!;
      this.#ready.pop();
      return task;
    }
    const task = this.#ready[this.#head++]!;
    if (this.#head * 2 > this.#ready.length) {
      this.#ready = this.#ready.slice(this.#head);
      this.#head = 0;
    }
    return task;
  }

  #start(task: Task): void {
    this.#hasMoved = true;
    this.#activity++;
    const { work } = task;
    // A failure of what its device waits for still matters.
    if (task.openWaits === 0) task.endWaits();
    task.submission.enter('running');
    this.#running.add(task);
    for (const resource of work.resources) resource.pin?.();
    work.strategyCounts[task.strategy]++;
    this.#tell('started', task);
    const done = (error?: unknown): void => {
      if (!this.#leave(task)) return;
      if (error !== undefined) work.onFailed?.();
      const failure = (): HalError =>
        error === task.failure ? task.failure! : operationError(work.info, 'failed', error);
      this.#finish(task, error === undefined ? undefined : failure());
    };
    try {
      if (work.orderedBy === undefined) work.run(done);
      else work.run(done, task);
    } catch (error) {
      done(error);
    }
  }

  /** It does not run any more. Returns whether it did. */
  #leave(task: Task): boolean {
    if (!this.#running.delete(task)) return false;
    for (const resource of task.work.resources) resource.unpin?.();
    return true;
  }

  #skip(task: Task, failure: HalError): void {
    const { state } = task.submission;
    if (state !== 'waiting' && state !== 'ready') return;
    this.#waiting.delete(task);
    task.work.onSkipped?.();
    this.#finish(task, failure);
  }

  #finish(task: Task, failure: HalError | undefined): void {
    this.#hasMoved = true;
    this.#activity++;
    task.endWaits();
    // What was needed goes first: who is told of the end may count on that.
    for (const resource of task.work.resources) resource.release();
    task.submission.finish(failure);
    this.#tell(failure === undefined ? 'complete' : 'failed', task, failure);
    this.#ended.push(task);
    // Whoever is told may end others at once: they are told in turn, so that no chain needs stack.
    if (this.#isTelling) return;
    this.#isTelling = true;
    for (let next = this.#ended.shift(); next !== undefined; next = this.#ended.shift()) announce(next);
    this.#isTelling = false;
    this.#loop.kick();
    if (this.#watchdog !== undefined && this.#isEmpty) this.#watchdog.rest();
  }

  get #isEmpty(): boolean {
    const { waiting, running } = this.counts;
    return waiting + running === 0;
  }

  /** Nothing is taken any more, and what has not begun fails with CANCELLED. */
  close(why: string): void {
    this.#closed ??= new HalError('FAILED_PRECONDITION', why);
    const reason = this.#closed;
    for (const task of [...this.#waiting, ...this.#ready.slice(this.#head)]) {
      this.#skip(task, cancelled(task.work.info, reason));
    }
    this.#ready = [];
    this.#head = 0;
  }

  /** What runs is stopped: it fails with CANCELLED, whatever its driver says of it later. */
  abandonRunning(): void {
    for (const task of [...this.#running]) {
      this.#leave(task);
      task.work.onFailed?.();
      this.#finish(task, cancelled(task.work.info, this.#closed));
    }
  }

  /** Who is told of events besides, or nobody. */
  observe(observer: ((event: QueueEvent) => void) | undefined): void {
    this.#observer = observer;
  }

  #tell(kind: QueueEvent['kind'], { work, strategy }: Task, failure?: HalError): void {
    if (this.#onEvent === undefined && this.#observer === undefined) return;
    const more = {
      ...(failure && { failure }),
      ...(kind === 'started' && { strategy }),
      ...(kind === 'submitted' && { request: requestOf(work) }),
    };
    const event = { kind, operation: work.info, timeMs: this.#loop.now(), ...more };
    this.#onEvent?.(event);
    this.#observer?.(event);
  }
}

const requestOf = ({ waits, signals, subject }: Work): OperationRequest => ({
  waitCount: waits.length,
  signalCount: signals.length,
  ...subject,
});

function announce({ submission, work }: Task): void {
  const { failure } = submission;
  submission.announce();
  for (const { semaphore, value } of work.signals) {
    if (failure === undefined) semaphore.signal(value, work.info);
    else semaphore.fail(failure, work.info);
  }
}

const cancelled = (info: OperationInfo, cause: unknown): HalError =>
  operationError(info, 'was cancelled', new HalError('CANCELLED', reasonText(cause), { cause }));

const reasonText = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
