import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../encoding/encode.test-support.ts';
import {
  expectAll,
  F32_EDGES,
  F64_EDGES,
  f32,
  f64,
  fromF32,
  fromF64,
  randomBits,
} from '../rows/vector.test-support.ts';
import { TestWave } from './machine.test-support.ts';

const v = (register: number): number => 256 + register;
const VCC = 106;
const ONE = 242;
const [DENOMINATOR, NUMERATOR, SCALED_D, SCALED_N, RECIPROCAL, T, QUOTIENT] = [2, 4, 6, 8, 10, 12, 14];

/**
 * The sequence that LLVM's fdiv becomes on gfx9: Newton-Raphson on the scaled sources, then the two fix-ups.
 */
function divide(wave: TestWave, type: 'f32' | 'f64'): void {
  type Sources = readonly [number, number, number];
  const step = (name: string, vdst: number, [s0, s1, s2]: Sources, modifiers = {}): void => {
    wave.run(encode(`${name}_${type}`, { vdst, src0: s0, src1: s1, src2: s2, ...modifiers }));
  };
  const scale = (vdst: number, source: number, sdst: number): void =>
    step('v_div_scale', vdst, [v(source), v(DENOMINATOR), v(NUMERATOR)], { sdst });
  const negated = { neg: 1 };
  scale(SCALED_D, DENOMINATOR, 20);
  scale(SCALED_N, NUMERATOR, VCC);
  wave.run(encode(`v_rcp_${type}`, { vdst: RECIPROCAL, src0: v(SCALED_D) }));
  for (let iteration = 0; iteration < (type === 'f64' ? 2 : 1); iteration++) {
    step('v_fma', T, [v(SCALED_D), v(RECIPROCAL), ONE], negated);
    step('v_fma', RECIPROCAL, [v(T), v(RECIPROCAL), v(RECIPROCAL)]);
  }
  wave.run(encode(`v_mul_${type}`, { vdst: QUOTIENT, src0: v(SCALED_N), src1: v(RECIPROCAL) }, 'VOP3'));
  if (type === 'f32') {
    step('v_fma', T, [v(SCALED_D), v(QUOTIENT), v(SCALED_N)], negated);
    step('v_fma', QUOTIENT, [v(T), v(RECIPROCAL), v(QUOTIENT)]);
  }
  step('v_fma', T, [v(SCALED_D), v(QUOTIENT), v(SCALED_N)], negated);
  step('v_div_fmas', QUOTIENT, [v(T), v(RECIPROCAL), v(QUOTIENT)]);
  step('v_div_fixup', QUOTIENT, [v(QUOTIENT), v(DENOMINATOR), v(NUMERATOR)]);
}

function quotients(type: 'f32' | 'f64', pairs: readonly (readonly [bigint, bigint])[]): bigint[] {
  const wave = new TestWave();
  const results: bigint[] = [];
  const dwords = type === 'f32' ? [0] : [0, 1];
  for (let start = 0; start < pairs.length; start += 64) {
    const chunk = pairs.slice(start, start + 64);
    chunk.forEach((pair, lane) => {
      for (const dword of dwords) {
        [NUMERATOR, DENOMINATOR].forEach((register, i) => {
          wave.vgprs[register! + dword]![lane] = Number(BigInt.asIntN(32, pair[i]! >> BigInt(32 * dword)));
        });
      }
    });
    divide(wave, type);
    chunk.forEach((_, lane) => {
      const parts = dwords.map(
        (dword) => BigInt.asUintN(32, BigInt(wave.vgprs[QUOTIENT! + dword]![lane]!)) << BigInt(32 * dword),
      );
      results.push(parts.reduce((sum, part) => sum | part));
    });
  }
  return results;
}

function checkQuotients(type: 'f32' | 'f64', pairs: readonly (readonly [bigint, bigint])[]): void {
  const [read, write] = type === 'f32' ? [fromF32, f32] : [fromF64, f64];
  quotients(type, pairs).forEach((result, i) => {
    const [numerator, denominator] = pairs[i]!;
    const expected = read(numerator) / read(denominator);
    const what = `0x${numerator.toString(16)} / 0x${denominator.toString(16)}`;
    if (Number.isNaN(expected)) assert.ok(Number.isNaN(read(result)), what);
    else assert.equal(result.toString(16), write(expected).toString(16), what);
  });
}

/** Numbers of all sizes: every exponent, few bits and many bits set. */
const pairsOf = (words: readonly bigint[], bits: number): [bigint, bigint][] =>
  words.map((word, i) => [
    BigInt.asUintN(bits, word),
    BigInt.asUintN(bits, words[(i * 7 + 3) % words.length]! >> BigInt(i % 3)),
  ]);

test('a division of f32 by steps is correctly rounded', () => {
  checkQuotients(
    'f32',
    F32_EDGES.flatMap((x) => F32_EDGES.map((y) => [x, y] as const)),
  );
  checkQuotients('f32', pairsOf(randomBits(2000, 11), 32));
});

