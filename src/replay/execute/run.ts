/** A replay while it runs: what there is of it, and what has ended. */
import { WavewrightError } from '../../base/errors.ts';
import {
  formatStall,
  HAL_STATUS,
  type HalBuffer,
  HalError,
  type LogicalDevice,
  type Submission,
} from '../../hal/index.ts';
import type { Substitute } from './executables.ts';
import type { ReplayPlan } from './plan.ts';
import type { ReplayedCommands } from './replayed-commands.ts';
import type { FileOptions, ScriptedFile } from './replayed-files.ts';
import { ReplayedThings } from './replayed-things.ts';

/**
 * `recorded`: before each record all operations have ended that had ended there when it was recorded, or,
 * where the recording does not say, that were submitted before. `parallel`: only before what the host did or
 * saw, and where it waited; operations run side by side as far as their semaphores let them.
 */
export const REPLAY_ORDERS = ['recorded', 'parallel'] as const;
export type ReplayOrder = (typeof REPLAY_ORDERS)[number];

export interface ScopeEvent {
  readonly kind: 'begin' | 'end';
  readonly name: string;
  readonly ordinal: number;
}

export interface ReplayOptions extends FileOptions {
  /** Default `recorded`. */
  readonly order?: ReplayOrder;
  /** Other code in place of that of the recording. */
  readonly substitute?: Substitute | undefined;
  readonly onScope?: ((event: ScopeEvent) => void) | undefined;
  /** Whether bytes and statuses are held against those of the recording. Default: not. */
  readonly verifies?: boolean;
  /** How long an operation may take that had ended when it was recorded. Default 60,000 ms. */
  readonly timeoutMs?: number;
}

/** Something that is not as it was when it was recorded. */
export interface ReplayDifference {
  readonly ordinal: number;
  readonly message: string;
}

export interface ReplayOutcome {
  /** Operations of queues. */
  readonly operationCount: number;
  /** Bytes and statuses that were compared, and what differed of them. */
  readonly comparedCount: number;
  readonly differences: readonly ReplayDifference[];
  /** Buffers that were not released, by their numbers. */
  readonly buffers: ReadonlyMap<number, HalBuffer>;
  /** Gives back all that the replay made; the devices stay. */
  release(): void;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/** An operation of the replay. */
export interface ReplayedOperation {
  readonly submission: Submission<unknown>;
  /** A number of `HAL_STATUS`, 0 when it is complete. */
  readonly status: Promise<number>;
  readonly controller?: AbortController | undefined;
  readonly hostCall?: ReplayedHostCall | undefined;
  readonly file?: ScriptedFile | undefined;
}

export interface ReplayedHostCall {
  readonly begun: Promise<void>;
  readonly end: (failure: Error | undefined) => void;
}

/** What is said of the next operation. */
export interface OperationNote {
  readonly pool?: number;
  readonly abort?: 'before' | 'later';
  /** In place of that of the record: one that is no offset. */
  readonly fileOffset?: string;
}

/** Operations are in `CALLS` and `OWN_CALLS`. */
export class ReplayRun {
  readonly plan: ReplayPlan;
  readonly options: ReplayOptions;
  readonly things: ReplayedThings;
  /** Command buffers that have no end yet. */
  readonly commands = new Map<number, ReplayedCommands>();
  readonly operations = new Map<number, ReplayedOperation>();
  readonly #devices: readonly LogicalDevice[];
  readonly #order: ReplayOrder;
  #nextDevice = 0;
  note: OperationNote = {};
  /** Ends that the recording tells, and that were not waited for. */
  #told: { readonly ordinal: number; readonly status: number; readonly operation: ReplayedOperation }[] = [];
  #comparedCount = 0;
  #operationCount = 0;
  readonly #differences: ReplayDifference[] = [];

  constructor(plan: ReplayPlan, devices: readonly LogicalDevice[], options: ReplayOptions) {
    this.plan = plan;
    this.options = options;
    this.#devices = devices;
    this.#order = options.order ?? 'recorded';
    this.things = new ReplayedThings(plan.file.name);
  }

  get verifies(): boolean {
    return this.options.verifies ?? false;
  }

  /** All that the recording tells has ended; without that, all operations. */
  async finish(): Promise<ReplayOutcome> {
    await this.settle();
    if (!this.plan.hasEnds) await this.#settleAll();
    return {
      operationCount: this.#operationCount,
      comparedCount: this.#comparedCount,
      differences: this.#differences,
      buffers: this.things.buffers,
      release: () => this.things.release(),
    };
  }

