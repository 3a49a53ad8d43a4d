/**
 * What the threads of a device tell each other, in shared words of their own, which the GPU cannot reach.
 * Words that several threads write are only accessed atomically; texts are read after the word that announces
 * them.
 */
import { assert } from '../../base/errors.ts';
import type { WorkgroupClaims, WorkgroupRange } from '../schedule/workgroup-claims.ts';

// For all threads: rung by workers when the main thread should look, by the main thread when sleeping waves
// should; how often code was withdrawn; and the epoch, which begins when memory is freed.
const BELL = 0;
const WAKE = 1;
const GENERATION = 2;
const EPOCH = 3;
const COMMON_BYTES = 64;

// For each team.
const CLAIM_NEXT = 0;
const CLAIM_END = 8;
const CLAIM_STOP = 16;
const CLAIM_BYTES = 64;

// For each worker.
const STATE = 0;
const CALL = 1;
const TEXT_SIZE = 2;
const RESIDENT_COUNT = 3;
const PASSED = 4;
const RESIDENTS = 5;
const MAX_RESIDENTS = 1000;
const TEXT_OFFSET = 4096;
const WORKER_BYTES = 16384;
/**
 * Of each text in a message, which has two of them at most: as JSON in UTF-8 a character takes up to 6 bytes.
 */
const MAX_CHARACTERS = 1000;

/**
 * What a worker does: `asleep`: all its waves sleep. A job that it has not begun is the negative of the job's
 * number.
 */
export const WORKER_STATES = { idle: 0, running: 1, asleep: 2, finished: 3 } as const;
const CALLS = { none: 0, asked: 1, answered: 2 } as const;

/** The words that all threads of a device share. */
export class ControlBlock {
  readonly buffer: SharedArrayBuffer;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #workers: number;

  /** Of so many workers beside the main thread; `buffer` is that of another thread's block. */
  constructor(workers: number, buffer = new SharedArrayBuffer(COMMON_BYTES + workers * (CLAIM_BYTES + WORKER_BYTES))) {
    this.buffer = buffer;
    this.#workers = workers;
    this.#words = new Int32Array(buffer, 0, COMMON_BYTES / 4);
  }

