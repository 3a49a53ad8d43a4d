/** Messages as bytes; `protocol.ts` says what they are. */
import { hex } from '../base/text.ts';
import { HsaError } from '../hsa/index.ts';
import {
  HEAD_BYTES,
  MAX_REQUEST_BYTES,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
  type Request,
} from './protocol.ts';

const WORD_BYTES = 8;

export interface IncomingRequest {
  readonly operation: OperationName;
  readonly words: Readonly<Record<string, bigint>>;
  readonly tail: Uint8Array;
}

export interface OutgoingReply {
  readonly words: readonly bigint[];
  readonly tail?: Uint8Array;
  /** A descriptor, for the operations that say so. */
  readonly file?: number;
}

export const NO_REPLY: OutgoingReply = { words: [] };

/** Functions that answer requests, by the names of these; they throw HsaError. */
export type RequestHandlers = {
  readonly [N in OperationName]?: (request: Request<N>, tail: Uint8Array) => OutgoingReply;
};

/** A word as a number. Throws INVALID_ARGUMENT for more than a number holds. */
export function asNumber(word: bigint): number {
  if (word <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(word);
  throw new HsaError('INVALID_ARGUMENT', `${hex(word)} is too large`);
}

/** Takes the bytes that an application sends, and gives whole requests. */
export class RequestReader {
  readonly #chunks: Uint8Array[] = [];
  #bytes = 0;

  /** Throws INVALID_ARGUMENT for what no library of ours sends: the connection is of no use then. */
  *push(chunk: Uint8Array): Generator<IncomingRequest> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= HEAD_BYTES) {
      const head = this.#peek(HEAD_BYTES);
      const view = new DataView(head.buffer, head.byteOffset, HEAD_BYTES);
      const [number, sizeBytes] = [view.getUint32(0, true), view.getUint32(4, true)];
      const operation = OPERATION_NAMES[number];
      if (operation === undefined) throw malformed(`operation ${number}`);
      if (sizeBytes > MAX_REQUEST_BYTES) throw malformed(`a request of ${sizeBytes} bytes`);
      if (this.#bytes < HEAD_BYTES + sizeBytes) return;
      yield parse(operation, this.#take(HEAD_BYTES + sizeBytes).subarray(HEAD_BYTES));
    }
  }

  /** The first bytes, which may stand in several chunks, as they are joined then. */
  #peek(sizeBytes: number): Uint8Array {
    if (this.#chunks[0]!.length < sizeBytes) this.#chunks.splice(0, this.#chunks.length, Buffer.concat(this.#chunks));
    return this.#chunks[0]!;
  }

  #take(sizeBytes: number): Uint8Array {
    const first = this.#peek(sizeBytes);
    this.#bytes -= sizeBytes;
    if (first.length === sizeBytes) this.#chunks.shift();
    else this.#chunks[0] = first.subarray(sizeBytes);
    return first.subarray(0, sizeBytes);
  }
}

function parse(operation: OperationName, bytes: Uint8Array): IncomingRequest {
  const { request: names, ...others }: { request: readonly string[]; tail?: string } = OPERATIONS[operation];
  const wordsBytes = names.length * WORD_BYTES;
  if (bytes.length < wordsBytes || (others.tail !== 'request' && bytes.length > wordsBytes)) {
    throw malformed(`${bytes.length} bytes for ${operation}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const words = Object.fromEntries(names.map((name, i) => [name, view.getBigUint64(i * WORD_BYTES, true)]));
  return { operation, words, tail: bytes.subarray(wordsBytes) };
}

const malformed = (what: string): HsaError =>
  new HsaError('INVALID_ARGUMENT', `an application sent ${what}: its libhsa-runtime64.so.1 is not of this Wavewright`);

/** The bytes of a reply. */
export function encodeReply({ words, tail = new Uint8Array(0) }: OutgoingReply): Uint8Array {
  const bytes = new Uint8Array(HEAD_BYTES + words.length * WORD_BYTES + tail.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, bytes.length - HEAD_BYTES, true);
  for (const [i, word] of words.entries()) view.setBigUint64(HEAD_BYTES + i * WORD_BYTES, word, true);
  bytes.set(tail, HEAD_BYTES + words.length * WORD_BYTES);
  return bytes;
}

/** The bytes of a reply that says why there is none. */
export function encodeFailure(status: number, text: string): Uint8Array {
  const tail = new TextEncoder().encode(text);
  const bytes = new Uint8Array(HEAD_BYTES + tail.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, status, true);
  view.setUint32(4, tail.length, true);
  bytes.set(tail, HEAD_BYTES);
  return bytes;
}
