/**
 * The layouts are those of AMD's matrix instruction calculator for RDNA3, from the element to its register
 * and lane.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { convert, F32, type FloatFormat, fusedMultiplyAdd, TOWARD_ZERO } from '../../../../ir/float-bits.ts';
import type { FloatMode } from '../../../../ir/float-builder.ts';
import { encodeFields, type FieldValues } from '../../encoding/encode.ts';
import { formatByName } from '../../encoding/formats.ts';
import { Instruction } from '../../encoding/instruction.ts';
import { targetFor } from '../../encoding/targets.ts';
import type { Semantics } from '../../semantics/instruction-builder.ts';
import { DEFAULT_MODE, TestWave } from '../../semantics/machine.test-support.ts';
import { row } from '../table/row.ts';
import { f16, f32, fromF16, fromF32, randomBits } from '../vector.test-support.ts';
import { putItem } from './matrix.test-support.ts';
import { waveMultiplyF32, waveMultiplyHalf, waveMultiplyIntegers } from './wmma.ts';

const [D, A, B, C] = [40, 0, 10, 20];
const target = targetFor('gfx1100');
const BF16: FloatFormat = { fractionBits: 7, exponentBits: 8 };

/** `factor`: operand type of A and B; `constant`: the one that an inline constant in src2 is read as. */
interface Options {
  readonly factor?: 'b256' | 'b128' | 'b64';
  readonly constant?: 'b32' | 'f16';
  readonly mode?: FloatMode;
}

function run(
  wave: TestWave,
  waveSize: 32 | 64,
  semantics: Semantics,
  fields: FieldValues = {},
  { factor = 'b256', constant = 'b32', mode = DEFAULT_MODE }: Options = {},
): void {
  const isConstant = (fields['src2'] ?? 256) < 256;
  const matrices = `=vdst:b256 src0:${factor} src1:${factor} src2:${isConstant ? constant : 'b256'}`;
  const tested = row('VOP3P', 'v_wmma_test', { gfx11: 64 }, matrices, semantics);
  const format = formatByName('VOP3P', target.families);
  const words = encodeFields(format, 64, { vdst: D, src0: 256 + A, src1: 256 + B, src2: 256 + C, ...fields });
  const encoding = { row: tested, name: tested.name, format, opcode: 64 };
  wave.exec = 4n;
  wave.execute(new Instruction(encoding, words, undefined, { target, waveSize }), mode);
}

type Matrix = (row: number, column: number) => bigint;

function placeFactors(wave: TestWave, waveSize: 32 | 64, width: number, a: Matrix, b: Matrix): void {
  for (let lane = 0; lane < waveSize; lane++) {
    for (let k = 0; k < 16; k++) {
      putItem(wave, A, [k, lane], width, a(lane % 16, k));
      putItem(wave, B, [k, lane], width, b(k, lane % 16));
    }
  }
}

/** Register and lane of C[i, j] and D[i, j]. */
const outputPlace = (waveSize: 32 | 64, i: number, j: number): [register: number, lane: number] => {
  const groups = waveSize / 16;
  return [Math.floor(i / groups), ((16 * i) % waveSize) + j];
};

function forEachOutput(waveSize: 32 | 64, visit: (i: number, j: number, register: number, lane: number) => void): void {
  for (let i = 0; i < 16; i++) for (let j = 0; j < 16; j++) visit(i, j, ...outputPlace(waveSize, i, j));
}

function placeC(wave: TestWave, waveSize: 32 | 64, c: Matrix): void {
  forEachOutput(waveSize, (i, j, register, lane) => {
    wave.vgprs[C + register]![lane] = Number(BigInt.asIntN(32, c(i, j)));
  });
}

function check(wave: TestWave, waveSize: 32 | 64, expected: Matrix): void {
  forEachOutput(waveSize, (i, j, register, lane) => {
    const found = BigInt.asUintN(32, BigInt(wave.vgprs[D + register]![lane]!));
    assert.equal(`0x${found.toString(16)}`, `0x${expected(i, j).toString(16)}`, `wave${waveSize} D[${i}, ${j}]`);
  });
}

const random = randomBits(1024, 77);
const pattern =
  (width: number, seed: number): Matrix =>
  (row, column) =>
    BigInt.asUintN(width, random[(row * 16 + column + seed * 256) & 1023]! >> 7n);
/** Finite numbers, denormals among them, near one. */
const f16Pattern =
  (seed: number): Matrix =>
  (row, column) => {
    const bits = pattern(16, seed)(row, column);
    return (row + column) % 7 === 0 ? bits & 0x83ffn : (bits & 0x8fffn) | 0x3000n;
  };
const bf16Pattern =
  (seed: number): Matrix =>
  (row, column) =>
    (pattern(16, seed)(row, column) & 0x80ffn) | 0x3f00n;
const f32Pattern: Matrix = (row, column) => f32(((row * 31 + column * 17) % 23) / 3 - 3);

const widen = { f16: (bits: bigint) => f32(fromF16(bits)), bf16: (bits: bigint) => bits << 16n };
const factors = { f16: f16Pattern, bf16: bf16Pattern };

type Factors = readonly [a: Matrix, b: Matrix];

function dot(format: 'f16' | 'bf16', [a, b]: Factors, start: bigint, i: number, j: number): bigint {
  let sum = start;
  for (let k = 0; k < 16; k++) sum = fusedMultiplyAdd(widen[format](a(i, k)), widen[format](b(k, j)), sum, F32);
  return sum;
}

