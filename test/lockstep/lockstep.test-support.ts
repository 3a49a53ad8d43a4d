/** Runs one instruction on the handlers and on the reference executor from the same state, and compares everything they change. */
import { Emulator } from '../../src/emulator/emulator.ts';
import { WaveFault } from '../../src/emulator/faults.ts';
import {
  PAGE_READ,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_TEMPORARY_ROWS,
  WAVE_VGPRS,
  waveSizeBytes,
} from '../../src/emulator/layout.ts';
import { ReferenceExecutor } from '../../src/emulator/reference/reference-executor.ts';

export const LDS_SIZE = 1024;
export const PRIVATE_SIZE = 512;
const DATA_SIZE = 8192;
const GUARD = 4096;

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

/** `contiguous` and `broadcast`: registers that are addresses of neighbouring dwords, or of one, in global memory or LDS. */
export type Fill = 'pointers' | 'contiguous' | 'broadcast' | 'small' | 'interesting' | 'random';

export interface Outcome {
  readonly fault: string | undefined;
  readonly next: number;
  readonly exit: number;
  readonly state: Uint32Array;
  readonly memory: Uint32Array;
}

export class Lockstep {
  readonly emulator: Emulator;
  readonly #reference: ReferenceExecutor;
  readonly #wave: number;
  readonly #areas: number;
  readonly #data: number;
  readonly #initial: Uint32Array;
  readonly #initialMemory: Uint32Array;
  #code: number;
  readonly #codeEnd: number;

  constructor(processor: string) {
    this.emulator = new Emulator({ processor, memorySizeBytes: 2 ** 28 });
    this.#reference = new ReferenceExecutor(this.emulator);
    const { memory } = this.emulator;
    const stateSize = waveSizeBytes(64);
    this.#wave = memory.allocate(stateSize, { permissions: 0 });
    // LDS, private memory and data stand together, so that one copy compares all memory that may change.
    this.#areas = memory.allocate(LDS_SIZE + PRIVATE_SIZE * 64 + GUARD, { permissions: 0 });
    this.#data = memory.allocate(DATA_SIZE);
    const codeSize = 1 << 22;
    this.#code = memory.allocate(codeSize, { permissions: PAGE_READ });
    this.#codeEnd = this.#code + codeSize;
    this.#initial = new Uint32Array(stateSize / 4);
    this.#initialMemory = new Uint32Array(DATA_SIZE / 4);
  }

