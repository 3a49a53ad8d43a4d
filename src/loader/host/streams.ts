/** C streams on the host for a GPU program: what `FILE *` means in RPC. */

import { concatenate } from '../../base/concatenate.ts';
import { WavewrightError } from '../../base/errors.ts';
import { hex } from '../../base/text.ts';
import type { Conversation } from './conversation.ts';
import type { OpenFile } from './file-system.ts';

export interface StandardStreams {
  /** As `OpenFile.read`. */
  readonly stdin: Pick<OpenFile, 'read'>;
  /** The bytes are out when these return; they throw when that cannot be. */
  readonly stdout: (bytes: Uint8Array) => void;
  readonly stderr: (bytes: Uint8Array) => void;
}

const READ_AHEAD_BYTES = 4096;
/** Long reads ask the file for so much at once. */
const MAX_CHUNK_BYTES = 2 ** 20;
/** Bytes that one read may give. */
const MAX_READ_BYTES = 256 * 2 ** 20;
/** Output that is collected before it is sent on its way. */
const MAX_COLLECTED_BYTES = 65_536;
/** What was read ahead and is pushed back together; C promises one byte of the latter. */
const MAX_AHEAD_BYTES = 2 * READ_AHEAD_BYTES;
const NEWLINE = 0x0a;
const WHENCE = { set: 0, current: 1, end: 2 } as const;

export class HostStream {
  readonly #file: OpenFile;
  readonly #readable: boolean;
  readonly #writable: boolean;
  /** Bytes read from the file and not by the program yet; pushed back ones come first. */
  #ahead: Uint8Array = new Uint8Array();
  #end = false;
  #error = false;
  /** A read waits for the file; others of the stream wait until it is over, as for C's lock of a stream. */
  #isReading = false;
  readonly #spend: (sizeBytes: number) => void;

  /** `spend` is told of every write before it happens, and may throw. */
  constructor(
    file: OpenFile,
    access: { readonly read: boolean; readonly write: boolean },
    spend: (sizeBytes: number) => void = () => undefined,
  ) {
    this.#file = file;
    this.#spend = spend;
    this.#readable = access.read;
    this.#writable = access.write;
  }

  get atEnd(): boolean {
    return this.#end;
  }

  get failed(): boolean {
    return this.#error;
  }

  clearError(): void {
    this.#end = false;
    this.#error = false;
  }

  /**
   * Up to `sizeBytes` bytes: fewer at the end of the file or on failure. Throws LIMIT_EXCEEDED above 256 MiB.
   */
  read(sizeBytes: number): Conversation<Uint8Array> {
    return this.#collect(sizeBytes, undefined);
  }

  /** Up to `sizeBytes` bytes, the first newline included and last. */
  readLine(sizeBytes: number): Conversation<Uint8Array> {
    return this.#collect(sizeBytes, NEWLINE);
  }

  *#collect(sizeBytes: number, stop: number | undefined): Conversation<Uint8Array> {
    while (this.#isReading) yield 'host';
    this.#isReading = true;
    try {
      return yield* this.#collectAlone(sizeBytes, stop);
    } finally {
      this.#isReading = false;
    }
  }

