import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encode, type FieldValues } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';

const LANES = Array.from({ length: 64 }, (_, lane) => lane);
const ZERO = 128;
/** SGPRs of the descriptor, in units of 4. */
const SRSRC = 1;

interface Resource {
  readonly base?: number;
  readonly strideBytes?: number;
  readonly swizzle?: boolean;
  readonly recordCount?: number;
  /** 0..3: 8, 16, 32 or 64 indices. */
  readonly indexStride?: number;
  readonly addLaneId?: boolean;
}

function waveWith(resource: Resource): TestWave {
  const wave = new TestWave();
  const { base = 0, strideBytes = 0, recordCount = 0xffffffff, indexStride = 0 } = resource;
  const word3 =
    (indexStride << 21) | (resource.addLaneId ? 1 << 23 : 0) | (resource.addLaneId ? (strideBytes >> 14) << 15 : 0);
  wave.sgprs.set(
    [base, ((strideBytes & 0x3fff) << 16) | (resource.swizzle ? 1 << 31 : 0), recordCount, word3],
    SRSRC * 4,
  );
  return wave;
}

/** What ROCm sets up for the private segment: elements of a dword, groups of 64 lanes. */
const PRIVATE: Resource = { base: 0x1000, swizzle: true, recordCount: 16, indexStride: 3, addLaneId: true };

const run = (wave: TestWave, name: string, fields: FieldValues) =>
  wave.run(encode(name, { srsrc: SRSRC, soffset: ZERO, ...fields }));

test('private segment: every dword of a lane is a row of 64 dwords apart', () => {
  const wave = waveWith(PRIVATE);
  wave.sgprs[32] = 0x100; // s32, the stack pointer: the same for all lanes, in bytes of the whole wave
  for (let i = 0; i < 4; i++) for (const lane of LANES) wave.vgprs[4 + i]![lane] = lane * 10 + i;
  wave.exec = 0xfn;
  run(wave, 'buffer_store_dwordx4', { vdata: 4, soffset: 32, offset: 8 });
  for (let i = 0; i < 4; i++) {
    for (const lane of LANES) {
      const at = 0x1000 + 0x100 + (2 + i) * 256 + lane * 4;
      assert.equal(wave.memory.getInt32(at, true), lane < 4 ? lane * 10 + i : 0, `dword ${i} of lane ${lane}`);
    }
  }
  run(wave, 'buffer_load_dwordx4', { vdata: 8, soffset: 32, offset: 8 });
  for (let i = 0; i < 4; i++)
    for (const lane of LANES) assert.equal(wave.vgprs[8 + i]![lane], lane < 4 ? lane * 10 + i : 0);
});

test('private segment: bytes and an offset of each lane; no range check', () => {
  const wave = waveWith(PRIVATE);
  for (const lane of LANES) {
    wave.vgprs[2]![lane] = lane * 3;
    wave.vgprs[4]![lane] = lane + 1;
  }
  run(wave, 'buffer_store_byte', { vdata: 4, vaddr: 2, offen: 1, offset: 5 });
  for (const lane of LANES) {
    const at = lane * 3 + 5;
    assert.equal(wave.memory.getUint8(0x1000 + (at >> 2) * 256 + lane * 4 + (at & 3)), lane + 1, `lane ${lane}`);
  }
  run(wave, 'buffer_load_ubyte', { vdata: 8, vaddr: 2, offen: 1, offset: 5 });
  assert.deepEqual(
    [...wave.vgprs[8]!],
    LANES.map((lane) => lane + 1),
  );
});

test('private segment: bytes of one access that are in two elements, of loads and stores of all sizes', () => {
  const byteOf = (lane: number, at: number) => (lane * 7 + at * 13 + 1) & 0xff;
  const place = (lane: number, at: number) => 0x1000 + (at >> 2) * 256 + lane * 4 + (at & 3);
  const sizes = { short: 2, dword: 4, dwordx2: 8, dwordx3: 12, dwordx4: 16 };
  for (const [suffix, sizeBytes] of Object.entries(sizes)) {
    for (const offset of [4, 5, 6, 7]) {
      const wave = waveWith(PRIVATE);
      wave.exec = ~(1n << 3n) & 0xffffffffffffffffn;
      for (const lane of LANES) {
        for (let at = 0; at < sizeBytes; at++) {
          const row = wave.vgprs[4 + (at >> 2)]!;
          row[lane] = row[lane]! | (byteOf(lane, at) << (8 * (at & 3)));
        }
        wave.vgprs[2]![lane] = 20 + lane;
      }
      run(wave, `buffer_store_${suffix}`, { vdata: 4, vaddr: 2, offen: 1, offset });
      run(wave, `buffer_load_${suffix === 'short' ? 'ushort' : suffix}`, { vdata: 8, vaddr: 2, offen: 1, offset });
      for (const lane of LANES) {
        for (let at = -4; at < sizeBytes + 4; at++) {
          const stored = lane !== 3 && at >= 0 && at < sizeBytes;
          const what = `${suffix} at ${offset}, lane ${lane}, byte ${at}`;
          const found = wave.memory.getUint8(place(lane, 20 + lane + offset + at));
          assert.equal(found, stored ? byteOf(lane, at) : 0, what);
          if (stored)
            assert.equal((wave.vgprs[8 + (at >> 2)]![lane]! >>> (8 * (at & 3))) & 0xff, byteOf(lane, at), what);
        }
      }
    }
  }
});

