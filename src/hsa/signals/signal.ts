/**
 * Signals: 64-byte `amd_signal_t` objects in device memory, so that kernels, packets and the host share them
 * by address (HSA runtime 1.2, section 2.4).
 */

import { hex } from '../../base/text.ts';
import type { AdvanceResult } from '../../device/device.ts';
import { type GuestAddress, guestAddress, type HostAddress } from '../../device/guest-address.ts';
import type { DeviceMemory, GuestAccess, GuestMemory } from '../../device/memory.ts';
import type { Agent } from '../objects/agent.ts';
import { expectHandle } from '../objects/handles.ts';
import { SIGNAL, SIGNAL_KIND } from '../objects/layouts.ts';
import type { Lifetime } from '../objects/lifetime.ts';
import { HsaError } from '../objects/status.ts';

export type SignalCondition = 'eq' | 'ne' | 'lt' | 'gte';

/**
 * Memory orders that operations can be asked for. JavaScript's atomic operations have one order, which is
 * stronger than all of them (sequential consistency), so that every one is honoured.
 */
export type LoadOrder = 'relaxed' | 'scacquire';
export type StoreOrder = 'relaxed' | 'screlease';
export type MemoryOrder = LoadOrder | StoreOrder | 'scacq_screl';

export interface WaitOptions {
  /** A hint, as in HSA: when it has passed the wait returns whatever the value is. Default: no limit. */
  timeoutMs?: number;
}

/**
 * What a wait needs from the runtime: a way to let queues and devices work, and the reason why they stopped.
 */
export interface Progress {
  progress(sliceMs?: number): AdvanceResult;
  /** The error of a queue that stopped, if one did: what was waited for will not happen. */
  readonly failure: Error | undefined;
  readonly lifetime: Lifetime;
}

type SignalWords = BigInt64Array<SharedArrayBuffer>;

const wordsOf = ({ buffer, byteOffset }: Uint8Array<SharedArrayBuffer>): SignalWords =>
  new BigInt64Array(buffer, byteOffset, SIGNAL.sizeBytes / 8);

/** The eight 64-bit words of a signal that the host placed. */
const hostSignalWords = (memory: DeviceMemory, address: HostAddress): SignalWords =>
  wordsOf(memory.view(address, SIGNAL.sizeBytes));

/** The words of a signal that a packet names. Throws INVALID_SIGNAL where the GPU could not use one so. */
export function guestSignalWords(memory: GuestMemory, address: GuestAddress, access: GuestAccess): SignalWords {
  const bytes = address % 64n === 0n ? memory.guestView(address, SIGNAL.sizeBytes, access) : undefined;
  if (bytes !== undefined) return wordsOf(bytes);
  throw new HsaError(
    'INVALID_SIGNAL',
    `no signal at ${hex(address)}: expected a 64-byte aligned one that the GPU may ${access}`,
  );
}

const VALUE = SIGNAL.value / 8;
/** Takes an event's number. */
const MAILBOX_BYTES = 8;

/** Makes 64 bytes a signal of kind USER. */
export function initializeSignal(memory: DeviceMemory, address: HostAddress, initial: bigint): void {
  const words = hostSignalWords(memory, address).fill(0n);
  words[SIGNAL.kind / 8] = SIGNAL_KIND.user;
  words[VALUE] = initial;
}

/** How long an asynchronous wait keeps the event loop waiting. */
const ASYNC_SLICE_MS = 5;

/** What a packet or a copy waits for. Throws INVALID_SIGNAL. */
export function signalValue(memory: GuestMemory, address: GuestAddress): bigint {
  return Atomics.load(guestSignalWords(memory, address, 'read'), VALUE);
}

/**
 * What a packet processor does with a completion signal: time stamps, then the value, then the event mailbox.
 * All of it is GPU code's to write, the mailbox's address too. Throws INVALID_SIGNAL and MEMORY_FAULT where
 * the GPU could not write; then nothing is written.
 */
