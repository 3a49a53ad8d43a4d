/**
 * What gfx11.5 and gfx12 add: scalar floats, minima that keep NaN, narrow scalar loads. RDNA3.5 ISA 6.8,
 * RDNA4 ISA 16.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { TestWave } from '../semantics/machine.test-support.ts';

const view = new DataView(new ArrayBuffer(4));
function f32(x: number): number {
  view.setFloat32(0, x);
  return view.getUint32(0);
}
function f16(x: number): number {
  view.setFloat16(0, x);
  return view.getUint16(0);
}

const QUIET = 0x7fc00001;
const SIGNALLING = 0x7f800002;

function scalar(name: string, sources: readonly number[], processor: string, old = 0): number {
  const wave = new TestWave();
  wave.sgprs[8] = old;
  for (const [i, source] of sources.entries()) wave.sgprs[10 + i] = source;
  const fields: FieldValues = { sdst: 8, ssrc0: 10, ...(sources.length > 1 && { ssrc1: 11 }) };
  wave.run(encode(name, fields, undefined, processor), processor);
  return wave.sgprs[8]! >>> 0;
}

for (const processor of ['gfx1150', 'gfx1200']) {
  test(`${processor}: scalar floats; a half clears the other one`, () => {
    const [min, max] = processor === 'gfx1200' ? ['s_min_num', 's_max_num'] : ['s_min', 's_max'];
    const of = (name: string, ...sources: number[]): number => scalar(name, sources, processor, 0xffffffff);
    assert.equal(of('s_add_f32', f32(1.5), f32(2)), f32(3.5));
    assert.equal(of('s_sub_f16', f16(1.5), f16(2)), f16(-0.5));
    assert.equal(of('s_mul_f16', 0xdead0000 | f16(3), f16(0.5)), f16(1.5));
    assert.equal(of(`${min}_f32`, QUIET, f32(2)), f32(2));
    assert.equal(of(`${max}_f16`, f16(-1), f16(4)), f16(4));
    assert.equal(of('s_ceil_f32', f32(-1.5)), f32(-1));
    assert.equal(of('s_rndne_f16', f16(2.5)), f16(2));
    assert.equal(of('s_cvt_f32_u32', 0xffffffff), f32(2 ** 32));
    assert.equal(of('s_cvt_i32_f32', f32(-7.9)), -7 >>> 0);
    assert.equal(of('s_cvt_hi_f32_f16', f16(0.25) << 16), f32(0.25));
    // 1 + 2^-11 is between two halves; toward zero it is 1.
    assert.equal(of('s_cvt_pk_rtz_f16_f32', f32(1 + 2 ** -11), f32(-2)), ((f16(-2) << 16) | f16(1)) >>> 0);
    assert.equal(scalar('s_fmac_f32', [f32(3), f32(4)], processor, f32(0.5)), f32(12.5));
  });

  test(`${processor}: scalar comparisons set SCC, unordered ones too`, () => {
    const isSet = (name: string, x: number, y: number): boolean => {
      const wave = new TestWave();
      wave.sgprs.set([x, y], 10);
      wave.run(encode(name, { ssrc0: 10, ssrc1: 11 }, undefined, processor), processor);
      return Boolean(wave.scc);
    };
    assert.equal(isSet('s_cmp_lt_f32', f32(-1), f32(0)), true);
    assert.equal(isSet('s_cmp_lt_f32', QUIET, f32(0)), false);
    assert.equal(isSet('s_cmp_nge_f32', QUIET, f32(0)), true);
    assert.equal(isSet('s_cmp_u_f16', f16(Number.NaN), f16(0)), true);
    assert.equal(isSet('s_cmp_lg_f16', f16(1), f16(1)), false);
  });
}

test('minimum and maximum: a NaN wins, a signalling one first and quieted', () => {
  const of = (name: string, x: number, y: number): number => scalar(name, [x, y], 'gfx1200');
  assert.equal(of('s_minimum_f32', f32(1), f32(-0)), f32(-0));
  assert.equal(of('s_minimum_f32', f32(0), f32(-0)), f32(-0));
  assert.equal(of('s_maximum_f32', f32(-0), f32(0)), f32(0));
  assert.equal(of('s_maximum_f32', f32(9), QUIET), QUIET);
  assert.equal(of('s_minimum_f32', QUIET, SIGNALLING), SIGNALLING | 0x400000);
});

test('64-bit sums and products without carry', () => {
  const wave = new TestWave();
  wave.sgprs.set([0xffffffff, 1, 2, 3], 10);
  const fields = { sdst: 8, ssrc0: 10, ssrc1: 12 };
  const result = (name: string): bigint => {
    wave.run(encode(name, fields, undefined, 'gfx1200'), 'gfx1200');
    return (BigInt(wave.sgprs[9]! >>> 0) << 32n) | BigInt(wave.sgprs[8]! >>> 0);
  };
  const [x, y] = [0x1_ffff_ffffn, 0x3_0000_0002n];
  assert.equal(result('s_add_nc_u64'), x + y);
  assert.equal(result('s_sub_nc_u64'), BigInt.asUintN(64, x - y));
  assert.equal(result('s_mul_u64'), BigInt.asUintN(64, x * y));
});

test('scalar loads of 8 and 16 bits at any byte, and of three dwords', () => {
  const wave = new TestWave();
  wave.sgprs.set([0x1000, 0], 4);
  for (let i = 0; i < 16; i++) wave.memory.setUint8(0x1000 + i, 0x80 + i);
  const load = (name: string, offset: number): number => {
    const fields = { sdata: 8, sbase: 2, offset, soffset: 124 };
    wave.run(encode(name, fields, undefined, 'gfx1200'), 'gfx1200');
    return wave.sgprs[8]! >>> 0;
  };
  assert.equal(load('s_load_u8', 3), 0x83);
  assert.equal(load('s_load_i8', 3), 0xffffff83);
  assert.equal(load('s_load_u16', 6), 0x8786);
  assert.equal(load('s_load_i16', 6), 0xffff8786);
  assert.equal(load('s_load_b96', 4), 0x87868584);
  assert.equal(wave.sgprs[10]! >>> 0, 0x8f8e8d8c);
});

test('subtractions that stop, and that do nothing, where they would go below 0', () => {
  const wave = new TestWave();
  wave.exec = 1n;
  wave.vgprs[1]![0] = 0x40;
  wave.vgprs[2]![0] = 5;
  for (const [name, old, expected] of [
    ['ds_sub_clamp_rtn_u32', 7, 2],
    ['ds_sub_clamp_rtn_u32', 3, 0],
    ['ds_cond_sub_rtn_u32', 7, 2],
    ['ds_cond_sub_rtn_u32', 3, 3],
  ] as const) {
    wave.lds.setUint32(0x40, old, true);
    wave.run(encode(name, { vdst: 3, addr: 1, data0: 2 }, undefined, 'gfx1200'), 'gfx1200');
    assert.deepEqual([wave.vgprs[3]![0], wave.lds.getUint32(0x40, true)], [old, expected], name);
  }
});
