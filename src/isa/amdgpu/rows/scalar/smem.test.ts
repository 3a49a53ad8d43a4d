import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WavewrightError } from '../../../../base/errors.ts';
import { decoderFor } from '../../decoder.ts';
import { encode } from '../../encoding/encode.test-support.ts';
import { TestWave } from '../../semantics/machine.test-support.ts';
import { M0, VCC } from '../scalar.test-support.ts';

interface Encoding {
  readonly sdata?: number;
  /** First SGPR of the base. */
  readonly sbase?: number;
  /** Immediate offset; absent: imm = 0. */
  readonly offset?: number;
  /** SGPR with an offset. */
  readonly soffset?: number;
}

/**
 * soffset stands in the low bits of `offset` when there is no immediate (soffset_en = 0), and in its own
 * field else.
 */
function smem(
  name: string,
  { sdata = 0, sbase = 0, offset, soffset }: Encoding,
  soffsetEn = offset !== undefined,
): number[] {
  const usesField = soffset !== undefined && soffsetEn;
  return encode(name, {
    sdata,
    sbase: sbase >> 1,
    imm: offset === undefined ? 0 : 1,
    soffset_en: usesField ? 1 : 0,
    soffset: usesField ? soffset : 0,
    offset: (offset ?? (usesField ? 0 : (soffset ?? 0))) & 0x1fffff,
  });
}

/** Memory whose dword at byte address a is a * 0x10001. */
function waveWithPattern(): TestWave {
  const wave = new TestWave();
  for (let at = 0; at < 4096; at += 4) wave.memory.setUint32(at, at * 0x10001, true);
  return wave;
}
const pattern = (address: number, dwords: number): number[] =>
  Array.from({ length: dwords }, (_, i) => (address + 4 * i) * 0x10001);

test('s_load reads 1 to 16 dwords, whatever EXEC is', () => {
  for (const [dwords, name] of [
    [1, 's_load_dword'],
    [2, 's_load_dwordx2'],
    [4, 's_load_dwordx4'],
    [8, 's_load_dwordx8'],
    [16, 's_load_dwordx16'],
  ] as const) {
    const wave = waveWithPattern();
    wave.exec = 0n;
    wave.setPair(2, 0x100n);
    wave.sgprs[20 + dwords] = 99;
    assert.equal(wave.run(smem(name, { sdata: 20, sbase: 2, offset: 0x20 })).row.name, name);
    assert.deepEqual([...wave.sgprs.subarray(20, 20 + dwords)], pattern(0x120, dwords));
    assert.equal(wave.sgprs[20 + dwords], 99);
  }
});

test('addresses: every form of offset; the two low bits of each part are ignored', () => {
  const cases: readonly (readonly [bigint, Encoding, number, number?, boolean?])[] = [
    [0x100n, { offset: 0 }, 0x100],
    [0x100n, { offset: -0x40 }, 0xc0],
    [0x103n, { offset: 3 }, 0x100],
    [0x100n, { soffset: 8 }, 0x148, 0x48],
    [0x100n, { soffset: 8 }, 0x148, 0x48, true],
    [0x100n, { soffset: M0 }, 0x148, 0x4b],
    [0x103n, { offset: 7, soffset: 8 }, 0x14c, 0x4b],
    [0x100n, { offset: -4, soffset: 8 }, 0x144, 0x48],
    [-0xffff_0000n, { soffset: 8 }, 0x100, 0xffff_0100], // the SGPR is unsigned
  ];
  for (const [base, encoding, expected, offset = 0, soffsetEn] of cases) {
    const wave = waveWithPattern();
    wave.setPair(2, base);
    wave.sgprs[encoding.soffset ?? 8] = offset;
    wave.run(smem('s_load_dword', { sdata: 20, sbase: 2, ...encoding }, soffsetEn));
    assert.equal(wave.sgprs[20], pattern(expected, 1)[0], JSON.stringify(encoding));
  }
});

