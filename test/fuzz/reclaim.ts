/**
 * Memory that is freed and used again while kernels store to it and run from it: no store arrives in what was
 * allocated there since, and no code runs that was there before.
 */

import type { Device } from '../../src/device/device.ts';
import { guestAddress } from '../../src/device/guest-address.ts';
import type { Dispatch } from '../../src/device/launch.ts';
import type { AmdgpuEmulatorOptions } from '../../src/devices/emulated/amdgpu/emulator.ts';
import { createEmulatedDevice } from '../../src/devices/emulated/index.ts';
import { descriptorBytes, Emitter, LITERAL } from './emitter.ts';
import { Found, type Oracle, oracleMain, type Subject, type Tally } from './oracle.ts';
import type { Random } from './random.ts';
import { EXECUTOR_OPTIONS, WORKER_OPTIONS } from './wave-machine.ts';

const MEMORY_SIZE_BYTES = 2 ** 28;
const CODE_SIZE = 4096;
/** Below and above what stays in quarantine. */
const SIZES = [4096, 65536, 2 ** 20, 65 * 2 ** 20, 80 * 2 ** 20];
const FLUSH_BYTES = 66 * 2 ** 20;
/** Bytes of the region that kernels store to, and that the sentinel fills. */
const STORED_BYTES = 65536;
const SENTINEL = 0x5e;
const TURNS = 2_000_000;
const WORKGROUPS = 64;
const STORES = ['global_store_dword', 'global_store_dwordx4', 'global_atomic_add'] as const;

class Rig implements Disposable {
  readonly name: string;
  readonly device: Device;
  readonly #emitter: Emitter;
  readonly #isWave32: boolean;
  readonly #descriptor: bigint;
  readonly #arguments: bigint;
  readonly #codes: readonly bigint[];
  readonly #result: bigint;

