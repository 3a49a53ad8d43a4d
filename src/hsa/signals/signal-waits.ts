/**
 * Waits for several signals, and handlers that run when a signal changes (hsa_amd_signal_wait_any, _wait_all,
 * _async_handler).
 */
import { expectCallback } from '../objects/handles.ts';
import { HsaError } from '../objects/status.ts';
import {
  conditionHolds,
  expectSignals,
  type Progress,
  type Signal,
  type SignalCondition,
  type WaitOptions,
  waitAsync,
} from './signal.ts';

export interface SignalWait {
  readonly signal: Signal;
  readonly condition: SignalCondition;
  readonly value: bigint;
}

/** `value`: what the signal held. Returns whether to go on watching. */
export type SignalHandler = (value: bigint) => boolean;

const holds = ({ signal, condition, value }: SignalWait): boolean => conditionHolds(condition, signal.load(), value);

/** Lets the runtime work until `look` finds something or the time is over. */
function waitFor<T>(runtime: Progress, look: () => T | undefined, { timeoutMs }: WaitOptions): T | undefined {
  const deadline = performance.now() + (timeoutMs ?? Number.POSITIVE_INFINITY);
  for (;;) {
    const found = look();
    if (found !== undefined || performance.now() >= deadline) return found;
    if (runtime.progress() !== 'idle') continue;
    const last = look();
    if (last !== undefined) return last;
    if (runtime.failure !== undefined) throw runtime.failure;
    if (timeoutMs !== undefined) return undefined;
    throw new HsaError('ERROR', 'a wait for several signals would never end: no queue has work', {}, 'USAGE');
  }
}

/** Throws INVALID_ARGUMENT without waits, INVALID_SIGNAL. */
function check(runtime: Progress, waits: readonly SignalWait[]): void {
  if (waits.length === 0) throw new HsaError('INVALID_ARGUMENT', 'a wait for no signal');
  expectSignals(
    runtime,
    waits.map(({ signal }) => signal),
  );
}

function firstOf(runtime: Progress, waits: readonly SignalWait[]): () => number | undefined {
  check(runtime, waits);
  return () => {
    const index = waits.findIndex(holds);
    return index < 0 ? undefined : index;
  };
}

function allOf(runtime: Progress, waits: readonly SignalWait[]): () => true | undefined {
  check(runtime, waits);
  return () => waits.every(holds) || undefined;
}

/** Index of the first wait that holds; undefined when the time ran out. Errors as `Signal.waitSync`. */
export function waitAny(
  runtime: Progress,
  waits: readonly SignalWait[],
  options: WaitOptions = {},
): number | undefined {
  return waitFor(runtime, firstOf(runtime, waits), options);
}

/** As `waitAny`, while the event loop has its turns. Errors as `Signal.wait`. */
export async function waitAnyAsync(
  runtime: Progress,
  waits: readonly SignalWait[],
  options: WaitOptions = {},
): Promise<number | undefined> {
  return waitAsync(runtime, firstOf(runtime, waits), options);
}

/** Whether all hold at the same time before the time runs out. */
export function waitAll(runtime: Progress, waits: readonly SignalWait[], options: WaitOptions = {}): boolean {
  return waitFor(runtime, allOf(runtime, waits), options) ?? false;
}

/** As `waitAll`, while the event loop has its turns. Errors as `Signal.wait`. */
export async function waitAllAsync(
  runtime: Progress,
  waits: readonly SignalWait[],
  options: WaitOptions = {},
): Promise<boolean> {
  return (await waitAsync(runtime, allOf(runtime, waits), options)) ?? false;
}

/**
 * Handlers of signals; each runs once for every time that it is looked at and its condition holds, until it
 * returns false.
 */
export class SignalHandlers {
  readonly #watched = new Set<{ readonly wait: SignalWait; readonly handler: SignalHandler }>();

  /**
   * Returns what removes the handler again; it goes with its signal, too. Throws INVALID_SIGNAL,
   * INVALID_ARGUMENT.
   */
  add(runtime: Progress, wait: SignalWait, handler: SignalHandler): () => void {
    expectSignals(runtime, [wait.signal]);
    expectCallback(handler);
    conditionHolds(wait.condition, 0n, wait.value);
    const entry = { wait, handler };
    this.#watched.add(entry);
    return () => this.#watched.delete(entry);
  }

  /** Calls what is due; returns whether any handler ran. */
  process(): boolean {
    // Asked for each packet, and most programs have none.
    if (this.#watched.size === 0) return false;
    let moved = false;
    for (const entry of [...this.#watched]) {
      const { signal, condition, value } = entry.wait;
      if (!signal.isLive) {
        this.#watched.delete(entry);
        continue;
      }
      const seen = signal.load();
      if (!this.#watched.has(entry) || !conditionHolds(condition, seen, value)) continue;
      moved = true;
      if (!entry.handler(seen)) this.#watched.delete(entry);
    }
    return moved;
  }
}
