import { test } from 'node:test';
import { scaled } from '../../../../ir/exact-rounding.test-support.ts';
import { DEFAULT_MODE } from '../../semantics/machine.test-support.ts';
import {
  check,
  combinations,
  expectAll,
  F16_EDGES,
  F32_EDGES,
  F64_EDGES,
  FLUSHING,
  f16,
  f32,
  f64,
  fromF16,
  fromF32,
  fromF64,
  randomBits,
  rounded,
} from '../vector.test-support.ts';

const u = (x: bigint): bigint => BigInt.asUintN(32, x);
const isNan32 = (x: bigint): boolean => Number.isNaN(fromF32(x));
const NUMBERS = F32_EDGES.filter((x) => !isNan32(x));
const TRIPLES = combinations(NUMBERS.slice(0, 12), NUMBERS, NUMBERS.slice(4, 16));
const flush = (x: number): number => (Math.abs(x) < 2 ** -126 ? Math.sign(x) * 0 : x);

check(
  'v_mad_f32',
  TRIPLES,
  rounded('f32', (x, y, z) => flush(Math.fround(flush(Math.fround(flush(x) * flush(y))) + flush(z)))),
);
const legacy = (x: number, y: number): number => (x === 0 || y === 0 ? 0 : Math.fround(x * y));
check('v_mul_legacy_f32', combinations(NUMBERS, NUMBERS), rounded('f32', legacy));
check(
  'v_mad_legacy_f32',
  TRIPLES,
  rounded('f32', (x, y, z) => flush(flush(legacy(flush(x), flush(y))) + flush(z))),
);

const flush16 = (x: number): number => (Math.abs(x) < 2 ** -14 ? Math.sign(x) * 0 : x);
const mad16 = rounded('f16', (x, y, z) =>
  flush16(Math.f16round(flush16(Math.f16round(flush16(x) * flush16(y))) + flush16(z))),
);
const HALVES = F16_EDGES.filter((x) => !Number.isNaN(fromF16(x)));
const HALF_TRIPLES = combinations(HALVES.slice(0, 10), HALVES, HALVES.slice(3, 13));
check('v_mad_legacy_f16', HALF_TRIPLES, mad16);
check('v_mad_f16', HALF_TRIPLES, (...sources) => 0x5555_0000n | mad16(...sources), { before: 0x5555_6666n });

test('fused multiply-add rounds once', () => {
  // x * x = 1 + 2^-22 + 2^-46 and its rounding is 1 + 2^-22: what is left shows that the product was exact.
  const x = f32(1 + 2 ** -23);
  expectAll('v_fma_f32', [[x, x, f32(-(1 + 2 ** -22))]], () => f32(2 ** -46));
  expectAll('v_mad_f32', [[x, x, f32(-(1 + 2 ** -22))]], () => 0n);
  const y = f64(1 + 2 ** -52);
  expectAll('v_fma_f64', [[y, y, f64(-(1 + 2 ** -51))]], () => f64(2 ** -104));
  const z = f16(1 + 2 ** -10);
  for (const name of ['v_fma_f16', 'v_fma_legacy_f16'])
    expectAll(name, [[z, z, f16(-(1 + 2 ** -9))]], () => f16(2 ** -20), { before: 0n });
});

for (const [name, compute] of [
  ['v_add_f64', (x: number, y: number) => x + y],
  ['v_mul_f64', (x: number, y: number) => x * y],
] as const) {
  check(name, combinations(F64_EDGES, F64_EDGES), rounded('f64', compute));
}
const F64_NUMBERS = F64_EDGES.filter((x) => !Number.isNaN(fromF64(x)));
check('v_min_f64', combinations(F64_NUMBERS, F64_NUMBERS), rounded('f64', Math.min));
check('v_max_f64', combinations(F64_NUMBERS, F64_NUMBERS), rounded('f64', Math.max));

const middle = (...values: number[]): number => values.sort((x, y) => x - y)[1]!;
for (const [type, numbers] of [
  ['f32', NUMBERS.slice(2)],
  ['f16', HALVES.slice(2)],
] as const) {
  const triples = combinations(numbers, numbers.slice(0, 8), numbers.slice(4));
  check(`v_min3_${type}`, triples, rounded(type, Math.min));
  check(`v_max3_${type}`, triples, rounded(type, Math.max));
  check(`v_med3_${type}`, triples, rounded(type, middle));
}
test('order of a NaN: the smallest of the others', () => {
  expectAll(
    'v_med3_f32',
    [
      [f32(2), 0x7fc00000n, f32(1)],
      [0x7fc00000n, f32(5), f32(4)],
    ],
    (...x) => f32(Math.min(...x.map(fromF32).filter((y) => !Number.isNaN(y)))),
  );
  // In IEEE mode the signalling NaN is the result of the first comparison; the second takes the number.
  expectAll('v_min3_f32', [[0x7f800001n, f32(1), f32(2)]], () => f32(2));
  expectAll('v_min3_f32', [[0x7f800001n, f32(1), f32(2)]], () => f32(1), { mode: { ...DEFAULT_MODE, ieee: false } });
});