test('raw buffer: the offset is checked for each dword, soffset is not part of it', () => {
  const wave = waveWith({ base: 0x1000, recordCount: 64 });
  for (let at = 0; at < 0x400; at += 4) wave.memory.setInt32(0x1000 + at, at + 1, true);
  for (const lane of LANES) wave.vgprs[2]![lane] = lane * 4 - 8;
  wave.sgprs[9] = 0x100;
  run(wave, 'buffer_load_dwordx3', { vdata: 8, vaddr: 2, offen: 1, soffset: 9, offset: 8 });
  for (let i = 0; i < 3; i++) {
    const expected = LANES.map((lane) => (lane * 4 + i * 4 < 64 ? 0x100 + lane * 4 + i * 4 + 1 : 0));
    assert.deepEqual([...wave.vgprs[8 + i]!], expected, `dword ${i}`);
  }
  for (const lane of LANES) wave.vgprs[4]![lane] = wave.vgprs[5]![lane] = -1;
  run(wave, 'buffer_store_dword', { vdata: 4, offset: 64 });
  run(wave, 'buffer_store_dwordx2', { vdata: 4, vaddr: 2, offen: 1, offset: 8 });
  for (let at = 0; at < 0x100; at += 4) assert.equal(wave.memory.getInt32(0x1000 + at, true), at < 64 ? -1 : at + 1);
});

test('raw buffer: a signed load that is out of range is zero, one without address registers reads the same for all', () => {
  const wave = waveWith({ base: 0x1000, recordCount: 6 });
  wave.memory.setUint8(0x1005, 0x85);
  wave.vgprs[8]!.fill(7);
  run(wave, 'buffer_load_sbyte', { vdata: 8, offset: 5 });
  assert.deepEqual(new Set(wave.vgprs[8]!), new Set([-123]));
  run(wave, 'buffer_load_sbyte', { vdata: 8, offset: 6 });
  assert.deepEqual(new Set(wave.vgprs[8]!), new Set([0]));
  wave.vgprs[8]!.fill(0x11112222);
  run(wave, 'buffer_load_ubyte_d16_hi', { vdata: 8, offset: 5 });
  assert.deepEqual(new Set(wave.vgprs[8]!), new Set([0x00852222]));
});

test('no lane, no access', () => {
  const wave = waveWith({ base: 0x7fff_0000 });
  wave.exec = 0n;
  run(wave, 'buffer_load_dword', { vdata: 8 });
  run(wave, 'buffer_store_dword', { vdata: 8 });
  run(wave, 'buffer_atomic_add', { vdata: 8 });
  wave.exec = 1n;
  assert.throws(() => run(wave, 'buffer_load_dword', { vdata: 8 }), RangeError);
});

test('structured buffer: index and stride; the index is checked', () => {
  const wave = waveWith({ base: 0x1000, strideBytes: 12, recordCount: 10 });
  for (let record = 0; record < 20; record++) wave.memory.setInt32(0x1000 + record * 12 + 4, record + 100, true);
  for (const lane of LANES) wave.vgprs[2]![lane] = lane;
  run(wave, 'buffer_load_dword', { vdata: 8, vaddr: 2, idxen: 1, offset: 4 });
  assert.deepEqual(
    [...wave.vgprs[8]!],
    LANES.map((lane) => (lane < 10 ? lane + 100 : 0)),
  );
  wave.vgprs[3]!.fill(2);
  run(wave, 'buffer_load_dword', { vdata: 9, vaddr: 2, idxen: 1, offen: 1, offset: 2 });
  assert.deepEqual([...wave.vgprs[9]!], [...wave.vgprs[8]!]);
  // 12 * 0x1555_5556 = 0x1_0000_0008: an index does not wrap at 4 GiB into the buffer.
  const large = waveWith({ strideBytes: 12 });
  large.vgprs[2]!.fill(0x15555556);
  assert.throws(() => run(large, 'buffer_load_dword', { vdata: 8, vaddr: 2, idxen: 1 }), RangeError);
});

