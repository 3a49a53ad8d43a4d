import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encode, type FieldValues } from '../../encoding/encode.test-support.ts';
import { DEFAULT_MODE, TestWave } from '../../semantics/machine.test-support.ts';
import { allRows } from '../index.ts';

const LANES = Array.from({ length: 64 }, (_, lane) => lane);
const ACTIVE = 0xffff_0000_5555_0001n;
const isActive = (lane: number): boolean => ((ACTIVE >> BigInt(lane)) & 1n) === 1n;

/** v1 holds an LDS address for each lane: 64 bytes apart. */
function waveWithAddresses(): TestWave {
  const wave = new TestWave();
  for (const lane of LANES) wave.vgprs[1]![lane] = lane * 64;
  return wave;
}

const offsets = (offset: number): FieldValues => ({ offset0: offset & 255, offset1: offset >> 8 });
/** Fields of operands that an instruction does not have must be 0. */
function used(name: string, fields: FieldValues): FieldValues {
  const { operands } = allRows().find((row) => row.name === name)!;
  const isUsed = (field: string): boolean =>
    /^(offset|gds)/.test(field) || operands.some((spec) => spec.field === field);
  return Object.fromEntries(Object.entries(fields).filter(([field]) => isUsed(field)));
}

const run = (wave: TestWave, name: string, fields: FieldValues) => wave.run(encode(name, used(name, fields)));

test('reads: sizes, extension, d16 halves, EXEC, 16-bit offset', () => {
  const OLD = 0x11112222;
  const cases: [string, number[]][] = [
    ['ds_read_u8', [0x88]],
    ['ds_read_i8', [-0x78]],
    ['ds_read_u16', [0x9988]],
    ['ds_read_i16', [0x9988 - 0x10000]],
    ['ds_read_b32', [0x1baa9988]],
    ['ds_read_b64', [0x1baa9988, 0x1f1e1d1c]],
    ['ds_read_b96', [0x1baa9988, 0x1f1e1d1c, 0x23222120]],
    ['ds_read_b128', [0x1baa9988, 0x1f1e1d1c, 0x23222120, 0x27262524]],
    ['ds_read_u8_d16', [0x11110088]],
    ['ds_read_u8_d16_hi', [0x00882222]],
    ['ds_read_i8_d16', [0x1111ff88]],
    ['ds_read_i8_d16_hi', [0xff882222 | 0]],
    ['ds_read_u16_d16', [0x11119988]],
    ['ds_read_u16_d16_hi', [0x99882222 | 0]],
  ];
  for (const [name, expected] of cases) {
    const wave = waveWithAddresses();
    for (const lane of LANES) {
      [0x1baa9988, 0x1f1e1d1c, 0x23222120, 0x27262524].forEach((value, i) => {
        wave.lds.setInt32(lane * 64 + 0x1234 + i * 4, value, true);
      });
    }
    for (let i = 0; i < 5; i++) wave.vgprs[8 + i]!.fill(OLD);
    wave.exec = ACTIVE;
    run(wave, name, { addr: 1, vdst: 8, ...offsets(0x1234) });
    for (const lane of LANES) {
      const want = [...expected, OLD].map((value) => (isActive(lane) ? value : OLD));
      assert.deepEqual(
        want.map((_, i) => wave.vgprs[8 + i]![lane]!),
        want,
        `${name} lane ${lane}`,
      );
    }
  }
});

test('writes: sizes, high halves, EXEC', () => {
  const cases: [string, number[]][] = [
    ['ds_write_b8', [4]],
    ['ds_write_b8_d16_hi', [2]],
    ['ds_write_b16', [4, 3]],
    ['ds_write_b16_d16_hi', [2, 1]],
    ['ds_write_b32', [4, 3, 2, 1]],
    ['ds_write_b64', [4, 3, 2, 1, 8, 7, 6, 5]],
    ['ds_write_b96', [4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9]],
    ['ds_write_b128', [4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13]],
  ];
  for (const [name, expected] of cases) {
    const wave = waveWithAddresses();
    [0x01020304, 0x05060708, 0x090a0b0c, 0x0d0e0f10].forEach((value, i) => {
      wave.vgprs[4 + i]!.fill(value);
    });
    wave.exec = ACTIVE;
    run(wave, name, { addr: 1, data0: 4, ...offsets(8) });
    for (const lane of LANES) {
      const got = Array.from({ length: 20 }, (_, i) => wave.lds.getUint8(lane * 64 + 8 + i));
      const want = isActive(lane) ? expected : [];
      assert.deepEqual(got, [...want, ...Array(20 - want.length).fill(0)], `${name} lane ${lane}`);
    }
  }
});

