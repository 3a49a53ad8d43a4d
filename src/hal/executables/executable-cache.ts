/** Executables by what they are made of (iree/hal/executable_cache.h): the same code is loaded once. */
import { HalError } from '../core/status.ts';
import type { CodeLoadOptions, HalExecutable } from './executable.ts';

export interface ExecutableCacheOptions {
  /** Executables that it holds at most. Default 1024. */
  readonly maxCount?: number;
}

interface Entry {
  readonly executable: HalExecutable;
  /** Copies of the bytes that it is made of; what is not bytes is the same when it is the same object. */
  readonly parts: readonly unknown[];
}

/** Its executables belong to it: `using` gives them all back, as soon as no operation needs them. */
export class ExecutableCache implements Disposable {
  readonly #load: (code: unknown, options: CodeLoadOptions) => HalExecutable;
  readonly #maxCount: number;
  /** By what is cheap to know of the parts. */
  readonly #entries = new Map<string, Entry[]>();
  #count = 0;
  #hitCount = 0;

  /** Use `LogicalDevice.createExecutableCache`. */
  constructor(
    load: (code: unknown, options: CodeLoadOptions) => HalExecutable,
    { maxCount = 1024 }: ExecutableCacheOptions,
  ) {
    this.#load = load;
    this.#maxCount = maxCount;
  }

  /** Executables that it holds, and how often one that was there was asked for. */
  get statistics(): { readonly count: number; readonly hitCount: number } {
    return { count: this.#count, hitCount: this.#hitCount };
  }

  /**
   * What `LogicalDevice.load` gives, the same for the same code and constants; `name` is that of the first.
   * Variables are shared, then. Throws what `load` does, RESOURCE_EXHAUSTED when the cache is full.
   */
  prepare(code: unknown, options: CodeLoadOptions = {}): HalExecutable {
    const parts = partsOf(code, options);
    const key = parts.map(summary).join();
    const known = this.#entries.get(key)?.find((entry) => areSame(entry, parts));
    if (known !== undefined) {
      this.#hitCount++;
      return known.executable;
    }
    this.#forgetDisposed();
    if (this.#count >= this.#maxCount) {
      throw new HalError('RESOURCE_EXHAUSTED', `an executable cache of ${this.#maxCount} executables is full`);
    }
    const executable = this.#load(code, options);
    const kept = parts.map((part) => (part instanceof Uint8Array ? part.slice() : part));
    this.#entries.set(key, [...(this.#entries.get(key) ?? []), { executable, parts: kept }]);
    this.#count++;
    return executable;
  }

  /** Who has one of the executables may dispose it. */
  #forgetDisposed(): void {
    this.#count = 0;
    for (const [key, entries] of this.#entries) {
      const live = entries.filter(({ executable }) => !executable.isDisposed);
      this.#count += live.length;
      if (live.length > 0) this.#entries.set(key, live);
      else this.#entries.delete(key);
    }
  }

  [Symbol.dispose](): void {
    for (const { executable } of [...this.#entries.values()].flat()) executable[Symbol.dispose]();
    this.#entries.clear();
    this.#count = 0;
  }
}

/** Code, then names and values of constants. */
function partsOf(code: unknown, { constants = {} }: CodeLoadOptions): unknown[] {
  const pieces: readonly unknown[] = Array.isArray(code) ? code : [code];
  const values = Object.entries(constants).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return [...pieces, ...values.flat()].map((part) =>
    ArrayBuffer.isView(part) ? new Uint8Array(part.buffer, part.byteOffset, part.byteLength) : part,
  );
}

/** Bytes that are looked at for the key; what has the same key is compared as a whole. */
const MAX_SUMMED = 4096;

function summary(part: unknown): string {
  if (!(part instanceof Uint8Array)) return typeof part;
  const step = Math.max(1, Math.floor(part.length / MAX_SUMMED));
  let sum = part.length;
  for (let i = 0; i < part.length; i += step) sum = (Math.imul(sum, 31) + part[i]!) | 0;
  return `${part.length}:${sum}`;
}

const areSame = ({ executable, parts }: Entry, others: readonly unknown[]): boolean =>
  !executable.isDisposed && parts.length === others.length && parts.every((part, i) => isSame(part, others[i]));

function isSame(one: unknown, other: unknown): boolean {
  if (!(one instanceof Uint8Array) || !(other instanceof Uint8Array)) return one === other;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}
