/** One emulated GPU: memory, executors and running kernels. Work happens in `advance`. */

import { WavewrightError } from '../base/errors.ts';
import { type HostClock, hostClock } from '../base/host-clock.ts';
import { hex } from '../base/text.ts';
import type { CodeCache } from './code/code-cache.ts';
import { type CoreOptions, EmulatorCore, type ExecutorName } from './code/emulator-core.ts';
import type { FrontEnd } from './code/front-end.ts';
import { EmulatorDispatch } from './dispatch.ts';
import { EXECUTORS } from './executors.ts';
import type { Launch } from './machine/launch.ts';
import { RECORD_PC } from './machine/layout.ts';
import { EmulatorMemory } from './machine/memory.ts';
import { StateMemory } from './machine/state-memory.ts';
import { ExecutionWatch, type WatchOptions } from './reference/execution-watch.ts';
import { stepText } from './schedule/fault-report.ts';
import { KeptSlots } from './schedule/kept-slots.ts';
import { type WorkerOptions, WorkerPool } from './workers/worker-pool.ts';

export { CLOCK_FREQUENCY_HZ, type Executor, type ExecutorName } from './code/emulator-core.ts';

export interface EmulatorOptions extends CoreOptions, WorkerOptions, WatchOptions {
  /**
   * Bytes of device memory, code included; at most 4 GiB, the default. What is never used takes no memory of
   * the host's.
   */
  readonly memorySizeBytes?: number;
  /** Number of the device among those of one runtime, 0 to 127: keeps their addresses apart. Default 0. */
  readonly index?: number;
  /**
   * By which the device's clock goes and time is shared among kernels. Default: that of the host. With a
   * counted one runs are the same again; only without workers.
   */
  readonly now?: HostClock;
}

/** Throws USAGE where another executor than the reference was asked for. */
function watchedExecutor({ executor = 'reference' }: EmulatorOptions): ExecutorName {
  if (executor === 'reference') return executor;
  throw new WavewrightError('USAGE', `the executor '${executor}' takes no observer and checks no waits`);
}

const WINDOW_HI = 0x7f00;
/** The clock of a GPU counts from when it was powered: programs expect it beyond the first second. */
const UPTIME_MS = 60_000;
/** Waves of this thread that sleep look again after so long, while workers run. */
const MAX_WAIT_MS = 1;

export interface CodeSymbol {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

export class Emulator extends EmulatorCore<EmulatorMemory, StateMemory> {
  /** None where one thread is enough. */
  readonly workers: WorkerPool | undefined;
  readonly keptSlots = new KeptSlots();
  readonly #dispatches: EmulatorDispatch[] = [];
  /** By the offset of the code; in the order of their offsets, once a report asked for them. */
  readonly #symbols = new Map<number, () => readonly CodeSymbol[]>();

  constructor(frontEnd: FrontEnd, options: EmulatorOptions = {}) {
    const { now = hostClock } = options;
    const origin = now() - UPTIME_MS;
    const state = new StateMemory();
    const memory = new EmulatorMemory(WINDOW_HI + (options.index ?? 0), state, options.memorySizeBytes);
    const isWatched = options.observer !== undefined || options.checkWaits !== undefined;
    const watch = isWatched ? new ExecutionWatch(state, options) : undefined;
    const coreOptions = isWatched ? { ...options, executor: watchedExecutor(options) } : options;
    super({ frontEnd, executors: EXECUTORS, watch }, coreOptions, state, memory, { now, origin });
    memory.onCodeGone = () => this.#forgetCode();
    // What looks at steps is on this thread, and so are traces.
    const workers = isWatched || options.tracesWaves ? 0 : (options.workers ?? options.threads?.parallelism ?? 1) - 1;
    if (workers > 0 && options.threads) {
      this.workers = new WorkerPool(
        { state, memory },
        frontEnd.processor,
        options,
        workers,
        performance.timeOrigin + origin,
      );
      memory.grace = this.workers;
    }
  }

  /** `symbols`: asked for by the first report of a fault, or of where waves stand. */
  publishCode(offset: number, symbols: () => readonly CodeSymbol[]): void {
    this.memory.renewCode(offset);
    let sorted: readonly CodeSymbol[] | undefined;
    this.#symbols.set(offset, () => {
      sorted ??= symbols().toSorted((a, b) => a.offset - b.offset);
      return sorted;
    });
  }

  /** Its memory is about to be freed. */
  withdrawCode(offset: number): void {
    this.#symbols.delete(offset);
    this.memory.renewCode(offset);
  }

  /** All that was decoded goes: it may refer to what is gone. */
  #forgetCode(): void {
    this.workers?.control.withdraw();
    // Before owners are: what they have, they give back.
    this.keptSlots.clear();
    this.state.forgetOwners();
    this.clearCode();
  }

  dispatch(launch: Launch): EmulatorDispatch {
    const dispatch = new EmulatorDispatch(this, launch);
    this.#dispatches.push(dispatch);
    return dispatch;
  }

  /**
   * Gives every running kernel a share of `sliceMs`; where only workers run waves, waits for them so long.
   */
  advance(sliceMs: number): 'idle' | 'running' | 'waiting' {
    for (let deadline: number | undefined; ; ) {
      this.workers?.attend();
      const result = this.#round(sliceMs);
      if (result === 'idle' || result === 'running' || !this.workers?.busy) return result;
      if (this.workers.sleeps) return 'waiting';
      const nowMs = this.now();
      deadline ??= nowMs + sliceMs;
      const restMs = deadline - nowMs;
      if (restMs <= 0) return 'running';
      this.workers.listen(Math.min(restMs, MAX_WAIT_MS));
    }
  }

  #round(sliceMs: number): 'idle' | 'running' | 'waiting' {
    let result: 'idle' | 'running' | 'waiting' = 'idle';
    const share = sliceMs / Math.max(1, this.#dispatches.length);
    for (let i = 0; i < this.#dispatches.length; ) {
      const step = this.#dispatches[i]!.step(share);
      if (step === 'done') {
        this.#dispatches.splice(i, 1);
        continue;
      }
      if (step === 'running' || result === 'idle') result = step;
      i++;
    }
    return result;
  }

  /** Cancels what runs and ends the workers. */
  close(): void {
    for (const dispatch of this.#dispatches.splice(0)) dispatch.cancel();
    this.workers?.close();
  }

  /** `kernel+0x40` for a code offset; empty when no symbol covers it. */
  locate(offset: number): string {
    for (const symbols of this.#symbols.values()) {
      const symbol = symbols().findLast((candidate) => candidate.offset <= offset);
      if (symbol && offset < symbol.offset + Math.max(symbol.sizeBytes, 1)) {
        return `${symbol.name}+${hex(offset - symbol.offset)}`;
      }
    }
    return '';
  }

  describeRecord(cache: CodeCache, record: number): string {
    const at = cache.behindLeader(record);
    const offset = this.state.view.getUint32(at + RECORD_PC, true);
    const location = this.locate(offset);
    return `pc ${hex(this.memory.address(offset))}${location && ` in ${location}`}: ${stepText(cache.step(at))}`;
  }
}
