/**
 * What follows MODE.FP_ROUND and what does not, row by row. CDNA2 ISA 6.4, 9.5.1 and 12.7 to 12.11; CDNA3 ISA
 * 12.8 and 12.11.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  converted,
  expected,
  type FloatType,
  flushed,
  fromInteger,
  MODES,
  type Mode,
  type Operation,
  operandTuples,
  patterns,
  scaled,
} from '../../../ir/exact-rounding.test-support.ts';
import type { FloatMode } from '../../../ir/float-builder.ts';
import { encode } from '../encoding/encode.test-support.ts';
import { DEFAULT_MODE, TestWave } from '../semantics/machine.test-support.ts';
import {
  combinations,
  expectAll,
  F16_EDGES,
  F32_EDGES,
  F64_EDGES,
  FLUSHING,
  f16,
  f32,
  f64,
} from './vector.test-support.ts';

/** The type rounds by `mode`, the others differently. */
function modeFor(type: FloatType, mode: Mode, base: FloatMode = DEFAULT_MODE): FloatMode {
  const other = ((mode + 1) & 3) as Mode;
  return { ...base, round32: type === 'f32' ? mode : other, round64: type === 'f32' ? other : mode };
}

const sample = (operation: Operation, type: FloatType): bigint[][] =>
  fc.sample(operandTuples(operation, type), { numRuns: 400, seed: 7 });
const singles = (type: FloatType): bigint[][] => fc.sample(fc.tuple(patterns(type)), { numRuns: 400, seed: 7 });

const result =
  (operation: Operation, type: FloatType, mode: Mode) =>
  (...operands: bigint[]): bigint =>
    expected(operation, type, mode, operands);

const SIMPLE: readonly [string, Operation, FloatType][] = [
  ['v_add_f16', 'add', 'f16'],
  ['v_sub_f16', 'sub', 'f16'],
  ['v_mul_f16', 'mul', 'f16'],
  ['v_fma_f16', 'fma', 'f16'],
  ['v_add_f32', 'add', 'f32'],
  ['v_sub_f32', 'sub', 'f32'],
  ['v_mul_f32', 'mul', 'f32'],
  ['v_fma_f32', 'fma', 'f32'],
  ['v_add_f64', 'add', 'f64'],
  ['v_mul_f64', 'mul', 'f64'],
  ['v_fma_f64', 'fma', 'f64'],
];