// Powers of two

const POWERS = [
  0n,
  1n,
  u(-1n),
  24n,
  127n,
  128n,
  300n,
  u(-126n),
  u(-149n),
  u(-150n),
  u(-300n),
  0x7fff_ffffn,
  0x8000_0000n,
];
const clampPower = (n: bigint): number =>
  Number(BigInt.asIntN(32, n) > 5000n ? 5000n : BigInt.asIntN(32, n) < -5000n ? -5000n : BigInt.asIntN(32, n));
/** x * 2^n as an exact fraction, rounded to nearest even by Number. */
function scaled64(x: number, n: number): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  if (n > 0) {
    let value = x;
    for (let rest = n; rest > 0 && Number.isFinite(value); rest--) value *= 2;
    return value;
  }
  // Halve while the value stays normal, then once more with all that is left, as an integer quotient.
  let value = x;
  let rest = -n;
  for (; rest > 0 && Math.abs(value) >= 2 ** -1021; rest--) value /= 2;
  if (rest === 0) return value;
  const steps = BigInt(Math.round(Math.abs(value) * 2 ** 537 * 2 ** 537));
  const divisor = 1n << BigInt(rest);
  let quotient = steps / divisor;
  const twice = (steps % divisor) * 2n;
  if (twice > divisor || (twice === divisor && quotient % 2n === 1n)) quotient++;
  return Math.sign(value) * Number(quotient) * 2 ** -1074;
}
check('v_ldexp_f32', combinations(F32_EDGES, POWERS), (x, n) =>
  rounded('f32', (value) => scaled64(value, clampPower(n)))(x),
);
const POWERS_64 = [
  ...POWERS,
  1023n,
  1024n,
  2046n,
  2100n,
  u(-1022n),
  u(-1074n),
  u(-1075n),
  u(-1076n),
  u(-2046n),
  u(-2100n),
];
check('v_ldexp_f64', combinations([...F64_EDGES, f64(1 + 2 ** -52), f64(1.5), f64(3 - 2 ** -51)], POWERS_64), (x, n) =>
  rounded('f64', (value) => scaled64(value, clampPower(n)))(x),
);

test('v_ldexp_f64 rounds once on its way to a denormal', () => {
  // Just below and above halves of the smallest step: a first rounding to some bits more would make them
  // halves.
  const tuples = [3, 4, -7].flatMap((k) =>
    [-(2 ** -20), 0, 2 ** -20].flatMap((offset) =>
      [-2040, -2058, -2060].map((n) => [f64((k + 0.5 + offset) * 2 ** (-1074 - n)), u(BigInt(n))]),
    ),
  );
  expectAll('v_ldexp_f64', tuples, (x, n) => f64(scaled64(fromF64(x), clampPower(n))));
});

// Packing

const pairOf =
  (convert: (x: bigint) => bigint) =>
  (x: bigint, y: bigint): bigint =>
    convert(x) | (convert(y) << 16n);
