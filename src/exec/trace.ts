/**
 * A trace of applications in the format of Chrome's trace viewer, which Perfetto reads, too (Trace Event
 * Format, 2016): slices for what threads call and what queues run, arrows from the doorbell to the kernel,
 * and from what completes a signal to who waited for it.
 */

import { TRACED_CALLS } from './protocol.ts';
import type { TimedPacket } from './timed-packet.ts';
import type { TracedCall } from './trace-ring.ts';

/** More are counted and left out: viewers take no more, either. */
const MAX_EVENTS = 1_000_000;
const NS_PER_US = 1000;
/** Tracks of queues and of the device process follow those of threads, whose numbers are smaller. */
const FIRST_QUEUE_TRACK = 1_000_000_000;
const REQUEST_TRACK = FIRST_QUEUE_TRACK - 1;

/** Calls of which `a` is the signal that is waited for. */
const WAITS: ReadonlySet<string> = new Set([...['hsa_signal_wait_relaxed', 'hsa_signal_wait_scacquire']]);

interface Slice {
  readonly track: number;
  readonly name: string;
  readonly beginNs: bigint;
  readonly endNs: bigint;
  readonly args: Readonly<Record<string, string | number>>;
}

interface Wait {
  readonly track: number;
  readonly beginNs: bigint;
  readonly endNs: bigint;
}

/** What completed a signal. */
interface Completion {
  readonly track: number;
  readonly endNs: bigint;
  readonly beginNs: bigint;
  readonly signal: bigint;
}

/** Of one application. */
export class ApplicationTrace {
  lostCount = 0;
  readonly #process: number;
  readonly #name: string;
  readonly #slices: Slice[] = [];
  readonly #queues = new Map<bigint, number>();
  readonly #doorbells = new Map<string, Wait>();
  readonly #launches: (Wait & { readonly key: string })[] = [];
  /** By signal. */
  readonly #waits = new Map<bigint, Wait[]>();
  readonly #completions: Completion[] = [];

  constructor(process: number, name: string) {
    this.#process = process;
    this.#name = name;
  }

