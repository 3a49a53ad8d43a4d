/** One emulated GPU: memory, executors and running kernels. Single-threaded: work happens in `advance`. */
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../isa/amdgpu/registers.ts';
import { type Target, targetFor } from '../isa/amdgpu/targets.ts';
import { CodeCache, MODE_KEY_BITS } from './code-cache.ts';
import { EmulatorDispatch } from './dispatch.ts';
import { instructionText } from './fault-report.ts';
import { WaveFault } from './faults.ts';
import { HandlerTable } from './handlers/handler-table.ts';
import { DEFAULT_THRESHOLD, JitExecutor } from './jit/jit-executor.ts';
import type { Launch } from './launch.ts';
import { RECORD_PC } from './layout.ts';
import type { AddressSpaces } from './lowering/memory-access.ts';
import { EmulatorMemory } from './memory.ts';
import { ReferenceExecutor } from './reference/reference-executor.ts';

/** Runs a wave from a record until it exits; returns what is left of the budget. The wave state says why. */
export interface Executor {
  /** What runs the instructions that are not compiled. */
  readonly tier: 'reference' | 'handlers';
  /** Instructions that a wave runs before the next one has its turn: well below a millisecond of work. */
  readonly turnInstructions: number;
  /** Instructions of all waves after which the host has its turn: a few milliseconds. */
  readonly sliceInstructions: number;
  run(record: number, wave: number, budget: number): number;
  /**
   * Runs the ready waves of a workgroup (group-layout.ts), and perhaps further workgroups in its place; returns the wave that left for a
   * reason that the host must look at, -1 when none can go on now.
   */
  runGroup(group: number, clock: bigint): number;
  /** Handles an exit that only the executor knows; false for others. */
  resume?(wave: number): boolean;
  /** The fault to report for one that was thrown. */
  firstFault?(fault: WaveFault, wave: number): WaveFault;
}

export type ExecutorName = 'handlers' | 'reference' | 'jit';

export interface EmulatorOptions {
  readonly processor: string;
  /**
   * Default: `jit`, which compiles code that runs often (T1) and runs the rest in the handlers (T0). `handlers` compiles nothing;
   * `reference` evaluates every instruction in TypeScript.
   */
  readonly executor?: ExecutorName;
  /** How often code is reached before `jit` compiles it. */
  readonly compileThreshold?: number;
  /** Upper limit of device memory; at most 4 GiB, the default. */
  readonly memorySizeBytes?: number;
  /** Number of the device among those of one runtime, 0 to 127: keeps their addresses apart. Default 0. */
  readonly index?: number;
}

/** Ticks of the device clock, as the fixed 100 MHz counter of the hardware. */
export const CLOCK_FREQUENCY_HZ = 100_000_000;
const WINDOW_HI = 0x7f00;

export interface CodeSymbol {
  readonly name: string;
  readonly offset: number;
  readonly sizeBytes: number;
}

export class Emulator {
  readonly target: Target;
  readonly memory: EmulatorMemory;
  readonly #executorName: ExecutorName;
  readonly #compileThreshold: number;
  readonly #executors = new Map<32 | 64, Executor>();
  readonly #handlers = new Map<32 | 64, HandlerTable>();
  readonly #caches = new Map<string, CodeCache>();
  readonly #dispatches: EmulatorDispatch[] = [];
  /** By the offset of the code. */
  readonly #symbols = new Map<number, readonly CodeSymbol[]>();
  readonly #origin = performance.now();

  constructor(options: EmulatorOptions) {
    this.target = targetFor(options.processor);
    this.memory = new EmulatorMemory(WINDOW_HI + (options.index ?? 0), options.memorySizeBytes);
    this.#executorName = options.executor ?? 'jit';
    this.#compileThreshold = options.compileThreshold ?? DEFAULT_THRESHOLD;
  }

