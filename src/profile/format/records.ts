/**
 * The records of `.ireeprof` files, version 1.6, as tables (iree/hal/profile_schema.h at IREE b42f44c0d9).
 * Each content type is an array of one record.
 */
import {
  COMMAND_OPERATIONS,
  COUNTER_SCOPES,
  DEPENDENCY_STRATEGIES,
  DEVICE_CLASSES,
  ENDPOINTS,
  MEMORY_EVENTS,
  METRIC_PLOTS,
  METRIC_SEMANTICS,
  METRIC_UNITS,
  METRIC_VALUE_KINDS,
  QUEUE_OPERATIONS,
  RELATIONSHIPS,
  TRACE_FORMATS,
} from './names.ts';
import {
  bytes,
  data,
  extent,
  following,
  hash,
  i32,
  i64,
  metrics,
  namedNumber,
  ordinal,
  RecordLayout,
  text,
  u32,
  u32s,
  u64,
  values,
} from './record-layout.ts';

export const DEVICES = new RecordLayout('devices', 'device', 32, {
  /** Bit 0: there is a UUID. */
  flags: u32(4),
  physicalDeviceOrdinal: ordinal(8),
  queueCount: u32(12),
  physicalDeviceUuid: bytes(16, 16),
});

export const QUEUES = new RecordLayout('queues', 'queue', 24, {
  physicalDeviceOrdinal: ordinal(4),
  queueOrdinal: ordinal(8),
  streamId: u64(16),
});

export const EXECUTABLES = new RecordLayout('executables', 'executable', 40, {
  /** Bit 0: there is a hash. */
  flags: u32(4),
  executableId: u64(8),
  exportCount: u32(16),
  codeObjectHash: hash(24),
});

export const EXECUTABLE_CODE_OBJECTS = new RecordLayout('executable-code-objects', 'executable_code_object', 48, {
  /** Bit 0: there is a hash. */
  flags: u32(4),
  executableId: u64(8),
  codeObjectId: u64(16),
  image: data(24),
  codeObjectHash: hash(32),
});

export const EXECUTABLE_CODE_OBJECT_LOADS = new RecordLayout(
  'executable-code-object-loads',
  'executable_code_object_load',
  40,
  {
    physicalDeviceOrdinal: ordinal(4),
    executableId: u64(8),
    codeObjectId: u64(16),
    loadDelta: i64(24),
    loadSize: u64(32),
  },
);

const EXPORT_FIELDS = {
  /** Bit 0: there is a hash. */
  flags: u32(4),
  executableId: u64(8),
  exportOrdinal: ordinal(16),
  constantCount: u32(20),
  bindingCount: u32(24),
  parameterCount: u32(28),
  workgroupSize: extent(32),
  name: text(44),
  pipelineHash: hash(48),
} as const;
export const EXECUTABLE_EXPORTS = new RecordLayout('executable-exports', 'executable_export', 64, EXPORT_FIELDS);
/** What IREE calls them since 5e1a57678a; the version of the files is the same, and so are the bytes. */
export const EXECUTABLE_FUNCTIONS = new RecordLayout('executable-functions', 'executable_export', 64, EXPORT_FIELDS);

export const COMMAND_BUFFERS = new RecordLayout('command-buffers', 'command_buffer', 48, {
  flags: u32(4),
  commandBufferId: u64(8),
  mode: u64(16),
  commandCategories: u64(24),
  queueAffinity: u64(32),
  physicalDeviceOrdinal: ordinal(40),
});

export const COMMAND_OPERATION_FLAG = {
  executionBarrier: 1,
  indirectParameters: 2,
  dynamicBindings: 4,
  staticBindings: 8,
  prepublishedArguments: 16,
  controlFlow: 32,
  blockStructure: 64,
} as const;

export const COMMAND_BUFFER_OPERATIONS = new RecordLayout('command-operations', 'command_operation', 120, {
  type: namedNumber(4, COMMAND_OPERATIONS, 'op'),
  flags: u32(8),
  commandIndex: ordinal(12),
  commandBufferId: u64(16),
  blockOrdinal: ordinal(24),
  blockCommandOrdinal: ordinal(28),
  executableId: u64(32),
  exportOrdinal: ordinal(40),
  bindingCount: u32(44),
  workgroupCount: extent(48),
  workgroupSize: extent(60),
  sourceOffset: u64(72),
  targetOffset: u64(80),
  length: u64(88),
  sourceOrdinal: ordinal(96),
  targetOrdinal: ordinal(100),
  targetBlockOrdinal: ordinal(104),
  alternateBlockOrdinal: ordinal(108),
});

