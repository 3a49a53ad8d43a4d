/** Where a file goes that says at its start how long it is: all bytes, then that start once more. */
export interface BundleTarget {
  append(bytes: Uint8Array): void;
  /** Writes over the first bytes. */
  restart(bytes: Uint8Array): void;
}
