/**
 * Offsets, in bytes, of the structures that GPU code and host share (HSA specification 1.2, amd_hsa_signal.h,
 * amd_hsa_queue.h).
 */

export const SIGNAL = {
  sizeBytes: 64,
  kind: 0,
  value: 8,
  eventMailboxPtr: 16,
  eventId: 24,
  startTicks: 32,
  endTicks: 40,
  queuePtr: 48,
} as const;

export const SIGNAL_KIND = { user: 1n, doorbell: -1n } as const;

export const QUEUE = {
  /** amd_queue_v2_t. */
  sizeBytes: 2304,
  type: 0,
  features: 4,
  baseAddress: 8,
  doorbellSignal: 16,
  sizePackets: 24,
  id: 32,
  writeDispatchId: 56,
  groupApertureHi: 64,
  privateApertureHi: 68,
  maxComputeUnitId: 72,
  maxWaveId: 76,
  readDispatchId: 128,
  readDispatchIdFieldOffset: 136,
  properties: 180,
  inactiveSignal: 192,
} as const;

/** queue_properties: 64-bit pointers, profiling. */
export const QUEUE_PROFILING = 1 << 3;
export const QUEUE_PROPERTIES = (1 << 1) | QUEUE_PROFILING;

export const AQL_PACKET_SIZE_BYTES = 64;

export const PACKET = {
  header: 0,
  completionSignal: 56,
  dispatch: {
    setup: 2,
    workgroupSize: 4,
    gridSize: 12,
    privateSegmentSize: 24,
    groupSegmentSize: 28,
    kernelObject: 32,
    kernargAddress: 40,
  },
  barrier: { dependencies: 8 },
  barrierValue: { format: 2, signal: 8, value: 16, mask: 24, condition: 32 },
} as const;

export const PACKET_TYPE = {
  vendor: 0,
  invalid: 1,
  kernelDispatch: 2,
  barrierAnd: 3,
  agentDispatch: 4,
  barrierOr: 5,
} as const;

/** hsa_amd_packet_type_t, in vendor packets. */
export const AMD_FORMAT_BARRIER_VALUE = 2;

/** hsa_signal_condition_t. */
export const SIGNAL_CONDITIONS = ['eq', 'ne', 'lt', 'gte'] as const;

export const BARRIER_BIT = 1 << 8;
export const SYSTEM_SCOPE_FENCES = (2 << 9) | (2 << 11);

/** Signals that one barrier packet can depend on. */
export const BARRIER_DEPENDENCIES = 5;