test('the destination may be the base, VCC or M0', () => {
  const wave = waveWithPattern();
  wave.setPair(2, 0x200n);
  wave.run(smem('s_load_dwordx2', { sdata: 2, sbase: 2, offset: 8 }));
  assert.deepEqual([...wave.sgprs.subarray(2, 4)], pattern(0x208, 2));
  wave.setPair(2, 0x200n);
  wave.run(smem('s_load_dwordx2', { sdata: VCC, sbase: 2, offset: 0 }));
  assert.deepEqual([...wave.sgprs.subarray(VCC, VCC + 2)], pattern(0x200, 2));
  wave.run(smem('s_load_dword', { sdata: M0, sbase: 2, offset: 0 }));
  assert.equal(wave.sgprs[M0], pattern(0x200, 1)[0]);
});

function setResource(wave: TestWave, at: number, base: number, stride: number, records: number): void {
  wave.setPair(at, BigInt(base) | 0xc000_1234_0000_0000n | (BigInt(stride) << 48n));
  wave.sgprs[at + 1] = wave.sgprs[at + 1]! & ~0x1234; // base bits 47..32
  wave.sgprs[at + 2] = records;
  wave.sgprs[at + 3] = -1;
}

test('s_buffer_load reads inside the buffer and gives 0 beyond', () => {
  const inside = (address: number, dwords: number, endsAt: number): number[] =>
    pattern(address, dwords).map((value, i) => (address + 4 * i + 4 <= endsAt ? value : 0));
  for (const [dwords, name] of [
    [1, 's_buffer_load_dword'],
    [2, 's_buffer_load_dwordx2'],
    [4, 's_buffer_load_dwordx4'],
    [8, 's_buffer_load_dwordx8'],
    [16, 's_buffer_load_dwordx16'],
  ] as const) {
    for (const [stride, records] of [
      [0, 64],
      [0, 66],
      [16, 4],
      [0, 0],
      [16, 0],
      [0x3fff, 0x7fffffff],
      [0, 0xffff_ffff],
    ] as const) {
      const size = Math.max(stride, 1) * records;
      for (const offset of [0, 4, 6, 0x30, 0x3c, 0x40, 0x44]) {
        const wave = waveWithPattern();
        setResource(wave, 4, 0x400, stride, records);
        assert.equal(wave.run(smem(name, { sdata: 20, sbase: 4, offset })).row.name, name);
        const start = 0x400 + (offset & ~3);
        const what = `${name} at ${offset} of ${stride} * ${records}`;
        assert.deepEqual([...wave.sgprs.subarray(20, 20 + dwords)], inside(start, dwords, 0x400 + size), what);
      }
    }
  }
});

test('s_buffer_load: SGPR offsets are unsigned, and so is the immediate; the sum is not cut to 32 bits', () => {
  const read = (encoding: Encoding, offset: number, records = 0x100): number => {
    const wave = waveWithPattern();
    setResource(wave, 4, 0x402, 0, records);
    wave.sgprs[8] = offset;
    wave.sgprs[20] = -1;
    wave.run(smem('s_buffer_load_dword', { sdata: 20, sbase: 4, ...encoding }));
    return wave.sgprs[20]!;
  };
  assert.equal(read({ soffset: 8 }, 0x23), pattern(0x420, 1)[0]);
  assert.equal(read({ offset: 0x10, soffset: 8 }, 0x23), pattern(0x430, 1)[0]);
  assert.equal(read({ soffset: 8 }, -4), 0);
  assert.equal(read({ offset: -4 }, 0), 0);
  assert.equal(read({ offset: 8, soffset: 8 }, -4), 0);
  assert.equal(read({ offset: 8, soffset: 8 }, -4, 0xffff_ffff), 0);
  assert.equal(read({ offset: -4 }, 0, 0x11_0000), 0);
});

test('s_buffer_load: the base has 48 bits', () => {
  for (const high of [0x4000, 0x8000]) {
    const wave = waveWithPattern();
    wave.setPair(4, (BigInt(high) << 32n) | 0x400n);
    wave.sgprs[6] = 0x100;
    assert.throws(
      () => wave.run(smem('s_buffer_load_dword', { sdata: 20, sbase: 4, offset: 0 })),
      RangeError,
      'far outside the test memory',
    );
  }
});

