/**
 * What an application's `libhsa-runtime64.so.1` and the device process say to each other. The library's
 * header (`native/hsa/protocol.h`) is made of these tables, and a test holds them together.
 *
 * A message is a head of two words of 32 bits, then words of 64 bits with the names that stand here, then the
 * bytes of the tail, for messages that have one. The head of a request is its operation and how many bytes
 * follow; that of a reply its `hsa_status_t` and how many bytes follow. A reply that is not a success has the
 * text of the error as its only content. One request after the other: each has its reply before the next one,
 * but `wake`, which has none.
 */

/** Both sides are of one package; a library that somebody copied may be older. */
export const PROTOCOL_VERSION = 3;

/** Head of a message. */
export const HEAD_BYTES = 8;

/** Bytes of a request behind its head: a code object is the largest. */
export const MAX_REQUEST_BYTES = 2 ** 28;

/** What a request of a name and its reply hold. */
export interface OperationShape {
  readonly request: readonly string[];
  readonly reply: readonly string[];
  /** What follows the words of the request, or of the reply. */
  readonly tail?: 'request' | 'reply';
  /** Before the reply comes a byte, which brings a file unless the reply is a failure. */
  readonly file?: true;
}

/** In the order of their numbers. */
export const OPERATIONS = {
  /**
   * The first message. `window` is the high word of the addresses where the application has room for the
   * device's 4 GiB. The file is that of the memory; the tail is what is known of system, agents and pools, as
   * records.
   */
  hello: {
    request: ['version', 'window'],
    // The device's clock, in ticks, when the system's clock (CLOCK_MONOTONIC) was `systemNs`.
    reply: ['ticks', 'systemNs', 'ticksPerSecond'],
    tail: 'reply',
    file: true,
  },
  /** The application changed memory that the device process looks at, which said that it sleeps. */
  wake: { request: [], reply: [] },
  /** The tail is words: where the program's calls that led here return to, the innermost first. */
  allocate: { request: ['pool', 'sizeBytes', 'flags'], reply: ['address'], tail: 'request' },
  /** The tail is as that of `allocate`. */
  free: { request: ['address'], reply: [], tail: 'request' },
  /** An attribute of an agent that changes. */
  agentInfo: { request: ['agent', 'attribute'], reply: [], tail: 'reply' },
  createQueue: {
    request: ['agent', 'sizePackets', 'type', 'privateSegmentBytes', 'groupSegmentBytes'],
    reply: ['address'],
  },
  destroyQueue: { request: ['address'], reply: [] },
  inactivateQueue: { request: ['address'], reply: [] },
  setPriority: { request: ['address', 'priority'], reply: [] },
  /** Why a queue stopped; of a memory fault also where, and `FAULT_REASON` bits. The tail is a text. */
  queueError: {
    request: ['address'],
    reply: ['isMemoryFault', 'faultAddress', 'reason'],
    tail: 'reply',
  },
  createExecutable: { request: ['profile', 'rounding'], reply: ['executable'] },
  destroyExecutable: { request: ['executable'], reply: [] },
  /** The tail is the code object. */
  loadCodeObject: {
    request: ['executable', 'agent'],
    reply: ['loadDelta', 'loadBase', 'loadSizeBytes'],
    tail: 'request',
  },
  /** The tail is the name; `agent` 0 for a definition for all agents. */
  defineVariable: { request: ['executable', 'agent', 'address'], reply: [], tail: 'request' },
  freeze: { request: ['executable'], reply: [] },
  validate: { request: ['executable'], reply: ['isValid'] },
  /** The tail is what is known of the symbols now, as records whose subjects are numbers from 1 on. */
  symbols: { request: ['executable'], reply: ['count'], tail: 'reply' },
  /** Addresses without memory. */
  reserve: { request: ['sizeBytes', 'alignmentBytes'], reply: ['address'] },
  /** Nothing is mapped there any more; the addresses are used again after `freeAddresses`. */
  unreserve: { request: ['address', 'sizeBytes'], reply: [] },
  freeAddresses: { request: ['address'], reply: [] },
  /** Memory without addresses, a file of its own. */
  createMemory: { request: ['pool', 'sizeBytes', 'type'], reply: ['memory'] },
  releaseMemory: { request: ['memory'], reply: [] },
  /** The file is to be mapped there, from `offset` on. */
  mapMemory: { request: ['address', 'sizeBytes', 'offset', 'memory'], reply: [], file: true },
  unmapMemory: { request: ['address', 'sizeBytes'], reply: [] },
  /** The tail is pairs of words: an agent, and what it may do (hsa_access_permission_t). */
  setAccess: { request: ['address', 'sizeBytes'], reply: [], tail: 'request' },
  getAccess: { request: ['address', 'agent'], reply: ['permissions'] },
  exportMemory: { request: ['memory'], reply: [], file: true },
  /** `file`: a descriptor of the application. */
  importMemory: { request: ['file'], reply: ['memory'] },
  retainMemory: { request: ['address'], reply: ['memory'] },
  memoryInfo: { request: ['memory'], reply: ['pool', 'type'] },
  /** What the four words say lets another application map an allocation. */
  shareMemory: { request: ['address', 'sizeBytes'], reply: ['first', 'second', 'third', 'fourth'] },
  /** The file is to be mapped at the address, from `offset` on. */
  attachMemory: {
    request: ['first', 'second', 'third', 'fourth', 'sizeBytes'],
    reply: ['address', 'mappedBytes', 'offset', 'pool'],
    file: true,
  },
  detachMemory: { request: ['address'], reply: [] },
} as const satisfies Readonly<Record<string, OperationShape>>;

