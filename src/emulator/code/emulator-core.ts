/**
 * What a thread needs to run waves: executors, handlers and decoded code of its own, on memory that all
 * threads of a device share.
 */
import { assert, WavewrightError } from '../../base/errors.ts';
import { type HostClock, hostClock } from '../../base/host-clock.ts';
import { type FaultCallback, HandlerTable } from '../handlers/handler-table.ts';
import type { AddressSpaces } from '../lowering/memory-access.ts';
import { AccessCounter } from '../machine/access-counter.ts';
import { WaveFault } from '../machine/faults.ts';
import { HostWork } from '../machine/host-work.ts';
import { MAX_CLASSES, WAVE_MODE } from '../machine/layout.ts';
import type { Memories, SharedMemory } from '../machine/memory.ts';
import type { SharedState } from '../machine/state-memory.ts';
import { CodeCache } from './code-cache.ts';
import type { FrontEnd } from './front-end.ts';
import { PcCounter } from './pc-counter.ts';
import type { Watch } from './watch.ts';
import { WaveTracer } from './wave-tracer.ts';

/** Runs a wave from a record until it exits; returns what is left of the budget. The wave state says why. */
export interface Executor {
  /** What runs the instructions that are not compiled. */
  readonly fallbackTier: 'reference' | 'handlers';
  /** Instructions that a wave runs before the next one has its turn: well below a millisecond of work. */
  readonly turnInstructions: number;
  /** Instructions of all waves after which the host has its turn: a few milliseconds. */
  readonly sliceInstructions: number;
  run(record: number, wave: number, budget: number): number;
  /**
   * Runs the ready waves of a workgroup (group-layout.ts), and perhaps further workgroups in its place;
   * returns the wave that left for a reason that the host must look at, -1 when none can go on now.
   */
  runGroup(group: number, clock: bigint): number;
  /** Handles an exit that is the executor's own, with a number of EXIT_ codes; false for others. */
  handleExit(reason: number, wave: number): boolean;
  /** The fault to report for one that was thrown. */
  firstFault(fault: WaveFault, wave: number): WaveFault;
  /** Forgets what it made of decoded code. */
  forgetCode(): void;
  /**
   * Records of instructions that are counted already, but that a wave did not get to when it faulted, in
   * their order; by pc only those up to the next change of EXEC are.
   */
  uncounted(fault: WaveFault, wave: number): readonly number[];
}

export type ExecutorName = 'handlers' | 'reference' | 'jit';

/** How an executor of a name is made. */
export interface ExecutorKind {
  /**
   * How often code is reached before it is compiled, where nothing else is asked for; undefined: it never is.
   */
  readonly compileThreshold: number | undefined;
  create(core: EmulatorCore, handlers: HandlerTable): Executor;
}

export type ExecutorKinds = Readonly<Record<ExecutorName, ExecutorKind>>;

/**
 * Which loops run chunk by chunk. `auto`: those where it pays; `always`: all that can; `lanes`: all that can,
 * with lanes that go through them one after the other wherever that can be.
 */
export type VerticalMode = 'never' | 'auto' | 'always' | 'lanes';

/** What a core is put together of. */
export interface CoreParts {
  readonly frontEnd: FrontEnd;
  readonly executors: ExecutorKinds;
  /** Only the reference executor has one. */
  readonly watch?: Watch | undefined;
}

/** What keeps records of waves. */
export interface RecordHolder {
  /** Gives up all records; what it returns finds them again in code that is decoded anew. */
  leaveRecords(): () => void;
}

