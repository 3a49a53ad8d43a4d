/** Files of a recording, for queues that read and write them once more. No file of the host is written. */
import { WavewrightError } from '../../base/errors.ts';
import { fnv1a64 } from '../../base/hash.ts';
import { HalError, type HalFile, type HalFileSource, type HalStatus, memoryFile } from '../../hal/index.ts';
import { FILE_REFERENCE, FILE_VALIDATION } from '../format/names.ts';
import type { PayloadOf } from '../format/payload-layout.ts';
import type { FILE_OBJECT } from '../format/payloads.ts';

type PathSource = Extract<HalFileSource, { readonly kind: 'path' }>;

/** Opens a file by its name. Throws IO. */
export type OpenReplayFile = (path: string) => HalFile & { readonly source: PathSource };

/** What one call of `read` or `write` of a file gave, as the recording has it. */
export interface Transfer {
  readonly count?: number;
  readonly status?: HalStatus | null;
  readonly message?: string;
  readonly data: Uint8Array;
}

interface Request {
  readonly bytes: Uint8Array | undefined;
  settle(transfer: Transfer): void;
}

/** A file as one operation uses it, whose transfers give what they gave when it was recorded. */
export class ScriptedFile implements HalFile {
  readonly #requests: Request[] = [];
  #wake: (() => void) | undefined;

  read(_offset: number, bytes: Uint8Array): Promise<number> {
    return this.#ask(bytes);
  }

  write(): Promise<number> {
    return this.#ask(undefined);
  }

  #ask(bytes: Uint8Array | undefined): Promise<number> {
    return new Promise((resolve, reject) => {
      const settle = ({ count, status, message = '', data }: Transfer): void => {
        if (count === undefined) reject(status == null ? new Error(message) : new HalError(status, message));
        else {
          bytes?.set(data.subarray(0, bytes.length));
          resolve(count);
        }
      };
      this.#requests.push({ bytes, settle });
      this.#wake?.();
    });
  }

  /** Settles the next transfer, when the operation gets there. */
  async give(transfer: Transfer): Promise<void> {
    while (this.#requests.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#requests.shift()!.settle(transfer);
  }
}

/** A file of the recording. */
export class ReplayedFile {
  /** Undefined: what each operation got is in the recording. */
  readonly file: HalFile | undefined;
  /** Bytes that were written, over those of the file. */
  readonly #written: { readonly offset: number; readonly bytes: Uint8Array }[] = [];

  constructor(file: HalFile | undefined) {
    this.file = file && this.#overlaid(file);
  }

  #overlaid(file: HalFile): HalFile {
    return {
      read: async (offset, bytes) => {
        const count = await file.read(offset, bytes);
        for (const written of this.#written) overlay(bytes.subarray(0, count), offset, written);
        return count;
      },
      write: (offset, bytes) => {
        this.#written.push({ offset, bytes: bytes.slice() });
        // A file by its name stays what it is.
        return file.source?.kind === 'path' ? Promise.resolve(bytes.length) : file.write(offset, bytes);
      },
    };
  }

  /** What was written to a range, if something was. */
  writtenAt(offset: number, sizeBytes: number): Uint8Array | undefined {
    const bytes = new Uint8Array(sizeBytes);
    const isThere = this.#written.some((each) => each.offset <= offset && offset < each.offset + each.bytes.length);
    for (const written of this.#written) overlay(bytes, offset, written);
    return isThere || sizeBytes === 0 ? bytes : undefined;
  }
}

function overlay(bytes: Uint8Array, offset: number, written: { readonly offset: number; readonly bytes: Uint8Array }) {
  const start = Math.max(offset, written.offset);
  const end = Math.min(offset + bytes.length, written.offset + written.bytes.length);
  if (start < end) bytes.set(written.bytes.subarray(start - written.offset, end - written.offset), start - offset);
}

export interface FileOptions {
  /** Opens files that the recording names. Default: they are refused. */
  readonly openFile?: OpenReplayFile | undefined;
  /** What a name of the recording is here: prefixes by what replaces them. */
  readonly remaps?: readonly (readonly [captured: string, replayed: string])[];
}

/**
 * The file of a record. Throws USAGE for a file by its name where nobody opens files, IO where it is not
 * there, BAD_INPUT where it is not the file of the recording.
 */
export function replayedFile(payload: PayloadOf<typeof FILE_OBJECT>, options: FileOptions): ReplayedFile {
  const { referenceType, reference, fileLength } = payload;
  switch (referenceType) {
    case FILE_REFERENCE.inline_bytes: {
      if (fileLength !== reference.length) {
        throw new WavewrightError('BAD_INPUT', `a file of ${fileLength} bytes, of which ${reference.length} are there`);
      }
      return new ReplayedFile(memoryFile(reference.slice()));
    }
    case FILE_REFERENCE.captured_ranges:
      return new ReplayedFile(undefined);
    case FILE_REFERENCE.external_path:
      return new ReplayedFile(externalFile(payload, options));
    default:
      throw new WavewrightError('UNSUPPORTED', `a file of reference type ${referenceType}`);
  }
}

function externalFile(payload: PayloadOf<typeof FILE_OBJECT>, { openFile, remaps = [] }: FileOptions): HalFile {
  const captured = new TextDecoder().decode(payload.reference);
  const remap = remaps.find(([prefix]) => captured.startsWith(prefix));
  const path = remap === undefined ? captured : remap[1] + captured.slice(remap[0].length);
  const hint = '--replay_file_remap=CAPTURED_PREFIX=REPLAY_PREFIX names files that were moved';
  if (openFile === undefined)
    throw new WavewrightError('USAGE', `the recording needs the file '${captured}'`, { hint });
  const file = openFile(path);
  const { source } = file;
  const fail = (what: string): never => {
    throw new WavewrightError('BAD_INPUT', `it is not the file of the recording: ${what}`, { file: path, hint });
  };
  if (source.sizeBytes !== payload.fileLength) fail(`${source.sizeBytes} bytes, expected ${payload.fileLength}`);
  const { device, inode, mtimeNs } = source.identity;
  const isOther = device !== payload.fileDevice || inode !== payload.fileInode || mtimeNs !== payload.fileMtimeNs;
  if (payload.validationType === FILE_VALIDATION.identity && isOther) {
    fail(
      'device, inode or time of its last change differ; a recording with --device_replay_file_validation=digest looks at bytes',
    );
  }
  if (payload.validationType === FILE_VALIDATION.digest) {
    const view = new DataView(payload.digest.buffer, payload.digest.byteOffset, payload.digest.byteLength);
    const found = fnv1a64(source.readSync(0, source.sizeBytes));
    if (found !== view.getBigUint64(0, true)) fail('its bytes have another digest');
  }
  return file;
}