export type OperationName = keyof typeof OPERATIONS;
export const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];

/** The words of a request, by their names. */
export type Request<N extends OperationName> = Readonly<Record<(typeof OPERATIONS)[N]['request'][number], bigint>>;
/** The words of a reply. */
export type Reply<N extends OperationName> = Readonly<Record<(typeof OPERATIONS)[N]['reply'][number], bigint>>;

/**
 * Words of 32 bits at the begin of the device's memory, below all that kernels reach. Both processes change
 * them with atomic operations.
 */
export const CONTROL_WORDS = {
  /** 1 while the device process sleeps; who takes it away sends `wake`. */
  sleeping: 0,
  /** Counts; threads of the application that wait for a signal wait for its change (futex). */
  epoch: 1,
  /** Threads that wait, or are about to. */
  waiters: 2,
  /** Two words each, together a number of 64 bits: copies that the application made, and their bytes. */
  copies: 4,
  copiedBytes: 6,
  /**
   * Numbers of 64 bits, too: where the ring of traced calls is, 0 where nothing is traced; records that were
   * written, read and lost.
   */
  traceRing: 8,
  traceWritten: 10,
  traceRead: 12,
  traceLost: 14,
} as const;

/**
 * Who waits says which signals concern it, as bits (FUTEX_WAIT_BITSET): a signal has one of so many. The next
 * one is for everything else.
 */
export const SIGNAL_CONCERNS = 31;
const SIGNAL_BYTES = 64n;

/** The bit of the signal at an address. */
export const concernOf = (signal: bigint): number => 1 << Number((signal / SIGNAL_BYTES) % BigInt(SIGNAL_CONCERNS));

/** Records of the ring of traced calls, a power of two. */
export const TRACE_RECORDS = 65_536;

/**
 * Words of 64 bits of such a record. `sequence`, which is written last, counts records from 1 on; times are
 * of CLOCK_MONOTONIC; `call` is the place in `TRACED_CALLS`, `a` and `b` stand there.
 */
export const TRACE_WORDS = { sequence: 0, beginNs: 1, endNs: 2, call: 3, thread: 4, a: 5, b: 6, unused: 7 } as const;

/** What an application that is traced tells of itself, with what `a` and `b` are. */
export const TRACED_CALLS = {
  hsa_signal_wait_relaxed: ['signal', 'value'],
  hsa_signal_wait_scacquire: ['signal', 'value'],
  doorbell: ['queue', 'packet'],
  copy: ['completion', 'bytes'],
  hsa_amd_signal_wait_any: ['signals', 'count'],
  hsa_amd_signal_wait_all: ['signals', 'count'],
  hsa_signal_create: ['value', 'consumers'],
  hsa_signal_destroy: ['signal', ''],
  hsa_amd_signal_async_handler: ['signal', 'value'],
  hsa_queue_create: ['agent', 'packets'],
  hsa_queue_destroy: ['queue', ''],
  hsa_amd_memory_pool_allocate: ['pool', 'bytes'],
  hsa_memory_allocate: ['region', 'bytes'],
  hsa_amd_memory_pool_free: ['address', ''],
  hsa_memory_free: ['address', ''],
  hsa_memory_copy: ['to', 'bytes'],
  hsa_amd_memory_fill: ['address', 'count'],
  hsa_amd_memory_async_copy: ['to', 'bytes'],
  hsa_amd_memory_async_copy_on_engine: ['to', 'bytes'],
  hsa_amd_memory_async_copy_rect: ['to', 'from'],
  hsa_amd_memory_lock: ['host', 'bytes'],
  hsa_amd_memory_lock_to_pool: ['host', 'bytes'],
  hsa_amd_memory_unlock: ['host', ''],
  hsa_executable_create_alt: ['profile', 'rounding'],
  hsa_executable_destroy: ['executable', ''],
  hsa_executable_load_agent_code_object: ['executable', 'agent'],
  hsa_executable_freeze: ['executable', ''],
  hsa_executable_get_symbol_by_name: ['executable', ''],
} as const;

