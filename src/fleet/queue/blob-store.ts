/**
 * Bytes under their SHA-256, for programs, their input and their output: on the queue, in a folder, or by
 * HTTP.
 */
import { hash } from 'node:crypto';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { WavewrightError } from '../../base/errors.ts';
import { writeWholeFile } from '../../base/node-whole-file.ts';
import { PREFIX, type QueueConnection } from './connection.ts';

/** 64 hex digits. */
export type BlobHash = string;

export const isBlobHash = (text: unknown): text is BlobHash => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);

export const hashOfBytes = (bytes: Uint8Array): BlobHash => hash('sha256', bytes, 'hex');

export interface BlobStore {
  has(blob: BlobHash): Promise<boolean>;
  /** Does nothing where it is there. Throws LIMIT_EXCEEDED when the store is full, IO. */
  put(blob: BlobHash, bytes: Uint8Array): Promise<void>;
  /** Unchecked; undefined where it is missing. Throws IO, LIMIT_EXCEEDED for one that is too large. */
  get(blob: BlobHash): Promise<Uint8Array | undefined>;
}

/** What the store of a campaign is called that has its blobs on the queue. */
export const ON_QUEUE = 'queue';
const MAX_BLOB_BYTES = 2 ** 28;
const MAX_QUEUE_BYTES = 2 ** 26;
const MIB = 2 ** 20;

/** The store that a text names: `queue`, `file:///DIR`, `https://HOST`, `http://HOST`. Throws USAGE. */
export function openBlobStore(text: string, connection: QueueConnection): BlobStore {
  if (text === ON_QUEUE) return new QueueBlobs(connection);
  const url = URL.parse(text);
  if (url?.protocol === 'file:') return new FolderBlobs(fileURLToPath(url));
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return new HttpBlobs(text.replace(/\/$/, ''));
  throw new WavewrightError('USAGE', `--blobs takes file:///DIR or https://HOST, not '${text}'`);
}

const TOTAL_KEY = `${PREFIX}:blob-bytes`;
const blobKey = (blob: BlobHash): string => `${PREFIX}:blob:${blob}`;

/** In one step, so that the sum is right whoever ends when. */
const PUT_SCRIPT = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
if tonumber(redis.call('GET', KEYS[2]) or '0') + #ARGV[1] > tonumber(ARGV[2]) then return 0 end
redis.call('INCRBY', KEYS[2], #ARGV[1])
redis.call('SET', KEYS[1], ARGV[1])
return 1`;
const DELETE_SCRIPT = `
redis.call('DECRBY', KEYS[2], redis.call('STRLEN', KEYS[1]))
return redis.call('DEL', KEYS[1])`;

class QueueBlobs implements BlobStore {
  readonly #connection: QueueConnection;

  constructor(connection: QueueConnection) {
    this.#connection = connection;
  }

  async has(blob: BlobHash): Promise<boolean> {
    return (await this.#connection.redis.exists(blobKey(blob))) === 1;
  }

  async put(blob: BlobHash, bytes: Uint8Array): Promise<void> {
    const { redis } = this.#connection;
    const done = await redis.eval(PUT_SCRIPT, 2, blobKey(blob), TOTAL_KEY, Buffer.from(bytes), MAX_QUEUE_BYTES);
    if (done === 1) return;
    throw new WavewrightError(
      'LIMIT_EXCEEDED',
      `programs and inputs on the queue exceed ${MAX_QUEUE_BYTES / MIB} MiB`,
      {
        hint: '--blobs=file:///DIR on a shared disk or --blobs=https://HOST has room; `wavewright campaign delete` makes some',
      },
    );
  }

  async get(blob: BlobHash): Promise<Uint8Array | undefined> {
    return (await this.#connection.redis.getBuffer(blobKey(blob))) ?? undefined;
  }
}

/** Removes a blob from the queue. */
export async function deleteQueueBlob({ redis }: QueueConnection, blob: BlobHash): Promise<void> {
  await redis.eval(DELETE_SCRIPT, 2, blobKey(blob), TOTAL_KEY);
}

class FolderBlobs implements BlobStore {
  readonly #folder: string;
  readonly #fs = process.getBuiltinModule('node:fs');

  constructor(folder: string) {
    this.#folder = folder;
  }

  async has(blob: BlobHash): Promise<boolean> {
    return this.#fs.existsSync(path.join(this.#folder, blob));
  }

  async put(blob: BlobHash, bytes: Uint8Array): Promise<void> {
    if (!(await this.has(blob))) writeBlobFile(this.#folder, blob, bytes);
  }

  async get(blob: BlobHash): Promise<Uint8Array | undefined> {
    return readBlobFile(path.join(this.#folder, blob));
  }
}

/** Under its own name only when it is whole. Throws IO. */
export function writeBlobFile(folder: string, blob: BlobHash, bytes: Uint8Array): void {
  const fs = process.getBuiltinModule('node:fs');
  const file = path.join(folder, blob);
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeWholeFile(file, bytes);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    throw new WavewrightError('IO', `cannot be written (${code})`, { file, cause });
  }
}

/** Undefined where there is none. Throws IO, LIMIT_EXCEEDED. */
export function readBlobFile(file: string): Uint8Array | undefined {
  const fs = process.getBuiltinModule('node:fs');
  try {
    const size = fs.statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) return undefined;
    expectSize(file, size);
    return fs.readFileSync(file);
  } catch (cause) {
    if (cause instanceof WavewrightError) throw cause;
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    if (code === 'ENOENT') return undefined;
    throw new WavewrightError('IO', `cannot be read (${code})`, { file, cause });
  }
}

function expectSize(file: string, sizeBytes: number): void {
  if (sizeBytes <= MAX_BLOB_BYTES) return;
  throw new WavewrightError('LIMIT_EXCEEDED', `has ${sizeBytes} bytes, more than ${MAX_BLOB_BYTES}`, { file });
}

/** `GET`, `HEAD` and `PUT` of `/cas/SHA256`, as the HTTP caches of Bazel have it. */
class HttpBlobs implements BlobStore {
  readonly #address: string;

  constructor(address: string) {
    this.#address = address;
  }

  async has(blob: BlobHash): Promise<boolean> {
    return (await this.#ask(blob, { method: 'HEAD' })).ok;
  }

  async put(blob: BlobHash, bytes: Uint8Array): Promise<void> {
    if (await this.has(blob)) return;
    const { ok, status } = await this.#ask(blob, { method: 'PUT', body: Buffer.from(bytes) });
    if (!ok) throw new WavewrightError('IO', `is not taken (HTTP ${status})`, { file: this.#place(blob) });
  }

  async get(blob: BlobHash): Promise<Uint8Array | undefined> {
    const reply = await this.#ask(blob, {});
    if (reply.status === 404) return undefined;
    if (!reply.ok) throw new WavewrightError('IO', `is not given (HTTP ${reply.status})`, { file: this.#place(blob) });
    const parts: Uint8Array[] = [];
    let sizeBytes = 0;
    for await (const part of reply.body ?? []) {
      sizeBytes += part.length;
      expectSize(this.#place(blob), sizeBytes);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  #place(blob: BlobHash): string {
    return `${this.#address}/cas/${blob}`;
  }

  async #ask(blob: BlobHash, init: RequestInit): Promise<Response> {
    const HTTP_TIMEOUT_MS = 60_000;
    try {
      return await fetch(this.#place(blob), { ...init, signal: AbortSignal.timeout(HTTP_TIMEOUT_MS) });
    } catch (cause) {
      const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : String(cause);
      throw new WavewrightError('IO', `cannot be reached (${why})`, { file: this.#place(blob), cause });
    }
  }
}
