/** Signals that are waited for together (hsa_signal_group_t; HSA runtime 1.2, section 2.4). */
import type { Agent } from '../objects/agent.ts';
import { HsaError } from '../objects/status.ts';
import { expectSignals, type Progress, type Signal, type SignalCondition, type WaitOptions } from './signal.ts';
import { waitAny } from './signal-waits.ts';

export interface SignalGroupEvent {
  readonly signal: Signal;
  /** What it held. */
  readonly value: bigint;
}

export class SignalGroup implements Disposable {
  readonly signals: readonly Signal[];
  readonly consumers: readonly Agent[];
  readonly #runtime: Progress;
  #isDisposed = false;

  /**
   * Use `Runtime.createSignalGroup`. Throws INVALID_ARGUMENT without signals or consumers, INVALID_SIGNAL.
   */
  constructor(runtime: Progress, signals: readonly Signal[], consumers: readonly Agent[]) {
    if (signals.length === 0) throw new HsaError('INVALID_ARGUMENT', 'a signal group without signals');
    if (consumers.length === 0) throw new HsaError('INVALID_ARGUMENT', 'a signal group without consumers');
    expectSignals(runtime, signals);
    this.signals = [...signals];
    this.consumers = [...consumers];
    this.#runtime = runtime;
  }

  /**
   * Waits until one of the signals fulfils its condition; undefined when the time ran out. Throws
   * INVALID_SIGNAL_GROUP after disposal, INVALID_ARGUMENT when there is not one condition and value per
   * signal.
   */
  waitAny(
    conditions: readonly SignalCondition[],
    values: readonly bigint[],
    options: WaitOptions = {},
  ): SignalGroupEvent | undefined {
    this.#runtime.lifetime.expect();
    if (this.#isDisposed) throw new HsaError('INVALID_SIGNAL_GROUP', 'the signal group was destroyed');
    const count = this.signals.length;
    if (conditions.length !== count || values.length !== count) {
      const what = `${conditions.length} conditions and ${values.length} values`;
      throw new HsaError('INVALID_ARGUMENT', `${what} for a group of ${count} signals`);
    }
    const waits = this.signals.map((signal, i) => ({ signal, condition: conditions[i]!, value: values[i]! }));
    const index = waitAny(this.#runtime, waits, options);
    const signal = index === undefined ? undefined : this.signals[index]!;
    return signal && { signal, value: signal.load() };
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    this.#isDisposed = true;
  }
}
