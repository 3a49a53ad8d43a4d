/**
 * Messages longer than a slot: a lane sends them in several requests. Word 0 of each is a descriptor: bit 0
 * begins a message, bit 1 ends it, bits 5 to 7 count the words that follow and belong to it, bits 8 to 63 are
 * the number that the host gave the message when it began.
 */
import { WavewrightError } from '../../base/errors.ts';
import { SLOT_WORDS } from './layout.ts';

const BEGIN = 1n;
const END = 2n;
const COUNT_SHIFT = 5n;
const COUNT_MASK = 7n;
const NUMBER_SHIFT = 8n;
const FIELDS = 0xffn;

/** All messages that have begun and not ended may hold so much together. */
const MAX_HELD_BYTES = 2 ** 28;
/** What the host takes for a message, besides its bytes. */
const MESSAGE_BYTES = 256;

class Message {
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(64);
  length = 0;

  append(more: Uint8Array): void {
    if (this.length + more.length > this.bytes.length) {
      const grown = new Uint8Array(2 * this.bytes.length);
      grown.set(this.bytes);
      this.bytes = grown;
    }
    this.bytes.set(more, this.length);
    this.length += more.length;
  }
}

export class Messages {
  readonly #open = new Map<bigint, Message>();
  #next = 0n;
  #heldBytes = 0;
  readonly #maxHeldBytes: number;

  constructor(maxHeldBytes: number = MAX_HELD_BYTES) {
    this.#maxHeldBytes = maxHeldBytes;
  }

  /**
   * Takes one request: `slot` holds its words. The bytes of the message when it ended; otherwise undefined,
   * and the lane finds in word 0 with what it goes on. Throws RPC_PROTOCOL for a message that did not begin,
   * LIMIT_EXCEEDED.
   */
  take(slot: DataView): Uint8Array | undefined {
    const descriptor = slot.getBigUint64(0, true);
    let number = descriptor >> NUMBER_SHIFT;
    if (descriptor & BEGIN) {
      number = this.#next++;
      this.#open.set(number, new Message());
      this.#hold(MESSAGE_BYTES);
      slot.setBigUint64(0, (number << NUMBER_SHIFT) | (descriptor & FIELDS & ~BEGIN), true);
    }
    const message = this.#open.get(number);
    if (message === undefined) {
      throw new WavewrightError('RPC_PROTOCOL', `message ${number} did not begin, or ended before`);
    }
    const sizeBytes = 8 * Math.min(Number((descriptor >> COUNT_SHIFT) & COUNT_MASK), SLOT_WORDS - 1);
    message.append(new Uint8Array(slot.buffer, slot.byteOffset + 8, sizeBytes));
    this.#hold(sizeBytes);
    if (!(descriptor & END)) return undefined;
    this.#open.delete(number);
    this.#heldBytes -= MESSAGE_BYTES + message.length;
    return message.bytes.subarray(0, message.length);
  }

  clear(): void {
    this.#open.clear();
    this.#heldBytes = 0;
  }

  #hold(sizeBytes: number): void {
    this.#heldBytes += sizeBytes;
    if (this.#heldBytes <= this.#maxHeldBytes) return;
    const what = `messages of more than ${this.#maxHeldBytes} bytes have begun and not ended`;
    throw new WavewrightError('LIMIT_EXCEEDED', what);
  }
}
