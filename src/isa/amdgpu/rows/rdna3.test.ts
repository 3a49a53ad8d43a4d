/**
 * What vector instructions do on gfx11 that gfx9 lacks or does otherwise. Expectations from the RDNA3 ISA,
 * chapters 7 and 16.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import type { FormatName } from '../encoding/formats.ts';
import { TestWave } from '../semantics/machine.test-support.ts';
import {
  expectAll,
  F16_EDGES,
  F32_EDGES,
  FLUSHING,
  f16,
  f32,
  fromF32,
  type Options,
  run,
} from './vector.test-support.ts';

const processor = 'gfx1100';
const v = (register: number): number => 256 + register;
const u32 = (value: number): number => value >>> 0;

/** As `run` and `expectAll`, on gfx1100. */
const check = (
  name: string,
  ...[tuples, model, options]: [Parameters<typeof expectAll>[1], Parameters<typeof expectAll>[2], Options?]
): void => {
  test(`${name}${options?.format ? ` as ${options.format}` : ''}`, () =>
    expectAll(name, tuples, model, { processor, ...options }));
};

/** Runs one instruction on a wave whose v[r] holds 100 * r + lane in each lane. */
function step(
  name: string,
  fields: FieldValues,
  format?: FormatName,
  setUp?: (wave: TestWave) => void,
  waveSize: 32 | 64 = 32,
): TestWave {
  const wave = new TestWave(waveSize);
  wave.vgprs.forEach((register, r) => {
    register.forEach((_, lane) => {
      register[lane] = 100 * r + lane;
    });
  });
  setUp?.(wave);
  wave.run(encode(name, fields, format, processor), processor);
  return wave;
}

const lanesOf = (wave: TestWave, register: number, count = 32): number[] => [...wave.vgprs[register]!.slice(0, count)];
const everyLane = (value: (lane: number) => number, count = 32): number[] =>
  Array.from({ length: count }, (_, i) => value(i));
const own = (register: number) => (lane: number) => 100 * register + lane;

// Halves of registers (7.4)

const SIXTEENTHS = [[f16(1.5), f16(2.25)]];

test('a 16-bit result keeps the other half of its register', () => {
  const options: Options = { processor, before: 0xabcd_1234n };
  assert.deepEqual(run('v_add_f16', SIXTEENTHS, options), [[0xabcd_0000n | f16(3.75)]]);
  assert.deepEqual(run('v_add_f16', SIXTEENTHS, { ...options, format: 'VOP3', fields: { op_sel: 8 } }), [
    [(f16(3.75) << 16n) | 0x1234n],
  ]);
  assert.deepEqual(run('v_cvt_f16_f32', [[f32(2)]], options), [[0xabcd_0000n | f16(2)]]);
});

test('op_sel chooses the halves of sources in VOP3', () => {
  const high = [[(f16(8) << 16n) | f16(1), (f16(16) << 16n) | f16(2)]];
  const sum = (op_sel: number) =>
    run('v_add_f16', high, { processor, before: 0n, format: 'VOP3', fields: { op_sel } })[0]![0];
  assert.deepEqual([0, 1, 2, 3].map(sum), [f16(3), f16(10), f16(17), f16(24)]);
});

test('bit 7 of a register number is the half in the 32-bit encodings', () => {
  const setUp = (wave: TestWave): void => {
    wave.vgprs[1]!.fill(Number((f16(8) << 16n) | f16(1)));
    wave.vgprs[2]!.fill(Number((f16(16) << 16n) | f16(2)));
    wave.vgprs[3]!.fill(0x5555_6666);
  };
  const result = (vdst: number, src0: number, src1: number): number =>
    u32(step('v_add_f16', { vdst, src0, src1 }, 'VOP2', setUp).vgprs[3]![0]!);
  assert.equal(result(3, v(1), 2), Number(0x5555_0000n | f16(3)));
  assert.equal(result(3, v(1 + 128), 2), Number(0x5555_0000n | f16(10)));
  assert.equal(result(3, v(1), 2 + 128), Number(0x5555_0000n | f16(17)));
  assert.equal(result(3 + 128, v(1), 2), Number((f16(3) << 16n) | 0x6666n));
});

