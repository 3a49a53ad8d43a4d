/** Runs recorded states on an executor of ours. */
import { AmdgpuEmulator } from '../../src/devices/emulated/amdgpu/emulator.ts';
import type { ExecutorName } from '../../src/emulator/emulator.ts';
import {
  EXIT_BUDGET,
  MAY_READ,
  rowSizeBytes,
  STATE_OFFSETS,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RECORD,
  WAVE_VGPRS,
  waveAgprs,
  waveSizeBytes,
} from '../../src/emulator/machine/layout.ts';
import { dwordsOfHex, hexOfDwords, type Recording, type Registers, type State } from './recorded.ts';

const LDS_SIZE_BYTES = 65536;
const PRIVATE_SIZE_BYTES = 256;
const MEMORY_SIZE_BYTES = 4096;
const CODE_SIZE_BYTES = 1 << 20;
/** Scalar registers that have names. */
const NAMED: Readonly<Record<string, number>> = STATE_OFFSETS;
/** No instruction on any target: behind s_endpgm compiled code would leave out what nobody reads. */
const END = 0xffffffff;

export class StateRunner {
  readonly #emulator: AmdgpuEmulator;
  readonly #waveSize: 32 | 64;
  readonly #wave: number;
  readonly #lds: number;
  readonly #private: number;
  readonly #memory: number;
  readonly #code: number;
  #next = 0;
  /** Offset of code that is there already. */
  readonly #placed = new Map<string, number>();

  constructor(processor: string, executor: ExecutorName, waveSize: 32 | 64) {
    this.#emulator = new AmdgpuEmulator({ processor, executor, compileThreshold: 0, memorySizeBytes: 2 ** 28 });
    this.#waveSize = waveSize;
    const { memory, state } = this.#emulator;
    this.#wave = state.allocate(waveSizeBytes(waveSize));
    this.#lds = memory.allocate(LDS_SIZE_BYTES, { permissions: 0 });
    this.#private = memory.allocate(PRIVATE_SIZE_BYTES * waveSize, { permissions: 0 });
    this.#memory = memory.allocate(MEMORY_SIZE_BYTES);
    this.#code = memory.allocate(CODE_SIZE_BYTES, { permissions: MAY_READ });
  }

