/**
 * What waves execute, in order, on one thread: code tells of each run of instructions before it executes them
 * (`WaveTrace`). Only where it is asked for.
 */
import { StreamWriter, type TracedRun, type TracedWave, type TraceRun, type WaveTrace } from '../../base/wave-trace.ts';
import type { Triple } from '../machine/launch.ts';
import { RECORD_PC, STATE_OFFSETS } from '../machine/layout.ts';
import type { SharedState } from '../machine/state-memory.ts';

/** What streams of a dispatch take at most; further instructions are counted as lost. */
const MAX_BYTES = 2 ** 28;

/** The number of a run of so many instructions, and runs of other lengths from the same offset on. */
interface RunId {
  readonly count: number;
  readonly id: number;
  other: RunId | undefined;
}

/** The trace of one dispatch. */
export class DispatchTrace {
  readonly waveSize: 32 | 64;
  readonly #runs: { readonly offset: number; readonly sizesBytes: readonly number[] }[] = [];
  /** By offset, as most runs from there are of one length. */
  readonly #runIds = new Map<number, RunId>();
  readonly #streams: Uint8Array[] = [];
  /** By their hashes: numbers of streams that may be the same. */
  readonly #streamIds = new Map<number, number[]>();
  readonly #waves: TracedWave[] = [];
  sizeBytes = 0;

  constructor(waveSize: 32 | 64) {
    this.waveSize = waveSize;
  }

  /** Number of a run of so many instructions of a wave from an offset on. */
  run(offset: number, count: number, wave: number, sizeOf: (wave: number, offset: number) => number): number {
    const first = this.#runIds.get(offset);
    for (let known = first; known !== undefined; known = known.other) if (known.count === count) return known.id;
    const sizesBytes: number[] = [];
    for (let at = offset; sizesBytes.length < count; at += sizesBytes.at(-1)!) sizesBytes.push(sizeOf(wave, at));
    const id = this.#runs.push({ offset, sizesBytes }) - 1;
    if (first === undefined) this.#runIds.set(offset, { count, id, other: undefined });
    else first.other = { count, id, other: first.other };
    return id;
  }

  runAt(id: number): { readonly offset: number; readonly sizesBytes: readonly number[] } {
    return this.#runs[id]!;
  }

  /** Takes the place of a wave that begins: waves end in another order. */
  begin(workgroup: Triple, index: number): number {
    return this.#waves.push({ workgroup, index, stream: 0, lostCount: 0 }) - 1;
  }

  end(place: number, writer: StreamWriter, lostCount: number): void {
    const { hash, bytes } = writer;
    const ids = this.#streamIds.get(hash);
    let stream = ids?.find((id) => isSame(this.#streams[id]!, bytes));
    if (stream === undefined) {
      stream = this.#streams.push(bytes.slice()) - 1;
      if (ids === undefined) this.#streamIds.set(hash, [stream]);
      else ids.push(stream);
    } else this.sizeBytes -= bytes.length;
    this.#waves[place] = { ...this.#waves[place]!, stream, lostCount };
  }

  /** `addressOf` an offset in device memory. */
  trace(addressOf: (offset: number) => bigint): WaveTrace {
    const runs: TracedRun[] = this.#runs.map(({ offset, sizesBytes }) => ({ pc: addressOf(offset), sizesBytes }));
    return { runs, streams: this.#streams, waves: this.#waves };
  }
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
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
    this.trace.end(this.place, this.writer, this.lostCount);
  }
}

export class WaveTracer {
  readonly #state: SharedState;
  /** Bytes of the instruction at an offset that is decoded. */
  readonly #sizeOf: (wave: number, offset: number) => number;
  /** By the address of their state. */
  readonly #waves = new Map<number, OpenWave>();
  /** The wave that was told of last, whose turn it mostly is. */
  #lastAddress = -1;
  #last: OpenWave | undefined;
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
    this.#lastAddress = -1;
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
    this.#lastAddress = -1;
  }

  /** As `run`, of the instruction of a record alone. */
  step(record: number, wave: number): void {
    const open = this.#waves.get(wave);
    if (open === undefined) return;
    const { view } = this.#state;
    const exec = wave + STATE_OFFSETS.exec;
    const high = open.trace.waveSize === 64 ? view.getInt32(exec + 4, true) : 0;
    this.run(view.getInt32(record + RECORD_PC, true), wave, 1, view.getInt32(exec, true), high);
  }

  /** A wave is about to execute so many instructions, from a code offset on, with an EXEC of two dwords. */
  readonly run: TraceRun = (offset, wave, count, low, high) => {
    // A leader has none, and stands for an instruction, which is told of when it runs.
    if (offset === 0 || this.isPaused) return;
    if (wave !== this.#lastAddress) {
      this.#last = this.#waves.get(wave);
      this.#lastAddress = wave;
    }
    const open = this.#last;
    if (open === undefined) return;
    const { trace } = open;
    open.add(trace.run(offset >>> 0, count, wave, this.#sizeOf), low, high, count);
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
