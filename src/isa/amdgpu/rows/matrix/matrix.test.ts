import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { TOWARD_ZERO } from '../../../../ir/float-bits.ts';
import type { FloatMode } from '../../../../ir/float-builder.ts';
import { encodingsOf } from '../../encoding/encodings.ts';
import { targetFor } from '../../encoding/targets.ts';
import { DEFAULT_MODE, TestWave } from '../../semantics/machine.test-support.ts';
import { FLUSHING, f32, f64, fromF32 } from '../vector.test-support.ts';
import {
  compare,
  execute,
  expected,
  inputPlace,
  type Matrix,
  type Operands,
  place,
  productOf,
  REGISTERS,
  randomMatrix,
  result,
} from './matrix.test-support.ts';
import { matrixRows } from './matrix.ts';

/** Pairs of different columns, ascending, of a sparse row. */
const PAIRS = [
  [0, 1],
  [0, 2],
  [0, 3],
  [1, 2],
  [1, 3],
  [2, 3],
] as const;
const index = (i: number, stored: number): number => PAIRS[(i * 5 + (stored >> 1)) % 6]![stored & 1]!;

for (const processor of ['gfx90a', 'gfx942']) {
  const names = matrixRows()
    .flatMap((row) => encodingsOf(row, targetFor(processor)))
    .map(({ name }) => name);
  for (const name of names) {
    test(`${processor} ${name}`, () => {
      const product = productOf(name, processor);
      const { left, right, sum, sparse } = product;
      for (const fill of ['finite', 'edges'] as const) {
        const operands: Operands = {
          a: randomMatrix(left, 1, fill),
          b: randomMatrix(right, 2, fill),
          c: randomMatrix(sum, 3, fill),
          ...(sparse && { index }),
        };
        const mode = fill === 'edges' ? FLUSHING : DEFAULT_MODE;
        const wave = new TestWave();
        place(wave, product, operands);
        execute(wave, product, {}, mode);
        compare(wave, product, (...at) => expected(product, operands, mode, at));
      }
    });
  }
}

const ramp: Matrix = (block, i, j) => f32(block * 100 + i * 7 - j * 3 + 1);
const zero: Matrix = () => 0n;

test('CBSZ and ABID: one block of A stands for all', () => {
  const product = productOf('v_mfma_f32_16x16x1_4b_f32', 'gfx942');
  for (const [cbsz, abid, source] of [
    [1, 1, (block: number) => 2 + (block % 2)],
    [2, 3, () => 3],
  ] as const) {
    const operands: Operands = { a: ramp, b: randomMatrix('f32', 5, 'finite'), c: zero };
    const wave = new TestWave();
    place(wave, product, operands);
    execute(wave, product, { cbsz, abid });
    const broadcast: Operands = { ...operands, a: (block, i, k) => ramp(source(block), i, k) };
    compare(wave, product, (...at) => expected(product, broadcast, DEFAULT_MODE, at));
  }
});

test('BLGP permutes the lanes of B', () => {
  const product = productOf('v_mfma_f32_32x32x2f32', 'gfx90a');
  const source = [
    (l: number) => l,
    (l: number) => l % 32,
    (l: number) => (l % 32) + 32,
    (l: number) => (l + 16) % 64,
    (l: number) => l % 16,
    (l: number) => (l % 16) + 16,
    (l: number) => (l % 16) + 32,
    (l: number) => (l % 16) + 48,
  ];
  for (let blgp = 0; blgp < 8; blgp++) {
    const operands: Operands = { a: randomMatrix('f32', 6, 'finite'), b: ramp, c: ramp };
    const wave = new TestWave();
    place(wave, product, operands);
    execute(wave, product, { blgp });
    const b: Matrix = (block, k, j) => {
      const lane = source[blgp]!(inputPlace({ blocks: 1, size: 32, k: 2 }, block, j, k)[1]);
      return ramp(0, lane >> 5, lane & 31);
    };
    compare(wave, product, (...at) => expected(product, { ...operands, b }, DEFAULT_MODE, at));
  }
});

test('BLGP negates the doubles of CDNA3 and does nothing to those of CDNA2; CBSZ is not looked at', () => {
  const c: Matrix = (_, i, j) => f64(i * 1000 + j);
  const a: Matrix = (block, i, k) => f64(block + i + k + 1);
  const b: Matrix = (_, k, j) => f64(k - j);
  const negated = (matrix: Matrix, bit: number): Matrix => (bit ? (...at) => matrix(...at) ^ (1n << 63n) : matrix);
  for (const [name, processor] of [
    ['v_mfma_f64_4x4x4_4b_f64', 'gfx942'],
    ['v_mfma_f64_16x16x4f64', 'gfx90a'],
  ] as const) {
    const product = productOf(name, processor);
    for (const blgp of [1, 2, 4, 7]) {
      const wave = new TestWave();
      place(wave, product, { a, b, c });
      execute(wave, product, { blgp, cbsz: 1, abid: 1 });
      const bits = processor === 'gfx942' ? blgp : 0;
      const operands = { a: negated(a, bits & 1), b: negated(b, bits & 2), c: negated(c, bits & 4) };
      compare(wave, product, (...at) => expected(product, operands, DEFAULT_MODE, at));
    }
  }
});