test('s_memtime and s_memrealtime read the clock', () => {
  for (const name of ['s_memtime', 's_memrealtime'] as const) {
    const wave = new TestWave();
    wave.ticks = 0x1_2345_6789n;
    assert.equal(wave.run(smem(name, { sdata: 20 })).row.name, name);
    assert.equal(wave.pair(20), 0x1_2345_6789n);
  }
});

test('cache control and prefetches have no effect', () => {
  for (const name of [
    's_dcache_inv',
    's_dcache_wb',
    's_dcache_inv_vol',
    's_dcache_wb_vol',
    's_atc_probe',
    's_atc_probe_buffer',
    's_dcache_discard',
    's_dcache_discard_x2',
  ] as const) {
    const wave = waveWithPattern();
    const before = wave.sgprs.slice();
    const memory = wave.memory.buffer.slice(0);
    const address = /inv|wb/.test(name) ? { imm: 0 } : { sbase: 2, offset: 0x10 };
    assert.equal(wave.run(smem(name, address)).row.name, name);
    assert.deepEqual(wave.sgprs, before);
    assert.deepEqual(wave.memory.buffer, memory);
  }
});

test('s_store writes 1, 2 or 4 dwords, whatever EXEC is', () => {
  for (const [dwords, name] of [
    [1, 's_store_dword'],
    [2, 's_store_dwordx2'],
    [4, 's_store_dwordx4'],
  ] as const) {
    const wave = new TestWave();
    wave.exec = 0n;
    wave.setPair(2, 0x103n);
    wave.sgprs[8] = 0x12;
    const data = [11, 22, 33, 44].slice(0, dwords);
    wave.sgprs.set(data, 20);
    wave.run(smem(name, { sdata: 20, sbase: 2, offset: -0x20, soffset: 8 }));
    const stored = [-4, 0, 4, 8, 12, 16].map((at) => wave.memory.getUint32(0xf0 + at, true));
    assert.deepEqual(stored, [0, ...data, ...Array.from({ length: 5 - dwords }, () => 0)], name);
  }
});

test('s_buffer_store leaves out the dwords behind the buffer', () => {
  for (const [dwords, name, records, expected] of [
    [1, 's_buffer_store_dword', 0x33, [0, 0]],
    [1, 's_buffer_store_dword', 0x34, [11, 0]],
    [2, 's_buffer_store_dwordx2', 0x34, [11, 0]],
    [4, 's_buffer_store_dwordx4', 0x38, [11, 22]],
  ] as const) {
    const wave = new TestWave();
    setResource(wave, 4, 0x400, 0, records);
    wave.sgprs.set([11, 22, 33, 44].slice(0, dwords), 20);
    wave.run(smem(name, { sdata: 20, sbase: 4, offset: 0x30 }));
    const stored = [0, 4, 8, 12].map((at) => wave.memory.getUint32(0x430 + at, true));
    assert.deepEqual(stored, [...expected, 0, 0], `${name} of ${records}`);
  }
});

const GLC = 1 << 16;

/** What an atomic leaves in memory and in its data, from 64-bit values; of 32 bits the low halves count. */
function runAtomic(name: string, glc: boolean, old: bigint, data: readonly bigint[], records = 0x100) {
  const isWide = name.endsWith('_x2');
  const wave = new TestWave();
  wave.exec = 0n;
  const isBuffer = name.startsWith('s_buffer_');
  if (isBuffer) setResource(wave, 4, 0x400, 0, records);
  else wave.setPair(4, 0x400n);
  wave.memory.setBigUint64(0x430, old, true);
  for (const [i, value] of data.entries()) {
    if (isWide) wave.setPair(20 + 2 * i, value);
    else wave.sgprs[20 + i] = Number(BigInt.asIntN(32, value));
  }
  const [first, second] = smem(name, { sdata: 20, sbase: 4, offset: 0x30 }) as [number, number];
  wave.run([first | (glc ? GLC : 0), second]);
  const bits = isWide ? 64 : 32;
  return {
    memory: BigInt.asUintN(bits, wave.memory.getBigUint64(0x430, true)),
    data: data.map((_, i) => BigInt.asUintN(bits, wave.pair(20 + (isWide ? 2 * i : i)))),
    behind: isWide ? wave.memory.getBigUint64(0x438, true) : BigInt(wave.memory.getUint32(0x434, true)),
  };
}

