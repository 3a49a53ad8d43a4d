/** What vector memory and LDS instructions do on gfx11 only, or otherwise than on gfx9. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode, type FieldValues } from '../encoding/encode.test-support.ts';
import { TestWave } from '../semantics/machine.test-support.ts';

const NULL = 124;
const M0 = 124;
const ZERO = 128;

const run = (wave: TestWave, name: string, fields: FieldValues = {}): void => {
  wave.run(encode(name, fields, undefined, 'gfx1100'), 'gfx1100');
};

function laneZero(): TestWave {
  const wave = new TestWave(32);
  wave.exec = 1n;
  return wave;
}

const f32 = (value: number): number => new Int32Array(Float32Array.of(value).buffer)[0]!;

test('LDS compare and store: the new value comes first, the comparand second', () => {
  const wave = laneZero();
  wave.lds.setUint32(8, 5, true);
  wave.vgprs[1]![0] = 77;
  wave.vgprs[2]![0] = 5;
  run(wave, 'ds_cmpstore_rtn_b32', { vdst: 3, addr: 0, data0: 1, data1: 2, offset: 8 });
  assert.equal(wave.lds.getUint32(8, true), 77);
  assert.equal(wave.vgprs[3]![0], 5);
  run(wave, 'ds_cmpstore_b32', { addr: 0, data0: 2, data1: 2, offset: 8 });
  assert.equal(wave.lds.getUint32(8, true), 77);
  wave.lds.setFloat32(8, -0, true);
  wave.vgprs[1]![0] = f32(2);
  wave.vgprs[2]![0] = 0;
  run(wave, 'ds_cmpstore_f32', { addr: 0, data0: 1, data1: 2, offset: 8 });
  assert.equal(wave.lds.getFloat32(8, true), 2, '-0 is equal to 0');
});

test('two addresses: units of the data, and of 64 times the data', () => {
  const wave = laneZero();
  wave.vgprs[1]![0] = 11;
  wave.vgprs[2]![0] = 22;
  run(wave, 'ds_store_2addr_b32', { addr: 0, data0: 1, data1: 2, offset0: 3, offset1: 5 });
  assert.deepEqual([wave.lds.getInt32(12, true), wave.lds.getInt32(20, true)], [11, 22]);
  wave.lds.setInt32(256, 33, true);
  run(wave, 'ds_load_2addr_stride64_b32', { vdst: 4, addr: 0, offset0: 0, offset1: 1 });
  assert.deepEqual([wave.vgprs[4]![0], wave.vgprs[5]![0]], [0, 33]);
  run(wave, 'ds_storexchg_2addr_rtn_b32', { vdst: 6, addr: 0, data0: 2, data1: 1, offset0: 3, offset1: 5 });
  assert.deepEqual([wave.vgprs[6]![0], wave.vgprs[7]![0]], [11, 22]);
  assert.deepEqual([wave.lds.getInt32(12, true), wave.lds.getInt32(20, true)], [22, 11]);
});

test('wave64: ds_permute_b32 and ds_bpermute_b32 stay in the half of the lane', () => {
  const wave = new TestWave(64);
  for (let lane = 0; lane < 64; lane++) {
    wave.vgprs[1]![lane] = 4 * (lane + 1); // from, or to, the lane above; the highest wraps
    wave.vgprs[2]![lane] = 100 + lane;
  }
  run(wave, 'ds_bpermute_b32', { vdst: 3, addr: 1, data0: 2 });
  assert.deepEqual(
    [0, 31, 32, 63].map((lane) => wave.vgprs[3]![lane]),
    [101, 100, 133, 132],
  );
  run(wave, 'ds_permute_b32', { vdst: 4, addr: 1, data0: 2 });
  assert.deepEqual(
    [0, 1, 32, 33].map((lane) => wave.vgprs[4]![lane]),
    [131, 100, 163, 132],
  );
  assert.throws(() => run(wave, 'ds_add_u32', { addr: 1, data0: 2, gds: 1 }), { code: 'UNSUPPORTED' });
});

test('addresses by lane: M0 in the LDS, saddr in memory', () => {
  const wave = new TestWave(32);
  wave.sgprs[M0] = 0x40;
  wave.sgprs.set([0x200, 0], 4);
  for (let lane = 0; lane < 32; lane++) wave.vgprs[1]![lane] = lane * 3;
  run(wave, 'ds_store_addtid_b32', { data0: 1, offset: 8 });
  assert.equal(wave.lds.getInt32(0x48 + 31 * 4, true), 93);
  run(wave, 'ds_load_addtid_b32', { vdst: 2, offset: 12 });
  assert.equal(wave.vgprs[2]![4], 15);
  run(wave, 'global_store_addtid_b32', { data: 1, saddr: 4, offset: 0x1ffc });
  assert.equal(wave.memory.getInt32(0x200 - 4 + 31 * 4, true), 93);
  run(wave, 'global_load_addtid_b32', { vdst: 3, saddr: 4, offset: 0 });
  assert.equal(wave.vgprs[3]![2], 9);
});

test('global atomics: subtraction that stops at 0, f32 minimum, maximum, compare and swap, addition', () => {
  const wave = laneZero();
  const at = 0x100;
  wave.vgprs[0]![0] = at;
  const atomic = (name: string, old: number, ...data: number[]): number => {
    wave.memory.setInt32(at, old, true);
    for (const [i, value] of data.entries()) wave.vgprs[2 + i]![0] = value;
    run(wave, `global_atomic_${name}`, { vdst: 4, addr: 0, data: 2, saddr: NULL, glc: 1 });
    assert.equal(wave.vgprs[4]![0], old, `${name} returns the old value`);
    return wave.memory.getInt32(at, true);
  };
  assert.equal(atomic('csub_u32', 7, 3), 4);
  assert.equal(atomic('csub_u32', 7, 8), 0);
  assert.equal(atomic('csub_u32', -1, 1), -2);
  assert.equal(atomic('min_f32', f32(2), f32(-1)), f32(-1));
  assert.equal(atomic('min_f32', f32(0), f32(-0)), f32(-0));
  assert.equal(atomic('max_f32', f32(2), 0x7fc00000), f32(2), 'a quiet NaN loses');
  assert.equal(atomic('max_f32', f32(2), 0x7f800001), 0x7fc00001, 'a signalling NaN wins');
  assert.equal(atomic('cmpswap_f32', f32(-0), f32(5), f32(0)), f32(5));
  assert.equal(atomic('cmpswap_f32', 0x7fc00000, f32(5), 0x7fc00000), 0x7fc00000);
  assert.equal(atomic('add_f32', f32(1.5), f32(2)), f32(3.5));
  assert.equal(atomic('add_f32', 1, f32(2)), f32(2), 'denormals count as 0');
  wave.memory.setBigUint64(at, 0xffff_ffffn, true);
  wave.vgprs[2]![0] = 1;
  wave.vgprs[3]![0] = 0;
  run(wave, 'global_atomic_add_u64', { addr: 0, data: 2, saddr: NULL });
  assert.equal(wave.memory.getBigUint64(at, true), 0x1_0000_0000n);
});

test('scratch: with a VGPR, an SGPR, both or neither', () => {
  const wave = new TestWave(32);
  wave.exec = 0b11n;
  wave.sgprs[6] = 0x20;
  wave.vgprs[1]!.set([0x10, 0x14]);
  for (const lane of [0, 1]) {
    for (let i = 0; i < 64; i++) wave.privateSegment.setInt32(lane * 1024 + i * 4, lane * 1000 + i, true);
  }
  const load = (fields: FieldValues): number[] => {
    run(wave, 'scratch_load_b32', { vdst: 2, ...fields });
    return [...wave.vgprs[2]!.slice(0, 2)];
  };
  assert.deepEqual(load({ sve: 1, addr: 1, saddr: NULL, offset: 4 }), [5, 1006]);
  assert.deepEqual(load({ saddr: 6, offset: 0x1ffc }), [7, 1007]);
  assert.deepEqual(load({ sve: 1, addr: 1, saddr: 6, offset: 8 }), [14, 1015]);
  assert.deepEqual(load({ saddr: NULL, offset: 12 }), [3, 1003]);
});

interface Buffer {
  readonly strideBytes?: number;
  readonly swizzle?: 0 | 1 | 3;
  readonly recordCount: number;
  readonly oobSelect: number;
  readonly indexStride?: number;
}

/** Resource in s[4:7] at address 0x100, whose dwords are numbered. */
function waveWith({ strideBytes = 0, swizzle = 0, recordCount, oobSelect, indexStride = 0 }: Buffer): TestWave {
  const wave = new TestWave(32);
  wave.exec = 1n;
  wave.sgprs.set(
    [0x100, (strideBytes << 16) | (swizzle << 30), recordCount, (oobSelect << 28) | (indexStride << 21)],
    4,
  );
  for (let i = 0; i < 256; i++) wave.memory.setInt32(0x100 + i * 4, i + 1, true);
  return wave;
}