test('ABID chooses a set of indices of a sparse matrix, unless CBSZ takes the first', () => {
  for (const [name, sets] of [
    ['v_smfmac_f32_16x16x32_bf16', 4],
    ['v_smfmac_i32_32x32x32_i8', 2],
  ] as const) {
    const product = productOf(name, 'gfx942');
    for (let set = 0; set < sets; set++) {
      const format = product.left;
      const a = randomMatrix(format, 7, 'finite');
      const b = randomMatrix(format, 8, 'finite');
      const operands: Operands = { a, b, c: zero, index };
      for (const cbsz of set === 0 ? [0, 1] : [0]) {
        const wave = new TestWave();
        wave.vgprs[20]!.fill(0x1b1b1b1b);
        place(wave, product, operands, set);
        execute(wave, product, { cbsz, abid: cbsz ? sets - 1 : set });
        compare(wave, product, (...at) => expected(product, operands, DEFAULT_MODE, at));
      }
    }
  }
});

test('C can be an inline constant: an f32, an f64 or an integer', () => {
  const constants = { minusOne: 193, two: 244, zero: 128 };
  for (const [name, src2, c] of [
    ['v_mfma_f32_32x32x2_f32', constants.two, f32(2)],
    ['v_mfma_f64_16x16x4_f64', constants.two, f64(2)],
    ['v_mfma_f64_4x4x4_4b_f64', constants.two, f64(2)],
    ['v_mfma_i32_4x4x4_16b_i8', constants.minusOne, 0xffffffffn],
    ['v_mfma_f32_16x16x16_f16', constants.zero, 0n],
  ] as const) {
    const product = productOf(name, 'gfx942');
    const operands: Operands = {
      a: randomMatrix(product.left, 9, 'finite'),
      b: randomMatrix(product.left, 10, 'finite'),
      c: randomMatrix(product.sum, 11, 'finite'),
    };
    const wave = new TestWave();
    place(wave, product, operands);
    execute(wave, product, { src2 });
    compare(wave, product, (...at) => expected(product, { ...operands, c: () => c }, DEFAULT_MODE, at));
  }
});

test('matrices in accumulator registers, a result over A and B', () => {
  const product = productOf('v_mfma_f32_16x16x4f32', 'gfx90a');
  const operands: Operands = { a: ramp, b: ramp, c: ramp };
  const wave = new TestWave();
  place(wave, product, operands);
  for (const register of [REGISTERS.src0, 64, 65, 66, 67]) wave.vgprs[256 + register]!.set(wave.vgprs[register]!);
  wave.vgprs[REGISTERS.src0]!.fill(0);
  for (const register of [64, 65, 66, 67]) wave.vgprs[register]!.fill(0);
  execute(wave, product, { acc_ab: 1, acc_cd: 1 });
  for (const register of [64, 65, 66, 67]) {
    assert.ok(wave.vgprs[register]!.every((value) => value === 0));
    wave.vgprs[register]!.set(wave.vgprs[256 + register]!);
  }
  compare(wave, product, (...at) => expected(product, operands, DEFAULT_MODE, at));

  const overlapping = new TestWave();
  place(overlapping, product, operands);
  overlapping.vgprs[10]!.set(overlapping.vgprs[REGISTERS.src0]!);
  overlapping.vgprs[11]!.set(overlapping.vgprs[REGISTERS.src1]!);
  execute(overlapping, product, { src0: 256 + 10, src1: 256 + 11, vdst: 10 });
  for (let i = 0; i < 4; i++) overlapping.vgprs[64 + i]!.set(overlapping.vgprs[10 + i]!);
  compare(overlapping, product, (...at) => expected(product, operands, DEFAULT_MODE, at));
});

/** D of matrices with one number everywhere in the first column of A, the first row of B and in C. */
function constantProduct(
  name: string,
  processor: string,
  [a, b, c]: readonly [a: bigint, b: bigint, c: bigint],
  mode = DEFAULT_MODE,
): bigint {
  const product = productOf(name, processor);
  const wave = new TestWave();
  place(wave, product, { a: (...[, , k]) => (k === 0 ? a : 0n), b: (_, k) => (k === 0 ? b : 0n), c: () => c });
  execute(wave, product, {}, mode);
  const first = result(wave, product, 0, 0, 0);
  compare(wave, product, () => first);
  return first;
}

