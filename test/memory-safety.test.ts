/**
 * Device memory cannot be left: every instruction that accesses memory, in each of its encodings and on every
 * executor, with addresses at and over all edges. What it may not reach is filled twice with different bytes:
 * nothing there changes, and the wave ends up the same.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfCode } from '../src/assembler/machine-code.test-support.ts';
import { AmdgpuEmulator } from '../src/devices/emulated/amdgpu/emulator.ts';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import { WaveFault } from '../src/emulator/machine/faults.ts';
import {
  DEVICE_START,
  EXIT_BUDGET,
  MAY_READ,
  NIBBLE_MASKS,
  PAGE_SIZE_BYTES,
  RECORD_PC,
  STATE_OFFSETS,
  UNUSED_BYTES,
  UNUSED_START,
  VALIDITY_MAP,
  WAVE_BUDGET,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_LDS_BASE,
  WAVE_LDS_SIZE,
  WAVE_MODE,
  WAVE_PRIVATE_BASE,
  WAVE_PRIVATE_SIZE,
  WAVE_RECORD,
  WAVE_TURN,
  WAVE_VGPRS,
  waveSizeBytes,
} from '../src/emulator/machine/layout.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { bytesOf } from '../src/isa/amdgpu/encoding/encode.ts';
import { type Encoding, encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import { PRIVATE_APERTURE_HI, SHARED_APERTURE_HI } from '../src/isa/amdgpu/encoding/registers.ts';
import { type Target, targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';
import { MEMORY_FORMATS, randomEncoding } from './lockstep/random-encoding.test-support.ts';

const LDS_SIZE = 1024;
const PRIVATE_SIZE = 512;
const GUARD = 4096;
/** Not whole granules; and with what belongs to the last one. */
const DATA_SIZE = 4096 + 72;
const VALID_SIZE = 4096 + 128;
const MODE = 0x3f0;
const FILLERS = [0xa5, 0x3c] as const;
const EXECUTORS: readonly ExecutorName[] = ['reference', 'handlers', 'jit'];
/** States of each encoding: fewer where a target has most rows from another. */
const TARGETS = [
  ['gfx90a', 64, 4],
  ['gfx942', 64, 1],
  ['gfx1100', 32, 4],
  ['gfx1200', 32, 1],
] as const;

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Any bytes, the same for every run. */
const CONTENTS = Buffer.from(Uint32Array.from({ length: 16384 }, (_, i) => Math.imul(i, 0x9e3779b1)).buffer);
const FILLED = FILLERS.map((filler) => Buffer.alloc(2 ** 16, filler));

/** What a run may leave behind, and why it ended. */
interface Outcome {
  readonly fault: string | undefined;
  readonly bytes: Buffer;
}

class World {
  readonly emulator: AmdgpuEmulator;
  readonly wave: number;
  readonly lds: number;
  readonly private: number;
  readonly data: number;
  readonly readOnly: number;
  readonly code: number;
  /** What no address may reach. */
  readonly forbidden: readonly Span[];
  readonly #waveSize: 32 | 64;
  readonly #outcomes: readonly Buffer[];
  #codeSize = 0;

