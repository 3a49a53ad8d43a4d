import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Builder } from './builder.ts';
import { F16, fusedMultiplyAdd, NEAREST_EVEN } from './float-bits.ts';
import type { FloatMode } from './float-builder.ts';
import type { Value } from './types.ts';

const KEEP: FloatMode = {
  round32: NEAREST_EVEN,
  round64: NEAREST_EVEN,
  flush32: { inputs: false, results: false },
  flush64: { inputs: false, results: false },
  ieee: true,
  dx10Clamp: true,
};
const FLUSH: FloatMode = {
  ...KEEP,
  flush32: { inputs: true, results: true },
  flush64: { inputs: true, results: true },
};

const constant = (value: Value): bigint => {
  assert.equal(value.leaf.kind, 'const');
  return value.leaf.kind === 'const' ? value.leaf.value : 0n;
};
const bits16 = (value: Value): bigint => BigInt.asUintN(16, constant(value));
const bits32 = (value: Value): bigint => BigInt.asUintN(32, constant(value));
const half = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.constantFrom(0, 1, 0x8000, 0x3ff, 0x400, 0x7bff, 0x7c00, 0x7c01, 0xfe00),
);

test('f16 arithmetic through wider formats is rounded once', () => {
  const b = new Builder(64, KEEP);
  const one = 0x3c00n;
  fc.assert(
    fc.property(half, half, half, (x, y, z) => {
      const [p, q, r] = [BigInt(x), BigInt(y), BigInt(z)];
      const [a, c, d] = [b.i32(x), b.i32(y), b.i32(z)];
      assert.equal(bits16(b.f16.fma(a, c, d)), fusedMultiplyAdd(p, q, r, F16), `fma(${x}, ${y}, ${z})`);
      assert.equal(bits16(b.f16.add(a, c)), fusedMultiplyAdd(p, one, q, F16), `${x} + ${y}`);
      const zeroOfProductSign = (p ^ q) & 0x8000n;
      assert.equal(bits16(b.f16.mul(a, c)), fusedMultiplyAdd(p, q, zeroOfProductSign, F16), `${x} * ${y}`);
    }),
    { numRuns: 3000 },
  );
});

test('minimum and maximum follow the IEEE rules of the manual', () => {
  const b = new Builder(64, KEEP);
  const min = (x: number, y: number): bigint => bits32(b.f32.min(b.i32(x), b.i32(y)));
  const max = (x: number, y: number): bigint => bits32(b.f32.max(b.i32(x), b.i32(y)));
  assert.equal(min(0x80000000, 0), 0x80000000n);
  assert.equal(min(0, 0x80000000), 0x80000000n);
  assert.equal(max(0x80000000, 0), 0n);
  assert.equal(max(0, 0x80000000), 0n);
  assert.equal(min(0x7fc00000, 0x3f800000), 0x3f800000n);
  assert.equal(max(0x3f800000, 0xffc00001), 0x3f800000n);
  assert.equal(min(0x7f800001, 0x3f800000), 0x7fc00001n);
  assert.equal(min(0x40000000, 0x3f800000), 0x3f800000n);
  const plain = new Builder(64, { ...KEEP, ieee: false });
  assert.equal(bits32(plain.f32.min(plain.i32(0x7f800001), plain.i32(0x3f800000))), 0x3f800000n);
});

test('denormals are flushed as the mode says, with their sign', () => {
  const b = new Builder(64, FLUSH);
  assert.equal(bits32(b.f32.add(b.i32(0x80000001), b.i32(0x80000000))), 0x80000000n);
  assert.equal(bits32(b.f32.mul(b.i32(0x00800000), b.i32(0x3f000000))), 0n);
  assert.equal(bits32(b.f32.add(b.i32(0x00800000), b.i32(0x00800000))), 0x01000000n);
  assert.equal(constant(b.f32.lt(b.i32(0), b.i32(1))), 0n);
  const inputs = new Builder(64, { ...KEEP, flush32: { inputs: true, results: false } });
  assert.equal(bits32(inputs.f32.mul(inputs.i32(0x00800000), inputs.i32(0x3f000000))), 0x00400000n);
});

test('clamp gives 0 for NaN with DX10_CLAMP, and no negative zero', () => {
  const b = new Builder(64, KEEP);
  const clamp = (x: number): bigint => bits32(b.f32.clamp(b.i32(x)));
  assert.deepEqual([0x7fc00000, 0x80000000, 0xbf800000, 0x40000000, 0x3f000000].map(clamp), [
    0n,
    0n,
    0n,
    0x3f800000n,
    0x3f000000n,
  ]);
});

test('equal pure operations are one value; loads are not', () => {
  const b = new Builder(64, KEEP);
  const x = b.operand({ operand: 0, dword: 0 }, true);
  assert.equal(b.add(x, b.i32(1)), b.add(x, b.i32(1)));
  assert.notEqual(b.load('lds', 4, x)[0], b.load('lds', 4, x)[0]);
});
