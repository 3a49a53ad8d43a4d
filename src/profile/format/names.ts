/** Names of the numbers in profile files, as iree-profile prints them (iree/hal/profile_schema.h). */

import type { InstructionControl } from '../../hal/index.ts';

const numbered = <Name extends string>(names: readonly Name[], first = 1): Readonly<Record<number, Name>> =>
  Object.fromEntries(names.map((name, i) => [first + i, name]));

export const QUEUE_OPERATIONS = numbered([
  'barrier',
  'dispatch',
  'execute',
  'copy',
  'fill',
  'update',
  'read',
  'write',
  'alloca',
  'dealloca',
  'host_call',
]);

export const DEPENDENCY_STRATEGIES = numbered(['none', 'inline', 'device_barrier', 'software_defer'], 0);

export const COMMAND_OPERATIONS = numbered([
  'barrier',
  'dispatch',
  'fill',
  'copy',
  'update',
  'profile_marker',
  'branch',
  'cond_branch',
  'return',
]);

export const MEMORY_EVENTS = numbered([
  'slab_acquire',
  'slab_release',
  'pool_reserve',
  'pool_materialize',
  'pool_release',
  'pool_wait',
  'queue_alloca',
  'queue_dealloca',
  'buffer_allocate',
  'buffer_free',
  'buffer_import',
  'buffer_unimport',
]);

export const RELATIONSHIPS = numbered([
  'queue_submission_dispatch',
  'queue_submission_queue_device_event',
  'queue_event_host_execution_event',
  'queue_submission_host_execution_event',
]);

export const ENDPOINTS = numbered([
  'queue_submission',
  'queue_event',
  'dispatch_event',
  'command_operation',
  'memory_event',
  'artifact',
  'queue_device_event',
  'host_execution_event',
]);

/** By their numbers. */
export const COUNTER_UNITS: readonly string[] = ['none', 'count', 'cycles', 'bytes'];
export const COUNTER_SCOPES = numbered(['none', 'dispatch', 'command_operation', 'device_time_range'], 0);
export const DEVICE_CLASSES = { ...numbered(['none', 'cpu', 'gpu', 'npu'], 0), 2147483647: 'other' };
/** The last one is our own. */
export const TRACE_FORMATS: Readonly<Record<number, string>> = {
  ...numbered(['none', 'amdgpu_att'], 0),
  22359: 'wavewright_waves',
};
export const METRIC_UNITS = numbered(
  [
    'none',
    'count',
    'hz',
    'bytes',
    'bytes_per_second',
    'millipercent',
    'millidegrees_celsius',
    'microwatts',
    'microjoules',
    'bitfield',
    'enum',
  ],
  0,
);
export const METRIC_VALUE_KINDS = numbered(['none', 'i64', 'u64', 'f64'], 0);
export const METRIC_SEMANTICS = numbered(['none', 'instant', 'average', 'cumulative', 'delta', 'state'], 0);
export const METRIC_PLOTS = numbered(
  ['none', 'number', 'memory', 'percentage', 'frequency', 'temperature', 'power', 'energy', 'bandwidth'],
  0,
);

/** How control goes on behind an instruction. */
export const INSTRUCTION_CONTROLS = numbered(
  ['next', 'branch', 'conditional', 'jump', 'call', 'return', 'end'] as const satisfies readonly InstructionControl[],
  0,
);

/** The number of a name. */
export function numberOf(names: Readonly<Record<number, string>>, name: string): number {
  const found = Object.entries(names).find(([, each]) => each === name);
  return found === undefined ? 0 : Number(found[0]);
}