// Compares (7.2.5)

test('v_cmpx writes EXEC alone, in the lanes that were on', () => {
  const wave = step('v_cmpx_gt_u32', { src0: v(5), src1: 6 }, 'VOPC', (each) => {
    each.exec = 0xff00_00ffn;
    each.vcc = 0x1234n;
    each.vgprs[5]!.forEach((_, lane) => {
      each.vgprs[5]![lane] = lane % 3;
      each.vgprs[6]![lane] = 1;
    });
  });
  const expected = everyLane((lane) => lane).reduce(
    (mask, lane) => (lane % 3 === 2 ? mask | (1n << BigInt(lane)) : mask),
    0n,
  );
  assert.equal(wave.exec & 0xffff_ffffn, expected & 0xff00_00ffn);
  assert.equal(wave.vcc, 0x1234n);
});

test('a compare of wave32 writes one scalar register', () => {
  const wave = step('v_cmp_ne_u32', { vdst: 10, src0: 128, src1: v(6) }, 'VOP3', (each) => {
    each.sgprs[11] = 77;
  });
  assert.equal(wave.sgprs[10], -1);
  assert.equal(wave.sgprs[11], 77);
});

// DX9 rules, orders

const ZEROS_AND_SPECIALS = [0, -0, 1.5, -2, Number.POSITIVE_INFINITY, Number.NaN].map(f32);
const pairs = ZEROS_AND_SPECIALS.flatMap((x) => ZEROS_AND_SPECIALS.map((y) => [x, y]));

check(
  'v_mul_dx9_zero_f32',
  pairs.filter((pair) => pair.some((x) => fromF32(x) === 0)),
  () => 0n,
);
check('v_mul_dx9_zero_f32', [[f32(1.5), f32(-2)]], () => f32(-3));
check(
  'v_fma_dx9_zero_f32',
  [
    [f32(0), f32(Number.NaN), f32(7)],
    [f32(Number.POSITIVE_INFINITY), f32(-0), f32(-0)],
  ],
  (_x, _y, z) => z,
);
check('v_fma_dx9_zero_f32', [[f32(2), f32(3), f32(7)]], () => f32(13));
check('v_fmac_dx9_zero_f32', [[f32(7), f32(0), f32(Number.POSITIVE_INFINITY)]], (d) => d);
check('v_fma_dx9_zero_f32', [[f32(0), f32(1), 1n]], () => 0n, { mode: FLUSHING });

const asI32 = (x: bigint): bigint => BigInt.asIntN(32, x);
const WORDS = [0n, 1n, 0x7fffffffn, 0x80000000n, 0xffffffffn];
const triples = WORDS.flatMap((x) => WORDS.flatMap((y) => WORDS.map((z) => [x, y, z])));
const least = (x: bigint, y: bigint): bigint => (x < y ? x : y);
const greatest = (x: bigint, y: bigint): bigint => (x > y ? x : y);
check('v_minmax_u32', triples, (x, y, z) => greatest(least(x!, y!), z!));
check('v_maxmin_u32', triples, (x, y, z) => least(greatest(x!, y!), z!));
check('v_minmax_i32', triples, (x, y, z) => BigInt.asUintN(32, greatest(least(asI32(x!), asI32(y!)), asI32(z!))));
check('v_maxmin_i32', triples, (x, y, z) => BigInt.asUintN(32, least(greatest(asI32(x!), asI32(y!)), asI32(z!))));
check(
  'v_maxmin_f32',
  [
    [f32(1), f32(5), f32(3)],
    [f32(1), f32(2), f32(3)],
  ],
  (x, y, z) => f32(Math.min(Math.max(fromF32(x!), fromF32(y!)), fromF32(z!))),
);
check('v_xor3_b32', triples, (x, y, z) => x! ^ y! ^ z!);
check('v_mullit_f32', [[f32(2), f32(3), f32(1)]], () => f32(6));
check(
  'v_mullit_f32',
  [
    [f32(2), f32(3), f32(0)],
    [f32(2), f32(Number.NaN), f32(1)],
    [f32(2), f32(Number.NEGATIVE_INFINITY), f32(1)],
    [f32(2), f32(3), f32(Number.NaN)],
  ],
  () => 0xff7fffffn,
);