  /** What runs the waves of this size. */
  executor(waveSize: 32 | 64): Executor {
    let executor = this.#executors.get(waveSize);
    if (!executor) {
      const handlers = this.#handlerTable(waveSize);
      if (this.#executorName === 'reference') executor = new ReferenceExecutor(this, waveSize);
      else executor = this.#executorName === 'jit' ? new JitExecutor(this, handlers) : handlers;
      this.#executors.set(waveSize, executor);
    }
    return executor;
  }

  clock(): bigint {
    return BigInt(Math.floor((performance.now() - this.#origin) * (CLOCK_FREQUENCY_HZ / 1000)));
  }

  spaces(waveSize: 32 | 64): AddressSpaces {
    return {
      windowHi: this.memory.windowHi,
      sharedApertureHi: SHARED_APERTURE_HI,
      privateApertureHi: PRIVATE_APERTURE_HI,
      waveSize,
    };
  }

  #handlerTable(waveSize: 32 | 64): HandlerTable {
    let table = this.#handlers.get(waveSize);
    if (!table) {
      table = new HandlerTable(this.memory, this.spaces(waveSize), (record, _wave, code, lane, low, high) => {
        throw new WaveFault(record, code, lane, (BigInt(high >>> 0) << 32n) | BigInt(low >>> 0));
      });
      this.#handlers.set(waveSize, table);
    }
    return table;
  }

  /** Decoded code for a wave size and MODE. */
  codeCache(waveSize: 32 | 64, mode: number): CodeCache {
    const key = `${waveSize} ${mode & MODE_KEY_BITS}`;
    let cache = this.#caches.get(key);
    if (!cache) {
      const handlers = this.#handlerTable(waveSize);
      const leaderCount = this.#executorName === 'jit' ? this.#compileThreshold : undefined;
      const spaces = this.spaces(waveSize);
      cache = new CodeCache(this.memory, handlers, spaces, this.target.processor, mode & MODE_KEY_BITS, leaderCount);
      this.#caches.set(key, cache);
    }
    return cache;
  }

  publishCode(offset: number, symbols: readonly CodeSymbol[]): void {
    this.#symbols.set(
      offset,
      symbols.toSorted((a, b) => a.offset - b.offset),
    );
  }

  /** Forgets the code there. Decoded code may refer to other decoded code: its memory is given back when no kernel runs. */
  withdrawCode(offset: number): void {
    const region = this.memory.find(offset);
    const idle = this.#dispatches.every(({ state }) => state !== 'running');
    this.#symbols.delete(offset);
    for (const cache of this.#caches.values()) {
      if (idle) cache.clear();
      else if (region) cache.invalidate(offset, offset + region.sizeBytes);
    }
  }

  dispatch(launch: Launch): EmulatorDispatch {
    const dispatch = new EmulatorDispatch(this, launch);
    this.#dispatches.push(dispatch);
    return dispatch;
  }

  /** Gives every running kernel a share of `sliceMs`. */
  advance(sliceMs: number): 'idle' | 'running' | 'waiting' {
    let result: 'idle' | 'running' | 'waiting' = 'idle';
    const share = sliceMs / Math.max(1, this.#dispatches.length);
    for (const dispatch of [...this.#dispatches]) {
      const step = dispatch.step(performance.now() + share);
      if (step === 'done') this.#dispatches.splice(this.#dispatches.indexOf(dispatch), 1);
      else if (step === 'running' || result === 'idle') result = step;
    }
    return result;
  }

  /** `kernel+0x40` for a code offset; empty when no symbol covers it. */
  locate(offset: number): string {
    for (const symbols of this.#symbols.values()) {
      const symbol = symbols.findLast((candidate) => candidate.offset <= offset);
      if (symbol && offset < symbol.offset + Math.max(symbol.sizeBytes, 1)) {
        return `${symbol.name}+0x${(offset - symbol.offset).toString(16)}`;
      }
    }
    return '';
  }

  describeRecord(cache: CodeCache, record: number): string {
    const at = cache.behindLeader(record);
    const offset = this.memory.view.getUint32(at + RECORD_PC, true);
    const instruction = cache.instruction(at);
    const location = this.locate(offset);
    return `pc 0x${this.memory.address(offset).toString(16)}${location && ` in ${location}`}: ${instructionText(instruction)}`;
  }
}
