import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32, EDGES_64 } from '../scalar.test-support.ts';
import {
  combinations,
  expectAll,
  F16_EDGES,
  F32_EDGES,
  F64_EDGES,
  FLUSHING,
  fromF16,
  fromF32,
  fromF64,
} from '../vector.test-support.ts';

const FLOAT_MODELS: readonly (readonly [string, (x: number, y: number) => boolean])[] = [
  ['f', () => false],
  ['lt', (x, y) => x < y],
  ['eq', (x, y) => x === y],
  ['le', (x, y) => x <= y],
  ['gt', (x, y) => x > y],
  ['lg', (x, y) => x < y || x > y],
  ['ge', (x, y) => x >= y],
  ['o', (x, y) => !Number.isNaN(x) && !Number.isNaN(y)],
  ['u', (x, y) => Number.isNaN(x) || Number.isNaN(y)],
  ['nge', (x, y) => !(x >= y)],
  ['nlg', (x, y) => !(x < y || x > y)],
  ['ngt', (x, y) => !(x > y)],
  ['nle', (x, y) => !(x <= y)],
  ['neq', (x, y) => !(x === y)],
  ['nlt', (x, y) => !(x < y)],
  ['tru', () => true],
];
const READERS = { f16: [fromF16, F16_EDGES], f32: [fromF32, F32_EDGES], f64: [fromF64, F64_EDGES] } as const;

for (const [type, [read, edges]] of Object.entries(READERS)) {
  test(`v_cmp of ${type}`, () => {
    const pairs = combinations(edges, edges);
    for (const [name, model] of FLOAT_MODELS) {
      for (const format of ['VOPC', 'VOP3'] as const) {
        expectAll(`v_cmp_${name}_${type}`, pairs, (x, y) => [undefined, model(read(x), read(y))], { format });
      }
    }
  });
}

const INTEGER_MODELS: readonly (readonly [string, (x: bigint, y: bigint) => boolean])[] = [
  ['f', () => false],
  ['lt', (x, y) => x < y],
  ['eq', (x, y) => x === y],
  ['le', (x, y) => x <= y],
  ['gt', (x, y) => x > y],
  ['ne', (x, y) => x !== y],
  ['ge', (x, y) => x >= y],
  ['t', () => true],
];

for (const bits of [16, 32, 64]) {
  for (const [letter, read] of [
    ['i', BigInt.asIntN],
    ['u', BigInt.asUintN],
  ] as const) {
    test(`v_cmp of ${letter}${bits}`, () => {
      const edges = bits === 64 ? EDGES_64 : EDGES_32;
      for (const [name, model] of INTEGER_MODELS) {
        expectAll(`v_cmp_${name}_${letter}${bits}`, combinations(edges, edges), (x, y) => [
          undefined,
          model(read(bits, x), read(bits, y)),
        ]);
      }
    });
  }
}

test('v_cmp_class tells ten classes apart', () => {
  const classes = {
    f32: [
      0x7f800001n,
      0x7fc00000n,
      0xff800000n,
      0xbf800000n,
      0x80000001n,
      0x80000000n,
      0n,
      0x007fffffn,
      0x00800000n,
      0x7f800000n,
    ],
    f64: [
      0xfff0000000000001n,
      0xfff8000000000000n,
      0xfff0000000000000n,
      0x8010000000000000n,
      0x800fffffffffffffn,
      1n << 63n,
      0n,
      1n,
      1n << 62n,
      0x7ff0000000000000n,
    ],
    f16: [0x7c01n, 0x7e00n, 0xfc00n, 0x8400n, 0x83ffn, 0x8000n, 0n, 1n, 0x0400n, 0x7c00n],
  };
  for (const [type, values] of Object.entries(classes)) {
    const masks = Array.from({ length: 10 }, (_, bit) => 1n << BigInt(bit));
    const model = (x: bigint, mask: bigint) => [undefined, masks[values.indexOf(x)] === mask] as const;
    expectAll(`v_cmp_class_${type}`, combinations(values, masks), model);
    expectAll(`v_cmp_class_${type}`, combinations(values, [0n, 0x3ffn]), (_, mask) => [undefined, mask !== 0n]);
  }
});

test('v_cmp flushes denormals as MODE says', () => {
  expectAll('v_cmp_eq_f32', [[1n, 0x80000002n]], () => [undefined, true], { mode: FLUSHING });
  expectAll('v_cmp_eq_f32', [[1n, 0x80000002n]], () => [undefined, false]);
});

test('v_cmpx writes EXEC and its destination', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.forEach((_, lane, lanes) => {
    lanes[lane] = lane;
  });
  wave.exec = 0xffn;
  wave.run(encode('v_cmpx_lt_u32', { src0: 128 + 3, src1: 4 }));
  assert.deepEqual([wave.exec, wave.vcc], [0xf0n, 0xf0n]);
  wave.exec = 0xffn;
  wave.run(encode('v_cmpx_class_f32', { vdst: 10, src0: 128, src1: 256 + 4 }, 'VOP3'));
  // Class 6, positive zero: bit 6 of the lane number is never set.
  assert.deepEqual([wave.exec, wave.pair(10), wave.vcc], [0n, 0n, 0xf0n]);
});

test('a comparison of scalars holds for every lane that is on', () => {
  const wave = new TestWave();
  wave.exec = 0x5n;
  wave.sgprs[3] = 8;
  wave.run(encode('v_cmp_eq_u32', { vdst: 10, src0: 3, src1: 128 + 8 }, 'VOP3'));
  assert.equal(wave.pair(10), 5n);
});