/** Ticks that are not aligned are not those of events; producers since May 2026 say so. */
export const CLOCK_FLAG = {
  deviceTick: 1,
  hostCpu: 2,
  hostSystem: 4,
  hostBracket: 8,
  deviceTickUnaligned: 16,
} as const;

export const CLOCK_CORRELATIONS = new RecordLayout('clock-correlations', 'clock_correlation', 72, {
  flags: u32(4),
  physicalDeviceOrdinal: ordinal(8),
  sampleId: u64(16),
  deviceTick: u64(24),
  hostCpuTimestampNs: u64(32),
  hostSystemTimestamp: u64(40),
  hostSystemFrequencyHz: u64(48),
  hostTimeBeginNs: i64(56),
  hostTimeEndNs: i64(64),
});

export const DISPATCH_FLAG = { commandBuffer: 1, indirectParameters: 2 } as const;

export const DISPATCH_EVENTS = new RecordLayout('dispatch-events', 'dispatch_event', 88, {
  flags: u32(4),
  eventId: u64(8),
  submissionId: u64(16),
  commandBufferId: u64(24),
  executableId: u64(32),
  commandIndex: ordinal(40),
  exportOrdinal: ordinal(44),
  workgroupCount: extent(48),
  workgroupSize: extent(60),
  startTick: u64(72),
  endTick: u64(80),
});

export const QUEUE_FLAG = { softwareDeferred: 1 } as const;

export const QUEUE_EVENTS = new RecordLayout('queue-events', 'queue_event', 104, {
  type: namedNumber(4, QUEUE_OPERATIONS, 'op'),
  flags: u32(8),
  dependencyStrategy: { ...namedNumber(12, DEPENDENCY_STRATEGIES, 'dependency_strategy') },
  eventId: u64(16),
  hostTimeNs: i64(24),
  submissionId: u64(32),
  commandBufferId: u64(40),
  allocationId: u64(48),
  streamId: u64(56),
  physicalDeviceOrdinal: ordinal(64),
  queueOrdinal: ordinal(68),
  waitCount: u32(72),
  signalCount: u32(76),
  barrierCount: u32(80),
  operationCount: u32(84),
  payloadLength: u64(88),
  readyHostTimeNs: i64(96),
});

export const QUEUE_DEVICE_EVENTS = new RecordLayout('queue-device-events', 'queue_device_event', 96, {
  type: namedNumber(4, QUEUE_OPERATIONS, 'op'),
  flags: u32(8),
  eventId: u64(16),
  submissionId: u64(24),
  commandBufferId: u64(32),
  allocationId: u64(40),
  streamId: u64(48),
  payloadLength: u64(56),
  physicalDeviceOrdinal: ordinal(64),
  queueOrdinal: ordinal(68),
  operationCount: u32(72),
  startTick: u64(80),
  endTick: u64(88),
});

export const HOST_EXECUTION_FLAG = { commandBuffer: 1, indirectParameters: 2, softwareDeferred: 4 } as const;

export const HOST_EXECUTION_EVENTS = new RecordLayout('host-execution-events', 'host_execution_event', 152, {
  type: namedNumber(4, QUEUE_OPERATIONS, 'op'),
  flags: u32(8),
  statusCode: ordinal(12),
  eventId: u64(16),
  submissionId: u64(24),
  commandBufferId: u64(32),
  executableId: u64(40),
  allocationId: u64(48),
  streamId: u64(56),
  physicalDeviceOrdinal: ordinal(64),
  queueOrdinal: ordinal(68),
  commandIndex: ordinal(72),
  exportOrdinal: ordinal(76),
  workgroupCount: extent(80),
  workgroupSize: extent(92),
  startHostTimeNs: i64(104),
  endHostTimeNs: i64(112),
  payloadLength: u64(120),
  tileCount: u64(128),
  tileDurationSumNs: i64(136),
  operationCount: u32(144),
});

