import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encode, type FieldValues } from '../../encoding/encode.test-support.ts';
import { DEFAULT_MODE, PRIVATE_SIZE_BYTES, TestWave } from '../../semantics/machine.test-support.ts';

const OFF = 0x7f;
const M0 = 124;
const LANES = Array.from({ length: 64 }, (_, lane) => lane);
const ACTIVE = 0xffff_0000_5555_0001n;
const isActive = (lane: number): boolean => ((ACTIVE >> BigInt(lane)) & 1n) === 1n;

/** v[2:3] holds a 64-bit address for each lane: 16 bytes apart, from 0x1000 on. */
function waveWithAddresses(): TestWave {
  const wave = new TestWave();
  for (const lane of LANES) wave.vgprs[2]![lane] = 0x1000 + lane * 16;
  return wave;
}

const run = (wave: TestWave, name: string, fields: FieldValues) => wave.run(encode(name, fields));

test('loads: sizes, extension, d16 halves, EXEC', () => {
  const bytes = (lane: number, i: number): number => (lane * 37 + i * 29 + 0x80) & 0xff;
  const byte = (lane: number): number => bytes(lane, 4);
  const short = (lane: number): number => byte(lane) | (bytes(lane, 5) << 8);
  const dword = (lane: number, i = 0): number =>
    [0, 1, 2, 3].reduce((value, part) => value | (bytes(lane, 4 + i * 4 + part) << (part * 8)), 0);
  const OLD = 0x11112222;
  const cases: [string, (lane: number) => number[]][] = [
    ['load_ubyte', (lane) => [byte(lane)]],
    ['load_sbyte', (lane) => [(byte(lane) << 24) >> 24]],
    ['load_ushort', (lane) => [short(lane)]],
    ['load_sshort', (lane) => [(short(lane) << 16) >> 16]],
    ['load_dword', (lane) => [dword(lane)]],
    ['load_dwordx2', (lane) => [0, 1].map((i) => dword(lane, i))],
    ['load_dwordx3', (lane) => [0, 1, 2].map((i) => dword(lane, i))],
    ['load_dwordx4', (lane) => [0, 1, 2, 3].map((i) => dword(lane, i))],
    ['load_ubyte_d16', (lane) => [0x11110000 | byte(lane)]],
    ['load_ubyte_d16_hi', (lane) => [(byte(lane) << 16) | 0x2222]],
    ['load_sbyte_d16', (lane) => [0x11110000 | (((byte(lane) << 24) >> 24) & 0xffff)]],
    ['load_sbyte_d16_hi', (lane) => [(((byte(lane) << 24) >> 24) << 16) | 0x2222]],
    ['load_short_d16', (lane) => [0x11110000 | short(lane)]],
    ['load_short_d16_hi', (lane) => [(short(lane) << 16) | 0x2222]],
  ];
  for (const [name, expected] of cases) {
    for (const [prefix, fields] of [
      ['flat', {}],
      ['global', { saddr: OFF }],
      ['scratch', { saddr: OFF }],
    ] as const) {
      const wave = new TestWave();
      for (const lane of LANES) {
        wave.vgprs[2]![lane] = prefix === 'scratch' ? lane * 8 : 0x1000 + lane * 32;
        for (let i = 0; i < 24; i++) {
          if (prefix === 'scratch')
            wave.privateSegment.setUint8(lane * PRIVATE_SIZE_BYTES + lane * 8 + i, bytes(lane, i));
          else wave.memory.setUint8(0x1000 + lane * 32 + i, bytes(lane, i));
        }
      }
      for (let i = 0; i < 5; i++) wave.vgprs[8 + i]!.fill(OLD);
      wave.exec = ACTIVE;
      run(wave, `${prefix}_${name}`, { ...fields, addr: 2, vdst: 8, offset: 4 });
      for (const lane of LANES) {
        const want = [...expected(lane), OLD];
        const got = want.map((_, i) => wave.vgprs[8 + i]![lane]!);
        assert.deepEqual(got, isActive(lane) ? want : want.map(() => OLD), `${prefix}_${name} lane ${lane}`);
      }
    }
  }
});

