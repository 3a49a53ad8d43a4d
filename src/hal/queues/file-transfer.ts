/** Files that queues read and write: in pieces, so that a large one needs little memory of the host. */
import type { BackendCommand } from '../backend/command.ts';
import { HalError, invalidArgument } from '../core/status.ts';
import { bytesOfRange, type StorageRange } from '../memory/buffer-ref.ts';

/** Anything with bytes at offsets: a file handle of the host, a Blob, memory. */
export interface HalFile {
  /** Reads up to as many bytes as `bytes` has; resolves to how many, 0 at the end. */
  read(offset: number, bytes: Uint8Array): Promise<number>;
  /** Resolves to how many bytes it took. */
  write(offset: number, bytes: Uint8Array): Promise<number>;
  /** For recorders: what the bytes are, where that is known without reading. */
  readonly source?: HalFileSource | undefined;
}

/** Memory of the host, or a file by its name. */
export type HalFileSource =
  | { readonly kind: 'memory'; readonly contents: Uint8Array }
  | {
      readonly kind: 'path';
      readonly path: string;
      readonly sizeBytes: number;
      /** What tells it from others without a look at its contents. */
      readonly identity: { readonly device: bigint; readonly inode: bigint; readonly mtimeNs: bigint };
      /** On the spot; fewer bytes where it ends. */
      readSync(offset: number, sizeBytes: number): Uint8Array;
    };

/** IREE stages files through slots of this size. */
const PIECE_BYTES = 16 * 2 ** 20;

function* pieces(sizeBytes: number): Generator<{ readonly start: number; readonly sizeBytes: number }> {
  for (let start = 0; start < sizeBytes; start += PIECE_BYTES) {
    yield { start, sizeBytes: Math.min(PIECE_BYTES, sizeBytes - start) };
  }
}

const part = (range: StorageRange, start: number, sizeBytes: number): StorageRange => ({
  storage: range.storage,
  offsetBytes: range.offsetBytes + start,
  sizeBytes,
});

/** Throws OUT_OF_RANGE where the file ends before the target is full. */
export async function readFile(
  file: HalFile,
  fileOffset: number,
  target: StorageRange,
  begin: (command: BackendCommand) => Promise<void>,
): Promise<void> {
  checkOffset(fileOffset);
  for (const { start, sizeBytes } of pieces(target.sizeBytes)) {
    const contents = new Uint8Array(sizeBytes);
    await fully('read', file, fileOffset + start, contents);
    await begin({ kind: 'update', contents, target: part(target, start, sizeBytes) });
  }
}

/** Throws OUT_OF_RANGE where the file takes no more. */
export async function writeFile(file: HalFile, fileOffset: number, source: StorageRange): Promise<void> {
  checkOffset(fileOffset);
  for (const { start, sizeBytes } of pieces(source.sizeBytes)) {
    await fully('write', file, fileOffset + start, Uint8Array.from(bytesOfRange(part(source, start, sizeBytes))));
  }
}

async function fully(how: 'read' | 'write', file: HalFile, offset: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const count = await file[how](offset + done, bytes.subarray(done));
    if (!Number.isInteger(count) || count <= 0 || count > bytes.length - done) {
      const what = `${done} of ${bytes.length} bytes at ${offset} could be ${how === 'read' ? 'read' : 'written'}`;
      throw new HalError('OUT_OF_RANGE', `${what}: the file ends there`);
    }
    done += count;
  }
}

function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return;
  throw invalidArgument(`a file offset of ${offset}, expected an integer from 0`);
}

/** A file in memory; it ends where the bytes end. */
export function memoryFile(contents: Uint8Array): HalFile {
  const within = (offset: number, bytes: Uint8Array): number =>
    Math.max(0, Math.min(bytes.length, contents.length - offset));
  return {
    source: { kind: 'memory', contents },
    read: async (offset, bytes) => {
      const count = within(offset, bytes);
      bytes.set(contents.subarray(offset, offset + count));
      return count;
    },
    write: async (offset, bytes) => {
      const count = within(offset, bytes);
      contents.set(bytes.subarray(0, count), offset);
      return count;
    },
  };
}
