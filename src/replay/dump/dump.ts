/** Recordings as text and as JSON Lines, as iree-dump-replay prints them. */
import { type JsonValue, jsonOf } from '../../base/json.ts';
import { HAL_STATUS } from '../../hal/index.ts';
import { REPLAY_VERSION, type ReplayFile, type ReplayRecord } from '../format/file.ts';
import { objectTypeName, operationName, recordTypeName } from '../format/names.ts';
import { PAYLOADS, payloadTypeName } from '../format/payloads.ts';
import { payloadJson, payloadText, rangeJson } from './payload-rows.ts';
import { type ReplaySummary, summaryOf } from './summary.ts';

const STATUS_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(HAL_STATUS).map(([name, { value }]) => [value, name]),
);
const statusText = (value: number): string => (value === 0 ? 'OK' : (STATUS_NAMES.get(value) ?? '<invalid>'));

/** A row for the file, one for its summary, one for each record. Throws BAD_INPUT for a damaged payload. */
export function* replayRows(file: ReplayFile): Generator<Readonly<Record<string, JsonValue>>> {
  yield {
    kind: 'file',
    version_major: REPLAY_VERSION.major,
    version_minor: file.versionMinor,
    header_length: file.headerBytes,
    flags: 0,
    file_length: file.sizeBytes,
  };
  yield summaryRow(summaryOf(file));
  for (const record of file.records) yield recordRow(file, record);
}

export function* jsonLinesOf(file: ReplayFile): Generator<string> {
  for (const row of replayRows(file)) yield `${jsonOf(row)}\n`;
}

function recordRow(file: ReplayFile, record: ReplayRecord): Readonly<Record<string, JsonValue>> {
  const payload = payloadJson(file, record);
  return {
    kind: recordTypeName(record.type),
    file_offset: record.offset,
    record_length: record.sizeBytes,
    payload_length: record.payload.length,
    sequence_ordinal: record.ordinal,
    thread_id: record.threadId,
    device_id: record.deviceId,
    object_id: record.objectId,
    related_object_id: record.relatedObjectId,
    record_type_code: record.type,
    record_flags: record.flags,
    object_type: objectTypeName(record.objectType),
    object_type_code: record.objectType,
    operation: operationName(record.operation),
    operation_code: record.operation,
    status_code: record.status,
    status: statusText(record.status),
    payload_type: payloadTypeName(record.payloadType),
    payload_type_code: record.payloadType,
    payload_range: rangeJson(record.payloadOffset, record.payload.length),
    ...(payload !== undefined && { payload }),
  };
}

const summaryRow = (summary: ReplaySummary): Readonly<Record<string, JsonValue>> => ({
  kind: 'summary',
  hermetic: summary.isHermetic,
  environment_referenced: summary.isEnvironmentReferenced,
  strict_replay_supported: summary.isStrictReplaySupported,
  record_count: summary.records,
  object_count: summary.objects,
  operation_count: summary.operations,
  unsupported_count: summary.unsupported,
  scope_begin_count: summary.scopeBegins,
  scope_end_count: summary.scopeEnds,
  file_object_count: summary.files,
  external_file_count: summary.references.external_path.count,
  inline_file_count: summary.references.inline_bytes.count,
  range_file_count: summary.references.captured_ranges.count,
  unknown_file_reference_count: summary.references.unknown.count,
  external_file_total_length: summary.references.external_path.bytes,
  inline_file_total_length: summary.references.inline_bytes.bytes,
  range_file_total_length: summary.references.captured_ranges.bytes,
  captured_read_total_length: summary.capturedReadBytes,
  file_validation: summary.validations,
});

const yesNo = (value: boolean): string => (value ? 'yes' : 'no');

/** Line by line. Throws BAD_INPUT for a damaged payload. */
export function* textLinesOf(file: ReplayFile): Generator<string> {
  const summary = summaryOf(file);
  const { references, validations } = summary;
  const { external_path: external, inline_bytes: inline, captured_ranges: ranges, unknown } = references;
  yield [
    `IREE HAL replay v${REPLAY_VERSION.major}.${file.versionMinor}`,
    `file_length: ${file.sizeBytes}`,
    `header_length: ${file.headerBytes}`,
    'summary:',
    `  hermetic: ${yesNo(summary.isHermetic)}`,
    `  environment_referenced: ${yesNo(summary.isEnvironmentReferenced)}`,
    `  strict_replay_supported: ${yesNo(summary.isStrictReplaySupported)}`,
    `  records: total=${summary.records} objects=${summary.objects} operations=${summary.operations} unsupported=${summary.unsupported}`,
    `  scopes: begin=${summary.scopeBegins} end=${summary.scopeEnds}`,
    `  files: total=${summary.files} external=${external.count} inline=${inline.count} ranges=${ranges.count} unknown=${unknown.count}`,
    `  file_bytes: external=${external.bytes} inline=${inline.bytes} ranges=${ranges.bytes} captured_reads=${summary.capturedReadBytes}`,
    `  file_validation: ${Object.entries(validations)
      .map(([name, count]) => `${name}=${count}`)
      .join(' ')}`,
    'records:\n',
  ].join('\n');
  for (const record of file.records) yield `${recordText(file, record)}\n`;
}

function recordText(file: ReplayFile, record: ReplayRecord): string {
  const { offset, ordinal, deviceId, objectId, relatedObjectId, threadId, objectType, operation } = record;
  const type = recordTypeName(record.type).padEnd(11);
  const ids = `dev=${deviceId} obj=${objectId} rel=${relatedObjectId} thread=${threadId}`;
  const parts = [`  @${offset} #${ordinal} ${type} ${ids} status=${statusText(record.status)}`];
  if (objectType !== 0) parts.push(`object=${objectTypeName(objectType)}(${objectType})`);
  if (operation !== 0) parts.push(`op=${operationName(operation)}(${operation})`);
  const { payloadType, payload, payloadOffset } = record;
  if (payloadType !== 0 || payload.length > 0) {
    parts.push(`payload=${payloadTypeName(payloadType)}(${payloadType})`);
    parts.push(`range=[${payloadOffset}, +${payload.length}]`);
    if (PAYLOADS.has(payloadType)) parts.push(...payloadText(file, record));
  }
  return parts.join(' ');
}
