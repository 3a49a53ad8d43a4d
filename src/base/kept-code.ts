/** Compiled code that outlives the process, where somebody keeps it. */
import { concatenate } from './concatenate.ts';

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Keeps bytes by a key of any length for the next process, as long as it likes. Neither throws: what cannot
 * be read is not there.
 */
export interface CodeStore {
  read(key: string): Bytes | undefined;
  write(key: string, bytes: Bytes): void;
}

let store: CodeStore | undefined;

/**
 * From now on, all code that this process compiles is kept in a store, and taken from there. What it holds
 * must come from the same sources: the meaning of instructions is in no key.
 */
export function keepCode(kept: CodeStore): void {
  store = kept;
}

/** What is kept, as bytes. */
export interface KeptForm<T> {
  asBytes(made: T): Bytes;
  fromBytes(bytes: Bytes): T;
}

const NEW_LINE = 10;

/** A form of what is mostly bytes: a line of JSON, then these. */
export const withHead = (head: string, ...parts: readonly Uint8Array[]): Bytes =>
  concatenate([new TextEncoder().encode(`${head}\n`), ...parts]);

export function headOf(bytes: Bytes): { readonly head: string; readonly rest: Bytes } {
  const end = bytes.indexOf(NEW_LINE);
  return { head: new TextDecoder().decode(bytes.subarray(0, end)), rest: bytes.subarray(end + 1) };
}

/**
 * What `make` makes, or made in another process. `key`, which is asked where there is a store, says all that
 * it depends on.
 */
export function kept<T>(key: () => string, make: () => T, { asBytes, fromBytes }: KeptForm<T>): T {
  if (!store) return make();
  const whole = key();
  const bytes = store.read(whole);
  if (bytes) return fromBytes(bytes);
  const made = make();
  store.write(whole, asBytes(made));
  return made;
}

/** Where notes that grow are kept, under a key; undefined where nobody keeps any. */
export function keptNotes(key: () => string): KeptNotes | undefined {
  const place = store;
  if (!place) return undefined;
  const whole = key();
  return { read: () => place.read(whole), write: (bytes) => place.write(whole, bytes) };
}

export interface KeptNotes {
  /** What was written last; undefined: nothing that can be read. */
  read(): Bytes | undefined;
  write(bytes: Bytes): void;
}