  constructor(processor: string, executor: ExecutorName, waveSize: 32 | 64) {
    this.#waveSize = waveSize;
    this.emulator = new AmdgpuEmulator({ processor, executor, compileThreshold: 0, memorySizeBytes: 2 ** 26 });
    const { memory, state } = this.emulator;
    this.wave = state.allocate(waveSizeBytes(waveSize));
    const privateSize = PRIVATE_SIZE * waveSize;
    const own = memory.allocate(3 * GUARD + LDS_SIZE + privateSize, { permissions: 0 });
    this.lds = own + GUARD;
    this.private = this.lds + LDS_SIZE + GUARD;
    this.data = memory.allocate(DATA_SIZE);
    const freed = memory.allocate(DATA_SIZE);
    this.readOnly = memory.allocate(DATA_SIZE, { permissions: MAY_READ });
    const other = memory.allocate(DATA_SIZE, { permissions: 0 });
    this.code = memory.allocate(2 ** 20, { permissions: MAY_READ });
    memory.free(freed);
    const behind = (start: number): Span => {
      const end = start + VALID_SIZE;
      return { start: end, end: end + PAGE_SIZE_BYTES };
    };
    this.forbidden = [
      { start: 0, end: UNUSED_START },
      { start: UNUSED_START + UNUSED_BYTES, end: DEVICE_START },
      { start: own, end: this.lds },
      { start: this.lds + LDS_SIZE, end: this.private },
      { start: this.private + privateSize, end: this.private + privateSize + GUARD },
      behind(this.data),
      { start: freed, end: behind(freed).end },
      behind(this.readOnly),
      { start: other, end: other + DATA_SIZE },
    ];
    const size = this.#memoryOfWave.reduce((sum, { start, end }) => sum + end - start, waveSizeBytes(waveSize));
    this.#outcomes = FILLERS.map(() => Buffer.alloc(size));
  }

  place(words: readonly number[]): number {
    const { memory, target } = this.emulator;
    const end = endOfCode(target.processor);
    const at = this.code + this.#codeSize;
    for (const [i, word] of [...words, ...end].entries()) memory.view.setUint32(at + i * 4, word, true);
    this.#codeSize += (words.length + end.length) * 4;
    assert.ok(this.#codeSize <= 2 ** 20);
    return at;
  }

  #bytes({ start, end }: Span): Buffer {
    return Buffer.from(this.emulator.memory.buffer, start, end - start);
  }

  get #memoryOfWave(): Span[] {
    return [
      { start: this.lds, end: this.lds + LDS_SIZE },
      { start: this.private, end: this.private + PRIVATE_SIZE * this.#waveSize },
      { start: this.data, end: this.data + VALID_SIZE },
      { start: this.readOnly, end: this.readOnly + VALID_SIZE },
    ];
  }