test('stores: sizes, high halves, EXEC', () => {
  const cases: [string, number[]][] = [
    ['store_byte', [0x04]],
    ['store_byte_d16_hi', [0x02]],
    ['store_short', [0x04, 0x03]],
    ['store_short_d16_hi', [0x02, 0x01]],
    ['store_dword', [4, 3, 2, 1]],
    ['store_dwordx2', [4, 3, 2, 1, 8, 7, 6, 5]],
    ['store_dwordx3', [4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9]],
    ['store_dwordx4', [4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 16, 15, 14, 13]],
  ];
  for (const [name, expected] of cases) {
    for (const [prefix, fields] of [
      ['flat', {}],
      ['global', { saddr: OFF }],
    ] as const) {
      const wave = waveWithAddresses();
      [0x01020304, 0x05060708, 0x090a0b0c, 0x0d0e0f10].forEach((value, i) => {
        wave.vgprs[4 + i]!.fill(value);
      });
      wave.exec = ACTIVE;
      run(wave, `${prefix}_${name}`, { ...fields, addr: 2, data: 4 });
      for (const lane of LANES) {
        const got = Array.from({ length: 16 }, (_, i) => wave.memory.getUint8(0x1000 + lane * 16 + i));
        const want = isActive(lane) ? expected : [];
        assert.deepEqual(got, [...want, ...Array(16 - want.length).fill(0)], `${prefix}_${name} lane ${lane}`);
      }
    }
  }
});

test('global addresses: saddr + zero-extended vaddr + signed offset, or 64-bit vaddr + signed offset', () => {
  const wave = new TestWave();
  wave.memory.setInt32(0x2000, 77, true);
  wave.memory.setInt32(0x7f0, 78, true);
  wave.setPair(6, BigInt.asUintN(64, -0xf000_0000n));
  wave.vgprs[2]!.fill(0xf000_0ff0);
  run(wave, 'global_load_dword', { saddr: 6, addr: 2, vdst: 8, offset: -0x800 });
  assert.equal(wave.vgprs[8]![5], 78);
  wave.vgprs[2]!.fill(0x2ffc);
  wave.vgprs[3]!.fill(0);
  run(wave, 'global_load_dword', { saddr: OFF, addr: 2, vdst: 8, offset: -0xffc });
  assert.equal(wave.vgprs[8]![63], 77);
  wave.vgprs[2]!.fill(-16);
  wave.vgprs[3]!.fill(-1);
  wave.memory.setInt32(0, 79, true);
  run(wave, 'global_load_dword', { saddr: OFF, addr: 2, vdst: 8, offset: 16 });
  assert.equal(wave.vgprs[8]![0], 79);
});

test('flat offsets are 12 bits, unsigned', () => {
  const wave = waveWithAddresses();
  wave.memory.setInt32(0x1000 + 0xffc, 5, true);
  run(wave, 'flat_load_dword', { addr: 2, vdst: 8, offset: 0x1ffc });
  assert.equal(wave.vgprs[8]![0], 5);
});

test('scratch: an SGPR offset is the same in every lane, the memory is not', () => {
  const wave = new TestWave();
  for (const lane of LANES) wave.vgprs[4]![lane] = lane + 100;
  wave.sgprs[6] = 32;
  run(wave, 'scratch_store_dword', { saddr: 6, data: 4, offset: -4 });
  for (const lane of LANES)
    assert.equal(wave.privateSegment.getInt32(lane * PRIVATE_SIZE_BYTES + 28, true), lane + 100);
  run(wave, 'scratch_load_ushort', { saddr: 6, vdst: 8, offset: -4 });
  assert.deepEqual(
    [...wave.vgprs[8]!],
    LANES.map((lane) => lane + 100),
  );
});

test('the acc bit puts data in AGPRs, not addresses', () => {
  const wave = waveWithAddresses();
  wave.vgprs[256 + 4]!.fill(9);
  run(wave, 'global_store_dword', { saddr: OFF, addr: 2, data: 4, acc: 1 });
  assert.equal(wave.memory.getInt32(0x1000, true), 9);
  run(wave, 'global_load_dword', { saddr: OFF, addr: 2, vdst: 8, acc: 1 });
  assert.equal(wave.vgprs[256 + 8]![3], 9);
  assert.equal(wave.vgprs[8]![3], 0);
});

