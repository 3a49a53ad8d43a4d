/** `profile att`: what waves of traced dispatches executed. */
import { matchesGlob } from '../../base/glob.ts';
import { TRACE_FORMATS } from '../format/names.ts';
import type { Profile } from '../profile.ts';
import { type TracedDispatch, tracedDispatches } from '../traced-dispatches.ts';
import type { ReportFilter } from './groups.ts';
import type { Columns, ReportRow } from './rows.ts';

export const ATT_COLUMNS: Columns = {
  att_trace: [
    'trace_id',
    'dispatch_event_id',
    'key',
    'waves',
    'instructions',
    'lost',
    'data_length',
    'bytes_per_instruction',
  ],
  att_instruction: ['pc', 'category', 'hits', 'lanes', 'instruction'],
};

/** A trace, then its instructions; no one measures durations, which are null. Throws BAD_INPUT. */
export const attRows = (profile: Profile, { glob, id }: ReportFilter): ReportRow[] =>
  tracedDispatches(profile)
    .filter(({ key }) => matchesGlob(key, glob))
    .filter(({ record }) => id === undefined || record.traceId === id)
    .flatMap(rowsOf);

function rowsOf(dispatch: TracedDispatch): ReportRow[] {
  const { record, key, data, lostCount } = dispatch;
  const instructions = dispatch.instructions();
  const executed = instructions.reduce((sum, { waves }) => sum + waves, 0);
  const trace: ReportRow = {
    type: 'att_trace',
    trace_id: record.traceId,
    format: TRACE_FORMATS[record.format] ?? 'unknown',
    dispatch_event_id: record.dispatchEventId,
    submission_id: record.submissionId,
    command_buffer_id: record.commandBufferId,
    command_index: record.commandIndex,
    executable_id: record.executableId,
    export_ordinal: record.exportOrdinal,
    physical_device_ordinal: record.physicalDeviceOrdinal,
    queue_ordinal: record.queueOrdinal,
    stream_id: record.streamId,
    key,
    waves: data.waves.length,
    instructions: executed,
    lost: lostCount,
    data_length: record.data.length,
    bytes_per_instruction: Number((executed === 0 ? 0 : record.data.length / executed).toPrecision(3)),
  };
  const rows = instructions.map(({ codeObjectId, address, waves, lanes, code }) => ({
    type: 'att_instruction',
    trace_id: record.traceId,
    code_object_id: codeObjectId,
    pc: `0x${address.toString(16)}`,
    category: code?.className ?? '',
    hits: waves,
    lanes,
    duration: null,
    stall: null,
    instruction: code?.text ?? '',
  }));
  return [trace, ...rows];
}