  claims(team: number): Claims {
    return new Claims(this.buffer, COMMON_BYTES + team * CLAIM_BYTES, this.#workers + 1);
  }

  worker(index: number): WorkerWords {
    return new WorkerWords(this.buffer, COMMON_BYTES + this.#workers * CLAIM_BYTES + index * WORKER_BYTES);
  }

  /** Lets the main thread look at the workers. */
  ring(): void {
    Atomics.add(this.#words, BELL, 1);
    Atomics.notify(this.#words, BELL);
  }

  /** What `waitForBell` compares: read before the workers are looked at. */
  get bell(): number {
    return Atomics.load(this.#words, BELL);
  }

  waitForBell(seen: number, timeoutMs: number): void {
    Atomics.wait(this.#words, BELL, seen, timeoutMs);
  }

  /** Lets workers whose waves all sleep look again. */
  wake(): void {
    Atomics.add(this.#words, WAKE, 1);
    Atomics.notify(this.#words, WAKE);
  }

  get wakes(): number {
    return Atomics.load(this.#words, WAKE);
  }

  waitForWake(seen: number, timeoutMs: number): void {
    Atomics.wait(this.#words, WAKE, seen, timeoutMs);
  }

  /** Changes when code was withdrawn. */
  get generation(): number {
    return Atomics.load(this.#words, GENERATION);
  }

  withdraw(): void {
    Atomics.add(this.#words, GENERATION, 1);
  }

  get epoch(): number {
    return Atomics.load(this.#words, EPOCH);
  }

  /**
   * Begins the next epoch and returns it. What the main thread stored before is seen by whoever sees the
   * epoch.
   */
  beginEpoch(): number {
    return (Atomics.add(this.#words, EPOCH, 1) + 1) | 0;
  }
}

/** The workgroups of a dispatch that no thread has begun. */
export class Claims implements WorkgroupClaims {
  readonly #longs: BigInt64Array<SharedArrayBuffer>;
  readonly #stop: Int32Array<SharedArrayBuffer>;
  readonly #threads: number;

  constructor(buffer: SharedArrayBuffer, offset: number, threads: number) {
    this.#longs = new BigInt64Array(buffer, offset, 2);
    this.#stop = new Int32Array(buffer, offset + CLAIM_STOP, 1);
    this.#threads = threads;
  }

  open({ first, end }: WorkgroupRange): void {
    Atomics.store(this.#stop, 0, 0);
    Atomics.store(this.#longs, CLAIM_NEXT / 8, BigInt(first));
    Atomics.store(this.#longs, CLAIM_END / 8, BigInt(end));
  }

  get #end(): number {
    return Number(Atomics.load(this.#longs, CLAIM_END / 8));
  }

  get left(): number {
    return Math.max(0, this.#end - Number(Atomics.load(this.#longs, CLAIM_NEXT / 8)));
  }

  /** Smaller ranges towards the end, so that all threads end at about the same time. */
  take(count: number): WorkgroupRange {
    const wanted = Math.min(count, Math.ceil(this.left / (2 * this.#threads)));
    const first = wanted > 0 ? Number(Atomics.add(this.#longs, CLAIM_NEXT / 8, BigInt(wanted))) : this.#end;
    return { first: Math.min(first, this.#end), end: Math.min(first + wanted, this.#end) };
  }

  /** Nobody goes on with this dispatch. */
  stop(): void {
    Atomics.store(this.#stop, 0, 1);
  }

  get stopped(): boolean {
    return Atomics.load(this.#stop, 0) !== 0;
  }
}

/** The words between the main thread and one worker. */
export class WorkerWords {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #text: Uint8Array<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer, offset: number) {
    this.#words = new Int32Array(buffer, offset, TEXT_OFFSET / 4);
    this.#text = new Uint8Array(buffer, offset + TEXT_OFFSET, WORKER_BYTES - TEXT_OFFSET);
  }

  get state(): number {
    return Atomics.load(this.#words, STATE);
  }

  set state(state: number) {
    Atomics.store(this.#words, STATE, state);
  }

  /** The thread runs no code, and will see all that was stored before the epoch began. */
  pass(epoch: number): void {
    Atomics.store(this.#words, PASSED, epoch);
  }

  /**
   * Whether the thread has run no code at some time since the epoch began: it passed it, or waits for the
   * host or the main thread.
   */
  hasPassed(epoch: number): boolean {
    const { state } = this;
    if (state !== WORKER_STATES.running || Atomics.load(this.#words, CALL) !== CALLS.none) return true;
    // Epochs wrap.
    return ((Atomics.load(this.#words, PASSED) - epoch) | 0) >= 0;
  }

  assign(job: number): void {
    Atomics.store(this.#words, STATE, -job);
  }

  /**
   * Begins a job, by the worker, or takes it back, by the main thread; false when the other one was faster.
   */
  take(job: number, state: number): boolean {
    return Atomics.compareExchange(this.#words, STATE, -job, state) === -job;
  }

  /** Asks the main thread and waits for its answer. `ring` calls it. */
  ask(question: unknown, ring: () => void): unknown {
    this.#write(question);
    Atomics.store(this.#words, CALL, CALLS.asked);
    ring();
    while (Atomics.load(this.#words, CALL) !== CALLS.answered) Atomics.wait(this.#words, CALL, CALLS.asked);
    Atomics.store(this.#words, CALL, CALLS.none);
    return this.#read();
  }

  /** Answers the question that the worker waits for, if it does. */
  answer(respond: (question: unknown) => unknown): void {
    if (Atomics.load(this.#words, CALL) !== CALLS.asked) return;
    this.#write(respond(this.#read()));
    Atomics.store(this.#words, CALL, CALLS.answered);
    Atomics.notify(this.#words, CALL);
  }

  /** Leaves what came of a job, and ends it. */
  finish(outcome: unknown): void {
    this.#write(outcome);
    this.state = WORKER_STATES.finished;
  }

  outcome(): unknown {
    return this.#read();
  }

  #write(value: unknown): void {
    const bytes = new TextEncoder().encode(
      JSON.stringify(value, (_, part) => (typeof part === 'string' ? shortened(part) : part)),
    );
    assert(bytes.length <= this.#text.length, 'a text between threads fits');
    this.#text.set(bytes);
    this.#words[TEXT_SIZE] = bytes.length;
  }

  #read(): unknown {
    // The decoder takes no shared memory.
    return JSON.parse(new TextDecoder().decode(this.#text.slice(0, this.#words[TEXT_SIZE])));
  }

  /**
   * Where the runner's parts of the resident workgroups are (group-layout.ts); of very many the first ones.
   */
  get residents(): readonly number[] {
    return [...this.#words.subarray(RESIDENTS, RESIDENTS + this.#words[RESIDENT_COUNT]!)];
  }

  set residents(groups: readonly number[]) {
    const listed = groups.slice(0, MAX_RESIDENTS);
    this.#words.set(listed, RESIDENTS);
    this.#words[RESIDENT_COUNT] = listed.length;
  }
}

const shortened = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 3)}...` : text;