for (const waveSize of [32, 64] as const) {
  for (const format of ['f16', 'bf16'] as const) {
    const [a, b] = [factors[format](0), factors[format](1)];
    test(`wave${waveSize}: ${format} added to f32`, () => {
      const wave = new TestWave();
      placeFactors(wave, waveSize, 16, a, b);
      placeC(wave, waveSize, f32Pattern);
      run(wave, waveSize, waveMultiplyF32(format));
      check(wave, waveSize, (i, j) => dot(format, [a, b], f32Pattern(i, j), i, j));
    });

    test(`wave${waveSize}: ${format} added to ${format}, in either half of the registers, whatever MODE rounds to`, () => {
      const round = (sum: bigint): bigint => (format === 'f16' ? f16(fromF32(sum)) : convert(sum, F32, BF16));
      for (const [opSel, shift] of [
        [0, 0n],
        [4, 16n],
      ] as const) {
        const wave = new TestWave();
        const c = factors[format](2);
        const mode: FloatMode = { ...DEFAULT_MODE, round32: TOWARD_ZERO, round64: TOWARD_ZERO };
        placeFactors(wave, waveSize, 16, a, b);
        placeC(wave, waveSize, (i, j) => (c(i, j) << shift) | (0x1234n << (16n - shift)));
        for (let i = 0; i < 8; i++) wave.vgprs[D + i]!.fill(0x55556666);
        run(wave, waveSize, waveMultiplyHalf(format), { op_sel: opSel }, { mode });
        const kept = opSel ? 0x6666n : 0x55550000n;
        check(wave, waveSize, (i, j) => (round(dot(format, [a, b], widen[format](c(i, j)), i, j)) << shift) | kept);
      }
    });
  }

  test(`wave${waveSize}: NEG and NEG_HI negate the halves of A and B; of C they take the sign`, () => {
    const [a, b] = [f16Pattern(0), f16Pattern(1)];
    const wave = new TestWave();
    placeFactors(wave, waveSize, 16, a, b);
    placeC(wave, waveSize, f32Pattern);
    run(wave, waveSize, waveMultiplyF32('f16'), { neg: 0b101, neg_hi: 0b110 });
    const negated =
      (matrix: Matrix, negates: (row: number, column: number) => boolean): Matrix =>
      (row, column) =>
        matrix(row, column) ^ (negates(row, column) ? 0x8000n : 0n);
    const x = negated(a, (_, k) => k % 2 === 0);
    const y = negated(b, (k) => k % 2 === 1);
    check(wave, waveSize, (i, j) => dot('f16', [x, y], f32Pattern(i, j) | 0x80000000n, i, j));
  });

  for (const width of [8, 4] as const) {
    test(`wave${waveSize}: integers of ${width} bits, signed or not, wrapped or saturated`, () => {
      const [a, b] = [pattern(width, 0), pattern(width, 1)];
      for (const neg of [0, 1, 2, 3]) {
        for (const clamp of [0, 1]) {
          const c: Matrix = (i, j) => ((i + j) % 3 ? BigInt(i * 1000 - j) : 0x7ffffff0n) & 0xffffffffn;
          const wave = new TestWave();
          placeFactors(wave, waveSize, width, a, b);
          placeC(wave, waveSize, c);
          run(wave, waveSize, waveMultiplyIntegers(width), { neg, clamp }, { factor: width === 8 ? 'b128' : 'b64' });
          const value = (bit: number, bits: bigint): bigint => ((neg >> bit) & 1 ? BigInt.asIntN(width, bits) : bits);
          check(wave, waveSize, (i, j) => {
            let sum = BigInt.asIntN(32, c(i, j));
            for (let k = 0; k < 16; k++) sum += value(0, a(i, k)) * value(1, b(k, j));
            const saturated = sum > 0x7fffffffn ? 0x7fffffffn : sum < -0x80000000n ? -0x80000000n : sum;
            return BigInt.asUintN(32, clamp ? saturated : sum);
          });
        }
      }
    });
  }

  test(`wave${waveSize}: C can be an inline constant`, () => {
    const two = 244;
    const ones = { f16: () => 0x3c00n, bf16: () => 0x3f80n };
    for (const format of ['f16', 'bf16'] as const) {
      const wave = new TestWave();
      placeFactors(wave, waveSize, 16, ones[format], ones[format]);
      run(wave, waveSize, waveMultiplyF32(format), { src2: two });
      check(wave, waveSize, () => f32(18));
      run(wave, waveSize, waveMultiplyHalf(format), { src2: two }, { constant: format === 'f16' ? 'f16' : 'b32' });
      check(wave, waveSize, () => (f32(18) & 0xffff0000n) | (format === 'f16' ? f16(18) : 0x4190n));
    }
    const wave = new TestWave();
    placeFactors(
      wave,
      waveSize,
      8,
      () => 0xffn,
      () => 1n,
    );
    run(wave, waveSize, waveMultiplyIntegers(8), { src2: 193, neg: 1 }, { factor: 'b128' });
    check(wave, waveSize, () => BigInt.asUintN(32, -17n));
  });
}

test('scalar registers, and clamp of floats, are refused', () => {
  for (const fields of [{ src0: 4 }, { src1: 128 }, { src2: 4 }, { clamp: 1 }]) {
    assert.throws(
      () => run(new TestWave(), 32, waveMultiplyF32('f16'), fields),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED',
    );
  }
});