function towardZero(x: bigint): bigint {
  const value = fromF32(x);
  if (!Number.isFinite(value))
    return Number.isNaN(value) ? ((x >> 16n) & 0x8000n) | 0x7e00n | ((x >> 13n) & 0x1ffn) : f16(value);
  const nearest = f16(value);
  return Math.abs(fromF16(nearest)) > Math.abs(value) ? nearest - 1n : nearest;
}
const PACKED = combinations(
  [...F32_EDGES, f32(65519), f32(65504), f32(1 + 2 ** -11 + 2 ** -20), f32(2 ** -24 * 1.75), f32(-(2 ** -26))],
  [f32(-1.2345), f32(1e-8)],
);
check('v_cvt_pkrtz_f16_f32', PACKED, pairOf(towardZero));
function nearestEven(x: number): number {
  const floor = Math.floor(x);
  return x - floor > 0.5 || (x - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
const unit = (x: number, low: number, high: number): bigint =>
  Number.isNaN(x) ? 0n : BigInt.asUintN(16, BigInt(Math.min(Math.max(nearestEven(x * high), low), high)));
check(
  'v_cvt_pknorm_i16_f32',
  PACKED,
  pairOf((x) => unit(fromF32(x), -32767, 32767)),
);
check(
  'v_cvt_pknorm_u16_f32',
  PACKED,
  pairOf((x) => unit(fromF32(x), 0, 65535)),
);
const PACKED_16 = combinations(F16_EDGES, F16_EDGES);
check(
  'v_cvt_pknorm_i16_f16',
  PACKED_16,
  pairOf((x) => unit(fromF16(x), -32767, 32767)),
);
check(
  'v_cvt_pknorm_u16_f16',
  PACKED_16,
  pairOf((x) => unit(fromF16(x), 0, 65535)),
);
check('v_pack_b32_f16', PACKED_16, (x, y) => x | (y << 16n));
test('v_pack_b32_f16 takes halves by op_sel, with negation', () => {
  expectAll('v_pack_b32_f16', [[0x1111_2222n, 0x3333_4444n]], () => 0xc444_1111n, {
    fields: { op_sel: 0b0001, neg: 0b010 },
  });
});
const byteOf = (x: number): bigint => (Number.isNaN(x) ? 0n : BigInt(Math.trunc(Math.min(Math.max(x, 0), 255))));
const insert = (x: bigint, position: bigint, rest: bigint): bigint => {
  const shift = (position & 3n) * 8n;
  return (rest & ~(0xffn << shift)) | (byteOf(fromF32(x)) << shift);
};
const BYTES = [...F32_EDGES, f32(254.99), f32(255.5), f32(17.5)];
check('v_cvt_pk_u8_f32', combinations(BYTES, [0n, 1n, 2n, 7n], [0x1234_5678n]), insert);
check('v_cvt_pkaccum_u8_f32', combinations([0x1234_5678n], BYTES, [0n, 1n, 2n, 7n]), (d, x, position) =>
  insert(x, position, d),
);

test('output modifiers and clamp', () => {
  const relaxed = { ...FLUSHING, ieee: false };
  const options = (fields: Record<string, number>, mode = relaxed) => ({ format: 'VOP3', fields, mode }) as const;
  const [x, y] = [f32(3), f32(-0.75)];
  expectAll('v_mul_f32', [[x, y]], () => f32(-4.5), options({ omod: 1 }));
  expectAll('v_mul_f32', [[x, y]], () => f32(-9), options({ omod: 2 }));
  expectAll('v_mul_f32', [[x, y]], () => f32(-1.125), options({ omod: 3 }));
  expectAll('v_mul_f32', [[0n, y]], () => 0n, options({ omod: 3 }));
  // Ignored in IEEE mode and with denormal results allowed.
  expectAll('v_mul_f32', [[x, y]], () => f32(-2.25), options({ omod: 1 }, FLUSHING));
  expectAll('v_mul_f32', [[x, y]], () => f32(-2.25), options({ omod: 1 }, { ...DEFAULT_MODE, ieee: false }));
  expectAll('v_mul_f32', [[x, y]], () => 0n, options({ clamp: 1 }));
  expectAll('v_mul_f32', [[x, f32(0.25)]], () => f32(0.75), options({ clamp: 1 }));
  expectAll('v_mul_f32', [[x, x]], () => f32(1), options({ clamp: 1 }));
  expectAll('v_mul_f32', [[x, 0x7fc00000n]], () => 0n, options({ clamp: 1 }));
  expectAll(
    'v_mul_f32',
    [[x, 0x7fc00000n]],
    () => 0x7fc00000n,
    options({ clamp: 1 }, { ...relaxed, dx10Clamp: false }),
  );
});

test('source modifiers', () => {
  expectAll('v_fma_f32', [[f32(2), f32(-3), f32(4)]], () => f32(-2 * 3 - 4), { fields: { abs: 0b010, neg: 0b101 } });
  expectAll('v_add_f64', [[f64(2), f64(-3)]], () => f64(-1), { fields: { abs: 0b010, neg: 0b010 } });
  expectAll('v_add_f64', [[f64(2), f64(-3)]], () => f64(-5), { fields: { neg: 0b001 } });
});

// Segments of 2/pi: an independent value of pi by Machin's formula, as a fraction of 2^1400.

function machinPi(bits: bigint): bigint {
  const one = 1n << bits;
  const arctan = (inverse: bigint): bigint => {
    let sum = 0n;
    let power = one / inverse;
    for (let n = 1n; power !== 0n; n += 2n, power /= inverse * inverse) sum += n % 4n === 1n ? power / n : -(power / n);
    return sum;
  };
  return 4n * (4n * arctan(5n) - arctan(239n));
}

test('v_trig_preop_f64 gives segments of 2/pi, toward zero', () => {
  const bits = 1400n;
  const twoOverPi = (2n << (2n * bits)) / machinPi(bits);
  const fraction = (twoOverPi >> (bits - 1201n)) << 3000n;
  const segmentOf = (x: bigint, segment: bigint): bigint => {
    const exponent = Number((x >> 52n) & 0x7ffn);
    const shift = Number(segment & 31n) * 53 + Math.max(exponent - 1077, 0);
    const value = Number((fraction >> BigInt(4201 - 53 - shift)) & ((1n << 53n) - 1n));
    return scaled('f64', 3, f64(value), -53 - shift + (exponent >= 1968 ? 128 : 0));
  };
  const tuples = combinations(
    [1, 2 ** 54, 2 ** 55, 2 ** 930, 1e300, 2 ** 944, 2 ** 945, 2 ** 960, 2 ** 975, 2 ** 1000, 1.7e308].map(f64),
    [0n, 1n, 2n, 3n, 4n, 5n, 18n, 31n, 33n],
  );
  for (const round64 of [0, 1] as const) {
    expectAll('v_trig_preop_f64', tuples, segmentOf, { mode: { ...DEFAULT_MODE, round64 } });
  }
});

test('random products and sums', () => {
  const words = randomBits(300, 9);
  const tuples = words.map((bits) => [bits & 0xffff_ffffn, bits >> 32n]).filter((pair) => !pair.some(isNan32));
  expectAll('v_mul_legacy_f32', tuples, rounded('f32', legacy));
});