  *#collectAlone(sizeBytes: number, stop: number | undefined): Conversation<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let left = sizeBytes;
    let collected = 0;
    while (left > 0 && (yield* this.#fill(stop === undefined ? left : READ_AHEAD_BYTES))) {
      const stopAt = stop === undefined ? -1 : this.#ahead.indexOf(stop);
      const count = Math.min(left, stopAt < 0 ? this.#ahead.length : stopAt + 1);
      const chunk = this.#ahead.subarray(0, count);
      this.#ahead = this.#ahead.subarray(count);
      chunks.push(chunk);
      collected += count;
      if (collected > MAX_READ_BYTES) {
        throw new WavewrightError('LIMIT_EXCEEDED', `one read of more than ${MAX_READ_BYTES} bytes`);
      }
      left = count === stopAt + 1 ? 0 : left - count;
    }
    return chunks.length === 1 ? chunks[0]! : concatenate(chunks);
  }

  /** Makes sure that `#ahead` has a byte, and better `wantedBytes`; false at the end and on failure. */
  *#fill(wantedBytes: number): Conversation<boolean> {
    if (this.#ahead.length > 0) return true;
    const buffer = new Uint8Array(Math.min(Math.max(wantedBytes, READ_AHEAD_BYTES), MAX_CHUNK_BYTES));
    let count = this.#readable ? this.#file.read(buffer) : undefined;
    while (count === 'waiting') {
      yield 'host';
      // What was pushed back in the meantime comes first.
      if (this.#ahead.length > 0) return true;
      count = this.#file.read(buffer);
    }
    if (count === undefined) this.#error = true;
    if (count === 0) this.#end = true;
    this.#ahead = buffer.subarray(0, count ?? 0);
    return this.#ahead.length > 0;
  }

  /** Puts the file where the program believes it to be. What was read from a pipe stays to be read. */
  #dropReadAhead(): void {
    const { position } = this.#file;
    if (this.#ahead.length === 0 || position === undefined) return;
    this.#file.seek(Math.max(position - this.#ahead.length, 0));
    this.#ahead = new Uint8Array();
  }

  /** Bytes written: all or 0. */
  write(bytes: Uint8Array): number {
    if (bytes.length === 0) return 0;
    this.#dropReadAhead();
    if (this.#writable) this.#spend(bytes.length);
    if (this.#writable && this.#file.write(bytes)) return bytes.length;
    this.#error = true;
    return 0;
  }

  /** `ending` follows only what went out completely; bytes written. */
  writeWithEnding(bytes: Uint8Array, ending: Uint8Array): number {
    const written = this.write(bytes);
    return written < bytes.length ? written : written + this.write(ending);
  }

  /** The character, or -1. */
  unget(character: number): number {
    if (character < 0 || !this.#readable || this.#ahead.length >= MAX_AHEAD_BYTES) return -1;
    const ahead = new Uint8Array(this.#ahead.length + 1);
    ahead[0] = character;
    ahead.set(this.#ahead, 1);
    this.#ahead = ahead;
    this.#end = false;
    return character & 0xff;
  }

  /** 0, or -1 for a bad `whence` or position or a stream without one. */
  seek(offset: bigint, whence: number): number {
    const base = this.#seekBase(whence);
    if (base === undefined) return -1;
    const target = BigInt(base) + offset;
    if (target < 0n || target > BigInt(Number.MAX_SAFE_INTEGER)) return -1;
    this.#ahead = new Uint8Array();
    this.#file.seek(Number(target));
    this.#end = false;
    return 0;
  }

  #seekBase(whence: number): number | undefined {
    if (this.#file.position === undefined) return undefined;
    if (whence === WHENCE.set) return 0;
    if (whence === WHENCE.current) return this.#file.position - this.#ahead.length;
    return whence === WHENCE.end ? this.#file.sizeBytes : undefined;
  }

  /** The position, or -1. */
  tell(): number {
    const { position } = this.#file;
    return position === undefined ? -1 : Math.max(position - this.#ahead.length, 0);
  }

  close(): boolean {
    return this.#file.close();
  }
}

/**
 * Output that is collected for the length of one server turn, so that a wave of prints costs one system call.
 * Bytes of both streams leave in the order in which they came.
 */
class OutputBuffer {
  readonly #streams: StandardStreams;
  #target: 'stdout' | 'stderr' = 'stdout';
  #chunks: Uint8Array[] = [];
  #sizeBytes = 0;

  constructor(streams: StandardStreams) {
    this.#streams = streams;
  }

  write(target: 'stdout' | 'stderr', bytes: Uint8Array): void {
    if (target !== this.#target) this.flush();
    this.#target = target;
    this.#chunks.push(bytes);
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes >= MAX_COLLECTED_BYTES) this.flush();
  }

  flush(): void {
    if (this.#sizeBytes === 0) return;
    const bytes = concatenate(this.#chunks);
    this.#chunks = [];
    this.#sizeBytes = 0;
    this.#streams[this.#target](bytes);
  }
}

/** Handles are nonzero multiples of 4, because the low two bits of a tagged stream name the standard ones. */
const FIRST_HANDLE = 4096n;

/** What a program may take of the host's streams. */
export interface StreamLimits {
  /** Files open at once; opening another one fails. Default: 1024. */
  readonly openFiles?: number;
  /**
   * Bytes written to all streams and files together; more ends the program with LIMIT_EXCEEDED. Default:
   * none.
   */
  readonly outputBytes?: number;
}

const DEFAULT_OPEN_FILES = 1024;

/** Streams of a running program. */
export class StreamTable {
  readonly stdin: HostStream;
  readonly stdout: HostStream;
  readonly stderr: HostStream;
  readonly #output: OutputBuffer;
  readonly #open = new Map<bigint, HostStream>();
  readonly #maxOpenFiles: number;
  readonly #spend: (sizeBytes: number) => void;
  #nextHandle = FIRST_HANDLE;

  constructor(streams: StandardStreams, limits: StreamLimits = {}) {
    this.#maxOpenFiles = limits.openFiles ?? DEFAULT_OPEN_FILES;
    const maxOutputBytes = limits.outputBytes ?? Number.POSITIVE_INFINITY;
    let outputBytes = 0;
    this.#spend = (sizeBytes) => {
      outputBytes += sizeBytes;
      if (outputBytes <= maxOutputBytes) return;
      throw new WavewrightError('LIMIT_EXCEEDED', `the program writes more than ${maxOutputBytes} bytes`);
    };
    const unseekable = { position: undefined, sizeBytes: undefined, seek: () => undefined, close: () => true };
    const output = new OutputBuffer(streams);
    const outputFile = (target: 'stdout' | 'stderr'): OpenFile => ({
      ...unseekable,
      read: () => undefined,
      write: (bytes) => {
        output.write(target, bytes);
        return true;
      },
    });
    this.#output = output;
    this.stdin = new HostStream(
      { ...unseekable, read: (into) => streams.stdin.read(into), write: () => false },
      { read: true, write: false },
    );
    this.stdout = new HostStream(outputFile('stdout'), { read: false, write: true }, this.#spend);
    this.stderr = new HostStream(outputFile('stderr'), { read: false, write: true }, this.#spend);
  }

  /** Whether another file may be open. */
  get hasRoom(): boolean {
    return this.#open.size < this.#maxOpenFiles;
  }

  /** Registers an open file; returns its handle. */
  add(file: OpenFile, access: { readonly read: boolean; readonly write: boolean }): bigint {
    const handle = this.#nextHandle;
    this.#nextHandle += 4n;
    this.#open.set(handle, new HostStream(file, access, this.#spend));
    return handle;
  }

  /** The stream that OPEN_FILE gave this handle. Throws RPC_PROTOCOL when there is none. */
  raw(handle: bigint): HostStream {
    const stream = this.#open.get(handle);
    if (stream !== undefined) return stream;
    throw new WavewrightError('RPC_PROTOCOL', `no open stream has the handle ${hex(handle)}`, {
      hint: 'the program uses a stream that it has closed or never opened',
    });
  }

  /** The stream that a tagged value means: 1, 2 and 3 in the low two bits are the standard streams. */
  tagged(value: bigint): HostStream {
    return [undefined, this.stdin, this.stdout, this.stderr][Number(value & 3n)] ?? this.raw(value);
  }

  /** Whether the handle was open and its file closed without failure. */
  close(handle: bigint): boolean {
    const stream = this.raw(handle);
    this.#open.delete(handle);
    return stream.close();
  }

  /** Sends what was written to stdout and stderr on its way. */
  flush(): void {
    this.#output.flush();
  }

  /** Flushes, then closes all files. */
  closeAll(): void {
    this.flush();
    for (const stream of this.#open.values()) stream.close();
    this.#open.clear();
  }
}