export function completeSignal(memory: GuestMemory, address: GuestAddress, startTicks: bigint, endTicks: bigint): void {
  const words = guestSignalWords(memory, address, 'write');
  const mailbox = guestAddress(BigInt.asUintN(64, words[SIGNAL.eventMailboxPtr / 8]!));
  const target = mailbox === 0n ? undefined : memory.guestView(mailbox, MAILBOX_BYTES, 'write');
  if (mailbox !== 0n && target === undefined) {
    const what = `the event mailbox ${hex(mailbox)} of the signal ${hex(address)}`;
    throw new HsaError('MEMORY_FAULT', `${what} is not in memory that the GPU may write`);
  }
  Atomics.store(words, SIGNAL.startTicks / 8, startTicks);
  Atomics.store(words, SIGNAL.endTicks / 8, endTicks);
  Atomics.sub(words, VALUE, 1n);
  if (target === undefined) return;
  const event = BigInt.asUintN(32, words[SIGNAL.eventId / 8]!);
  new DataView(target.buffer, target.byteOffset).setBigUint64(0, event, true);
}

/** Makes a signal say that what it stands for failed; false where it cannot be written either. */
export function failSignal(memory: GuestMemory, address: GuestAddress, { hsaStatus }: HsaError): boolean {
  const bytes = memory.guestView(address, SIGNAL.sizeBytes, 'write');
  if (bytes !== undefined) Atomics.store(wordsOf(bytes), VALUE, BigInt(-hsaStatus));
  return bytes !== undefined;
}

/** Throws INVALID_ARGUMENT for another condition. */
export function conditionHolds(condition: SignalCondition, value: bigint, compare: bigint): boolean {
  switch (condition) {
    case 'eq':
      return value === compare;
    case 'ne':
      return value !== compare;
    case 'lt':
      return value < compare;
    case 'gte':
      return value >= compare;
    default:
      throw new HsaError('INVALID_ARGUMENT', `condition '${condition}', expected eq, ne, lt or gte`);
  }
}

/**
 * Values are signed 64-bit; arithmetic wraps. All operations throw INVALID_SIGNAL once the signal is
 * disposed, NOT_INITIALIZED once the runtime is shut down.
 */
export class Signal implements Disposable {
  readonly address: bigint;
  readonly memory: DeviceMemory;
  /** Agents that may wait for it; empty: all. */
  readonly consumers: readonly Agent[];
  readonly #runtime: Progress;
  readonly #release: () => void;
  #live: BigInt64Array<SharedArrayBuffer> | undefined;

  /** Use `Runtime.createSignal`. The 64 bytes are a signal already; `release` gives them back. */
  constructor(
    memory: DeviceMemory,
    address: bigint,
    runtime: Progress,
    release: () => void,
    consumers: readonly Agent[] = [],
  ) {
    this.address = address;
    this.memory = memory;
    this.consumers = consumers;
    this.#live = hostSignalWords(memory, address);
    this.#runtime = runtime;
    this.#release = release;
  }

  /** Throws when the signal or the runtime is gone: its memory may be another's now. */
  get #words(): BigInt64Array<SharedArrayBuffer> {
    this.#runtime.lifetime.expect();
    if (this.#live !== undefined) return this.#live;
    throw new HsaError('INVALID_SIGNAL', `signal ${hex(this.address)} was destroyed`);
  }

