/**
 * The server's side of one port (spec/loader.md sections 1.3 to 1.7). A conversation is a generator that yields whenever it has to
 * wait for the client, so that the server can serve other ports in the meantime.
 *
 * Each side has one mailbox word; equal words mean that the client owns the packets, different ones that the server does. Storing
 * the inverse of one's own word hands the packets over.
 */
import { WavewrightError } from '../../base/errors.ts';
import { PACKET_SIZE_BYTES } from './layout.ts';

/** Work that waits for the client at every `yield`. */
export type Conversation<T = void> = Generator<void, T, void>;

/** The typed arrays over the shared buffer. */
export interface RpcMemory {
  readonly mailboxA: Int32Array<SharedArrayBuffer>;
  readonly mailboxB: Int32Array<SharedArrayBuffer>;
  readonly packetWords: BigUint64Array<SharedArrayBuffer>;
  readonly packetBytes: Uint8Array<SharedArrayBuffer>;
}

/** Bytes that the lanes of one stream may send together. */
const MAX_STREAM_BYTES = 2 ** 30;
const WORDS = PACKET_SIZE_BYTES / 8;
/** The first packet of a stream starts with the size. */
const FIRST_CHUNK_BYTES = PACKET_SIZE_BYTES - 8;

export class ServerPort {
  readonly index: number;
  /** Active lanes, ascending. Packets of other lanes are neither read nor written. */
  readonly lanes: readonly number[];
  readonly #memory: RpcMemory;
  readonly #firstLane: number;
  #owned = true;
  #received = false;

  /** A port that the server owns. `laneStride`: lanes of a wave of the running kernel. */
  constructor(memory: RpcMemory, index: number, laneMask: bigint, laneStride: number) {
    this.index = index;
    this.#memory = memory;
    this.#firstLane = index * laneStride;
    const lanes: number[] = [];
    for (let lane = 0; lane < laneStride; lane++) if ((laneMask >> BigInt(lane)) & 1n) lanes.push(lane);
    this.lanes = lanes;
  }

  /** Waits for the client's next packet. */
  *receive(): Conversation {
    if (this.#received) this.#handOver();
    yield* this.#own();
    this.#received = true;
  }

  /** Sends one packet; `fill` is called for each active lane. */
  *send(fill: (lane: number, index: number) => void): Conversation {
    yield* this.#own();
    for (const [index, lane] of this.lanes.entries()) fill(lane, index);
    this.#handOver();
    this.#received = false;
  }

  /** Sends `values[i]` in slot 0 of the i-th active lane. */
  *reply(values: readonly (number | bigint)[]): Conversation {
    yield* this.send((lane, index) => this.setWord(lane, 0, BigInt(values[index]!)));
  }

  /** Ends the conversation: gives the packets back unless the last operation did. */
  close(): void {
    if (this.#owned) this.#handOver();
  }

  /** 64-bit slot 0 to 7 of a lane's packet. */
  word(lane: number, slot: number): bigint {
    return this.#memory.packetWords[(this.#firstLane + lane) * WORDS + slot]!;
  }

  /** Stored modulo 2^64, so that a negative result is sign-extended. */
  setWord(lane: number, slot: number, value: bigint): void {
    this.#memory.packetWords[(this.#firstLane + lane) * WORDS + slot] = value;
  }

  /** Slot 0 of every active lane. */
  words(slot = 0): bigint[] {
    return this.lanes.map((lane) => this.word(lane, slot));
  }

  /** The live packet of a lane. */
  packet(lane: number): Uint8Array {
    const at = (this.#firstLane + lane) * PACKET_SIZE_BYTES;
    return this.#memory.packetBytes.subarray(at, at + PACKET_SIZE_BYTES);
  }

  /** The bytes that each active lane sends. Throws LIMIT_EXCEEDED when they are more than 1 GiB together. */
  *receiveStreams(): Conversation<Uint8Array[]> {
    yield* this.receive();
    const sizes = this.words();
    const total = sizes.reduce((sum, size) => sum + size, 0n);
    if (total > BigInt(MAX_STREAM_BYTES)) {
      throw new WavewrightError(
        'LIMIT_EXCEEDED',
        `the client sends ${total} bytes at once, at most ${MAX_STREAM_BYTES}`,
      );
    }
    const streams = sizes.map((size) => new Uint8Array(Number(size)));
    const longest = streams.reduce((longest, { length }) => Math.max(longest, length), 0);
    this.#eachChunk(streams, 0, FIRST_CHUNK_BYTES, (bytes, packet) => bytes.set(packet.subarray(8, 8 + bytes.length)));
    for (let at = FIRST_CHUNK_BYTES; at < longest; at += PACKET_SIZE_BYTES) {
      yield* this.receive();
      this.#eachChunk(streams, at, PACKET_SIZE_BYTES, (bytes, packet) => bytes.set(packet.subarray(0, bytes.length)));
    }
    return streams;
  }

  /** Sends `streams[i]` to the i-th active lane. */
  *sendStreams(streams: readonly Uint8Array[]): Conversation {
    const longest = streams.reduce((longest, { length }) => Math.max(longest, length), 0);
    yield* this.send((lane, index) => {
      const stream = streams[index]!;
      this.setWord(lane, 0, BigInt(stream.length));
      this.packet(lane).set(stream.subarray(0, FIRST_CHUNK_BYTES), 8);
    });
    for (let at = FIRST_CHUNK_BYTES; at < longest; at += PACKET_SIZE_BYTES) {
      yield* this.send((lane, index) => {
        this.packet(lane).set(streams[index]!.subarray(at, at + PACKET_SIZE_BYTES));
      });
    }
  }

  /** As `receiveStreams`, for C strings: without the NUL and what follows it. */
  *receiveStrings(): Conversation<Uint8Array[]> {
    const streams = yield* this.receiveStreams();
    return streams.map(beforeNul);
  }

  #eachChunk(
    streams: readonly Uint8Array[],
    at: number,
    sizeBytes: number,
    copy: (bytes: Uint8Array, packet: Uint8Array) => void,
  ): void {
    for (const [index, lane] of this.lanes.entries()) {
      const bytes = streams[index]!.subarray(at, at + sizeBytes);
      if (bytes.length > 0) copy(bytes, this.packet(lane));
    }
  }

  *#own(): Conversation {
    const { mailboxA, mailboxB } = this.#memory;
    while (!this.#owned) {
      if (mailboxA[this.index] !== Atomics.load(mailboxB, this.index)) this.#owned = true;
      else yield;
    }
  }

  #handOver(): void {
    const { mailboxA } = this.#memory;
    Atomics.store(mailboxA, this.index, mailboxA[this.index]! ^ 1);
    this.#owned = false;
  }
}

/** The bytes of a C string. */
export function beforeNul(bytes: Uint8Array): Uint8Array {
  const nul = bytes.indexOf(0);
  return nul < 0 ? bytes : bytes.subarray(0, nul);
}
