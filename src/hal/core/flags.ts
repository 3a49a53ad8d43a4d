/** The flags of the HAL with IREE's numbers (iree/hal/buffer.h, semaphore.h, queue.h, command_buffer.h). */
import { type FlagSet, FlagTable } from './flag-set.ts';

/** `device-local` and `host-local` say where memory is near; each implies that its side sees it. */
export const MEMORY_TYPES = new FlagTable('memory type', {
  optimal: 1,
  'host-visible': 2,
  'host-coherent': 4,
  'host-cached': 8,
  'device-visible': 16,
  'host-local': 2 | 4 | 64,
  'device-local': 16 | 32,
});
export type MemoryType = keyof typeof MEMORY_TYPES.bits;
export type MemoryTypes = FlagSet<MemoryType>;

export const MEMORY_ACCESS = new FlagTable('memory access', {
  read: 1,
  write: 2,
  discard: 4,
  'discard-write': 6,
  'may-alias': 8,
  unaligned: 16,
  any: 32,
  all: 7,
});
export type BufferAccess = keyof typeof MEMORY_ACCESS.bits;

export const BUFFER_USAGE = new FlagTable('buffer usage', {
  'transfer-source': 1,
  'transfer-target': 2,
  transfer: 3,
  'dispatch-indirect-parameters': 2 ** 8,
  'uniform-read': 2 ** 9,
  'storage-read': 2 ** 10,
  'storage-write': 2 ** 11,
  storage: (2 ** 10) | (2 ** 11),
  'image-read': 2 ** 12,
  'image-write': 2 ** 13,
  'sharing-export': 2 ** 16,
  replicate: 2 ** 17,
  concurrent: 2 ** 18,
  immutable: 2 ** 19,
  'mapping-scoped': 2 ** 24,
  'mapping-persistent': 2 ** 25,
  'mapping-optional': 2 ** 26,
  'mapping-access-random': 2 ** 27,
  'mapping-access-sequential-write': 2 ** 28,
  mapping: (2 ** 24) | (2 ** 27),
  default: 3 | (2 ** 10) | (2 ** 11),
});
export type BufferUsage = keyof typeof BUFFER_USAGE.bits;
export type BufferUsages = FlagSet<BufferUsage>;

export const SEMAPHORE_FLAGS = new FlagTable('semaphore flag', {
  'device-local': 1,
  'host-interrupt': 2,
  exportable: 4,
  'exportable-timepoints': 8,
  'single-producer': 16,
  default: 2 | 8,
});
export type SemaphoreFlag = keyof typeof SEMAPHORE_FLAGS.bits;

export const BUFFER_COMPATIBILITY = new FlagTable('buffer compatibility', {
  allocatable: 1,
  importable: 2,
  exportable: 4,
  'queue-transfer': 2 ** 10,
  'queue-dispatch': 2 ** 11,
  'low-performance': 2 ** 20,
});
export type BufferCompatibility = keyof typeof BUFFER_COMPATIBILITY.bits;

export const PLACEMENT_FLAGS = new FlagTable('placement flag', { asynchronous: 1, 'indeterminate-lifetime': 2 });
export type PlacementFlag = keyof typeof PLACEMENT_FLAGS.bits;

export const COMMAND_BUFFER_MODES = new FlagTable('command buffer mode', {
  'one-shot': 1,
  'allow-inline-execution': 2 ** 4,
  unvalidated: 2 ** 5,
  unretained: 2 ** 6,
  'retain-profile-metadata': 2 ** 7,
  'retain-dispatch-metadata': 2 ** 8,
});
export type CommandBufferMode = keyof typeof COMMAND_BUFFER_MODES.bits;

export const ALLOCA_FLAGS = new FlagTable('alloca flag', {
  'indeterminate-lifetime': 1,
  'allow-pool-wait-frontier': 2,
});
export type AllocaFlag = keyof typeof ALLOCA_FLAGS.bits;

export const HOST_CALL_FLAGS = new FlagTable('host call flag', { 'non-blocking': 1, 'wait-active': 2, relaxed: 4 });
export type HostCallFlag = keyof typeof HOST_CALL_FLAGS.bits;
