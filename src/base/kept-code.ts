/** Compiled code that outlives the process, where somebody keeps it. */

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
  if (!store) return undefined;
  const [whole, { read, write }] = [key(), store];
  return { read: read.bind(store, whole), write: write.bind(store, whole) };
}

export interface KeptNotes {
  /** What was written last; undefined: nothing that can be read. */
  read(): Bytes | undefined;
  write(bytes: Bytes): void;
}