test('denormal quotients of f32 are rounded once', () => {
  // Quotients around 2^-127: the exponents of numerator and denominator differ by 126 to 150.
  const pairs = randomBits(1500, 5).map((bits, i) => {
    const difference = 124n + BigInt(i % 27);
    const denominatorExponent = 130n + ((bits >> 50n) & 0x7fn);
    const numeratorExponent = denominatorExponent > difference ? denominatorExponent - difference : 1n;
    return [
      (numeratorExponent << 23n) | (bits & 0x7fffffn),
      (denominatorExponent << 23n) | ((bits >> 23n) & 0x7fffffn),
    ] as const;
  });
  checkQuotients('f32', pairs);
  // Halves of the smallest step, exact and nearly so.
  const odd = [1, 3, 5, -7, -9];
  const offsets = [0, 2 ** -20, -(2 ** -20)];
  checkQuotients(
    'f32',
    odd.flatMap((k) => offsets.map((offset) => [f32(2 ** -120 * k * (1 + offset)), f32(2 ** 30)] as const)),
  );
});

test('a division of f64 by steps is correctly rounded', () => {
  checkQuotients(
    'f64',
    F64_EDGES.flatMap((x) => F64_EDGES.map((y) => [x, y] as const)),
  );
  checkQuotients('f64', pairsOf(randomBits(1000, 13), 64));
});

test('denormal quotients of f64 are rounded once', () => {
  const pairs = randomBits(1000, 6).map((bits, i) => {
    const difference = 1020n + BigInt(i % 56);
    const denominatorExponent = difference + 2n + ((bits >> 55n) & 0x1ffn);
    const exponent = denominatorExponent > 2046n ? 2046n : denominatorExponent;
    const fraction = (1n << 52n) - 1n;
    return [
      ((exponent - difference) << 52n) | (bits & fraction),
      (exponent << 52n) | ((bits >> 9n) & fraction),
    ] as const;
  });
  checkQuotients('f64', pairs);
});

test('v_div_scale: the cases of the manual', () => {
  const scaled = (s0: number, s1: number, s2: number, value: number, flag: boolean): void =>
    expectAll('v_div_scale_f32', [[f32(s0), f32(s1), f32(s2)]], () => [f32(value), flag]);
  scaled(1, 1, 3, 1, false);
  scaled(3, 1, 3, 3, false);
  // The quotient is near the largest number: only the denominator is scaled.
  scaled(1, 1, 2 ** 127, 2 ** 64, true);
  scaled(2 ** 127, 1, 2 ** 127, 2 ** 127, true);
  // The denominator is denormal.
  scaled(2 ** -140, 2 ** -140, 2 ** -130, 2 ** -76, false);
  // The reciprocal is denormal, with and without the quotient.
  scaled(2 ** 127, 2 ** 127, 2 ** 100, 2 ** 63, false);
  scaled(2 ** 127, 2 ** 127, 1, 2 ** 63, true);
  scaled(1, 2 ** 127, 1, 1, true);
  // Only the quotient is denormal; the numerator is tiny.
  scaled(2 ** -20, 2 ** 120, 2 ** -20, 2 ** 44, true);
  scaled(2 ** -120, 2 ** -100, 2 ** -120, 2 ** -56, false);
});

test('v_div_fmas scales where VCC is on, by the size of the addend', () => {
  const wave = new TestWave();
  wave.vcc = 0b101n;
  for (const [register, value] of [
    [4, 2],
    [8, 3],
  ] as const)
    wave.vgprs[register]!.fill(Number(BigInt.asIntN(32, f32(value))));
  wave.vgprs[12]!.fill(Number(f32(1)));
  wave.vgprs[12]![2] = Number(f32(2));
  wave.run(encode('v_div_fmas_f32', { vdst: 16, src0: v(4), src1: v(8), src2: v(12) }));
  const expected = [7 * 2 ** -64, 7, 8 * 2 ** 64, 7].map((value) => Number(BigInt.asIntN(32, f32(value))));
  assert.deepEqual([...wave.vgprs[16]!.slice(0, 4)], expected);
});

test('v_div_fixup: NaN, zero and infinity', () => {
  const NAN = 0x7fc00001n;
  const [INF, ONE_, ZERO, BIG] = [0x7f800000n, f32(1), 0n, f32(9)];
  const cases: [bigint, bigint, bigint, bigint][] = [
    [BIG, ONE_, 0x7f800001n, 0x7fc00001n],
    [BIG, NAN, ONE_, NAN],
    [BIG, ZERO, ZERO, 0xffc00000n],
    [BIG, INF, INF, 0xffc00000n],
    [BIG, f32(-0), ONE_, 0xff800000n],
    [BIG, f32(-1), INF, 0xff800000n],
    [BIG, INF, f32(-1), f32(-0)],
    [BIG, f32(-2), ZERO, f32(-0)],
    [BIG, f32(2), f32(-1), f32(-9)],
    [BIG, f32(2 ** 100), f32(2 ** -60), 0n],
  ];
  for (const name of ['v_div_fixup_f32']) {
    expectAll(
      name,
      cases.map(([q, d, n]) => [q, d, n]),
      (q, d, n) => cases.find((c) => c[0] === q && c[1] === d && c[2] === n)![3],
    );
  }
  expectAll('v_div_fixup_f16', [[0x4200n, 0x8000n, 0x3c00n]], () => 0xfc00n, { before: 0n });
  expectAll('v_div_fixup_legacy_f16', [[0x4200n, 0x0000n, 0x0000n]], () => 0xfe00n);
});