  /** Puts the instruction into code memory, followed by s_endpgm; returns its record. */
  place(words: readonly number[], mode: number): number {
    const { memory } = this.emulator;
    const at = this.#code;
    this.#code += (words.length + 1) * 4;
    if (this.#code > this.#codeEnd) throw new Error('lockstep code memory is full');
    for (const [i, word] of [...words, 0xbf810000].entries()) memory.view.setUint32(at + i * 4, word, true);
    return this.emulator.codeCache(64, mode).record(at);
  }

  /** Random registers and memory; the same for both executors until the next call. */
  randomize(
    random: () => number,
    fill: Fill,
    exec: bigint,
    mode: number,
    addresses: 'global' | 'lds' = 'global',
  ): void {
    const { memory } = this.emulator;
    const state = this.#initial;
    const common = 1024 + ((random() % 256) & ~3);
    const value = (register: number, lane = 0): number => {
      switch (fill) {
        case 'contiguous':
        case 'broadcast': {
          const offset = fill === 'contiguous' ? lane * 4 : 0;
          if (addresses === 'lds') return common - 1024 + offset;
          return register & 1 ? memory.windowHi : this.#data + common + offset;
        }
        case 'pointers':
          return register & 1 ? memory.windowHi : this.#data + 1024 + ((random() % 4096) & ~3);
        case 'small':
          return random() % 256;
        case 'interesting':
          return INTERESTING[random() % INTERESTING.length]!;
        case 'random':
          return random();
      }
    };
    for (let i = 0; i < 128; i++) state[i] = value(i);
    for (let register = 0; register < 512; register++) {
      for (let lane = 0; lane < 64; lane++) state[WAVE_VGPRS / 4 + register * 64 + lane] = value(register, lane);
    }
    const view = new DataView(state.buffer);
    view.setUint32(512, random() & 1, true);
    view.setUint32(124 * 4, 0xffffffff, true);
    view.setBigUint64(126 * 4, exec, true);
    view.setUint32(WAVE_MODE, mode, true);
    view.setUint32(WAVE_LDS_BASE, this.#areas, true);
    view.setUint32(WAVE_LDS_SIZE, LDS_SIZE, true);
    view.setUint32(WAVE_PRIVATE_BASE, this.#areas + LDS_SIZE, true);
    view.setUint32(WAVE_PRIVATE_SIZE, PRIVATE_SIZE, true);
    view.setUint32(WAVE_JUMP_CACHE, this.emulator.codeCache(64, mode).jumpCache, true);
    for (let i = 0; i < this.#initialMemory.length; i++) this.#initialMemory[i] = random();
  }

  run(record: number, on: 'handlers' | 'reference'): Outcome {
    const { memory } = this.emulator;
    const wave = this.#wave >> 2;
    const state = new Uint32Array(memory.buffer, wave * 4, this.#initial.length);
    const data = new Uint32Array(memory.buffer, this.#data, DATA_SIZE / 4);
    const areas = new Uint32Array(memory.buffer, this.#areas, (LDS_SIZE + PRIVATE_SIZE * 64) / 4);
    state.set(this.#initial);
    data.set(this.#initialMemory);
    for (let i = 0; i < areas.length; i++) areas[i] = Math.imul(i, 0x9e3779b1);
    let fault: string | undefined;
    try {
      const executor = on === 'handlers' ? this.emulator.executor : this.#reference;
      executor.run(record, this.#wave, 1);
    } catch (error) {
      if (!(error instanceof WaveFault)) throw error;
      fault = `${error.code} lane ${error.lane} address ${error.address.toString(16)} record ${error.record}`;
    }
    const next = fault === undefined ? memory.view.getUint32(this.#wave + 532, true) : 0;
    const exit = memory.view.getUint32(this.#wave + WAVE_EXIT, true);
    const registers = state.slice();
    registers.fill(0, WAVE_TEMPORARY_ROWS / 4, WAVE_VGPRS / 4);
    registers.fill(0, 528 / 4, 536 / 4);
    const all = new Uint32Array(data.length + areas.length);
    all.set(data);
    all.set(areas, data.length);
    return { fault, next, exit, state: registers, memory: all };
  }
}

/** What differs first, in words; undefined when nothing does. After a fault only the fault itself is compared. */
export function difference(handlers: Outcome, reference: Outcome): string | undefined {
  if (handlers.fault !== reference.fault) return `fault '${handlers.fault}', reference '${reference.fault}'`;
  if (handlers.fault !== undefined) return undefined;
  if (handlers.next !== reference.next) return `next record ${handlers.next}, reference ${reference.next}`;
  const hex = (value: number): string => `0x${value.toString(16)}`;
  for (let i = 0; i < handlers.state.length; i++) {
    if (handlers.state[i] === reference.state[i]) continue;
    const vgpr = i - WAVE_VGPRS / 4;
    const where =
      vgpr >= 0
        ? `${vgpr >= 16384 ? 'a' : 'v'}${(vgpr >> 6) & 255} lane ${vgpr & 63}`
        : i < 128
          ? `s${i}`
          : `wave state +${i * 4}`;
    return `${where}: ${hex(handlers.state[i]!)}, reference ${hex(reference.state[i]!)}`;
  }
  for (let i = 0; i < handlers.memory.length; i++) {
    if (handlers.memory[i] === reference.memory[i]) continue;
    return `memory dword ${i}: ${hex(handlers.memory[i]!)}, reference ${hex(reference.memory[i]!)}`;
  }
  return undefined;
}
