/**
 * What threads of CUDA code and the host say to each other: a table of slots in device memory. A thread takes
 * a free slot, posts what it asks for and waits; the host answers with a command, or that it is done.
 */

/** Slots; a power of two. */
export const SLOT_COUNT = 1024;
export const SLOT_BYTES = 128;
/** Bytes that a thread copies for the host at a time, into a place of its slot. */
export const COPY_BYTES = 512;
/** In front of the slots: a number for each request, one after the other. */
export const HEADER_BYTES = 64;
export const COPIES_OFFSET = HEADER_BYTES + SLOT_COUNT * SLOT_BYTES;
export const TABLE_BYTES = COPIES_OFFSET + SLOT_COUNT * COPY_BYTES;

/** Offsets in a slot, in bytes. */
export const SLOT = {
  state: 0,
  kind: 4,
  /** Seven of 64 bits. */
  arguments: 8,
  number: 64,
  command: 68,
  /** Of a copy: from where, to where and how many bytes, which end behind a NUL where the command says so. */
  from: 72,
  to: 80,
  count: 88,
  result: 96,
} as const;

export const STATE = { free: 0, taken: 1, posted: 2, answered: 3 } as const;
export const ANSWER = { done: 0, copy: 1, copyString: 2 } as const;
export const KIND = { printf: 1, malloc: 2, free: 3, assert: 4 } as const;