test('loads to the LDS: a dword for each active lane behind M0 and the offset, extended; stores are refused', () => {
  const wave = new TestWave();
  wave.exec = 0b1101n;
  wave.sgprs[M0] = 0x7fff_0102; // 0x100: 16 bits count, without the two lowest
  wave.vgprs[0]!.set([0, 1, 2, 3]);
  wave.sgprs.set([0x400, 0], 2);
  wave.memory.setUint32(0x408, 0x04838281, true);
  wave.lds.setUint32(0x10c, 0xaaaaaaaa, true);
  run(wave, 'global_load_sbyte', { saddr: 2, addr: 0, offset: 8, lds: 1 });
  const at = (lane: number): number => wave.lds.getInt32(0x108 + lane * 4, true);
  assert.deepEqual([0, 1, 2, 3].map(at), [0x81 - 256, 0xaaaaaaaa | 0, 0x83 - 256, 4]);
  // By name on CDNA3.
  wave.run(encode('global_load_lds_ushort', { saddr: 2, addr: 0, offset: 8 }, undefined, 'gfx942'), 'gfx942');
  assert.deepEqual([0, 1, 2, 3].map(at), [0x8281, 0xaaaaaaaa | 0, 0x0483, 0x0004]);
  wave.lds.setUint32(0x108, 0, true);
  wave.privateSegment.setUint32(8, 77, true);
  wave.exec = 1n;
  wave.run(encode('scratch_load_lds_dword', { saddr: 0x7f, offset: 8 }, undefined, 'gfx942'), 'gfx942');
  assert.equal(at(0), 77);
  assert.throws(() => run(wave, 'global_load_dwordx2', { saddr: OFF, lds: 1 }), /unknown/);
  assert.throws(() => run(wave, 'global_store_dword', { saddr: OFF, lds: 1 }), /unknown/);
});

const unsigned = (bits: 32 | 64) => (value: bigint) => BigInt.asUintN(bits, value);
const signed = (bits: 32 | 64) => (value: bigint) => BigInt.asIntN(bits, value);

/** New value from the old one and the data, both unsigned; by name. */
const INTEGER_MODEL: Readonly<Record<string, (old: bigint, data: bigint, bits: 32 | 64) => bigint>> = {
  swap: (_, data) => data,
  add: (old, data) => old + data,
  sub: (old, data) => old - data,
  smin: (old, data, bits) => (signed(bits)(data) < signed(bits)(old) ? data : old),
  umin: (old, data) => (old - data < 0n ? old : data),
  smax: (old, data, bits) => (signed(bits)(data) > signed(bits)(old) ? data : old),
  umax: (old, data) => (old - data > 0n ? old : data),
  and: (old, data) => old & data,
  or: (old, data) => old | data,
  xor: (old, data) => old ^ data,
  inc: (old, data) => (old >= data ? 0n : old + 1n),
  dec: (old, data) => (old === 0n || old > data ? data : old - 1n),
};

const edge32 = fc.constantFrom(0n, 1n, 0x7fffffffn, 0x80000000n, 0xffffffffn);
const edge64 = fc.constantFrom(0n, 1n, 0xffffffffn, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n);

for (const bits of [32, 64] as const) {
  test(`integer atomics of ${bits} bits agree with their definition; the old value returns with glc`, () => {
    const value = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n }), bits === 32 ? edge32 : edge64);
    const operation = fc.constantFrom(...Object.keys(INTEGER_MODEL));
    const property = fc.property(
      operation,
      value,
      value,
      fc.boolean(),
      fc.constantFrom('flat', 'global'),
      (name, old, data, glc, prefix) => {
        const wave = waveWithAddresses();
        wave.exec = 4n;
        const write = (at: number, v: bigint): void => {
          if (bits === 64) wave.memory.setBigUint64(at, v, true);
          else wave.memory.setUint32(at, Number(v), true);
        };
        write(0x1020, old);
        wave.vgprs[4]![2] = Number(BigInt.asIntN(32, data));
        wave.vgprs[5]![2] = Number(data >> 32n);
        const fields = { addr: 2, data: 4, vdst: 8, glc: glc ? 1 : 0, ...(prefix === 'global' && { saddr: OFF }) };
        run(wave, `${prefix}_atomic_${name}${bits === 64 ? '_x2' : ''}`, fields);
        const got = bits === 64 ? wave.memory.getBigUint64(0x1020, true) : BigInt(wave.memory.getUint32(0x1020, true));
        assert.equal(got, unsigned(bits)(INTEGER_MODEL[name]!(old, data, bits)));
        const returned = [wave.vgprs[8]![2]!, wave.vgprs[9]![2]!];
        const want = [BigInt.asIntN(32, old), bits === 64 ? BigInt.asIntN(32, old >> 32n) : 0n].map(Number);
        assert.deepEqual(returned, glc ? want : [0, 0]);
      },
    );
    fc.assert(property, { numRuns: 200 });
  });
}