// Conversions and 16-bit logic

check('v_cvt_i32_i16', [[0x8000n], [0x7fffn], [0xffff_0001n]], (x) => BigInt.asUintN(32, BigInt.asIntN(16, x!)));
check('v_cvt_u32_u16', [[0x8000n], [0xffff_0001n]], (x) => x! & 0xffffn);
check(
  'v_cvt_pk_i16_f32',
  [
    [f32(-1.5), f32(1e9)],
    [f32(-1e9), f32(2.9)],
  ],
  (x, y) => {
    const convert = (bits: bigint): bigint =>
      BigInt.asUintN(16, BigInt(Math.max(-0x8000, Math.min(0x7fff, Math.trunc(fromF32(bits))))));
    return convert(x!) | (convert(y!) << 16n);
  },
);
check(
  'v_cvt_pk_u16_f32',
  [
    [f32(-1.5), f32(1e9)],
    [f32(700.9), f32(Number.NaN)],
  ],
  (x, y) => {
    const convert = (bits: bigint): bigint =>
      Number.isNaN(fromF32(bits)) ? 0n : BigInt(Math.max(0, Math.min(0xffff, Math.trunc(fromF32(bits)))));
    return convert(x!) | (convert(y!) << 16n);
  },
);
check(
  'v_cndmask_b16',
  [
    [0x1111n, 0x2222n, 0n],
    [0x1111n, 0x2222n, 1n],
  ],
  (x, y, bit) => (bit ? y! : x!),
  { before: 0n },
);
check('v_and_b16', [[0xff0fn, 0x1234n]], () => 0x1204n, { before: 0n });
check('v_not_b16', [[0xff0fn]], () => 0x00f0n, { before: 0n });
check('v_fmac_f16', [[f16(1), f16(2), f16(3)]], () => f16(7));

// Dot products

check('v_dot4_i32_iu8', [[0x00ff_0102n, 0x00ff_0304n, 10n]], () => BigInt.asUintN(32, BigInt(10 + 255 * 255 + 3 + 8)));
check('v_dot4_i32_iu8', [[0x00ff_0102n, 0x00ff_0304n, 10n]], () => BigInt.asUintN(32, BigInt(10 + -255 + 3 + 8)), {
  fields: { neg: 1 },
});
check('v_dot4_i32_iu8', [[0x00ff_0102n, 0x00ff_0304n, 10n]], () => BigInt.asUintN(32, BigInt(10 + 1 + 3 + 8)), {
  fields: { neg: 3 },
});
check('v_dot8_i32_iu4', [[0xf000_0001n, 0x1000_0002n, 0n]], () => BigInt.asUintN(32, BigInt(-1 + 2)), {
  fields: { neg: 1 },
});
/** bf16: the high half of an f32. */
const bf16 = (x: number): bigint => f32(x) >> 16n;
check(
  'v_dot2_f32_bf16',
  [[(bf16(2) << 16n) | bf16(3), (bf16(5) << 16n) | bf16(-7), f32(0.5)]],
  () => f32(0.5 - 21 + 10),
  {
    fields: { op_sel_hi: 3, op_sel_hi_2: 1 },
  },
);
check('v_dot2_f16_f16', [[(f16(2) << 16n) | f16(3), (f16(5) << 16n) | f16(-7), f16(0.5)]], () => f16(0.5 - 21 + 10), {
  before: 0n,
});
check('v_dot2acc_f32_f16', [[f32(0.5), (f16(2) << 16n) | f16(3), (f16(5) << 16n) | f16(-7)]], () => f32(0.5 - 21 + 10));

// Lanes

