/**
 * Registers that are chosen at run time stay in their file: VGPR indexing of every vector instruction and all
 * moves relative to M0, on all executors, with numbers at and over all borders. What is before and behind a
 * wave's state is filled twice with different bytes: nothing there changes, and the wave ends up the same. In
 * range an instruction does what the one does that names the register itself.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endOfCode } from '../src/assembler/machine-code.test-support.ts';
import { WavewrightError } from '../src/base/errors.ts';
import { AmdgpuEmulator } from '../src/devices/emulated/amdgpu/emulator.ts';
import { assertRecordHolds, assertWithinOperands } from '../src/emulator/code/operand-bounds.ts';
import type { ExecutorName } from '../src/emulator/emulator.ts';
import {
  MAY_READ,
  WAVE_BLOCK,
  WAVE_BUDGET,
  WAVE_EXIT,
  WAVE_JUMP_CACHE,
  WAVE_MODE,
  WAVE_RECORD,
  WAVE_TEMPORARY_ROWS,
  WAVE_TURN,
  WAVE_VGPRS,
  waveSizeBytes,
} from '../src/emulator/machine/layout.ts';
import { decoderFor } from '../src/isa/amdgpu/decoder.ts';
import { bytesOf } from '../src/isa/amdgpu/encoding/encode.ts';
import { encodingsOf } from '../src/isa/amdgpu/encoding/encodings.ts';
import type { Instruction } from '../src/isa/amdgpu/encoding/instruction.ts';
import { SGPR_EXEC_LO, SGPR_M0 } from '../src/isa/amdgpu/encoding/registers.ts';
import { targetFor } from '../src/isa/amdgpu/encoding/targets.ts';
import { allRows } from '../src/isa/amdgpu/rows/index.ts';
import { InstructionBuilder } from '../src/isa/amdgpu/semantics/instruction-builder.ts';
import { floatMode } from '../src/isa/amdgpu/semantics/mode.ts';
import { AmdgpuStepReader } from '../src/isa/amdgpu/step.ts';
import { assembleInstruction } from '../src/isa/amdgpu/text/assembler/assemble.ts';
import { randomGenerator } from './lockstep/lockstep.test-support.ts';
import { randomEncoding } from './lockstep/random-encoding.test-support.ts';
import { IS_FULL_SCALE, sampled } from './scale.ts';

const EXECUTORS: readonly ExecutorName[] = ['reference', 'handlers', 'jit'];
const MODE = 0x3f0;
const INDEXING = 1 << 27;
const VGPR_COUNT = 256;
/** SGPRs and VCC: what a scalar register may be moved to. */
const SGPR_COUNT = 108;
/** More than an index of 10 bits, added to a register, could reach. */
const GUARD = 1280 * 256;
const CODE_SIZE = 2 ** 20;
/** Of numbers that M0 adds. */
const INDICES = [
  ...[0, 1, 2, 3, 30, 32, 104, 105, 106, 107, 108, 124, 126, 127, 128, 223, 224, 225, 252, 253, 254, 255],
  ...[256, 257, 511, 512, 0x3ff, 0x400, 0xffff, 0x10000, 0x00ff00ff, 0x03ff03ff, 0x7fffffff],
  ...[2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1, 2 ** 32 - 2, 2 ** 32 - 256, 2 ** 24, 2 ** 25 - 1, 2 ** 30],
];

/** A wave with memory before and behind it that is full of one byte. */
interface GuardedWave {
  readonly base: number;
  readonly guards: readonly Buffer[];
  readonly filled: Buffer;
}

class World {
  readonly #emulator: AmdgpuEmulator;
  readonly #waveSize: 32 | 64;
  readonly #waves: readonly GuardedWave[];
  readonly #code: number;
  #codeSize = 0;