/** How code runs: the same on every thread of a device. It can be cloned. */
export interface CoreOptions {
  /**
   * Default: `jit`, which compiles code that runs often (T1, loops T2) and runs the rest in the handlers
   * (T0). `handlers` compiles nothing; `reference` evaluates every instruction in TypeScript.
   */
  readonly executor?: ExecutorName;
  /** How often code is reached before `jit` compiles it. */
  readonly compileThreshold?: number;
  /**
   * Default true. False leaves out the checks of compiled code (T1), so that their cost can be measured: a
   * wrong access then reaches memory that is not its own, or ends in an error of WebAssembly.
   */
  readonly checksAccesses?: boolean;
  /** Which loops `jit` runs chunk by chunk (T2); default: those where that pays. */
  readonly vertical?: VerticalMode;
  /** Default false. True: dispatches count their instructions by class, which makes code a little slower. */
  readonly countsClasses?: boolean;
  /**
   * Default false. True: dispatches count the executions of each instruction, the lanes that were active, and
   * the conditional branches that were taken. Loops whose lanes leave one by one, or that skip blocks, are
   * not compiled as a whole (T2) then.
   */
  readonly countsPcs?: boolean;
  /**
   * Default false. True: as `countsPcs`, and of each instruction what its lanes access, which makes accesses
   * many times slower.
   */
  readonly countsAccesses?: boolean;
  /**
   * Default false. True: as `countsPcs`, and dispatches have a trace of what each wave executed, in order.
   * Loops are not compiled as a whole (T2) then, and there are no workers.
   */
  readonly tracesWaves?: boolean;
}

/** `now` is the time of this thread; the device's clock is 0 at `origin`. */
export interface CoreTime {
  readonly now?: HostClock;
  readonly origin?: number;
}

/** Ticks of the device clock, as the fixed 100 MHz counter of the hardware. */
export const CLOCK_FREQUENCY_HZ = 100_000_000;

/** Throws UNSUPPORTED for a language that does not say what accesses are counted in. */
function accessCounter({ processor, segmentBytes, sharedApertureHi, privateApertureHi }: FrontEnd): AccessCounter {
  if (segmentBytes !== undefined) return new AccessCounter({ segmentBytes, sharedApertureHi, privateApertureHi });
  throw new WavewrightError('UNSUPPORTED', `accesses are not counted on ${processor}`);
}

