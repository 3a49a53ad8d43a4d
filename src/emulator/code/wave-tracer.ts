/**
 * What waves execute, in order, on one thread: code tells of each run of instructions before it executes them
 * (`WaveTrace`). Only where it is asked for.
 */
import { StreamWriter, type TracedRun, type TracedWave, type WaveTrace } from '../../base/wave-trace.ts';
import type { Triple } from '../machine/launch.ts';
import { RECORD_PC, STATE_OFFSETS } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { pcOf } from './record-pc.ts';

/** What streams of a dispatch take at most; further instructions are counted as lost. */
const MAX_BYTES = 2 ** 28;

/** The trace of one dispatch. */
export class DispatchTrace {
  readonly waveSize: 32 | 64;
  readonly #runs: { readonly offset: number; readonly sizesBytes: readonly number[] }[] = [];
  /** By offset, then by length: numbers that are small, of which there are many. */
  readonly #runIds = new Map<number, Map<number, number>>();
  readonly #streams: Uint8Array[] = [];
  readonly #streamIds = new Map<string, number>();
  readonly #waves: TracedWave[] = [];
  sizeBytes = 0;

  constructor(waveSize: 32 | 64) {
    this.waveSize = waveSize;
  }

  /** Number of a run of so many instructions of a wave from an offset on. */
  run(offset: number, count: number, wave: number, sizeOf: (wave: number, offset: number) => number): number {
    let ids = this.#runIds.get(offset);
    if (ids === undefined) {
      ids = new Map();
      this.#runIds.set(offset, ids);
    }
    let id = ids.get(count);
    if (id === undefined) {
      const sizesBytes: number[] = [];
      for (let at = offset; sizesBytes.length < count; at += sizesBytes.at(-1)!) sizesBytes.push(sizeOf(wave, at));
      id = this.#runs.push({ offset, sizesBytes }) - 1;
      ids.set(count, id);
    }
    return id;
  }

  runAt(id: number): { readonly offset: number; readonly sizesBytes: readonly number[] } {
    return this.#runs[id]!;
  }

  /** Takes the place of a wave that begins: waves end in another order. */
  begin(workgroup: Triple, index: number): number {
    return this.#waves.push({ workgroup, index, stream: 0, lostCount: 0 }) - 1;
  }

  end(place: number, bytes: Uint8Array, lostCount: number): void {
    const key = new TextDecoder('latin1').decode(bytes);
    let stream = this.#streamIds.get(key);
    if (stream === undefined) {
      stream = this.#streams.push(bytes) - 1;
      this.#streamIds.set(key, stream);
    } else this.sizeBytes -= bytes.length;
    this.#waves[place] = { ...this.#waves[place]!, stream, lostCount };
  }

  /** `addressOf` an offset in device memory. */
  trace(addressOf: (offset: number) => bigint): WaveTrace {
    const runs: TracedRun[] = this.#runs.map(({ offset, sizesBytes }) => ({ pc: addressOf(offset), sizesBytes }));
    return { runs, streams: this.#streams, waves: this.#waves };
  }
}

/** A wave that runs, and its last run, which may go on. */
class OpenWave {
  readonly trace: DispatchTrace;
  readonly place: number;
  readonly writer = new StreamWriter();
  run = -1;
  low = 0;
  high = 0;
  times = 0;
  lostCount = 0;

  constructor(trace: DispatchTrace, place: number) {
    this.trace = trace;
    this.place = place;
  }

  add(run: number, low: number, high: number, count: number): void {
    if (run === this.run && low === this.low && high === this.high) {
      this.times++;
      return;
    }
    this.flush();
    if (this.trace.sizeBytes > MAX_BYTES) {
      this.lostCount += count;
      return;
    }
    this.run = run;
    this.low = low;
    this.high = high;
    this.times = 1;
  }

  flush(): void {
    if (this.times === 0) return;
    const before = this.writer.sizeBytes;
    this.writer.add(this.run, this.low, this.high, this.times);
    this.trace.sizeBytes += this.writer.sizeBytes - before;
    this.times = 0;
    this.run = -1;
  }

  end(): void {
    this.flush();
    this.trace.end(this.place, this.writer.bytes, this.lostCount);
  }
}

export class WaveTracer {
  readonly #state: SharedState;
  /** Bytes of the instruction at an offset that is decoded. */
  readonly #sizeOf: (wave: number, offset: number) => number;
  /** By the address of their state. */
  readonly #waves = new Map<number, OpenWave>();
  /** Instructions run once more, which are not told of again. */
  isPaused = false;

  constructor(state: SharedState, sizeOf: (wave: number, offset: number) => number) {
    this.#state = state;
    this.#sizeOf = sizeOf;
  }

  /** A wave that had the same state before is over. */
  begin(trace: DispatchTrace, wave: number, workgroup: Triple, index: number): void {
    this.#waves.get(wave)?.end();
    this.#waves.set(wave, new OpenWave(trace, trace.begin(workgroup, index)));
  }

  waveSizeOf(wave: number): 32 | 64 {
    return this.#waves.get(wave)!.trace.waveSize;
  }

  /** No wave of the dispatch runs any more. */
  end(trace: DispatchTrace): void {
    for (const [wave, open] of this.#waves) {
      if (open.trace !== trace) continue;
      open.end();
      this.#waves.delete(wave);
    }
  }

  /** A wave is about to execute so many instructions, that of `record` first. */
  readonly run = (record: number, wave: number, count: number): void => {
    const { view } = this.#state;
    const open = this.#waves.get(wave);
    if (open === undefined || this.isPaused || isLeader(this.#state, record)) return;
    const { trace } = open;
    const run = trace.run(pcOf(this.#state, record), count, wave, this.#sizeOf);
    const exec = wave + STATE_OFFSETS.exec;
    const high = trace.waveSize === 64 ? view.getInt32(exec + 4, true) : 0;
    open.add(run, view.getInt32(exec, true), high, count);
  };

  /** The last instruction of a wave was not executed. */
  takeBack(wave: number): void {
    const open = this.#waves.get(wave);
    if (open === undefined || open.times === 0) return;
    const { trace, run, low, high, times } = open;
    const { offset, sizesBytes } = trace.runAt(run);
    open.times = times - 1;
    open.flush();
    if (sizesBytes.length === 1) return;
    const shorter = trace.run(offset, sizesBytes.length - 1, wave, this.#sizeOf);
    open.add(shorter, low, high, sizesBytes.length - 1);
  }
}

/** A leader stands for an instruction, which is told of when it runs. */
const isLeader = ({ view }: SharedState, record: number): boolean => view.getUint32(record + RECORD_PC, true) === 0;
