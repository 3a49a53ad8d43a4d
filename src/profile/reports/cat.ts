/** `profile cat`: the records of the file as they lie there. */
import { BUNDLE_RECORD_TYPES, fullContentType } from '../format/bundle.ts';
import type { Profile } from '../profile.ts';
import { statusName } from './interchange.ts';
import type { ReportRow } from './rows.ts';

export function catRows(profile: Profile): ReportRow[] {
  const { versionMinor, headerBytes } = profile.bundle;
  const file = {
    type: 'file',
    magic: 'IRPF',
    version_major: 1,
    version_minor: versionMinor,
    header_length: headerBytes,
    flags: 0,
  };
  return [
    file,
    ...profile.parts.map((part) => ({
      type: 'record',
      index: part.index,
      record_type: part.type?.replace('-', '_') ?? 'unknown',
      record_type_value: part.type === undefined ? part.typeValue : BUNDLE_RECORD_TYPES[part.type],
      record_length: part.sizeBytes,
      payload_length: part.payload.length,
      content_type: fullContentType(part.contentType),
      name: part.name,
      session_id: part.sessionId,
      stream_id: part.streamId,
      event_id: part.eventId,
      executable_id: part.executableId,
      command_buffer_id: part.commandBufferId,
      physical_device_ordinal: part.physicalDeviceOrdinal,
      queue_ordinal: part.queueOrdinal,
      chunk_flags: part.chunkFlags,
      session_status_code: part.sessionStatus,
      session_status: statusName(part.sessionStatus),
    })),
  ];
}
