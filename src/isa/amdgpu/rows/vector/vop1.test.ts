import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { EDGES_32 } from '../scalar.test-support.ts';
import {
  check,
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

const ones = (values: readonly bigint[]): bigint[][] => values.map((value) => [value]);
const u = (x: bigint): bigint => BigInt.asUintN(32, x);
const bits = (x: bigint): string => x.toString(2).padStart(32, '0');
const orNone = (index: number): bigint => u(BigInt(index));

check('v_mov_b32', ones(EDGES_32), (x) => x);
check('v_not_b32', ones(EDGES_32), (x) => u(~x));
check('v_bfrev_b32', ones(EDGES_32), (x) => BigInt(`0b${[...bits(x)].reverse().join('')}`));
check('v_ffbh_u32', ones([...EDGES_32, 0x100000ffn]), (x) => orNone(bits(x).indexOf('1')));
check('v_ffbl_b32', ones([...EDGES_32, 0xff000008n]), (x) => orNone([...bits(x)].reverse().indexOf('1')));
check('v_ffbh_i32', ones([...EDGES_32, 0x40000000n, 0x0fffffffn]), (x) =>
  orNone(bits(x).indexOf(bits(x)[0] === '1' ? '0' : '1')),
);
check('v_sat_pk_u8_i16', ones([0x0001_0100n, 0x8000_7fffn, 0x00ff_ffffn, 0x0100_0080n]), (x) => {
  const saturate = (half: bigint): bigint => (half < 0n ? 0n : half > 255n ? 255n : half);
  return saturate(BigInt.asIntN(16, x)) | (saturate(BigInt.asIntN(16, x >> 16n)) << 8n);
});

test('v_swap_b32 exchanges the lanes that are on', () => {
  const wave = new TestWave();
  wave.vgprs[2]!.fill(5);
  wave.vgprs[4]!.fill(9);
  wave.exec = 0xfn;
  wave.run(encode('v_swap_b32', { vdst: 2, src0: 256 + 4 }));
  assert.deepEqual([...wave.vgprs[2]!.slice(3, 5), ...wave.vgprs[4]!.slice(3, 5)], [9, 5, 5, 9]);
});

test('v_readfirstlane_b32 reads the lowest lane that is on, lane 0 when none is', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.forEach((_, lane, lanes) => {
    lanes[lane] = lane * 3;
  });
  for (const [exec, lane] of [
    [-1n, 0],
    [0xf000_0000_0000_0000n, 60],
    [0x8000_0000n, 31],
    [0n, 0],
  ] as const) {
    wave.exec = exec;
    wave.run(encode('v_readfirstlane_b32', { vdst: 7, src0: 256 + 4 }));
    assert.equal(wave.sgprs[7], lane * 3);
  }
  wave.sgprs[9] = 77;
  wave.run(encode('v_readfirstlane_b32', { vdst: 7, src0: 9 }));
  assert.equal(wave.sgprs[7], 77);
});

test('v_accvgpr_mov_b32 stays among the accumulator registers', () => {
  const wave = new TestWave();
  wave.vgprs[256 + 4]!.fill(11);
  wave.run(encode('v_accvgpr_mov_b32', { vdst: 2, src0: 256 + 4 }));
  assert.deepEqual([wave.vgprs[256 + 2]![5], wave.vgprs[2]![5]], [11, 0]);
});

test('v_nop and v_clrexcp do nothing', () => {
  const wave = new TestWave();
  assert.equal(wave.run(encode('v_nop', {})).row.name, 'v_nop');
  assert.equal(wave.run(encode('v_clrexcp', {})).row.name, 'v_clrexcp');
});

// Conversions

const toInteger =
  (low: number, high: number) =>
  (x: number): bigint =>
    Number.isNaN(x) ? 0n : BigInt(Math.trunc(Math.min(Math.max(x, low), high)));
const toI32 = toInteger(-(2 ** 31), 2 ** 31 - 1);
const toU32 = toInteger(0, 2 ** 32 - 1);
const F32S = ones(F32_EDGES);
const F64S = ones(F64_EDGES);
const F16S = ones(F16_EDGES);
const INTS = ones(EDGES_32);