  /**
   * Throws INVALID_SIGNAL for a signal of another runtime and for one that was destroyed, NOT_INITIALIZED.
   */
  expectOf(runtime: Progress): void {
    if (this.#words !== undefined && this.#runtime === runtime) return;
    throw new HsaError('INVALID_SIGNAL', `signal ${hex(this.address)} belongs to another runtime`);
  }

  load(_order?: LoadOrder): bigint {
    return Atomics.load(this.#words, VALUE);
  }

  store(value: bigint, _order?: StoreOrder): void {
    Atomics.store(this.#words, VALUE, value);
  }

  /**
   * A store that need not wake who waits (hsa_signal_silent_store): waits look at the value here, so it is a
   * store.
   */
  silentStore(value: bigint, order?: StoreOrder): void {
    this.store(value, order);
  }

  exchange(value: bigint, _order?: MemoryOrder): bigint {
    return Atomics.exchange(this.#words, VALUE, value);
  }

  /** Stores `value` if the signal holds `expected`; returns what it held. */
  compareAndSwap(expected: bigint, value: bigint, _order?: MemoryOrder): bigint {
    return Atomics.compareExchange(this.#words, VALUE, expected, value);
  }

  add(value: bigint, _order?: MemoryOrder): void {
    Atomics.add(this.#words, VALUE, value);
  }

  subtract(value: bigint, _order?: MemoryOrder): void {
    Atomics.sub(this.#words, VALUE, value);
  }

  and(value: bigint, _order?: MemoryOrder): void {
    Atomics.and(this.#words, VALUE, value);
  }

  or(value: bigint, _order?: MemoryOrder): void {
    Atomics.or(this.#words, VALUE, value);
  }

  xor(value: bigint, _order?: MemoryOrder): void {
    Atomics.xor(this.#words, VALUE, value);
  }

  /** Whether it can be used. */
  get isLive(): boolean {
    return this.#live !== undefined && this.#runtime.lifetime.isLive;
  }

  /** Device clock ticks of the packet that completed this signal last; 0 before. */
  get startTicks(): bigint {
    return Atomics.load(this.#words, SIGNAL.startTicks / 8);
  }

  get endTicks(): bigint {
    return Atomics.load(this.#words, SIGNAL.endTicks / 8);
  }

  /**
   * Lets queues and devices work until `signal condition value` holds or the time is over; returns the value
   * seen last. Throws the error of a queue that stopped. Throws USAGE where nothing that could change the
   * signal runs and no time limit was given.
   */
  waitSync(condition: SignalCondition, value: bigint, options: WaitOptions = {}): bigint {
    const deadline = performance.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const seen = this.load();
      if (conditionHolds(condition, seen, value) || performance.now() >= deadline) return seen;
      if (this.#runtime.progress() !== 'idle' || conditionHolds(condition, this.load(), value)) continue;
      if (this.#runtime.failure !== undefined) throw this.#runtime.failure;
      if (options.timeoutMs !== undefined) return this.load();
      throw new HsaError(
        'ERROR',
        `a wait for signal ${hex(this.address)} ${condition} ${value} would never end: it holds ${this.load()} and no queue has work`,
        { hint: 'dispatch what completes the signal first, or use the asynchronous wait' },
        'USAGE',
      );
    }
  }

  /**
   * As `waitSync`, but gives the event loop its turn between slices, so that other host code may change the
   * signal.
   */
  async wait(condition: SignalCondition, value: bigint, options: WaitOptions = {}): Promise<bigint> {
    const look = (): bigint | undefined => {
      const seen = this.load();
      return conditionHolds(condition, seen, value) ? seen : undefined;
    };
    return (await waitAsync(this.#runtime, look, options)) ?? this.load();
  }

  /** Idempotent. */
  [Symbol.dispose](): void {
    if (this.#live === undefined) return;
    this.#live = undefined;
    if (this.#runtime.lifetime.isLive) this.#release();
  }
}

/** Throws INVALID_SIGNAL for what is no signal of the runtime, or none any more, NOT_INITIALIZED. */
export function expectSignals(runtime: Progress, signals: readonly Signal[]): void {
  runtime.lifetime.expect();
  for (const signal of signals) {
    expectHandle(signal, Signal, 'INVALID_SIGNAL');
    signal.expectOf(runtime);
  }
}

/**
 * Lets the runtime work until `look` finds something or the time is over, with turns of the event loop in
 * between. Throws the error of a queue that stopped.
 */
export async function waitAsync<T>(
  runtime: Progress,
  look: () => T | undefined,
  { timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions,
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const found = look();
    if (found !== undefined || performance.now() >= deadline) return found;
    // Many short packets are worth more than one turn of the event loop each.
    const end = performance.now() + ASYNC_SLICE_MS;
    let result = runtime.progress();
    while (result === 'running' && look() === undefined && performance.now() < end) result = runtime.progress();
    if (look() !== undefined) continue;
    if (result === 'idle' && runtime.failure !== undefined) throw runtime.failure;
    await new Promise((resolve) => setTimeout(resolve, result === 'running' ? 0 : 1));
  }
}
