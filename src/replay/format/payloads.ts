/**
 * The payloads of `.ireereplay` files, version 1.0, as tables (iree/hal/replay/format.h at IREE b42f44c0d9).
 * The fields of each stand in the order in which dumps print them.
 */
import {
  bufferBarriersAt,
  bufferRefAt,
  bufferRefsAt,
  dataAt,
  digestAt,
  extentAt,
  flags16At,
  flags32At,
  flags64At,
  idAt,
  idsAt,
  memoryBarriersAt,
  PayloadLayout,
  sizeAt,
  textAt,
  timepointsAt,
  u16At,
  u32At,
  u64At,
  wordsAt,
} from './payload-layout.ts';

export const BUFFER_OBJECT = new PayloadLayout('buffer_object', 1, 56, {
  allocationSize: sizeAt(0),
  byteOffset: sizeAt(8),
  byteLength: sizeAt(16),
  queueAffinity: u64At(24),
  placementFlags: flags32At(32),
  memoryType: flags32At(36),
  allowedUsage: flags32At(40),
  allowedAccess: flags16At(44),
});

const ALLOCATION = {
  allocationSize: sizeAt(0),
  queueAffinity: u64At(8),
  minAlignment: sizeAt(16),
  usage: flags32At(24),
  type: flags32At(28),
  access: flags16At(32),
} as const;

export const ALLOCATE_BUFFER = new PayloadLayout('allocator_allocate_buffer', 2, 40, ALLOCATION);

const UNTOLD = { json: undefined, text: undefined } as const;

export const IMPORT_BUFFER = new PayloadLayout('allocator_import_buffer', 26, 56, {
  ...ALLOCATION,
  externalType: u32At(40),
  externalFlags: flags32At(44),
  data: dataAt(48, UNTOLD),
});

export const BUFFER_RANGE = new PayloadLayout('buffer_range', 3, 32, {
  byteOffset: sizeAt(0),
  byteLength: sizeAt(8),
  mappingMode: flags32At(16),
  memoryAccess: flags16At(20),
});

export const BUFFER_RANGE_DATA = new PayloadLayout('buffer_range_data', 4, 40, {
  byteOffset: sizeAt(0),
  byteLength: sizeAt(8),
  mappingMode: flags32At(24, { text: undefined }),
  memoryAccess: flags16At(28, { isLast: true }),
  data: dataAt(16, UNTOLD),
});

export const COMMAND_BUFFER_OBJECT = new PayloadLayout('command_buffer_object', 5, 24, {
  mode: flags32At(0),
  commandCategories: flags32At(4, { text: 'categories' }),
  queueAffinity: u64At(8),
  bindingCapacity: sizeAt(16),
});

export const EXECUTABLE_CACHE_OBJECT = new PayloadLayout('executable_cache_object', 6, 16, {
  identifier: textAt(0, { text: undefined }),
});

export const EXECUTABLE_PREPARE = new PayloadLayout('executable_prepare', 7, 40, {
  queueAffinity: u64At(0),
  cachingMode: flags32At(24),
  format: textAt(28, { isNarrow: true, json: 'executable_format_length', text: undefined }),
  data: dataAt(8, { json: 'executable_data_length', text: undefined }),
  constants: wordsAt(16, { json: 'constant_count', text: undefined }),
  metadata: dataAt(32, { isNarrow: true, json: 'executable_metadata_length', text: undefined }),
});

export const SEMAPHORE_OBJECT = new PayloadLayout('semaphore_object', 10, 32, {
  queueAffinity: u64At(0),
  initialValue: sizeAt(8),
  flags: flags64At(16),
});

export const FILE_OBJECT = new PayloadLayout('file_object', 23, 112, {
  queueAffinity: u64At(0),
  fileLength: sizeAt(8),
  fileDevice: u64At(16),
  fileInode: u64At(24),
  fileMtimeNs: u64At(32),
  reference: dataAt(40, { text: undefined }),
  access: flags32At(48),
  flags: flags32At(52),
  handleType: u32At(56),
  referenceType: u32At(60),
  validationType: u32At(64),
  digestType: u16At(68),
  digest: digestAt(76),
});

