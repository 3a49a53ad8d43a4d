/** A set of timepoints, of which each semaphore has one: the highest (iree/hal/fence.h). */
import {
  type HostWaitOptions,
  type Semaphore,
  Timepoint,
  timepointsOf,
  type WaitInput,
  waitForAll,
} from './semaphore.ts';
import type { HalError } from './status.ts';

export class Fence implements PromiseLike<undefined> {
  readonly #values = new Map<Semaphore, number>();

  constructor(...list: readonly WaitInput[]) {
    this.insert(...list);
  }

  get timepoints(): readonly Timepoint[] {
    return [...this.#values].map(([semaphore, value]) => new Timepoint(semaphore, value));
  }

  /** Adds timepoints, and those of other fences. */
  insert(...list: readonly WaitInput[]): this {
    for (const { semaphore, value } of timepointsOf(list)) {
      this.#values.set(semaphore, Math.max(value, this.#values.get(semaphore) ?? 0));
    }
    return this;
  }

  /** Whether all are reached; throws the first failure. */
  query(): boolean {
    return this.timepoints.map(({ semaphore, value }) => semaphore.query() >= value).every((isReached) => isReached);
  }

  signal(): void {
    for (const [semaphore, value] of this.#values) semaphore.signal(value);
  }

  fail(failure: HalError): void {
    for (const semaphore of this.#values.keys()) semaphore.fail(failure);
  }

  wait(options: HostWaitOptions = {}): Promise<void> {
    return waitForAll(this.timepoints, options);
  }

  // biome-ignore lint/suspicious/noThenProperty: a fence is what one awaits.
  then<Result = undefined, Failure = never>(
    onReached?: ((value: undefined) => Result | PromiseLike<Result>) | null,
    onFailed?: ((reason: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.wait()
      .then(() => undefined)
      .then(onReached, onFailed);
  }
}
