import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectAll, F16_EDGES, FLUSHING, f16, f32, fromF16, fromF32, randomBits, run } from './vector.test-support.ts';

const NAN = 0xffc00000n;
const INF = 0x7f800000n;

/**
 * Distance in steps of f32 of a result from the exact value; the host's functions are good to about 1e-15.
 */
function errorInSteps(result: number, exact: number): number {
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(exact))), -126);
  return Math.abs(result - exact) / 2 ** (exponent - 23);
}

function checkAccuracy(name: string, xs: readonly number[], exact: (x: number) => number): void {
  const inputs = xs.map(f32);
  const results = run(
    name,
    inputs.map((bits) => [bits]),
  );
  results.forEach(([bits], i) => {
    const x = fromF32(inputs[i]!);
    const expected = exact(x);
    if (expected === 0 || Math.abs(expected) < 2 ** -126) return;
    const error = errorInSteps(fromF32(bits!), expected);
    assert.ok(error < 0.501, `${name}(${x}): ${fromF32(bits!)} for ${expected}, ${error} ulp off`);
  });
}

const unit = randomBits(1500, 21).map((bits) => Number(bits >> 11n) / 2 ** 53);
const wide = unit.map((x, i) => (i % 2 ? -1 : 1) * 2 ** ((x - 0.5) * 240));

/** The argument is reduced exactly before the host's function sees it. */
const turns = (x: number): number => x - Math.round(x);
function sine(x: number): number {
  const t = turns(x);
  const [half, sign] = Math.abs(t) > 0.25 ? [0.5 - Math.abs(t), Math.sign(t)] : [t, 1];
  return sign * Math.sin(2 * Math.PI * half);
}
const cosine = (x: number): number => Math.sin(2 * Math.PI * (0.25 - Math.abs(turns(x))));

test('v_exp_f32 is within 0.501 ulp', () => {
  checkAccuracy(
    'v_exp_f32',
    [...unit.map((x) => (x - 0.5) * 252), ...unit.slice(0, 200).map((x) => (x - 0.5) * 1e-3)],
    (x) => 2 ** x,
  );
});
test('v_log_f32 is within 0.501 ulp', () => {
  checkAccuracy(
    'v_log_f32',
    [...wide.map(Math.abs), ...unit.map((x) => 1 + (x - 0.5) * 0.01), ...unit.map((x) => 0.71 + 0.7 * x)],
    Math.log2,
  );
});
test('v_sin_f32 and v_cos_f32 are within 0.501 ulp', () => {
  const xs = [
    ...unit.map((x) => (x - 0.5) * 4),
    ...unit.slice(0, 300).map((x) => x * 1e5),
    ...unit.slice(0, 100).map((x) => x * 1e-20),
  ];
  checkAccuracy('v_sin_f32', xs, sine);
  checkAccuracy('v_cos_f32', xs, cosine);
});

test('powers of two and their logarithms are exact', () => {
  const exponents = Array.from({ length: 254 }, (_, i) => i - 126);
  expectAll(
    'v_exp_f32',
    exponents.map((n) => [f32(n)]),
    (x) => f32(2 ** fromF32(x)),
  );
  expectAll(
    'v_log_f32',
    exponents.map((n) => [f32(2 ** n)]),
    (x) => f32(Math.log2(fromF32(x))),
  );
});

test('the examples of the manual, CDNA2 ISA 12.8', () => {
  const MAX = 0x7f7fffffn;
  const examples: [string, bigint, bigint][] = [
    ['v_exp_f32', 0xff800000n, 0n],
    ['v_exp_f32', 0x80000000n, 0x3f800000n],
    ['v_exp_f32', INF, INF],
    ['v_log_f32', 0xff800000n, NAN],
    ['v_log_f32', 0xbf800000n, NAN],
    ['v_log_f32', 0x80000000n, 0xff800000n],
    ['v_log_f32', 0n, 0xff800000n],
    ['v_log_f32', 0x3f800000n, 0n],
    ['v_log_f32', INF, INF],
    ['v_sin_f32', 0xff800000n, NAN],
    ['v_sin_f32', MAX | 0x80000000n, 0n],
    ['v_sin_f32', 0x80000000n, 0x80000000n],
    ['v_sin_f32', 0x3e800000n, 0x3f800000n],
    ['v_sin_f32', INF, NAN],
    ['v_cos_f32', 0xff800000n, NAN],
    ['v_cos_f32', MAX | 0x80000000n, 0x3f800000n],
    ['v_cos_f32', 0x80000000n, 0x3f800000n],
    ['v_cos_f32', 0x3e800000n, 0n],
    ['v_cos_f32', INF, NAN],
    ['v_log_f16', 0xfc00n, 0xfe00n],
    ['v_log_f16', 0xbc00n, 0xfe00n],
    ['v_log_f16', 0x8000n, 0xfc00n],
    ['v_log_f16', 0x3c00n, 0n],
    ['v_log_f16', 0x7c00n, 0x7c00n],
    ['v_exp_f16', 0xfc00n, 0n],
    ['v_exp_f16', 0x8000n, 0x3c00n],
    ['v_exp_f16', 0x7c00n, 0x7c00n],
    ['v_sin_f16', 0xfc00n, 0xfe00n],
    ['v_sin_f16', 0xfbffn, 0n],
    ['v_sin_f16', 0x8000n, 0x8000n],
    ['v_sin_f16', 0x3400n, 0x3c00n],
    ['v_cos_f16', 0x7bffn, 0x3c00n],
    ['v_cos_f16', 0x3400n, 0n],
  ];
  for (const [name, x, result] of examples) expectAll(name, [[x]], () => result);
});

test('NaN comes out quieted', () => {
  for (const name of ['v_exp_f32', 'v_log_f32', 'v_sin_f32', 'v_cos_f32'])
    expectAll(name, [[0xff812345n]], () => 0xffc12345n);
});

test('denormals: the exponential and the logarithm flush them, sine follows MODE', () => {
  expectAll('v_exp_f32', [[f32(-126.5)]], () => 0n);
  expectAll('v_log_f32', [[1n]], () => 0xff800000n);
  expectAll('v_sin_f32', [[1n]], () => 6n);
  expectAll('v_sin_f32', [[1n]], () => 0n, { mode: FLUSHING });
});

test('f16 forms round the f64 value', () => {
  const values = [...F16_EDGES, ...randomBits(400, 17).map((bits) => bits & 0xffffn)].filter((bits) =>
    Number.isFinite(fromF16(bits)),
  );
  const inputs = values.map((bits) => [bits]);
  expectAll('v_exp_f16', inputs, (x) => f16(2 ** fromF16(x)));
  expectAll(
    'v_log_f16',
    inputs.filter(([x]) => fromF16(x!) > 0),
    (x) => f16(Math.log2(fromF16(x))),
  );
  expectAll(
    'v_sin_f16',
    inputs.filter(([x]) => sine(fromF16(x!)) !== 0),
    (x) => f16(sine(fromF16(x))),
  );
  expectAll(
    'v_cos_f16',
    inputs.filter(([x]) => cosine(fromF16(x!)) !== 0),
    (x) => f16(cosine(fromF16(x))),
  );
});