  addCall({ name, beginNs, endNs, thread: track, a, b }: TracedCall): void {
    const [first, second] = TRACED_CALLS[name];
    const args = { [first]: hexOf(a), ...(second !== '' && { [second]: numberOf(b) }) };
    if (!this.#add({ track, name, beginNs, endNs, args })) return;
    if (name === 'doorbell') this.#doorbells.set(`${a}:${b}`, { track, beginNs, endNs });
    else if (name === 'copy' && a !== 0n) this.#completions.push({ track, beginNs, endNs, signal: a });
    else if (WAITS.has(name)) {
      const waits = this.#waits.get(a) ?? [];
      waits.push({ track, beginNs, endNs });
      this.#waits.set(a, waits);
    }
  }

  addPacket({ kernel, dispatch, packetIndex, queue, beginNs, endNs, completionSignal, ...packet }: TimedPacket): void {
    let track = this.#queues.get(queue);
    if (track === undefined) {
      track = FIRST_QUEUE_TRACK + this.#queues.size;
      this.#queues.set(queue, track);
    }
    const name = dispatch ? (kernel ?? '(no name)') : 'barrier';
    const grid = { grid: packet.gridSize.join(' '), workgroup: packet.workgroupSize.join(' ') };
    const did = dispatch && { ...grid, state: dispatch.state, instructions: dispatch.statistics.instructions };
    const args = { packet: Number(packetIndex), ...did };
    if (!this.#add({ track, name, beginNs, endNs, args })) return;
    this.#launches.push({ track, beginNs, endNs, key: `${queue}:${packetIndex}` });
    if (completionSignal !== 0n) this.#completions.push({ track, beginNs, endNs, signal: completionSignal });
  }

  /** A message to the device process. */
  addRequest(name: string, beginNs: bigint, endNs: bigint): void {
    this.#add({ track: REQUEST_TRACK, name, beginNs, endNs, args: {} });
  }

  #add(slice: Slice): boolean {
    if (this.#slices.length >= MAX_EVENTS) this.lostCount++;
    else this.#slices.push(slice);
    return this.#slices.length < MAX_EVENTS;
  }

  /** A line of JSON for each event. */
  *events(): Generator<string> {
    const pid = this.#process;
    const named = (name: string, tid: number, text: string) =>
      JSON.stringify({ ph: 'M', pid, tid, name, args: { name: text } });
    yield named('process_name', 0, `${this.#name} ${pid}`);
    yield named('thread_name', REQUEST_TRACK, 'device process');
    for (const [queue, track] of this.#queues) yield named('thread_name', track, `queue ${hexOf(queue)}`);
    for (const { track: tid, name, beginNs, endNs, args } of this.#slices) {
      const [ts, dur] = [microseconds(beginNs), microseconds(endNs - beginNs)];
      yield JSON.stringify({ ph: 'X', pid, tid, name, ts, dur, args });
    }
    yield* this.#arrows();
  }

  *#arrows(): Generator<string> {
    let id = 0;
    const pid = this.#process;
    const arrow = (name: string, from: { readonly tid: number; readonly ns: bigint }, to: typeof from) => {
      id++;
      const common = { pid, cat: name, name, id: `${pid}.${id}` };
      return [
        JSON.stringify({ ph: 's', tid: from.tid, ts: microseconds(from.ns), ...common }),
        JSON.stringify({ ph: 'f', bp: 'e', tid: to.tid, ts: microseconds(to.ns), ...common }),
      ];
    };
    for (const { key, track, beginNs } of this.#launches) {
      const bell = this.#doorbells.get(key);
      if (bell) yield* arrow('launch', { tid: bell.track, ns: bell.beginNs }, { tid: track, ns: beginNs });
    }
    for (const { signal, track, beginNs, endNs } of this.#completions) {
      const waits = this.#waits.get(signal) ?? [];
      // Waits of a signal come in the order of their ends, but for those of several threads.
      const wait = waits[firstAtLeast(waits, endNs)];
      if (!wait || wait.beginNs > endNs) continue;
      // An arrow begins inside of its slice.
      const ns = endNs > beginNs ? endNs - 1n : endNs;
      yield* arrow('completion', { tid: track, ns }, { tid: wait.track, ns: wait.endNs });
    }
  }
}

/** The index of the first wait that ended at or after a time. */
function firstAtLeast(waits: readonly Wait[], endNs: bigint): number {
  let [low, high] = [0, waits.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (waits[middle]!.endNs < endNs) low = middle + 1;
    else high = middle;
  }
  return low;
}

const hexOf = (value: bigint): string => `0x${value.toString(16)}`;
/** Values beyond what JSON's numbers hold are texts. */
const numberOf = (value: bigint): number | string => {
  const signed = BigInt.asIntN(64, value);
  return Number.isSafeInteger(Number(signed)) ? Number(signed) : hexOf(value);
};
const microseconds = (ns: bigint): number => Number(ns) / NS_PER_US;

/** Of all applications. */
export class Traces {
  readonly #applications: ApplicationTrace[] = [];

  open(processId: number, name = 'program'): ApplicationTrace {
    const trace = new ApplicationTrace(processId, name);
    this.#applications.push(trace);
    return trace;
  }

  /** A file of JSON. */
  file(): Uint8Array {
    const lost = this.#applications.reduce((sum, { lostCount }) => sum + lostCount, 0);
    const head = `{"displayTimeUnit":"ns","otherData":{"lost":${lost}},"traceEvents":[\n`;
    const encoder = new TextEncoder();
    const pieces = [encoder.encode(head)];
    let isFirst = true;
    for (const trace of this.#applications) {
      for (const event of trace.events()) {
        pieces.push(encoder.encode(isFirst ? event : `,\n${event}`));
        isFirst = false;
      }
    }
    pieces.push(encoder.encode('\n]}\n'));
    return Buffer.concat(pieces);
  }
}
