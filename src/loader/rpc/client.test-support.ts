/**
 * The GPU side of RPC in JavaScript, written from the specification alone: what the server is
 * tested against. Every `yield` is a spin of the wave.
 */
import assert from 'node:assert/strict';
import type { Generation } from './protocol/generation.ts';

export type Spin<T = void> = Generator<'waiting', T, void>;

/** Where the parts of the shared buffer are, as byte offsets in `buffer`. */
export interface ClientView {
  readonly buffer: SharedArrayBuffer;
  readonly portCount: number;
  readonly mailboxA: number;
  readonly mailboxB: number;
  readonly headers: number;
  readonly packets: number;
}

const GARBAGE = 0xa5a5_a5a5_a5a5_a5a5n;

/** The client of one program: its waves share the locks. */
export class RpcClient {
  readonly generation: Generation;
  readonly laneCount: number;
  readonly #view: ClientView;
  readonly #locked = new Set<number>();

  constructor(generation: Generation, view: ClientView, laneCount: number) {
    this.generation = generation;
    this.#view = view;
    this.laneCount = laneCount;
  }

  /** Takes the first free port from `from` on and writes its header. `opcode` is the whole number. */
  *open(opcode: number, lanes: readonly number[], from = 0): Spin<ClientPort> {
    const { portCount, buffer, mailboxA, mailboxB, headers } = this.#view;
    const word = (mailbox: number, port: number) => new Int32Array(buffer, mailbox + 4 * port, 1)[0];
    for (let index = from % portCount; ; index = (index + 1) % portCount) {
      if (!this.#locked.has(index) && word(mailboxA, index) === word(mailboxB, index)) {
        this.#locked.add(index);
        const header = new DataView(buffer, headers + 16 * index, 16);
        header.setBigUint64(
          0,
          lanes.reduce((mask, lane) => mask | (1n << BigInt(lane)), 0n),
          true,
        );
        // The rest of the header is undefined.
        header.setBigUint64(8, GARBAGE, true);
        if (this.generation.opcodeBits === 16) header.setUint16(8, opcode, true);
        else header.setUint32(8, opcode, true);
        return new ClientPort(this.#view, index, lanes, this.laneCount, () => this.#locked.delete(index));
      }
      if ((index + 1) % portCount === from % portCount) yield 'waiting';
    }
  }
}

export class ClientPort {
  readonly index: number;
  readonly lanes: readonly number[];
  readonly #view: ClientView;
  readonly #laneCount: number;
  readonly #unlock: () => void;
  #owned = true;
  #received = false;

  constructor(view: ClientView, index: number, lanes: readonly number[], laneCount: number, unlock: () => void) {
    this.#view = view;
    this.index = index;
    this.lanes = lanes;
    this.#laneCount = laneCount;
    this.#unlock = unlock;
    this.#scribble();
  }

  *send(fill: (packet: DataView, position: number) => void): Spin {
    yield* this.#own();
    for (const [position, lane] of this.lanes.entries()) fill(this.#packet(lane), position);
    this.#handOver();
    this.#received = false;
  }

  *receive(use: (packet: DataView, position: number) => void): Spin {
    if (this.#received) this.#handOver();
    yield* this.#own();
    for (const [position, lane] of this.lanes.entries()) use(this.#packet(lane), position);
    this.#received = true;
  }

  /** `values[position][slot]`. */
  *sendWords(values: readonly (readonly bigint[])[]): Spin {
    yield* this.send((packet, position) => {
      for (const [slot, value] of values[position]!.entries())
        packet.setBigUint64(8 * slot, BigInt.asUintN(64, value), true);
    });
  }

  *receiveWords(slot = 0): Spin<bigint[]> {
    const values: bigint[] = [];
    yield* this.receive((packet) => values.push(packet.getBigUint64(8 * slot, true)));
    return values;
  }

  *sendBytes(streams: readonly Uint8Array[]): Spin {
    const longest = Math.max(...streams.map(({ length }) => length));
    yield* this.send((packet, position) => {
      const stream = streams[position]!;
      packet.setBigUint64(0, BigInt(stream.length), true);
      copyInto(packet, 8, stream.subarray(0, 56));
    });
    for (let at = 56; at < longest; at += 64) {
      yield* this.send((packet, position) => copyInto(packet, 0, streams[position]!.subarray(at, at + 64)));
    }
  }

  *receiveBytes(): Spin<Uint8Array[]> {
    const streams: Uint8Array[] = [];
    yield* this.receive((packet) => {
      const stream = new Uint8Array(Number(packet.getBigUint64(0, true)));
      streams.push(stream);
      copyFrom(stream, 0, packet, 8, 56);
    });
    const longest = Math.max(...streams.map(({ length }) => length));
    for (let at = 56; at < longest; at += 64) {
      yield* this.receive((packet, position) => copyFrom(streams[position]!, at, packet, 0, 64));
    }
    return streams;
  }

  /** The client only unlocks; also checks that no packet of an inactive lane was touched. */
  close(): void {
    for (let lane = 0; lane < this.#laneCount; lane++) {
      if (this.lanes.includes(lane)) continue;
      const packet = this.#packet(lane);
      for (let slot = 0; slot < 8; slot++)
        assert.equal(packet.getBigUint64(8 * slot, true), GARBAGE, `inactive lane ${lane}`);
    }
    this.#unlock();
  }

  #scribble(): void {
    for (let lane = 0; lane < this.#laneCount; lane++) {
      for (let slot = 0; slot < 8; slot++) this.#packet(lane).setBigUint64(8 * slot, GARBAGE, true);
    }
  }

  #packet(lane: number): DataView {
    return new DataView(this.#view.buffer, this.#view.packets + 64 * (this.index * this.#laneCount + lane), 64);
  }

  *#own(): Spin {
    while (!this.#owned) {
      if (this.#word('mailboxA') === this.#word('mailboxB')) this.#owned = true;
      else yield 'waiting';
    }
  }

  #word(mailbox: 'mailboxA' | 'mailboxB'): number {
    return Atomics.load(new Int32Array(this.#view.buffer, this.#view[mailbox], this.#view.portCount), this.index);
  }

  #handOver(): void {
    const words = new Int32Array(this.#view.buffer, this.#view.mailboxB, this.#view.portCount);
    Atomics.store(words, this.index, words[this.index]! ^ 1);
    this.#owned = false;
  }
}

function copyInto(packet: DataView, at: number, bytes: Uint8Array): void {
  new Uint8Array(packet.buffer, packet.byteOffset, 64).set(bytes, at);
}

function copyFrom(stream: Uint8Array, at: number, packet: DataView, packetAt: number, sizeBytes: number): void {
  const wanted = stream.subarray(at, at + sizeBytes);
  wanted.set(new Uint8Array(packet.buffer, packet.byteOffset + packetAt, wanted.length));
}
