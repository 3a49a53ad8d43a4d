/** What gfx942 has beyond gfx90a. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { DEFAULT_MODE, PRIVATE_SIZE_BYTES, TestWave } from '../semantics/machine.test-support.ts';
import { expectAll, FLUSHING, run } from './vector.test-support.ts';

const OFF = 0x7f;
const CDNA3 = { processor: 'gfx942' };

const view = new DataView(new ArrayBuffer(8));
function f32Bits(value: number): bigint {
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
}
function f32Value(bits: bigint): number {
  view.setUint32(0, Number(bits));
  return view.getFloat32(0);
}

interface SmallFloat {
  readonly name: 'fp8' | 'bf8';
  readonly fractionBits: number;
  readonly bias: number;
}
const SMALL_FLOATS: readonly SmallFloat[] = [
  { name: 'fp8', fractionBits: 3, bias: 8 },
  { name: 'bf8', fractionBits: 2, bias: 16 },
];

/** CDNA3 ISA 7.2, table 30. */
function numberOf({ fractionBits, bias }: SmallFloat, code: number): number {
  if (code === 0x80) return NaN;
  const exponent = (code & 0x7f) >> fractionBits;
  const fraction = (code & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const magnitude = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias);
  return code & 0x80 ? -magnitude : magnitude;
}

/** The nearest code by looking at all of them; one step beyond the largest stands for what overflows. */
function codeOf(format: SmallFloat, value: number): number {
  if (Number.isNaN(value)) return 0x80;
  const values = Array.from({ length: 128 }, (_, code) => numberOf(format, code));
  const candidates = [...values, 2 * values[127]! - values[126]!];
  const distance = candidates.map((candidate) => Math.abs(candidate - Math.abs(value)));
  const smallest = Math.min(...distance);
  const nearest = distance.flatMap((d, code) => (d === smallest ? [code] : []));
  const code = Math.abs(value) > candidates[128]! ? 128 : (nearest.find((each) => each % 2 === 0) ?? nearest[0]!);
  return code === 128 ? 0x80 : code === 0 ? 0 : code | (value < 0 ? 0x80 : 0);
}

const f32Of = (format: SmallFloat, code: number): bigint =>
  code === 0x80 ? 0x7fc00000n : f32Bits(numberOf(format, code));

const CODES = Array.from({ length: 256 }, (_, code) => code);