test('denormals: CDNA2 flushes halves and has f32 follow MODE, CDNA3 flushes nothing but f32 in A and B', () => {
  const cases: [name: string, cdna3: string, a: bigint, b: bigint, c: bigint, kept: bigint, flushed: bigint][] = [
    // A denormal of A, of B, of C, of D; a sum of denormals.
    ['v_mfma_f32_16x16x16f16', 'v_mfma_f32_16x16x16_f16', 0x0001n, 0x7000n, 0n, f32(2 ** -11), 0n],
    ['v_mfma_f32_16x16x16f16', 'v_mfma_f32_16x16x16_f16', 0x7000n, 0x83ffn, 0n, f32(-1023 / 2 ** 11), 0n],
    ['v_mfma_f32_16x16x16f16', 'v_mfma_f32_16x16x16_f16', 0n, 0n, 0x80000123n, 0x80000123n, 0n],
    ['v_mfma_f32_4x4x4bf16_1k', 'v_mfma_f32_4x4x4_16b_bf16', 0x0001n, 0x7f00n, 0n, f32(2 ** -6), 0n],
    ['v_mfma_f32_4x4x4bf16_1k', 'v_mfma_f32_4x4x4_16b_bf16', 0x2000n, 0x9f80n, 0n, 0x80400000n, 0x80000000n],
  ];
  for (const [name, cdna3, a, b, c, kept, flushed] of cases) {
    for (const mode of [DEFAULT_MODE, FLUSHING]) {
      assert.equal(constantProduct(name, 'gfx90a', [a, b, c], mode), flushed, name);
      assert.equal(constantProduct(cdna3, 'gfx942', [a, b, c], mode), kept, cdna3);
    }
  }
  const [cdna2, cdna3] = ['v_mfma_f32_32x32x2f32', 'v_mfma_f32_32x32x2_f32'];
  const f32Cases: [a: bigint, b: bigint, c: bigint, kept: bigint, flushed: bigint, flushedCdna3: bigint][] = [
    [1n, f32(2 ** 20), 0n, f32(2 ** -129), 0n, 0n],
    [f32(2 ** 20), 0x80000001n, 0n, f32(-(2 ** -129)), 0n, 0n],
    [0n, 0n, 5n, 5n, 0n, 5n],
    [f32(2 ** -70), f32(2 ** -70), 0n, f32(2 ** -140), 0n, f32(2 ** -140)],
  ];
  for (const [a, b, c, kept, flushed, flushedCdna3] of f32Cases) {
    assert.equal(constantProduct(cdna2, 'gfx90a', [a, b, c]), kept);
    assert.equal(constantProduct(cdna3, 'gfx942', [a, b, c]), kept);
    assert.equal(constantProduct(cdna2, 'gfx90a', [a, b, c], FLUSHING), flushed);
    assert.equal(constantProduct(cdna3, 'gfx942', [a, b, c], FLUSHING), flushedCdna3);
  }
});

test('MODE says nothing about the rounding of sums', () => {
  const mode: FloatMode = { ...DEFAULT_MODE, round32: TOWARD_ZERO, round64: TOWARD_ZERO };
  const up = 1 + 2 ** -23;
  assert.equal(constantProduct('v_mfma_f32_16x16x4f32', 'gfx90a', [f32(up), f32(up), 0n], mode), 0x3f800002n);
  assert.equal(constantProduct('v_mfma_f32_16x16x4f32', 'gfx90a', [f32(1.5), f32(up), 0n], mode), 0x3fc00002n);
  assert.equal(constantProduct('v_mfma_f64_16x16x4f64', 'gfx90a', [f64(3), f64(1 / 3), 0n], mode), f64(1));
});

test('xf32 has 10 bits of fraction, to nearest even', () => {
  const name = 'v_mfma_f32_16x16x8_xf32';
  const rounded = (bits: bigint): bigint => constantProduct(name, 'gfx942', [bits, f32(1), 0n]);
  assert.equal(rounded(0x3f801000n), 0x3f800000n, 'a tie, even');
  assert.equal(rounded(0x3f803000n), 0x3f804000n, 'a tie, odd');
  assert.equal(rounded(0x3f801001n), 0x3f802000n);
  assert.equal(rounded(0x3fffffffn), 0x40000000n, 'carries into the exponent');
  assert.equal(rounded(0x7f7fffffn), 0x7f800000n, 'and to infinity');
  assert.equal(rounded(0x00003000n), 0x00004000n, 'a denormal stays one');
});

test('a product by hand', () => {
  const wave = new TestWave();
  const product = productOf('v_mfma_f32_4x4x1_16b_f32', 'gfx942');
  wave.vgprs[REGISTERS.src0]!.fill(Number(f32(3)));
  wave.vgprs[REGISTERS.src1]!.fill(Number(f32(5)));
  wave.vgprs[REGISTERS.vdst]!.fill(Number(f32(0.5)));
  execute(wave, product);
  assert.equal(fromF32(BigInt(wave.vgprs[REGISTERS.vdst]![63]!)), 15.5);
  assert.equal(fromF32(BigInt(wave.vgprs[REGISTERS.vdst + 3]![0]!)), 15);
});

test('scalar registers are refused by name', () => {
  const product = productOf('v_mfma_f32_16x16x4f32', 'gfx90a');
  for (const fields of [{ src0: 5 }, { src1: 242 }, { src2: 6 }]) {
    assert.throws(
      () => execute(new TestWave(), product, fields),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && /mfma.*src/.test(error.message),
    );
  }
});
