/** Files of the host by their names, for queues. */
import { WavewrightError } from '../../base/errors.ts';
import { HalError } from '../core/status.ts';
import type { HalFile, HalFileSource } from '../queues/file-transfer.ts';

const { closeSync, fstatSync, openSync, readSync, writeSync } = process.getBuiltinModule('node:fs');

/**
 * Opens a file for the `read` of queues and, with `isWritable`, for their `write`. Throws IO. `using` closes
 * it.
 */
export function openHalFile(
  path: string,
  { isWritable = false } = {},
): HalFile & Disposable & { readonly source: Extract<HalFileSource, { readonly kind: 'path' }> } {
  const attempt = <T>(call: () => T): T => {
    try {
      return call();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
      throw new WavewrightError('IO', `cannot be opened (${code})`, { file: path, cause: error });
    }
  };
  const descriptor = attempt(() => openSync(path, isWritable ? 'r+' : 'r'));
  const { dev, ino, mtimeNs, size } = attempt(() => fstatSync(descriptor, { bigint: true }));
  const readInto = (offset: number, bytes: Uint8Array): number => readSync(descriptor, bytes, 0, bytes.length, offset);
  return {
    read: async (offset, bytes) => readInto(offset, bytes),
    write: async (offset, bytes) => {
      if (!isWritable) throw new HalError('PERMISSION_DENIED', `'${path}' was opened for reading`);
      return writeSync(descriptor, bytes, 0, bytes.length, offset);
    },
    source: {
      kind: 'path',
      path,
      sizeBytes: Number(size),
      identity: { device: dev, inode: ino, mtimeNs },
      readSync: (offset, sizeBytes) => {
        const bytes = new Uint8Array(Math.max(0, Math.min(sizeBytes, Number(size) - offset)));
        let done = 0;
        while (done < bytes.length) {
          const count = readInto(offset + done, bytes.subarray(done));
          if (count === 0) break;
          done += count;
        }
        return bytes.subarray(0, done);
      },
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}