  constructor(processor: string, executor: ExecutorName, waveSize: 32 | 64) {
    this.#emulator = new AmdgpuEmulator({ processor, executor, compileThreshold: 0, memorySizeBytes: 2 ** 26 });
    this.#waveSize = waveSize;
    const { memory, state: own } = this.#emulator;
    const size = waveSizeBytes(waveSize);
    this.#waves = [0xa5, 0x3c].map((filler) => {
      const start = own.allocate(2 * GUARD + size);
      own.bytes.fill(filler, start, start + 2 * GUARD + size);
      const guards = [start, start + GUARD + size].map((at) => Buffer.from(own.buffer, at, GUARD));
      return { base: start + GUARD, guards, filled: Buffer.alloc(GUARD, filler) };
    });
    this.#code = memory.allocate(CODE_SIZE, { permissions: MAY_READ });
  }

  place(words: readonly number[]): number {
    const { memory, target } = this.#emulator;
    const end = endOfCode(target.processor);
    const at = this.#code + this.#codeSize;
    for (const [i, word] of [...words, ...end].entries()) memory.view.setUint32(at + i * 4, word, true);
    this.#codeSize += (words.length + end.length) * 4;
    assert.ok(this.#codeSize <= CODE_SIZE);
    return at;
  }

  /** Whether the code begins with what is no instruction. */
  isIllegal(words: readonly number[]): boolean {
    const cache = this.#emulator.codeCache(this.#waveSize, MODE);
    return cache.untranslated(cache.record(this.place(words)))?.code === 'illegal';
  }

  /**
   * Runs the code from a state, and fails when something around that changed; returns the state after it,
   * without what executors keep there.
   */
  run(code: number, state: Uint32Array, mode: number, text: string): Buffer {
    const [first, second] = this.#waves.map((wave) => this.#run(code, state, mode, wave, text)) as [Buffer, Buffer];
    assert.ok(first.equals(second), `${text}: what is around the wave makes no difference`);
    return first;
  }

  #run(code: number, state: Uint32Array, mode: number, wave: GuardedWave, text: string): Buffer {
    const own = this.#emulator.state;
    const { base, guards, filled } = wave;
    own.words.set(state, base >> 2);
    const set = (field: number, value: number): void => own.view.setUint32(base + field, value, true);
    const cache = this.#emulator.codeCache(this.#waveSize, mode);
    set(WAVE_MODE, mode);
    set(WAVE_JUMP_CACHE, cache.jumpCache);
    this.#emulator.executor(this.#waveSize).run(cache.record(code), base, 1000);
    assert.ok(guards[0]!.equals(filled), `${text}: before the wave`);
    assert.ok(guards[1]!.equals(filled), `${text}: behind the wave`);
    for (const field of [WAVE_EXIT, WAVE_RECORD, WAVE_JUMP_CACHE, WAVE_MODE, WAVE_TURN]) set(field, 0);
    own.bytes.fill(0, base + WAVE_BUDGET, base + WAVE_BLOCK + 4);
    own.bytes.fill(0, base + WAVE_TEMPORARY_ROWS, base + WAVE_VGPRS);
    return Buffer.from(Buffer.from(own.buffer, base, waveSizeBytes(this.#waveSize)));
  }
}

function randomState(waveSize: 32 | 64, random: () => number, m0: number, exec: bigint): Uint32Array {
  const state = new Uint32Array(waveSizeBytes(waveSize) / 4);
  for (let i = 0; i < 128; i++) state[i] = random();
  for (let i = WAVE_VGPRS / 4; i < state.length; i++) state[i] = random() & 0x3fffffff;
  state[SGPR_M0] = m0;
  new DataView(state.buffer).setBigUint64(SGPR_EXEC_LO * 4, exec, true);
  return state;
}

/** The first difference, in words. */
function differenceOf(found: Buffer, expected: Buffer, waveSize: 32 | 64): string | undefined {
  for (let at = 0; at < found.length; at += 4) {
    if (found.readUInt32LE(at) === expected.readUInt32LE(at)) continue;
    const row = at - WAVE_VGPRS;
    const number = Math.floor(row / waveSize / 4);
    const name = row < 0 ? `s${at / 4}` : `${number < VGPR_COUNT ? 'v' : 'a'}${number % VGPR_COUNT}`;
    return `${name}: ${found.readUInt32LE(at).toString(16)}, expected ${expected.readUInt32LE(at).toString(16)}`;
  }
  return undefined;
}

// VGPR indexing

const INDEXED = ['src0', 'src1', 'src2', 'vdst'];

/** The words with another number in the field of operand `index`. */
function withRegister(words: readonly number[], instruction: Instruction, index: number, register: number): number[] {
  const located = instruction.located(instruction.row.operands[index]!.field)!;
  const result = [...words];
  for (let bit = 0; bit < Math.min(located.width, 8); bit++) {
    const [dword, mask] = [(located.low + bit) >> 5, 1 << ((located.low + bit) & 31)];
    result[dword] = ((result[dword]! & ~mask) | ((register >>> bit) & 1 ? mask : 0)) >>> 0;
  }
  return result;
}

/** Which of M0[15:12] moves the operand; CDNA3 ISA 6.6.2. */
function indexBit({ row, name }: Instruction, index: number): number {
  const { field } = row.operands[index]!;
  return INDEXED.indexOf(/mk_f(16|32)$/.test(name) && field === 'src1' ? 'src2' : field);
}

for (const [turn, processor] of ['gfx908', 'gfx90a', 'gfx942'].entries()) {
  test(`${processor}: VGPR indexing does what the instruction with the register itself does, or nothing`, () => {
    const target = targetFor(processor);
    const random = randomGenerator(0x1dec5);
    const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
    const decoder = decoderFor(processor, 64);
    const decode = (words: readonly number[]) => decoder.decode(new DataView(bytesOf([...words, 0]).buffer), 0);
    const worlds = EXECUTORS.map((executor) => ({ executor, world: new World(processor, executor, 64) }));
    const counts = { moved: 0, missingSource: 0, missingDestination: 0, accumulators: 0 };
    const encodings = allRows()
      .filter((row) => row.semantics)
      .flatMap((row) => encodingsOf(row, target))
      .filter(({ format }) => format.name.startsWith('V'));
    for (const encoding of sampled(encodings, 3, turn)) {
      let words = randomEncoding(encoding, random, target);
      let instruction = decode(words);
      if (typeof instruction === 'string') continue;
      // Registers at the borders of their file, where the decoder takes them.
      for (const index of instruction.row.operands.keys()) {
        const operand = instruction.operand(index);
        if (operand.kind !== 'vector' || random() % 2 === 0) continue;
        const last = VGPR_COUNT - instruction.dwords(index);
        const candidate = withRegister(words, instruction, index, pick([0, 2, 128, last & ~1, (last - 2) & ~1]));
        const other = decode(candidate);
        if (typeof other !== 'string') [words, instruction] = [candidate, other];
      }
      const index = pick(INDICES) & 0xff;
      const select = random() % 3 === 0 ? 15 : random() % 16;
      const m0 = (index | (select << 12)) >>> 0;
      let direct = words;
      let isIgnored = false;
      for (const [i, { field }] of instruction.row.operands.entries()) {
        const operand = instruction.operand(i);
        const bit = indexBit(instruction, i);
        if (operand.kind !== 'vector' || bit < 0 || !((select >> bit) & 1)) continue;
        if (operand.accumulator) counts.accumulators++;
        counts.moved++;
        const register = operand.register + index;
        const isMissing = register + instruction.dwords(i) > VGPR_COUNT;
        const isWritten = field === 'vdst' || instruction.row.operands[i]!.access !== 'read';
        if (isMissing && isWritten) counts.missingDestination++;
        else if (isMissing) counts.missingSource++;
        isIgnored ||= isMissing && isWritten;
        direct = withRegister(direct, instruction, i, isMissing ? 0 : register);
      }
      const exec = BigInt.asUintN(64, pick([-1n, 0x5a5a5a5af0f0ffffn]));
      const state = randomState(64, random, m0, exec);
      const text = `${instruction.name} ${encoding.format.name} [${words.map((word) => word.toString(16))}] m0 ${m0.toString(16)}`;
      const [reference] = worlds;
      // A tuple that begins at an odd register is none that can be named on some targets.
      const isNamed = isIgnored || typeof decode(direct) !== 'string';
      const expected = isNamed
        ? reference!.world.run(reference!.world.place(isIgnored ? [] : direct), state, MODE, text)
        : undefined;
      for (const { executor, world } of worlds) {
        const found = world.run(world.place(words), state, MODE | INDEXING, `${text} on ${executor}`);
        const difference = expected && differenceOf(found, expected, 64);
        assert.equal(difference, undefined, `${text} on ${executor}: ${difference}`);
      }
    }
    for (const [name, count] of Object.entries(counts)) assert.ok(count > 0, `${count} of ${name}`);
  });
}

// Moves relative to M0

type Part = 'whole' | 'low' | 'high';

/** Which operand is moved by which bits of M0, the destination first. */
const MOVES: Readonly<Record<string, { readonly to?: Part; readonly from?: Part; readonly dwords?: 2; swaps?: true }>> =
  {
    v_movreld_b32: { to: 'whole' },
    v_movrels_b32: { from: 'whole' },
    v_movrelsd_b32: { to: 'whole', from: 'whole' },
    v_movrelsd_2_b32: { to: 'high', from: 'low' },
    v_swaprel_b32: { to: 'high', from: 'low', swaps: true },
    s_movrels_b32: { from: 'whole' },
    s_movreld_b32: { to: 'whole' },
    s_movrels_b64: { from: 'whole', dwords: 2 },
    s_movreld_b64: { to: 'whole', dwords: 2 },
    s_movrelsd_2_b32: { to: 'high', from: 'low' },
  };

for (const [turn, [processor, waveSize]] of (
  [
    ['gfx90a', 64],
    ['gfx942', 64],
    ['gfx1030', 32],
    ['gfx1030', 64],
    ['gfx1100', 32],
    ['gfx1100', 64],
    ['gfx1200', 32],
    ['gfx1200', 64],
  ] as const
).entries()) {
  test(`${processor} wave${waveSize}: moves relative to M0 stay in their file`, () => {
    const target = targetFor(processor);
    const random = randomGenerator(0x30e1);
    const pick = <T>(list: readonly T[]): T => list[random() % list.length]!;
    const worlds = EXECUTORS.map((executor) => ({ executor, world: new World(processor, executor, waveSize) }));
    const counts = { found: 0, missing: 0 };
    const isGfx9 = target.families.includes('gfx9');
    for (const [name, { to, from, dwords = 1, swaps }] of Object.entries(MOVES)) {
      if (name.startsWith('v_') && isGfx9) continue;
      if (name === 's_movrelsd_2_b32' && isGfx9) continue;
      const isScalar = name.startsWith('s_');
      for (const m0 of sampled(INDICES, 2, turn)) {
        const borders = isScalar ? [0, 2, 50, 100] : [0, 1, 127, 200, 254, 255];
        const [a, b] = [pick(borders), pick(borders)];
        const operand = (n: number): string => (isScalar ? (dwords === 2 ? `s[${n}:${n + 1}]` : `s${n}`) : `v${n}`);
        const text = `${name} ${operand(a)}, ${operand(b)}`;
        const { words } = assembleInstruction(text, { target, waveSize });
        const exec = waveSize === 64 ? pick([-1n, 0x5a5a5a5af0f0ffffn]) : pick([-1n, 0x5a5af0f0n]);
        const state = randomState(waveSize, random, m0, BigInt.asUintN(waveSize, exec));
        // The model.
        const part = (which: Part | undefined): number => {
          if (which === undefined) return 0;
          if (which !== 'whole') return (which === 'low' ? m0 : m0 >>> 16) & 0x3ff;
          return dwords === 2 ? m0 - (m0 % 2) : m0;
        };
        const fileSize = (isScalar ? SGPR_COUNT : VGPR_COUNT) - dwords;
        const [target0, source] = [a + part(to), b + part(from)];
        const rowDwords = isScalar ? 1 : waveSize;
        const first = isScalar ? 0 : WAVE_VGPRS / 4;
        const expected = Uint32Array.from(state);
        if (target0 <= fileSize && (!swaps || source <= fileSize)) {
          counts.found++;
          for (let i = 0; i < dwords * rowDwords; i++) {
            if (!isScalar && !((exec >> BigInt(i % waveSize)) & 1n)) continue;
            const at = first + target0 * rowDwords + i;
            const isZero = source > fileSize && isScalar && target.families.includes('gfx11');
            const fromAt = first + (source <= fileSize ? source : 0) * rowDwords + i;
            expected[at] = isZero ? 0 : state[fromAt]!;
            if (swaps) expected[fromAt] = state[at]!;
          }
        }
        if (target0 > fileSize || source > fileSize) counts.missing++;
        const wanted = Buffer.from(expected.buffer);
        for (const { executor, world } of worlds) {
          const where = `${text} m0 ${m0.toString(16)} on ${executor}`;
          const found = world.run(world.place(words), state, MODE, where);
          const difference = differenceOf(found, wanted, waveSize);
          assert.equal(difference, undefined, `${where}: ${difference}`);
        }
      }
    }
    assert.ok(counts.found > 20 && counts.missing > 20, JSON.stringify(counts));
  });
}

test('a constant in place of four registers is read from nowhere else', () => {
  const context = { target: targetFor('gfx90a'), waveSize: 64 } as const;
  const wordsOf = (text: string): readonly number[] => assembleInstruction(text, context).words;
  const state = randomState(64, randomGenerator(0xc0457), 0, BigInt.asUintN(64, -1n));
  for (const executor of EXECUTORS) {
    const world = new World('gfx90a', executor, 64);
    for (const constant of [-1, 7]) {
      // Source 2 is added to the sums, dword by dword.
      const text = `v_mqsad_u32_u8 v[4:7], v[0:1], v2, ${constant}`;
      const found = world.run(world.place(wordsOf(text)), state, MODE, text);
      state.set(
        [constant, constant >> 31, constant >> 31, constant >> 31].flatMap((dword) => new Array(64).fill(dword)),
        WAVE_VGPRS / 4 + 4 * 64,
      );
      const same = 'v_mqsad_u32_u8 v[4:7], v[0:1], v2, v[4:7]';
      const expected = world.run(world.place(wordsOf(same)), state, MODE, same);
      const difference = differenceOf(found, expected, 64);
      assert.equal(difference, undefined, `${text} on ${executor}: ${difference}`);
    }
  }
});

/** Of each encoding with other operands. */
const FULL_ATTEMPTS = 8;
const ATTEMPTS = IS_FULL_SCALE ? FULL_ATTEMPTS : 3;
/** What an operand can end at, as fields of any width hold it. */
const BORDERS = [95, 96, 100, 101, 103, 104, 105, 106, 107, 122, 123, 124, 125, 126, 127, 250, 252, 253, 254, 255];

/** Where the registers of an operand and those of its file end. */
function endOf(instruction: Instruction, index: number) {
  const operand = instruction.operand(index);
  if (instruction.access(index) === undefined) return undefined;
  if (operand.kind !== 'vector' && operand.kind !== 'scalar') return undefined;
  const dwords = instruction.dwords(index);
  const count = operand.kind === 'vector' ? VGPR_COUNT : 128;
  return { kind: operand.kind, dwords, end: operand.register + dwords, count };
}

for (const [processor, waveSize] of [
  ['gfx908', 64],
  ['gfx90a', 64],
  ['gfx942', 64],
  ['gfx1030', 32],
  ['gfx1100', 32],
  ['gfx1100', 64],
  ['gfx1200', 32],
] as const) {
  test(`${processor} wave${waveSize}: no operand goes beyond its file, and no program beyond its operands`, () => {
    const target = targetFor(processor);
    const random = randomGenerator(0xb0de5);
    const reader = new AmdgpuStepReader(processor, waveSize, MODE);
    const world = new World(processor, 'handlers', waveSize);
    let [wide, vectors] = [0, 0];
    for (const encoding of allRows()
      .filter((row) => row.semantics)
      .flatMap((row) => encodingsOf(row, target))) {
      if (encoding.format.name === 'VOPD' && waveSize === 64) continue;
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const words = randomEncoding(encoding, random, target);
        for (const { field } of encoding.row.operands) {
          const located = encoding.format.fields.find(({ name }) => name === field);
          if (!located || located.width < 5 || random() % 3 === 0) continue;
          const number = BORDERS[random() % BORDERS.length]! | (located.width === 9 && random() & 1 ? 256 : 0);
          const [dword, shift, mask] = [located.low >> 5, located.low & 31, 2 ** located.width - 1];
          words[dword] = ((words[dword]! & ~(mask << shift)) | ((number & mask) << shift)) >>> 0;
        }
        const step = reader.step(new DataView(bytesOf([...words, 0, 0]).buffer), 0);
        if (typeof step === 'string') continue;
        const { instruction } = step;
        assertRecordHolds(step);
        const ends = instruction.row.operands.flatMap((_, index) => endOf(instruction, index) ?? []);
        vectors += ends.filter(({ kind }) => kind === 'vector').length;
        wide += ends.filter(({ end, count, dwords }) => end === count && dwords > 1).length;
        // What the decoder takes all the same is no instruction that runs.
        const isWithin = ends.every(({ end, count }) => end <= count) || world.isIllegal(words);
        assert.ok(isWithin, `${instruction.name} [${words.map((word) => word.toString(16))}]`);
        if (step.illegal !== undefined) continue;
        try {
          assertWithinOperands(step.program(), step);
        } catch (error) {
          if (!(error instanceof WavewrightError) || error.code !== 'UNSUPPORTED') throw error;
        }
      }
    }
    assert.ok(
      vectors > 1000 && wide > (100 / FULL_ATTEMPTS) * ATTEMPTS,
      `${vectors} vector operands, ${wide} wide ones at the end of their file`,
    );
  });
}

test('a program that goes beyond its operands is a defect', () => {
  const words = assembleInstruction('v_add_f64 v[0:1], v[2:3], 1.0', {
    target: targetFor('gfx90a'),
    waveSize: 64,
  }).words;
  const step = new AmdgpuStepReader('gfx90a', 64, MODE).step(new DataView(bytesOf(words).buffer), 0);
  assert.ok(typeof step !== 'string');
  const accesses = (operand: number, dword: number) => () => {
    const builder = new InstructionBuilder(step.instruction, floatMode(MODE));
    builder.operand({ operand, dword }, operand < 2);
    assertWithinOperands(builder.finish(), step);
  };
  for (const operand of [0, 1, 2]) {
    accesses(operand, 1)();
    assert.throws(accesses(operand, 2), /accesses dword 2 of operand/);
  }
});
