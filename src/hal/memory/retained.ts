/** What operations and command buffers keep until they need it no more. */

/** Something that must stay as long as it is needed: an allocation, an executable. */
export interface Retained {
  retain(): void;
  release(): void;
  /** An operation that needs it has begun, and is over: memory stays as it is between the two. */
  pin?(): void;
  unpin?(): void;
}