test('swizzled addresses follow the formula of the manual', () => {
  const property = fc.property(
    fc.record({
      index: fc.nat(40),
      offset: fc.nat(15).map((dword) => dword * 4),
      indexStride: fc.nat(3),
      strideBytes: fc.constantFrom(64, 68, 128),
      swizzle: fc.boolean(),
      addLaneId: fc.boolean(),
      soffset: fc.nat(64),
    }),
    ({ index, offset, indexStride, strideBytes, swizzle, addLaneId, soffset }) => {
      const wave = waveWith({ base: 0x200, strideBytes, swizzle, indexStride, addLaneId });
      wave.vgprs[2]!.fill(index);
      wave.vgprs[3]!.fill(offset);
      wave.sgprs[9] = soffset;
      wave.vgprs[4]!.fill(0x5a5a5a5a);
      const lane = 11;
      wave.exec = 1n << BigInt(lane);
      run(wave, 'buffer_store_dword', { vdata: 4, vaddr: 2, idxen: 1, offen: 1, soffset: 9, offset: 4 });

      const i = index + (addLaneId ? lane : 0);
      const o = offset + 4;
      const group = 8 << indexStride;
      const place = swizzle
        ? (Math.floor(i / group) * strideBytes + Math.floor(o / 4) * 4) * group + (i % group) * 4
        : i * strideBytes + o;
      assert.equal(wave.memory.getInt32(0x200 + soffset + place, true), 0x5a5a5a5a);
    },
  );
  fc.assert(property, { numRuns: 200 });
});

test('the stride has 18 bits when the lane number is added', () => {
  const wave = waveWith({ strideBytes: 0x4004, addLaneId: true });
  wave.memory.setInt32(0x4004 * 2, 55, true);
  wave.exec = 1n << 2n;
  run(wave, 'buffer_load_dword', { vdata: 8 });
  assert.equal(wave.vgprs[8]![2], 55);
});

test('atomics: the data register takes the old value with glc; out of range nothing happens', () => {
  const wave = waveWith({ base: 0x1000, recordCount: 32 });
  for (const lane of LANES) {
    wave.vgprs[2]![lane] = lane * 4;
    wave.vgprs[4]![lane] = 1000;
    wave.memory.setInt32(0x1000 + lane * 4, lane + 1, true);
  }
  run(wave, 'buffer_atomic_add', { vdata: 4, vaddr: 2, offen: 1 });
  assert.deepEqual(new Set(wave.vgprs[4]!), new Set([1000]));
  run(wave, 'buffer_atomic_add', { vdata: 4, vaddr: 2, offen: 1, glc: 1 });
  for (const lane of LANES) {
    assert.equal(wave.vgprs[4]![lane], lane < 8 ? lane + 1001 : 0);
    assert.equal(wave.memory.getInt32(0x1000 + lane * 4, true), lane < 8 ? lane + 2001 : lane + 1);
  }
  wave.exec = 1n;
  wave.vgprs[4]![0] = 5;
  wave.vgprs[5]![0] = 2001;
  run(wave, 'buffer_atomic_cmpswap', { vdata: 4, vaddr: 2, offen: 1, glc: 1 });
  assert.equal(wave.memory.getInt32(0x1000, true), 5);
  assert.deepEqual([wave.vgprs[4]![0], wave.vgprs[5]![0]], [2001, 2001]);
});

test('between memory and the LDS: M0, the offset and a dword for each lane', () => {
  const wave = waveWith({ base: 0x200, strideBytes: 4, recordCount: 3, addLaneId: true });
  wave.exec = 0xfn;
  wave.sgprs[124] = 0x40;
  for (const lane of LANES) wave.memory.setUint32(0x208 + lane * 4, 100 + lane, true);
  run(wave, 'buffer_load_dword', { offset: 8, lds: 1 });
  const lds = (lane: number): number => wave.lds.getInt32(0x48 + lane * 4, true);
  assert.deepEqual([0, 1, 2, 3, 4].map(lds), [100, 101, 102, 103, 0]);
  for (const lane of LANES) wave.lds.setUint32(0x50 + lane * 4, 200 + lane, true);
  run(wave, 'buffer_store_lds_dword', { offset: 16, lds: 1 });
  const memory = (lane: number): number => wave.memory.getInt32(0x210 + lane * 4, true);
  assert.deepEqual([0, 1, 2, 3, 4].map(memory), [200, 201, 202, 203, 106]);
});

test('cache instructions do nothing; stores from the LDS by a bit are refused', () => {
  const wave = waveWith({});
  for (const name of ['buffer_wbl2', 'buffer_invl2', 'buffer_wbinvl1', 'buffer_wbinvl1_vol'])
    wave.run(encode(name, {}));
  assert.throws(() => run(wave, 'buffer_store_dword', { lds: 1 }), /unknown/);
});
