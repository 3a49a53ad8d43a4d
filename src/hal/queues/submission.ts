/** An operation that was given to a queue: what it waits for, what it signals, and what became of it. */

import type { DispatchCommand } from '../backend/command.ts';
import type { DeviceOrder, OrderedBackend, WaitStrategy } from '../backend/order.ts';
import type { CommandBuffer } from '../commands/command-buffer.ts';
import type { HostLoop } from '../core/host-loop.ts';
import type { SignalSource } from '../core/pending-signals.ts';
import { type HasTimepoints, Semaphore, type Timepoint, type WaitInput } from '../core/semaphore.ts';
import { type HalError, type OperationInfo, operationError } from '../core/status.ts';
import type { BufferAllocation } from '../memory/buffer.ts';
import type { Retained } from '../memory/retained.ts';

/** What orders an operation: nothing but semaphores does, not even the order of submission. */
export interface OrderOptions {
  /** All of them are reached before it begins; the first failure fails it. */
  readonly waits?: readonly WaitInput[];
  /** Signalled when it is complete, or failed when it failed. */
  readonly signals?: readonly WaitInput[];
  /** What errors and events call it. */
  readonly label?: string;
  /** Aborted before the operation began, it fails with CANCELLED; one that has begun goes on. */
  readonly abort?: AbortSignal;
}

/** What an operation is about, for who follows it. */
export interface OperationSubject {
  /** Bytes that it moves, fills, or asks for. */
  readonly payloadBytes?: number;
  /** Of an `alloca` and a `dealloca`. */
  readonly allocation?: BufferAllocation;
  /** Of an `execute`. */
  readonly commands?: CommandBuffer;
  /** Of a `dispatch`; counts that memory has are there when it has begun. */
  readonly dispatch?: Pick<DispatchCommand, 'entry' | 'groups' | 'workgroupSize'>;
}

/** What the scheduler needs of an operation. */
export interface Work {
  readonly info: OperationInfo;
  readonly subject?: OperationSubject | undefined;
  readonly waits: readonly Timepoint[];
  readonly signals: readonly Timepoint[];
  readonly resources: readonly Retained[];
  readonly abort?: AbortSignal | undefined;
  /** The queue that may take it while its waits are open; absent where the host has to wait. */
  readonly orderedBy?: OrderedBackend | undefined;
  /** Operations of its queue, by how their waits were resolved. */
  readonly strategyCounts: Record<WaitStrategy, number>;
  /** Begins it; `done` is called once. What it throws is its failure. `order`: for `orderedBy`. */
  readonly run: (done: (error?: unknown) => void, order?: DeviceOrder) => void;
  /** It is not going to run. */
  readonly onSkipped?: (() => void) | undefined;
  /** It was run and failed; `onSkipped` is not called then. */
  readonly onFailed?: (() => void) | undefined;
}

export type SubmissionState = 'waiting' | 'ready' | 'running' | 'complete' | 'failed';

const NO_TIMEPOINTS: readonly Timepoint[] = [];

/** Awaiting it waits for its end, and throws its failure; it can be waited for by other operations. */
export class Submission<Result = void> implements PromiseLike<Result>, HasTimepoints {
  readonly info: OperationInfo;
  /** What it makes, such as the buffer of an `alloca`; its contents are valid at the end. */
  readonly result: Result;
  readonly #loop: HostLoop;
  #state: SubmissionState = 'waiting';
  #failure: HalError | undefined;
  /** Made when somebody asks for it. */
  #end: Semaphore | undefined;
  /** Where a device has it. */
  #source: SignalSource | undefined;

  /** Use the methods of `HalQueue`. */
  constructor(info: OperationInfo, result: Result, loop: HostLoop) {
    this.info = info;
    this.result = result;
    this.#loop = loop;
  }

  get state(): SubmissionState {
    return this.#state;
  }

  get failure(): HalError | undefined {
    return this.#failure;
  }

  /** Its end, as a point of a timeline of its own. */
  get timepoints(): readonly [Timepoint] {
    if (this.#end === undefined) {
      this.#end = new Semaphore(this.#loop, { label: `end of ${this.info.kind} ${this.info.id}` });
      if (this.#state === 'complete') this.#end.signal(1);
      if (this.#failure !== undefined) this.#end.fail(this.#failure);
      if (this.#source !== undefined) this.#end.addPending(1, this.#source);
    }
    return [this.#end.at(1)];
  }

  /** `timepoints`, if somebody asked for them: nobody else can wait for them. */
  get askedTimepoints(): readonly Timepoint[] {
    return this.#end === undefined ? NO_TIMEPOINTS : [this.#end.at(1)];
  }

  // biome-ignore lint/suspicious/noThenProperty: the end of an operation is what one awaits.
  then<Value = Result, Failure = never>(
    onEnd?: ((value: Result) => Value | PromiseLike<Value>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Value | Failure> {
    if (this.#state === 'complete') {
      this.#end?.observer?.known();
      return Promise.resolve(this.result).then(onEnd, onFailed);
    }
    const [end] = this.timepoints;
    return end.semaphore
      .wait(end.value)
      .then(() => this.result)
      .then(onEnd, onFailed);
  }

  /** For the scheduler. */
  enter(state: 'ready' | 'running'): void {
    this.#state = state;
  }

  /** For the scheduler: a device has it. */
  issued(source: SignalSource): void {
    this.#source = source;
    this.#end?.addPending(1, source);
  }

  /** For the scheduler; `announce` follows. */
  finish(failure: HalError | undefined): void {
    this.#source = undefined;
    this.#state = failure === undefined ? 'complete' : 'failed';
    this.#failure = failure;
  }

  /** For the scheduler: tells who waits. */
  announce(): void {
    if (this.#failure === undefined) this.#end?.signal(1);
    else this.#end?.fail(this.#failure);
  }
}

export const notRun = (info: OperationInfo, wait: Timepoint, cause: HalError): HalError =>
  operationError(info, `was not run: its wait for ${wait} failed`, cause);