  constructor(name: string, processor: string, options: Partial<AmdgpuEmulatorOptions>) {
    this.name = name;
    this.device = createEmulatedDevice({ processor, memorySizeBytes: MEMORY_SIZE_BYTES, ...options });
    const { memory } = this.device;
    this.#emitter = new Emitter(processor);
    this.#isWave32 = !/gfx9/.test(processor);
    this.#descriptor = memory.allocate(64);
    this.#arguments = memory.allocate(64);
    this.#result = memory.allocate(64);
    this.#codes = STORES.map((store) => {
      const code = memory.allocate(CODE_SIZE, { readOnly: true });
      this.#write(code, this.#emitter.accesses('global', store));
      return code;
    });
  }

  #write(address: bigint, words: readonly number[]): void {
    const bytes = new Uint8Array(Uint32Array.from(words).buffer);
    this.device.memory.view(address, bytes.length).set(bytes);
    this.device.publishCode({ address, sizeBytes: bytes.length, name: 'code', symbols: [] });
  }

  #dispatch(entry: bigint, workgroups: number): Dispatch {
    const { memory } = this.device;
    const fields = { entryOffset: entry - this.#descriptor, isWave32: this.#isWave32 };
    memory.view(this.#descriptor, 64).set(descriptorBytes(fields));
    return this.device.dispatch({
      workgroupSize: [64, 1, 1],
      gridSize: [64 * workgroups, 1, 1],
      entry: guestAddress(this.#descriptor),
      argumentsAddress: guestAddress(this.#arguments),
      resources: { privateSizeBytes: 0, groupSizeBytes: 0 },
    });
  }

  #setArguments(base: number, stride: number, turns: number, step: number, pointer: bigint): void {
    const bytes = this.device.memory.view(this.#arguments, 24);
    const view = new DataView(bytes.buffer, bytes.byteOffset, 24);
    for (const [i, value] of [base, stride, turns, step].entries()) view.setUint32(4 * i, value, true);
    view.setBigUint64(16, pointer, true);
  }

  /** Kernels store to a region; it is freed and allocated again: the sentinels live. */
  stores(random: Random, tally: Tally): void {
    const { memory } = this.device;
    const size = random.pick(SIZES);
    const region = memory.allocate(size, { label: 'stored to' });
    const stored = Math.min(size, STORED_BYTES);
    this.#setArguments(0, random.pick([16, 64, 0]) % (stored / 64), TURNS, random.pick([0, 0, 4096]) % stored, region);
    const which = random.below(STORES.length);
    tally.doing = `${STORES[which]} on ${this.name} to ${size} bytes that are freed`;
    const dispatch = this.#dispatch(this.#codes[which]!, WORKGROUPS);
    this.#advance(random.between(2, 6));
    spin(random.below(4));
    memory.free(region);
    // Kernels may not store there: what was checked after the free is refused, only what was checked before
    // it can arrive.
    const since = { label: 'allocated since', readOnly: true };
    const others = [memory.allocate(size, since)];
    if (random.chance(50)) {
      // What is in quarantine leaves it when so much was freed after it.
      memory.free(memory.allocate(FLUSH_BYTES));
      others.push(memory.allocate(size, since));
    }
    if (others.includes(region)) tally.event('regions used again');
    for (const other of others) memory.view(other, stored).fill(SENTINEL);
    const check = (when: string): void => {
      for (const other of others) {
        const at = memory.view(other, stored).findIndex((byte) => byte !== SENTINEL);
        if (at >= 0) throw new Found('escape', `a store arrived at byte ${at} of what was allocated since, ${when}`);
      }
    };
    spin(random.between(1, 8));
    check('before the main thread looked again');
    this.#advance(10);
    check('after it');
    dispatch.cancel();
    while (this.device.advance(1) !== 'idle');
    check('after the end');
    this.#count(dispatch, tally);
    for (const other of others) memory.free(other);
  }

  #advance(ms: number): void {
    const endMs = performance.now() + ms;
    while (performance.now() < endMs && this.device.advance(1) !== 'idle');
  }

  #count(dispatch: Dispatch, tally: Tally): void {
    tally.executions++;
    tally.instructions += dispatch.statistics.instructions;
    if (dispatch.fault) tally.fault(dispatch.fault.kind);
  }

  /** Code runs, its memory is freed, other code is written where it was: that runs. */
  code(random: Random, tally: Tally): void {
    const { memory } = this.device;
    const isWithdrawn = random.chance(50);
    const size = random.pick([256, 4096, 65536]);
    tally.doing = `code on ${this.name} in ${size} bytes that are used again, ${isWithdrawn ? '' : 'not '}withdrawn`;
    const first = memory.allocate(size);
    this.#expect(first, 1, random, tally);
    if (isWithdrawn) this.device.withdrawCode(first);
    memory.free(first);
    memory.free(memory.allocate(FLUSH_BYTES));
    const others: bigint[] = [];
    for (let tries = 0; tries < 64 && others.at(-1) !== first; tries++) others.push(memory.allocate(size));
    if (others.at(-1) === first) {
      tally.event('code replaced');
      this.#expect(first, 2, random, tally);
    }
    for (const other of others) {
      this.device.withdrawCode(other);
      memory.free(other);
    }
  }

  /** Code that stores this number does. */
  #expect(code: bigint, number: number, random: Random, tally: Tally): void {
    const e = this.#emitter;
    const padding = random.times(random.below(4), () => e.emit('s_mov_b32', { sdst: 20, ssrc0: 128 })).flat();
    const store = e.emit('global_store_dword', { addr: 1, data: 2, saddr: 8 });
    this.#write(code, [
      ...e.arguments('s_load_dwordx2', 8, 16),
      ...e.emit('v_mov_b32', { vdst: 1, src0: 128 }),
      ...padding,
      ...[...e.emit('v_mov_b32', { vdst: 2, src0: LITERAL }), number],
      ...store,
      ...e.end(),
    ]);
    const bytes = this.device.memory.view(this.#result, 4).fill(0);
    this.#setArguments(0, 0, 1, 0, this.#result);
    const dispatch = this.#dispatch(code, 4);
    while (this.device.advance(1) !== 'idle');
    this.#count(dispatch, tally);
    if (dispatch.fault) throw new Found('difference', `code ${number}: ${dispatch.fault.message}`);
    if (bytes[0] !== number) throw new Found('escape', `code ${number} was to run, and ${bytes[0]} did`);
  }

  [Symbol.dispose](): void {
    this.device.close();
  }
}

/** Lets only workers run. */
function spin(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

class Reclaim implements Subject {
  readonly #workers: Rig;
  readonly #rigs: readonly Rig[];

  constructor(target: string) {
    this.#workers = new Rig('workers', target, WORKER_OPTIONS);
    const alone = Object.entries(EXECUTOR_OPTIONS).map(([name, options]) => new Rig(name, target, options));
    this.#rigs = [...alone, this.#workers];
  }

  iterate(random: Random, tally: Tally): void {
    if (random.chance(60)) this.#workers.stores(random, tally);
    else random.pick(this.#rigs).code(random, tally);
  }

  [Symbol.dispose](): void {
    for (const rig of this.#rigs) rig[Symbol.dispose]();
  }
}

export const reclaim: Oracle = {
  name: 'reclaim',
  lifetime: 64,
  stuckMs: 10_000,
  create: (target) => new Reclaim(target),
};

oracleMain(reclaim, import.meta);