  /**
   * Runs the code from the state that `registers` begin with; fails when something changed that must not. The
   * result holds until the next run with this filler.
   */
  run(code: number, registers: Uint32Array, filler: 0 | 1): Outcome {
    const { memory, state } = this.emulator;
    const { wave } = this;
    const filled = FILLED[filler]!;
    for (const { start, end } of this.forbidden) memory.bytes.set(filled.subarray(0, end - start), start);
    for (const { start, end } of this.#memoryOfWave) memory.bytes.set(CONTENTS.subarray(0, end - start), start);
    state.words.set(registers, wave >> 2);
    const set = (field: number, value: number): void => state.view.setUint32(wave + field, value, true);
    const cache = this.emulator.codeCache(this.#waveSize, MODE);
    set(WAVE_MODE, MODE);
    set(WAVE_LDS_BASE, this.lds);
    set(WAVE_LDS_SIZE, LDS_SIZE);
    set(WAVE_PRIVATE_BASE, this.private);
    set(WAVE_PRIVATE_SIZE, PRIVATE_SIZE);
    set(WAVE_JUMP_CACHE, cache.jumpCache);
    let record = cache.record(code);
    const [first, last] = [this.lds >>> 6, (this.code + 2 ** 20) >>> 6];
    const maps = Buffer.from(state.buffer, VALIDITY_MAP + first, last - first);
    const before = Buffer.from(maps);
    let fault: string | undefined;
    try {
      do {
        this.emulator.executor(this.#waveSize).run(record, wave, 1000);
        record = state.view.getUint32(wave + WAVE_RECORD, true);
      } while (state.view.getUint32(wave + WAVE_EXIT, true) === EXIT_BUDGET);
    } catch (error) {
      if (!(error instanceof WaveFault)) throw error;
      const pc = state.view.getUint32(error.record + RECORD_PC, true);
      fault = `${error.code} lane ${error.lane} address ${error.address.toString(16)} pc ${pc.toString(16)}`;
    }
    for (const span of this.forbidden)
      assert.equal(Buffer.compare(this.#bytes(span), filled.subarray(0, span.end - span.start)), 0, `${span.start}..`);
    assert.ok(maps.equals(before), 'the validity map is as it was');
    for (const field of [WAVE_EXIT, WAVE_RECORD, WAVE_JUMP_CACHE]) set(field, 0);
    const registersLeft = Buffer.from(state.buffer.slice(wave, wave + waveSizeBytes(this.#waveSize)));
    registersLeft.fill(0, WAVE_TURN, WAVE_TURN + 4);
    registersLeft.fill(0, WAVE_BUDGET, WAVE_VGPRS);
    const bytes = this.#outcomes[filler]!;
    let at = 0;
    for (const part of [registersLeft, ...this.#memoryOfWave.map((span) => this.#bytes(span))])
      at += part.copy(bytes, at);
    return { fault, bytes };
  }
}

/**
 * Registers full of addresses: pairs of low and high half in VGPRs, of which lanes have their own, one, or
 * contiguous ones.
 */
function hostileRegisters(world: World, waveSize: 32 | 64, random: () => number): Uint32Array {
  const { memory } = world.emulator;
  const registers = new Uint32Array(waveSizeBytes(waveSize) / 4);
  const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
  const starts = [
    ...world.forbidden.flatMap(({ start, end }) => [start, end]),
    ...[world.data, world.readOnly, world.wave, world.lds, world.private, world.code],
    ...[LDS_SIZE, PRIVATE_SIZE, 0, 0x80000000, VALIDITY_MAP, NIBBLE_MASKS, memory.buffer.byteLength],
  ];
  const low = (): number => {
    switch (random() % 4) {
      case 0:
        return world.data + (random() % DATA_SIZE);
      case 1:
        return random() % (2 * LDS_SIZE);
      default:
        return pick(starts) + (random() % 160) - 80;
    }
  };
  const window = memory.windowHi;
  const highs = [
    window,
    window,
    window,
    window,
    SHARED_APERTURE_HI,
    PRIVATE_APERTURE_HI,
    window + 1,
    window - 1,
    0,
    -1,
  ];
  for (let i = 0; i < 128; i++) registers[i] = i & 1 ? pick(highs) : low();
  // Buffers: any stride, size and flags.
  for (let i = 0; i < 32; i += 4) {
    registers[i + 1] = (window & 0xffff) | (random() & (random() & 1 ? 0xbfff0000 : 0x00ff0000));
    registers[i + 2] = pick([0, 64, 4096, 0x7fffffff, 0xffffffff]);
    registers[i + 3] = random();
  }
  for (let row = 0, at = WAVE_VGPRS / 4; at < registers.length; row++) {
    const [base, high, way] = [low(), pick(highs), random() % 3];
    const mixed = random() % 4 === 0;
    for (let lane = 0; lane < waveSize; lane++, at++) {
      if (row & 1) registers[at] = mixed ? pick(highs) : high;
      else registers[at] = way === 0 ? base : way === 1 ? base + lane * 4 : low();
    }
  }
  new DataView(registers.buffer).setBigUint64(
    STATE_OFFSETS.exec,
    BigInt.asUintN(64, pick([-1n, -1n, 0x10n, 0x0ffffff0ffff0001n, 0x5a5a5a5af0f0ffffn])),
    true,
  );
  registers[STATE_OFFSETS.m0 / 4] = pick([0xffffffff, 0, LDS_SIZE, random()]);
  return registers;
}

/**
 * Registers with addresses at one edge of memory that is valid, or what is to be added to the start of the
 * data to get there: of one lane, of all, or of contiguous lanes that meet the edge.
 */
function edgeRegisters(world: World, waveSize: 32 | 64, random: () => number): Uint32Array {
  const registers = hostileRegisters(world, waveSize, random);
  const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
  const window = world.emulator.memory.windowHi;
  const [edge, high] = pick([
    [world.data + VALID_SIZE, window],
    [world.data + VALID_SIZE, window],
    [world.data, window],
    [world.readOnly + VALID_SIZE, window],
    [LDS_SIZE, SHARED_APERTURE_HI],
    [PRIVATE_SIZE, PRIVATE_APERTURE_HI],
  ] as const);
  const near = (): number => edge + 4 - pick([4, 8, 12, 16, random() % 28]);
  for (let i = 0; i < 112; i += 2) {
    registers[i] = random() & 1 ? world.data : near();
    registers[i + 1] = window;
  }
  for (let row = 0, at = WAVE_VGPRS / 4; at < registers.length; row++) {
    const step = random() & 1 ? 4 : 0;
    const base = near() - pick([0, 0, world.data, edge - LDS_SIZE]) - step * (waveSize - 1);
    for (let lane = 0; lane < waveSize; lane++, at++) registers[at] = row & 1 ? high : base + lane * step;
  }
  new DataView(registers.buffer).setBigUint64(STATE_OFFSETS.exec, BigInt.asUintN(64, pick([-1n, -1n, 0x10n])), true);
  return registers;
}

/** The encoding up to three times, with offsets of any size. */
function hostileWords(encoding: Encoding, target: Target, random: () => number): number[] {
  const decoder = decoderFor(target.processor, target.waveSizes[0]!);
  const words = randomEncoding(encoding, random, target);
  const offsets = encoding.format.fields.filter(({ name }) => /^(inst_|i)?offset\d?$/.test(name));
  const moved = (): number[] => {
    const result = [...words];
    for (const { low, width } of offsets) {
      const value = [0, 0, 0, 1, 2 ** (width - 1), 2 ** width - 1, random() % 2 ** width][random() % 7]!;
      for (let bit = 0; bit < width; bit++) {
        const [dword, mask] = [(low + bit) >> 5, 1 << ((low + bit) & 31)];
        result[dword] = ((result[dword]! & ~mask) | ((value >>> bit) & 1 ? mask : 0)) >>> 0;
      }
    }
    return decoder.decode(new DataView(bytesOf(result).buffer), 0) === 'unknown' ? words : result;
  };
  return Array.from({ length: 1 + (random() % 3) }, moved).flat();
}

for (const [processor, waveSize, states] of TARGETS) {
  test(`${processor}: no access leaves the memory that a wave may use`, () => {
    const target = targetFor(processor);
    const random = randomGenerator(0xbadadd);
    const worlds = EXECUTORS.map((executor) => ({ executor, world: new World(processor, executor, waveSize) }));
    const encodings = allRows()
      .filter((row) => row.semantics)
      .flatMap((row) => encodingsOf(row, target))
      .filter(({ format }) => MEMORY_FORMATS.has(format.name));
    let faults = 0;
    for (const encoding of encodings) {
      const words = hostileWords(encoding, target, random);
      // Where two stores of one instruction overlap, which one comes last is open.
      const isOrdered = !/write2|wrxchg2|buffer_store|buffer_load_lds/.test(encoding.row.name);
      const codes = worlds.map(({ world }) => world.place(words));
      for (let state = 0; state < states; state++) {
        const fill = state === 1 ? hostileRegisters : edgeRegisters;
        const registers = fill(worlds[0]!.world, waveSize, random);
        let expected: Outcome | undefined;
        for (const [i, { executor, world }] of worlds.entries()) {
          const text = `${encoding.row.name} [${words.map((word) => word.toString(16))}] state ${state} on ${executor}`;
          const [outcome, other] = [world.run(codes[i]!, registers, 0), world.run(codes[i]!, registers, 1)];
          assert.equal(outcome.fault, other.fault, text);
          assert.ok(
            Buffer.compare(outcome.bytes, other.bytes) === 0,
            `${text}: what it may not read makes no difference`,
          );
          // Where several lanes fault, which one comes first is the reference's business:
          // test/lockstep/instructions.test.ts.
          expected ??= outcome;
          assert.equal(outcome.fault === undefined, expected.fault === undefined, text);
          if (outcome.fault !== undefined) faults++;
          else if (isOrdered)
            assert.ok(Buffer.compare(outcome.bytes, expected.bytes) === 0, `${text}: as the reference`);
        }
      }
    }
    const cases = encodings.length * states * EXECUTORS.length;
    assert.ok(faults > cases / 10 && faults < cases, `${faults} of ${cases} cases fault`);
  });
}