  takeDevice(id: number): void {
    const device = this.#devices[this.#nextDevice++];
    if (device === undefined) throw new HalError('FAILED_PRECONDITION', 'a recording of more devices than there are');
    this.things.set(id, device);
  }

  /** What a queue does, with what is said of it. */
  operation(ordinal: number, operation: Omit<ReplayedOperation, 'status'>): Promise<void> | undefined {
    const { submission } = operation;
    const status = submission.then(
      () => 0,
      (error: unknown) => (error instanceof HalError ? error.statusValue : HAL_STATUS.UNKNOWN.value),
    );
    this.#operationCount++;
    const replayed = { ...operation, status };
    this.operations.set(ordinal, replayed);
    this.note = {};
    if (this.plan.hasEnds || this.#order === 'parallel') return undefined;
    // IREE's replay waits for each operation before the next one.
    return this.#ended(ordinal, undefined, replayed);
  }

  /** Throws BAD_INPUT. */
  operationOf(ordinal: number): ReplayedOperation {
    const found = this.operations.get(ordinal);
    if (found !== undefined) return found;
    throw new WavewrightError('BAD_INPUT', `no operation has the number ${ordinal}`, { file: this.plan.file.name });
  }

  /** The recording says that an operation has begun. */
  async started(ordinal: number): Promise<void> {
    const { submission, status } = this.operationOf(ordinal);
    const isOver = status.then(() => true);
    while (submission.state === 'waiting' || submission.state === 'ready') {
      const turn = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 0));
      if (await this.#within(Promise.race([isOver, turn]), submission)) return;
    }
  }

  /** Waits for the end of an operation, whatever comes of it. */
  ended(ordinal: number): Promise<number> {
    const { status, submission } = this.operationOf(ordinal);
    return this.#within(status, submission);
  }

  /** The recording says that an operation has ended. */
  toldEnd(ordinal: number, operationOrdinal: number, status: number): Promise<void> | undefined {
    const operation = this.operationOf(operationOrdinal);
    if (this.#order === 'parallel') {
      this.#told.push({ ordinal, status, operation });
      return undefined;
    }
    return this.#ended(ordinal, status, operation);
  }

  async #ended(
    ordinal: number,
    expected: number | undefined,
    { submission, status }: ReplayedOperation,
  ): Promise<void> {
    const found = await this.#within(status, submission);
    if (expected === undefined) {
      if (found !== 0) throw submission.failure ?? new HalError('UNKNOWN', 'an operation failed');
      return;
    }
    if (!this.verifies) return;
    this.compared(
      found === expected
        ? undefined
        : `${submission.info.kind} ended with ${statusText(found)}, it was ${statusText(expected)}`,
      ordinal,
    );
  }

  /** All that had ended has ended: the host did or saw something then. */
  settle(): Promise<void> | undefined {
    if (this.#told.length === 0) return undefined;
    const told = this.#told;
    this.#told = [];
    return Promise.all(told.map(({ ordinal, status, operation }) => this.#ended(ordinal, status, operation))).then(
      () => {},
    );
  }

  async #settleAll(): Promise<void> {
    for (const [ordinal, operation] of this.operations) await this.#ended(ordinal, undefined, operation);
  }

  /** Throws DEADLINE_EXCEEDED with what all wait for. */
  async #within<T>(promise: Promise<T>, { info, state }: Submission<unknown>): Promise<T> {
    if (state === 'complete' || state === 'failed') return promise;
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.options;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const stalls = this.#devices.map((device) => formatStall(device.explainStall())).join('\n');
        const what = `${info.kind} (operation ${info.id}) has not ended within ${timeoutMs} ms, as it had when it was recorded`;
        reject(new HalError('DEADLINE_EXCEEDED', `${what}\n${stalls}`));
      }, timeoutMs);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Something was compared; `difference`: what is not as it was. */
  compared(difference: string | undefined, ordinal: number): void {
    this.#comparedCount++;
    if (difference !== undefined) this.#differences.push({ ordinal, message: difference });
  }
}

const statusText = (value: number): string =>
  value === 0 ? 'OK' : (Object.entries(HAL_STATUS).find(([, each]) => each.value === value)?.[0] ?? String(value));
