/** Runs a recorded state on an executor of ours. */
import { Emulator, type ExecutorName } from '../../src/emulator/emulator.ts';
import { PAGE_READ, rowSizeBytes, WAVE_JUMP_CACHE, WAVE_LDS_BASE, WAVE_LDS_SIZE, WAVE_MODE, WAVE_SCC, WAVE_VGPRS, waveSizeBytes } from '../../src/emulator/layout.ts';
import { dwordsOfHex, hexOfDwords, type Recording, type Registers, type State } from './recorded.ts';

const LDS_SIZE_BYTES = 65536;
const CODE_SIZE_BYTES = 1 << 20;
/** Scalar registers that have names. */
const NAMED: Readonly<Record<string, number>> = { vcc: 106 * 4, exec: 126 * 4, m0: 124 * 4, scc: WAVE_SCC };

export class StateRunner {
  readonly #emulator: Emulator;
  readonly #waveSize: 32 | 64;
  readonly #wave: number;
  readonly #lds: number;
  readonly #code: number;
  #next = 0;

  constructor(processor: string, executor: ExecutorName, waveSize: 32 | 64) {
    this.#emulator = new Emulator({ processor, executor, memorySizeBytes: 2 ** 28 });
    this.#waveSize = waveSize;
    const { memory } = this.#emulator;
    this.#wave = memory.allocate(waveSizeBytes(waveSize), { permissions: 0 });
    this.#lds = memory.allocate(LDS_SIZE_BYTES, { permissions: 0 });
    this.#code = memory.allocate(CODE_SIZE_BYTES, { permissions: PAGE_READ });
    // No instruction on any target, so that decoding ends behind the recorded one.
    memory.bytes.fill(0xff, this.#code, this.#code + CODE_SIZE_BYTES);
  }

  /** What the instruction makes of `before`: the registers and memory that `after` names. */
  run(recording: Recording): State {
    const { before, after, columns } = recording;
    const record = this.#place(recording);
    const count = Math.max(...Object.entries(before.registers).map(([name, text]) => (name === 'exec' ? 0 : text.length / 8)));
    const results: Record<string, number[]> = {};
    for (let column = 0; column < (columns === 'waves' ? count : 1); column++) {
      this.#prepare(recording, column);
      this.#emulator.executor(this.#waveSize).run(record, this.#wave, 1);
      for (const [name, text] of Object.entries(after.registers)) {
        const length = columns === 'lanes' || name === 'exec' ? Math.min(text.length / 8, name === 'exec' ? 2 : 64) : 1;
        (results[name] ??= []).push(...this.#read(name, length));
      }
    }
    const registers: Registers = Object.fromEntries(Object.entries(results).map(([name, values]) => [name, hexOfDwords(values)]));
    return { registers };
  }

  #place({ code, mode }: Recording): number {
    const { view } = this.#emulator.memory;
    const at = this.#code + this.#next;
    const bytes = Buffer.from(code, 'hex');
    for (let i = 0; i < bytes.length; i++) view.setUint8(at + i, bytes[i]!);
    this.#next += bytes.length + 4;
    return this.#emulator.codeCache(this.#waveSize, mode).record(at);
  }

  #offset(name: string): number {
    if (NAMED[name] !== undefined) return NAMED[name];
    const number = Number(name.slice(1));
    return name.startsWith('v') ? WAVE_VGPRS + number * rowSizeBytes(this.#waveSize) : number * 4;
  }

  #read(name: string, count: number): number[] {
    const { view } = this.#emulator.memory;
    const at = this.#wave + this.#offset(name);
    return Array.from({ length: count }, (_, i) => view.getUint32(at + i * 4, true));
  }

  #prepare({ before, mode }: Recording, column: number): void {
    const { memory } = this.#emulator;
    const { view } = memory;
    memory.bytes.fill(0, this.#wave, this.#wave + waveSizeBytes(this.#waveSize));
    for (const [name, text] of Object.entries(before.registers)) {
      const dwords = dwordsOfHex(text);
      const whole = name.startsWith('v') || name === 'exec';
      const values = whole ? dwords : [dwords[Math.min(column, dwords.length - 1)]!];
      for (const [i, value] of values.entries()) view.setUint32(this.#wave + this.#offset(name) + i * 4, value, true);
    }
    view.setUint32(this.#wave + WAVE_MODE, mode, true);
    view.setUint32(this.#wave + WAVE_LDS_BASE, this.#lds, true);
    view.setUint32(this.#wave + WAVE_LDS_SIZE, LDS_SIZE_BYTES, true);
    view.setUint32(this.#wave + WAVE_JUMP_CACHE, this.#emulator.codeCache(this.#waveSize, mode).jumpCache, true);
  }
}
