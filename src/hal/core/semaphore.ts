/**
 * Timeline semaphores (iree/hal/semaphore.h): a value that only grows, or a failure, which is for ever.
 * Whatever orders work waits for values of them: the host, queues of any device, and whoever has a promise.
 */
import type { FlagSet } from './flag-set.ts';
import { SEMAPHORE_FLAGS, type SemaphoreFlag } from './flags.ts';
import type { HostLoop } from './host-loop.ts';
import { PendingSignals, type SignalSource } from './pending-signals.ts';
import { explainWaits } from './stall.ts';
import { HalError, invalidArgument, type OperationInfo } from './status.ts';
import { WaiterHeap } from './waiter-heap.ts';

/** The largest value; IREE keeps what is above for failures. */
export const MAX_SEMAPHORE_VALUE = 2 ** 31 - 2;

export interface SemaphoreOptions {
  /** Default 0. */
  readonly initialValue?: number;
  readonly flags?: FlagSet<SemaphoreFlag>;
  /** What errors call it. */
  readonly label?: string;
}

export interface HostWaitOptions {
  /** In milliseconds of wall time; 0 looks once. Default: no limit. */
  readonly timeoutMs?: number;
  /** Gives up when it is aborted; the wait throws CANCELLED, with the reason as its cause. */
  readonly abort?: AbortSignal;
}

/** Called once: without a failure when the value was reached. */
export type ReachedCallback = (failure: HalError | undefined) => void;

/** Who is told of what a semaphore gets; `operation` is missing where the host did it. */
export interface SemaphoreObserver {
  signalled(semaphore: Semaphore, value: number, operation: OperationInfo | undefined): void;
  failed(semaphore: Semaphore, failure: HalError, operation: OperationInfo | undefined): void;
  /** The host knows where it stands: a wait for it has ended, or it was asked. */
  known(): void;
}

export class Semaphore {
  readonly label: string;
  readonly flags: FlagSet<SemaphoreFlag>;
  /** What makes the devices work that may signal it. */
  readonly loop: HostLoop;
  /** For recorders: told before anybody who waits is. */
  observer: SemaphoreObserver | undefined;
  readonly #waiters = new WaiterHeap();
  readonly #pending = new PendingSignals();
  #value: number;
  #failure: HalError | undefined;

  /** Use `LogicalDevice.createSemaphore`. */
  constructor(loop: HostLoop, { initialValue = 0, flags, label = 'semaphore' }: SemaphoreOptions = {}) {
    this.loop = loop;
    this.label = label;
    this.flags = flags ?? SEMAPHORE_FLAGS.set('default');
    this.#value = checkValue(initialValue, this);
  }

  /** The highest value that was signalled; of a failed one that from before the failure. */
  get value(): number {
    return this.#value;
  }

  /** Why it failed, if it did. */
  get failure(): HalError | undefined {
    return this.#failure;
  }

  /** Who waits for it: promises, queue operations and callbacks. */
  get waiterCount(): number {
    return this.#waiters.size;
  }