test('two offsets: units of the data, or of 64 times the data', () => {
  const cases: [string, string, 4 | 8, number][] = [
    ['ds_write2_b32', 'ds_read2_b32', 4, 4],
    ['ds_write2st64_b32', 'ds_read2st64_b32', 4, 256],
    ['ds_write2_b64', 'ds_read2_b64', 8, 8],
    ['ds_write2st64_b64', 'ds_read2st64_b64', 8, 512],
  ];
  for (const [write, read, sizeBytes, unit] of cases) {
    const wave = new TestWave();
    wave.vgprs[1]!.fill(16);
    wave.exec = 1n;
    [10, 11, 20, 21].forEach((value, i) => {
      wave.vgprs[4 + i]!.fill(value);
    });
    const data = { data0: 4, data1: 6 };
    run(wave, write, { addr: 1, ...data, offset0: 5, offset1: 3 });
    assert.equal(wave.lds.getInt32(16 + 5 * unit, true), 10);
    assert.equal(wave.lds.getInt32(16 + 3 * unit, true), 20);
    assert.equal(wave.lds.getInt32(16 + 5 * unit + 4, true), sizeBytes === 8 ? 11 : 0);
    run(wave, read, { addr: 1, vdst: 8, offset0: 3, offset1: 5 });
    const got = [0, 1, 2, 3].map((i) => wave.vgprs[8 + i]![0]);
    assert.deepEqual(got, sizeBytes === 8 ? [20, 21, 10, 11] : [20, 10, 0, 0], read);
    run(wave, write, { addr: 1, ...data, offset0: 7, offset1: 7 });
    assert.equal(wave.lds.getInt32(16 + 7 * unit, true), 10, 'equal offsets: the first data');
  }
  const wave = new TestWave();
  wave.exec = 1n;
  [1, 2, 3, 4].forEach((value, i) => {
    wave.lds.setInt32(i * 4, value, true);
  });
  [-1, -2, -3, -4].forEach((value, i) => {
    wave.vgprs[4 + i]!.fill(value);
  });
  run(wave, 'ds_wrxchg2_rtn_b64', { addr: 1, data0: 4, data1: 6, vdst: 8, offset0: 1, offset1: 0 });
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => wave.vgprs[8 + i]![0]),
    [3, 4, 1, 2],
  );
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => wave.lds.getInt32(i * 4, true)),
    [-3, -4, -1, -2],
  );
  run(wave, 'ds_wrxchg2st64_rtn_b32', { addr: 1, data0: 4, data1: 6, vdst: 8, offset0: 0, offset1: 1 });
  assert.deepEqual([wave.vgprs[8]![0], wave.vgprs[9]![0]], [-3, 0]);
  assert.equal(wave.lds.getInt32(256, true), -3);
});

/** New value from the old one and the data operands, all unsigned. */
type Model = (old: bigint, data: bigint, second: bigint, bits: 32 | 64) => bigint;
const s = BigInt.asIntN;
const MODEL: Readonly<Record<string, Model>> = {
  add_u: (old, data) => old + data,
  sub_u: (old, data) => old - data,
  rsub_u: (old, data) => data - old,
  inc_u: (old, data) => (old >= data ? 0n : old + 1n),
  dec_u: (old, data) => (old === 0n || old > data ? data : old - 1n),
  min_i: (old, data, _, bits) => (s(bits, data) < s(bits, old) ? data : old),
  max_i: (old, data, _, bits) => (s(bits, data) > s(bits, old) ? data : old),
  min_u: (old, data) => (old - data < 0n ? old : data),
  max_u: (old, data) => (old - data > 0n ? old : data),
  and_b: (old, data) => old & data,
  or_b: (old, data) => old | data,
  xor_b: (old, data) => old ^ data,
  mskor_b: (old, data, second) => (old & ~data) | second,
  cmpst_b: (old, compare, data) => (old === compare ? data : old),
};

