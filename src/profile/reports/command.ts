/** `profile command`: command buffers, their commands, and their executions. */
import { matchesGlob } from '../../base/glob.ts';
import { COMMAND_OPERATIONS } from '../format/names.ts';
import type { RecordOf } from '../format/record-layout.ts';
import { type COMMAND_BUFFER_OPERATIONS, COMMAND_OPERATION_FLAG } from '../format/records.ts';
import type { PlacedDispatch, Profile } from '../profile.ts';
import { HOST_TIMING } from './dispatch.ts';
import {
  DEVICE_DISPATCHES,
  type DispatchGroup,
  groupDispatches,
  HOST_DISPATCHES,
  type HostExecutionRecord,
  matchDispatches,
  type ReportFilter,
} from './groups.ts';
import { spanCells } from './queue.ts';
import type { Columns, ReportRow } from './rows.ts';

export const COMMAND_COLUMNS: Columns = {
  command_operation: ['command_index', 'op', 'key', 'workgroup_count', 'workgroup_size', 'target_offset', 'length'],
  command_execution: ['submission_id', 'queue_ordinal', 'dispatches', 'span_ns', 'total_dispatch_ns'],
};

type Operation = RecordOf<typeof COMMAND_BUFFER_OPERATIONS>;

/** What a command does: the name of its kernel, else of its kind. */
export const operationKey = (profile: Profile, { type, executableId, exportOrdinal }: Operation): string => {
  const name = COMMAND_OPERATIONS[type] ?? 'unknown';
  return name === 'dispatch' ? profile.keyOf(executableId, exportOrdinal) : name;
};

export function commandRows(profile: Profile, filter: ReportFilter): ReportRow[] {
  const { id, glob } = filter;
  const onDevice = matchDispatches(profile, DEVICE_DISPATCHES, filter, 'commandBufferId');
  const onHost = matchDispatches(profile, HOST_DISPATCHES, filter, 'commandBufferId');
  const ofBuffer = (dispatches: typeof onDevice.matched) =>
    dispatches.filter(({ commandBufferId }) => commandBufferId !== 0n);
  const executions = groupDispatches(
    DEVICE_DISPATCHES,
    ofBuffer(onDevice.matched),
    (each) => `${each.commandBufferId} ${each.submissionId} ${each.streamId}`,
  );
  const hostExecutions = groupDispatches(
    HOST_DISPATCHES,
    onHost.matched.filter(({ commandBufferId }) => commandBufferId !== 0n),
    (each) => `${each.commandBufferId} ${each.submissionId} ${each.streamId}`,
  );
  const isChosen = ({ commandBufferId }: { readonly commandBufferId: bigint }) =>
    id === undefined || commandBufferId === id;
  const buffers = [...profile.commandBuffers.values()].filter(isChosen);
  const operations = profile.operations.filter(
    (each) => isChosen(each) && matchesGlob(operationKey(profile, each), glob),
  );
  const summary: ReportRow = {
    type: 'command_summary',
    filter: glob,
    command_buffers: buffers.length,
    executions: executions.length,
    host_executions: hostExecutions.length,
    command_operations: profile.operations.length,
    matched_command_operations: operations.length,
    matched_dispatches: onDevice.matched.length,
    valid_dispatches: onDevice.valid,
    invalid_dispatches: onDevice.invalid,
    matched_host_dispatches: onHost.matched.length,
    valid_host_dispatches: onHost.valid,
    invalid_host_dispatches: onHost.invalid,
  };
  const rows = buffers.flatMap((buffer): ReportRow[] => {
    const isOf = ({ commandBufferId }: { readonly commandBufferId: bigint }) =>
      commandBufferId === buffer.commandBufferId;
    return [
      {
        type: 'command_buffer',
        command_buffer_id: buffer.commandBufferId,
        physical_device_ordinal: buffer.physicalDeviceOrdinal,
        mode: buffer.mode,
        command_categories: buffer.commandCategories,
        queue_affinity: buffer.queueAffinity,
      },
      ...operations.filter(isOf).map((operation) => operationRow(profile, operation)),
      ...executions.filter(({ first }) => isOf(first)).map((execution) => executionRow(profile, execution)),
      ...hostExecutions.filter(({ first }) => isOf(first)).map(hostExecutionRow),
    ];
  });
  return [summary, ...rows];
}

const placeCells = ({ commandBufferId, submissionId, ...place }: PlacedDispatch | HostExecutionRecord) => ({
  command_buffer_id: commandBufferId,
  submission_id: submissionId,
  physical_device_ordinal: place.physicalDeviceOrdinal,
  queue_ordinal: place.queueOrdinal,
  stream_id: place.streamId,
});

const executionRow = (profile: Profile, { first, totals }: DispatchGroup<PlacedDispatch>): ReportRow => ({
  type: 'command_execution',
  ...placeCells(first),
  ...spanCells(totals, profile.clockFit(first.physicalDeviceOrdinal)),
});

const hostExecutionRow = (execution: DispatchGroup<HostExecutionRecord>): ReportRow => ({
  type: 'command_host_execution',
  ...HOST_TIMING,
  ...placeCells(execution.first),
  dispatches: execution.totals.count,
  valid: execution.totals.valid,
  invalid: execution.totals.invalid,
  span_ns: execution.totals.span,
  total_dispatch_ns: execution.totals.total,
  total_tile_count: execution.tileCount,
  total_tile_duration_sum_ns: execution.tileDurationNs,
});

function operationRow(profile: Profile, operation: Operation): ReportRow {
  return {
    type: 'command_operation',
    command_buffer_id: operation.commandBufferId,
    command_index: operation.commandIndex,
    op: COMMAND_OPERATIONS[operation.type] ?? 'unknown',
    flags: operation.flags,
    block_structure: (operation.flags & COMMAND_OPERATION_FLAG.blockStructure) !== 0,
    block_ordinal: operation.blockOrdinal,
    block_command_ordinal: operation.blockCommandOrdinal,
    key: operationKey(profile, operation),
    executable_id: operation.executableId,
    export_ordinal: operation.exportOrdinal,
    binding_count: operation.bindingCount,
    workgroup_count: operation.workgroupCount,
    workgroup_size: operation.workgroupSize,
    source_ordinal: operation.sourceOrdinal,
    target_ordinal: operation.targetOrdinal,
    source_offset: operation.sourceOffset,
    target_offset: operation.targetOffset,
    length: operation.length,
    target_block_ordinal: operation.targetBlockOrdinal,
    alternate_block_ordinal: operation.alternateBlockOrdinal,
  };
}
