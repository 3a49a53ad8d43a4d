/** How a recorder records, and what its parts share. */
import type { ReplayWriter } from '../format/file.ts';
import type { ObjectIds } from './object-ids.ts';

/**
 * What becomes of files that a program reads by name: `reference` names them, `capture-ranges` keeps what
 * queues read, `capture-all` keeps all of each, `fail` refuses them. Files in memory are always kept.
 */
export const FILE_POLICIES = ['reference', 'capture-ranges', 'capture-all', 'fail'] as const;
export type FilePolicy = (typeof FILE_POLICIES)[number];

/** How a replay knows that a file that is named is the same: by device, inode and time, or by its bytes. */
export const FILE_VALIDATIONS = ['identity', 'digest'] as const;
export type FileValidation = (typeof FILE_VALIDATIONS)[number];

export interface RecorderOptions {
  /** Default `reference`. */
  readonly filePolicy?: FilePolicy;
  /** Default `identity`. */
  readonly fileValidation?: FileValidation;
  /**
   * Whether the recording says what the program saw in buffers, and what they hold at the end, so that
   * replays can be verified. Default true; it costs a look at all these bytes.
   */
  readonly keepsContents?: boolean;
}

/** What the parts of a recorder share. */
export interface RecorderContext {
  readonly writer: ReplayWriter;
  readonly ids: ObjectIds;
  readonly options: Required<RecorderOptions>;
}
