/** What bytes were somewhere, for replays that are verified: a digest, and few bytes as they are. */
import { fnv1a64 } from '../../base/hash.ts';
import type { ReplayWriter } from '../format/file.ts';

/** Up to so many are in the recording, so that a replay can say which differ. */
const MAX_KEPT_BYTES = 4096;

export const digestText = (bytes: Uint8Array): string => `0x${fnv1a64(bytes).toString(16).padStart(16, '0')}`;

interface NotedBytes {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** That wrote them. */
  readonly operation?: number | undefined;
}

export function contentsNote(
  writer: ReplayWriter,
  name: 'note.contents' | 'note.file_written',
  header: { readonly deviceId: number; readonly objectId: number },
  { offset, bytes, operation }: NotedBytes,
): void {
  const told = { offset, length: bytes.length, digest: digestText(bytes), operation };
  writer.own(name, header, told, bytes.length <= MAX_KEPT_BYTES ? bytes : undefined);
}