for (const bits of [32, 64] as const) {
  test(`integer atomics of ${bits} bits agree with their definition`, () => {
    const max = 2n ** BigInt(bits) - 1n;
    const value = fc.oneof(fc.bigInt({ min: 0n, max }), fc.constantFrom(0n, 1n, max >> 1n, (max >> 1n) + 1n, max));
    const property = fc.property(
      fc.constantFrom(...Object.keys(MODEL)),
      value,
      value,
      value,
      fc.boolean(),
      (name, x, data, second, rtn) => {
        const old = name === 'cmpst_b' && second % 2n === 0n ? data : x;
        const wave = waveWithAddresses();
        wave.exec = 4n;
        wave.lds.setBigUint64(128 + 16, old, true);
        [data, second].forEach((operand, i) => {
          wave.vgprs[4 + 2 * i]![2] = Number(s(32, operand));
          wave.vgprs[5 + 2 * i]![2] = Number(s(32, operand >> 32n));
        });
        const [stem, letter] = name.split('_');
        run(wave, `ds_${stem}${rtn ? '_rtn' : ''}_${letter}${bits}`, {
          addr: 1,
          data0: 4,
          data1: 6,
          vdst: 8,
          ...offsets(16),
        });
        assert.equal(
          wave.lds.getBigUint64(128 + 16, true),
          BigInt.asUintN(bits, MODEL[name]!(old, data, second, bits)),
        );
        const want = [s(32, old), bits === 64 ? s(32, old >> 32n) : 0n].map(Number);
        assert.deepEqual([wave.vgprs[8]![2], wave.vgprs[9]![2]], rtn ? want : [0, 0]);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
}

test('exchange, wrap, conditional exchange', () => {
  const wave = new TestWave();
  wave.exec = 1n;
  const check = (name: string, old: number[], data: number[], memory: number[]): void => {
    old.forEach((value, i) => {
      wave.lds.setInt32(8 + i * 4, value, true);
    });
    data.forEach((value, i) => {
      wave.vgprs[4 + i]![0] = value;
    });
    wave.vgprs[1]![0] = name === 'ds_condxchg32_rtn_b64' ? 12 : 8;
    run(wave, name, { addr: 1, data0: 4, data1: 5, vdst: 8 });
    assert.deepEqual(
      old.map((_, i) => wave.vgprs[8 + i]![0]),
      old,
      name,
    );
    assert.deepEqual(
      memory.map((_, i) => wave.lds.getInt32(8 + i * 4, true)),
      memory,
      name,
    );
  };
  check('ds_wrxchg_rtn_b32', [5], [7], [7]);
  check('ds_wrxchg_rtn_b64', [5, 6], [7, 8], [7, 8]);
  check('ds_wrap_rtn_b32', [10], [3, 100], [7]);
  check('ds_wrap_rtn_b32', [-1], [3, 100], [-4]);
  check('ds_wrap_rtn_b32', [2], [3, 100], [102]);
  check('ds_condxchg32_rtn_b64', [5, 6], [0x80000007 | 0, 8], [7, 6]);
  check('ds_condxchg32_rtn_b64', [5, 6], [7, 0x80000008 | 0], [5, 8]);
});

test('floating-point atomics: MODE decides about denormals, NaN rules', () => {
  const KEEP = DEFAULT_MODE;
  const flush = { inputs: true, results: true };
  const FLUSH = { ...DEFAULT_MODE, flush32: flush, flush64: flush };
  const cases: [string, typeof KEEP, bigint, bigint, bigint, bigint][] = [
    ['ds_add_f32', KEEP, 1n, 2n, 0n, 3n],
    ['ds_add_f32', FLUSH, 1n, 2n, 0n, 0n],
    ['ds_add_f32', KEEP, 0x7f800001n, 0x7fc00002n, 0n, 0x7fc00001n],
    ['ds_add_f32', KEEP, 0x3f800000n, 0x7f800002n, 0n, 0x7fc00002n],
    ['ds_add_f64', FLUSH, 1n, 2n, 0n, 3n],
    ['ds_min_f32', KEEP, 2n, 1n, 0n, 1n],
    ['ds_min_f32', FLUSH, 0x80000002n, 1n, 0n, 0x80000002n], // -0 < +0, and the source comes out as it was
    ['ds_min_f32', KEEP, 0x7fc00001n, 0x3f800000n, 0n, 0x3f800000n],
    ['ds_max_f32', KEEP, 0x3f800000n, 0x7fc00001n, 0n, 0x3f800000n],
    ['ds_max_f32', KEEP, 0x3f800000n, 0x7f800001n, 0n, 0x7fc00001n],
    ['ds_max_f32', KEEP, 0x80000000n, 0n, 0n, 0n],
    ['ds_min_f64', FLUSH, 0x8000000000000001n, 2n, 0n, 0x8000000000000001n],
    ['ds_max_f64', KEEP, 1n, 2n, 0n, 2n],
    ['ds_cmpst_f32', KEEP, 0x80000000n, 0n, 0x3f800000n, 0x3f800000n],
    ['ds_cmpst_f32', KEEP, 0x7fc00000n, 0x7fc00000n, 1n, 0x7fc00000n],
    ['ds_cmpst_f32', KEEP, 1n, 2n, 5n, 1n],
    ['ds_cmpst_f32', FLUSH, 1n, 2n, 5n, 0n],
    ['ds_cmpst_f64', KEEP, 1n, 1n, 5n, 5n],
  ];
  for (const [name, mode, old, data0, data1, expected] of cases) {
    for (const full of [name, name.replace('_f', '_rtn_f')]) {
      const wave = new TestWave();
      wave.exec = 1n;
      wave.lds.setBigUint64(0, old, true);
      [data0, data1].forEach((value, i) => {
        wave.vgprs[4 + 2 * i]![0] = Number(s(32, value));
        wave.vgprs[5 + 2 * i]![0] = Number(s(32, value >> 32n));
      });
      wave.run(encode(full, used(full, { addr: 1, data0: 4, data1: 6, vdst: 8 })), 'gfx90a', mode);
      assert.equal(
        wave.lds.getBigUint64(0, true).toString(16),
        expected.toString(16),
        `${full} ${old.toString(16)} ${data0.toString(16)}`,
      );
      assert.equal(wave.vgprs[8]![0], full === name ? 0 : Number(s(32, old)));
    }
  }
});

/** Lanes that each lane reads, as the manual's examples give them: 1-based, hexadecimal, 32 lanes. */
const EXAMPLES: readonly (readonly [pattern: number, lanes: string])[] = [
  [0xe000, '1,11,9,19,5,15,d,1d,3,13,b,1b,7,17,f,1f,2,12,a,1a,6,16,e,1e,4,14,c,1c,8,18,10,20'],
  [0xe010, '1,9,5,d,3,b,7,f,2,a,6,e,4,c,8,10,11,19,15,1d,13,1b,17,1f,12,1a,16,1e,14,1c,18,20'],
  [0xe01f, '1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,10,11,12,13,14,15,16,17,18,19,1a,1b,1c,1d,1e,1f,20'],
  [0xc020, '2,3,4,5,6,7,8,9,a,b,c,d,e,f,10,11,12,13,14,15,16,17,18,19,1a,1b,1c,1d,1e,1f,20,1'],
  [0xc420, '20,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,10,11,12,13,14,15,16,17,18,19,1a,1b,1c,1d,1e,1f'],
  [0xc021, '1,4,3,6,5,8,7,a,9,c,b,e,d,10,f,12,11,14,13,16,15,18,17,1a,19,1c,1b,1e,1d,20,1f,2'],
  [0xc421, '1f,2,1,4,3,6,5,8,7,a,9,c,b,e,d,10,f,12,11,14,13,16,15,18,17,1a,19,1c,1b,1e,1d,20'],
  // QUAD_PERM(1,0,3,2), SWAPX16, REVERSEX4, BCASTX8 of thread 5
  [0x80b1, '2,1,4,3,6,5,8,7,a,9,c,b,e,d,10,f,12,11,14,13,16,15,18,17,1a,19,1c,1b,1e,1d,20,1f'],
  [0x401f, '11,12,13,14,15,16,17,18,19,1a,1b,1c,1d,1e,1f,20,1,2,3,4,5,6,7,8,9,a,b,c,d,e,f,10'],
  [0x0c1f, '4,3,2,1,8,7,6,5,c,b,a,9,10,f,e,d,14,13,12,11,18,17,16,15,1c,1b,1a,19,20,1f,1e,1d'],
  [0x00b8, '6,6,6,6,6,6,6,6,e,e,e,e,e,e,e,e,16,16,16,16,16,16,16,16,1e,1e,1e,1e,1e,1e,1e,1e'],
];

test('swizzle: the examples of the manual, in both halves of the wave; a lane that is off gives 0', () => {
  for (const [pattern, text] of EXAMPLES) {
    const sources = text.split(',').map((lane) => Number.parseInt(lane, 16) - 1);
    for (const exec of [-1n, ACTIVE]) {
      const wave = new TestWave();
      for (const lane of LANES) wave.vgprs[1]![lane] = lane + 1000;
      wave.exec = exec;
      run(wave, 'ds_swizzle_b32', { addr: 1, vdst: 8, ...offsets(pattern) });
      const on = (lane: number): boolean => ((exec >> BigInt(lane)) & 1n) === 1n;
      const expected = LANES.map((lane) => {
        const source = sources[lane & 31]! + (lane & 32);
        return on(lane) && on(source) ? source + 1000 : 0;
      });
      assert.deepEqual([...wave.vgprs[8]!], expected, `pattern 0x${pattern.toString(16)}`);
    }
  }
});

test('permute and bpermute: the examples of the manual, and collisions', () => {
  const examples: [string, bigint, number[]][] = [
    ['ds_permute_b32', 0xfn, [11, 13, 0, 12]],
    ['ds_permute_b32', 0xan, [-1, 13, -1, 0]],
    ['ds_bpermute_b32', 0xfn, [10, 10, 13, 11]],
    ['ds_bpermute_b32', 0xan, [-1, 0, -1, 11]],
  ];
  for (const [name, exec, expected] of examples) {
    for (const [base, offset] of [
      [0, 0],
      [256 * 3, 0],
      [-8, 8],
    ] as const) {
      const wave = new TestWave();
      [0, 0, 12, 4].forEach((address, lane) => {
        wave.vgprs[1]![lane] = address + base;
      });
      [10, 11, 12, 13].forEach((value, lane) => {
        wave.vgprs[2]![lane] = value;
      });
      wave.vgprs[8]!.fill(-1);
      wave.exec = exec;
      run(wave, name, { addr: 1, data0: 2, vdst: 8, ...offsets(offset) });
      assert.deepEqual([...wave.vgprs[8]!.subarray(0, 4)], expected, `${name} ${exec} ${base}`);
    }
  }
  const wave = new TestWave();
  for (const lane of LANES) wave.vgprs[1]![lane] = (63 - lane) * 4;
  run(wave, 'ds_permute_b32', { addr: 1, data0: 1, vdst: 1 });
  assert.deepEqual(
    [...wave.vgprs[1]!],
    LANES.map((lane) => lane * 4),
  );
});

test('append and consume count the active lanes once; by-lane addresses start at M0', () => {
  const wave = new TestWave();
  wave.sgprs[124] = 0x7777_0020;
  wave.exec = ACTIVE;
  const count = LANES.filter(isActive).length;
  wave.lds.setInt32(0x24, 100, true);
  run(wave, 'ds_append', { vdst: 8, ...offsets(4) });
  assert.equal(wave.lds.getInt32(0x24, true), 100 + count);
  assert.deepEqual(
    [...wave.vgprs[8]!],
    LANES.map((lane) => (isActive(lane) ? 100 : 0)),
  );
  run(wave, 'ds_consume', { vdst: 9, ...offsets(4) });
  assert.equal(wave.lds.getInt32(0x24, true), 100);
  assert.deepEqual(
    [...wave.vgprs[9]!],
    LANES.map((lane) => (isActive(lane) ? 100 + count : 0)),
  );
  wave.exec = -1n;
  for (const lane of LANES) wave.vgprs[4]![lane] = lane * lane;
  run(wave, 'ds_write_addtid_b32', { data0: 4, ...offsets(8) });
  assert.equal(wave.lds.getInt32(0x28 + 7 * 4, true), 49);
  run(wave, 'ds_read_addtid_b32', { vdst: 5, ...offsets(12) });
  assert.equal(wave.vgprs[5]![6], 49);
});

test('ds_nop does nothing; the GDS and semaphores of global wave sync are refused', () => {
  const wave = new TestWave();
  run(wave, 'ds_nop', {});
  assert.throws(() => run(wave, 'ds_add_u32', { gds: 1 }), { code: 'UNSUPPORTED', message: /ds_add_u32' with gds/ });
  assert.throws(() => run(wave, 'ds_gws_sema_v', { gds: 1 }), { code: 'UNSUPPORTED', message: /ds_gws_sema_v/ });
});

test('global wave sync asks the host, with the resource and what the first active lane says', () => {
  for (const [name, reason] of [
    ['ds_gws_init', 'gws-init'],
    ['ds_gws_barrier', 'gws-barrier'],
  ] as const) {
    const wave = new TestWave();
    for (const lane of LANES) wave.vgprs[4]![lane] = 0x0700_0000 + lane;
    wave.sgprs[124] = 0xffc5_1234;
    wave.exec = 0b11000n;
    run(wave, name, { gds: 1, data: 4, ...offsets(2) });
    assert.deepEqual([wave.exited, wave.request], [reason, (7 << 24) | 3]);
    wave.exec = 0n;
    run(wave, name, { gds: 1, data: 4, ...offsets(2) });
    assert.equal(wave.request | 0, -1);
  }
});