function bufferLoad(buffer: Buffer, index: number, offset: number, soffset = 0, name = 'buffer_load_b64'): number[] {
  const wave = waveWith(buffer);
  wave.sgprs[8] = soffset;
  wave.vgprs[0]![0] = index;
  wave.vgprs[1]![0] = offset;
  run(wave, name, { vdata: 2, vaddr: 0, srsrc: 1, soffset: soffset ? 8 : ZERO, idxen: 1, offen: 1 });
  return [wave.vgprs[2]![0]!, wave.vgprs[3]![0]!];
}

test('buffers: the descriptor chooses the range check, dword by dword', () => {
  const structured = { strideBytes: 16, recordCount: 3, oobSelect: 0 };
  assert.deepEqual(bufferLoad(structured, 2, 8), [11, 12]);
  assert.deepEqual(bufferLoad(structured, 2, 12), [12, 0]);
  assert.deepEqual(bufferLoad(structured, 3, 0), [0, 0]);
  assert.deepEqual(bufferLoad({ ...structured, oobSelect: 1 }, 2, 12), [12, 13]);
  assert.deepEqual(bufferLoad({ ...structured, oobSelect: 1 }, 3, 0), [0, 0]);
  assert.deepEqual(bufferLoad({ ...structured, oobSelect: 2 }, 3, 0), [13, 14]);
  assert.deepEqual(bufferLoad({ ...structured, recordCount: 0, oobSelect: 2 }, 0, 0), [0, 0]);
  const raw = { recordCount: 12, oobSelect: 3 };
  assert.deepEqual(bufferLoad(raw, 0, 8), [3, 0]);
  assert.deepEqual(bufferLoad(raw, 0, 4), [2, 3]);
  assert.deepEqual(bufferLoad(raw, 0, 4, 4), [3, 0], 'the scalar offset makes the buffer shorter');
});

