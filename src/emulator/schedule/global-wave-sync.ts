/**
 * Global wave sync: barriers of waves of all workgroups, at resources that all threads see. A word of 64 bits
 * for each: how often all that were waited for have come, above how many have come since.
 */
import type { EmulatorCore } from '../code/emulator-core.ts';
import type { WaveState } from '../machine/group-layout.ts';
import {
  GLOBAL_WAVE_SYNC,
  GLOBAL_WAVE_SYNC_COUNT,
  RECORD_SIZE_BYTES,
  WAVE_RECORD,
  WAVE_REQUEST,
} from '../machine/layout.ts';
import type { LinearMemory } from '../machine/linear-memory.ts';
import type { DetailedCounts } from './detailed-counts.ts';

const ROUND_SHIFT = 32n;
const ARRIVED_MASK = 0xffff_ffffn;

/**
 * A wave writes what it asks for into WAVE_REQUEST (AMDGPU's rows do in isa/amdgpu/rows/memory/ds.ts): the
 * resource in the high bits, and in the low ones how many waves meet there besides this one.
 */
const RESOURCE_SHIFT = 24;
const COUNT_MASK = 0xff_ffff;
/** Stands there where EXEC is 0: the wave asks for nothing. */
const NO_REQUEST = -1;

const syncRequest = (request: number): { readonly resource: number; readonly count: number } => ({
  resource: request >>> RESOURCE_SHIFT,
  count: (request & COUNT_MASK) + 1,
});

export class GlobalWaveSync {
  readonly #words: BigUint64Array<SharedArrayBuffer>;

  constructor({ buffer }: Pick<LinearMemory, 'buffer'>) {
    this.#words = new BigUint64Array(buffer, GLOBAL_WAVE_SYNC, GLOBAL_WAVE_SYNC_COUNT);
  }

  /** A wave comes to a barrier of `count` waves: the round that it waits for the end of. */
  arrive(resource: number, count: number): bigint {
    for (;;) {
      const word = Atomics.load(this.#words, resource);
      const isLast = (word & ARRIVED_MASK) + 1n >= BigInt(count);
      const next = isLast ? ((word >> ROUND_SHIFT) + 1n) << ROUND_SHIFT : word + 1n;
      if (Atomics.compareExchange(this.#words, resource, word, BigInt.asUintN(64, next)) === word) {
        return word >> ROUND_SHIFT;
      }
    }
  }

  hasEnded(resource: number, round: bigint): boolean {
    return Atomics.load(this.#words, resource) >> ROUND_SHIFT !== round;
  }

  /** Nobody has come. */
  reset(resource: number): void {
    Atomics.and(this.#words, resource, ~ARRIVED_MASK & ((1n << 64n) - 1n));
  }

  resetAll(): void {
    for (let resource = 0; resource < GLOBAL_WAVE_SYNC_COUNT; resource++) this.reset(resource);
  }
}

/** What waves ask for that one thread runs. */
export class GlobalSyncTaker {
  readonly #core: EmulatorCore;
  readonly #detailed: DetailedCounts;
  /** Which round a wave waits for the end of, by the address of the wave. */
  readonly #rounds = new Map<number, bigint>();
  /** Made for the first wave that asks for it. */
  #barriers: GlobalWaveSync | undefined;

  constructor(core: EmulatorCore, detailed: DetailedCounts) {
    this.#core = core;
    this.#detailed = detailed;
  }

  /** A wave says how many come. */
  init(wave: number): WaveState {
    const request = this.#requestOf(wave);
    if (request !== NO_REQUEST) this.#all.reset(syncRequest(request).resource);
    return 'ready';
  }

  /** A wave that has to wait comes back to its instruction; `record`: the following one. */
  arrive(wave: number, record: number): WaveState {
    const request = this.#requestOf(wave);
    if (request === NO_REQUEST) return 'ready';
    const { resource, count } = syncRequest(request);
    const round = this.#rounds.get(wave) ?? this.#all.arrive(resource, count);
    if (this.#all.hasEnded(resource, round)) {
      this.#rounds.delete(wave);
      return 'ready';
    }
    this.#rounds.set(wave, round);
    this.#detailed.takeBack(record - RECORD_SIZE_BYTES, wave);
    this.#core.state.view.setUint32(wave + WAVE_RECORD, record - RECORD_SIZE_BYTES, true);
    return 'sleeping';
  }

  get #all(): GlobalWaveSync {
    this.#barriers ??= new GlobalWaveSync(this.#core.state);
    return this.#barriers;
  }

  #requestOf(wave: number): number {
    return this.#core.state.view.getInt32(wave + WAVE_REQUEST, true);
  }
}
