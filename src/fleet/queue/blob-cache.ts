/** A folder of a worker with blobs that it has seen, as files that programs are loaded from. */
import path from 'node:path';
import { WavewrightError } from '../../base/errors.ts';
import { type BlobHash, type BlobStore, hashOfBytes, readBlobFile, writeBlobFile } from './blob-store.ts';

/** What was used a moment ago may be open in a process that runs it. */
const SAFE_AGE_MS = 600_000;
const MS_PER_S = 1000;

/** Files of blobs. */
export class BlobCache {
  readonly #folder: string;
  readonly #maxBytes: number;
  #sizeBytes = 0;
  #failure: WavewrightError | undefined;

  /** Makes the folder, for this user alone. Throws IO when nothing can be written or read there. */
  constructor(folder: string, maxBytes: number) {
    [this.#folder, this.#maxBytes] = [path.resolve(folder), maxBytes];
    const probe = new TextEncoder().encode('wavewright');
    writeBlobFile(this.#folder, hashOfBytes(probe), probe);
    this.#attempt(() => this.#evict());
  }

  /** Why the folder takes no files: no job would fare better with this cache. */
  get failure(): WavewrightError | undefined {
    return this.#failure;
  }

  /**
   * The file of a blob, from the store where it is not here. Throws IO when the store has none, when its
   * bytes are others, and when the folder fails.
   */
  async file(blob: BlobHash, store: BlobStore): Promise<string> {
    const file = path.join(this.#folder, blob);
    const known = this.#attempt(() => readBlobFile(file));
    if (known && hashOfBytes(known) === blob) {
      const now = Date.now() / MS_PER_S;
      this.#attempt(() => process.getBuiltinModule('node:fs').utimesSync(file, now, now));
      return file;
    }
    const bytes = await store.get(blob);
    if (!bytes) throw new WavewrightError('IO', `the blob ${blob} is missing`);
    const found = hashOfBytes(bytes);
    if (found !== blob) throw new WavewrightError('IO', `the blob ${blob} has the hash ${found}: it is damaged`);
    this.#attempt(() => writeBlobFile(this.#folder, blob, bytes));
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > this.#maxBytes) this.#attempt(() => this.#evict());
    return file;
  }

  #attempt<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      this.#failure =
        error instanceof WavewrightError ? error : new WavewrightError('IO', String(error), { cause: error });
      throw this.#failure;
    }
  }

  /** What was not used for longest goes first. */
  #evict(): void {
    const fs = process.getBuiltinModule('node:fs');
    const files = fs.readdirSync(this.#folder).flatMap((name) => {
      const file = path.join(this.#folder, name);
      const status = fs.statSync(file, { throwIfNoEntry: false });
      return status?.isFile() ? [{ file, sizeBytes: status.size, usedMs: status.mtimeMs }] : [];
    });
    this.#sizeBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    files.sort((a, b) => a.usedMs - b.usedMs);
    const safeMs = Date.now() - SAFE_AGE_MS;
    for (const { file, sizeBytes, usedMs } of files) {
      if (this.#sizeBytes <= this.#maxBytes || usedMs > safeMs) return;
      fs.rmSync(file, { force: true });
      this.#sizeBytes -= sizeBytes;
    }
  }
}
