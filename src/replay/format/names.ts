/**
 * What numbers of `.ireereplay` files mean, version 1.0 (iree/hal/replay/format.h at IREE b42f44c0d9), and
 * the numbers of our own records, which lie far above IREE's.
 */

export const RECORD_TYPES = { session: 1, object: 2, operation: 3, blob: 4, unsupported: 5 } as const;
export type RecordType = keyof typeof RECORD_TYPES;

/** A record that a reader skips which does not know its type. */
export const RECORD_OPTIONAL = 1;

export const OBJECT_TYPES = {
  device: 1,
  allocator: 2,
  pool: 3,
  buffer: 4,
  command_buffer: 5,
  executable_cache: 6,
  executable: 7,
  semaphore: 8,
  file: 9,
  event: 10,
  channel: 11,
  host_call: 12,
} as const;
export type ObjectType = keyof typeof OBJECT_TYPES;

/** Numbers from `first` on, in the order of the names. */
const numbered = (first: number, names: string): readonly (readonly [string, number])[] =>
  names.split(' ').map((name, i) => [name, first + i] as const);

const OPERATION_ENTRIES = [
  ...numbered(
    1,
    'device.trim device.query_i64 device.query_capabilities device.refine_topology_edge device.assign_topology_info device.create_channel device.create_command_buffer device.create_event device.create_executable_cache device.import_file device.create_semaphore device.query_queue_pool_backend device.queue_alloca device.queue_dealloca device.queue_fill device.queue_update device.queue_copy device.queue_read device.queue_write device.queue_host_call device.queue_dispatch device.queue_execute device.queue_flush device.profiling_begin device.profiling_flush device.profiling_end device.external_capture_begin device.external_capture_end',
  ),
  ...numbered(50, 'replay.scope_begin replay.scope_end'),
  ...numbered(
    100,
    'allocator.trim allocator.query_memory_heaps allocator.allocate_buffer allocator.import_buffer allocator.export_buffer allocator.virtual_memory_query_granularity allocator.virtual_memory_reserve allocator.virtual_memory_release allocator.physical_memory_allocate allocator.physical_memory_free allocator.virtual_memory_map allocator.virtual_memory_unmap allocator.virtual_memory_protect allocator.virtual_memory_advise',
  ),
  ...numbered(200, 'buffer.map_range buffer.unmap_range buffer.invalidate_range buffer.flush_range'),
  ...numbered(
    300,
    'command_buffer.begin command_buffer.end command_buffer.begin_debug_group command_buffer.end_debug_group command_buffer.execution_barrier command_buffer.signal_event command_buffer.reset_event command_buffer.wait_events command_buffer.advise_buffer command_buffer.fill_buffer command_buffer.update_buffer command_buffer.copy_buffer command_buffer.collective command_buffer.dispatch',
  ),
  ...numbered(
    400,
    'executable_cache.infer_format executable_cache.can_prepare_format executable_cache.prepare_executable',
  ),
  ...numbered(
    500,
    'executable.export_count executable.export_info executable.export_parameters executable.lookup_export_by_name',
  ),
];

/** Our own operations begin here, "WW" twice. */
const OWN_OPERATIONS_START = 0x5757_0001;

/**
 * What IREE has no operation for, and refuses to replay. Those of `OWN_NOTES` change nothing: they are
 * records of objects, which its tools pass over.
 */
export const OWN_OPERATIONS = [
  'semaphore.signal',
  'semaphore.fail',
  'device.create_pool',
  'device.import_range',
  'device.prepare_linked',
  'device.abort_operation',
  'device.close',
  'device.host_call_begin',
  'device.host_call_end',
  'executable.variable',
  'file.transfer_end',
  'command_buffer.if',
  'command_buffer.else',
  'command_buffer.while',
  'command_buffer.end_block',
  'command_buffer.execute',
] as const;
export const OWN_NOTES = [
  'note.device',
  'note.operation',
  'note.operation_started',
  'note.operation_ended',
  'note.host_waited',
  'note.contents',
  'note.file_written',
  'note.released',
] as const;
export type OwnOperation = (typeof OWN_OPERATIONS)[number] | (typeof OWN_NOTES)[number];
const OWN_ENTRIES = [...OWN_OPERATIONS, ...OWN_NOTES].map((name, i) => [name, OWN_OPERATIONS_START + i] as const);

const CODES: ReadonlyMap<string, number> = new Map([...OPERATION_ENTRIES, ...OWN_ENTRIES]);
const NAMES: ReadonlyMap<number, string> = new Map([...CODES].map(([name, code]) => [code, name]));

/** Of IREE's operations, in the order of their numbers. */
export const REPLAY_OPERATIONS: readonly string[] = OPERATION_ENTRIES.map(([name]) => name);

/** The number of an operation; the names are those of `REPLAY_OPERATIONS` and our own. */
export const operationCode = (name: string): number => CODES.get(name)!;

/** `unknown` for a number that this version does not know, as IREE prints it; `none` for 0. */
export const operationName = (code: number): string => NAMES.get(code) ?? (code === 0 ? 'none' : 'unknown');

/** Whether a number is one of `OWN_NOTES`. */
export const isOwnNote = (code: number): boolean => operationName(code).startsWith('note.');

const invert = (table: Readonly<Record<string, number>>): ReadonlyMap<number, string> =>
  new Map(Object.entries(table).map(([name, value]) => [value, name]));

const RECORD_TYPE_NAMES = invert(RECORD_TYPES);
const OBJECT_TYPE_NAMES = invert(OBJECT_TYPES);

export const recordTypeName = (value: number): string =>
  RECORD_TYPE_NAMES.get(value) ?? (value === 0 ? 'none' : 'unknown');
export const objectTypeName = (value: number): string =>
  OBJECT_TYPE_NAMES.get(value) ?? (value === 0 ? 'none' : 'unknown');

export const FILE_REFERENCE = { none: 0, external_path: 1, inline_bytes: 2, captured_ranges: 3 } as const;
export const FILE_VALIDATION = { none: 0, identity: 1, digest: 2 } as const;
export const DIGEST_FNV1A64 = 1;

/** Memory of the host, as external memory that is imported. */
export const EXTERNAL_HOST_ALLOCATION = 1;
/** `iree_io_file_handle_type_t`: memory of the host, a file descriptor. */
export const FILE_HANDLE = { host_allocation: 0, fd: 1 } as const;

export const DISPATCH_CALL_FLAG = {
  dynamicIndirectParameters: 1,
  customDirectArguments: 4,
  dynamicIndirectArguments: 8,
} as const;
