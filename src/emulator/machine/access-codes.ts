/** The number by which generated code reports an access that is not permitted: what it was, and where. */

import type { MemorySpace } from '../../ir/types.ts';

export type AccessKind = 'read' | 'write' | 'atomic';

export const ACCESS_CODES: Readonly<Record<AccessKind, number>> = { read: 0, write: 1, atomic: 2 };
/** Flags that are added: the access was to LDS, to private memory, or to no multiple of what it asks for. */
export const FAULT_LDS = 4;
export const FAULT_PRIVATE = 8;
export const FAULT_MISALIGNED = 16;

/** Of an access at an address that is no multiple of what it asks for. */
export const misalignedCode = (access: AccessKind, space: MemorySpace): number =>
  ACCESS_CODES[access] | FAULT_MISALIGNED | (space === 'lds' ? FAULT_LDS : space === 'private' ? FAULT_PRIVATE : 0);
