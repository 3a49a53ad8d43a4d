/** Files that queues read and write, as records, by the policy of the recorder. */
import { fnv1a64 } from '../../base/hash.ts';
import { HalError, type HalFile, type HalFileSource } from '../../hal/index.ts';
import { DIGEST_FNV1A64, FILE_HANDLE, FILE_REFERENCE, FILE_VALIDATION } from '../format/names.ts';
import type { PayloadOf } from '../format/payload-layout.ts';
import { FILE_OBJECT } from '../format/payloads.ts';
import { contentsNote } from './contents-note.ts';
import { ANY_QUEUE, type ThingRecords } from './thing-records.ts';

/** The operation that a file is used by; known when the call went through. */
export interface FileUser {
  operation: number | undefined;
}

/** To read and to write. */
const READ_WRITE = 3;
const DIGEST_BYTES = 32;

/** An FNV-1a in the field for any digest. */
export function digestField(bytes: Uint8Array): Uint8Array {
  const field = new Uint8Array(DIGEST_BYTES);
  new DataView(field.buffer).setBigUint64(0, fnv1a64(bytes), true);
  return field;
}

type FilePayload = Partial<PayloadOf<typeof FILE_OBJECT>>;

export class FileRecords {
  readonly #things: ThingRecords;

  constructor(things: ThingRecords) {
    this.#things = things;
  }

  /** Throws PERMISSION_DENIED for a file by name where the policy is `fail`. */
  fileId(file: HalFile): number {
    // Files in memory are the same where their bytes are.
    const key = file.source?.kind === 'memory' ? file.source.contents : file;
    const known = this.#things.context.ids.of(key);
    if (known !== undefined) return known;
    const payload = { queueAffinity: ANY_QUEUE, access: READ_WRITE, ...this.#payload(file.source) };
    return this.#things.create('device.import_file', 'file', key, FILE_OBJECT, payload);
  }

  #payload(source: HalFileSource | undefined): FilePayload {
    // What such a file gives is seen when it does.
    if (source === undefined) return { referenceType: FILE_REFERENCE.captured_ranges };
    if (source.kind === 'memory') return inline(source.contents, FILE_HANDLE.host_allocation);
    const { filePolicy, fileValidation } = this.#things.context.options;
    const { path, sizeBytes, identity } = source;
    if (filePolicy === 'fail') {
      throw new HalError('PERMISSION_DENIED', `the recording may use no file by its name, as '${path}'`);
    }
    if (filePolicy === 'capture-all') return inline(source.readSync(0, sizeBytes), FILE_HANDLE.fd);
    const named = { reference: new TextEncoder().encode(path), fileLength: sizeBytes, handleType: FILE_HANDLE.fd };
    if (filePolicy === 'capture-ranges') return { ...named, referenceType: FILE_REFERENCE.captured_ranges };
    const external = { ...named, referenceType: FILE_REFERENCE.external_path };
    if (fileValidation === 'digest') {
      const digest = digestField(source.readSync(0, sizeBytes));
      return { ...external, validationType: FILE_VALIDATION.digest, digestType: DIGEST_FNV1A64, digest };
    }
    const { device: fileDevice, inode: fileInode, mtimeNs: fileMtimeNs } = identity;
    return { ...external, fileDevice, fileInode, fileMtimeNs, validationType: FILE_VALIDATION.identity };
  }

  /** What a read takes into the recording when it is submitted. */
  captured({ source }: HalFile, offset: number, sizeBytes: number): Uint8Array {
    const isCaptured = source?.kind === 'path' && this.#things.context.options.filePolicy === 'capture-ranges';
    return isCaptured ? source.readSync(offset, sizeBytes) : new Uint8Array();
  }

  /** A file that does the same, and tells what it gave and took. */
  watched(file: HalFile, user: FileUser): HalFile {
    const isKnown = file.source !== undefined;
    const told = async (bytes: Uint8Array, give: () => Promise<number>, writtenAt?: number): Promise<number> => {
      const isRead = writtenAt === undefined;
      try {
        const count = await give();
        const { keepsContents } = this.#things.context.options;
        if (!isRead && keepsContents && isKnown) this.#written(file, user, writtenAt, bytes.subarray(0, count));
        if (!isKnown) this.#transferred(file, user, { count }, isRead ? bytes.subarray(0, count) : undefined);
        return count;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const status = error instanceof HalError ? error.status : null;
        if (!isKnown) this.#transferred(file, user, { status, message });
        throw error;
      }
    };
    return {
      source: file.source,
      read: (offset, bytes) => told(bytes, () => file.read(offset, bytes)),
      write: (offset, bytes) => told(bytes, () => file.write(offset, bytes), offset),
    };
  }

  #transferred(file: HalFile, { operation }: FileUser, told: object, data?: Uint8Array): void {
    const header = { deviceId: this.#things.deviceId, objectId: this.fileId(file) };
    this.#things.context.writer.own('file.transfer_end', header, { operation, ...told }, data);
  }

  #written(file: HalFile, { operation }: FileUser, offset: number, bytes: Uint8Array): void {
    const header = { deviceId: this.#things.deviceId, objectId: this.fileId(file) };
    contentsNote(this.#things.context.writer, 'note.file_written', header, { offset, bytes, operation });
  }
}

const inline = (contents: Uint8Array, handleType: number): FilePayload => ({
  referenceType: FILE_REFERENCE.inline_bytes,
  reference: contents,
  fileLength: contents.length,
  handleType,
});
