/** Runs code on every executor from the same state, and compares everything they change. */
import { endOfCode } from '../../src/assembler/machine-code.test-support.ts';
import { AmdgpuEmulator } from '../../src/devices/emulated/amdgpu/emulator.ts';
import type { VerticalMode } from '../../src/emulator/code/emulator-core.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import { WaveFault } from '../../src/emulator/machine/faults.ts';
import {
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_MODE,
  EXIT_UNTRANSLATED,
  MAY_READ,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  STATE_OFFSETS,
  WAVE_BUDGET,
  WAVE_COMPILED,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_LOOPED,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RECORD,
  WAVE_TEMPORARY_ROWS,
  WAVE_TURN,
  WAVE_VGPRS,
  waveSizeBytes,
} from '../../src/emulator/machine/layout.ts';
import { ReferenceExecutor } from '../../src/emulator/reference/reference-executor.ts';

export const LDS_SIZE = 1024;
export const PRIVATE_SIZE = 512;
const DATA_SIZE = 8192;
const GUARD = 4096;
const RESUMING = new Set([EXIT_CODES.barrier, EXIT_CODES.sleep, EXIT_CODES.interrupt]);
const CODE_SIZE = 1 << 22;

/** mulberry32: a small generator with a 32-bit seed. */
export function randomGenerator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

const INTERESTING = [
  0, 1, 2, 3, 31, 32, 63, 64, 0xff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000,
  0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff, 0x3c00, 0x7c00, 0x7e00, 0x40490fdb,
  0x3ff00000, 0x7ff00000,
];

/**
 * `contiguous` and `broadcast`: registers that are addresses of neighbouring dwords, or of one, in global
 * memory or LDS.
 */
export type Fill = 'pointers' | 'contiguous' | 'broadcast' | 'small' | 'interesting' | 'random';

/** What runs a program; `jit` without T2, `vertical` and `lanes` with it wherever it is possible. */
export type Runner = ExecutorName | 'vertical' | 'lanes';

export interface Outcome {
  /** How many instructions ran. */
  readonly instructions: number;
  readonly fault: string | undefined;
  /** Address of the instruction that ended the run. */
  readonly last: string;
  readonly exit: number;
  readonly state: Uint32Array;
  readonly memory: Uint32Array;
}

/**
 * An emulator with one wave, its memory and code. Two of them that are made alike have everything in the same
 * places.
 */
class Machine {
  readonly emulator: AmdgpuEmulator;
  readonly wave: number;
  /** LDS, private memory and data stand together, so that one copy compares all memory that may change. */
  readonly areas: number;
  readonly data: number;
  readonly code: number;

  constructor(processor: string, executor: ExecutorName, vertical: VerticalMode) {
    this.emulator = new AmdgpuEmulator({
      processor,
      executor,
      vertical,
      compileThreshold: 0,
      memorySizeBytes: 2 ** 28,
    });
    const { memory, state } = this.emulator;
    this.wave = state.allocate(waveSizeBytes(64));
    this.areas = memory.allocate(LDS_SIZE + PRIVATE_SIZE * 64 + GUARD, { permissions: 0 });
    this.data = memory.allocate(DATA_SIZE);
    this.code = memory.allocate(CODE_SIZE, { permissions: MAY_READ });
  }
}

export class Lockstep {
  readonly #plain: Machine;
  /** What does not run on the plain one. */
  readonly #compiled: ReadonlyMap<Runner, Machine>;
  readonly #reference: ReferenceExecutor;
  readonly waveSize: 32 | 64;
  readonly #initial: Uint32Array;
  readonly #initialMemory = new Uint32Array(DATA_SIZE / 4);
  readonly #end: readonly number[];
  /**
   * Vector registers twice over: states are cuts of them, as new values for each of 30,000 dwords cost more
   * than to run an instruction.
   */
  readonly #pools = new Map<Fill, Uint32Array>();
  #mode = 0;
  #codeSize = 0;