export const EVENT_OBJECT = new PayloadLayout('event_object', 20, 24, { queueAffinity: u64At(0), flags: flags32At(8) });

export const REPLAY_SCOPE = new PayloadLayout('replay_scope', 27, 24, { name: textAt(0) });

const WAITS = { text: 'wait_count' } as const;
const SIGNALS = { text: 'signal_count' } as const;

export const DISPATCH_CALL = new PayloadLayout('dispatch', 8, 120, {
  executableId: idAt(0),
  queueAffinity: u64At(8),
  exportOrdinal: u32At(16),
  flags: flags32At(20),
  workgroupCount: extentAt(36),
  workgroupSize: extentAt(24),
  dynamicWorkgroupLocalMemory: u32At(80, { text: undefined }),
  waitSemaphores: timepointsAt(88, WAITS),
  signalSemaphores: timepointsAt(96, SIGNALS),
  constants: dataAt(104, { text: undefined }),
  bindings: bufferRefsAt(112, { json: 'binding_count', text: undefined }),
  workgroupCountRef: bufferRefAt(48),
});

export const QUEUE_EXECUTE = new PayloadLayout('device_queue_execute', 9, 48, {
  commandBufferId: idAt(0),
  queueAffinity: u64At(8),
  flags: flags64At(16),
  waitSemaphores: timepointsAt(24, { ...WAITS, elements: 'wait_semaphores' }),
  signalSemaphores: timepointsAt(32, { ...SIGNALS, elements: 'signal_semaphores' }),
  bindings: bufferRefsAt(40, { json: 'binding_count', text: undefined, elements: 'bindings' }),
});

export const QUEUE_ALLOCA = new PayloadLayout('device_queue_alloca', 12, 72, {
  allocationSize: sizeAt(0),
  allocationQueueAffinity: u64At(8, { text: 'queue_affinity' }),
  minAlignment: sizeAt(16),
  usage: flags32At(24),
  type: flags32At(28),
  access: flags16At(32),
  queueAffinity: u64At(40, { text: 'submit_queue_affinity' }),
  flags: flags64At(48),
  waitSemaphores: timepointsAt(56, WAITS),
  signalSemaphores: timepointsAt(64, SIGNALS),
});

export const QUEUE_DEALLOCA = new PayloadLayout('device_queue_dealloca', 14, 64, {
  queueAffinity: u64At(32),
  flags: flags64At(40),
  waitSemaphores: timepointsAt(48, WAITS),
  signalSemaphores: timepointsAt(56, SIGNALS),
  bufferRef: bufferRefAt(0),
});

export const QUEUE_FILL = new PayloadLayout('device_queue_fill', 15, 72, {
  queueAffinity: u64At(32),
  flags: flags64At(40),
  waitSemaphores: timepointsAt(48, WAITS),
  signalSemaphores: timepointsAt(56, SIGNALS),
  pattern: dataAt(64, { text: undefined }),
  targetRef: bufferRefAt(0),
});

export const QUEUE_UPDATE = new PayloadLayout('device_queue_update', 16, 80, {
  queueAffinity: u64At(32),
  flags: flags64At(40),
  sourceOffset: sizeAt(48),
  waitSemaphores: timepointsAt(64, WAITS),
  signalSemaphores: timepointsAt(72, SIGNALS),
  data: dataAt(56, { text: undefined }),
  targetRef: bufferRefAt(0),
});

export const QUEUE_COPY = new PayloadLayout('device_queue_copy', 17, 96, {
  queueAffinity: u64At(64),
  flags: flags64At(72),
  waitSemaphores: timepointsAt(80, WAITS),
  signalSemaphores: timepointsAt(88, SIGNALS),
  sourceRef: bufferRefAt(0),
  targetRef: bufferRefAt(32),
});

