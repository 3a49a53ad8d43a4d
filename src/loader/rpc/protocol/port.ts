/**
 * The server's side of one port. A conversation yields whenever it has to wait, so that the server can serve
 * other ports in the meantime.
 *
 * Each side has one mailbox word; equal words mean that the client owns the packets, different ones that the
 * server does. Storing the inverse of one's own word hands the packets over.
 */
import { alignUp } from '../../../base/align.ts';
import { beforeNul } from '../../../base/bytes.ts';
import { WavewrightError } from '../../../base/errors.ts';
import { hex } from '../../../base/text.ts';
import type { Conversation } from '../../host/conversation.ts';
import { RPC_PACKET_SIZE_BYTES } from './layout.ts';

/** The typed arrays over the shared buffer. */
export interface RpcMemory {
  readonly mailboxA: Int32Array<SharedArrayBuffer>;
  readonly mailboxB: Int32Array<SharedArrayBuffer>;
  readonly packetWords: BigUint64Array<SharedArrayBuffer>;
  readonly packetDwords: Int32Array<SharedArrayBuffer>;
  readonly packetBytes: Uint8Array<SharedArrayBuffer>;
  /** Bytes that all conversations hold, see `ServerPort.hold`. */
  heldBytes: number;
}

/**
 * One hand-over, or one byte stream, of a conversation that is recorded: an entry for each active lane,
 * ascending.
 */
export type RecordedStep = { readonly from: 'client' | 'server' } & (
  | { readonly kind: 'packet'; readonly packets: readonly Uint8Array[] }
  | { readonly kind: 'stream'; readonly streams: readonly Uint8Array[] }
);

/** Bytes that all conversations may hold together. */
const MAX_HELD_BYTES = 2 ** 30;
const WORDS = RPC_PACKET_SIZE_BYTES / 8;
const DWORDS = RPC_PACKET_SIZE_BYTES / 4;
/** The first packet of a stream starts with the size. */
const FIRST_CHUNK_BYTES = RPC_PACKET_SIZE_BYTES - 8;

export class ServerPort {
  readonly index: number;
  /** Active lanes, ascending. Packets of other lanes are neither read nor written. */
  readonly lanes: readonly number[];
  /** What went over the port so far, when the conversation is recorded. */
  readonly steps: RecordedStep[] | undefined;
  readonly #memory: RpcMemory;
  readonly #firstLane: number;
  #owned = true;
  #received = false;
  #heldBytes = 0;
  #lane: number | undefined;

  /** A port that the server owns. `laneStride`: lanes of a wave of the running kernel. */
  constructor(memory: RpcMemory, index: number, lanes: readonly number[], laneStride: number, recorded = false) {
    this.index = index;
    this.steps = recorded ? [] : undefined;
    this.#memory = memory;
    this.#firstLane = index * laneStride;
    this.lanes = lanes;
  }

  /** The lane that is being served; undefined between lanes. */
  get lane(): number | undefined {
    return this.#lane;
  }

  /** What `serve` returns for each active lane, ascending; an error in between can name the lane. */
  perLane<T>(serve: (lane: number, index: number) => T): T[] {
    const results = this.lanes.map((lane, index) => {
      this.#lane = lane;
      return serve(lane, index);
    });
    this.#lane = undefined;
    return results;
  }

  /** As `perLane`, for what may have to wait: one lane after the other. */
  *perLaneInTurn<T>(serve: (lane: number, index: number) => Conversation<T>): Conversation<T[]> {
    const results: T[] = [];
    for (const [index, lane] of this.lanes.entries()) {
      this.#lane = lane;
      results.push(yield* serve(lane, index));
    }
    this.#lane = undefined;
    return results;
  }