export const COMMAND_REGION_EVENTS = new RecordLayout('command-region-events', 'command_region_event', 248, {
  flags: u32(4),
  eventId: u64(8),
  submissionId: u64(16),
  commandBufferId: u64(24),
  streamId: u64(32),
  physicalDeviceOrdinal: ordinal(40),
  queueOrdinal: ordinal(44),
  blockSequence: u32(48),
  regionEpoch: u32(52),
  regionIndex: i32(56),
  regionDispatchCount: u32(60),
  regionTileCount: u32(64),
  regionWidthBucket: u32(68),
  regionLookaheadWidthBucket: u32(72),
  usefulDrainCount: u32(76),
  noWorkDrainCount: u32(80),
  tailCount: u32(88),
  tailRemainingMin: u32(92),
  tailRemainingMax: u32(96),
  tailRemainingBuckets: u32s(100, 8),
  tailFirstStartHostTimeNs: i64(136),
  tailLastEndHostTimeNs: i64(144),
  tailStartOffsetSumNs: i64(152),
  tailDrainDurationSumNs: i64(160),
  firstUsefulDrainStartHostTimeNs: i64(168),
  lastUsefulDrainEndHostTimeNs: i64(176),
  startHostTimeNs: i64(184),
  endHostTimeNs: i64(192),
  nextRegionIndex: i32(200),
  nextRegionTileCount: u32(204),
  nextRegionWidthBucket: u32(208),
  nextRegionLookaheadWidthBucket: u32(212),
  workerCount: u32(216),
  oldWakeBudget: i32(220),
  newWakeBudget: i32(224),
  wakeDelta: i32(228),
  retentionKeepActiveCount: u32(232),
  retentionPublishKeepActiveCount: u32(236),
  retentionKeepWarmCount: u32(240),
});

export const MEMORY_FLAG = {
  queueOperation: 1,
  waitFrontier: 2,
  waitNotification: 4,
  poolReservation: 8,
  poolStats: 16,
  externallyOwned: 32,
} as const;

export const MEMORY_EVENT_RECORDS = new RecordLayout('memory-events', 'memory_event', 160, {
  type: namedNumber(4, MEMORY_EVENTS, 'event_type'),
  flags: u32(8),
  result: ordinal(12),
  eventId: u64(16),
  hostTimeNs: i64(24),
  allocationId: u64(32),
  poolId: u64(40),
  backingId: u64(48),
  submissionId: u64(56),
  physicalDeviceOrdinal: ordinal(64),
  queueOrdinal: ordinal(68),
  frontierEntryCount: u32(72),
  memoryType: u64(80),
  bufferUsage: u64(88),
  offset: u64(96),
  length: u64(104),
  alignment: u64(112),
  poolBytesReserved: u64(120),
  poolBytesFree: u64(128),
  poolBytesCommitted: u64(136),
  poolBudgetLimit: u64(144),
  poolReservationCount: u32(152),
  poolSlabCount: u32(156),
});

export const EVENT_RELATIONSHIPS = new RecordLayout('event-relationships', 'event_relationship', 72, {
  type: namedNumber(4, RELATIONSHIPS, 'kind'),
  relationshipId: u64(8),
  sourceType: namedNumber(16, ENDPOINTS, 'source_type'),
  targetType: namedNumber(20, ENDPOINTS, 'target_type'),
  physicalDeviceOrdinal: ordinal(24),
  queueOrdinal: ordinal(28),
  streamId: u64(32),
  sourceId: u64(40),
  sourceSecondaryId: u64(48),
  targetId: u64(56),
  targetSecondaryId: u64(64),
});

export const COUNTER_SETS = new RecordLayout('counter-sets', 'counter_set', 32, {
  flags: u32(4),
  counterSetId: u64(8),
  physicalDeviceOrdinal: ordinal(16),
  counterCount: u32(20),
  sampleValueCount: u32(24),
  name: text(28),
});

/** `raw`: as the hardware counts, so that samples may be added up. */
export const COUNTER_FLAG = { raw: 1 } as const;

export const COUNTERS = new RecordLayout('counters', 'counter', 48, {
  /** `COUNTER_FLAG`. */
  flags: u32(4),
  /** 1 counts, 2 cycles, 3 bytes. */
  unit: u32(8),
  physicalDeviceOrdinal: ordinal(12),
  counterSetId: u64(16),
  counterOrdinal: u32(24),
  sampleValueOffset: u32(28),
  sampleValueCount: u32(32),
  block: text(36),
  name: text(40),
  description: text(44),
});

