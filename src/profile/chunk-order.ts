/** Chunks of a session's file: in which order they stand, and whose drops they tell of. */
import type { ProfileData } from '../hal/index.ts';
import { INSTRUCTION_LAYOUTS } from './format/instruction-records.ts';
import type { RecordLayout } from './format/record-layout.ts';
import {
  CLOCK_CORRELATIONS,
  COMMAND_BUFFER_OPERATIONS,
  COMMAND_BUFFERS,
  COUNTER_SAMPLES,
  COUNTER_SETS,
  COUNTERS,
  DEVICE_METRIC_DESCRIPTORS,
  DEVICE_METRIC_SAMPLES,
  DEVICE_METRIC_SOURCES,
  DEVICES,
  DISPATCH_EVENTS,
  EVENT_RELATIONSHIPS,
  EXECUTABLE_CODE_OBJECTS,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  EXECUTABLE_TRACES,
  EXECUTABLES,
  HOST_EXECUTION_EVENTS,
  MEMORY_EVENT_RECORDS,
  QUEUE_DEVICE_EVENTS,
  QUEUE_EVENTS,
  QUEUES,
} from './format/records.ts';

/** What events name comes before them. */
export const CHUNK_ORDER: readonly RecordLayout[] = [
  DEVICES,
  QUEUES,
  EXECUTABLES,
  EXECUTABLE_EXPORTS,
  EXECUTABLE_FUNCTIONS,
  COMMAND_BUFFERS,
  COMMAND_BUFFER_OPERATIONS,
  COUNTER_SETS,
  COUNTERS,
  DEVICE_METRIC_SOURCES,
  DEVICE_METRIC_DESCRIPTORS,
  CLOCK_CORRELATIONS,
  QUEUE_EVENTS,
  QUEUE_DEVICE_EVENTS,
  HOST_EXECUTION_EVENTS,
  DISPATCH_EVENTS,
  COUNTER_SAMPLES,
  DEVICE_METRIC_SAMPLES,
  MEMORY_EVENT_RECORDS,
  EVENT_RELATIONSHIPS,
  EXECUTABLE_CODE_OBJECTS,
  ...INSTRUCTION_LAYOUTS.values(),
  EXECUTABLE_TRACES,
];

/** What a session calls the records of a layout. */
export const DATA_OF: ReadonlyMap<RecordLayout, ProfileData> = new Map<RecordLayout, ProfileData>([
  [QUEUE_EVENTS, 'queue-events'],
  [HOST_EXECUTION_EVENTS, 'host-execution'],
  [QUEUE_DEVICE_EVENTS, 'device-queue-events'],
  [DISPATCH_EVENTS, 'dispatch-events'],
  [MEMORY_EVENT_RECORDS, 'memory-events'],
  [COUNTER_SAMPLES, 'counters'],
  [EXECUTABLE_TRACES, 'executable-traces'],
]);