  /** What the instruction makes of `before`: the registers and memory that `after` names. */
  run(recording: Recording): State {
    const { before, after, columns } = recording;
    const record = this.#place(recording);
    const isWaves = columns === 'waves';
    const runs = isWaves ? Math.max(...Object.values(before.registers).map((text) => text.length / 8)) : 1;
    const results: Record<string, number[]> = {};
    for (let column = 0; column < runs; column++) {
      this.#prepare(recording, column);
      this.#execute(record);
      for (const [name, text] of Object.entries(after.registers)) {
        const count = name === 'exec' ? 2 : isWaves ? 1 : text.length / 8;
        results[name] = [...(results[name] ?? []), ...this.#read(name, count)];
      }
    }
    const registers: Registers = Object.fromEntries(
      Object.entries(results).map(([name, values]) => [
        name,
        hexOfDwords(values).slice(0, after.registers[name]!.length),
      ]),
    );
    return {
      registers,
      ...(before.lds !== undefined && { lds: this.#bytes(this.#lds, before.lds.length / 2) }),
      ...(before.memory !== undefined && { memory: this.#bytes(this.#memory, before.memory.length / 2) }),
    };
  }

  #bytes(at: number, count: number): string {
    return Buffer.from(this.#emulator.memory.bytes.slice(at, at + count)).toString('hex');
  }

  #execute(record: number): void {
    const { view } = this.#emulator.state;
    let next = record;
    do {
      this.#emulator.executor(this.#waveSize).run(next, this.#wave, 1000);
      next = view.getUint32(this.#wave + WAVE_RECORD, true);
    } while (view.getUint32(this.#wave + WAVE_EXIT, true) === EXIT_BUDGET);
  }

  #place({ code, mode }: Recording): number {
    const { view, bytes } = this.#emulator.memory;
    const at = this.#placed.get(code) ?? this.#code + this.#next;
    if (!this.#placed.has(code)) {
      const encoded = Buffer.from(code, 'hex');
      bytes.set(encoded, at);
      for (const end of [0, 4]) view.setUint32(at + encoded.length + end, END, true);
      this.#next += encoded.length + 8;
      this.#placed.set(code, at);
    }
    return this.#emulator.codeCache(this.#waveSize, mode).record(at);
  }

  /** The memory that holds a register: `p0` and so on are rows of private memory. */
  #viewOf(name: string): DataView {
    const { state, memory } = this.#emulator;
    return (name.startsWith('p') ? memory : state).view;
  }

  /** Of the dwords of a register, one for each lane if it has lanes. */
  #address(name: string): number {
    if (NAMED[name] !== undefined) return this.#wave + NAMED[name];
    const number = Number(name.slice(1));
    const row = number * rowSizeBytes(this.#waveSize);
    if (name.startsWith('p')) return this.#private + row;
    if (name.startsWith('a')) return this.#wave + waveAgprs(this.#waveSize) + row;
    return this.#wave + (name.startsWith('v') ? WAVE_VGPRS + row : number * 4);
  }

  #read(name: string, count: number): number[] {
    const view = this.#viewOf(name);
    const at = this.#address(name);
    return Array.from({ length: count }, (_, i) => view.getUint32(at + i * 4, true));
  }

  #prepare({ before, mode, columns, pointers = [] }: Recording, column: number): void {
    const { memory, state } = this.#emulator;
    const { bytes } = memory;
    state.bytes.fill(0, this.#wave, this.#wave + waveSizeBytes(this.#waveSize));
    bytes.fill(0, this.#private, this.#private + PRIVATE_SIZE_BYTES * this.#waveSize);
    const set = (offset: number, value: number): void => state.view.setUint32(this.#wave + offset, value, true);
    set(WAVE_MODE, mode);
    set(WAVE_LDS_BASE, this.#lds);
    set(WAVE_LDS_SIZE, LDS_SIZE_BYTES);
    set(WAVE_PRIVATE_BASE, this.#private);
    set(WAVE_PRIVATE_SIZE, PRIVATE_SIZE_BYTES);
    set(WAVE_JUMP_CACHE, this.#emulator.codeCache(this.#waveSize, mode).jumpCache);
    const named = (name: string): number[] => {
      const dwords = dwordsOfHex(before.registers[name]!);
      if (name === 'exec' || columns === 'lanes') return dwords;
      // Vectors of a recording with runs have the same lanes in all of them.
      return /^[avp]/.test(name) ? dwords : [dwords[Math.min(column, dwords.length - 1)]!];
    };
    for (const name of Object.keys(before.registers)) {
      const at = this.#address(name);
      for (const [i, value] of named(name).entries()) this.#viewOf(name).setUint32(at + i * 4, value, true);
    }
    for (const name of pointers) this.#addAddress(name, named(name).length);
    for (const [at, text] of [
      [this.#lds, before.lds],
      [this.#memory, before.memory],
    ] as const) {
      if (text !== undefined) bytes.set(Buffer.from(text, 'hex'), at);
    }
  }

  #addAddress(name: string, count: number): void {
    const { memory, state } = this.#emulator;
    const high = `${name[0]}${Number(name.slice(1)) + 1}`;
    const base = memory.address(this.#memory);
    for (let i = 0; i < count; i++) {
      const [lowAt, highAt] = [this.#address(name) + i * 4, this.#address(high) + i * 4];
      const pair = BigInt(state.view.getUint32(lowAt, true)) | (BigInt(state.view.getUint32(highAt, true)) << 32n);
      state.view.setUint32(lowAt, Number((pair + base) & 0xffffffffn), true);
      state.view.setUint32(highAt, Number(((pair + base) >> 32n) & 0xffffffffn), true);
    }
  }
}