for (const format of SMALL_FLOATS) {
  const { name } = format;

  test(`v_cvt_f32_${name} and v_cvt_pk_f32_${name} convert every code`, () => {
    const tuples = CODES.map((code) => [BigInt(code) | (BigInt(255 - code) << 8n) | 0xab000000n]);
    const byte = (dword: bigint, i: number): number => Number((dword >> BigInt(8 * i)) & 0xffn);
    expectAll(`v_cvt_f32_${name}`, tuples, (x) => f32Of(format, byte(x, 0)), CDNA3);
    expectAll(`v_cvt_f32_${name}`, tuples, (x) => f32Of(format, byte(x, 0)), { ...CDNA3, format: 'VOP3' });
    expectAll(
      `v_cvt_pk_f32_${name}`,
      tuples,
      (x) => f32Of(format, byte(x, 0)) | (f32Of(format, byte(x, 1)) << 32n),
      CDNA3,
    );
    for (const select of [0, 1, 2, 3]) {
      const options = { ...CDNA3, format: 'VOP1_SDWA', fields: { src0_sel: select, dst_sel: 6 } } as const;
      expectAll(`v_cvt_f32_${name}`, tuples, (x) => f32Of(format, byte(x, select)), options);
    }
  });

  const numbers = [
    ...CODES.map((code) => numberOf(format, code)),
    ...CODES.slice(0, 127).flatMap((code) => {
      const middle = (numberOf(format, code) + numberOf(format, code + 1)) / 2;
      return [middle, -middle, middle * (1 + 2 ** -20), middle * (1 - 2 ** -20)];
    }),
    ...[0, -0, 1e-30, -1e-30, 247.9, 248, 248.1, -248, 61439, 61440, -61441, 1e30, -3e38, Infinity, -Infinity, NaN],
  ].map((value) => f32Bits(value));

  test(`v_cvt_pk_${name}_f32 rounds to the nearest, even in a tie; op_sel chooses the half`, () => {
    const tuples = numbers.map((bits, i) => [bits, numbers[(i * 7 + 3) % numbers.length]!]);
    const pair = (x: bigint, y: bigint): bigint =>
      BigInt(codeOf(format, f32Value(x)) | (codeOf(format, f32Value(y)) << 8));
    const before = 0x1234abcdn;
    expectAll(`v_cvt_pk_${name}_f32`, tuples, (x, y) => pair(x, y) | 0x12340000n, { ...CDNA3, before });
    expectAll(`v_cvt_pk_${name}_f32`, tuples, (x, y) => (pair(x, y) << 16n) | 0xabcdn, {
      ...CDNA3,
      before,
      fields: { op_sel: 8 },
    });
    const [[negated]] = run(`v_cvt_pk_${name}_f32`, [[f32Bits(1), f32Bits(-2)]], {
      ...CDNA3,
      before,
      fields: { neg: 1, abs: 2 },
    }) as [[bigint]];
    assert.equal(negated, BigInt(codeOf(format, -1) | (codeOf(format, 2) << 8)) | 0x12340000n);
  });

  test(`v_cvt_pk_${name}_f32 with FP16_OVFL saturates`, () => {
    const wave = new TestWave();
    wave.mode |= 1 << 23;
    const inputs = [1e9, -Infinity, NaN, numberOf(format, 127)];
    for (const [lane, value] of inputs.entries()) wave.vgprs[4]![lane] = Number(BigInt.asIntN(32, f32Bits(value)));
    const fields = { vdst: 2, src0: 256 + 4, src1: 128 };
    wave.run(encode(`v_cvt_pk_${name}_f32`, fields, undefined, 'gfx942'), 'gfx942');
    assert.deepEqual([...wave.vgprs[2]!.slice(0, 4)], [0x7f, 0xff, 0x80, 0x7f]);
  });
}

test('v_mov_b64', () => {
  expectAll('v_mov_b64', [[0n], [0x0123456789abcdefn], [0xffffffffffffffffn]], (x) => x, CDNA3);
});

test('v_lshl_add_u64 shifts by 0 to 4', () => {
  const tuples = [0n, 1n, 0x8000_0000_0000_0001n, 0x0123_4567_89ab_cdefn].flatMap((x) =>
    [0n, 1n, 2n, 3n, 4n, 5n, 7n, 8n, 12n].map((amount) => [x, amount, 0xffff_ffff_ffff_fff0n]),
  );
  const count = (amount: bigint): bigint => ((amount & 7n) > 4n ? 0n : amount & 7n);
  expectAll('v_lshl_add_u64', tuples, (x, amount, y) => BigInt.asUintN(64, (x << count(amount)) + y), CDNA3);
});

test('v_fmamk_f32 and v_fmaak_f32 round once', () => {
  // (1 + 2^-12)^2 - 1 - 2^-11 = 2^-24, of which a rounded product leaves nothing.
  const x = f32Bits(1 + 2 ** -12);
  const y = f32Bits(-1 - 2 ** -11);
  expectAll('v_fmamk_f32', [[x, y]], () => f32Bits(2 ** -24), { ...CDNA3, literal: Number(x) });
  expectAll('v_fmaak_f32', [[x, x]], () => f32Bits(2 ** -24), { ...CDNA3, literal: Number(y) });
});

test('scratch addresses: a VGPR, an SGPR, both or none', () => {
  const wave = new TestWave();
  const lane = 5;
  for (let i = 0; i < PRIVATE_SIZE_BYTES; i += 4) wave.privateSegment.setInt32(lane * PRIVATE_SIZE_BYTES + i, i, true);
  wave.vgprs[2]!.fill(64);
  wave.sgprs[6] = 256;
  const cases: [FieldValues, number][] = [
    [{ saddr: OFF, sve: 1 }, 64 + 12],
    [{ saddr: 6, sve: 0 }, 256 + 12],
    [{ saddr: 6, sve: 1 }, 256 + 64 + 12],
    [{ saddr: OFF, sve: 0 }, 12],
  ];
  for (const [fields, expected] of cases) {
    wave.run(encode('scratch_load_dword', { ...fields, addr: 2, vdst: 8, offset: 12 }, undefined, 'gfx942'), 'gfx942');
    assert.equal(wave.vgprs[8]![lane], expected, JSON.stringify(fields));
  }
});