export const QUEUE_READ = new PayloadLayout('device_queue_read', 24, 88, {
  sourceFileId: idAt(0),
  sourceOffset: sizeAt(8),
  queueAffinity: u64At(48),
  flags: flags64At(56),
  capturedData: dataAt(64),
  waitSemaphores: timepointsAt(72, WAITS),
  signalSemaphores: timepointsAt(80, SIGNALS),
  targetRef: bufferRefAt(16),
});

export const QUEUE_WRITE = new PayloadLayout('device_queue_write', 25, 80, {
  targetFileId: idAt(32),
  targetOffset: sizeAt(40),
  queueAffinity: u64At(48),
  flags: flags64At(56),
  waitSemaphores: timepointsAt(64, WAITS),
  signalSemaphores: timepointsAt(72, SIGNALS),
  sourceRef: bufferRefAt(0),
});

export const EXECUTION_BARRIER = new PayloadLayout('command_buffer_execution_barrier', 13, 40, {
  sourceStageMask: flags64At(0),
  targetStageMask: flags64At(8),
  flags: flags64At(16),
  memoryBarriers: memoryBarriersAt(24, { json: 'memory_barrier_count', text: 'memory_count' }),
  bufferBarriers: bufferBarriersAt(32, { json: 'buffer_barrier_count', text: 'buffer_count' }),
});

export const COMMAND_EVENT = new PayloadLayout('command_buffer_event', 21, 16, {
  eventId: idAt(0),
  sourceStageMask: flags64At(8),
});

export const WAIT_EVENTS = new PayloadLayout('command_buffer_wait_events', 22, 48, {
  sourceStageMask: flags64At(0),
  targetStageMask: flags64At(8),
  events: idsAt(16, { json: 'event_count', text: 'event_count' }),
  memoryBarriers: memoryBarriersAt(24, { json: 'memory_barrier_count', text: 'memory_count' }),
  bufferBarriers: bufferBarriersAt(32, { json: 'buffer_barrier_count', text: 'buffer_count' }),
});

export const COMMAND_FILL = new PayloadLayout('command_buffer_fill_buffer', 18, 48, {
  flags: flags32At(32),
  target: bufferRefAt(0),
  pattern: dataAt(40, { text: undefined }),
});

export const COMMAND_UPDATE = new PayloadLayout('command_buffer_update_buffer', 19, 56, {
  flags: flags32At(32),
  sourceOffset: sizeAt(40),
  target: bufferRefAt(0),
  data: dataAt(48, { text: undefined }),
});

export const COMMAND_COPY = new PayloadLayout('command_buffer_copy_buffer', 11, 80, {
  flags: flags32At(64),
  source: bufferRefAt(0),
  target: bufferRefAt(32),
});

/** Of our own records: JSON, and bytes that it tells of. */
export const OWN = new PayloadLayout('wavewright', 0x5757_0001, 16, { json: textAt(0), data: dataAt(8) });

export const PAYLOADS: ReadonlyMap<number, PayloadLayout> = new Map(
  [
    ...[BUFFER_OBJECT, ALLOCATE_BUFFER, BUFFER_RANGE, BUFFER_RANGE_DATA, COMMAND_BUFFER_OBJECT, OWN, DISPATCH_CALL],
    ...[EXECUTABLE_CACHE_OBJECT, EXECUTABLE_PREPARE, QUEUE_EXECUTE, SEMAPHORE_OBJECT, COMMAND_COPY, QUEUE_ALLOCA],
    ...[EXECUTION_BARRIER, QUEUE_DEALLOCA, QUEUE_FILL, QUEUE_UPDATE, QUEUE_COPY, COMMAND_FILL, COMMAND_UPDATE],
    ...[EVENT_OBJECT, COMMAND_EVENT, WAIT_EVENTS, FILE_OBJECT, QUEUE_READ, QUEUE_WRITE, IMPORT_BUFFER, REPLAY_SCOPE],
  ].map((layout: PayloadLayout) => [layout.type, layout] as const),
);

/** As dumps print it. */
export const payloadTypeName = (type: number): string => PAYLOADS.get(type)?.name ?? (type === 0 ? 'none' : 'unknown');
