/**
 * One wave with its memory on one executor, between canaries: guards behind and before its state, LDS,
 * scratch and data, filled with bytes that are others on each executor, so that what is read there shows too.
 * Machines that are made alike have everything in the same places.
 */

import { endOfCode } from '../../src/assembler/machine-code.test-support.ts';
import { AmdgpuEmulator, type AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { nodeThreads } from '../../src/devices/emulated/node-threads.ts';
import { WaveFault } from '../../src/emulator/machine/faults.ts';
import {
  DEVICE_START,
  EXIT_BUDGET,
  EXIT_CODES,
  EXIT_MODE,
  MAY_READ,
  NIBBLE_MASKS,
  PAGE_SIZE_BYTES,
  RECORD_PC,
  RECORD_SIZE_BYTES,
  UNUSED_BYTES,
  UNUSED_START,
  VALIDITY_MAP,
  WAVE_BUDGET,
  WAVE_COMPILED,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_LOOP,
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
import { MODE_REFUSED_BITS } from '../../src/isa/amdgpu/semantics/mode.ts';
import { MemoryWatch, type Span } from './memory-watch.ts';
import { Found, type Tally } from './oracle.ts';

export const EXECUTOR_OPTIONS = {
  reference: { executor: 'reference' },
  handlers: { executor: 'handlers' },
  regions: { executor: 'jit', compileThreshold: 0, vertical: 'never' },
  loops: { executor: 'jit', compileThreshold: 0, vertical: 'always' },
  lanes: { executor: 'jit', compileThreshold: 0, vertical: 'lanes' },
} as const satisfies Readonly<Record<string, Partial<AmdgpuEmulatorOptions>>>;

export const WORKER_OPTIONS: Partial<AmdgpuEmulatorOptions> = {
  ...{ executor: 'jit', compileThreshold: 0, threads: nodeThreads, workers: 3, workersAtOnce: true },
};

export type Tier = keyof typeof EXECUTOR_OPTIONS;
export const TIERS = Object.keys(EXECUTOR_OPTIONS) as Tier[]; // reason: keys of the object above

const MEMORY_SIZE_BYTES = 2 ** 25;
const CODE_SIZE = 1 << 19;
export const LDS_SIZE = 1024;
export const PRIVATE_SIZE = 512;
const GUARD = 4096;
/** As many registers as an index can be too large. */
const STATE_GUARD = 1 << 17;
/** Not whole granules, and what the GPU reaches: whole ones. */
const DATA_SIZE = 4096 + 72;
const VALID_SIZE = 4096 + 128;
/** Instructions of a run that ends, at most. */
const MAX_INSTRUCTIONS = 3000;

export interface WaveOutcome {
  /** Did not end. */
  readonly isUnfinished: boolean;
  readonly instructions: number;
  /** Why and where; without which lane and address. */
  readonly fault: string | undefined;
  readonly faultDetail: string;
  readonly exit: string;
  readonly state: Uint32Array;
  readonly memory: Buffer;
}

const CONTENTS = Buffer.from(Uint32Array.from({ length: 16384 }, (_, i) => Math.imul(i, 0x9e3779b1)).buffer);
/** Fields that say how an executor came to the state, or where its code is. */
const PRIVATE_FIELDS = [
  ...[WAVE_EXIT, WAVE_RECORD, WAVE_JUMP_CACHE, WAVE_TURN, WAVE_BUDGET],
  ...[WAVE_COMPILED, WAVE_LOOPED, WAVE_LOOP],
];

export class WaveMachine implements Disposable {
  readonly tier: Tier;
  readonly emulator: AmdgpuEmulator;
  readonly wave: number;
  readonly lds: number;
  readonly scratch: number;
  readonly data: number;
  readonly readOnly: number;
  readonly freed: number;
  readonly code: number;
  readonly #waveSize: 32 | 64;
  readonly #end: readonly number[];
  readonly #filler: number;
  readonly #filled: Buffer;
  readonly #guards: readonly Span[];
  /** Around the wave's state. */
  readonly #stateGuards: readonly Span[];
  readonly #watch: MemoryWatch;
  #codeSize = 0;

  constructor(
    processor: string,
    waveSize: 32 | 64,
    tier: Tier,
    filler: number,
    options: Partial<AmdgpuEmulatorOptions> = {},
  ) {
    this.tier = tier;
    this.#end = endOfCode(processor);
    this.#waveSize = waveSize;
    this.#filler = filler;
    this.#filled = Buffer.alloc(STATE_GUARD, filler);
    this.emulator = new AmdgpuEmulator({
      processor,
      memorySizeBytes: MEMORY_SIZE_BYTES,
      ...EXECUTOR_OPTIONS[tier],
      ...options,
    });
    const { memory, state } = this.emulator;
    this.#watch = new MemoryWatch(memory);
    const stateSize = waveSizeBytes(waveSize);
    const states = state.allocate(stateSize + 2 * STATE_GUARD);
    this.wave = states + STATE_GUARD;
    const privateSize = PRIVATE_SIZE * waveSize;
    const own = memory.allocate(3 * GUARD + LDS_SIZE + privateSize, { permissions: 0, isTransient: true });
    this.lds = own + GUARD;
    this.scratch = this.lds + LDS_SIZE + GUARD;
    this.data = memory.allocate(DATA_SIZE);
    this.freed = memory.allocate(DATA_SIZE);
    this.readOnly = memory.allocate(DATA_SIZE, { permissions: MAY_READ });
    const other = memory.allocate(DATA_SIZE, { permissions: 0 });
    this.code = memory.allocate(CODE_SIZE, { permissions: MAY_READ });
    memory.free(this.freed);
    const behind = (start: number): Span => ({
      start: start + VALID_SIZE,
      end: start + VALID_SIZE + PAGE_SIZE_BYTES - 128,
    });
    this.#guards = [
      { start: 0, end: UNUSED_START },
      { start: UNUSED_START + UNUSED_BYTES, end: DEVICE_START },
      { start: own, end: this.lds },
      { start: this.lds + LDS_SIZE, end: this.scratch },
      { start: this.scratch + privateSize, end: this.scratch + privateSize + GUARD },
      behind(this.data),
      { start: this.freed, end: this.freed + DATA_SIZE },
      behind(this.readOnly),
      { start: other, end: other + DATA_SIZE },
    ];
    this.#stateGuards = [
      { start: states, end: this.wave },
      { start: this.wave + stateSize, end: this.wave + stateSize + STATE_GUARD },
    ];
    for (const { start, end } of this.#guards) memory.bytes.fill(filler, start, end);
    for (const { start, end } of this.#stateGuards) state.bytes.fill(filler, start, end);
    memory.bytes.set(CONTENTS.subarray(0, DATA_SIZE), this.readOnly);
    this.#watch.accept();
  }

  /** Offsets that an address may be at the edge of. */
  get edges(): number[] {
    const { data, readOnly, wave, lds, scratch, code } = this;
    const ends = [data, readOnly, this.freed].flatMap((start) => [start, start + VALID_SIZE, start + DATA_SIZE]);
    const limits = [0, VALIDITY_MAP, NIBBLE_MASKS, 2 ** 31, 2 ** 32 - 1, this.emulator.memory.buffer.byteLength];
    return [...ends, wave, lds, scratch, code, code + CODE_SIZE, ...limits];
  }

  get dataEnd(): number {
    return this.data + VALID_SIZE;
  }

  /** Puts code with an end into memory. */
  place(words: readonly number[]): number {
    const at = this.code + this.#codeSize;
    const all = Uint32Array.from([...words, ...this.#end]);
    this.#codeSize += all.byteLength;
    if (this.#codeSize > CODE_SIZE) throw new Error('the code memory is full');
    const bytes = new Uint8Array(all.buffer);
    this.emulator.memory.bytes.set(bytes, at);
    this.#watch.wrote(at, bytes.length);
    return at;
  }

  #bytes({ start, end }: Span): Buffer {
    return Buffer.from(this.emulator.memory.buffer, start, end - start);
  }

  /** What the wave may store to. */
  get #writable(): Span[] {
    return [
      { start: this.lds, end: this.lds + LDS_SIZE },
      { start: this.scratch, end: this.scratch + PRIVATE_SIZE * this.#waveSize },
      { start: this.data, end: this.data + VALID_SIZE },
    ];
  }

  /** Runs the code from these registers to its end, its fault, or a few thousand instructions. */
  run(code: number, registers: Uint32Array, mode: number): WaveOutcome {
    const { emulator, wave } = this;
    const { memory, state: own } = emulator;
    for (const { start, end } of this.#writable) memory.bytes.set(CONTENTS.subarray(0, end - start), start);
    own.words.set(registers, wave >> 2);
    own.bytes.fill(this.#filler, wave + WAVE_TEMPORARY_ROWS, wave + WAVE_VGPRS);
    const set = (field: number, value: number): void => own.view.setUint32(wave + field, value, true);
    const get = (field: number): number => own.view.getUint32(wave + field, true);
    let cache = emulator.codeCache(this.#waveSize, mode);
    set(WAVE_MODE, mode);
    set(WAVE_LDS_BASE, this.lds);
    set(WAVE_LDS_SIZE, LDS_SIZE);
    set(WAVE_PRIVATE_BASE, this.scratch);
    set(WAVE_PRIVATE_SIZE, PRIVATE_SIZE);
    set(WAVE_JUMP_CACHE, cache.jumpCache);
    const pc = (record: number): string => (own.view.getUint32(record + RECORD_PC, true) - this.code).toString(16);
    let record = cache.record(code);
    let instructions = 0;
    let [fault, faultDetail] = [undefined as string | undefined, ''];
    let [goesOn, isUnfinished] = [true, false];
    try {
      while (goesOn) {
        instructions += 1000 - emulator.executor(this.#waveSize).run(record, wave, 1000);
        record = get(WAVE_RECORD);
        const exit = get(WAVE_EXIT);
        isUnfinished = exit === EXIT_BUDGET && instructions > MAX_INSTRUCTIONS;
        goesOn = exit === EXIT_BUDGET && !isUnfinished;
        if (exit !== EXIT_MODE || get(WAVE_MODE) & MODE_REFUSED_BITS) continue;
        cache = emulator.codeCache(this.#waveSize, get(WAVE_MODE));
        set(WAVE_JUMP_CACHE, cache.jumpCache);
        record = cache.afterModeChange(record - RECORD_SIZE_BYTES, get(WAVE_MODE));
        goesOn = true;
      }
    } catch (error) {
      if (!(error instanceof WaveFault)) throw error;
      fault = `fault ${error.code} at ${pc(error.record)}`;
      faultDetail = `lane ${error.lane}, address 0x${error.address.toString(16)}`;
    }
    const number = get(WAVE_EXIT);
    const name = Object.entries(EXIT_CODES).find(([, code]) => code === number)?.[0] ?? `exit ${number}`;
    for (const field of PRIVATE_FIELDS) set(field, 0);
    const state = new Uint32Array(own.buffer, wave, waveSizeBytes(this.#waveSize) / 4).slice();
    state.fill(0, WAVE_TEMPORARY_ROWS / 4, WAVE_VGPRS / 4);
    const bytes = Buffer.concat(this.#writable.map((span) => this.#bytes(span)));
    return { isUnfinished, instructions, fault, faultDetail, exit: name, state, memory: bytes };
  }

  /** The canaries live. Throws `Found`. */
  checkGuards(): void {
    this.#checkFilled(this.#guards, this.emulator.memory);
    this.#checkFilled(this.#stateGuards, this.emulator.state);
  }

  #checkFilled(guards: readonly Span[], { buffer }: { readonly buffer: SharedArrayBuffer }): void {
    for (const span of guards) {
      const bytes = Buffer.from(buffer, span.start, span.end - span.start);
      if (bytes.equals(this.#filled.subarray(0, bytes.length))) continue;
      const at = bytes.findIndex((byte) => byte !== this.#filler);
      const place = `0x${(span.start + at).toString(16)}, ${span.start + at - this.wave} from the wave's state`;
      throw new Found('escape', `${this.tier} changed a byte at ${place}`);
    }
  }

  /** All of memory is as it was at the last call, but for what a run may change. Throws `Found`. */
  checkAll(tally: Tally): void {
    this.#watch.check('run', tally);
    this.#watch.accept();
  }

  [Symbol.dispose](): void {
    this.emulator.close();
  }
}