test('buffers: swizzled elements of 4 and of 16 bytes', () => {
  // Groups of 8 indices; record 9 is the second one of the second group.
  const buffer = { strideBytes: 32, recordCount: 16, oobSelect: 1, indexStride: 0 } as const;
  const dword = (bytes: number): number => bytes / 4 + 1;
  const four = (offset: number): number => dword(32 * 8 + (offset & ~3) * 8 + 1 * 4);
  assert.deepEqual(bufferLoad({ ...buffer, swizzle: 1 }, 9, 8), [four(8), four(12)]);
  const sixteen = (offset: number): number => dword(32 * 8 + (offset & ~15) * 8 + 1 * 16 + (offset & 15));
  assert.deepEqual(bufferLoad({ ...buffer, swizzle: 3 }, 9, 8), [sixteen(8), sixteen(12)]);
  assert.deepEqual(bufferLoad({ ...buffer, swizzle: 3 }, 9, 12), [sixteen(12), sixteen(16)]);
});

test('buffer atomics and loads to the LDS by name; status words are refused', () => {
  const wave = waveWith({ recordCount: 64, oobSelect: 3 });
  wave.vgprs[2]![0] = 2;
  run(wave, 'buffer_atomic_csub_u32', { vdata: 2, srsrc: 1, soffset: ZERO, offset: 16, glc: 1 });
  assert.equal(wave.vgprs[2]![0], 5);
  assert.equal(wave.memory.getInt32(0x110, true), 3);
  wave.sgprs[M0] = 0x20;
  run(wave, 'buffer_load_lds_b32', { srsrc: 1, soffset: ZERO, offset: 8 });
  assert.equal(wave.lds.getInt32(0x28, true), 3);
  assert.throws(() => run(wave, 'buffer_load_b32', { vdata: 2, srsrc: 1, soffset: ZERO, tfe: 1 }), {
    code: 'UNSUPPORTED',
  });
  run(wave, 'buffer_gl0_inv');
});