test('scalar atomics: all operations, 32 and 64 bits, with and without glc, whatever EXEC is', () => {
  const minus = (bits: number, value: bigint): bigint => BigInt.asUintN(bits, -value);
  const cases = (bits: number): Record<string, readonly (readonly [bigint, readonly bigint[], bigint])[]> => ({
    swap: [[5n, [9n], 9n]],
    cmpswap: [
      [5n, [9n, 5n], 9n],
      [5n, [9n, 6n], 5n],
    ],
    add: [[minus(bits, 2n), [9n], 7n]],
    sub: [[5n, [9n], minus(bits, 4n)]],
    smin: [[5n, [minus(bits, 9n)], minus(bits, 9n)]],
    umin: [[5n, [minus(bits, 9n)], 5n]],
    smax: [[5n, [minus(bits, 9n)], 5n]],
    umax: [[5n, [minus(bits, 9n)], minus(bits, 9n)]],
    and: [[12n, [10n], 8n]],
    or: [[12n, [10n], 14n]],
    xor: [[12n, [10n], 6n]],
    inc: [
      [5n, [9n], 6n],
      [9n, [9n], 0n],
    ],
    dec: [
      [5n, [9n], 4n],
      [0n, [9n], 9n],
      [10n, [9n], 9n],
    ],
  });
  for (const bits of [32, 64]) {
    for (const [operation, expected] of Object.entries(cases(bits))) {
      for (const prefix of ['s_atomic', 's_buffer_atomic']) {
        const name = `${prefix}_${operation}${bits === 64 ? '_x2' : ''}`;
        for (const [old, data, result] of expected) {
          for (const glc of [false, true]) {
            const after = { memory: result, data: glc ? [old, ...data.slice(1)] : data, behind: 0n };
            assert.deepEqual(runAtomic(name, glc, old, data), after, `${name} of ${old}, glc ${glc}`);
          }
        }
      }
    }
  }
});

test('a buffer atomic that is not whole inside the buffer changes nothing and returns 0', () => {
  for (const [name, records, isInside] of [
    ['s_buffer_atomic_add', 0x33, false],
    ['s_buffer_atomic_add', 0x34, true],
    ['s_buffer_atomic_add_x2', 0x37, false],
    ['s_buffer_atomic_add_x2', 0x38, true],
  ] as const) {
    const { memory, data } = runAtomic(name, true, 5n, [9n], records);
    assert.deepEqual([memory, data], isInside ? [14n, [5n]] : [5n, [0n]], `${name} of ${records}`);
  }
});

test('an atomic writes its data registers only with glc', () => {
  for (const [glc, access] of [
    [0, 'read'],
    [1, 'readwrite'],
  ] as const) {
    const [first, second] = smem('s_atomic_add', { sdata: 20, sbase: 2, offset: 0 }) as [number, number];
    const code = new DataView(Uint32Array.of(first | (glc << 16), second).buffer);
    const instruction = decoderFor('gfx90a', 64).decode(code, 0);
    assert.ok(typeof instruction === 'object');
    assert.deepEqual([instruction.row.name, instruction.access(0)], ['s_atomic_add', access]);
  }
});

test('what cannot run is refused by name', () => {
  for (const [name, message] of [
    ['s_scratch_load_dword', /^unsupported instruction 's_scratch_load_dword'$/],
    ['s_scratch_store_dwordx2', /^unsupported instruction 's_scratch_store_dwordx2'$/],
  ] as const) {
    assert.throws(
      () => new TestWave().run(smem(name, { sdata: 20, sbase: 2, offset: 0 })),
      (error) => error instanceof WavewrightError && error.code === 'UNSUPPORTED' && message.test(error.message),
    );
  }
});