check('v_cvt_i32_f32', F32S, (x) => u(toI32(fromF32(x))));
check('v_cvt_u32_f32', F32S, (x) => toU32(fromF32(x)));
check('v_cvt_i32_f64', F64S, (x) => u(toI32(fromF64(x))));
check('v_cvt_u32_f64', F64S, (x) => toU32(fromF64(x)));
check('v_cvt_i32_f32', F32S, (x) => u(toI32(fromF32(x))), { format: 'VOP3', fields: { clamp: 1 } });
check('v_cvt_flr_i32_f32', F32S, (x) => u(toI32(Math.floor(fromF32(x)))));
check('v_cvt_rpi_i32_f32', F32S, (x) => u(toI32(Math.floor(Math.fround(fromF32(x) + 0.5)))));
check('v_cvt_f32_i32', INTS, (x) => f32(Number(BigInt.asIntN(32, x))));
check('v_cvt_f32_u32', INTS, (x) => f32(Number(x)));
check('v_cvt_f64_i32', INTS, (x) => f64(Number(BigInt.asIntN(32, x))));
check('v_cvt_f64_u32', INTS, (x) => f64(Number(x)));
for (const byte of [0n, 1n, 2n, 3n]) {
  check(`v_cvt_f32_ubyte${byte}`, ones([0x01ff_7f80n, 0x8040_ff00n]), (x) => f32(Number((x >> (byte * 8n)) & 0xffn)));
}
check('v_cvt_off_f32_i4', ones([0n, 1n, 7n, 8n, 15n, 0xf3n]), (x) => f32(Number(BigInt.asIntN(4, x)) / 16));
const NOT_NAN_32 = F32S.filter(([x]) => !Number.isNaN(fromF32(x!)));
check('v_cvt_f16_f32', [...NOT_NAN_32, ...ones([f32(65519), f32(65520), f32(2 ** -25), f32(3 * 2 ** -25)])], (x) =>
  f16(fromF32(x)),
);
check('v_cvt_f64_f32', NOT_NAN_32, (x) => f64(fromF32(x)));
check(
  'v_cvt_f32_f64',
  F64S.filter(([x]) => !Number.isNaN(fromF64(x!))),
  (x) => f32(fromF64(x)),
);
check(
  'v_cvt_f32_f16',
  F16S.filter(([x]) => !Number.isNaN(fromF16(x!))),
  (x) => f32(fromF16(x)),
);
check('v_cvt_f16_u16', INTS, (x) => f16(Number(x & 0xffffn)));
check('v_cvt_f16_i16', INTS, (x) => f16(Number(BigInt.asIntN(16, x))));
check('v_cvt_u16_f16', F16S, (x) => toInteger(0, 65535)(fromF16(x)));
check('v_cvt_i16_f16', F16S, (x) => BigInt.asUintN(16, toInteger(-32768, 32767)(fromF16(x))));

test('conversions of NaN keep sign and payload, quieted', () => {
  expectAll('v_cvt_f64_f32', [[0xff812345n]], () => 0xfff02468a0000000n | 0x8000000000000n);
  expectAll('v_cvt_f16_f32', [[0x7f812345n]], () => 0x7e09n);
  expectAll('v_cvt_f32_f16', [[0xfc01n]], () => 0xffc02000n);
});