export const COUNTER_SAMPLE_FLAG = { dispatchEvent: 1, commandOperation: 2, deviceTicks: 4 } as const;

export const COUNTER_SAMPLES = new RecordLayout('counter-samples', 'counter_sample', 112, {
  flags: u32(4),
  scope: namedNumber(8, COUNTER_SCOPES, 'scope'),
  sampleId: u64(16),
  counterSetId: u64(24),
  dispatchEventId: u64(32),
  submissionId: u64(40),
  commandBufferId: u64(48),
  executableId: u64(56),
  streamId: u64(64),
  startTick: u64(72),
  endTick: u64(80),
  commandIndex: ordinal(88),
  exportOrdinal: ordinal(92),
  physicalDeviceOrdinal: ordinal(96),
  queueOrdinal: ordinal(100),
  values: values(104),
});

export const DEVICE_METRIC_SOURCES = new RecordLayout('device-metric-sources', 'device_metric_source', 40, {
  flags: u32(4),
  sourceId: u64(8),
  physicalDeviceOrdinal: ordinal(16),
  deviceClass: namedNumber(20, DEVICE_CLASSES, 'device_class'),
  sourceKind: u32(24),
  sourceRevision: u32(28),
  metricCount: u32(32),
  name: text(36),
});

export const DEVICE_METRIC_DESCRIPTORS = new RecordLayout('device-metric-descriptors', 'device_metric_descriptor', 48, {
  flags: u32(4),
  sourceId: u64(8),
  metricId: u64(16),
  unit: namedNumber(24, METRIC_UNITS, 'unit'),
  valueKind: namedNumber(28, METRIC_VALUE_KINDS, 'value_kind'),
  semantic: namedNumber(32, METRIC_SEMANTICS, 'semantic'),
  plotHint: namedNumber(36, METRIC_PLOTS, 'plot_hint'),
  name: text(40),
  description: text(44),
});

export const DEVICE_METRIC_SAMPLES = new RecordLayout('device-metric-samples', 'device_metric_sample', 64, {
  /** Bit 0: there is a timestamp of the source, bit 1: metrics are missing. */
  flags: u32(4),
  sampleId: u64(8),
  sourceId: u64(16),
  hostTimeBeginNs: i64(24),
  hostTimeEndNs: i64(32),
  sourceTimestamp: u64(40),
  sourceTimestampFrequencyHz: u64(48),
  physicalDeviceOrdinal: ordinal(56),
  values: metrics(60),
});

export const EXECUTABLE_TRACES = new RecordLayout('executable-traces', 'executable_trace', 88, {
  format: namedNumber(4, TRACE_FORMATS, 'format'),
  flags: u32(8),
  shaderEngine: u32(12),
  traceId: u64(16),
  dispatchEventId: u64(24),
  submissionId: u64(32),
  commandBufferId: u64(40),
  executableId: u64(48),
  streamId: u64(56),
  commandIndex: ordinal(64),
  exportOrdinal: ordinal(68),
  physicalDeviceOrdinal: ordinal(72),
  queueOrdinal: ordinal(76),
  data: following(80),
});

/** By content type. */
export const RECORD_LAYOUTS: ReadonlyMap<string, RecordLayout> = new Map(
  [
    DEVICES,
    QUEUES,
    EXECUTABLES,
    EXECUTABLE_CODE_OBJECTS,
    EXECUTABLE_CODE_OBJECT_LOADS,
    EXECUTABLE_EXPORTS,
    EXECUTABLE_FUNCTIONS,
    COMMAND_BUFFERS,
    COMMAND_BUFFER_OPERATIONS,
    CLOCK_CORRELATIONS,
    DISPATCH_EVENTS,
    QUEUE_EVENTS,
    QUEUE_DEVICE_EVENTS,
    HOST_EXECUTION_EVENTS,
    COMMAND_REGION_EVENTS,
    MEMORY_EVENT_RECORDS,
    EVENT_RELATIONSHIPS,
    COUNTER_SETS,
    COUNTERS,
    COUNTER_SAMPLES,
    DEVICE_METRIC_SOURCES,
    DEVICE_METRIC_DESCRIPTORS,
    DEVICE_METRIC_SAMPLES,
    EXECUTABLE_TRACES,
  ].map((layout) => [layout.contentType, layout]),
);
