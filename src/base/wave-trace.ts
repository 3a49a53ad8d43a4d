/**
 * What the waves of a dispatch executed, each in its order, and with which lanes. Instructions that stand
 * behind each other and ran with the same EXEC are one *run*; a *stream* names the runs of a wave one after
 * the other, and waves that did the same share it.
 */
import { writeWord } from './leb128.ts';

/** `pc`: of its first instruction. */
export interface TracedRun {
  readonly pc: bigint;
  readonly sizesBytes: readonly number[];
}

export interface TracedWave {
  readonly workgroup: readonly [number, number, number];
  /** Number in its workgroup. */
  readonly index: number;
  /** Number of what it executed. */
  readonly stream: number;
  /** Instructions behind these that there was no room for. */
  readonly lostCount: number;
}

export interface WaveTrace {
  readonly runs: readonly TracedRun[];
  readonly streams: readonly Uint8Array[];
  /** In the order in which they began. */
  readonly waves: readonly TracedWave[];
}

/**
 * What code calls before a wave executes so many instructions, from a code offset on, with an EXEC of two
 * dwords.
 */
export type TraceRun = (offset: number, wave: number, count: number, low: number, high: number) => void;

/** A run by its number, executed so many times one after the other. */
export interface StreamItem {
  readonly run: number;
  readonly exec: bigint;
  readonly times: number;
}

const HAS_EXEC = 1;
const IS_REPEATED = 2;
const FLAGS = 4;
const HIGH = 2 ** 32;
/** Bytes of one item at most: four numbers of at most 8 bytes. */
const MAX_ITEM_BYTES = 32;

const mixed = (hash: number, word: number): number => Math.imul(hash ^ word, 0x01000193) ^ (hash >>> 15);

/** Writes a stream; `sizeBytes` is what it takes so far. */
export class StreamWriter {
  #bytes = new Uint8Array(64);
  sizeBytes = 0;
  #low = 0;
  #high = 0;
  /** Of all that was added: streams with the same bytes have the same. */
  hash = 0;

  /** EXEC as two dwords; `times` below 2^31. */
  add(run: number, low: number, high: number, times: number): void {
    if (this.sizeBytes + MAX_ITEM_BYTES > this.#bytes.length) {
      const bytes = new Uint8Array(2 * this.#bytes.length);
      bytes.set(this.#bytes);
      this.#bytes = bytes;
    }
    const bytes = this.#bytes;
    const isOther = low !== this.#low || high !== this.#high;
    const flags = (isOther ? HAS_EXEC : 0) | (times > 1 ? IS_REPEATED : 0);
    const head = run * FLAGS + flags;
    let at = writeWord(bytes, this.sizeBytes, head);
    let hash = mixed(this.hash, head);
    if (isOther) {
      at = writeWord(bytes, at, low);
      at = writeWord(bytes, at, high);
      hash = mixed(mixed(hash, low), high);
      this.#low = low;
      this.#high = high;
    }
    if (times > 1) {
      at = writeWord(bytes, at, times);
      hash = mixed(hash, times);
    }
    this.hash = hash;
    this.sizeBytes = at;
  }

  /** A view, until more is added. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.sizeBytes);
  }
}

/** Reads numbers; what is none, or too large, is `bad`, which throws. */
export class NumberReader {
  readonly #bytes: Uint8Array;
  readonly #bad: (what: string, at: number) => never;
  at = 0;

  constructor(bytes: Uint8Array, bad: (what: string, at: number) => never) {
    this.#bytes = bytes;
    this.#bad = bad;
  }

  get isOver(): boolean {
    return this.at >= this.#bytes.length;
  }

  number(limit: number = Number.MAX_SAFE_INTEGER): number {
    const start = this.at;
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) return this.#bad('ends in a number', start);
      value += (byte & 0x7f) * factor;
      if (value > limit) return this.#bad(`has a number above ${limit}`, start);
      if (byte < 0x80) return value;
    }
  }

  /** A number of things that take at least a byte each. */
  count(): number {
    const start = this.at;
    const count = this.number();
    if (count <= this.#bytes.length - this.at) return count;
    return this.#bad(`has ${count} elements in ${this.#bytes.length - this.at} bytes`, start);
  }

  take(sizeBytes: number): Uint8Array {
    this.at += sizeBytes;
    return this.#bytes.subarray(this.at - sizeBytes, this.at);
  }
}

/** `runCount`: how many runs there are. */
export function* streamItems(
  stream: Uint8Array,
  runCount: number,
  bad: (what: string, at: number) => never,
): Generator<StreamItem> {
  const reader = new NumberReader(stream, bad);
  let exec = 0n;
  while (!reader.isOver) {
    const head = reader.number();
    const run = Math.floor(head / FLAGS);
    if (run >= runCount) return bad(`names run ${run} of ${runCount}`, reader.at);
    if (head % 2 === HAS_EXEC) exec = BigInt(reader.number(HIGH - 1)) | (BigInt(reader.number(HIGH - 1)) << 32n);
    yield { run, exec, times: head & IS_REPEATED ? reader.number() : 1 };
  }
}