export class EmulatorCore<M extends SharedMemory = SharedMemory, S extends SharedState = SharedState>
  implements Memories
{
  /** The language of the code. */
  readonly frontEnd: FrontEnd;
  readonly state: S;
  readonly memory: M;
  readonly checksAccesses: boolean;
  readonly countsClasses: boolean;
  /** Where executions are counted by pc. */
  readonly pcCounter: PcCounter | undefined;
  /** What traces waves. */
  readonly tracer: WaveTracer | undefined;
  readonly watch: Watch | undefined;
  /** What decoding and compiling took. */
  readonly work = new HostWork();
  /** Those whose waves run, between their turns: few at a time, and most come and go alone. */
  readonly #holders: RecordHolder[] = [];
  /** By which time is measured on this thread. */
  readonly now: HostClock;
  /** When the device's clock was 0, in milliseconds of `now`. */
  readonly #origin: number;
  readonly vertical: VerticalMode;
  readonly #executorKind: ExecutorKind;
  /** Undefined where nothing is compiled. */
  readonly #compileThreshold: number | undefined;
  readonly #executors = new Map<32 | 64, Executor>();
  readonly #handlers = new Map<32 | 64, HandlerTable>();
  /** By wave size and MODE, as one number: each launch asks. */
  readonly #caches = new Map<number, CodeCache>();

  constructor(
    { frontEnd, executors, watch }: CoreParts,
    options: CoreOptions,
    state: S,
    memory: M,
    { now = hostClock, origin = now() }: CoreTime = {},
  ) {
    assert(frontEnd.classes.length <= MAX_CLASSES, 'counts of all classes have a place in the wave state');
    this.frontEnd = frontEnd;
    this.watch = watch;
    this.state = state;
    this.memory = memory;
    this.checksAccesses = options.checksAccesses ?? true;
    this.countsClasses = options.countsClasses ?? false;
    this.now = now;
    this.#origin = origin;
    if (options.countsPcs || options.countsAccesses || options.tracesWaves) {
      const accesses = options.countsAccesses ? accessCounter(frontEnd) : undefined;
      this.pcCounter = new PcCounter(state, (sizeBytes) => this.work.allocate(sizeBytes), accesses);
    }
    if (options.tracesWaves) this.tracer = new WaveTracer(state, (wave, offset) => this.#sizeAt(wave, offset));
    const name = options.executor ?? 'jit';
    const kind = executors[name];
    this.#executorKind = kind;
    // What compiles nothing has no threshold, whatever the options say; one of 0 is a threshold.
    this.#compileThreshold =
      kind.compileThreshold === undefined ? undefined : (options.compileThreshold ?? kind.compileThreshold);
    this.vertical = options.tracesWaves ? 'never' : (options.vertical ?? 'auto');
  }

  addHolder(holder: RecordHolder): void {
    this.#holders.push(holder);
  }

  removeHolder(holder: RecordHolder): void {
    const index = this.#holders.lastIndexOf(holder);
    if (index === this.#holders.length - 1) this.#holders.pop();
    else if (index >= 0) this.#holders.splice(index, 1);
  }

  /** What runs the waves of this size. */
  executor(waveSize: 32 | 64): Executor {
    let executor = this.#executors.get(waveSize);
    if (!executor) {
      const handlers = this.#handlerTable(waveSize);
      executor = this.#executorKind.create(this, handlers);
      this.#executors.set(waveSize, executor);
    }
    return executor;
  }

  clock(): bigint {
    return BigInt(Math.floor((this.now() - this.#origin) * (CLOCK_FREQUENCY_HZ / 1000)));
  }

  spaces(waveSize: 32 | 64): AddressSpaces {
    const { sharedApertureHi, privateApertureHi, turns } = this.frontEnd;
    const { windowHi } = this.memory;
    return { windowHi, sharedApertureHi, privateApertureHi, waveSize, stoppedScalar: turns?.stoppedScalar };
  }

  #handlerTable(waveSize: 32 | 64): HandlerTable {
    let table = this.#handlers.get(waveSize);
    if (!table) {
      const fault: FaultCallback = (record, _wave, code, lane, ...[low, high]) => {
        throw new WaveFault(record, code, lane, (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0));
      };
      const options = {
        processor: this.frontEnd.processor,
        isLowest: this.#compileThreshold !== undefined,
        countsClasses: this.countsClasses,
        countsPcs: this.pcCounter !== undefined,
        accesses: this.pcCounter?.accesses,
        traceRun: this.tracer?.run,
      };
      table = new HandlerTable(this, this.spaces(waveSize), fault, options, this.work);
      this.#handlers.set(waveSize, table);
    }
    return table;
  }

  /** Bytes of the instruction at an offset that a wave came to. */
  #sizeAt(wave: number, offset: number): number {
    const waveSize = this.tracer!.waveSizeOf(wave);
    return this.codeCache(waveSize, this.state.view.getUint32(wave + WAVE_MODE, true)).stepAt(offset)?.sizeBytes ?? 4;
  }

  /** Decoded code for a wave size and MODE. */
  codeCache(waveSize: 32 | 64, mode: number): CodeCache {
    const keyBits = mode & this.frontEnd.modeKeyBits;
    const key = keyBits * 64 + (waveSize - 1);
    let cache = this.#caches.get(key);
    if (!cache) {
      cache = new CodeCache(this, {
        waveSize,
        keyed: `${this.frontEnd.processor} ${waveSize} ${keyBits}`,
        reader: this.frontEnd.reader(waveSize, keyBits),
        handlers: this.#handlerTable(waveSize),
        work: this.work,
        leaderCount: this.#compileThreshold,
        pcCounter: this.pcCounter,
      });
      this.#caches.set(key, cache);
    }
    return cache;
  }

  /**
   * Forgets all decoded code and gives its memory back, between turns: waves go on in what is decoded anew.
   */
  clearCode(): void {
    const resumptions = this.#holders.map((holder) => holder.leaveRecords());
    this.pcCounter?.forgetCode();
    for (const executor of this.#executors.values()) executor.forgetCode();
    for (const cache of this.#caches.values()) cache.release();
    this.#caches.clear();
    this.work.forgetCode();
    if (this.work.hasManyHandlers) {
      for (const table of this.#handlers.values()) table.clear();
      this.work.forgetHandlers();
    }
    for (const resume of resumptions) resume();
  }

  /** Between turns: forgets what was decoded and compiled when it became too much. */
  boundCode(): void {
    if (this.work.isTooMuch) this.clearCode();
  }
}