  /** Waits for the client's next packet. */
  *receive(): Conversation {
    yield* this.#take();
    this.steps?.push({ from: 'client', kind: 'packet', packets: this.#packets() });
  }

  /** Sends one packet; `fill` is called for each active lane. */
  *send(fill: (lane: number, index: number) => void): Conversation {
    yield* this.#own();
    this.perLane(fill);
    this.steps?.push({ from: 'server', kind: 'packet', packets: this.#packets() });
    this.#give();
  }

  /** Sends `values[i]` in slot 0 of the i-th active lane. */
  *reply(values: readonly (number | bigint)[]): Conversation {
    yield* this.send((lane, index) => this.setWord(lane, 0, BigInt(values[index]!)));
  }

  /** Ends the conversation: gives the packets back unless the last operation did. */
  close(): void {
    this.#memory.heldBytes -= this.#heldBytes;
    if (this.#owned) this.#handOver();
  }

  /**
   * Counts memory of this host that the conversation takes until its end. Throws LIMIT_EXCEEDED when all
   * conversations together hold more than 1 GiB.
   */
  hold(sizeBytes: number): void {
    this.#heldBytes += sizeBytes;
    this.#memory.heldBytes += sizeBytes;
    if (this.#memory.heldBytes <= MAX_HELD_BYTES) return;
    const what = `the conversations hold ${this.#memory.heldBytes} bytes together, at most ${MAX_HELD_BYTES}`;
    throw new WavewrightError('LIMIT_EXCEEDED', what);
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
    const at = (this.#firstLane + lane) * RPC_PACKET_SIZE_BYTES;
    return this.#memory.packetBytes.subarray(at, at + RPC_PACKET_SIZE_BYTES);
  }

  /** The bytes that each active lane sends, which count as held. */
  *receiveStreams(): Conversation<Uint8Array[]> {
    yield* this.#take();
    const sizes = this.words();
    const total = sizes.reduce((sum, size) => sum + size, 0n);
    if (total > BigInt(MAX_HELD_BYTES)) {
      const most = sizes.reduce((largest, size, index) => (size > sizes[largest]! ? index : largest), 0);
      this.#lane = this.lanes[most];
      const what = `the client sends ${total} bytes at once, at most ${MAX_HELD_BYTES}`;
      throw new WavewrightError('LIMIT_EXCEEDED', what);
    }
    const streams = yield* this.#takeChunks(sizes.map(Number));
    this.steps?.push({ from: 'client', kind: 'stream', streams });
    return streams;
  }

  /** Sends `streams[i]` to the i-th active lane. */
  *sendStreams(streams: readonly Uint8Array[]): Conversation {
    const longest = streams.reduce((longest, { length }) => Math.max(longest, length), 0);
    this.steps?.push({ from: 'server', kind: 'stream', streams });
    yield* this.#own();
    for (const [index, lane] of this.lanes.entries()) this.setWord(lane, 0, BigInt(streams[index]!.length));
    this.#putChunks(streams, 0, FIRST_CHUNK_BYTES);
    this.#give();
    yield* this.#sendChunks(streams, FIRST_CHUNK_BYTES, longest);
  }

  /**
   * `sizeBytes` bytes, at least 1, of every active lane, in packets without a size word, as
   * rpc::dispatch of LLVM 23 sends arguments.
   */
  *receiveFixed(sizeBytes: number): Conversation<Uint8Array[]> {
    yield* this.#take();
    const values = yield* this.#takeChunks(
      this.lanes.map(() => sizeBytes),
      RPC_PACKET_SIZE_BYTES,
    );
    this.steps?.push({ from: 'client', kind: 'stream', streams: values });
    return values;
  }

  /** As `receiveFixed`, in the other direction: `values` have the same length, at least 1. */
  *sendFixed(values: readonly Uint8Array[]): Conversation {
    this.steps?.push({ from: 'server', kind: 'stream', streams: values });
    yield* this.#sendChunks(values, 0, values[0]?.length ?? 0);
  }

  /** As `receiveStreams`, for C strings: without the NUL and what follows it. */
  *receiveStrings(): Conversation<Uint8Array[]> {
    const streams = yield* this.receiveStreams();
    return streams.map(beforeNul);
  }

  *#sendChunks(streams: readonly Uint8Array[], from: number, to: number): Conversation {
    for (let at = from; at < to; at += RPC_PACKET_SIZE_BYTES) {
      yield* this.#own();
      this.#putChunks(streams, at, RPC_PACKET_SIZE_BYTES);
      this.#give();
    }
  }

  /**
   * So many bytes of every active lane, of which the packet that was taken last holds the first ones, at its
   * end. They come into one array, a whole packet at a time: what a lane sends behind its size is overwritten
   * or not looked at.
   */
  *#takeChunks(sizes: readonly number[], firstSizeBytes = FIRST_CHUNK_BYTES): Conversation<Uint8Array[]> {
    const { packetDwords } = this.#memory;
    const roomOf = (size: number) =>
      firstSizeBytes + alignUp(Math.max(0, size - firstSizeBytes), RPC_PACKET_SIZE_BYTES);
    const starts: number[] = [];
    let room = 0;
    for (const size of sizes) {
      starts.push(room);
      room += roomOf(size);
    }
    this.hold(room);
    const bytes = new Uint8Array(room);
    const dwords = new Int32Array(bytes.buffer);
    const longest = sizes.reduce((longest, size) => Math.max(longest, size), 0);
    for (let at = 0, chunk = firstSizeBytes; ; chunk = RPC_PACKET_SIZE_BYTES) {
      for (let i = 0; i < sizes.length; i++) {
        if (at > 0 && at >= sizes[i]!) continue;
        const from = (this.#firstLane + this.lanes[i]!) * DWORDS + DWORDS - chunk / 4;
        const to = (starts[i]! + at) / 4;
        for (let k = 0; k < chunk / 4; k++) dwords[to + k] = packetDwords[from + k]!;
      }
      at += chunk;
      if (at >= longest) break;
      yield* this.#take();
    }
    return sizes.map((size, i) => bytes.subarray(starts[i]!, starts[i]! + size));
  }

  *#take(): Conversation {
    if (this.#received) this.#handOver();
    yield* this.#own();
    this.#received = true;
  }

  #give(): void {
    this.#handOver();
    this.#received = false;
  }

  #packets(): Uint8Array[] {
    return this.lanes.map((lane) => this.packet(lane).slice());
  }

  /** Puts up to `sizeBytes` bytes of each stream, from `at` on, at the end of its lane's packet. */
  #putChunks(streams: readonly Uint8Array[], at: number, sizeBytes: number): void {
    const { packetBytes } = this.#memory;
    for (let i = 0; i < streams.length; i++) {
      const stream = streams[i]!;
      const count = Math.min(sizeBytes, stream.length - at);
      const to = (this.#firstLane + this.lanes[i]! + 1) * RPC_PACKET_SIZE_BYTES - sizeBytes;
      for (let k = 0; k < count; k++) packetBytes[to + k] = stream[at + k]!;
    }
  }

  /**
   * Waits once at least after a hand-over: others have their turn before a client that answers at once has
   * its next one.
   */
  *#own(): Conversation {
    const { mailboxA, mailboxB } = this.#memory;
    while (!this.#owned) {
      yield 'client';
      this.#owned = mailboxA[this.index] !== Atomics.load(mailboxB, this.index);
    }
    expectMailboxes(this.#memory, this.index);
  }

  #handOver(): void {
    const { mailboxA } = this.#memory;
    Atomics.store(mailboxA, this.index, mailboxA[this.index]! ^ 1);
    this.#owned = false;
  }
}

/** Throws RPC_PROTOCOL when the words of a port are not what client and server store. */
export function expectMailboxes({ mailboxA, mailboxB }: RpcMemory, index: number): void {
  const [own, word] = [mailboxA[index]!, mailboxB[index]!];
  if ((own | word) >>> 1 === 0) return;
  const found = [own, word].map((word) => hex(word >>> 0)).join(' and ');
  const what = `the mailbox words are ${found}, expected 0 or 1: the program wrote over them`;
  throw new WavewrightError('RPC_PROTOCOL', what);
}
