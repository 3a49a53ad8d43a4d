/**
 * Serves what waves ask the host for while their kernel runs: HIP's printf, assert and device malloc. `poll`
 * is called between the slices of the device and never waits. All of the buffer is the kernel's to write: a
 * number or an index that it holds means nothing outside of it, and a packet is read where the layout has it,
 * wherever the buffer's own pointers lead.
 */
import { WavewrightError } from '../../base/errors.ts';
import { allocateForProgram, type DeviceHeap } from '../../hsa/memory/device-heap.ts';
import { BUFFER, GUARD, HEADER, type HostcallLayout, PAYLOAD_SIZE_BYTES, READY, SLOT_WORDS } from './layout.ts';
import { Messages } from './messages.ts';
import { printfText } from './printf-message.ts';

/** What kernels print; the stream is C's. */
export type Print = (stream: 'stdout' | 'stderr', text: Uint8Array) => void;

export interface HostcallHost {
  readonly heap: Pick<DeviceHeap, 'allocate' | 'free'>;
  readonly print: Print;
}

/** Answers one lane, in its slot. */
type Service = (slot: DataView, server: { readonly host: HostcallHost; readonly messages: Messages }) => void;

/**
 * A message is the stream (bit 0: stderr), the format and its arguments; the lane gets what printf returns.
 */
const print: Service = (slot, { host, messages }) => {
  const message = messages.take(slot);
  if (message === undefined) return;
  const stream = message[0];
  const isKnown = message.length >= 8 && stream! <= 1 && message.subarray(1, 8).every((byte) => byte === 0);
  if (!isKnown) {
    slot.setBigInt64(0, -1n, true);
    return;
  }
  const text = printfText(message.subarray(8));
  host.print(stream === 0 ? 'stdout' : 'stderr', text);
  slot.setBigInt64(0, BigInt(text.length), true);
};

/** Word 0 is what to free; when it is 0, word 1 is how many bytes to allocate. */
const deviceMemory: Service = (slot, { host }) => {
  const address = slot.getBigUint64(0, true);
  if (address === 0n) slot.setBigUint64(0, allocateForProgram(host.heap, slot.getBigUint64(8, true)), true);
  else host.heap.free(address);
};

const refused =
  (what: string): Service =>
  () => {
    throw new WavewrightError('UNSUPPORTED', `the kernel asks the host for ${what}`);
  };

const SERVICES: ReadonlyMap<number, { readonly name: string; readonly serve: Service }> = new Map([
  [1, { name: 'function call', serve: refused('a call of a function') }],
  [2, { name: 'printf', serve: print }],
  [3, { name: 'device memory', serve: deviceMemory }],
  [4, { name: 'sanitizer', serve: refused('a report of the address sanitizer') }],
]);

export class HostcallServer {
  readonly #layout: HostcallLayout;
  readonly #words: BigUint64Array<SharedArrayBuffer>;
  readonly #dwords: Int32Array<SharedArrayBuffer>;
  readonly #bytes: DataView<SharedArrayBuffer>;
  readonly #context: { readonly host: HostcallHost; readonly messages: Messages };
  /** Packets that were ready and wait for their turn, the next one last. */
  #pending: number[] = [];

  /** `buffer`: initialised, of the layout's size. */
  constructor(layout: HostcallLayout, buffer: Uint8Array<SharedArrayBuffer>, host: HostcallHost) {
    this.#layout = layout;
    this.#words = new BigUint64Array(buffer.buffer, buffer.byteOffset, layout.sizeBytes / 8);
    this.#dwords = new Int32Array(buffer.buffer, buffer.byteOffset, layout.sizeBytes / 4);
    this.#bytes = new DataView(buffer.buffer, buffer.byteOffset, layout.sizeBytes);
    this.#context = { host, messages: new Messages() };
  }

  /**
   * Serves packets until none is ready, at least one before `deadline` (milliseconds of performance.now); how
   * many. Throws RPC_PROTOCOL for requests that no kernel of ROCm makes, UNSUPPORTED for services that are
   * missing here, LIMIT_EXCEEDED, and what the host throws.
   */
  poll(deadline: number): number {
    this.#collect();
    let served = 0;
    for (let index = this.#pending.pop(); index !== undefined; index = this.#pending.pop()) {
      this.#serve(index);
      served++;
      if (performance.now() >= deadline) break;
    }
    return served;
  }

  /** Whether packets wait that were ready at the last poll. */
  get isBusy(): boolean {
    return this.#pending.length > 0;
  }

  /** Forgets what was going on: another kernel begins. */
  reset(): void {
    this.#pending = [];
    this.#context.messages.clear();
  }

  /** Takes all ready packets. A stack gives the newest first, and the oldest is served first. */
  #collect(): void {
    const { packetCount, headers } = this.#layout;
    let pointer = Atomics.load(this.#words, BUFFER.readyStack / 8);
    if (pointer === 0n) return;
    pointer = Atomics.exchange(this.#words, BUFFER.readyStack / 8, 0n);
    const ready: number[] = [];
    while (pointer !== 0n) {
      const index = Number(pointer & BigInt(packetCount - 1));
      if (index === GUARD) {
        const what = `more than ${packetCount - 1} waves ask the host at once, or the kernel wrote over its hostcall buffer`;
        throw new WavewrightError('LIMIT_EXCEEDED', what);
      }
      ready.push(index);
      if (ready.length + this.#pending.length >= packetCount) {
        throw new WavewrightError(
          'RPC_PROTOCOL',
          'the ready packets form a ring: the kernel wrote over its hostcall buffer',
        );
      }
      pointer = this.#words[(headers + index * HEADER.sizeBytes + HEADER.next) / 8]!;
    }
    this.#pending = [...ready, ...this.#pending];
  }

  #serve(index: number): void {
    const { headers, payloads } = this.#layout;
    const header = headers + index * HEADER.sizeBytes;
    const number = this.#bytes.getUint32(header + HEADER.service, true);
    const mask = this.#bytes.getBigUint64(header + HEADER.activeMask, true);
    const service = SERVICES.get(number);
    if (service === undefined) {
      throw new WavewrightError('RPC_PROTOCOL', `the kernel asks the host for service ${number}, which does not exist`);
    }
    for (const lane of lanesOf(mask)) {
      const at = payloads + index * PAYLOAD_SIZE_BYTES + lane * SLOT_WORDS * 8;
      const slot = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + at, SLOT_WORDS * 8);
      try {
        service.serve(slot, this.#context);
      } catch (error) {
        if (!(error instanceof WavewrightError)) throw error;
        throw error.within({ section: `hostcall, ${service.name}, lane ${lane}` });
      }
    }
    Atomics.and(this.#dwords, (header + HEADER.control) / 4, ~READY);
  }
}

/** The lanes of a mask, ascending. */
function* lanesOf(mask: bigint): Generator<number> {
  for (let lane = 0, rest = mask; rest !== 0n; lane++, rest >>= 1n) if (rest & 1n) yield lane;
}