/** Ties go to even. */
function nearest(x: number): number {
  const floor = Math.floor(x);
  return x - floor > 0.5 || (x - floor === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}
const unit = (x: number, low: number, high: number): bigint =>
  Number.isNaN(x) ? 0n : BigInt.asUintN(16, BigInt(Math.min(Math.max(nearest(x * high), low), high)));
check('v_cvt_norm_i16_f16', F16S, (x) => unit(fromF16(x), -32767, 32767));
check('v_cvt_norm_u16_f16', F16S, (x) => unit(fromF16(x), 0, 65535));

// Rounding to whole numbers and fractions

const KEEP_ZERO_SIGN = (x: number): number => (nearest(x) === 0 && (x < 0 || Object.is(x, -0)) ? -0 : nearest(x));
for (const [name, compute] of [
  ['v_trunc', Math.trunc],
  ['v_ceil', Math.ceil],
  ['v_floor', Math.floor],
  ['v_rndne', KEEP_ZERO_SIGN],
] as const) {
  check(`${name}_f32`, F32S, rounded('f32', compute));
  check(`${name}_f64`, F64S, rounded('f64', compute));
  check(`${name}_f16`, F16S, rounded('f16', compute));
}
check(
  'v_fract_f32',
  [...F32S, [f32(-1e-30)], [f32(2.75)]],
  rounded('f32', (x) => Math.min(Math.fround(x - Math.floor(x)), 1 - 2 ** -24)),
);
check(
  'v_fract_f64',
  [...F64S, [f64(-1e-300)]],
  rounded('f64', (x) => Math.min(x - Math.floor(x), 1 - 2 ** -53)),
);
check(
  'v_fract_f16',
  F16S,
  rounded('f16', (x) => Math.min(Math.f16round(x - Math.floor(x)), 1 - 2 ** -11)),
);

// Roots and reciprocals

/** Negative numbers, but not -0, have the negative NaN for a result. */
const rootOf =
  (type: 'f16' | 'f32' | 'f64', compute: (x: number) => number) =>
  (x: bigint): bigint => {
    const [value, nan] =
      type === 'f16'
        ? [fromF16(x), 0xfe00n]
        : type === 'f32'
          ? [fromF32(x), 0xffc00000n]
          : [fromF64(x), 0xfff8000000000000n];
    return value < 0 ? nan : rounded(type, compute)(x);
  };
const flush = (x: number): number => (Math.abs(x) < 2 ** -126 ? Math.sign(x) * 0 : x);
const flushedRoot =
  (compute: (x: number) => number) =>
  (x: bigint): bigint =>
    rootOf('f32', compute)(Number.isNaN(fromF32(x)) ? x : f32(flush(fromF32(x))));
check(
  'v_rcp_f32',
  F32S,
  rounded('f32', (x) => flush(Math.fround(1 / flush(x)))),
);
check(
  'v_rcp_iflag_f32',
  F32S,
  rounded('f32', (x) => flush(Math.fround(1 / flush(x)))),
);
check(
  'v_rcp_f64',
  F64S,
  rounded('f64', (x) => 1 / x),
);
check(
  'v_rcp_f16',
  F16S,
  rounded('f16', (x) => 1 / x),
);
check('v_sqrt_f32', [...F32S, [f32(2)], [f32(4)]], flushedRoot(Math.sqrt));
check('v_sqrt_f64', F64S, rootOf('f64', Math.sqrt));
check('v_sqrt_f16', F16S, rootOf('f16', Math.sqrt));
check(
  'v_rsq_f32',
  [...F32S, [f32(2)], [f32(4)]],
  flushedRoot((x) => 1 / Math.sqrt(x)),
);
check(
  'v_rsq_f64',
  F64S,
  rootOf('f64', (x) => 1 / Math.sqrt(x)),
);
check(
  'v_rsq_f16',
  F16S,
  rootOf('f16', (x) => 1 / Math.sqrt(x)),
);

test('the examples of the manual', () => {
  const examples: [string, bigint, bigint][] = [
    ['v_rcp_f32', 0xff800000n, 0x80000000n],
    ['v_rcp_f32', 0xc0000000n, 0xbf000000n],
    ['v_rcp_f32', 0x80000000n, 0xff800000n],
    ['v_rsq_f32', 0xff800000n, 0xffc00000n],
    ['v_rsq_f32', 0x80000000n, 0xff800000n],
    ['v_rsq_f32', 0x40800000n, 0x3f000000n],
    ['v_sqrt_f32', 0xff800000n, 0xffc00000n],
    ['v_sqrt_f16', 0xfc00n, 0xfe00n],
    ['v_rsq_f16', 0x8000n, 0xfc00n],
  ];
  for (const [name, x, result] of examples) expectAll(name, [[x]], () => result);
});

// Mantissa and exponent

function parts(value: number): [mantissa: number, exponent: number] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0];
  let exponent = 0;
  let mantissa = value;
  for (; Math.abs(mantissa) >= 1; exponent++) mantissa /= 2;
  for (; Math.abs(mantissa) < 0.5; exponent--) mantissa *= 2;
  return [mantissa, exponent];
}
check('v_frexp_exp_i32_f32', F32S, (x) => u(BigInt(parts(fromF32(x))[1])));
check('v_frexp_exp_i32_f64', F64S, (x) => u(BigInt(parts(fromF64(x))[1])));
check('v_frexp_exp_i16_f16', F16S, (x) => BigInt.asUintN(16, BigInt(parts(fromF16(x))[1])));
check('v_frexp_mant_f32', F32S, (x) => (Number.isNaN(fromF32(x)) ? x : f32(parts(fromF32(x))[0])));
check('v_frexp_mant_f64', F64S, (x) => (Number.isNaN(fromF64(x)) ? x : f64(parts(fromF64(x))[0])));
check('v_frexp_mant_f16', F16S, (x) => (Number.isNaN(fromF16(x)) ? x : f16(parts(fromF16(x))[0])));

test('MODE flushes denormals of sources and results', () => {
  expectAll('v_trunc_f32', [[0x80000001n]], () => 0x80000000n, { mode: FLUSHING });
  expectAll('v_cvt_f64_f32', [[1n]], () => 0n, { mode: FLUSHING });
  expectAll('v_cvt_f16_f32', [[f32(2 ** -20)]], () => 0n, { mode: FLUSHING });
  expectAll('v_frexp_exp_i32_f32', [[1n]], () => 0n, { mode: FLUSHING });
  expectAll('v_ceil_f32', [[1n]], () => f32(1));
});

test('random conversions', () => {
  const words = randomBits(200, 3);
  expectAll('v_cvt_f32_i32', ones(words.map(u)), (x) => f32(Number(BigInt.asIntN(32, x))));
  expectAll('v_cvt_f32_u32', ones(words.map(u)), (x) => f32(Number(x)));
});
