/**
 * The ring in which a traced application tells what it does. What stands there may be anything: the
 * application wrote it.
 */
import type { Device } from '../device/device.ts';
import { CONTROL_WORDS, TRACE_RECORDS, TRACE_WORDS, TRACED_CALLS } from './protocol.ts';
import type { SharedArena } from './shared-arena.ts';

export const TRACED_CALL_NAMES = Object.keys(TRACED_CALLS) as (keyof typeof TRACED_CALLS)[];

/** A call of the application, or what it did beside; times are of CLOCK_MONOTONIC. */
export interface TracedCall {
  readonly name: keyof typeof TRACED_CALLS;
  readonly beginNs: bigint;
  readonly endNs: bigint;
  /** As Linux numbers threads. */
  readonly thread: number;
  /** What `TRACED_CALLS` says. */
  readonly a: bigint;
  readonly b: bigint;
}

const WORDS = Object.keys(TRACE_WORDS).length;
const RING_BYTES = TRACE_RECORDS * WORDS * 8;

export class TraceRing {
  readonly #control: BigUint64Array;
  readonly #records: BigUint64Array;
  #read = 0n;

  /** From now on the application, which does not run yet, tells. Throws where memory has no room. */
  constructor({ memory }: Device, { control }: Pick<SharedArena, 'control'>) {
    const address = memory.allocate(RING_BYTES, { label: 'trace' });
    const { buffer, byteOffset } = memory.view(address, RING_BYTES);
    this.#records = new BigUint64Array(buffer, byteOffset, RING_BYTES / 8);
    this.#control = new BigUint64Array(control.buffer, control.byteOffset, control.length / 2);
    Atomics.store(this.#control, CONTROL_WORDS.traceRing / 2, address);
  }

  /** Records that found no room. */
  get lostCount(): number {
    return Number(Atomics.load(this.#control, CONTROL_WORDS.traceLost / 2));
  }

  /** What was written since the last call, in its order; no more than the ring holds. */
  *take(): Generator<TracedCall> {
    for (let count = 0; count < TRACE_RECORDS; count++) {
      const at = Number(this.#read % BigInt(TRACE_RECORDS)) * WORDS;
      if (Atomics.load(this.#records, at + TRACE_WORDS.sequence) !== this.#read + 1n) return;
      const word = (name: keyof typeof TRACE_WORDS): bigint => this.#records[at + TRACE_WORDS[name]]!;
      const name = TRACED_CALL_NAMES[Number(word('call'))];
      const [beginNs, endNs, a, b] = [word('beginNs'), word('endNs'), word('a'), word('b')];
      const thread = Number(word('thread') & 0xffff_ffffn);
      this.#read++;
      Atomics.store(this.#control, CONTROL_WORDS.traceRead / 2, this.#read);
      if (name !== undefined && endNs >= beginNs) yield { name, beginNs, endNs, thread, a, b };
    }
  }
}
