/**
 * The host's files for a GPU program, and its standard input. Reads of pipes, terminals and sockets do not
 * wait on Linux.
 */
import path from 'node:path';
import type { FileSystem, OpenFile, OpenMode } from './file-system.ts';

const { closeSync, constants, fstatSync, openSync, readSync, renameSync, rmdirSync, unlinkSync, writeSync } =
  process.getBuiltinModule('node:fs');

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** What `call` returns; `undefined` when the system refuses. Anything but a system error passes. */
export function attempt<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** Whether the system did it. */
export function succeeds(call: () => void): boolean {
  return (
    attempt(() => {
      call();
      return true;
    }) ?? false
  );
}

const STDIN = 0;
/** Before the umask. */
export const NEW_FILE_MODE = 0o666;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Repeats a call on a descriptor that is in non-blocking mode and not ready (EAGAIN). */
function untilReady(call: () => number): number {
  for (;;) {
    try {
      return call();
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error;
      Atomics.wait(pause, 0, 0, 2);
    }
  }
}

/** Writes all bytes before it returns, also to a full pipe. */
function writeFully(descriptor: number, bytes: Uint8Array, position: number | null): void {
  let done = 0;
  while (done < bytes.length) {
    const at = position === null ? null : position + done;
    done += untilReady(() => writeSync(descriptor, bytes, done, bytes.length - done, at));
  }
}

/**
 * A descriptor that had nothing to read is left alone so long: a look takes longer than all that other waves
 * ask for meanwhile.
 */
const LOOK_INTERVAL_MS = 1;

/** Reads from a descriptor, which gives `waiting` where it is in non-blocking mode and has nothing. */
class Reader {
  #nextLookMs = 0;

  /** At `position`, or where the descriptor stands. */
  read(descriptor: number, into: Uint8Array, position: number | null): number | 'waiting' | undefined {
    if (performance.now() < this.#nextLookMs) return 'waiting';
    try {
      return readSync(descriptor, into, 0, into.length, position);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (code !== 'EAGAIN') return undefined;
      this.#nextLookMs = performance.now() + LOOK_INTERVAL_MS;
      return 'waiting';
    }
  }
}

/**
 * Another descriptor for the same pipe, terminal or device, in non-blocking mode; those that share
 * `descriptor`, as commands do with standard input, do not notice. `undefined` where there is none: on other
 * systems than Linux, and for sockets.
 */
function openNonBlocking(descriptor: number): number | undefined {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
  return attempt(() => openSync(`/proc/self/fd/${descriptor}`, flags));
}

/** An open descriptor, which it closes in the end. */
export class NodeFile implements OpenFile {
  readonly #reader = new Reader();
  /** Undefined once it is closed. */
  #descriptor: number | undefined;
  readonly #append: boolean;
  /** Node has no lseek, so that regular files are read and written at a position that is kept here. */
  #position: number | undefined;

  constructor(descriptor: number, append: boolean) {
    this.#append = append;
    this.#position = fstatSync(descriptor).isFile() ? 0 : undefined;
    this.#descriptor = descriptor;
  }

  get position(): number | undefined {
    return this.#position;
  }

  get sizeBytes(): number | undefined {
    if (this.#position === undefined || this.#descriptor === undefined) return undefined;
    return fstatSync(this.#descriptor).size;
  }

  read(into: Uint8Array): number | 'waiting' | undefined {
    if (this.#descriptor === undefined) return undefined;
    const count = this.#reader.read(this.#descriptor, into, this.#position ?? null);
    if (this.#position !== undefined && typeof count === 'number') this.#position += count;
    return count;
  }

  write(bytes: Uint8Array): boolean {
    const descriptor = this.#descriptor;
    if (descriptor === undefined) return false;
    if (this.#append && this.#position !== undefined) this.#position = this.sizeBytes!;
    const at = this.#position ?? null;
    const written = succeeds(() => writeFully(descriptor, bytes, at));
    if (written && this.#position !== undefined) this.#position += bytes.length;
    return written;
  }

  seek(position: number): void {
    this.#position = position;
  }

  close(): boolean {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    return descriptor !== undefined && succeeds(() => closeSync(descriptor));
  }
}

/** Flags of open(2) for a mode. */
export function openFlags(mode: OpenMode): number {
  return (
    (mode.read ? (mode.write ? constants.O_RDWR : constants.O_RDONLY) : constants.O_WRONLY) |
    (mode.append ? constants.O_APPEND : 0) |
    (mode.create ? constants.O_CREAT : 0) |
    (mode.truncate ? constants.O_TRUNC : 0) |
    (mode.exclusive ? constants.O_EXCL : 0)
  );
}

/** As C's remove: a file, or an empty directory. */
export function removePath(name: string): boolean {
  try {
    unlinkSync(name);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return (code === 'EISDIR' || code === 'EPERM') && succeeds(() => rmdirSync(name));
  }
}

/** The host's file system; relative paths start at `directory`, by default at the working directory. */
export function createNodeFileSystem(directory = ''): FileSystem {
  // Not resolved: what `..` behind a symbolic link means is for the system to say.
  const place = (name: string) =>
    directory === '' || path.isAbsolute(name) || name === '' ? name : `${directory}/${name}`;
  return {
    open(name: string, mode: OpenMode): OpenFile | undefined {
      const descriptor = attempt(() => openSync(place(name), openFlags(mode), NEW_FILE_MODE));
      if (descriptor === undefined) return undefined;
      const isStream = mode.read && !mode.write && !fstatSync(descriptor).isFile();
      const nonBlocking = isStream ? openNonBlocking(descriptor) : undefined;
      if (nonBlocking === undefined) return new NodeFile(descriptor, mode.append);
      closeSync(descriptor);
      return new NodeFile(nonBlocking, mode.append);
    },
    remove: (name: string): boolean => removePath(place(name)),
    rename: (from: string, to: string): boolean => succeeds(() => renameSync(place(from), place(to))),
  };
}

export const nodeFileSystem: FileSystem = createNodeFileSystem();

/** Standard input of this process, which is left where it is until it is read. */
class NodeStdin {
  readonly #reader = new Reader();
  #descriptor: number | undefined;

  read(into: Uint8Array): number | 'waiting' | undefined {
    this.#descriptor ??= stdinDescriptor();
    return this.#reader.read(this.#descriptor, into, null);
  }
}

function stdinDescriptor(): number {
  const status = attempt(() => fstatSync(STDIN));
  if (status === undefined || status.isFile()) return STDIN;
  // Node puts a socket into non-blocking mode when it makes a stream of it.
  if (status.isSocket()) void process.stdin;
  return openNonBlocking(STDIN) ?? STDIN;
}

export const nodeStdin: Pick<OpenFile, 'read'> = new NodeStdin();