test('v_permlane16_b32 and v_permlanex16_b32: each lane of a row from a lane of its row, of the other row', () => {
  const selects = (wave: TestWave): void => {
    wave.sgprs[4] = 0x8765_4321 | 0;
    wave.sgprs[5] = 0x0fed_cba9;
  };
  const fields = { vdst: 9, src0: v(2), src1: 4, src2: 5 };
  const rotated = (lane: number): number => (lane & 16) | ((lane + 1) & 15);
  assert.deepEqual(
    lanesOf(step('v_permlane16_b32', fields, undefined, selects), 9),
    everyLane((lane) => 200 + rotated(lane)),
  );
  assert.deepEqual(
    lanesOf(step('v_permlanex16_b32', fields, undefined, selects), 9),
    everyLane((lane) => 200 + (rotated(lane) ^ 16)),
  );
});

test('v_permlane16_b32: a source lane that EXEC turns off', () => {
  const result = (op_sel: number): number =>
    step('v_permlane16_b32', { vdst: 9, src0: v(2), src1: 128, src2: 128, op_sel }, undefined, (wave) => {
      wave.exec = 0xffff_fffen;
    }).vgprs[9]![3]!;
  assert.deepEqual([0, 1, 2, 3].map(result), [903, 200, 0, 200]);
});

test('v_permlane64_b32 exchanges the halves of a wave of 64 and does nothing in one of 32', () => {
  const wide = step('v_permlane64_b32', { vdst: 9, src0: v(2) }, undefined, undefined, 64);
  assert.deepEqual(
    lanesOf(wide, 9, 64),
    everyLane((lane) => 200 + (lane ^ 32), 64),
  );
  assert.deepEqual(lanesOf(step('v_permlane64_b32', { vdst: 9, src0: v(2) }), 9), everyLane(own(9)));
});

test('DPP8 reads a lane of the group of eight, 0 from a lane that is off unless inactive ones are fetched', () => {
  // Lanes 7 to 0.
  const reversed = [7, 6, 5, 4, 3, 2, 1, 0].reduce((bits, lane, i) => bits | (lane << (3 * i)), 0);
  const off = (wave: TestWave): void => {
    wave.exec = 0xffff_ff7fn;
  };
  const fields = { vdst: 9, src0: 2, dpp8: reversed };
  const expected = (lane0: number) => everyLane((lane) => (lane === 7 ? 907 : lane === 0 ? lane0 : 200 + (lane ^ 7)));
  assert.deepEqual(lanesOf(step('v_mov_b32', fields, 'VOP1_DPP8', off), 9), expected(0));
  assert.deepEqual(lanesOf(step('v_mov_b32', { ...fields, fi: 1 }, 'VOP1_DPP8', off), 9), expected(207));
});

test('DPP16: row_share, row_xmask, fetching inactive lanes, masks', () => {
  const all = { vdst: 9, src0: 2, row_mask: 15, bank_mask: 15 };
  const move = (fields: FieldValues, setUp?: (wave: TestWave) => void): number[] =>
    lanesOf(step('v_mov_b32', { ...all, ...fields }, 'VOP1_DPP', setUp), 9);
  assert.deepEqual(
    move({ dpp_ctrl: 0x153 }),
    everyLane((lane) => 200 + (lane & 16) + 3),
  );
  assert.deepEqual(
    move({ dpp_ctrl: 0x165 }),
    everyLane((lane) => 200 + (lane ^ 5)),
  );
  const off = (wave: TestWave): void => {
    wave.exec = 0xffff_fff7n;
  };
  // Lane 3, the source of row 0, is off.
  const firstOf = (fields: FieldValues): number => move({ dpp_ctrl: 0x153, ...fields }, off)[0]!;
  assert.deepEqual([firstOf({}), firstOf({ bound_ctrl: 1 }), firstOf({ fi: 1 })], [900, 0, 203]);
  // Beyond the end of a row bound_ctrl decides, whatever fi says.
  const last = (fields: FieldValues): number => move({ dpp_ctrl: 0x101, ...fields })[15]!;
  assert.deepEqual([last({}), last({ fi: 1 }), last({ bound_ctrl: 1 })], [915, 915, 0]);
  assert.deepEqual(move({ dpp_ctrl: 0x153, row_mask: 2 }).slice(14, 18), [914, 915, 219, 219]);
});

