/** The number by which generated code reports an access that is not permitted: what it was, and where. */

export type AccessKind = 'read' | 'write' | 'atomic';

export const ACCESS_CODES: Readonly<Record<AccessKind, number>> = { read: 0, write: 1, atomic: 2 };
/** Flags that are added: the access was to LDS, to private memory, or to no multiple of its size there. */
export const FAULT_LDS = 4;
export const FAULT_PRIVATE = 8;
export const FAULT_MISALIGNED = 16;
