/** Compiled code that outlives the process, where somebody keeps it. */
import { probeHost } from './host.ts';

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

/**
 * What `make` makes, or made in another process. `key`, which is asked where there is a store, says all that
 * it depends on, but for the machine.
 */
export function keptCode(key: () => string, make: () => Bytes): Bytes {
  if (!store) return make();
  const full = `${probeHost().fused} ${key()}`;
  let bytes = store.read(full);
  if (!bytes) {
    bytes = make();
    store.write(full, bytes);
  }
  return bytes;
}
