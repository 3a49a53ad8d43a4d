/** Code objects from files (hsa_code_object_reader_create_from_file, _with_offset_size). */
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { hex } from '../../base/text.ts';
import { HsaError } from '../objects/status.ts';
import { CodeObjectReader } from './loaded-code-object.ts';

const { closeSync, fstatSync, openSync, readSync } = process.getBuiltinModule('node:fs');

export interface FilePart {
  readonly offset?: number;
  /** Default: up to the end. */
  readonly sizeBytes?: number;
}

/** Throws INVALID_FILE when the file cannot be read, INVALID_ARGUMENT when it has no such part. */
export function readCodeObjectFile(file: string, { offset = 0, sizeBytes }: FilePart = {}): CodeObjectReader {
  const bytes = readPart(file, offset, sizeBytes);
  const url = pathToFileURL(path.resolve(file));
  const isWhole = offset === 0 && sizeBytes === undefined;
  return new CodeObjectReader(bytes, file, isWhole ? `${url}` : `${url}#offset=${hex(offset)}&size=${bytes.length}`);
}

function readPart(file: string, offset: number, sizeBytes: number | undefined): Uint8Array {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (cause) {
    throw new HsaError('INVALID_FILE', 'cannot be opened', { file, cause });
  }
  try {
    const size = fstatSync(descriptor).size;
    const wanted = sizeBytes ?? size - offset;
    if (
      !Number.isSafeInteger(offset) ||
      offset < 0 ||
      !Number.isSafeInteger(wanted) ||
      wanted < 1 ||
      offset + wanted > size
    ) {
      throw new HsaError('INVALID_ARGUMENT', `${wanted} bytes at ${offset}, the file has ${size}`, { file });
    }
    const bytes = new Uint8Array(wanted);
    let at = 0;
    while (at < wanted) {
      const count = readSync(descriptor, bytes, at, wanted - at, offset + at);
      if (count === 0) throw new HsaError('INVALID_FILE', 'is shorter than it was', { file });
      at += count;
    }
    return bytes;
  } catch (cause) {
    throw cause instanceof HsaError ? cause : new HsaError('INVALID_FILE', 'cannot be read', { file, cause });
  } finally {
    closeSync(descriptor);
  }
}