test('a compare with DPP writes 0 for lanes that the masks turn off', () => {
  const wave = step('v_cmp_le_u32', { src0: 2, src1: 9, dpp_ctrl: 0xe4, row_mask: 15, bank_mask: 1 }, 'VOPC_DPP');
  assert.equal(wave.vcc & 0xffff_ffffn, 0x000f_000fn);
});

test('VOP3 with DPP: signs of VOP3, the second source a scalar register', () => {
  const wave = step(
    'v_add_f32',
    { vdst: 9, src0: 2, src1: v(3), neg: 2, dpp_ctrl: 0x150, row_mask: 15, bank_mask: 15 },
    'VOP3_DPP',
    (each) => {
      each.vgprs[2]!.fill(Number(f32(1)));
      each.vgprs[2]![0] = Number(f32(10));
      each.vgprs[3]!.fill(Number(f32(4)));
    },
  );
  assert.equal(u32(wave.vgprs[9]![5]!), Number(f32(6)));
});

// Two operations

test('VOPD: both operations read before either writes', () => {
  const name = 'v_dual_mov_b32 :: v_dual_mov_b32';
  const wave = step(name, { vdstx: 2, srcx0: v(3), vdsty: 1, srcy0: v(2) });
  assert.deepEqual(lanesOf(wave, 2), everyLane(own(3)));
  assert.deepEqual(lanesOf(wave, 3), everyLane(own(2)));
});

test('VOPD: a shared literal, VCC, the odd and the even destination', () => {
  const wave = new TestWave(32);
  wave.vgprs[4]!.fill(Number(f32(3)));
  wave.vgprs[5]!.fill(Number(f32(5)));
  wave.vcc = 2n;
  const words = encode(
    'v_dual_fmaak_f32 :: v_dual_cndmask_b32',
    { vdstx: 7, srcx0: v(4), vsrcx1: 5, vdsty: 4, srcy0: 255, vsrcy1: 4 },
    undefined,
    processor,
  );
  wave.run([...words, Number(f32(0.25))], processor);
  assert.equal(u32(wave.vgprs[7]![0]!), Number(f32(15.25)));
  assert.deepEqual([u32(wave.vgprs[8]![0]!), u32(wave.vgprs[8]![1]!)], [Number(f32(0.25)), Number(f32(3))]);
});

test('VOPD: a constant of v_dual_dot2acc_f32_f16 stands for both halves', () => {
  const wave = step(
    'v_dual_dot2acc_f32_f16 :: v_dual_mov_b32',
    { vdstx: 2, srcx0: 242, vsrcx1: 3, vdsty: 1, srcy0: v(9) },
    undefined,
    (each) => {
      each.vgprs[2]!.fill(Number(f32(0.5)));
      each.vgprs[3]!.fill(Number((f16(8) << 16n) | f16(4)));
    },
  );
  assert.equal(u32(wave.vgprs[2]![0]!), Number(f32(12.5)));
});

// Interpolation

test('v_interp: P0, P10 and P20 come from lanes of the quad', () => {
  const setUp = (wave: TestWave): void => {
    wave.vgprs[2]!.forEach((_, lane) => {
      wave.vgprs[2]![lane] = Number(f32(lane));
      wave.vgprs[3]![lane] = Number(f32(100));
      wave.vgprs[4]![lane] = Number(f32(lane * 1000));
    });
    wave.exec = 0xfffffff0n;
  };
  const fields = { vdst: 9, src0: v(2), src1: v(3), src2: v(4) };
  const at = (name: string, lane: number): number =>
    fromF32(BigInt(u32(step(name, fields, undefined, setUp).vgprs[9]![lane]!)));
  assert.equal(at('v_interp_p10_f32', 6), 5 * 100 + 4000);
  assert.equal(at('v_interp_p2_f32', 6), 6 * 100 + 6000);
});