  constructor(processor: string, waveSize: 32 | 64 = 64) {
    this.waveSize = waveSize;
    this.#end = endOfCode(processor);
    this.#initial = new Uint32Array(waveSizeBytes(waveSize) / 4);
    this.#plain = new Machine(processor, 'handlers', 'never');
    this.#compiled = new Map([
      ['jit', new Machine(processor, 'jit', 'never')],
      ['vertical', new Machine(processor, 'jit', 'always')],
      ['lanes', new Machine(processor, 'jit', 'lanes')],
    ]);
    this.#reference = new ReferenceExecutor(this.#plain.emulator, waveSize);
  }

  /** Puts code with an end into memory; returns where. Who runs it translates it. */
  place(words: readonly number[]): number {
    const at = this.#codeSize;
    this.#codeSize += (words.length + this.#end.length) * 4;
    if (this.#codeSize > CODE_SIZE) throw new Error('lockstep code memory is full');
    for (const { code, emulator } of [this.#plain, ...this.#compiled.values()]) {
      for (const [i, word] of [...words, ...this.#end].entries())
        emulator.memory.view.setUint32(code + at + i * 4, word, true);
    }
    return at;
  }

  /** Random registers and memory; the same for all executors until the next call. */
  randomize(
    random: () => number,
    fill: Fill,
    exec: bigint,
    mode: number,
    addresses: 'global' | 'lds' = 'global',
  ): void {
    const { memory } = this.#plain.emulator;
    const { data, areas } = this.#plain;
    const state = this.#initial;
    this.#mode = mode;
    const common = 1024 + ((random() % 256) & ~3);
    const value = (register: number, lane = 0): number => {
      switch (fill) {
        case 'contiguous':
        case 'broadcast': {
          const offset = fill === 'contiguous' ? lane * 4 : 0;
          if (addresses === 'lds') return common - 1024 + offset;
          return register & 1 ? memory.windowHi : data + common + offset;
        }
        case 'pointers':
          return register & 1 ? memory.windowHi : data + 1024 + ((random() % 4096) & ~3);
        case 'small':
          return random() % 256;
        case 'interesting':
          return INTERESTING[random() % INTERESTING.length]!;
        case 'random':
          return random();
      }
    };
    for (let i = 0; i < 128; i++) state[i] = value(i);
    const vectors = state.subarray(WAVE_VGPRS / 4);
    if (fill === 'contiguous' || fill === 'broadcast') this.#fillRows(vectors, value);
    else {
      const pool = this.#pools.get(fill) ?? this.#fillRows(new Uint32Array(2 * vectors.length), value);
      this.#pools.set(fill, pool);
      // From an even register on: addresses are pairs.
      const first = 2 * (random() % (vectors.length / this.waveSize / 2)) * this.waveSize;
      vectors.set(pool.subarray(first, first + vectors.length));
    }
    const view = new DataView(state.buffer);
    view.setUint32(STATE_OFFSETS.scc, random() & 1, true);
    view.setUint32(STATE_OFFSETS.m0, 0xffffffff, true);
    view.setBigUint64(STATE_OFFSETS.exec, exec, true);
    view.setUint32(WAVE_MODE, mode, true);
    view.setUint32(WAVE_LDS_BASE, areas, true);
    view.setUint32(WAVE_LDS_SIZE, LDS_SIZE, true);
    view.setUint32(WAVE_PRIVATE_BASE, areas + LDS_SIZE, true);
    view.setUint32(WAVE_PRIVATE_SIZE, PRIVATE_SIZE, true);
    for (let i = 0; i < this.#initialMemory.length; i++) this.#initialMemory[i] = random();
  }

  #fillRows(vectors: Uint32Array, value: (register: number, lane: number) => number): Uint32Array {
    for (let at = 0; at < vectors.length; at++) vectors[at] = value(Math.floor(at / this.waveSize), at % this.waveSize);
    return vectors;
  }

  /** What every run begins with, to be looked at and changed. */
  get initial(): Uint32Array {
    return this.#initial;
  }

  /** The data that every run begins with. */
  get initialMemory(): Uint32Array {
    return this.#initialMemory;
  }

  /** Puts the address of the data into two scalar registers. */
  setWindow(register: number): void {
    this.#initial[register] = this.#plain.data;
    this.#initial[register + 1] = this.#plain.emulator.memory.windowHi;
  }

  /**
   * Runs the code at `at` until it ends, in turns of `budget` instructions; a new MODE ends it, or the wave
   * goes on with it.
   */
  run(at: number, on: Runner, budget = 1000, mayChangeMode = false): Outcome {
    const machine = this.#compiled.get(on) ?? this.#plain;
    const { memory, state: own } = machine.emulator;
    const { wave, data, areas, code, emulator } = machine;
    let cache = emulator.codeCache(this.waveSize, this.#mode);
    const state = new Uint32Array(own.buffer, wave, this.#initial.length);
    const bytes = new Uint32Array(memory.buffer, data, DATA_SIZE / 4);
    const others = new Uint32Array(memory.buffer, areas, (LDS_SIZE + PRIVATE_SIZE * 64) / 4);
    state.set(this.#initial);
    bytes.set(this.#initialMemory);
    for (let i = 0; i < others.length; i++) others[i] = Math.imul(i, 0x9e3779b1);
    own.view.setUint32(wave + WAVE_JUMP_CACHE, cache.jumpCache, true);
    const executor = on === 'reference' ? this.#reference : emulator.executor(this.waveSize);
    const pc = (record: number): string => own.view.getUint32(record + RECORD_PC, true).toString(16);
    const field = (offset: number): number => own.view.getUint32(wave + offset, true);
    let fault: string | undefined;
    let instructions = 0;
    let record = cache.record(code + at);
    try {
      do {
        instructions += budget - executor.run(record, wave, budget);
        record = field(WAVE_RECORD);
        if (field(WAVE_EXIT) === EXIT_MODE && mayChangeMode) {
          cache = emulator.codeCache(this.waveSize, field(WAVE_MODE));
          own.view.setUint32(wave + WAVE_JUMP_CACHE, cache.jumpCache, true);
          record = cache.afterModeChange(record - RECORD_SIZE_BYTES, field(WAVE_MODE));
        }
      } while (field(WAVE_EXIT) === EXIT_BUDGET || (mayChangeMode && field(WAVE_EXIT) === EXIT_MODE));
    } catch (error) {
      if (!(error instanceof WaveFault)) throw error;
      fault = `${error.code} lane ${error.lane} address ${error.address.toString(16)} pc ${pc(error.record)}`;
    }
    // The record before the one to go on with is that of the last instruction.
    const exit = field(WAVE_EXIT);
    // A wave that comes back after its exit goes on at a leader.
    const resumed = RESUMING.has(exit) ? cache.behindLeader(record) : record;
    const last = fault === undefined ? pc(exit === EXIT_UNTRANSLATED ? record : resumed - RECORD_SIZE_BYTES) : '';
    const registers = state.slice();
    registers.fill(0, WAVE_TEMPORARY_ROWS / 4, WAVE_VGPRS / 4);
    for (const offset of [WAVE_EXIT, WAVE_RECORD, WAVE_JUMP_CACHE, WAVE_TURN, WAVE_BUDGET, WAVE_COMPILED, WAVE_LOOPED])
      registers[offset / 4] = 0;
    const all = new Uint32Array(bytes.length + others.length);
    all.set(bytes);
    all.set(others, bytes.length);
    return { instructions, fault, last, exit, state: registers, memory: all };
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/**
 * What differs first, in words; undefined when nothing does. After a fault only the fault itself is compared.
 */
export function difference(found: Outcome, reference: Outcome, waveSize = 64): string | undefined {
  if (found.fault !== reference.fault) return `fault '${found.fault}', reference '${reference.fault}'`;
  if (found.fault !== undefined) return undefined;
  if (found.exit !== reference.exit || found.last !== reference.last)
    return `exit ${found.exit} at ${found.last}, reference ${reference.exit} at ${reference.last}`;
  if (found.instructions !== reference.instructions)
    return `${found.instructions} instructions, reference ${reference.instructions}`;
  if (bytesOf(found.state).equals(bytesOf(reference.state)) && bytesOf(found.memory).equals(bytesOf(reference.memory)))
    return undefined;
  const hex = (value: number): string => `0x${value.toString(16)}`;
  // What is left in registers does not count when the program has ended.
  const registers = found.exit === EXIT_CODES.end ? 0 : found.state.length;
  for (let i = 0; i < registers; i++) {
    if (found.state[i] === reference.state[i]) continue;
    const vgpr = i - WAVE_VGPRS / 4;
    const where =
      vgpr >= 0
        ? `${vgpr >= 256 * waveSize ? 'a' : 'v'}${Math.floor(vgpr / waveSize) & 255} lane ${vgpr % waveSize}`
        : i < 128
          ? `s${i}`
          : `wave state +${i * 4}`;
    return `${where}: ${hex(found.state[i]!)}, reference ${hex(reference.state[i]!)}`;
  }
  for (let i = 0; i < found.memory.length; i++) {
    if (found.memory[i] === reference.memory[i]) continue;
    return `memory dword ${i}: ${hex(found.memory[i]!)}, reference ${hex(reference.memory[i]!)}`;
  }
  return undefined;
}
