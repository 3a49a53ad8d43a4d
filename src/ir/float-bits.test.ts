import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { convert, F16, F32, F64, fusedMultiplyAdd } from './float-bits.ts';

const view = new DataView(new ArrayBuffer(8));
const fromHost64 = (value: number): bigint => {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
};
const fromHost32 = (value: number): bigint => {
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
};
const fromHost16 = (value: number): bigint => {
  view.setFloat16(0, value);
  return BigInt(view.getUint16(0));
};
const toHost32 = (bits: bigint): number => {
  view.setUint32(0, Number(bits));
  return view.getFloat32(0);
};

/** Doubles of every magnitude, close to the edges of the narrower formats too. */
const doubles = fc.oneof(
  fc.double({ noNaN: true }),
  fc.double({ noNaN: true, min: -7e4, max: 7e4 }),
  fc
    .tuple(fc.integer({ min: -(2 ** 26), max: 2 ** 26 }), fc.integer({ min: -170, max: 130 }))
    .map(([m, e]) => m * 2 ** e),
);

test('narrowing rounds as the host does', () => {
  fc.assert(
    fc.property(doubles, (value) => {
      assert.equal(convert(fromHost64(value), F64, F32), fromHost32(value));
      assert.equal(convert(fromHost64(value), F64, F16), fromHost16(value));
    }),
    { numRuns: 3000 },
  );
});

test('a NaN keeps sign and the top of its payload, quieted', () => {
  assert.equal(convert(0xfff0000020000000n, F64, F32), 0xffc00001n);
  assert.equal(convert(0x7c01n, F16, F32), 0x7fc02000n);
  assert.equal(convert(0xffa00000n, F32, F16), 0xff00n);
});

test('a fused multiply-add of f32 is the f64 result, rounded once, where f64 is exact', () => {
  const small = fc.integer({ min: -(2 ** 12), max: 2 ** 12 });
  const exponent = fc.integer({ min: -10, max: 10 });
  fc.assert(
    fc.property(small, small, fc.integer({ min: -(2 ** 23), max: 2 ** 23 }), exponent, (a, b, c, e) => {
      const scaled = c * 2 ** e;
      const expected = fromHost32(a * b + scaled);
      assert.equal(fusedMultiplyAdd(fromHost32(a), fromHost32(b), fromHost32(scaled), F32), expected);
    }),
    { numRuns: 2000 },
  );
});

test('the product of a fused multiply-add is not rounded', () => {
  const x = 1 + 2 ** -12;
  assert.equal(toHost32(fusedMultiplyAdd(fromHost32(x), fromHost32(x), fromHost32(-(1 + 2 ** -11)), F32)), 2 ** -24);
  const y = 1 + 2 ** -30;
  assert.equal(fusedMultiplyAdd(fromHost64(y), fromHost64(y), fromHost64(-(1 + 2 ** -29)), F64), fromHost64(2 ** -60));
});

test('special values of a fused multiply-add', () => {
  const inf = 0x7f800000n;
  const one = 0x3f800000n;
  const zero = 0n;
  const negativeZero = 0x80000000n;
  assert.equal(fusedMultiplyAdd(inf, zero, one, F32), 0x7fc00000n);
  assert.equal(fusedMultiplyAdd(inf, one, inf | negativeZero, F32), 0x7fc00000n);
  assert.equal(fusedMultiplyAdd(inf, one | negativeZero, one, F32), inf | negativeZero);
  assert.equal(fusedMultiplyAdd(one, 0x7fa00001n, 0xffc00002n, F32), 0x7fe00001n);
  assert.equal(fusedMultiplyAdd(negativeZero, one, negativeZero, F32), negativeZero);
  assert.equal(fusedMultiplyAdd(negativeZero, one, zero, F32), zero);
  assert.equal(fusedMultiplyAdd(one, one, one | negativeZero, F32), zero);
});