for (const mode of MODES) {
  for (const [name, operation, type] of SIMPLE) {
    test(`${name}, rounding ${mode}`, () => {
      const tuples = sample(operation, type);
      const before = { before: 0n };
      expectAll(name, tuples, result(operation, type, mode), { ...before, mode: modeFor(type, mode) });
      const model = (...operands: bigint[]): bigint =>
        flushed(
          type,
          expected(
            operation,
            type,
            mode,
            operands.map((x) => flushed(type, x)),
          ),
        );
      expectAll(name, tuples, model, { ...before, mode: modeFor(type, mode, FLUSHING) });
    });
  }

  test(`product and sum rounded one after the other, rounding ${mode}`, () => {
    for (const type of ['f16', 'f32'] as const) {
      const flush = (x: bigint): bigint => flushed(type, x);
      const model = (x: bigint, y: bigint, z: bigint): bigint => {
        const product = flush(expected('mul', type, mode, [flush(x), flush(y)]));
        return flush(expected('add', type, mode, [product, flush(z)]));
      };
      const options = { mode: modeFor(type, mode), before: 0n };
      expectAll(`v_mad_${type}`, sample('fma', type), model, options);
      expectAll(
        `v_mac_${type}`,
        sample('fma', type).map(([x, y, z]) => [z!, x!, y!]),
        (z, x, y) => model(x, y, z),
        options,
      );
    }
  });

  test(`conversions, rounding ${mode}`, () => {
    const single = { mode: modeFor('f32', mode) };
    expectAll('v_cvt_f32_f64', singles('f64'), (x) => converted('f64', 'f32', mode, x), single);
    const integers = singles('f32');
    expectAll('v_cvt_f32_i32', integers, (x) => fromInteger('f32', mode, BigInt.asIntN(32, x)), single);
    expectAll('v_cvt_f32_u32', integers, (x) => fromInteger('f32', mode, x), single);
    const half = { mode: modeFor('f16', mode) };
    expectAll('v_cvt_f16_f32', singles('f32'), (x) => converted('f32', 'f16', mode, x), half);
    const shorts = singles('f16');
    expectAll('v_cvt_f16_i16', shorts, (x) => fromInteger('f16', mode, BigInt.asIntN(16, x)), half);
    expectAll('v_cvt_f16_u16', shorts, (x) => fromInteger('f16', mode, x), half);
  });

  test(`v_ldexp, rounding ${mode}`, () => {
    const u32 = (n: number): bigint => BigInt.asUintN(32, BigInt(n));
    const powers = [
      ...[0, 1, -1, 15, -14, -24, -25, -26, 127, 128, -126, -127, -149, -150, 400, -400],
      ...[1023, 1024, -1022, -1023, -1074, -1076, 2098, -2100],
    ];
    for (const type of ['f16', 'f32', 'f64'] as const) {
      const edges = { f16: F16_EDGES, f32: F32_EDGES, f64: F64_EDGES }[type];
      const odd = { f16: f16(1 + 2 ** -10), f32: f32(1 + 2 ** -23), f64: f64(1 + 2 ** -52) }[type];
      const tuples = combinations([...edges, odd, edges[1]! | odd], powers.map(u32));
      const width = type === 'f16' ? 16 : 32;
      expectAll(`v_ldexp_${type}`, tuples, (x, n) => scaled(type, mode, x, Number(BigInt.asIntN(width, n))), {
        mode: modeFor(type, mode),
      });
    }
  });

  test(`mixed precision rounds twice, the sum as f32 and the result as f16, rounding ${mode}`, () => {
    const other = ((mode + 1) & 3) as Mode;
    const tuples = sample('fma', 'f32');
    const options = { mode: modeFor('f32', mode), before: 0n };
    const sum = result('fma', 'f32', mode);
    expectAll('v_fma_mix_f32', tuples, sum, options);
    expectAll('v_fma_mixlo_f16', tuples, (...xs) => converted('f32', 'f16', other, sum(...xs)), options);
  });

  test(`packed arithmetic, rounding ${mode}`, () => {
    const pack = (low: bigint, high: bigint, bits: bigint): bigint => low | (high << bits);
    const halves = sample('mul', 'f16');
    const packed16 = halves.map(([x, y], i) => {
      const [p, q] = halves.at(-1 - i)! as [bigint, bigint];
      return [pack(x!, p, 16n), pack(y!, q, 16n)];
    });
    const low = (x: bigint, bits: number): bigint => BigInt.asUintN(bits, x);
    const both =
      (type: 'f16' | 'f32', operation: Operation) =>
      (x: bigint, y: bigint): bigint => {
        const bits = type === 'f16' ? 16 : 32;
        const shift = BigInt(bits);
        const one = (p: bigint, q: bigint): bigint => expected(operation, type, mode, [low(p, bits), low(q, bits)]);
        return pack(one(x, y), one(x >> shift, y >> shift), shift);
      };
    const fields = { op_sel_hi: 3 };
    expectAll('v_pk_mul_f16', packed16, both('f16', 'mul'), { fields, mode: modeFor('f16', mode) });
    expectAll('v_pk_add_f16', packed16, both('f16', 'add'), { fields, mode: modeFor('f16', mode) });
    const words = sample('add', 'f32');
    const packed32 = words.map(([x, y], i) => {
      const [p, q] = words.at(-1 - i)! as [bigint, bigint];
      return [pack(x!, p, 32n), pack(y!, q, 32n)];
    });
    expectAll('v_pk_mul_f32', packed32, both('f32', 'mul'), { fields, mode: modeFor('f32', mode) });
    expectAll('v_pk_add_f32', packed32, both('f32', 'add'), { fields, mode: modeFor('f32', mode) });
  });

  test(`output modifiers round, rounding ${mode}`, () => {
    const options = { format: 'VOP3', mode: modeFor('f32', mode, { ...FLUSHING, ieee: false }) } as const;
    const positive = mode === 0 || mode === 1 ? 0x7f800000n : 0x7f7fffffn;
    const negative = mode === 0 || mode === 2 ? 0xff800000n : 0xff7fffffn;
    const largest = 0x7f7fffffn;
    for (const omod of [1, 2]) {
      expectAll('v_mul_f32', [[largest, f32(1)]], () => positive, { ...options, fields: { omod } });
      expectAll('v_mul_f32', [[largest, f32(-1)]], () => negative, { ...options, fields: { omod } });
    }
    // A denormal half is flushed; the smallest normal number is twice it.
    expectAll('v_mul_f32', [[0x00fffffen, f32(1)]], () => 0n, { ...options, fields: { omod: 3 } });
    expectAll('v_mul_f32', [[0x01000000n, f32(1)]], () => 0x00800000n, { ...options, fields: { omod: 3 } });
  });

  test(`v_fract rounds and stays below 1, rounding ${mode}`, () => {
    const [one, limit] = [f32(1), 0x3f7fffffn];
    const model = (x: bigint, floor: bigint): bigint => {
      const fraction = expected('sub', 'f32', mode, [x, floor]);
      return fraction === one ? limit : fraction;
    };
    const cases = [
      [f32(-(2 ** -30)), f32(-1)],
      [f32(-(2 ** -24) - 2 ** -47), f32(-1)],
      [f32(-0.1), f32(-1)],
      [f32(2.75), f32(2)],
      [f32(3), f32(3)],
    ];
    expectAll(
      'v_fract_f32',
      cases.map(([x]) => [x!]),
      (x) => model(x, cases.find(([y]) => x === y)![1]!),
      {
        mode: modeFor('f32', mode),
      },
    );
  });

  test(`v_div_fixup of quotients beyond the range, rounding ${mode}`, () => {
    const single = { mode: modeFor('f32', mode) };
    const [tiny, huge] = [1n, 0x7f7fffffn];
    const minus = 0x80000000n;
    for (const sign of [0n, minus]) {
      const underflow = expected('div', 'f32', mode, [tiny | sign, huge]);
      expectAll('v_div_fixup_f32', [[f32(0.5), huge, tiny | sign]], () => underflow, single);
      const overflow = expected('div', 'f32', mode, [huge | sign, tiny]);
      expectAll('v_div_fixup_f32', [[0x7fc00000n, tiny, huge | sign]], () => overflow, single);
    }
  });

  test(`what ignores the mode, rounding ${mode}`, () => {
    const both: FloatMode = { ...DEFAULT_MODE, round32: mode, round64: mode };
    const options = { mode: both };
    const towardZero = (x: bigint): bigint => converted('f32', 'f16', 3, x);
    expectAll(
      'v_cvt_pkrtz_f16_f32',
      singles('f32').map(([x]) => [x!, x!]),
      (x, y) => towardZero(x) | (towardZero(y) << 16n),
      options,
    );
    const values = [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4999999, 2 ** 23 - 0.5].map((x) => [f32(x)]);
    const even = new Map([-2, -2, -0, 0, 2, 2, 0, 2 ** 23].map((x, i) => [values[i]![0]!, f32(x)]));
    expectAll('v_rndne_f32', values, (x) => even.get(x)!, options);
    expectAll(
      'v_cvt_rpi_i32_f32',
      [[f32(1 - 2 ** -24)], [f32(-0.75)]],
      (x) => (x === f32(-0.75) ? 0xffffffffn : 1n),
      options,
    );
    expectAll('v_cvt_i32_f32', [[f32(-1.75)], [f32(1.75)]], (x) => (x === f32(1.75) ? 1n : 0xffffffffn), options);
    expectAll('v_rcp_f32', [[f32(3)], [f32(-3)]], (x) => expected('div', 'f32', 0, [f32(1), x]), options);
    expectAll('v_sqrt_f64', [[f64(2)], [f64(3)]], (x) => expected('sqrt', 'f64', 0, [x]), options);
    expectAll('v_rcp_f16', [[f16(3)], [f16(-7)]], (x) => expected('div', 'f16', 0, [f16(1), x]), options);
    // 1 + 2^-12 * 2^-12, twice: what each sum drops is less than half a step.
    const [x, y] = [f16(2 ** -12) | (f16(2 ** -12) << 16n), f16(2 ** -13) | (f16(-(2 ** -13)) << 16n)];
    expectAll('v_dot2_f32_f16', [[x, y, f32(1)]], () => f32(1), {
      ...options,
      fields: { op_sel_hi: 3, op_sel_hi_2: 1 },
    });
  });

  test(`float atomics round to nearest even, rounding ${mode}`, () => {
    const floatMode: FloatMode = { ...DEFAULT_MODE, round32: mode, round64: mode };
    const cases: [string, bigint, bigint, FloatType][] = [
      ['ds_add_f32', f32(1), f32(2 ** -30), 'f32'],
      ['ds_add_f32', f32(-1), f32(-(2 ** -30)), 'f32'],
      ['ds_add_f32', f32(1), f32(1.5 * 2 ** -24), 'f32'],
      ['ds_add_f32', f32(1), f32(-1), 'f32'],
      ['ds_add_f64', f64(1), f64(2 ** -60), 'f64'],
      ['ds_add_f64', f64(-1), f64(-(2 ** -60)), 'f64'],
    ];
    for (const [name, old, data, type] of cases) {
      const wave = new TestWave();
      wave.exec = 1n;
      wave.lds.setBigUint64(0, old, true);
      wave.vgprs[4]![0] = Number(BigInt.asIntN(32, data));
      wave.vgprs[5]![0] = Number(BigInt.asIntN(32, data >> 32n));
      wave.run(encode(name, { addr: 1, data0: 4 }), 'gfx90a', floatMode);
      const found = BigInt.asUintN(type === 'f64' ? 64 : 32, wave.lds.getBigUint64(0, true));
      assert.equal(found.toString(16), expected('add', type, 0, [old, data]).toString(16), name);
    }
  });
}