/**
 * What is known of something: records of a subject, an attribute and its bytes, sorted by both. A record is
 * three words of 64 bits (subject, attribute, number of bytes), then the bytes, up to a multiple of 8.
 */
export const RECORD_HEAD_BYTES = 24;

/** Subjects of the records of `hello`: the kinds of handles, each with a number behind it. */
export const SUBJECTS = {
  system: 0x1000,
  agent: 0x2000,
  isa: 0x3000,
  pool: 0x4000,
  cache: 0x5000,
} as const;

/** Attributes of no specification: handles that belong to the subject. No application asks for such. */
export const LISTS = {
  agents: 0xffff_0000,
  isas: 0xffff_0001,
  pools: 0xffff_0002,
  caches: 0xffff_0003,
  /** Pools that are the regions of an agent. */
  regions: 0xffff_0004,
  wavefronts: 0xffff_0005,
} as const;

/** Attributes of a pool as a region of the core specification are those numbers and this one. */
export const REGION_ATTRIBUTES = 0x1_0000_0000;

/** The subject of what a pool is for an agent. */
export const pairSubject = (agent: number, pool: number): number => agent * 2 ** 32 + pool;

/** The environment variable that names the socket, without the 0 byte that begins an abstract name. */
export const SOCKET_VARIABLE = 'WAVEWRIGHT_EXEC_SOCKET';

/** The one that lets GPUs say that they have no images, set with any value. */
export const HIDE_IMAGES_VARIABLE = 'WAVEWRIGHT_EXEC_HIDE_IMAGES';

const words = (text: string): string => text.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const upper = (text: string): string => words(text).toUpperCase();

function structure(name: string, kind: string, fields: readonly string[]): string[] {
  if (fields.length === 0) return [];
  return ['typedef struct {', ...fields.map((field) => `  uint64_t ${words(field)};`), `} ${words(name)}_${kind}_t;`];
}

function enumeration(prefix: string, values: Readonly<Record<string, number>>): string[] {
  return ['enum {', ...Object.entries(values).map(([name, value]) => `  ${prefix}_${upper(name)} = ${value},`), '};'];
}

/** The text of `native/hsa/protocol.h`. */
export function protocolHeader(): string {
  const numbers = Object.fromEntries(OPERATION_NAMES.map((name, number) => [name, number]));
  const structures = Object.entries<OperationShape>(OPERATIONS).flatMap(([name, { request, reply }]) => [
    ...structure(name, 'request', request),
    ...structure(name, 'reply', reply),
  ]);
  return [
    '/* Made of src/exec/protocol.ts by tools/native.ts, which explains what stands here. */',
    '#ifndef WAVEWRIGHT_PROTOCOL_H',
    '#define WAVEWRIGHT_PROTOCOL_H',
    '',
    '#include <stdint.h>',
    '',
    `#define SOCKET_VARIABLE "${SOCKET_VARIABLE}"`,
    `#define HIDE_IMAGES_VARIABLE "${HIDE_IMAGES_VARIABLE}"`,
    `enum { PROTOCOL_VERSION = ${PROTOCOL_VERSION}, HEAD_BYTES = ${HEAD_BYTES}, RECORD_HEAD_BYTES = ${RECORD_HEAD_BYTES} };`,
    `#define MAX_REQUEST_BYTES UINT64_C(${MAX_REQUEST_BYTES})`,
    `#define REGION_ATTRIBUTES UINT64_C(${REGION_ATTRIBUTES})`,
    '',
    ...enumeration('OP', numbers),
    ...enumeration('CONTROL', CONTROL_WORDS),
    `enum { SIGNAL_CONCERNS = ${SIGNAL_CONCERNS}, TRACE_RECORDS = ${TRACE_RECORDS} };`,
    ...structure('trace', 'record', Object.keys(TRACE_WORDS)),
    'enum {',
    ...Object.keys(TRACED_CALLS).map((name, number) => `  TRACED_${name} = ${number},`),
    '};',
    ...enumeration('SUBJECT', SUBJECTS),
    ...Object.entries(LISTS).map(([name, value]) => `#define LIST_${upper(name)} UINT64_C(${value})`),
    '',
    ...structures,
    '',
    '#endif',
    '',
  ].join('\n');
}
