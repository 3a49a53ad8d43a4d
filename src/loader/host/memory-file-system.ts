import type { FileSystem, OpenFile, OpenMode } from './file-system.ts';

/** Bytes that one file may have. */
const MAX_FILE_BYTES = 2 ** 30;

class MemoryFile {
  #buffer: Uint8Array;
  sizeBytes: number;

  constructor(bytes: Uint8Array) {
    this.#buffer = bytes.slice();
    this.sizeBytes = bytes.length;
  }

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.sizeBytes);
  }

  truncate(): void {
    this.#buffer = new Uint8Array();
    this.sizeBytes = 0;
  }

  write(at: number, bytes: Uint8Array): boolean {
    const end = at + bytes.length;
    if (end > MAX_FILE_BYTES) return false;
    if (end > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.#buffer.length));
      grown.set(this.bytes);
      this.#buffer = grown;
    }
    this.#buffer.set(bytes, at);
    this.sizeBytes = Math.max(this.sizeBytes, end);
    return true;
  }
}

class OpenMemoryFile implements OpenFile {
  position = 0;
  readonly #file: MemoryFile;
  readonly #append: boolean;

  constructor(file: MemoryFile, append: boolean) {
    this.#file = file;
    this.#append = append;
  }

  get sizeBytes(): number {
    return this.#file.sizeBytes;
  }

  read(into: Uint8Array): number {
    const found = this.#file.bytes.subarray(this.position, this.position + into.length);
    into.set(found);
    this.position += found.length;
    return found.length;
  }

  write(bytes: Uint8Array): boolean {
    const at = this.#append ? this.#file.sizeBytes : this.position;
    if (!this.#file.write(at, bytes)) return false;
    this.position = at + bytes.length;
    return true;
  }

  seek(position: number): void {
    this.position = position;
  }

  close(): boolean {
    return true;
  }
}

/**
 * Files in memory, for tests and browsers. Paths are compared as they are written; there are no directories.
 */
export class MemoryFileSystem implements FileSystem {
  readonly #files = new Map<string, MemoryFile>();

  /** The bytes of a file, shared with it until its next write. */
  get(path: string): Uint8Array | undefined {
    return this.#files.get(path)?.bytes;
  }

  set(path: string, bytes: Uint8Array): void {
    this.#files.set(path, new MemoryFile(bytes));
  }

  open(path: string, mode: OpenMode): OpenFile | undefined {
    let file = this.#files.get(path);
    if (file === undefined ? !mode.create : mode.exclusive) return undefined;
    if (file === undefined) {
      file = new MemoryFile(new Uint8Array());
      this.#files.set(path, file);
    }
    if (mode.truncate) file.truncate();
    return new OpenMemoryFile(file, mode.append);
  }

  remove(path: string): boolean {
    return this.#files.delete(path);
  }

  rename(from: string, to: string): boolean {
    const file = this.#files.get(from);
    if (file === undefined) return false;
    this.#files.delete(from);
    this.#files.set(to, file);
    return true;
  }
}