  /** The value; throws the failure of one that failed. */
  query(): number {
    this.observer?.known();
    if (this.#failure !== undefined) throw this.#failure;
    return this.#value;
  }

  /**
   * Returns whether the value grew: a value that is not above the present one, and one that comes after a
   * failure, change nothing. Throws INVALID_ARGUMENT for what is no value. `operation`: for the scheduler.
   */
  signal(value: number, operation?: OperationInfo): boolean {
    checkValue(value, this);
    if (this.#failure !== undefined || value <= this.#value) return false;
    this.#value = value;
    this.observer?.signalled(this, value, operation);
    this.#pending.removeUpTo(value);
    for (const { callback } of this.#waiters.take(value)) callback!(undefined);
    return true;
  }

  /** Fails all waits for what is not reached, now and later. Only the first failure counts. */
  fail(failure: HalError, operation?: OperationInfo): boolean {
    if (this.#failure !== undefined) return false;
    if (!(failure instanceof HalError)) throw invalidArgument(`${this.label} can only fail with a HalError`);
    this.#failure = failure;
    this.observer?.failed(this, failure, operation);
    this.#pending.removeUpTo(Number.POSITIVE_INFINITY);
    for (const { callback } of this.#waiters.take(Number.POSITIVE_INFINITY)) callback!(failure);
    return true;
  }

  /** A point of the timeline, to wait for or to signal. */
  at(value: number): Timepoint {
    return new Timepoint(this, value);
  }

  /**
   * Calls back once, at once where the value is there already; a failed semaphore fails for every value.
   * Returns what takes the callback away.
   */
  onReached(value: number, callback: ReachedCallback): () => void {
    if (this.#failure !== undefined || this.#value >= value) {
      callback(this.#failure);
      return () => {};
    }
    // reason: `fail` passes nothing but a HalError to waiters
    return this.#waiters.add(value, callback as (failure: Error | undefined) => void);
  }

  /** For the scheduler: `source`, which is in a queue of a device, is going to signal `value`. */
  addPending(value: number, source: SignalSource): void {
    if (this.#failure === undefined && value > this.#value) this.#pending.add(value, source);
  }

  /** What is going to signal at least `value` first, where a device has it already. */
  pendingSource(value: number): SignalSource | undefined {
    return this.#pending.sourceOf(value);
  }

  /** Calls back once, when there is a `pendingSource`. Returns what takes the callback away. */
  onPending(value: number, callback: () => void): () => void {
    return this.#pending.onSource(value, callback);
  }

  /** Throws the failure, DEADLINE_EXCEEDED or CANCELLED. */
  wait(value: number, options: HostWaitOptions = {}): Promise<void> {
    return waitForAll([this.at(value)], options);
  }

  /**
   * As `wait`, on the spot: lets the devices work until then. Throws FAILED_PRECONDITION where nothing that
   * could signal it has work and no time limit was given.
   */
  waitSync(value: number, options: Pick<HostWaitOptions, 'timeoutMs'> = {}): void {
    waitForAllSync([this.at(value)], options);
  }

  /** Values as they come, in steps as large as they were signalled; throws the failure. */
  async *[Symbol.asyncIterator](): AsyncGenerator<number, never> {
    for (let seen = this.query(); ; seen = this.query()) {
      yield seen;
      await this.wait(seen + 1);
    }
  }

  toString(): string {
    return `'${this.label}' at ${this.#failure === undefined ? this.#value : `failure ${this.#failure.status}`}`;
  }
}

/** A value of a semaphore. Awaiting it waits for it. */
export class Timepoint implements PromiseLike<undefined> {
  readonly semaphore: Semaphore;
  readonly value: number;

  /** Use `Semaphore.at`. Throws INVALID_ARGUMENT for what is no value. */
  constructor(semaphore: Semaphore, value: number) {
    this.semaphore = semaphore;
    this.value = checkValue(value, semaphore);
  }

  get isReached(): boolean {
    return this.semaphore.failure === undefined && this.semaphore.value >= this.value;
  }

  // biome-ignore lint/suspicious/noThenProperty: a point in time is what one awaits.
  then<Result = undefined, Failure = never>(
    onReached?: ((value: undefined) => Result | PromiseLike<Result>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.semaphore
      .wait(this.value)
      .then(() => undefined)
      .then(onReached, onFailed);
  }

  toString(): string {
    return `'${this.semaphore.label}' ≥ ${this.value}`;
  }
}

/** What stands for one or several timepoints. */
export interface HasTimepoints {
  readonly timepoints: readonly Timepoint[];
}
export type WaitInput = Timepoint | HasTimepoints | readonly [Semaphore, number];

const NO_TIMEPOINTS: readonly Timepoint[] = [];

/** All timepoints of a list, in its order. */
export function timepointsOf(list: readonly WaitInput[]): readonly Timepoint[] {
  if (list.length === 0) return NO_TIMEPOINTS;
  return list.flatMap((each) => {
    if (each instanceof Timepoint) return [each];
    if (Array.isArray(each) && each[0] instanceof Semaphore) return [each[0].at(each[1])];
    if ('timepoints' in each) return [...each.timepoints];
    throw invalidArgument(`${String(each)} is nothing to wait for, expected timepoints, fences or submissions`);
  });
}

/** Ends when all are reached; throws the first failure, DEADLINE_EXCEEDED or CANCELLED. */
export const waitForAll = (list: readonly WaitInput[], options: HostWaitOptions = {}): Promise<void> =>
  wait(timepointsOf(list), 'all', options).then(() => {});

/**
 * Ends when one is reached, with its index; throws the failure where one fails before. Throws
 * INVALID_ARGUMENT for an empty list.
 */
export async function waitForAny(list: readonly WaitInput[], options: HostWaitOptions = {}): Promise<number> {
  const timepoints = timepointsOf(list);
  if (timepoints.length === 0) throw invalidArgument('a wait for any of no timepoints would never end');
  return wait(timepoints, 'any', options);
}

/** As `waitForAll`, on the spot; see `Semaphore.waitSync`. */
export function waitForAllSync(
  list: readonly WaitInput[],
  { timeoutMs }: Pick<HostWaitOptions, 'timeoutMs'> = {},
): void {
  const timepoints = timepointsOf(list);
  const deadline = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (;;) {
    const failed = timepoints.find(({ semaphore }) => semaphore.failure !== undefined);
    const open = timepoints.filter(({ isReached }) => !isReached);
    if (failed !== undefined || open.length === 0) for (const { semaphore } of timepoints) semaphore.observer?.known();
    if (failed !== undefined) throw failed.semaphore.failure!;
    if (open.length === 0) return;
    if (performance.now() >= deadline) throw deadlineExceeded(open, timeoutMs!);
    const loops = new Set(open.map(({ semaphore }) => semaphore.loop));
    const states = [...loops].map((loop) => loop.progress());
    if (states.some((state) => state !== 'idle') || timeoutMs !== undefined) continue;
    if (open.every(({ isReached, semaphore }) => !isReached && semaphore.failure === undefined)) throw endless(open);
  }
}

function wait(timepoints: readonly Timepoint[], mode: 'all' | 'any', options: HostWaitOptions): Promise<number> {
  const { timeoutMs, abort } = options;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const cleanUp = new DisposableStack();
  let open = timepoints.length;
  let isOver = open === 0;
  if (isOver) resolve(0);
  const end = (settle: () => void): void => {
    if (isOver) return;
    isOver = true;
    for (const { semaphore } of timepoints) semaphore.observer?.known();
    settle();
    cleanUp.dispose();
  };
  const keep = (give: () => void): void => (isOver ? give() : cleanUp.defer(give));
  for (const [index, { semaphore, value }] of timepoints.entries()) {
    if (isOver) break;
    const onReached = (failure: HalError | undefined): void => {
      open--;
      if (failure !== undefined) end(() => reject(failure));
      else if (mode === 'any' || open === 0) end(() => resolve(mode === 'any' ? index : 0));
    };
    keep(semaphore.onReached(value, onReached));
  }
  if (!isOver && abort !== undefined) {
    const give = () => end(() => reject(new HalError('CANCELLED', 'the wait was aborted', { cause: abort.reason })));
    if (abort.aborted) give();
    else abort.addEventListener('abort', give);
    keep(() => abort.removeEventListener('abort', give));
  }
  if (!isOver && timeoutMs !== undefined) {
    const late = () => end(() => reject(deadlineExceeded(timepoints, timeoutMs)));
    if (timeoutMs <= 0) late();
    else {
      const timer = setTimeout(late, timeoutMs);
      keep(() => clearTimeout(timer));
    }
  }
  return promise;
}

function deadlineExceeded(timepoints: readonly Timepoint[], timeoutMs: number): HalError {
  const open = timepoints.filter(({ isReached }) => !isReached);
  const list = open.map((each) => `${each}, which is at ${each.semaphore.value}`).slice(0, 8);
  const what = `not reached within ${timeoutMs} ms: ${list.join('; ')}`;
  // Who looks once, again and again, does not want to know why.
  return new HalError('DEADLINE_EXCEEDED', timeoutMs > 0 ? `${what}${causesOf(open)}` : what);
}

/** Why they are not reached, as the end of a message. */
function causesOf(open: readonly Timepoint[]): string {
  const loops = new Set(open.map(({ semaphore }) => semaphore.loop));
  const causes = explainWaits(
    open,
    [...loops].flatMap((loop) => loop.unfinished()),
  );
  return causes.length === 0 ? '' : `: ${causes.map(({ text }) => text).join('; ')}`;
}

const endless = (open: readonly Timepoint[]): HalError =>
  new HalError(
    'FAILED_PRECONDITION',
    `a wait for ${open.join(', ')} would never end: no device has work${causesOf(open)}`,
    {
      hint: 'submit what signals it first, or use the asynchronous wait',
    },
  );

function checkValue(value: number, { label }: Pick<Semaphore, 'label'>): number {
  if (Number.isInteger(value) && value >= 0 && value <= MAX_SEMAPHORE_VALUE) return value;
  throw invalidArgument(`a value of ${value} for '${label}', expected an integer from 0 to ${MAX_SEMAPHORE_VALUE}`);
}