test('v_interp_p2_f16_f32 rounds as MODE says, its other form toward zero', () => {
  // 1 + 2^-11 + 2^-20, which is nearer to the number above.
  const result = (name: string): number =>
    step(name, { vdst: 9, src0: v(2), src1: v(3), src2: v(4) }, undefined, (wave) => {
      wave.vgprs[2]!.fill(Number(f16(1)));
      wave.vgprs[3]!.fill(Number(f32(1)));
      wave.vgprs[4]!.fill(Number(f32(2 ** -11 + 2 ** -20)));
      wave.vgprs[9]!.fill(0);
    }).vgprs[9]![0]!;
  assert.equal(result('v_interp_p2_f16_f32'), Number(f16(1 + 2 ** -10)));
  assert.equal(result('v_interp_p2_rtz_f16_f32'), Number(f16(1)));
});

test('integers saturate under the clamp bit', () => {
  const add = (x: bigint, y: bigint) =>
    run('v_add_nc_u32', [[x, y]], { processor, format: 'VOP3', fields: { clamp: 1 } })[0]![0];
  assert.equal(add(0xffff_ffffn, 2n), 0xffff_ffffn);
  assert.equal(add(5n, 2n), 7n);
});

test('edges of f16 and f32 go through v_max unchanged but for quieted NaNs', () => {
  for (const [name, edges, quiet] of [
    ['v_max_f32', F32_EDGES, 0x400000n],
    ['v_max_f16', F16_EDGES, 0x200n],
  ] as const) {
    const lowest = name === 'v_max_f32' ? f32(Number.NEGATIVE_INFINITY) : f16(Number.NEGATIVE_INFINITY);
    const exponent = name === 'v_max_f32' ? 0x7f800000n : 0x7c00n;
    expectAll(
      name,
      edges.map((x) => [x, lowest]),
      (x) => {
        const isNan = (x! & exponent) === exponent && (x! & (quiet * 2n - 1n)) !== 0n;
        if (!isNan) return x!;
        return (x! & quiet) === 0n ? x! | quiet : lowest;
      },
      { processor, before: 0n },
    );
  }
});

test('v_cube: face, coordinates and twice the major axis', () => {
  const results = (x: number, y: number, z: number): number[] =>
    ['v_cubeid_f32', 'v_cubesc_f32', 'v_cubetc_f32', 'v_cubema_f32'].map((name) =>
      fromF32(run(name, [[f32(x), f32(y), f32(z)]], { processor })[0]![0]!),
    );
  assert.deepEqual(results(3, 1, 2), [0, -2, -1, 6]);
  assert.deepEqual(results(-3, 1, 2), [1, 2, -1, -6]);
  assert.deepEqual(results(1, 3, 2), [2, 1, 2, 6]);
  assert.deepEqual(results(1, -3, 2), [3, 1, -2, -6]);
  assert.deepEqual(results(1, 2, 3), [4, 1, -2, 6]);
  assert.deepEqual(results(1, 2, -3), [5, -1, -2, -6]);
  // The last of equal magnitudes counts.
  assert.equal(results(2, 2, -2)[0], 5);
});

test('v_dot2_bf16_bf16: sums in bf16; constants are bf16 in both halves', () => {
  const dot = (fields: FieldValues, addend = bf16(0.5)): bigint =>
    run('v_dot2_bf16_bf16', [[(bf16(2) << 16n) | bf16(3), (bf16(5) << 16n) | bf16(-7), addend]], {
      processor,
      before: 0n,
      fields,
    })[0]![0]!;
  assert.equal(dot({}), bf16(0.5 - 21 + 10));
  assert.equal(dot({ src0: 244, src2: 242 }), bf16(1 + 2 * 5 - 2 * 7));
  assert.equal(dot({}, bf16(256)), bf16(245));
  // In steps of 4: 1024 - 21 is nearest to 1004, and of 1014, halfway, 1016 is the even one.
  assert.equal(dot({}, bf16(1024)), bf16(1016));
});