test('compare and swap: the new value comes first, then the comparand', () => {
  const wave = waveWithAddresses();
  for (const lane of LANES) wave.memory.setInt32(0x1000 + lane * 16, lane, true);
  wave.vgprs[4]!.fill(1000);
  for (const lane of LANES) wave.vgprs[5]![lane] = lane & ~1;
  run(wave, 'global_atomic_cmpswap', { saddr: OFF, addr: 2, data: 4, vdst: 8, glc: 1 });
  for (const lane of LANES) assert.equal(wave.memory.getInt32(0x1000 + lane * 16, true), lane & 1 ? lane : 1000);
  assert.deepEqual([...wave.vgprs[8]!], LANES);

  wave.memory.setBigUint64(0x1000, 0x1_0000_0002n, true);
  [3, 4, 2, 1].forEach((value, i) => {
    wave.vgprs[4 + i]![0] = value;
  });
  wave.exec = 1n;
  run(wave, 'flat_atomic_cmpswap_x2', { addr: 2, data: 4, vdst: 8, glc: 1 });
  assert.equal(wave.memory.getBigUint64(0x1000, true), 0x4_0000_0003n);
  assert.deepEqual([wave.vgprs[8]![0], wave.vgprs[9]![0]], [2, 1]);
});

test('lanes that meet at one address add up', () => {
  const wave = new TestWave();
  wave.vgprs[4]!.fill(3);
  wave.exec = ACTIVE;
  run(wave, 'global_atomic_add', { saddr: OFF, addr: 2, data: 4 });
  assert.equal(wave.memory.getInt32(0, true), 3 * LANES.filter(isActive).length);
});

test('floating-point atomics: rounding, denormals, NaN', () => {
  const f64 = (value: number): bigint => new BigUint64Array(new Float64Array([value]).buffer)[0]!;
  const QUIET = 0x7ff8_0000_0000_0001n;
  const SIGNALLING = 0x7ff0_0000_0000_0001n;
  const cases: [string, 32 | 64, bigint, bigint, bigint][] = [
    ['add_f32', 32, 0x3f800000n, 0x33800000n, 0x3f800000n], // 1 + 2^-24: tie to even
    ['add_f32', 32, 0x3f800001n, 0x33800000n, 0x3f800002n],
    ['add_f32', 32, 0x00000001n, 0x00800000n, 0x00800000n], // a denormal source counts as zero
    ['add_f32', 32, 0x00800001n, 0x80800000n, 0x00000000n], // a denormal result becomes zero
    ['add_f32', 32, 0x80000001n, 0x80000000n, 0x80000000n],
    ['add_f32', 32, 0x7f800000n, 0xff800000n, 0x7fc00000n],
    ['add_f32', 32, 0x7f800001n, 0x3f800000n, 0x7fc00001n],
    ['pk_add_f16', 32, 0x3c00_3c00n, 0x3c00_0001n, 0x4000_3c00n],
    ['pk_add_f16', 32, 0x0001_7bffn, 0x0001_7bffn, 0x0002_7c00n],
    ['add_f64', 64, f64(0.1), f64(0.2), f64(0.1 + 0.2)],
    ['add_f64', 64, 1n, 2n, 3n],
    ['min_f64', 64, f64(1), f64(-1), f64(-1)],
    ['min_f64', 64, f64(0), f64(-0), f64(-0)],
    ['min_f64', 64, 1n, 2n, 1n],
    ['min_f64', 64, QUIET, f64(5), f64(5)],
    ['min_f64', 64, SIGNALLING, f64(5), QUIET],
    ['max_f64', 64, f64(1), f64(-1), f64(1)],
    ['max_f64', 64, f64(-0), f64(0), f64(0)],
    ['max_f64', 64, f64(5), QUIET, f64(5)],
    ['max_f64', 64, f64(5), SIGNALLING, QUIET],
  ];
  for (const [name, bits, old, data, expected] of cases) {
    const wave = waveWithAddresses();
    wave.exec = 1n;
    wave.memory.setBigUint64(0x1000, old, true);
    wave.vgprs[4]![0] = Number(BigInt.asIntN(32, data));
    wave.vgprs[5]![0] = Number(BigInt.asIntN(32, data >> 32n));
    const flush = { inputs: true, results: true };
    const words = encode(`global_atomic_${name}`, { saddr: OFF, addr: 2, data: 4, vdst: 8, glc: 1 });
    wave.run(words, 'gfx90a', {
      ...DEFAULT_MODE,
      flush64: flush,
      ieee: false,
    });
    const got = bits === 64 ? wave.memory.getBigUint64(0x1000, true) : BigInt(wave.memory.getUint32(0x1000, true));
    assert.equal(got.toString(16), expected.toString(16), `${name} ${old.toString(16)} ${data.toString(16)}`);
    assert.equal(wave.vgprs[8]![0], Number(BigInt.asIntN(32, old)));
  }
});