const PACKED_BF16: readonly (readonly [old: number, data: number, sum: number])[] = [
  [0x3f80_4000, 0x3f80_3f80, 0x4000_4040], // 1 + 1, 2 + 1
  [0x3f80_3f81, 0x3b80_3b80, 0x3f80_3f82], // half a unit in the last place more: ties to even
  [0x7f80_7f80, 0xff80_3f80, 0x7fc0_7f80], // infinities
  [0x7f81_3f80, 0x3f80_7fc5, 0x7fc1_7fc5], // a NaN stays, quieted
  [0x7f7f_ff7f, 0x7f7f_ff7f, 0x7f80_ff80], // overflow
];
/** Kept in the cache, flushed in the LDS where MODE says so. */
const DENORMAL_BF16 = [0x0001_8001, 0x0002_8003, 0x0003_8004] as const;

test('packed bf16 atomics in memory keep denormals', () => {
  for (const [old, data, sum] of [...PACKED_BF16, DENORMAL_BF16]) {
    for (const name of ['flat_atomic_pk_add_bf16', 'global_atomic_pk_add_bf16']) {
      const wave = new TestWave();
      wave.exec = 1n;
      wave.vgprs[2]![0] = 0x1000;
      wave.vgprs[4]![0] = data;
      wave.memory.setInt32(0x1000, old, true);
      const fields = { addr: 2, data: 4, vdst: 8, glc: 1, ...(name.startsWith('global') && { saddr: OFF }) };
      wave.run(encode(name, fields, undefined, 'gfx942'), 'gfx942', FLUSHING);
      assert.equal(wave.memory.getUint32(0x1000, true).toString(16), sum.toString(16), name);
      assert.equal(wave.vgprs[8]![0], old | 0);
    }
  }
});

test('packed atomics in the LDS', () => {
  const cases: [string, number, number, number, typeof FLUSHING][] = [
    ...PACKED_BF16.map(
      ([old, data, sum]) => ['bf16', old, data, sum, DEFAULT_MODE] as [string, number, number, number, typeof FLUSHING],
    ),
    ['bf16', ...DENORMAL_BF16, DEFAULT_MODE],
    ['bf16', DENORMAL_BF16[0], DENORMAL_BF16[1], 0x0000_8000, FLUSHING],
    ['f16', 0x3c00_3c00, 0x3c00_0001, 0x4000_3c00, DEFAULT_MODE],
    ['f16', 0x0001_7bff, 0x0001_7bff, 0x0002_7c00, DEFAULT_MODE],
    ['f16', 0x0001_3c00, 0x0001_3c00, 0x0000_4000, FLUSHING],
  ];
  for (const [type, old, data, sum, mode] of cases) {
    for (const rtn of ['', '_rtn']) {
      const wave = new TestWave();
      wave.exec = 2n;
      wave.vgprs[2]![1] = 0x20;
      wave.vgprs[4]![1] = data;
      wave.lds.setInt32(0x24, old, true);
      const fields = { addr: 2, data0: 4, offset: 4, ...(rtn && { vdst: 8 }) };
      wave.run(encode(`ds_pk_add${rtn}_${type}`, fields, undefined, 'gfx942'), 'gfx942', mode);
      assert.equal(wave.lds.getUint32(0x24, true).toString(16), sum.toString(16), `${type} ${old.toString(16)}`);
      assert.equal(wave.vgprs[8]![1], rtn ? old | 0 : 0);
    }
  }
});

test('instructions that CDNA3 dropped are unknown', () => {
  const wave = new TestWave();
  assert.throws(() => wave.run(encode('v_mac_f32', { vdst: 2, src0: 260, src1: 6 }), 'gfx942'), /unknown/);
});
